/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One turn of the event loop, and the adaptive busy-wait before it sleeps. */
#include "util/aio.h"

#include "aio-internal.h"
#include "util/biglock.h"

/* First budget of a handler whose events come soon enough for polling to pay. */
#define POLL_START_NS 4000
/* A polled handler without any event for this long, or twice the longest busy-wait, goes back to
 * its descriptor. */
#define POLL_IDLE_NS (10 * 1000 * 1000)
/* A busy-wait that keeps finding work goes on for so long before the loop sees to the rest. */
#define STAY_NS (100 * 1000)
/* After a handler has worked for so long its results are made known, and those are looked at that
 * need a small part (1/n) of its time; after a shorter time where there are known to be such. */
#define LONG_NS         8000
#define CROWDED_LONG_NS 1000
#define LIGHT_PART 4
#define CROWDED_LIGHT_PART 2
/* So many rounds after a light one has last had something to do there is none any more. */
#define CROWDED_ROUNDS 64
/* One round in so many is timed, as long as that is not known to be worth it. */
#define TIMED_ROUNDS 8
/* When CPUs are short, a source whose events come so soon after each other is worth waiting for:
 * then it is the waiting for a CPU that takes most of the time. */
#define GATED_MAX_NS (1000 * 1000)

typedef enum {
    WAIT_EXPIRED, /* nothing came (or polling is off): sleep */
    WAIT_ENDED,   /* nothing came, but poll_end callbacks have run: the caller must look again */
    WAIT_FOUND,   /* a handler found work and did it */
    WAIT_EVENT,   /* something waits to be dispatched */
    WAIT_PARKED,  /* sleep, but leave the sources in poll mode */
} WaitResult;

static int64_t now_ns(void)
{
    return aio_clock_ns(AIO_CLOCK_REALTIME);
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

bool aio_work_pending(AioContext *ctx)
{
    return ctx->ready.length > 0 || aio_bh_pending(ctx) ||
           __atomic_load_n(&ctx->kicked, __ATOMIC_SEQ_CST);
}

static int64_t poll_max_ns(AioContext *ctx)
{
    /* The main thread holds the big lock while it is awake, which others may be waiting for. */
    return ctx == aio_context_main() ? 0 : __atomic_load_n(&ctx->poll_max_ns, __ATOMIC_RELAXED);
}

/* Returns whether there was something to end: then callbacks have run. */
static bool leave_poll_mode(AioContext *ctx)
{
    if (ctx->n_polling == 0) {
        return false;
    }
    aio_fd_walk_begin(ctx);
    for (GList *l = ctx->poll_fds.head; l; l = l->next) {
        aio_fd_poll_end(l->data);
    }
    aio_fd_walk_end(ctx);
    return true;
}

/*
 * A handler with little to do, a queue with one request at a time say, must not wait for a round of
 * those that have much. What they have done is made known first: the others' results would wait for
 * the end of the round, too.
 */
static void look_at_light_ones(AioContext *ctx, AioFd *heavy)
{
    int64_t limit = heavy->work_ns / (ctx->crowded > 0 ? CROWDED_LIGHT_PART : LIGHT_PART);
    bool found = false;

    aio_defer_flush();
    for (GList *l = ctx->poll_fds.head; l; l = l->next) {
        AioFd *h = l->data;

        if (h != heavy && h->work_ns <= limit) {
            found |= aio_fd_run_poll(h);
        }
    }
    if (found) {
        ctx->crowded = CROWDED_ROUNDS;
        aio_defer_flush();
        ctx->ops->flush(ctx);
    }
}

/* Lets every handler in poll mode look for work once. `now`: the time, or a little before. */
static bool look_once(AioContext *ctx, int64_t now)
{
    bool timed;
    unsigned found = 0;

    if (ctx->n_polling == 0) {
        return false;
    }
    timed = ctx->n_polling > 1 && (ctx->crowded > 0 || ctx->rounds % TIMED_ROUNDS == 0);
    aio_fd_walk_begin(ctx);
    for (GList *l = ctx->poll_fds.head; l; l = l->next) {
        AioFd *h = l->data;
        int64_t before = now;

        if (!aio_fd_run_poll(h)) {
            continue;
        }
        found++;
        if (timed) {
            now = now_ns();
            /* It may have been kept from a CPU: that says nothing of it. */
            h->work_ns = MIN(now - before, h->work_ns + h->work_ns / 4 + 500);
            if (h->work_ns >= (ctx->crowded > 0 ? CROWDED_LONG_NS : LONG_NS)) {
                look_at_light_ones(ctx, h);
                now = now_ns();
            }
        }
    }
    aio_fd_walk_end(ctx);
    if (found) {
        ctx->rounds++;
        ctx->crowded -= ctx->crowded > 0;
        ctx->alone = found == 1;
    }
    return found > 0;
}

/*
 * Brings each handler into the mode that its budget asks for and returns the longest budget. A
 * handler joins when its own events have been coming quickly; the busy-wait is as long as the most
 * promising of them deserves, and the others ride along until they have been silent for long. Sets
 * *ended if a handler left the mode: then callbacks may have run.
 */
static int64_t enter_poll_mode(AioContext *ctx, int64_t max_ns, int64_t now, bool *ended)
{
    int64_t budget = ctx->ops->inflight(ctx) > 0 ? ctx->completion_poll_ns : 0;
    int64_t idle_ns = MAX(POLL_IDLE_NS, max_ns < G_MAXINT64 / 2 ? 2 * max_ns : max_ns);

    aio_fd_walk_begin(ctx);
    for (GList *l = ctx->poll_fds.head; l; l = l->next) {
        AioFd *h = l->data;

        if (h->poll_ns > 0 && now - h->last_hit_ns > idle_ns) {
            h->poll_ns = 0;
        }
        if (h->poll_ns > 0 && max_ns > 0) {
            aio_fd_poll_begin(h);
            if (h->polling) {
                budget = MAX(budget, h->poll_ns);
            }
        } else {
            *ended |= h->polling;
            aio_fd_poll_end(h);
        }
    }
    aio_fd_walk_end(ctx);
    return MIN(budget, max_ns);
}

/*
 * Looks for work until `limit` ns have passed without any. What is found is finished here, without
 * a turn of the whole loop for each batch, up to `stay_until`. *idle: it ended for want of work.
 */
static WaitResult busy_wait_loop(AioContext *ctx, int64_t start, int64_t limit, int64_t stay_until,
                                 bool *idle)
{
    int64_t now = start, since = start;
    WaitResult nothing = WAIT_EXPIRED, other = WAIT_EVENT;

    for (;;) {
        if (look_once(ctx, now)) {
            ctx->waited_ns = MAX(ctx->waited_ns, now - since);
            ctx->gate.found = true;
            nothing = other = WAIT_FOUND;
            aio_defer_flush();
            ctx->ops->flush(ctx);
            now = since = now_ns();
            if (now >= stay_until || aio_work_pending(ctx) || ctx->ops->peek(ctx)) {
                return WAIT_FOUND;
            }
            continue;
        }
        if (aio_work_pending(ctx) || ctx->ops->peek(ctx)) {
            ctx->waited_ns = MAX(ctx->waited_ns, now - since);
            return other;
        }
        if (now - since >= aio_gate_limit(ctx, limit)) {
            *idle = true;
            return nothing;
        }
        cpu_relax();
        now = now_ns();
    }
}

/* With a place at the gate, or while it is open. */
static WaitResult busy_wait_admitted(AioContext *ctx, int64_t start, int64_t limit,
                                     int64_t stay_until)
{
    bool idle = false;
    WaitResult result = busy_wait_loop(ctx, start, limit, stay_until, &idle);

    if (result != WAIT_EXPIRED) {
        counter_add(&ctx->counters.polled, 1);
    }
    if (idle && aio_gate_wanted() && ctx->gate.found && aio_gate_closed(start)) {
        /* The guest is slower than us; it will come back to us, though. */
        aio_gate_leave(ctx, now_ns(), true);
        return result == WAIT_FOUND ? WAIT_FOUND : WAIT_PARKED;
    }
    if (!idle && aio_gate_over(ctx, start)) {
        aio_gate_leave(ctx, now_ns(), true);
    }
    return result;
}

static WaitResult busy_wait_gated(AioContext *ctx, int64_t start, int64_t limit, int64_t stay_until)
{
    if (!aio_gate_closed(start)) {
        aio_gate_leave(ctx, start, false);
        return busy_wait_admitted(ctx, start, limit, stay_until);
    }
    switch (aio_gate_ask(ctx, start)) {
    case AIO_GATE_GO:
        return busy_wait_admitted(ctx, start, limit, stay_until);
    case AIO_GATE_WAIT:
        return WAIT_PARKED;
    default:
        return WAIT_EXPIRED;
    }
}

static WaitResult busy_wait(AioContext *ctx, int64_t start)
{
    int64_t max_ns = poll_max_ns(ctx), stay = STAY_NS, budget, timeout;
    WaitResult result = WAIT_EXPIRED;
    bool ended = false;

    if (max_ns == 0 && ctx->n_polling == 0) {
        return WAIT_EXPIRED;
    }
    aio_plug();
    aio_gate_sample(ctx, start);
    budget = enter_poll_mode(ctx, max_ns, start, &ended);
    timeout = aio_timers_timeout(ctx);
    if (timeout >= 0) {
        budget = MIN(budget, timeout);
        stay = MIN(stay, timeout);
    }
    if (budget > 0) {
        aio_defer_flush();
        ctx->ops->flush(ctx);
        result = busy_wait_gated(ctx, start, budget, start + stay);
    }
    if (result == WAIT_EXPIRED) {
        ended |= leave_poll_mode(ctx);
    }
    if (ended && result == WAIT_EXPIRED) {
        result = WAIT_ENDED;
    } else if (ended && result == WAIT_PARKED) {
        result = WAIT_FOUND;
    }
    aio_unplug();
    return result;
}

static int64_t grown(AioContext *ctx, int64_t poll_ns, int64_t max_ns)
{
    int64_t grow = __atomic_load_n(&ctx->poll_grow, __ATOMIC_RELAXED);

    if (poll_ns == 0) {
        return MIN(POLL_START_NS, max_ns);
    }
    grow = grow ? grow : 2;
    return poll_ns > max_ns / grow ? max_ns : poll_ns * grow;
}

static int64_t shrunk(AioContext *ctx, int64_t poll_ns)
{
    int64_t shrink = __atomic_load_n(&ctx->poll_shrink, __ATOMIC_RELAXED);

    return shrink ? poll_ns / shrink : 0;
}

/*
 * After a wait of `waited` ns. A source whose event came within its budget keeps it; a little
 * later, within the maximum, it deserves a longer one; later still, polling was in vain for it.
 */
static int64_t adapted(AioContext *ctx, int64_t poll_ns, bool hit, int64_t waited, int64_t max_ns)
{
    bool worth_it = waited <= max_ns || (hit && waited <= GATED_MAX_NS &&
                                         aio_gate_closed(ctx->wait_start_ns));

    if (!worth_it) {
        return shrunk(ctx, poll_ns);
    }
    if (hit && (poll_ns == 0 || waited > poll_ns)) {
        return grown(ctx, poll_ns, max_ns);
    }
    return MIN(poll_ns, max_ns);
}

static void adapt(AioContext *ctx, int64_t waited, int64_t end)
{
    int64_t max_ns = poll_max_ns(ctx);

    ctx->completion_poll_ns =
        adapted(ctx, ctx->completion_poll_ns, ctx->completion_hit, waited, max_ns);
    for (GList *l = ctx->poll_fds.head; l; l = l->next) {
        AioFd *h = l->data;

        h->poll_ns = adapted(ctx, h->poll_ns, h->hit, waited, max_ns);
        if (h->hit) {
            h->hit = false;
            h->last_hit_ns = end;
        }
    }
}

static void sleep_in_engine(AioContext *ctx, int64_t timeout)
{
    __atomic_store_n(&ctx->wake_state, AIO_SLEEPING, __ATOMIC_SEQ_CST);
    ctx->ops->wait(ctx, aio_work_pending(ctx) ? 0 : timeout);
    __atomic_store_n(&ctx->wake_state, AIO_AWAKE, __ATOMIC_SEQ_CST);
}

static void sleep_until_event(AioContext *ctx, int64_t timeout, bool parked)
{
    bool locked;

    if (aio_work_pending(ctx)) {
        ctx->ops->wait(ctx, 0);
        return;
    }
    parked = parked || (ctx->ops->wait_badly && ctx->ops->wait_badly(ctx));
    counter_add(&ctx->counters.slept, 1);
    /* Others get their turn at the control plane only while its owner sleeps. */
    locked = big_lock_held();
    if (locked) {
        big_unlock();
    }
    if (parked && aio_park(ctx, timeout)) {
        ctx->ops->wait(ctx, 0);
    } else {
        sleep_in_engine(ctx, timeout);
    }
    if (locked) {
        big_lock();
    }
}

/*
 * Waits in whatever way is right. A caller that waits for a condition must get to look at it again
 * after any callback; so this sleeps only if none has run since aio_poll() was called.
 */
static WaitResult wait_for_event(AioContext *ctx, int64_t start)
{
    uint64_t turn = ctx->turn;
    WaitResult result = WAIT_EXPIRED;
    int64_t timeout;

    if (!ctx->poll_expired) {
        result = busy_wait(ctx, start);
    }
    /* After WAIT_ENDED the next call goes to sleep without polling again. */
    ctx->poll_expired = result == WAIT_ENDED;

    timeout = 0;
    if ((result == WAIT_EXPIRED || result == WAIT_PARKED) && ctx->turn == turn) {
        timeout = aio_timers_timeout(ctx);
    }
    if (timeout != 0 && result == WAIT_PARKED) {
        int64_t left = MAX(ctx->gate.give_up_ns - start, 1);

        timeout = timeout < 0 ? left : MIN(timeout, left);
    } else if (timeout != 0) {
        aio_gate_leave(ctx, start, false);
    }
    if (timeout != 0) {
        sleep_until_event(ctx, timeout, result == WAIT_PARKED);
        ctx->gate.roused = result != WAIT_PARKED;
    } else {
        ctx->ops->wait(ctx, 0);
    }
    return result;
}

bool aio_poll(AioContext *ctx, bool blocking)
{
    WaitResult result = WAIT_EVENT;
    int64_t start = 0, end = 0;
    bool progress, event;

    g_assert(aio_in_context(ctx));
    ctx->turn++;
    counter_add(&ctx->counters.turns, 1);

    /* A nested wait must not sleep on what an outer plugged section still holds back. */
    progress = aio_defer_flush();

    if (blocking && !progress && !aio_work_pending(ctx)) {
        start = ctx->poll_expired ? ctx->wait_start_ns : now_ns();
        ctx->wait_start_ns = start;
        ctx->waited_ns = 0;
        result = wait_for_event(ctx, start);
        end = now_ns();
        if (result == WAIT_EXPIRED || result == WAIT_ENDED) {
            ctx->waited_ns = end - start;
        }
    } else {
        ctx->ops->wait(ctx, 0);
    }
    if (__atomic_load_n(&ctx->kicked, __ATOMIC_ACQUIRE)) {
        __atomic_exchange_n(&ctx->kicked, 0, __ATOMIC_SEQ_CST);
    }

    aio_plug();
    event = ctx->ops->collect(ctx);
    ctx->completion_hit = event;
    event |= result == WAIT_FOUND || (ctx->n_polling > 0 && look_once(ctx, now_ns()));
    event |= aio_fd_dispatch(ctx);
    event |= aio_bh_run(ctx);
    event |= aio_timers_run(ctx);
    aio_defer_flush();
    aio_unplug();

    if (event) {
        ctx->poll_expired = false; /* the next wait is a new one */
    }
    if (start && result != WAIT_PARKED && (event || result != WAIT_ENDED) &&
        ctx->poll_fds.length + ctx->completion_hit > 0) {
        adapt(ctx, ctx->waited_ns, end);
    }
    return progress || event || result == WAIT_ENDED;
}
