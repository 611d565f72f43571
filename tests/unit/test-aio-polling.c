/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adaptive polling: no event is lost between memory and descriptor, and idle means asleep. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "util/aio.h"
#include "util/event-notifier.h"
#include "util/iothread.h"

/* A queue as a guest sees it: an index in memory, and a bell that may be muted. */
typedef struct Queue {
    AioContext *ctx;
    AioFd *h;
    EventNotifier bell;
    int avail; /* atomic; written by the producer */
    int seen;  /* atomic; written by the consumer */
    int muted; /* atomic */
    bool in_poll;
    bool noisy;      /* the bell is not muted after all */
    unsigned polled; /* found by poll */
    unsigned rung;   /* found through the bell */
    unsigned begins;
    unsigned ends;
} Queue;

static bool queue_work(Queue *q)
{
    int avail = __atomic_load_n(&q->avail, __ATOMIC_SEQ_CST);

    if (avail == q->seen) {
        return false;
    }
    __atomic_store_n(&q->seen, avail, __ATOMIC_SEQ_CST);
    return true;
}

static void queue_read(void *opaque)
{
    Queue *q = opaque;

    if (event_notifier_test_and_clear(&q->bell) && queue_work(q)) {
        q->rung++;
    }
}

static bool queue_poll(void *opaque)
{
    Queue *q = opaque;

    g_assert_true(q->in_poll);
    if (!queue_work(q)) {
        return false;
    }
    q->polled++;
    return true;
}

static void queue_poll_begin(void *opaque)
{
    Queue *q = opaque;

    g_assert_false(q->in_poll);
    q->in_poll = true;
    q->begins++;
    __atomic_store_n(&q->muted, 1, __ATOMIC_SEQ_CST);
}

static void queue_poll_end(void *opaque)
{
    Queue *q = opaque;

    g_assert_true(q->in_poll);
    q->in_poll = false;
    q->ends++;
    __atomic_store_n(&q->muted, 0, __ATOMIC_SEQ_CST);
    queue_work(q);
}

static const AioFdOps queue_ops = {
    .read = queue_read,
    .poll = queue_poll,
    .poll_begin = queue_poll_begin,
    .poll_end = queue_poll_end,
};

static void queue_attach(void *opaque)
{
    Queue *q = opaque;

    q->h = aio_fd_add(q->ctx, q->bell.fd, &queue_ops, q);
}

static void queue_detach(void *opaque)
{
    Queue *q = opaque;

    aio_fd_remove(q->h);
    g_assert_false(q->in_poll);
    g_assert_cmpint(q->begins, ==, q->ends);
}

static void queue_put(Queue *q)
{
    __atomic_fetch_add(&q->avail, 1, __ATOMIC_SEQ_CST);
    if (q->noisy || !__atomic_load_n(&q->muted, __ATOMIC_SEQ_CST)) {
        event_notifier_set(&q->bell);
    }
}

static void queue_wait(Queue *q)
{
    while (__atomic_load_n(&q->seen, __ATOMIC_SEQ_CST) !=
           __atomic_load_n(&q->avail, __ATOMIC_SEQ_CST)) {
        struct timespec ts = {0, 1000};

        nanosleep(&ts, NULL);
    }
}

static void pause_ns(long ns)
{
    int64_t end = aio_clock_ns(AIO_CLOCK_REALTIME) + ns;

    while (aio_clock_ns(AIO_CLOCK_REALTIME) < end) {
        ;
    }
}

static void start(Queue *q, int n, IOThreadCore **t, int64_t max_ns, int64_t grow, int64_t shrink)
{
    *t = iothread_core_start("poll", NULL, &error_abort);
    aio_set_poll_params(iothread_core_context(*t), max_ns, grow, shrink);
    for (int i = 0; i < n; i++) {
        q[i].ctx = iothread_core_context(*t);
        event_notifier_init(&q[i].bell, false, &error_abort);
        aio_call_sync(q[i].ctx, queue_attach, &q[i]);
    }
}

static void stop(Queue *q, int n, IOThreadCore *t)
{
    for (int i = 0; i < n; i++) {
        aio_call_sync(q[i].ctx, queue_detach, &q[i]);
        event_notifier_cleanup(&q[i].bell);
    }
    iothread_core_stop(t);
}

/* Gaps from nothing to far beyond the budget cross every edge between polling and sleeping. */
static void hand_over(int64_t max_ns, int64_t grow, int64_t shrink)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(42);
    Queue q[3] = {0};
    IOThreadCore *t;

    start(q, 3, &t, max_ns, grow, shrink);
    for (int i = 0; i < 6000; i++) {
        Queue *target = &q[g_rand_int_range(rand, 0, 3)];

        queue_put(target);
        if (g_rand_boolean(rand)) {
            queue_wait(target);
        }
        pause_ns(g_rand_int_range(rand, 0, i % 100 == 0 ? 300000 : 30000));
        if (i % 1000 == 0) {
            /* Parameters change at any time. */
            aio_set_poll_params(target->ctx, i % 2000 ? max_ns : 0, grow, shrink);
        }
    }
    for (int i = 0; i < 3; i++) {
        queue_wait(&q[i]);
    }
    stop(q, 3, t);
    g_test_message("polled %u, rung %u, begins %u", q[0].polled, q[0].rung, q[0].begins);
}

static void test_hand_over_default(void)
{
    hand_over(32768, 0, 0);
}

static void test_hand_over_gentle(void)
{
    hand_over(20000, 3, 2);
}

static void test_hand_over_long(void)
{
    hand_over(500000, 0, 0);
}

/* Rings that come while nobody listens are answered in the end, and do not keep the loop awake. */
static void test_rung_while_polling(void)
{
    Queue q = {.noisy = true};
    IOThreadCore *t;

    start(&q, 1, &t, 100000, 0, 0);
    for (int i = 0; i < 3000; i++) {
        queue_put(&q);
        if (i % 2) {
            queue_wait(&q);
        }
        pause_ns(i % 50 == 0 ? 200000 : 3000);
    }
    queue_wait(&q);
    g_usleep(20000);
    g_assert_false(event_notifier_test_and_clear(&q.bell));
    stop(&q, 1, t);
}

static void test_off(void)
{
    Queue q = {0};
    IOThreadCore *t;

    start(&q, 1, &t, 0, 0, 0);
    for (int i = 0; i < 500; i++) {
        queue_put(&q);
        queue_wait(&q);
    }
    stop(&q, 1, t);
    g_assert_cmpint(q.begins, ==, 0);
    g_assert_cmpint(q.polled, ==, 0);
}

static void test_main_never_polls(void)
{
    Queue q = {.ctx = aio_context_main()};

    aio_set_poll_params(q.ctx, 1000000, 0, 0);
    event_notifier_init(&q.bell, false, &error_abort);
    queue_attach(&q);
    for (int i = 0; i < 100; i++) {
        queue_put(&q);
        while (q.seen != q.avail) {
            aio_poll(q.ctx, true);
        }
    }
    queue_detach(&q);
    event_notifier_cleanup(&q.bell);
    g_assert_cmpint(q.begins, ==, 0);
}

/* With time to itself, a quick stream of events gets to be polled. */
static void test_polls_a_quick_stream(void)
{
    Queue q = {0};
    IOThreadCore *t;

    start(&q, 1, &t, 200000, 0, 0);
    for (int i = 0; i < 5000 && q.polled == 0; i++) {
        queue_put(&q);
        queue_wait(&q);
        pause_ns(5000);
        aio_call_sync(q.ctx, (AioCallback *)g_thread_yield, NULL); /* orders the look at polled */
    }
    g_test_message("polled %u, rung %u", q.polled, q.rung);
    if (q.polled == 0) {
        g_test_skip("no CPU to spare for polling");
    }
    stop(&q, 1, t);
}

/* ---- sources with much and with little to do ---- */

#define HEAVY 4

static int crowd_runs; /* atomic */
static unsigned heavy_runs, light_runs;

static bool heavy_poll(void *opaque)
{
    if (!__atomic_load_n(&crowd_runs, __ATOMIC_SEQ_CST)) {
        return queue_poll(opaque);
    }
    pause_ns(30000);
    __atomic_fetch_add(&heavy_runs, 1, __ATOMIC_SEQ_CST);
    return true;
}

static bool light_poll(void *opaque)
{
    if (!__atomic_load_n(&crowd_runs, __ATOMIC_SEQ_CST)) {
        return queue_poll(opaque);
    }
    __atomic_fetch_add(&light_runs, 1, __ATOMIC_SEQ_CST);
    return true;
}

static void crowd_attach(void *opaque)
{
    static const AioFdOps heavy_ops = {.read = queue_read, .poll = heavy_poll,
                                       .poll_begin = queue_poll_begin, .poll_end = queue_poll_end};
    static const AioFdOps light_ops = {.read = queue_read, .poll = light_poll,
                                       .poll_begin = queue_poll_begin, .poll_end = queue_poll_end};
    Queue *q = opaque;

    q->h = aio_fd_add(q->ctx, q->bell.fd, q->noisy ? &heavy_ops : &light_ops, q);
}

static void crowd_all_polled(void *opaque)
{
    Queue *q = opaque;
    bool all = true;

    for (int i = 0; i <= HEAVY; i++) {
        all &= q[i].in_poll;
    }
    if (all) {
        __atomic_store_n(&crowd_runs, 1, __ATOMIC_SEQ_CST);
    }
}

/* Once per source that takes long, not once per round of all of them. */
static void test_light_ones_come_first(void)
{
    Queue q[HEAVY + 1] = {0};
    IOThreadCore *t;

    heavy_runs = light_runs = 0;
    t = iothread_core_start("poll", NULL, &error_abort);
    aio_set_poll_params(iothread_core_context(t), 1000000, 0, 0);
    for (int i = 0; i <= HEAVY; i++) {
        q[i].ctx = iothread_core_context(t);
        q[i].noisy = i < HEAVY;
        event_notifier_init(&q[i].bell, false, &error_abort);
        aio_call_sync(q[i].ctx, crowd_attach, &q[i]);
    }
    for (int i = 0; i < 5000 && !crowd_runs; i++) {
        for (int j = 0; j <= HEAVY; j++) {
            queue_put(&q[j]);
            queue_wait(&q[j]);
        }
        aio_call_sync(q[0].ctx, crowd_all_polled, q);
    }
    if (crowd_runs) {
        unsigned heavy, light;

        while (__atomic_load_n(&heavy_runs, __ATOMIC_SEQ_CST) < 1000 * HEAVY) {
            g_usleep(1000);
            /* On a machine that is busy otherwise it may have been put to sleep. */
            event_notifier_set(&q[0].bell);
        }
        __atomic_store_n(&crowd_runs, 0, __ATOMIC_SEQ_CST);
        /* The one that runs less often first: both may still go on. */
        heavy = __atomic_load_n(&heavy_runs, __ATOMIC_SEQ_CST);
        light = __atomic_load_n(&light_runs, __ATOMIC_SEQ_CST);
        g_test_message("heavy %u, light %u", heavy, light);
        /* Besides, once more in each round of HEAVY; it takes some rounds to find out. */
        g_assert_cmpuint(light, >, heavy + heavy / HEAVY / 2);
    } else {
        g_test_skip("no CPU to spare for polling");
    }
    for (int i = 0; i <= HEAVY; i++) {
        queue_wait(&q[i]);
    }
    stop(q, HEAVY + 1, t);
}

static int64_t cpu_ns(IOThreadCore *t)
{
    g_autofree char *path = g_strdup_printf("/proc/self/task/%d/schedstat", iothread_core_tid(t));
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return g_ascii_strtoll(text, NULL, 10);
}

static void test_idle_sleeps(void)
{
    Queue q = {0};
    IOThreadCore *t;
    int64_t before;

    start(&q, 1, &t, 32768, 0, 0);
    for (int i = 0; i < 300; i++) {
        queue_put(&q);
        queue_wait(&q);
    }
    g_usleep(20000);
    before = cpu_ns(t);
    g_usleep(300000);
    g_assert_cmpint(cpu_ns(t) - before, <, 3000000); /* 1 % */
    stop(&q, 1, t);
}

typedef struct Remover {
    Queue q;
    int removed; /* atomic */
} Remover;

static bool remover_poll(void *opaque)
{
    Remover *r = opaque;

    if (r->removed || !queue_poll(&r->q)) {
        return false;
    }
    if (r->q.seen >= 200) {
        aio_fd_remove(r->q.h);
        __atomic_store_n(&r->removed, 1, __ATOMIC_SEQ_CST);
    }
    return true;
}

static void remover_attach(void *opaque)
{
    static const AioFdOps remover_ops = {
        .read = queue_read,
        .poll = remover_poll,
        .poll_begin = queue_poll_begin,
        .poll_end = queue_poll_end,
    };
    Remover *r = opaque;

    r->q.h = aio_fd_add(r->q.ctx, r->q.bell.fd, &remover_ops, &r->q);
}

static void remover_detach(void *opaque)
{
    Remover *r = opaque;

    if (!r->removed) {
        aio_fd_remove(r->q.h);
    }
}

static void test_remove_inside_poll(void)
{
    Remover r = {0};
    IOThreadCore *t = iothread_core_start("rm", NULL, &error_abort);

    r.q.ctx = iothread_core_context(t);
    aio_set_poll_params(r.q.ctx, 200000, 0, 0);
    event_notifier_init(&r.q.bell, false, &error_abort);
    aio_call_sync(r.q.ctx, remover_attach, &r);
    for (int i = 0; i < 2000 && !__atomic_load_n(&r.removed, __ATOMIC_SEQ_CST); i++) {
        queue_put(&r.q);
        pause_ns(3000);
    }
    aio_call_sync(r.q.ctx, remover_detach, &r);
    g_assert_cmpint(r.q.begins, ==, r.q.ends);
    event_notifier_cleanup(&r.q.bell);
    iothread_core_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    g_test_add_func("/aio-polling/hand-over/default", test_hand_over_default);
    g_test_add_func("/aio-polling/hand-over/gentle", test_hand_over_gentle);
    g_test_add_func("/aio-polling/hand-over/long", test_hand_over_long);
    g_test_add_func("/aio-polling/rung-while-polling", test_rung_while_polling);
    g_test_add_func("/aio-polling/off", test_off);
    g_test_add_func("/aio-polling/main-never-polls", test_main_never_polls);
    g_test_add_func("/aio-polling/polls-a-quick-stream", test_polls_a_quick_stream);
    g_test_add_func("/aio-polling/light-ones-come-first", test_light_ones_come_first);
    g_test_add_func("/aio-polling/idle-sleeps", test_idle_sleeps);
    g_test_add_func("/aio-polling/remove-inside-poll", test_remove_inside_poll);
    return g_test_run();
}
