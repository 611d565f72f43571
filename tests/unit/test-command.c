/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request of a client at a time; run state listeners. */
#include "hw/core/runstate.h"

#include "util/biglock.h"

static int retried;

static void retry(void *opaque)
{
    retried++;
}

static void run_loop(void)
{
    for (int i = 0; i < 5; i++) {
        aio_poll(aio_context_main(), false);
    }
}

static void test_no_nesting(void)
{
    int other;

    retried = 0;
    g_assert_true(command_begin(retry, NULL));
    g_assert_false(command_begin(retry, NULL));
    g_assert_false(command_begin(retry, NULL)); /* asked twice, told once */
    g_assert_false(command_begin(retry, &other));
    g_assert_false(command_begin(NULL, NULL));
    run_loop();
    g_assert_cmpint(retried, ==, 0);
    command_end();
    g_assert_cmpint(retried, ==, 0); /* not from within the one that ends */
    run_loop();
    g_assert_cmpint(retried, ==, 2);
    g_assert_true(command_begin(retry, NULL));
    command_end();
    run_loop();
    g_assert_cmpint(retried, ==, 2);
}

static GString *trace;
static RunStateListener *second;

static void first_fn(void *opaque, bool running, RunState state)
{
    g_string_append(trace, running ? "1+" : "1-");
}

static void second_fn(void *opaque, bool running, RunState state)
{
    g_string_append(trace, running ? "2+" : "2-");
    if (opaque && running) {
        /* A listener may go while it is being told. */
        runstate_unlisten(second);
        second = NULL;
    }
}

static void test_listeners(void)
{
    RunStateListener *first = runstate_listen(first_fn, NULL);

    trace = g_string_new(NULL);
    second = runstate_listen(second_fn, NULL);
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_PRELAUNCH);
    vm_stop(RUN_STATE_PAUSED); /* not running: nothing happens */
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_PRELAUNCH);
    g_assert_true(vm_start(&error_abort));
    g_assert_true(vm_start(&error_abort));
    g_assert_true(runstate_is_running());
    vm_stop(RUN_STATE_PAUSED);
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_PAUSED);
    g_assert_cmpstr(trace->str, ==, "1+2+2-1-");
    runstate_unlisten(second);
    g_string_truncate(trace, 0);
    second = runstate_listen(second_fn, trace);
    g_assert_true(vm_start(&error_abort));
    vm_stop(RUN_STATE_IO_ERROR);
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_IO_ERROR);
    g_assert_cmpstr(trace->str, ==, "1+2+1-");
    runstate_unlisten(first);
    g_string_free(trace, TRUE);
}

static void test_requests(void)
{
    g_assert_true(vm_start(&error_abort));
    request_stop(RUN_STATE_IO_ERROR);
    g_assert_true(runstate_is_running());
    g_assert_true(runstate_main_loop_step());
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_IO_ERROR);
    /* A stop that came true before is not repeated after the start. */
    request_stop(RUN_STATE_IO_ERROR);
    g_assert_true(vm_start(&error_abort));
    g_assert_true(runstate_main_loop_step());
    g_assert_true(runstate_is_running());
    request_reset(SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET);
    g_assert_true(runstate_main_loop_step());
    g_assert_true(runstate_is_running());

    runstate_set_no_shutdown(true);
    request_shutdown(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
    g_assert_true(runstate_main_loop_step());
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_SHUTDOWN);
    g_assert_false(vm_start(NULL));
    request_reset(SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET);
    g_assert_true(runstate_main_loop_step());
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_PRELAUNCH);

    runstate_set_no_reboot(true);
    request_reset(SHUTDOWN_CAUSE_GUEST_RESET);
    g_assert_true(runstate_main_loop_step());
    g_assert_cmpint(runstate_get(), ==, RUN_STATE_SHUTDOWN);
    request_exit(SHUTDOWN_CAUSE_HOST_SIGNAL);
    g_assert_false(runstate_main_loop_step());
    g_assert_false(runstate_main_loop_step());
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_true(aio_main_init(&error_abort));
    big_lock();
    g_test_add_func("/command/no-nesting", test_no_nesting);
    g_test_add_func("/runstate/listeners", test_listeners);
    g_test_add_func("/runstate/requests", test_requests);
    return g_test_run();
}
