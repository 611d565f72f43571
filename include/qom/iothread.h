/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QOM_IOTHREAD_H
#define SPINDLE_QOM_IOTHREAD_H

#include "qom/object.h"
#include "util/iothread.h"

/* `-object iothread`: a thread that serves virtqueues. Runs in: main thread. */
typedef struct IOThread IOThread;

/* By id or path of an object of type "iothread"; NULL if there is none. Takes no reference. */
IOThread *iothread_find(const char *id_or_path);
/* Takes a use of it: object-del is refused until iothread_release(). */
IOThread *iothread_acquire(IOThread *t);
void iothread_release(IOThread *t);
AioContext *iothread_context(IOThread *t);
/* For query-iothreads: adds what the thread serves, IOThreadServes (qapi-iothread), to the array.
 * Registered by a constructor. */
typedef void IOThreadLister(IOThread *t, GPtrArray *serves);
void iothread_add_lister(IOThreadLister *fn);
/* Its id, as in /objects. */
const char *iothread_id(IOThread *t);
/* The host's thread id. */
pid_t iothread_tid(IOThread *t);

#endif
