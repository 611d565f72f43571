/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bottom halves, and calls into another context. */
#include "util/aio.h"

#include <pthread.h>

#include "aio-internal.h"
#include "util/biglock.h"

enum {
    AIO_BH_QUEUED = 1 << 0,    /* on one of the context's lists */
    AIO_BH_SCHEDULED = 1 << 1, /* to be called when taken off it */
    AIO_BH_FREED = 1 << 2,     /* to be freed when taken off it */
    AIO_BH_ONESHOT = 1 << 3,   /* frees itself (aio_call) */
};

/* Lock-free for producers; the context takes the whole list at once, so there is no ABA. */
static void bh_enqueue(AioBh *bh)
{
    AioContext *ctx = bh->ctx;
    AioBh *head = __atomic_load_n(&ctx->incoming, __ATOMIC_RELAXED);

    do {
        bh->next = head;
    } while (!__atomic_compare_exchange_n(&ctx->incoming, &head, bh, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    if (!aio_in_context(ctx)) {
        aio_wake(ctx);
    }
}

AioBh *aio_bh_new(AioContext *ctx, AioCallback *cb, void *opaque)
{
    AioBh *bh = g_new0(AioBh, 1);

    bh->ctx = ctx;
    bh->cb = cb;
    bh->opaque = opaque;
    return bh;
}

void aio_bh_schedule(AioBh *bh)
{
    unsigned old =
        __atomic_fetch_or(&bh->flags, AIO_BH_QUEUED | AIO_BH_SCHEDULED, __ATOMIC_ACQ_REL);

    if (!(old & AIO_BH_QUEUED)) {
        bh_enqueue(bh);
    }
}

void aio_bh_cancel(AioBh *bh)
{
    __atomic_fetch_and(&bh->flags, ~AIO_BH_SCHEDULED, __ATOMIC_ACQ_REL);
}

void aio_bh_free(AioBh *bh)
{
    unsigned old;

    if (!bh) {
        return;
    }
    aio_bh_cancel(bh);
    old = __atomic_fetch_or(&bh->flags, AIO_BH_FREED, __ATOMIC_ACQ_REL);
    if (!(old & AIO_BH_QUEUED)) {
        g_free(bh);
    }
}

void aio_call(AioContext *ctx, AioCallback *cb, void *opaque)
{
    AioBh *bh = aio_bh_new(ctx, cb, opaque);

    bh->flags = AIO_BH_QUEUED | AIO_BH_SCHEDULED | AIO_BH_ONESHOT;
    bh_enqueue(bh);
}

/* Appends what other threads have pushed to the context's own list, oldest first. */
static void bh_take_incoming(AioContext *ctx)
{
    AioBh *newest = __atomic_exchange_n(&ctx->incoming, NULL, __ATOMIC_SEQ_CST);
    AioBh *oldest = NULL;
    AioBh *tail = newest;

    if (!newest) {
        return;
    }
    for (AioBh *bh = newest, *next; bh; bh = next) {
        next = bh->next;
        bh->next = oldest;
        oldest = bh;
        ctx->bh_count++;
    }
    if (ctx->bh_tail) {
        ctx->bh_tail->next = oldest;
    } else {
        ctx->bh_head = oldest;
    }
    ctx->bh_tail = tail;
}

static AioBh *bh_pop(AioContext *ctx)
{
    AioBh *bh = ctx->bh_head;

    if (bh) {
        ctx->bh_head = bh->next;
        if (!ctx->bh_head) {
            ctx->bh_tail = NULL;
        }
        ctx->bh_count--;
    }
    return bh;
}

bool aio_bh_pending(AioContext *ctx)
{
    return ctx->bh_head || __atomic_load_n(&ctx->incoming, __ATOMIC_SEQ_CST);
}

bool aio_bh_run(AioContext *ctx)
{
    bool progress = false;
    unsigned n;

    bh_take_incoming(ctx);

    /* One that schedules itself again waits for the next turn, or descriptors would starve. The
     * list stays in the context, so that a nested aio_poll() goes on where this one stands. */
    n = ctx->bh_count;
    while (n-- > 0) {
        AioBh *bh = bh_pop(ctx);
        unsigned old;

        if (!bh) {
            break;
        }
        /* After this, bh may be queued again at any moment, which writes bh->next. */
        old = __atomic_fetch_and(&bh->flags, ~(AIO_BH_QUEUED | AIO_BH_SCHEDULED), __ATOMIC_ACQ_REL);
        if (old & AIO_BH_ONESHOT) {
            AioCallback *cb = bh->cb;
            void *opaque = bh->opaque;

            g_free(bh);
            cb(opaque);
            progress = true;
        } else if (old & AIO_BH_FREED) {
            g_free(bh);
        } else if (old & AIO_BH_SCHEDULED) {
            bh->cb(bh->opaque);
            progress = true;
        }
    }
    return progress;
}

void aio_bh_drop_all(AioContext *ctx)
{
    AioBh *bh;

    bh_take_incoming(ctx);
    while ((bh = bh_pop(ctx))) {
        unsigned old =
            __atomic_fetch_and(&bh->flags, ~(AIO_BH_QUEUED | AIO_BH_SCHEDULED), __ATOMIC_ACQ_REL);

        if (old & (AIO_BH_ONESHOT | AIO_BH_FREED)) {
            g_free(bh);
        }
    }
}

typedef struct SyncCall {
    AioCallback *cb;
    void *opaque;
    AioContext *waiter; /* NULL: a thread without a context waits on sync_cond */
    int done;           /* atomic */
} SyncCall;

/* For callers without a context. Shared by all of them, so that it outlives each call. */
static pthread_mutex_t sync_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sync_cond = PTHREAD_COND_INITIALIZER;

static void sync_call_run(void *opaque)
{
    SyncCall *call = opaque;
    AioContext *waiter = call->waiter;

    call->cb(call->opaque);

    /* `call` lives on the waiter's stack and is gone as soon as `done` is seen. */
    if (waiter) {
        __atomic_store_n(&call->done, 1, __ATOMIC_SEQ_CST);
        aio_kick(waiter);
        aio_context_unref(waiter);
    } else {
        pthread_mutex_lock(&sync_lock);
        __atomic_store_n(&call->done, 1, __ATOMIC_SEQ_CST);
        pthread_cond_broadcast(&sync_cond);
        pthread_mutex_unlock(&sync_lock);
    }
}

void aio_call_sync(AioContext *ctx, AioCallback *cb, void *opaque)
{
    AioContext *self = aio_context_current();
    SyncCall call = {.cb = cb, .opaque = opaque, .waiter = self};

    if (self == ctx) {
        cb(opaque);
        return;
    }
    /* The main thread waits for IOThreads; the other direction could wait in a circle. */
    g_assert(!(self && ctx == aio_context_main()));

    if (self) {
        aio_context_ref(self);
        aio_call(ctx, sync_call_run, &call);
        AIO_WAIT_WHILE(!__atomic_load_n(&call.done, __ATOMIC_SEQ_CST));
    } else {
        /* The main thread needs the big lock to get to its callbacks. */
        g_assert(!(ctx == aio_context_main() && big_lock_held()));
        aio_call(ctx, sync_call_run, &call);
        pthread_mutex_lock(&sync_lock);
        while (!__atomic_load_n(&call.done, __ATOMIC_SEQ_CST)) {
            pthread_cond_wait(&sync_cond, &sync_lock);
        }
        pthread_mutex_unlock(&sync_lock);
    }
}
