/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugged sections. */
#include "util/aio.h"

static GString *log_;

static void add(void *opaque)
{
    g_string_append(log_, opaque);
}

static void add_more(void *opaque)
{
    g_string_append(log_, opaque);
    aio_defer(add, "z");
    aio_defer(add, "a"); /* called already in this run: once more, at the end */
}

static void expect(const char *text)
{
    g_assert_cmpstr(log_->str, ==, text);
    g_string_truncate(log_, 0);
}

static void test_outside(void)
{
    aio_defer(add, "a");
    aio_defer(add, "a");
    expect("aa");
}

static void test_once_in_order(void)
{
    static char a[] = "a", b[] = "b", c[] = "c";

    aio_plug();
    aio_defer(add, b);
    aio_defer(add, a);
    aio_plug();
    aio_defer(add, b);
    aio_defer(add, c);
    aio_unplug();
    expect("");
    aio_defer(add, a);
    aio_unplug();
    expect("bac");
    aio_plug();
    aio_unplug();
    expect("");
}

static void test_defer_while_running(void)
{
    aio_plug();
    aio_defer(add, "a");
    aio_defer(add_more, "m");
    aio_defer(add, "b");
    aio_unplug();
    expect("ambza");
}

static void bh_cb(void *opaque)
{
    aio_defer(add, "d");
    g_string_append(log_, "c");
}

static void test_poll_plugs(void)
{
    AioContext *ctx = aio_context_main();

    aio_call(ctx, bh_cb, NULL);
    aio_call(ctx, bh_cb, NULL);
    aio_poll(ctx, false);
    expect("ccd");
}

/* A wait inside a plugged section must not hold back what it may be waiting for. */
static void test_wait_inside(void)
{
    AioContext *ctx = aio_context_main();

    aio_plug();
    aio_defer(add, "x");
    g_assert_true(aio_poll(ctx, true)); /* does not sleep: a callback has run */
    expect("x");
    aio_defer(add, "y");
    aio_unplug();
    expect("y");
}

static void test_many(void)
{
    static char names[200][4];

    aio_plug();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            g_snprintf(names[i], sizeof(names[i]), "%d,", i % 10);
            aio_defer(add, names[i]);
        }
    }
    aio_unplug();
    g_assert_cmpint(log_->len, ==, 400);
    g_string_truncate(log_, 0);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    log_ = g_string_new(NULL);
    g_test_add_func("/aio-defer/outside", test_outside);
    g_test_add_func("/aio-defer/once-in-order", test_once_in_order);
    g_test_add_func("/aio-defer/defer-while-running", test_defer_while_running);
    g_test_add_func("/aio-defer/poll-plugs", test_poll_plugs);
    g_test_add_func("/aio-defer/wait-inside", test_wait_inside);
    g_test_add_func("/aio-defer/many", test_many);
    ret = g_test_run();
    g_string_free(log_, TRUE);
    return ret;
}
