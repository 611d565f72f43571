/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_RANGE_LOCK_H
#define BLOCK_RANGE_LOCK_H

#include <pthread.h>

#include "block/block.h"
#include "slot.h"

/*
 * Keeps requests that write the same blocks apart, for files whose blocks are larger than what the
 * guest may write: a read-modify-write of a block must not overlap with any other write to it.
 *
 * As long as no such request has been seen, writes only count themselves, per thread. From the
 * first one on, every write is held for its range, under a lock.
 */
typedef struct RangeLock RangeLock;
struct RangeLock {
    SlotTable counts; /* of RangeCount */
    int tracking;     /* atomic; never goes back */
    pthread_mutex_t lock;
    BlockRequest *held;
    BlockRequest *waiting, **waiting_tail;
    void (*start)(BlockRequest *req);
};

/* `start` is called when a request has got its range. Runs in: the request's context. */
void range_lock_init(RangeLock *r, void (*start)(BlockRequest *req));
void range_lock_free(RangeLock *r);

/* A write that covers whole blocks. Returns true if it may go on at once, having counted itself;
 * false if it has to call range_lock_acquire(). */
bool range_lock_count(RangeLock *r);
void range_lock_uncount(RangeLock *r);

/* Waits for req->hold_start .. hold_end (bytes), then calls start(), possibly before returning. */
void range_lock_acquire(RangeLock *r, BlockRequest *req);
void range_lock_release(RangeLock *r, BlockRequest *req);

#endif
