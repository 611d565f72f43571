/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human monitor: help, and commands about the machine as a whole. */
#include "hmp.h"

#include <string.h>

#include "hw/core/cpu.h"
#include "hw/core/device.h"
#include "hw/core/runstate.h"
#include "hw/pci/pci.h"
#include "monitor/version.h"
#include "qapi/qapi-char.h"
#include "qapi/qapi-control.h"
#include "qapi/qapi-iothread.h"
#include "qapi/qapi-misc.h"
#include "qapi/qapi-run-state.h"

#define COMMAND(id, name_, args_, help_, fn_)                                                      \
    static const HmpCommand id = { name_, args_, help_, fn_ };                                     \
    HMP_REGISTER(id)

/* ---- help ---- */

static void print_command(HmpOutput *out, const HmpCommand *cmd)
{
    hmp_printf(out, "%s %s -- %s\n", cmd->name, cmd->args ?: "", cmd->help);
}

static void print_commands(HmpOutput *out, bool info)
{
    g_autoptr(GPtrArray) list = hmp_commands();

    for (guint i = 0; i < list->len; i++) {
        const HmpCommand *cmd = list->pdata[i];

        if (g_str_has_prefix(cmd->name, "info ") == info) {
            print_command(out, cmd);
        }
    }
}

static void cmd_info(HmpOutput *out, const char *args)
{
    print_commands(out, true);
}
COMMAND(info_cmd, "info", NULL, "show various information about the system state", cmd_info)

static void cmd_help(HmpOutput *out, const char *args)
{
    g_autofree char *name = g_strstrip(g_strdup(args));
    const HmpCommand *cmd;

    if (!*name) {
        print_commands(out, false);
        return;
    }
    if (g_str_equal(name, "info")) {
        print_commands(out, true);
        return;
    }
    cmd = hmp_find(name);
    if (cmd) {
        print_command(out, cmd);
    } else {
        hmp_printf(out, "unknown command: '%s'\n", name);
    }
}
COMMAND(help_cmd, "help|?", "[cmd]", "show the help", cmd_help)

/* ---- run state ---- */

static void print_if_failed(HmpOutput *out, bool ok, Error *err)
{
    if (!ok) {
        hmp_error(out, err);
    }
}

static void cmd_stop(HmpOutput *out, const char *args)
{
    Error *err = NULL;

    print_if_failed(out, qmp_stop(&err), err);
}
COMMAND(stop_cmd, "stop|s", NULL, "stop emulation", cmd_stop)

static void cmd_cont(HmpOutput *out, const char *args)
{
    Error *err = NULL;

    print_if_failed(out, qmp_cont(&err), err);
}
COMMAND(cont_cmd, "cont|c", NULL, "resume emulation", cmd_cont)

static void cmd_system_reset(HmpOutput *out, const char *args)
{
    Error *err = NULL;

    print_if_failed(out, qmp_system_reset(&err), err);
}
COMMAND(system_reset_cmd, "system_reset", NULL, "reset the system", cmd_system_reset)

static void cmd_system_powerdown(HmpOutput *out, const char *args)
{
    Error *err = NULL;

    print_if_failed(out, qmp_system_powerdown(&err), err);
}
COMMAND(system_powerdown_cmd, "system_powerdown", NULL, "send system power down event",
        cmd_system_powerdown)

static void cmd_quit(HmpOutput *out, const char *args)
{
    Error *err = NULL;

    print_if_failed(out, qmp_quit(&err), err);
}
COMMAND(quit_cmd, "quit|q", NULL, "quit the emulator", cmd_quit)

static void info_status(HmpOutput *out, const char *args)
{
    RunState state = runstate_get();

    hmp_printf(out, "VM status: %s", runstate_is_running() ? "running" : "paused");
    if (!runstate_is_running() && state != RUN_STATE_PAUSED) {
        hmp_printf(out, " (%s)", qapi_enum_name(&qapi_enum_RunState, state));
    }
    hmp_printf(out, "\n");
}
COMMAND(info_status_cmd, "info status", NULL, "show the current VM status (running|paused)",
        info_status)

/* ---- who and what ---- */

static void info_version(HmpOutput *out, const char *args)
{
    hmp_printf(out, "%s%s\n", INTERFACE_VERSION, SPINDLE_PACKAGE);
}
COMMAND(info_version_cmd, "info version", NULL, "show the version", info_version)

static void info_name(HmpOutput *out, const char *args)
{
    g_autoptr(NameInfo) info = qmp_query_name(&error_abort);

    if (info->name) {
        hmp_printf(out, "%s\n", info->name);
    }
}
COMMAND(info_name_cmd, "info name", NULL, "show the current VM name", info_name)

static void info_uuid(HmpOutput *out, const char *args)
{
    g_autoptr(UuidInfo) info = qmp_query_uuid(&error_abort);

    hmp_printf(out, "%s\n", info->UUID);
}
COMMAND(info_uuid_cmd, "info uuid", NULL, "show the current VM UUID", info_uuid)

static void info_kvm(HmpOutput *out, const char *args)
{
    g_autoptr(KvmInfo) info = qmp_query_kvm(&error_abort);

    hmp_printf(out, "kvm support: %s\n",
               !info->present ? "not compiled" : info->enabled ? "enabled" : "disabled");
}
COMMAND(info_kvm_cmd, "info kvm", NULL, "show KVM information", info_kvm)

static void info_cpus(HmpOutput *out, const char *args)
{
    for (unsigned i = 0; i < cpu_count(); i++) {
        CPUState *cpu = cpu_get(i);

        hmp_printf(out, "%c CPU #%u: thread_id=%d\n", i == 0 ? '*' : ' ', cpu->index,
                   (int)cpu->host_tid);
    }
}
COMMAND(info_cpus_cmd, "info cpus", NULL, "show infos for each CPU", info_cpus)

static void info_network(HmpOutput *out, const char *args)
{
    /* There are no network devices, and a list of none is what they look like here. */
}
COMMAND(info_network_cmd, "info network", NULL, "show the network state", info_network)

static void info_chardev(HmpOutput *out, const char *args)
{
    g_autoptr(GPtrArray) list = qmp_query_chardev(&error_abort);

    for (guint i = 0; i < list->len; i++) {
        const ChardevInfo *info = list->pdata[i];

        hmp_printf(out, "%s: filename=%s\n", info->label, info->filename);
    }
}
COMMAND(info_chardev_cmd, "info chardev", NULL, "show the character devices", info_chardev)

static void info_iothreads(HmpOutput *out, const char *args)
{
    g_autoptr(GPtrArray) list = qmp_query_iothreads(&error_abort);

    g_ptr_array_set_free_func(list, (GDestroyNotify)qapi_free_IOThreadInfo);
    for (guint i = 0; i < list->len; i++) {
        const IOThreadInfo *info = list->pdata[i];

        hmp_printf(out,
                   "%s:\n  thread_id=%" G_GINT64_FORMAT "\n  poll-max-ns=%" G_GINT64_FORMAT
                   "\n  poll-grow=%" G_GINT64_FORMAT "\n  poll-shrink=%" G_GINT64_FORMAT
                   "\n  aio-max-batch=%" G_GINT64_FORMAT "\n",
                   info->id, info->thread_id, info->poll_max_ns, info->poll_grow,
                   info->poll_shrink, info->aio_max_batch);
    }
}
COMMAND(info_iothreads_cmd, "info iothreads", NULL, "show iothreads", info_iothreads)

static void info_pci(HmpOutput *out, const char *args)
{
    hmp_take_text(out, pci_info_text());
}
COMMAND(info_pci_cmd, "info pci", NULL, "show PCI info", info_pci)
