/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges of a file that are being written, so that overlapping writes can wait. */
#include "range-lock.h"

typedef struct RangeCount {
    unsigned writes;
} RangeCount;

void range_lock_init(RangeLock *r, void (*start)(BlockRequest *req))
{
    slot_table_init(&r->counts, sizeof(RangeCount));
    pthread_mutex_init(&r->lock, NULL);
    r->tracking = 0;
    r->held = NULL;
    r->waiting = NULL;
    r->waiting_tail = &r->waiting;
    r->start = start;
}

void range_lock_free(RangeLock *r)
{
    g_assert(!r->held && !r->waiting);
    slot_table_free(&r->counts);
    pthread_mutex_destroy(&r->lock);
}

static void sum_count(void *part, void *opaque)
{
    RangeCount *c = part;
    unsigned *sum = opaque;

    *sum += __atomic_load_n(&c->writes, __ATOMIC_SEQ_CST);
}

static bool overlaps(const BlockRequest *a, const BlockRequest *b)
{
    return a->hold_start < b->hold_end && b->hold_start < a->hold_end;
}

static bool must_wait(RangeLock *r, const BlockRequest *req)
{
    for (BlockRequest *h = r->held; h; h = h->next) {
        if (overlaps(h, req)) {
            return true;
        }
    }
    /* Also behind whoever came earlier, or a stream of small writes would starve a large one. */
    for (BlockRequest *w = r->waiting; w && w != req; w = w->next) {
        if (overlaps(w, req)) {
            return true;
        }
    }
    return false;
}

static void start_in_context(void *opaque)
{
    BlockRequest *req = opaque;
    RangeLock *r = req->u.range;

    r->start(req);
}

/* Moves what can go from waiting to held and starts it. */
static void range_lock_advance(RangeLock *r)
{
    BlockRequest *go = NULL, **go_tail = &go, **p;
    unsigned counted = 0;
    AioContext *self = aio_context_current();

    pthread_mutex_lock(&r->lock);
    slot_table_foreach(&r->counts, sum_count, &counted);
    if (counted == 0) {
        p = &r->waiting;
        while (*p) {
            BlockRequest *req = *p;

            if (must_wait(r, req)) {
                p = &req->next;
                continue;
            }
            *p = req->next;
            if (req->ctx == self) {
                req->u.range_next = NULL;
                *go_tail = req;
                go_tail = &req->u.range_next;
            } else {
                /* The request cannot vanish before this has run: it is in flight. */
                req->u.range = r;
                aio_call(req->ctx, start_in_context, req);
            }
            req->next = r->held;
            r->held = req;
        }
        r->waiting_tail = p;
    }
    pthread_mutex_unlock(&r->lock);
    while (go) {
        BlockRequest *req = go;

        go = req->u.range_next;
        r->start(req);
    }
}

bool range_lock_count(RangeLock *r)
{
    RangeCount *c = slot_table_get(&r->counts);

    /* Count first, look then; who starts tracking sets the flag first and sums then. */
    __atomic_add_fetch(&c->writes, 1, __ATOMIC_SEQ_CST);
    if (G_LIKELY(!__atomic_load_n(&r->tracking, __ATOMIC_SEQ_CST))) {
        return true;
    }
    range_lock_uncount(r);
    return false;
}

void range_lock_uncount(RangeLock *r)
{
    RangeCount *c = slot_table_get(&r->counts);

    if (__atomic_sub_fetch(&c->writes, 1, __ATOMIC_SEQ_CST) == 0 &&
        G_UNLIKELY(__atomic_load_n(&r->tracking, __ATOMIC_SEQ_CST))) {
        range_lock_advance(r);
    }
}

void range_lock_acquire(RangeLock *r, BlockRequest *req)
{
    pthread_mutex_lock(&r->lock);
    __atomic_store_n(&r->tracking, 1, __ATOMIC_SEQ_CST);
    req->next = NULL;
    *r->waiting_tail = req;
    r->waiting_tail = &req->next;
    pthread_mutex_unlock(&r->lock);
    range_lock_advance(r);
}

void range_lock_release(RangeLock *r, BlockRequest *req)
{
    pthread_mutex_lock(&r->lock);
    for (BlockRequest **p = &r->held;; p = &(*p)->next) {
        g_assert(*p);
        if (*p == req) {
            *p = req->next;
            break;
        }
    }
    pthread_mutex_unlock(&r->lock);
    range_lock_advance(r);
}
