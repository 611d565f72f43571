/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_EVENT_NOTIFIER_H
#define SPINDLE_UTIL_EVENT_NOTIFIER_H

#include <stdbool.h>

#include "util/error.h"

/* An eventfd, close-on-exec and non-blocking. Runs in: any thread. */
typedef struct EventNotifier {
    int fd; /* -1: none */
} EventNotifier;

bool event_notifier_init(EventNotifier *n, bool signalled, Error **errp);
void event_notifier_cleanup(EventNotifier *n);
void event_notifier_set(EventNotifier *n);
/* Reads it; returns whether it had been set. */
bool event_notifier_test_and_clear(EventNotifier *n);

#endif
