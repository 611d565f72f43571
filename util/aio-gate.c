/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may busy-wait when there are fewer CPUs than threads that want to.
 *
 * Event loops that busy-wait for a guest take CPUs from each other and from the processors of the
 * guest: from those whom they wait for. Where the scheduler lets either wait for a CPU, the gate
 * closes for a while: as many loops as there are CPUs besides the guest's busy-wait, each for a
 * slice of time, and the others sleep until it is their turn. They leave the notifications of their
 * sources off meanwhile, for those cost both sides more than the wait; a loop whose turn does not
 * come in time turns them on again. Working needs no place, only waiting does.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "aio-internal.h"

/* What a loop may keep its place for while others wait. A change of places costs a few us. */
#define SLICE_NS (400 * 1000)
/* Nobody keeps others waiting longer than this without having work himself: a little more than a
 * guest needs to answer a batch. */
#define PASS_IDLE_NS 10000
/* One that was woken by the guest waits so long for another loop to call it, if one was here not
 * longer ago than RECENT_NS. */
#define CALL_NS   (100 * 1000)
#define RECENT_NS (1000 * 1000)
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
static const AioContext *last_out; /* who has given up a place last, ... */
static int64_t last_out_ns;        /* ... and when */
static GQueue reserved = G_QUEUE_INIT; /* Reserved; the one to look at next first */

/* A thread that needs a CPU. */
typedef struct Reserved {
    AioDelay delay;
    GList link;
} Reserved;

static __thread Reserved *own_reserved;

static void delay_open(AioDelay *d)
{
    d->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

static void delay_close(AioDelay *d)
{
    if (d->fd > 0) {
        close(d->fd);
    }
    d->fd = 0;
}

void aio_reserve_cpu(void)
{
    Reserved *r = g_new0(Reserved, 1);

    g_assert(!own_reserved);
    own_reserved = r;
    r->link.data = r;
    delay_open(&r->delay);
    pthread_mutex_lock(&gate_lock);
    g_queue_push_tail_link(&reserved, &r->link);
    pthread_mutex_unlock(&gate_lock);
}

void aio_release_cpu(void)
{
    Reserved *r = own_reserved;

    own_reserved = NULL;
    pthread_mutex_lock(&gate_lock);
    g_queue_unlink(&reserved, &r->link);
    pthread_mutex_unlock(&gate_lock);
    delay_close(&r->delay);
    g_free(r);
}

bool aio_gate_closed(int64_t now)
{
    return __atomic_load_n(&closed_until_ns, __ATOMIC_RELAXED) > now;
}

/* Under gate_lock. */
static unsigned places(void)
{
    cpu_set_t set;
    int n;

    if (sched_getaffinity(getpid(), sizeof(set), &set) < 0) {
        return 1;
    }
    n = CPU_COUNT(&set) - (int)reserved.length;
    return MAX(n, 1);
}

static void gate_close(int64_t now)
{
    pthread_mutex_lock(&gate_lock);
    capacity = places();
    __atomic_store_n(&closed_until_ns, now + CLOSED_NS, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&gate_lock);
}

/* Whether the thread had to wait for a CPU for much of the time since the last look at it, if that
 * was not more than `recent_ns` ago: figures over a long time say nothing about now. */
static bool delayed(AioDelay *d, int64_t now, int64_t recent_ns)
{
    int64_t elapsed = now - d->at_ns, waited, more;
    char text[64];
    ssize_t n = d->fd > 0 ? pread(d->fd, text, sizeof(text) - 1, 0) : -1;
    char *end;

    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    strtoll(text, &end, 10);
    waited = strtoll(end, NULL, 10);
    more = waited - d->waited_ns;
    d->at_ns = now;
    d->waited_ns = waited;
    return elapsed < recent_ns && more * DELAY_PART > elapsed;
}

/* A loop that was woken on the CPU of a guest's processor does not wait itself, but makes that one
 * wait. One of them is looked at each time. */
static bool guest_delayed(int64_t now)
{
    bool result = false;
    GList *link;

    pthread_mutex_lock(&gate_lock);
    link = g_queue_pop_head_link(&reserved);
    if (link) {
        g_queue_push_tail_link(&reserved, link);
        result = delayed(&((Reserved *)link->data)->delay, now,
                         16 * SAMPLE_NS * (int64_t)reserved.length);
    }
    pthread_mutex_unlock(&gate_lock);
    return result;
}

void aio_gate_sample(AioContext *ctx, int64_t now)
{
    AioDelay *own = &ctx->gate.delay;

    if (now - own->at_ns < SAMPLE_NS) {
        return;
    }
    if (own->fd == 0) {
        delay_open(own);
    }
    if (guest_delayed(now) | delayed(own, now, 16 * SAMPLE_NS)) {
        gate_close(now);
    }
    own->at_ns = now;
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

/* The longest waiting one gets what is free; the caller is to wake it. Under gate_lock. */
static AioContext *admit(int64_t now)
{
    AioContext *ctx = NULL;

    if (waiting.length > 0 && place_free(now)) {
        ctx = g_queue_pop_head_link(&waiting)->data;
        hold(ctx, now);
        aio_context_ref(ctx);
    }
    __atomic_store_n(&n_waiting, waiting.length, __ATOMIC_RELAXED);
    return ctx;
}

/* Not under gate_lock: the one that wakes up may well take this CPU at once, and for long. */
static void let_in(AioContext *ctx, int64_t now)
{
    while (ctx) {
        aio_kick(ctx);
        aio_context_unref(ctx);
        pthread_mutex_lock(&gate_lock);
        ctx = admit(now);
        pthread_mutex_unlock(&gate_lock);
    }
}

static void queue_up(AioContext *ctx, int64_t now)
{
    g_queue_push_tail_link(&waiting, &ctx->gate.link);
    __atomic_store_n(&n_waiting, waiting.length, __ATOMIC_RELAXED);
    ctx->gate.give_up_ns = now + STALE_NS + 2 * SLICE_NS * (int64_t)waiting.length;
    set_state(ctx, AIO_GATE_WAITING);
}

/*
 * A loop that the guest has woken may well be on the CPU of the guest's processor, and busy-wait
 * in its way: then all that it waits for comes late, it sleeps, and the guest wakes it there again.
 * One that another loop has woken is on that one's CPU (see aio_park()). Under gate_lock.
 */
static bool better_called(AioContext *ctx, int64_t now)
{
    bool roused = ctx->gate.roused;

    ctx->gate.roused = false;
    return roused && last_out && last_out != ctx && now - last_out_ns < RECENT_NS;
}

AioGateAnswer aio_gate_ask(AioContext *ctx, int64_t now)
{
    AioGateAnswer answer = AIO_GATE_GO;
    AioContext *next = NULL;

    if (get_state(ctx) == AIO_GATE_HOLDING) {
        return AIO_GATE_GO;
    }
    pthread_mutex_lock(&gate_lock);
    switch (get_state(ctx)) {
    case AIO_GATE_OUT:
        if (waiting.length == 0 && place_free(now) && !better_called(ctx, now)) {
            hold(ctx, now);
            break;
        }
        queue_up(ctx, now);
        answer = AIO_GATE_WAIT;
        if (waiting.length > 1) {
            next = admit(now);
        } else if (place_free(now)) {
            ctx->gate.give_up_ns = now + CALL_NS;
        }
        break;
    case AIO_GATE_WAITING:
        answer = now < ctx->gate.give_up_ns ? AIO_GATE_WAIT : AIO_GATE_GIVE_UP;
        break;
    default:
        break; /* let in this moment */
    }
    pthread_mutex_unlock(&gate_lock);
    let_in(next, now);
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
    AioContext *next;

    if (get_state(ctx) == AIO_GATE_OUT) {
        return;
    }
    pthread_mutex_lock(&gate_lock);
    if (get_state(ctx) == AIO_GATE_WAITING) {
        g_queue_unlink(&waiting, &ctx->gate.link);
    } else {
        g_queue_unlink(&holding, &ctx->gate.link);
        last_out = ctx;
        last_out_ns = now;
    }
    set_state(ctx, AIO_GATE_OUT);
    if (again) {
        queue_up(ctx, now);
    }
    next = admit(now);
    pthread_mutex_unlock(&gate_lock);
    let_in(next, now);
}

void aio_gate_close_context(AioContext *ctx)
{
    aio_gate_leave(ctx, aio_clock_ns(AIO_CLOCK_REALTIME), false);
    delay_close(&ctx->gate.delay);
}
