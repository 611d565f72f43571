/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_ASYMMETRIC_H
#define SPINDLE_UTIL_ASYMMETRIC_H

#include <glib.h>
#include <stdbool.h>

/*
 * A pair of barriers for "I raise my flag, then look at yours" where one side does so all the time
 * and the other hardly ever: the frequent side only keeps the compiler in order, the rare side has
 * the kernel order all threads of the process (membarrier(2)). Between a store before the one and a
 * load after the other it is as if both had been full barriers. Without that system call both are.
 */
extern bool asymmetric_works; /* does not change once there are threads */

static inline void asymmetric_full(void)
{
    __asm__ volatile("lock; orl $0, -4(%%rsp)" ::: "memory", "cc");
}

/* The frequent side. */
static inline void asymmetric_light(void)
{
    if (G_LIKELY(asymmetric_works)) {
        __asm__ volatile("" ::: "memory");
    } else {
        asymmetric_full();
    }
}

/* The rare side; takes some microseconds. Runs in: any thread. */
void asymmetric_heavy(void);

#endif
