/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options about character devices, monitors, serial ports and the qtest socket. */
#include "cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "chardev/char.h"
#include "chardev/fdset.h"

/* ---- -chardev ---- */

static bool group_chardev_add(Opts *opts, Error **errp)
{
    if (!cmd_check_duplicate(config.chardevs, opts->id, "chardev", errp)) {
        opts_free(opts);
        return false;
    }
    cmd_item_add(&config.chardevs, opts, NULL, NULL);
    return true;
}

static const CmdParam chardev_params[] = {
    { "backend", "string", NULL },     { "path", "string", NULL },
    { "input-path", "string", NULL },  { "host", "string", NULL },
    { "port", "string", NULL },        { "fd", "string", NULL },
    { "to", "number", NULL },          { "ipv4", "boolean", NULL },
    { "ipv6", "boolean", NULL },       { "wait", "boolean", NULL },
    { "server", "boolean", NULL },     { "delay", "boolean", NULL },
    { "nodelay", "boolean", NULL },    { "keep-alive", "boolean", NULL },
    { "reconnect", "number", NULL },   { "reconnect-ms", "number", NULL },
    { "abstract", "boolean", NULL },   { "tight", "boolean", NULL },
    { "telnet", "boolean", NULL },     { "tn3270", "boolean", NULL },
    { "websocket", "boolean", NULL },  { "tls-creds", "string", NULL },
    { "tls-authz", "string", NULL },   { "mux", "boolean", NULL },
    { "signal", "boolean", NULL },     { "append", "boolean", NULL },
    { "logfile", "string", NULL },     { "logappend", "boolean", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup chardev_group = { "chardev", "backend", chardev_params, true,
                                        group_chardev_add, &config.chardevs };
CMD_GROUP(chardev_group)

static bool parse_chardev(const char *arg, Error **errp)
{
    bool help = false;

    if (!cmd_group_parse(&chardev_group, arg, &help, errp)) {
        return false;
    }
    if (help) {
        g_autoptr(GPtrArray) names = chardev_backend_names();
        GString *text = g_string_new("Available chardev backend types: \n");

        for (guint i = 0; i < names->len; i++) {
            g_string_append_printf(text, "  %s\n", (const char *)names->pdata[i]);
        }
        g_clear_pointer(&names, g_ptr_array_unref);
        cmdline_exit_with(g_string_free(text, FALSE));
    }
    return true;
}

/* ---- monitors ---- */

static bool group_mon_add(Opts *opts, Error **errp)
{
    if (!cmd_check_duplicate(config.monitors, opts->id, "mon", errp)) {
        opts_free(opts);
        return false;
    }
    config.has_monitor = true;
    cmd_item_add(&config.monitors, opts, NULL, NULL);
    return true;
}

static const CmdParam mon_params[] = {
    { "mode", "string", NULL },
    { "chardev", "string", NULL },
    { "pretty", "boolean", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup mon_group = { "mon", "chardev", mon_params, true, group_mon_add,
                                    &config.monitors };
CMD_GROUP(mon_group)

static bool parse_mon(const char *arg, Error **errp)
{
    return cmd_group_parse(&mon_group, arg, NULL, errp);
}

/* -qmp and -monitor: a monitor on a chardev that is named in short, or made. */
static bool short_monitor(const char *arg, const char *mode, bool pretty, Error **errp)
{
    static unsigned count;
    g_autofree char *label = NULL;
    const char *chardev;
    Opts *mon;

    if (g_str_has_prefix(arg, "chardev:")) {
        chardev = arg + strlen("chardev:");
    } else {
        Opts *opts;

        chardev = label = g_strdup_printf("compat_monitor%u", count++);
        opts = chardev_parse_legacy(label, arg);
        if (!opts) {
            error_set(errp, "parse error: %s", arg);
            return false;
        }
        if (!cmd_group_add(&chardev_group, opts, errp)) {
            return false;
        }
    }
    mon = opts_new(NULL);
    opts_set(mon, "mode", mode);
    opts_set(mon, "chardev", chardev);
    if (pretty) {
        opts_set(mon, "pretty", "on");
    }
    return group_mon_add(mon, errp);
}

static bool parse_qmp(const char *arg, Error **errp)
{
    return short_monitor(arg, "control", false, errp);
}

static bool parse_qmp_pretty(const char *arg, Error **errp)
{
    return short_monitor(arg, "control", true, errp);
}

static bool parse_monitor(const char *arg, Error **errp)
{
    config.has_monitor = true;
    if (g_str_equal(arg, "none")) {
        return true;
    }
    /* Alone on its device, a monitor needs no multiplexer. */
    if (g_str_has_prefix(arg, "mon:")) {
        arg += strlen("mon:");
    }
    return short_monitor(arg, "readline", false, errp);
}

/* ---- ports ---- */

static void text_free(gpointer opaque)
{
    CmdText *t = opaque;

    cmd_location_clear(&t->loc);
    g_free(t->text);
    g_free(t);
}

static bool parse_serial(const char *arg, Error **errp)
{
    CmdText *t = g_new0(CmdText, 1);

    t->loc = cmd_location_copy();
    t->text = g_strdup(arg);
    if (!config.serials) {
        config.serials = g_ptr_array_new_with_free_func(text_free);
    }
    g_ptr_array_add(config.serials, t);
    return true;
}

/* -device isa-debugcon on a chardev that is made for it. Its own option, as "port 0xe9". */
static bool parse_debugcon(const char *arg, Error **errp)
{
    const char *label = "debugcon", *text = arg;
    bool monitor = g_str_has_prefix(arg, "mon:");
    Opts *device;

    if (g_str_has_prefix(arg, "chardev:")) {
        label = arg + strlen("chardev:");
    } else {
        Opts *chardev = chardev_parse_legacy(label, monitor ? text + strlen("mon:") : text);

        if (!chardev) {
            error_set(errp, "invalid character backend '%s'", arg);
            return false;
        }
        if (monitor) {
            opts_set(chardev, "mux", "on");
        }
        if (!cmd_group_add(&chardev_group, chardev, errp)) {
            return false;
        }
    }
    if (monitor) {
        Opts *mon = opts_new(NULL);

        opts_set(mon, "mode", "readline");
        opts_set(mon, "chardev", label);
        config.has_monitor = true;
        if (!group_mon_add(mon, errp)) {
            return false;
        }
    }
    device = opts_new("debugcon");
    opts_set(device, "driver", "isa-debugcon");
    opts_set(device, "chardev", label);
    return cmd_group_add(cmd_group_find("device"), device, errp);
}

static bool parse_parallel(const char *arg, Error **errp)
{
    if (!g_str_equal(arg, "none")) {
        error_set(errp, "parallel ports are not supported");
        return false;
    }
    return true;
}

/* ---- qtest ---- */

static bool parse_qtest(const char *arg, Error **errp)
{
    g_free(config.qtest);
    config.qtest = g_strdup(arg);
    return true;
}

static bool parse_qtest_log(const char *arg, Error **errp)
{
    g_free(config.qtest_log);
    config.qtest_log = g_strdup(arg);
    return true;
}

/* ---- -add-fd ---- */

static const CmdParam add_fd_params[] = {
    { "fd", "number", NULL },
    { "set", "number", NULL },
    { "opaque", "string", NULL },
    { NULL, NULL, NULL },
};

static bool group_add_fd_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    int64_t fd = -1, set = -1;
    const char *fd_text = opts_get(o, "fd"), *set_text = opts_get(o, "set");
    int flags, dup;

    if (!fd_text || !parse_int64(fd_text, &fd) || fd < 0 || fd > G_MAXINT) {
        error_set(errp, "fd option is required and must be non-negative");
        return false;
    }
    if (fd <= 2) {
        error_set(errp, "fd cannot be a standard I/O stream");
        return false;
    }
    flags = fcntl(fd, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC)) {
        /* Only what was inherited is the user's; ours are marked. */
        error_set(errp, "fd is not valid or already in use");
        return false;
    }
    if (!set_text || !parse_int64(set_text, &set) || set < 0) {
        error_set(errp, "set option is required and must be non-negative");
        return false;
    }
    /* A copy, since the option may be repeated with the descriptor for another set. */
    dup = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (dup < 0) {
        error_set_errno(errp, errno, "error duplicating fd");
        return false;
    }
    fdset_add(set, dup, opts_get(o, "opaque"));
    return true;
}

static const CmdGroup add_fd_group = { "add-fd", NULL, add_fd_params, true, group_add_fd_add,
                                       NULL };
CMD_GROUP(add_fd_group)

static bool parse_add_fd(const char *arg, Error **errp)
{
    return cmd_group_parse(&add_fd_group, arg, NULL, errp);
}

static const CmdOption char_options[] = {
    { "chardev", true, parse_chardev,
      "-chardev socket|stdio|file|pipe|pty|null,id=name[,...]\n"
      "                makes a character device ('-chardev help' for a list)" },
    { "mon", true, parse_mon,
      "-mon [chardev=]name[,mode=readline|control][,pretty=on|off]\n"
      "                puts a monitor on a character device" },
    { "qmp", true, parse_qmp,
      "-qmp dev        QMP monitor on unix:path[,...], tcp:host:port[,...],\n"
      "                stdio, pty, file:path, pipe:path, chardev:name" },
    { "qmp-pretty", true, parse_qmp_pretty, "-qmp-pretty dev as -qmp, with indented replies" },
    { "monitor", true, parse_monitor, "-monitor dev    text monitor" },
    { "serial", true, parse_serial, "-serial dev     serial port" },
    { "parallel", true, parse_parallel, "-parallel none" },
    { "debugcon", true, parse_debugcon,
      "-debugcon dev   what the guest writes to port 0xe9 (-device isa-debugcon)" },
    { "qtest", true, parse_qtest, "-qtest dev      socket by which a test drives the machine" },
    { "qtest-log", true, parse_qtest_log, "-qtest-log file transcript of it" },
    { "add-fd", true, parse_add_fd,
      "-add-fd fd=fd,set=set[,opaque=text]\n"
      "                makes an inherited descriptor available as /dev/fdset/SET" },
    { NULL, false, NULL, NULL },
};
static const CmdSection char_section = { 30, "Character devices and monitors", char_options };
CMD_SECTION(char_section)
