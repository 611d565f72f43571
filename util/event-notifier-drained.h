/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the event loop learns from event_notifier_test_and_clear(). */
#ifndef SPINDLE_UTIL_EVENT_NOTIFIER_DRAINED_H
#define SPINDLE_UTIL_EVENT_NOTIFIER_DRAINED_H

/*
 * The eventfd that this thread emptied last. One read empties an eventfd whatever its count was,
 * and each later write wakes its pollers again; so a handler that has called it needs no second
 * look at its descriptor and can stay on a multishot poll, which only reports wake-ups.
 */
extern __thread int event_notifier_drained_fd;

#endif
