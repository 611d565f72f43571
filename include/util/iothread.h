/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_IOTHREAD_H
#define SPINDLE_UTIL_IOTHREAD_H

#include <sched.h>
#include <sys/types.h>

#include "util/aio.h"

/*
 * A thread that runs an AioContext, named "IO <id>". What users see as `-object iothread` is an
 * object in qom/ that owns one of these.
 */
typedef struct IOThreadCore IOThreadCore;

/* Starts the thread and returns once its loop runs. Runs in: main thread. */
IOThreadCore *iothread_core_start(const char *id, const cpu_set_t *affinity, Error **errp);
/* Stops the loop, joins the thread, frees all. Nothing may use the context any more.
 * Runs in: main thread. */
void iothread_core_stop(IOThreadCore *t);
AioContext *iothread_core_context(IOThreadCore *t);
pid_t iothread_core_tid(IOThreadCore *t);
/* Changes where a running thread may run. */
bool iothread_core_set_affinity(IOThreadCore *t, const cpu_set_t *affinity, Error **errp);

#endif
