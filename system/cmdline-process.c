/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options about the process: its name, how it starts and ends, what it may do. */
#include "cmdline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/core/datadir.h"
#include "hw/core/runstate.h"
#include "process.h"
#include "util/report.h"

static bool set_string(char **field, const char *value)
{
    g_free(*field);
    *field = g_strdup(value);
    return true;
}

static bool set_flag(bool *flag)
{
    *flag = true;
    return true;
}

/* ---- -name, -uuid, -msg ---- */

static const CmdParam name_params[] = {
    { "guest", "string", "name of the guest" },
    { "process", "string", "name of the process" },
    { "debug-threads", "boolean", "threads have names; they always do" },
    { NULL, NULL, NULL },
};

static bool group_name_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;

    if (opts_get(o, "guest")) {
        set_string(&config.name, opts_get(o, "guest"));
    }
    if (opts_get(o, "process")) {
        set_string(&config.process_name, opts_get(o, "process"));
    }
    return true;
}

static const CmdGroup name_group = { "name", "guest", name_params, true, group_name_add, NULL,
                                      true };
CMD_GROUP(name_group)

static bool parse_name(const char *arg, Error **errp)
{
    if (!cmd_group_parse(&name_group, arg, NULL, errp)) {
        return false;
    }
    if (config.guest_name_in_messages) {
        report_set_guest_name(config.name);
    }
    return true;
}

static const CmdParam msg_params[] = {
    { "timestamp", "boolean", NULL },
    { "guest-name", "boolean",
      "Prepends guest name for error messages but only if -name guest is set" },
    { NULL, NULL, NULL },
};

static bool group_msg_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    bool timestamp;

    if (!opts_take_bool(o, "timestamp", false, &timestamp, errp) ||
        !opts_take_bool(o, "guest-name", false, &config.guest_name_in_messages, errp)) {
        return false;
    }
    report_set_timestamps(timestamp);
    report_set_guest_name(config.guest_name_in_messages ? config.name : NULL);
    return true;
}

static const CmdGroup msg_group = { "msg", NULL, msg_params, true, group_msg_add, NULL };
CMD_GROUP(msg_group)

static bool parse_msg(const char *arg, Error **errp)
{
    return cmd_group_parse(&msg_group, arg, NULL, errp);
}

static bool parse_uuid(const char *arg, Error **errp)
{
    if (!g_uuid_string_is_valid(arg)) {
        error_set(errp, "failed to parse UUID string: wrong format");
        return false;
    }
    g_free(config.uuid);
    config.uuid = g_ascii_strdown(arg, -1);
    return true;
}

/* A number by which a manager finds its guests in the list of processes. */
static bool parse_id(const char *arg, Error **errp)
{
    uint64_t n;

    if (!parse_uint64(arg, &n)) {
        error_set(errp, "expects a number");
        return false;
    }
    return true;
}

/* ---- how it starts and ends ---- */

static bool parse_nodefaults(const char *arg, Error **errp)
{
    return set_flag(&config.nodefaults);
}

static bool parse_no_user_config(const char *arg, Error **errp)
{
    /* There is no configuration that would be read without being asked for. */
    return true;
}

static bool parse_paused(const char *arg, Error **errp)
{
    return set_flag(&config.paused);
}

static bool parse_preconfig(const char *arg, Error **errp)
{
    return set_flag(&config.preconfig);
}

static bool parse_daemonize(const char *arg, Error **errp)
{
    return set_flag(&config.daemonize);
}

static bool parse_pidfile(const char *arg, Error **errp)
{
    return set_string(&config.pidfile, arg);
}

static bool parse_no_reboot(const char *arg, Error **errp)
{
    return set_flag(&config.no_reboot);
}

static bool parse_no_shutdown(const char *arg, Error **errp)
{
    return set_flag(&config.no_shutdown);
}

static const CmdParam action_params[] = {
    { "shutdown", "string", NULL },
    { "reboot", "string", NULL },
    { "panic", "string", NULL },
    { "watchdog", "string", NULL },
    { NULL, NULL, NULL },
};

/* The value's place in the NULL-terminated list, or -1 with an error. */
static int action_value(Opts *o, const char *key, const char *const *values, Error **errp)
{
    const char *value = opts_get(o, key);

    for (int i = 0; values[i]; i++) {
        if (!value || g_str_equal(value, values[i])) {
            return i;
        }
    }
    error_set(errp, "Parameter '%s' does not accept value '%s'", key, value);
    return -1;
}

static const char *const watchdog_actions[] = { "reset",      "shutdown", "poweroff", "pause",
                                                "debug",      "none",     "inject-nmi", NULL };

static bool group_action_add(Opts *opts, Error **errp)
{
    static const char *const shutdown[] = { "poweroff", "pause", NULL };
    static const char *const reboot[] = { "reset", "shutdown", NULL };
    static const char *const panic[] = { "shutdown", "pause", "exit-failure", "none", NULL };
    g_autoptr(Opts) o = opts;
    int s = action_value(o, "shutdown", shutdown, errp);
    int r = s < 0 ? -1 : action_value(o, "reboot", reboot, errp);
    int p = r < 0 ? -1 : action_value(o, "panic", panic, errp);

    /* No device of this program is a watchdog: what is to follow from one is checked, no more. */
    if (p < 0 || action_value(o, "watchdog", watchdog_actions, errp) < 0) {
        return false;
    }
    if (opts_get(o, "shutdown")) {
        config.no_shutdown = s == 1;
    }
    if (opts_get(o, "reboot")) {
        config.no_reboot = r == 1;
    }
    if (opts_get(o, "panic")) {
        runstate_set_panic_action((PanicAction)p); /* in the order of the list */
    }
    return true;
}

static const CmdGroup action_group = { "action", NULL, action_params, true, group_action_add,
                                       NULL, true };
CMD_GROUP(action_group)

static bool parse_action(const char *arg, Error **errp)
{
    return cmd_group_parse(&action_group, arg, NULL, errp);
}

static bool parse_watchdog_action(const char *arg, Error **errp)
{
    g_autoptr(Opts) o = opts_new(NULL);

    opts_set(o, "watchdog", arg);
    return action_value(o, "watchdog", watchdog_actions, errp) >= 0;
}

/* ---- rights and resources ---- */

static const CmdParam run_with_params[] = {
    { "async-teardown", "boolean", NULL },
    { "chroot", "string", NULL },
    { "exit-with-parent", "boolean", NULL },
    { "user", "string", NULL },
    { NULL, NULL, NULL },
};

static bool group_run_with_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;

    if (!opts_take_bool(o, "async-teardown", config.async_teardown, &config.async_teardown,
                        errp) ||
        !opts_take_bool(o, "exit-with-parent", config.exit_with_parent, &config.exit_with_parent,
                        errp)) {
        return false;
    }
    if (opts_get(o, "chroot")) {
        set_string(&config.chroot, opts_get(o, "chroot"));
    }
    if (opts_get(o, "user")) {
        return process_user_parse(opts_get(o, "user"), errp);
    }
    return true;
}

static const CmdGroup run_with_group = { "run-with", NULL, run_with_params, true,
                                         group_run_with_add, NULL };
CMD_GROUP(run_with_group)

static bool parse_run_with(const char *arg, Error **errp)
{
    return cmd_group_parse(&run_with_group, arg, NULL, errp);
}

static const CmdParam overcommit_params[] = {
    { "mem-lock", "string", NULL },
    { "cpu-pm", "boolean", NULL },
    { NULL, NULL, NULL },
};

static bool group_overcommit_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    const char *lock = opts_get(o, "mem-lock");

    if (!opts_take_bool(o, "cpu-pm", config.cpu_pm, &config.cpu_pm, errp)) {
        return false;
    }
    if (lock && g_str_equal(lock, "on-fault")) {
        config.mem_lock = config.mem_lock_on_fault = true;
    } else if (lock) {
        config.mem_lock_on_fault = false;
        return parse_bool("mem-lock", lock, &config.mem_lock, errp);
    }
    return true;
}

static const CmdGroup overcommit_group = { "overcommit", NULL, overcommit_params, true,
                                           group_overcommit_add, NULL };
CMD_GROUP(overcommit_group)

static bool parse_overcommit(const char *arg, Error **errp)
{
    return cmd_group_parse(&overcommit_group, arg, NULL, errp);
}

/* ---- files and traces ---- */

static bool parse_data_dir(const char *arg, Error **errp)
{
    if (g_str_equal(arg, "help") || g_str_equal(arg, "?")) {
        datadir_print();
        exit(0);
    }
    datadir_add(arg);
    return true;
}

static const CmdParam trace_params[] = {
    { "enable", "string", NULL },
    { "events", "string", NULL },
    { "file", "string", NULL },
    { NULL, NULL, NULL },
};

static bool group_trace_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    const char *events = opts_get(o, "enable");

    if (opts_get(o, "events") || opts_get(o, "file")) {
        error_set(errp, "'%s' is not supported: there are no trace events",
                  opts_get(o, "events") ? "events" : "file");
        return false;
    }
    if (events && !strpbrk(events, "*?") && *events != '-') {
        report_warning("trace event '%s' does not exist", events);
    }
    return true;
}

static const CmdGroup trace_group = { "trace", "enable", trace_params, true, group_trace_add,
                                      NULL };
CMD_GROUP(trace_group)

static bool parse_trace(const char *arg, Error **errp)
{
    bool help = false;

    if (!cmd_group_parse(&trace_group, arg, &help, errp)) {
        return false;
    }
    if (help) {
        exit(0); /* the list of trace events is empty */
    }
    return true;
}

static bool parse_help(const char *arg, Error **errp)
{
    cmdline_print_help();
    exit(0);
}

static bool parse_version(const char *arg, Error **errp)
{
    cmdline_print_version();
    exit(0);
}

static const CmdOption process_options[] = {
    { "name", true, parse_name,
      "-name [guest=]name[,process=name][,debug-threads=on|off]\n"
      "                names the guest and the process" },
    { "id", true, parse_id, NULL },
    { "uuid", true, parse_uuid, "-uuid uuid      identifies the guest" },
    { "msg", true, parse_msg,
      "-msg [timestamp=on|off][,guest-name=on|off]\n"
      "                puts the time or the guest's name before messages" },
    { "S", false, parse_paused, "-S              waits for 'cont' before the guest runs" },
    { "preconfig", false, parse_preconfig,
      "--preconfig     waits for 'x-exit-preconfig' before the machine is made" },
    { "daemonize", false, parse_daemonize, "-daemonize      goes to the background when ready" },
    { "pidfile", true, parse_pidfile, "-pidfile file   writes the process id to a file" },
    { "nodefaults", false, parse_nodefaults, "-nodefaults     makes no default devices" },
    { "no-user-config", false, parse_no_user_config, "-no-user-config" },
    { "no-reboot", false, parse_no_reboot, "-no-reboot      ends instead of rebooting" },
    { "no-shutdown", false, parse_no_shutdown, "-no-shutdown    stops instead of ending" },
    { "action", true, parse_action,
      "-action [reboot=reset|shutdown][,shutdown=poweroff|pause]\n"
      "        [,panic=shutdown|pause|exit-failure|none][,watchdog=action]\n"
      "                what follows when the guest reboots, shuts down or panics" },
    { "watchdog-action", true, parse_watchdog_action,
      "-watchdog-action action\n"
      "                as -action watchdog=" },
    { "run-with", true, parse_run_with,
      "-run-with [async-teardown=on|off][,chroot=dir][,user=name|uid:gid]\n"
      "          [,exit-with-parent=on|off]\n"
      "                rights of the process, and its end" },
    { "overcommit", true, parse_overcommit,
      "-overcommit [mem-lock=on|off|on-fault][,cpu-pm=on|off]\n"
      "                keeps memory from being swapped; lets the guest idle on the processor" },
    { "L", true, parse_data_dir, "-L path         where firmware is looked for" },
    { "trace", true, parse_trace, NULL },
    { "h", false, parse_help, "-h, -help       this text" },
    { "help", false, parse_help, NULL },
    { "version", false, parse_version, "-version        the version" },
    { NULL, false, NULL, NULL },
};
static const CmdSection process_section = { 40, "Process", process_options };
CMD_SECTION(process_section)
