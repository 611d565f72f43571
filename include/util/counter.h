/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_COUNTER_H
#define SPINDLE_UTIL_COUNTER_H

#include <stdint.h>

/*
 * Counters with one writer: the thread that owns them adds with plain instructions, and any thread
 * may read. Each value is whole; several of them are not of the same moment.
 */
typedef uint64_t StatCounter;

static inline void counter_add(StatCounter *c, uint64_t n)
{
    __atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

static inline uint64_t counter_get(const StatCounter *c)
{
    return __atomic_load_n(c, __ATOMIC_RELAXED);
}

#endif
