/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qemu-system-x86_64: the machine's process. */
#include <stdlib.h>

#include "chardev/char.h"
#include "cmdline.h"
#include "hw/core/runstate.h"
#include "process.h"
#include "sandbox.h"
#include "startup.h"
#include "util/offload.h"
#include "util/biglock.h"
#include "util/report.h"
#include "util/stop-request.h"

static void check_options(void)
{
    if (config.vga && !g_str_equal(config.vga, "none")) {
        static const char *const known[] = { "std", "cirrus", "vmware", "qxl", "virtio", NULL };

        report_error(g_strv_contains(known, config.vga) ? "vga type '%s' is not supported"
                                                        : "unknown vga type: %s",
                     config.vga);
        exit(1);
    }
    if (!config.daemonize) {
        return;
    }
    if (config.nographic && !config.nodefaults) {
        report_error("-nographic cannot be used with -daemonize");
        exit(1);
    }
    if (config.exit_with_parent) {
        report_error("exit-with-parent=on cannot be used with -daemonize");
        exit(1);
    }
    chardev_forbid_stdio();
}

/* For what fails while there is nothing to undo. */
static void or_exit(bool ok, Error **err)
{
    if (!ok) {
        report_error_free(*err);
        exit(1);
    }
}

/* Before any thread exists. */
static void start_process(void)
{
    Error *err = NULL;

    if (config.daemonize) {
        process_daemonize();
    }
    if (config.exit_with_parent) {
        or_exit(process_exit_with_parent(&err), &err);
    }
    if (config.process_name) {
        process_set_name(config.process_name);
    }
    if (config.async_teardown) {
        or_exit(process_async_teardown(&err), &err);
    }
    or_exit(sandbox_install(&config.sandbox, false, &err), &err);
    or_exit(aio_main_init(&err), &err);
    big_lock();
    stop_request_set_fd(process_signals_init());
    if (config.pidfile) {
        or_exit(process_pidfile(config.pidfile, &err), &err);
    }
    runstate_exit_now_hook = process_exit_now;
    runstate_set_no_reboot(config.no_reboot);
    runstate_set_no_shutdown(config.no_shutdown);
}

static bool step(void)
{
    bool go_on;

    if (!command_begin(NULL, NULL)) {
        g_assert_not_reached(); /* commands run within aio_poll() */
    }
    go_on = runstate_main_loop_step();
    command_end();
    return go_on;
}

static void main_loop(const bool *until)
{
    while (step() && !(until && *until)) {
        aio_poll(aio_context_main(), true);
    }
}

int main(int argc, char **argv)
{
    Error *err = NULL;

    report_init(argv[0]);
    process_raise_limits();
    cmdline_parse(argc, argv);
    check_options();
    startup_help();
    start_process();

    /* No client's command runs before there is a machine to run it on. */
    if (!command_begin(NULL, NULL)) {
        g_assert_not_reached();
    }
    startup_backends();
    if (config.preconfig) {
        command_end();
        main_loop(&startup_preconfig_over);
    } else {
        startup_machine();
        command_end();
    }
    if (!process_ready(config.chroot, &config.sandbox, &err)) {
        startup_fail(err);
    }
    offload_serve(true);
    main_loop(NULL);
    offload_serve(false);
    startup_undo();
    return runstate_exit_status();
}
