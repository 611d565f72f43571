/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all threads started in util/ have in common. */
#ifndef SPINDLE_UTIL_THREADS_H
#define SPINDLE_UTIL_THREADS_H

#include <pthread.h>
#include <signal.h>

/*
 * Signals are the main thread's business. A thread inherits the mask of its creator; so it is
 * created between these two, and never sees one.
 */
static inline void threads_block_signals(sigset_t *old)
{
    sigset_t all;

    sigfillset(&all);
    /* A fault is the fault of the thread it happens in. */
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, old);
}

static inline void threads_restore_signals(const sigset_t *old)
{
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

#endif
