/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bottom halves, and calls from one thread's context into another's. */
#include <pthread.h>

#include "util/aio.h"
#include "util/iothread.h"

static AioContext *ctx; /* the main thread's */

static void count(void *opaque)
{
    ++*(int *)opaque;
}

static void test_schedule_once(void)
{
    int n = 0;
    AioBh *bh = aio_bh_new(ctx, count, &n);

    aio_poll(ctx, false);
    g_assert_cmpint(n, ==, 0);
    aio_bh_schedule(bh);
    aio_bh_schedule(bh);
    g_assert_true(aio_poll(ctx, true));
    g_assert_cmpint(n, ==, 1);
    g_assert_false(aio_poll(ctx, false));
    aio_bh_schedule(bh);
    aio_bh_cancel(bh);
    aio_poll(ctx, false);
    g_assert_cmpint(n, ==, 1);
    aio_bh_schedule(bh);
    aio_poll(ctx, false);
    g_assert_cmpint(n, ==, 2);
    aio_bh_schedule(bh);
    aio_bh_free(bh);
    aio_poll(ctx, false);
    g_assert_cmpint(n, ==, 2);
}

typedef struct SelfBh {
    AioBh *bh;
    int n;
    int limit;
} SelfBh;

static void reschedule(void *opaque)
{
    SelfBh *s = opaque;

    if (++s->n == s->limit) {
        aio_bh_free(s->bh);
    } else {
        aio_bh_schedule(s->bh);
    }
}

static void test_reschedule_and_free_inside(void)
{
    SelfBh s = {.limit = 3};

    s.bh = aio_bh_new(ctx, reschedule, &s);
    aio_bh_schedule(s.bh);
    for (int i = 1; i <= 3; i++) {
        g_assert_true(aio_poll(ctx, false));
        g_assert_cmpint(s.n, ==, i); /* once per turn */
    }
    g_assert_false(aio_poll(ctx, false));
}

static void append(void *opaque)
{
    g_string_append_c(opaque, 'x');
}

static void nested(void *opaque)
{
    GString *s = opaque;

    g_string_append_c(s, '(');
    /* What was scheduled before this one's turn runs inside. */
    while (s->len < 3) {
        aio_poll(ctx, true);
    }
    g_string_append_c(s, ')');
}

static void test_nested(void)
{
    g_autoptr(GString) s = g_string_new(NULL);

    aio_call(ctx, nested, s);
    aio_call(ctx, append, s);
    aio_call(ctx, append, s);
    while (s->len < 4) {
        aio_poll(ctx, true);
    }
    g_assert_cmpstr(s->str, ==, "(xx)");
}

#define PRODUCERS 3
#define CALLS     20000

typedef struct Producer {
    AioContext *target;
    AioBh *shared;
    int next;
    int *total;
} Producer;

typedef struct Item {
    Producer *p;
    int i;
} Item;

static void consume(void *opaque)
{
    Item *item = opaque;

    g_assert_cmpint(item->i, ==, item->p->next); /* order of one producer */
    item->p->next++;
    ++*item->p->total;
    g_free(item);
}

static void *produce(void *opaque)
{
    Producer *p = opaque;

    for (int i = 0; i < CALLS; i++) {
        Item *item = g_new(Item, 1);

        item->p = p;
        item->i = i;
        aio_call(p->target, consume, item);
        if (i % 16 == 0) {
            aio_bh_schedule(p->shared);
        }
    }
    return NULL;
}

static void test_many_producers(void)
{
    Producer p[PRODUCERS] = {0};
    pthread_t threads[PRODUCERS];
    int total = 0, shared = 0;
    AioBh *bh = aio_bh_new(ctx, count, &shared);

    for (int i = 0; i < PRODUCERS; i++) {
        p[i] = (Producer){.target = ctx, .shared = bh, .total = &total};
        g_assert_cmpint(pthread_create(&threads[i], NULL, produce, &p[i]), ==, 0);
    }
    /* Sleeps in between: each wake-up that got lost would hang here. */
    while (total < PRODUCERS * CALLS) {
        aio_poll(ctx, true);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
    }
    aio_poll(ctx, false);
    g_assert_cmpint(shared, >, 0);
    aio_bh_free(bh);
}

typedef struct PingPong {
    AioContext *a, *b;
    int n;
    int done; /* atomic */
} PingPong;

static void ping(void *opaque);

static void pong(void *opaque)
{
    PingPong *p = opaque;

    g_assert_true(aio_in_context(p->b));
    aio_call(p->a, ping, p);
}

static void ping(void *opaque)
{
    PingPong *p = opaque;

    g_assert_true(aio_in_context(p->a));
    if (++p->n == 20000) {
        p->done = 1;
        return;
    }
    aio_call(p->b, pong, p);
}

static void test_ping_pong(void)
{
    IOThreadCore *t = iothread_core_start("pp", NULL, &error_abort);
    PingPong p = {.a = ctx, .b = iothread_core_context(t)};

    aio_call(ctx, ping, &p);
    AIO_WAIT_WHILE(!p.done);
    iothread_core_stop(t);
}

typedef struct Sync {
    AioContext *target;
    AioContext *from;
    int n;
    int reply;
} Sync;

static void sync_inner(void *opaque)
{
    Sync *s = opaque;

    g_assert_true(aio_in_context(s->from));
    __atomic_store_n(&s->reply, 1, __ATOMIC_SEQ_CST);
    aio_kick(s->target);
}

static void sync_cb(void *opaque)
{
    Sync *s = opaque;

    g_assert_true(aio_in_context(s->target));
    if (s->from) {
        /* It waits for the caller's context, which is polled meanwhile. */
        s->reply = 0;
        aio_call(s->from, sync_inner, s);
        AIO_WAIT_WHILE(!__atomic_load_n(&s->reply, __ATOMIC_SEQ_CST));
    }
    s->n++;
}

static void *sync_from_bare_thread(void *opaque)
{
    Sync *s = opaque;

    for (int i = 0; i < 1000; i++) {
        aio_call_sync(s->target, sync_cb, s);
        g_assert_cmpint(s->n, ==, i + 1);
    }
    return NULL;
}

static void test_call_sync(void)
{
    IOThreadCore *t = iothread_core_start("sync", NULL, &error_abort);
    Sync s = {.target = iothread_core_context(t)};
    Sync to_main = {.target = ctx};
    pthread_t thread;

    for (int i = 0; i < 1000; i++) {
        aio_call_sync(s.target, sync_cb, &s);
        g_assert_cmpint(s.n, ==, i + 1); /* plain access: ordered by the call */
    }
    s.from = ctx;
    for (int i = 0; i < 1000; i++) {
        aio_call_sync(s.target, sync_cb, &s);
    }
    g_assert_cmpint(s.n, ==, 2000);

    /* In its own context: at once. */
    aio_call_sync(ctx, sync_cb, &to_main);
    g_assert_cmpint(to_main.n, ==, 1);
    to_main.n = 0;

    s.from = NULL;
    s.n = 0;
    g_assert_cmpint(pthread_create(&thread, NULL, sync_from_bare_thread, &s), ==, 0);
    pthread_join(thread, NULL);

    g_assert_cmpint(pthread_create(&thread, NULL, sync_from_bare_thread, &to_main), ==, 0);
    while (to_main.n < 1000) {
        aio_poll(ctx, true);
    }
    pthread_join(thread, NULL);
    iothread_core_stop(t);
}

static void *kicker(void *opaque)
{
    int *flag = opaque;

    for (int i = 0; i < 20000; i++) {
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
            ;
        }
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
        aio_kick(ctx);
    }
    return NULL;
}

static void test_kick_is_not_lost(void)
{
    pthread_t thread;
    int flag = 0;

    g_assert_cmpint(pthread_create(&thread, NULL, kicker, &flag), ==, 0);
    for (int i = 0; i < 20000; i++) {
        AIO_WAIT_WHILE(!__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
        __atomic_store_n(&flag, 0, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
}

static void test_stop_runs_what_was_asked_for(void)
{
    IOThreadCore *t = iothread_core_start("stop", NULL, &error_abort);
    int n = 0;

    for (int i = 0; i < 100; i++) {
        aio_call(iothread_core_context(t), count, &n);
    }
    iothread_core_stop(t);
    g_assert_cmpint(n, ==, 100);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    ctx = aio_context_main();
    g_test_add_func("/aio-bh/schedule-once", test_schedule_once);
    g_test_add_func("/aio-bh/reschedule-and-free-inside", test_reschedule_and_free_inside);
    g_test_add_func("/aio-bh/nested", test_nested);
    g_test_add_func("/aio-bh/many-producers", test_many_producers);
    g_test_add_func("/aio-bh/ping-pong", test_ping_pong);
    g_test_add_func("/aio-bh/call-sync", test_call_sync);
    g_test_add_func("/aio-bh/kick-is-not-lost", test_kick_is_not_lost);
    g_test_add_func("/aio-bh/stop-runs-what-was-asked-for", test_stop_runs_what_was_asked_for);
    return g_test_run();
}
