/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loop that sleeps in poll(2), as it does at the gate and on kernels whose rings wait badly, sees
 * everything that one that sleeps in its engine does. */
#include "../../util/aio-internal.h"
#include "util/event-notifier.h"
#include "util/iothread.h"

#define ROUNDS 2000
#define LIMIT_NS INT64_C(60000000000)

typedef struct Peer {
    AioContext *ctx;
    AioFd *h;
    EventNotifier ping;
    AioBh *bh;
    AioTimer *timer;
    int pings;  /* atomic */
    int bhs;    /* atomic */
    int timers; /* atomic */
    const AioEngineOps *ops;
    AioEngineOps badly;
} Peer;

static bool always(AioContext *ctx)
{
    return true;
}

static void pinged(void *opaque)
{
    Peer *p = opaque;

    if (event_notifier_test_and_clear(&p->ping)) {
        __atomic_fetch_add(&p->pings, 1, __ATOMIC_SEQ_CST);
    }
}

static void bh_run(void *opaque)
{
    __atomic_fetch_add(&((Peer *)opaque)->bhs, 1, __ATOMIC_SEQ_CST);
}

static void timer_run(void *opaque)
{
    __atomic_fetch_add(&((Peer *)opaque)->timers, 1, __ATOMIC_SEQ_CST);
}

static void set_timer(void *opaque)
{
    Peer *p = opaque;

    aio_timer_set(p->timer, aio_clock_ns(AIO_CLOCK_REALTIME) + 100000);
}

static void setup(void *opaque)
{
    static const AioFdOps ops = {.read = pinged};
    Peer *p = opaque;

    p->h = aio_fd_add(p->ctx, p->ping.fd, &ops, p);
    p->timer = aio_timer_new(p->ctx, AIO_CLOCK_REALTIME, timer_run, p);
    p->ops = p->ctx->ops;
    p->badly = *p->ops;
    p->badly.wait_badly = always;
    __atomic_store_n(&p->ctx->ops, &p->badly, __ATOMIC_RELEASE);
}

static void cleanup(void *opaque)
{
    Peer *p = opaque;

    __atomic_store_n(&p->ctx->ops, p->ops, __ATOMIC_RELEASE);
    aio_timer_free(p->timer);
    aio_bh_free(p->bh);
    aio_fd_remove(p->h);
}

/* Fails if the event does not come: a lost wake-up lasts for ever. */
static void await(int *count, int wanted)
{
    int64_t start = aio_clock_ns(AIO_CLOCK_REALTIME);

    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < wanted) {
        g_assert_cmpint(aio_clock_ns(AIO_CLOCK_REALTIME) - start, <, LIMIT_NS);
        g_thread_yield();
    }
}

static void test_events(void)
{
    IOThreadCore *thread = iothread_core_start("parked", NULL, &error_abort);
    Peer p = {.ctx = iothread_core_context(thread)};

    aio_set_poll_params(p.ctx, 0, 0, 0);
    event_notifier_init(&p.ping, false, &error_abort);
    p.bh = aio_bh_new(p.ctx, bh_run, &p);
    aio_call_sync(p.ctx, setup, &p);
    for (int i = 1; i <= ROUNDS; i++) {
        if (i % 3 == 0) {
            g_usleep(50); /* it sleeps by now, or is about to */
        }
        event_notifier_set(&p.ping);
        await(&p.pings, i);
        aio_bh_schedule(p.bh);
        await(&p.bhs, i);
        if (i % 16 == 0) {
            aio_call_sync(p.ctx, set_timer, &p);
            await(&p.timers, i / 16);
        }
    }
    aio_call_sync(p.ctx, cleanup, &p);
    iothread_core_stop(thread);
    event_notifier_cleanup(&p.ping);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/aio/park/events", test_events);
    return g_test_run();
}
