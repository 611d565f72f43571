/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may busy-wait when there are fewer CPUs than threads that want to.
 *
 * Event loops that busy-wait for a guest take CPUs from each other and from the processors of the
 * guest: from those whom they wait for. Where the scheduler lets them wait for a CPU, the gate
 * closes for a while: as many loops as there are CPUs besides the guest's busy-wait, each for a
 * slice of time, and the others sleep until it is their turn. They leave the notifications of their
 * sources off meanwhile, for those cost both sides more than the wait; a loop whose turn does not
 * come in time turns them on again. Working needs no place, only waiting does.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aio-internal.h"

/* What a loop may keep its place for while others wait. A change of places costs a few us. */
#define SLICE_NS (400 * 1000)
/* Nobody keeps others waiting longer than this without having work himself: a little more than a
 * guest needs to answer a batch. */
#define PASS_IDLE_NS 10000
/* A place that has been held so long belongs to a thread that does not get a CPU, or is stuck. */
#define STALE_NS (4 * 1000 * 1000)
/* How long the gate stays closed, how often the scheduler is asked, and the part of the time (1/n)
 * for which a thread has to have waited for a CPU. */
#define CLOSED_NS   (300 * 1000 * 1000)
#define SAMPLE_NS   (10 * 1000 * 1000)
#define DELAY_PART  16

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static GQueue waiting = G_QUEUE_INIT; /* oldest first */
static GQueue holding = G_QUEUE_INIT;
static unsigned capacity;
static unsigned n_waiting;       /* atomic: length of `waiting` */
static int64_t closed_until_ns;  /* atomic */
static int reserved;             /* atomic: threads that need a CPU each */

void aio_reserve_cpus(int n)
{
    __atomic_fetch_add(&reserved, n, __ATOMIC_RELAXED);
}

bool aio_gate_closed(int64_t now)
{
    return __atomic_load_n(&closed_until_ns, __ATOMIC_RELAXED) > now;
}

static unsigned places(void)
{
    cpu_set_t set;
    int n;

    if (sched_getaffinity(getpid(), sizeof(set), &set) < 0) {
        return 1;
    }
    n = CPU_COUNT(&set) - __atomic_load_n(&reserved, __ATOMIC_RELAXED);
    return MAX(n, 1);
}

static void gate_close(int64_t now)
{
    unsigned n = places();

    pthread_mutex_lock(&gate_lock);
    capacity = n;
    __atomic_store_n(&closed_until_ns, now + CLOSED_NS, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&gate_lock);
}

/* ns that the calling thread has been kept waiting for a CPU since it was started; -1: unknown. */
static int64_t run_delay_ns(AioGate *g)
{
    char text[64];
    ssize_t n;
    char *end;

    if (g->sched_fd == 0) {
        g->sched_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    }
    n = g->sched_fd > 0 ? pread(g->sched_fd, text, sizeof(text) - 1, 0) : -1;
    if (n <= 0) {
        return -1;
    }
    text[n] = '\0';
    strtoll(text, &end, 10);
    return strtoll(end, NULL, 10);
}

void aio_gate_sample(AioContext *ctx, int64_t now)
{
    AioGate *g = &ctx->gate;
    int64_t elapsed = now - g->sampled_ns, delay;

    if (elapsed < SAMPLE_NS) {
        return;
    }
    delay = run_delay_ns(g);
    /* After a long sleep the figures say nothing about now. */
    if (elapsed < 16 * SAMPLE_NS && delay >= 0 && (delay - g->delay_ns) * DELAY_PART > elapsed) {
        gate_close(now);
    }
    g->sampled_ns = now;
    g->delay_ns = delay;
}

static void set_state(AioContext *ctx, int state)
{
    __atomic_store_n(&ctx->gate.state, state, __ATOMIC_RELEASE);
}

static int get_state(AioContext *ctx)
{
    return __atomic_load_n(&ctx->gate.state, __ATOMIC_ACQUIRE);
}

static void hold(AioContext *ctx, int64_t now)
{
    g_queue_push_tail_link(&holding, &ctx->gate.link);
    ctx->gate.since_ns = now;
    ctx->gate.found = false;
    set_state(ctx, AIO_GATE_HOLDING);
}

static bool place_free(int64_t now)
{
    AioContext *oldest = g_queue_peek_head(&holding);

    return holding.length < capacity ||
           (holding.length == capacity && now - oldest->gate.since_ns > STALE_NS);
}

/* The longest waiting ones get what is free. Under gate_lock. */
static void admit(int64_t now)
{
    while (waiting.length > 0 && place_free(now)) {
        AioContext *ctx = g_queue_pop_head_link(&waiting)->data;

        hold(ctx, now);
        aio_kick(ctx);
    }
    __atomic_store_n(&n_waiting, waiting.length, __ATOMIC_RELAXED);
}

static void queue_up(AioContext *ctx, int64_t now)
{
    g_queue_push_tail_link(&waiting, &ctx->gate.link);
    __atomic_store_n(&n_waiting, waiting.length, __ATOMIC_RELAXED);
    ctx->gate.give_up_ns = now + STALE_NS + 2 * SLICE_NS * (int64_t)waiting.length;
    set_state(ctx, AIO_GATE_WAITING);
}

AioGateAnswer aio_gate_ask(AioContext *ctx, int64_t now)
{
    AioGateAnswer answer = AIO_GATE_GO;

    if (get_state(ctx) == AIO_GATE_HOLDING) {
        return AIO_GATE_GO;
    }
    pthread_mutex_lock(&gate_lock);
    switch (get_state(ctx)) {
    case AIO_GATE_OUT:
        if (waiting.length == 0 && place_free(now)) {
            hold(ctx, now);
        } else {
            queue_up(ctx, now);
            answer = AIO_GATE_WAIT;
        }
        break;
    case AIO_GATE_WAITING:
        answer = now < ctx->gate.give_up_ns ? AIO_GATE_WAIT : AIO_GATE_GIVE_UP;
        break;
    default:
        break; /* let in this moment */
    }
    pthread_mutex_unlock(&gate_lock);
    return answer;
}

bool aio_gate_wanted(void)
{
    return __atomic_load_n(&n_waiting, __ATOMIC_RELAXED) > 0;
}

int64_t aio_gate_limit(AioContext *ctx, int64_t limit)
{
    return get_state(ctx) == AIO_GATE_HOLDING && aio_gate_wanted() ? MIN(limit, PASS_IDLE_NS)
                                                                   : limit;
}

bool aio_gate_over(AioContext *ctx, int64_t now)
{
    return aio_gate_wanted() && get_state(ctx) == AIO_GATE_HOLDING &&
           now - ctx->gate.since_ns >= SLICE_NS;
}

void aio_gate_leave(AioContext *ctx, int64_t now, bool again)
{
    if (get_state(ctx) == AIO_GATE_OUT) {
        return;
    }
    pthread_mutex_lock(&gate_lock);
    if (get_state(ctx) == AIO_GATE_WAITING) {
        g_queue_unlink(&waiting, &ctx->gate.link);
    } else {
        g_queue_unlink(&holding, &ctx->gate.link);
    }
    set_state(ctx, AIO_GATE_OUT);
    if (again) {
        queue_up(ctx, now);
    }
    admit(now);
    pthread_mutex_unlock(&gate_lock);
}

void aio_gate_close_context(AioContext *ctx)
{
    aio_gate_leave(ctx, aio_clock_ns(AIO_CLOCK_REALTIME), false);
    if (ctx->gate.sched_fd > 0) {
        close(ctx->gate.sched_fd);
    }
    ctx->gate.sched_fd = 0;
}
