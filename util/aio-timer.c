/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks and timers. */
#include "util/aio.h"

#include <time.h>

#include "aio-internal.h"
#include "util/biglock.h"

struct AioTimer {
    AioContext *ctx;
    AioClock clock;
    AioCallback *cb;
    void *opaque;
    int64_t expire_ns;
    uint64_t seq;   /* order of setting: the tie-breaker, and the bound of one round */
    unsigned index; /* in the heap */
    bool pending;
};

/*
 * The virtual clock: host + offset while it runs, offset while it stands. The fields change under
 * `seq` being odd. Readers do not lock; they try again if they met a writer.
 */
static struct {
    unsigned seq;
    int running;
    int manual; /* atomic */
    int held;   /* atomic */
    int64_t offset_ns;
} virtual_clock;

static int64_t host_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Acquire loads and release stores of the fields keep them between the two looks at seq. */
static int64_t virtual_clock_read(bool *running)
{
    for (;;) {
        unsigned seq = __atomic_load_n(&virtual_clock.seq, __ATOMIC_ACQUIRE);
        bool run = __atomic_load_n(&virtual_clock.running, __ATOMIC_ACQUIRE);
        int64_t offset = __atomic_load_n(&virtual_clock.offset_ns, __ATOMIC_ACQUIRE);

        if (!(seq & 1) && seq == __atomic_load_n(&virtual_clock.seq, __ATOMIC_RELAXED)) {
            if (running) {
                *running = run;
            }
            return run ? host_ns(CLOCK_MONOTONIC) + offset : offset;
        }
    }
}

static void virtual_clock_write(bool running, int64_t offset_ns)
{
    unsigned seq = virtual_clock.seq;

    __atomic_store_n(&virtual_clock.seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&virtual_clock.running, running, __ATOMIC_RELEASE);
    __atomic_store_n(&virtual_clock.offset_ns, offset_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&virtual_clock.seq, seq + 2, __ATOMIC_RELEASE);
}

int64_t aio_clock_ns(AioClock clock)
{
    switch (clock) {
    case AIO_CLOCK_REALTIME:
        return host_ns(CLOCK_MONOTONIC);
    case AIO_CLOCK_VIRTUAL:
        return virtual_clock_read(NULL);
    case AIO_CLOCK_HOST:
        return host_ns(CLOCK_REALTIME);
    }
    g_assert_not_reached();
}

/* ---- a binary heap per context and clock, earliest first ---- */

static bool earlier(const AioTimer *a, const AioTimer *b)
{
    return a->expire_ns < b->expire_ns || (a->expire_ns == b->expire_ns && a->seq < b->seq);
}

static void heap_place(AioTimerHeap *heap, unsigned i, AioTimer *t)
{
    heap->v[i] = t;
    t->index = i;
}

static void heap_up(AioTimerHeap *heap, unsigned i, AioTimer *t)
{
    while (i > 0 && earlier(t, heap->v[(i - 1) / 2])) {
        heap_place(heap, i, heap->v[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_place(heap, i, t);
}

static void heap_down(AioTimerHeap *heap, unsigned i, AioTimer *t)
{
    for (;;) {
        unsigned child = 2 * i + 1;

        if (child >= heap->n) {
            break;
        }
        if (child + 1 < heap->n && earlier(heap->v[child + 1], heap->v[child])) {
            child++;
        }
        if (!earlier(heap->v[child], t)) {
            break;
        }
        heap_place(heap, i, heap->v[child]);
        i = child;
    }
    heap_place(heap, i, t);
}

static void heap_insert(AioTimerHeap *heap, AioTimer *t)
{
    if (heap->n == heap->cap) {
        heap->cap = heap->cap ? heap->cap * 2 : 8;
        heap->v = g_renew(AioTimer *, heap->v, heap->cap);
    }
    heap->n++;
    heap_up(heap, heap->n - 1, t);
    t->pending = true;
}

static void heap_remove(AioTimerHeap *heap, AioTimer *t)
{
    AioTimer *last = heap->v[--heap->n];
    unsigned i = t->index;

    t->pending = false;
    if (last == t) {
        return;
    }
    if (i > 0 && earlier(last, heap->v[(i - 1) / 2])) {
        heap_up(heap, i, last);
    } else {
        heap_down(heap, i, last);
    }
}

static AioTimer *heap_first(const AioTimerHeap *heap)
{
    return heap->n > 0 ? heap->v[0] : NULL;
}

/* ---- timers ---- */

static AioTimerHeap *timer_heap(AioTimer *t)
{
    return &t->ctx->timers[t->clock];
}

/*
 * The main thread looks at its timers under the big lock only, so whoever holds that may change
 * them: a vCPU that programs a device. A context that no thread runs belongs to its last user.
 */
static void assert_timer_context(const AioTimer *t)
{
    g_assert(aio_in_context(t->ctx) || (t->ctx == aio_context_main() && big_lock_held()) ||
             __atomic_load_n(&t->ctx->ops, __ATOMIC_ACQUIRE) == NULL);
}

/* Not while callbacks run: what they set belongs to the instant that is being dealt with. */
static void publish_virtual(AioContext *ctx)
{
    AioTimer *first = heap_first(&ctx->timers[AIO_CLOCK_VIRTUAL]);

    if (!ctx->running_virtual) {
        __atomic_store_n(&ctx->virtual_deadline, first ? first->expire_ns : INT64_MAX,
                         __ATOMIC_SEQ_CST);
    }
}

AioTimer *aio_timer_new(AioContext *ctx, AioClock clock, AioCallback *cb, void *opaque)
{
    AioTimer *t = g_new0(AioTimer, 1);

    t->ctx = ctx;
    t->clock = clock;
    t->cb = cb;
    t->opaque = opaque;
    return t;
}

void aio_timer_set(AioTimer *t, int64_t expire_ns)
{
    AioContext *ctx = t->ctx;

    assert_timer_context(t);
    if (t->clock == AIO_CLOCK_VIRTUAL) {
        /* Published before the next look at the clock, so that a change of the clock either is
         * seen by that look or finds this context in need of a kick. */
        __atomic_store_n(&ctx->uses_virtual_clock, 1, __ATOMIC_SEQ_CST);
    }
    if (t->pending) {
        heap_remove(timer_heap(t), t);
    }
    t->expire_ns = MAX(expire_ns, 0);
    t->seq = ctx->timer_seq++;
    heap_insert(timer_heap(t), t);
    if (t->clock == AIO_CLOCK_VIRTUAL) {
        publish_virtual(ctx);
    }
    if (!aio_in_context(ctx)) {
        aio_kick(ctx); /* it may be sleeping for longer */
    }
}

void aio_timer_cancel(AioTimer *t)
{
    assert_timer_context(t);
    if (t->pending) {
        heap_remove(timer_heap(t), t);
        if (t->clock == AIO_CLOCK_VIRTUAL) {
            publish_virtual(t->ctx);
        }
    }
}

bool aio_timer_pending(const AioTimer *t)
{
    return t->pending;
}

int64_t aio_timer_expire_ns(const AioTimer *t)
{
    return t->pending ? t->expire_ns : -1;
}

void aio_timer_free(AioTimer *t)
{
    if (t) {
        aio_timer_cancel(t);
        g_free(t);
    }
}

int64_t aio_timers_timeout(AioContext *ctx)
{
    int64_t timeout = -1;

    for (unsigned clock = 0; clock < AIO_N_CLOCKS; clock++) {
        AioTimer *t = heap_first(&ctx->timers[clock]);
        bool running = true;
        int64_t now, left;

        if (!t) {
            continue;
        }
        now = clock == AIO_CLOCK_VIRTUAL ? virtual_clock_read(&running) : aio_clock_ns(clock);
        left = t->expire_ns > now ? t->expire_ns - now : 0;
        if (left > 0 && !running) {
            continue; /* whoever moves the clock kicks this context */
        }
        if (timeout < 0 || left < timeout) {
            timeout = left;
        }
    }
    return timeout;
}

/* Fires what is due; timers set by the callbacks wait for the next round. */
static bool run_heap(AioContext *ctx, AioTimerHeap *heap, AioClock clock)
{
    uint64_t end = ctx->timer_seq;
    bool progress = false;
    AioTimer *t;
    int64_t now;

    if (heap->n == 0) {
        return false;
    }
    now = aio_clock_ns(clock);
    while ((t = heap_first(heap)) && t->expire_ns <= now && t->seq < end) {
        heap_remove(heap, t);
        t->cb(t->opaque);
        progress = true;
    }
    return progress;
}

static bool run_virtual(AioContext *ctx)
{
    bool nested = ctx->running_virtual, progress;

    ctx->running_virtual = true;
    progress = run_heap(ctx, &ctx->timers[AIO_CLOCK_VIRTUAL], AIO_CLOCK_VIRTUAL);
    ctx->running_virtual = nested;
    if (progress) {
        publish_virtual(ctx);
        if (aio_virtual_clock_is_manual() && ctx != aio_context_main()) {
            /* Who moves the clock waits for this. */
            aio_kick(aio_context_main());
        }
    }
    return progress;
}

bool aio_timers_run(AioContext *ctx)
{
    bool progress = false;

    for (unsigned clock = 0; clock < AIO_N_CLOCKS; clock++) {
        progress |= clock == AIO_CLOCK_VIRTUAL ? run_virtual(ctx)
                                               : run_heap(ctx, &ctx->timers[clock], clock);
    }
    return progress;
}

void aio_timers_free(AioContext *ctx)
{
    for (unsigned clock = 0; clock < AIO_N_CLOCKS; clock++) {
        AioTimerHeap *heap = &ctx->timers[clock];

        for (unsigned i = 0; i < heap->n; i++) {
            heap->v[i]->pending = false;
        }
        g_clear_pointer(&heap->v, g_free);
        heap->n = heap->cap = 0;
    }
    publish_virtual(ctx);
}

/* ---- the virtual clock ---- */

void aio_virtual_clock_start(void)
{
    g_assert(aio_in_main_thread());
    if (!aio_virtual_clock_is_manual() && !virtual_clock.running) {
        virtual_clock_write(true, virtual_clock.offset_ns - host_ns(CLOCK_MONOTONIC));
        aio_kick_virtual_clock_users();
    }
}

void aio_virtual_clock_stop(void)
{
    g_assert(aio_in_main_thread());
    if (!aio_virtual_clock_is_manual() && virtual_clock.running) {
        virtual_clock_write(false, virtual_clock.offset_ns + host_ns(CLOCK_MONOTONIC));
        aio_kick_virtual_clock_users();
    }
}

void aio_virtual_clock_set_manual(void)
{
    g_assert(aio_in_main_thread());
    aio_virtual_clock_stop();
    __atomic_store_n(&virtual_clock.manual, 1, __ATOMIC_RELEASE);
}

bool aio_virtual_clock_is_manual(void)
{
    return __atomic_load_n(&virtual_clock.manual, __ATOMIC_ACQUIRE);
}

void aio_virtual_clock_hold(void)
{
    __atomic_add_fetch(&virtual_clock.held, 1, __ATOMIC_SEQ_CST);
}

void aio_virtual_clock_release(void)
{
    if (__atomic_sub_fetch(&virtual_clock.held, 1, __ATOMIC_SEQ_CST) == 0 &&
        aio_virtual_clock_is_manual()) {
        aio_kick(aio_context_main());
    }
}

/* What belongs to the present instant is over in all threads. */
static void settle(int64_t now)
{
    /* In this order: a timer's callback holds the clock before its context shows a new deadline. */
    AIO_WAIT_WHILE(aio_contexts_virtual_deadline(aio_context_main()) <= now ||
                   __atomic_load_n(&virtual_clock.held, __ATOMIC_SEQ_CST) > 0);
}

/* The main context's own is asked for directly: a callback of it may be what moves the clock. */
static int64_t earliest_virtual(void)
{
    AioTimer *first = heap_first(&aio_context_main()->timers[AIO_CLOCK_VIRTUAL]);
    int64_t others = aio_contexts_virtual_deadline(aio_context_main());

    return first ? MIN(first->expire_ns, others) : others;
}

bool aio_virtual_clock_set(int64_t ns)
{
    AioContext *ctx = aio_context_main();

    g_assert(aio_in_main_thread());
    g_assert(aio_virtual_clock_is_manual());
    if (ns < virtual_clock.offset_ns) {
        return false;
    }
    settle(virtual_clock.offset_ns);
    for (;;) {
        int64_t first = earliest_virtual();

        if (first > ns) {
            break;
        }
        /* A callback may itself have moved the clock, which never goes back. */
        virtual_clock_write(false, MAX(first, virtual_clock.offset_ns));
        aio_kick_virtual_clock_users();
        run_virtual(ctx);
        settle(virtual_clock.offset_ns);
    }
    virtual_clock_write(false, MAX(ns, virtual_clock.offset_ns));
    aio_kick_virtual_clock_users();
    return true;
}

int64_t aio_virtual_clock_deadline(void)
{
    int64_t first = earliest_virtual();

    g_assert(aio_in_main_thread());
    return first == INT64_MAX ? -1 : first;
}
