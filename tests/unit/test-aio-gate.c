/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many event loops that busy-wait on few CPUs: each gets its turn, and no event is lost. */
#include <sched.h>

#include "util/aio.h"
#include "util/event-notifier.h"
#include "util/iothread.h"

#define N_LOOPS 6
#define BATCHES 3000

/* A queue that its producer fills again as soon as it has been emptied, as a polling guest does. */
typedef struct Source {
    IOThreadCore *thread;
    AioContext *ctx;
    AioFd *h;
    EventNotifier bell;
    int avail; /* atomic; the producer's */
    int seen;  /* atomic; the consumer's */
    int muted; /* atomic */
} Source;

static bool source_work(Source *s)
{
    int avail = __atomic_load_n(&s->avail, __ATOMIC_SEQ_CST);

    if (avail == s->seen) {
        return false;
    }
    __atomic_store_n(&s->seen, avail, __ATOMIC_SEQ_CST);
    return true;
}

static void source_read(void *opaque)
{
    Source *s = opaque;

    if (event_notifier_test_and_clear(&s->bell)) {
        source_work(s);
    }
}

static bool source_poll(void *opaque)
{
    return source_work(opaque);
}

static void source_poll_begin(void *opaque)
{
    Source *s = opaque;

    __atomic_store_n(&s->muted, 1, __ATOMIC_SEQ_CST);
}

static void source_poll_end(void *opaque)
{
    Source *s = opaque;

    __atomic_store_n(&s->muted, 0, __ATOMIC_SEQ_CST);
    source_work(s);
}

static const AioFdOps source_ops = {
    .read = source_read,
    .poll = source_poll,
    .poll_begin = source_poll_begin,
    .poll_end = source_poll_end,
};

static void source_attach(void *opaque)
{
    Source *s = opaque;

    s->h = aio_fd_add(s->ctx, s->bell.fd, &source_ops, s);
}

static void source_detach(void *opaque)
{
    aio_fd_remove(((Source *)opaque)->h);
}

static void produce(Source *s)
{
    __atomic_fetch_add(&s->avail, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&s->muted, __ATOMIC_SEQ_CST)) {
        event_notifier_set(&s->bell);
    }
}

static bool emptied(Source *s)
{
    return __atomic_load_n(&s->seen, __ATOMIC_SEQ_CST) == s->avail;
}

/* Everything on one CPU, so that there is no CPU for anyone to busy-wait on but the producer's. */
static void test_one_cpu(void)
{
    Source sources[N_LOOPS] = {0};
    unsigned done[N_LOOPS] = {0}, left = N_LOOPS;
    cpu_set_t old, one;

    g_assert_cmpint(sched_getaffinity(0, sizeof(old), &old), ==, 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    g_assert_cmpint(sched_setaffinity(0, sizeof(one), &one), ==, 0);
    aio_reserve_cpu();
    for (int i = 0; i < N_LOOPS; i++) {
        Source *s = &sources[i];
        g_autofree char *id = g_strdup_printf("gate%d", i);

        s->thread = iothread_core_start(id, NULL, &error_abort);
        s->ctx = iothread_core_context(s->thread);
        aio_set_poll_params(s->ctx, 32768, 0, 0);
        event_notifier_init(&s->bell, false, &error_abort);
        aio_call_sync(s->ctx, source_attach, s);
    }
    while (left) {
        int64_t start = aio_clock_ns(AIO_CLOCK_REALTIME);
        bool any = false;

        for (int i = 0; i < N_LOOPS; i++) {
            if (done[i] < BATCHES && emptied(&sources[i])) {
                any = true;
                if (++done[i] == BATCHES) {
                    left--;
                } else {
                    produce(&sources[i]);
                }
            }
        }
        /* Busy like a guest's processor, not forever: a loop may have died. */
        while (!any && left) {
            for (int i = 0; i < N_LOOPS; i++) {
                any |= done[i] < BATCHES && emptied(&sources[i]);
            }
            g_assert_cmpint(aio_clock_ns(AIO_CLOCK_REALTIME) - start, <, INT64_C(60000000000));
        }
    }
    for (int i = 0; i < N_LOOPS; i++) {
        aio_call_sync(sources[i].ctx, source_detach, &sources[i]);
        iothread_core_stop(sources[i].thread);
        event_notifier_cleanup(&sources[i].bell);
    }
    aio_release_cpu();
    g_assert_cmpint(sched_setaffinity(0, sizeof(old), &old), ==, 0);
}

static void idle_source(void *opaque)
{
    *(uint64_t *)opaque = 1;
}

/* A loop that waits in the line is woken by whatever else concerns it. */
static void test_loop_ends_while_others_wait(void)
{
    Source s = {0};
    uint64_t ran = 0;

    s.thread = iothread_core_start("gate", NULL, &error_abort);
    s.ctx = iothread_core_context(s.thread);
    aio_set_poll_params(s.ctx, 32768, 0, 0);
    event_notifier_init(&s.bell, false, &error_abort);
    aio_call_sync(s.ctx, source_attach, &s);
    for (int i = 0; i < 100; i++) {
        produce(&s);
        aio_call_sync(s.ctx, idle_source, &ran);
    }
    g_assert_cmpuint(ran, ==, 1);
    aio_call_sync(s.ctx, source_detach, &s);
    iothread_core_stop(s.thread);
    event_notifier_cleanup(&s.bell);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    g_test_add_func("/aio-gate/one-cpu", test_one_cpu);
    g_test_add_func("/aio-gate/calls-meanwhile", test_loop_ends_while_others_wait);
    return g_test_run();
}
