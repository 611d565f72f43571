/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks and timers. */
#include "util/aio.h"
#include "util/iothread.h"

static AioContext *ctx;

typedef struct Shot {
    AioTimer *t;
    GString *log;
    char name;
    int64_t again_ns; /* sets itself again */
    AioTimer *cancel;
} Shot;

static void fire(void *opaque)
{
    Shot *s = opaque;

    g_string_append_c(s->log, s->name);
    if (s->again_ns >= 0) {
        aio_timer_set(s->t, s->again_ns);
        s->again_ns = -1;
    }
    if (s->cancel) {
        aio_timer_cancel(s->cancel);
    }
}

static void test_order(void)
{
    g_autoptr(GString) log = g_string_new(NULL);
    static const int delays[] = {30, 10, 20, 10, 0, 50, 40, 10};
    Shot s[G_N_ELEMENTS(delays)];
    int64_t now = aio_clock_ns(AIO_CLOCK_REALTIME);

    for (unsigned i = 0; i < G_N_ELEMENTS(delays); i++) {
        s[i] = (Shot){.log = log, .name = 'a' + i, .again_ns = -1};
        s[i].t = aio_timer_new(ctx, AIO_CLOCK_REALTIME, fire, &s[i]);
        g_assert_false(aio_timer_pending(s[i].t));
        g_assert_cmpint(aio_timer_expire_ns(s[i].t), ==, -1);
        aio_timer_set(s[i].t, now + delays[i] * 1000000);
        g_assert_cmpint(aio_timer_expire_ns(s[i].t), ==, now + delays[i] * 1000000);
    }
    aio_timer_cancel(s[6].t);
    while (log->len < G_N_ELEMENTS(delays) - 1) {
        aio_poll(ctx, true);
    }
    g_assert_cmpstr(log->str, ==, "ebdhcaf"); /* equal times in the order of setting */
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_REALTIME), >=, now + 50 * 1000000);
    for (unsigned i = 0; i < G_N_ELEMENTS(delays); i++) {
        g_assert_false(aio_timer_pending(s[i].t));
        aio_timer_free(s[i].t);
    }
}

static void test_never_early_never_spinning(void)
{
    g_autoptr(GString) log = g_string_new(NULL);
    Shot s = {.log = log, .name = 'x', .again_ns = -1};

    s.t = aio_timer_new(ctx, AIO_CLOCK_REALTIME, fire, &s);
    for (unsigned i = 1; i <= 20; i++) {
        int64_t due = aio_clock_ns(AIO_CLOCK_REALTIME) + 1234567;
        int turns = 0;

        aio_timer_set(s.t, due);
        while (log->len < i) {
            aio_poll(ctx, true);
            turns++;
        }
        g_assert_cmpint(aio_clock_ns(AIO_CLOCK_REALTIME), >=, due);
        g_assert_cmpint(turns, <, 5);
    }
    aio_timer_free(s.t);
}

static void test_heap(void)
{
    enum { N = 500 };
    g_autoptr(GString) log = g_string_new(NULL);
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    Shot *s = g_new0(Shot, N);
    unsigned expected = 0;

    for (int i = 0; i < N; i++) {
        s[i] = (Shot){.log = log, .name = 'x', .again_ns = -1};
        s[i].t = aio_timer_new(ctx, AIO_CLOCK_REALTIME, fire, &s[i]);
    }
    for (int i = 0; i < 20000; i++) {
        AioTimer *t = s[g_rand_int_range(rand, 0, N)].t;

        if (g_rand_boolean(rand)) {
            aio_timer_set(t, g_rand_int_range(rand, 0, 1000));
        } else {
            aio_timer_cancel(t);
        }
    }
    for (int i = 0; i < N; i++) {
        expected += aio_timer_pending(s[i].t);
    }
    aio_poll(ctx, false);
    g_assert_cmpint(log->len, ==, expected);
    for (int i = 0; i < N; i++) {
        g_assert_false(aio_timer_pending(s[i].t));
        aio_timer_free(s[i].t);
    }
    g_free(s);
}

static void test_set_again_in_callback(void)
{
    g_autoptr(GString) log = g_string_new(NULL);
    Shot a = {.log = log, .name = 'a', .again_ns = 0};
    Shot b = {.log = log, .name = 'b', .again_ns = -1};

    a.t = aio_timer_new(ctx, AIO_CLOCK_REALTIME, fire, &a);
    b.t = aio_timer_new(ctx, AIO_CLOCK_REALTIME, fire, &b);
    a.cancel = b.t;
    aio_timer_set(a.t, 0);
    aio_timer_set(b.t, 1);
    aio_poll(ctx, false);
    g_assert_cmpstr(log->str, ==, "a"); /* again in the next turn only; b was taken back */
    aio_poll(ctx, false);
    g_assert_cmpstr(log->str, ==, "aa");
    aio_timer_free(a.t);
    aio_timer_free(b.t);
}

static void test_virtual_clock(void)
{
    g_autoptr(GString) log = g_string_new(NULL);
    Shot s = {.log = log, .name = 'v', .again_ns = -1};
    int64_t v;

    s.t = aio_timer_new(ctx, AIO_CLOCK_VIRTUAL, fire, &s);
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_VIRTUAL), ==, 0);
    aio_timer_set(s.t, 1000000);
    g_assert_cmpint(aio_virtual_clock_deadline(), ==, 1000000);
    g_usleep(3000);
    aio_poll(ctx, false);
    g_assert_cmpint(log->len, ==, 0); /* it stands */

    aio_virtual_clock_start();
    while (log->len == 0) {
        aio_poll(ctx, true);
    }
    aio_virtual_clock_stop();
    v = aio_clock_ns(AIO_CLOCK_VIRTUAL);
    g_assert_cmpint(v, >=, 1000000);
    g_usleep(1000);
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_VIRTUAL), ==, v);
    aio_virtual_clock_start();
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_VIRTUAL), >=, v);
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_VIRTUAL), <, v + 1000000000);
    aio_virtual_clock_stop();
    g_assert_cmpint(aio_virtual_clock_deadline(), ==, -1);
    aio_timer_free(s.t);
}

typedef struct Remote {
    AioTimer *t;
    int fired; /* atomic */
} Remote;

static void remote_fire(void *opaque)
{
    __atomic_store_n(&((Remote *)opaque)->fired, 1, __ATOMIC_RELEASE);
    aio_kick(ctx);
}

static void remote_set(void *opaque)
{
    Remote *r = opaque;

    r->t = aio_timer_new(aio_context_current(), AIO_CLOCK_VIRTUAL, remote_fire, r);
    aio_timer_set(r->t, aio_clock_ns(AIO_CLOCK_VIRTUAL) + 1000);
}

static void remote_free(void *opaque)
{
    aio_timer_free(((Remote *)opaque)->t);
}

static void test_start_reaches_iothreads(void)
{
    IOThreadCore *t = iothread_core_start("vt", NULL, &error_abort);
    Remote r = {0};

    aio_call_sync(iothread_core_context(t), remote_set, &r);
    g_usleep(2000); /* it sleeps without a limit now */
    aio_virtual_clock_start();
    AIO_WAIT_WHILE(!__atomic_load_n(&r.fired, __ATOMIC_ACQUIRE));
    aio_virtual_clock_stop();
    aio_call_sync(iothread_core_context(t), remote_free, &r);
    iothread_core_stop(t);
}

/* The last test: there is no way back from a manual clock. */
static void test_manual(void)
{
    g_autoptr(GString) log = g_string_new(NULL);
    Shot a = {.log = log, .name = 'a', .again_ns = -1};
    Shot b = {.log = log, .name = 'b', .again_ns = -1};
    int64_t base;
    IOThreadCore *t = iothread_core_start("vt", NULL, &error_abort);
    Remote r = {0};

    aio_virtual_clock_set_manual();
    base = aio_clock_ns(AIO_CLOCK_VIRTUAL);
    aio_virtual_clock_start();
    g_usleep(1000);
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_VIRTUAL), ==, base);
    g_assert_false(aio_virtual_clock_set(base - 1));

    a.t = aio_timer_new(ctx, AIO_CLOCK_VIRTUAL, fire, &a);
    b.t = aio_timer_new(ctx, AIO_CLOCK_VIRTUAL, fire, &b);
    aio_timer_set(b.t, base + 200);
    aio_timer_set(a.t, base + 100);
    a.again_ns = base + 250;
    g_assert_cmpint(aio_virtual_clock_deadline(), ==, base + 100);
    g_assert_true(aio_virtual_clock_set(base + 99));
    g_assert_cmpstr(log->str, ==, "");
    g_assert_true(aio_virtual_clock_set(base + 300));
    g_assert_cmpstr(log->str, ==, "aba");
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_VIRTUAL), ==, base + 300);
    g_assert_cmpint(aio_virtual_clock_deadline(), ==, -1);
    aio_timer_free(a.t);
    aio_timer_free(b.t);

    aio_call_sync(iothread_core_context(t), remote_set, &r);
    g_assert_true(aio_virtual_clock_set(base + 5000));
    AIO_WAIT_WHILE(!__atomic_load_n(&r.fired, __ATOMIC_ACQUIRE));
    aio_call_sync(iothread_core_context(t), remote_free, &r);
    iothread_core_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    ctx = aio_context_main();
    g_test_add_func("/aio-timer/order", test_order);
    g_test_add_func("/aio-timer/never-early-never-spinning", test_never_early_never_spinning);
    g_test_add_func("/aio-timer/heap", test_heap);
    g_test_add_func("/aio-timer/set-again-in-callback", test_set_again_in_callback);
    g_test_add_func("/aio-timer/virtual-clock", test_virtual_clock);
    g_test_add_func("/aio-timer/start-reaches-iothreads", test_start_reaches_iothreads);
    g_test_add_func("/aio-timer/manual", test_manual);
    return g_test_run();
}
