/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_FILE_AIO_RING_H
#define BLOCK_FILE_AIO_RING_H

#include <libaio.h>
#include <stdbool.h>

/* The completion ring of Linux AIO, which the kernel maps into the process: an io_context_t is its
 * address. Runs in: the one thread that takes completions. */

/* Begin of the completion ring, as the kernel's headers lay it out for user space. */
typedef struct NativeRing {
    unsigned id, nr, head, tail, magic, compat_features, incompat_features, header_length;
    struct io_event events[];
} NativeRing;
#define RING_MAGIC 0xa10a10a1u

/* Whether the ring may be read here: a kernel that changes its layout says so in these fields. */
static inline bool ring_known(const NativeRing *ring)
{
    return ring->magic == RING_MAGIC && !ring->incompat_features &&
           ring->header_length == sizeof(*ring);
}

static inline bool ring_empty(const NativeRing *ring)
{
    return __atomic_load_n(&ring->head, __ATOMIC_RELAXED) ==
           __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
}

/* Takes up to `max` completions out of the ring without a system call. This thread is the only one
 * that takes any, so nobody else moves the head. */
static inline int ring_take(NativeRing *ring, struct io_event *events, int max)
{
    unsigned head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    unsigned tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    int n = 0;

    while (head != tail && n < max) {
        events[n++] = ring->events[head];
        head = head + 1 == ring->nr ? 0 : head + 1;
    }
    /* Only now may the kernel write to these entries again. */
    __atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
    return n;
}

#endif
