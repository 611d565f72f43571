/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP commands about what the command line said. */
#include "cmdline.h"
#include "hw/core/machine.h"
#include "hw/core/runstate.h"
#include "qapi/qapi-machine.h"
#include "qapi/qapi-misc.h"
#include "qapi/qapi-run-state.h"
#include "startup.h"

bool startup_preconfig_over;

NameInfo *qmp_query_name(Error **errp)
{
    NameInfo *info = g_new0(NameInfo, 1);

    info->name = g_strdup(config.name);
    return info;
}
QMP_REGISTER(query_name)

UuidInfo *qmp_query_uuid(Error **errp)
{
    UuidInfo *info = g_new0(UuidInfo, 1);

    info->UUID = g_strdup(config.uuid ?: "00000000-0000-0000-0000-000000000000");
    return info;
}
QMP_REGISTER(query_uuid)

KvmInfo *qmp_query_kvm(Error **errp)
{
    KvmInfo *info = g_new0(KvmInfo, 1);

    info->enabled = accel_is("kvm");
    info->present = object_class_by_name("kvm-accel") != NULL;
    return info;
}
QMP_REGISTER(query_kvm)

TargetInfo *qmp_query_target(Error **errp)
{
    TargetInfo *info = g_new0(TargetInfo, 1);

    info->arch = SYS_EMU_TARGET_X86_64;
    return info;
}
QMP_REGISTER(query_target)

bool qmp_set_action(const q_set_action_args *args, Error **errp)
{
    /* args->watchdog: no device of this program is a watchdog, so that nothing follows from it. */
    if (args->has_reboot) {
        runstate_set_no_reboot(args->reboot == REBOOT_ACTION_SHUTDOWN);
    }
    if (args->has_shutdown) {
        runstate_set_no_shutdown(args->shutdown == SHUTDOWN_ACTION_PAUSE);
    }
    if (args->has_panic) {
        static const PanicAction actions[] = {
            [GUEST_PANIC_CHOICE_PAUSE] = PANIC_ACTION_PAUSE,
            [GUEST_PANIC_CHOICE_SHUTDOWN] = PANIC_ACTION_SHUTDOWN,
            [GUEST_PANIC_CHOICE_EXIT_FAILURE] = PANIC_ACTION_EXIT_FAILURE,
            [GUEST_PANIC_CHOICE_NONE] = PANIC_ACTION_NONE,
        };

        runstate_set_panic_action(actions[args->panic]);
    }
    return true;
}
QMP_REGISTER(set_action)

bool qmp_watchdog_set_action(const q_watchdog_set_action_args *args, Error **errp)
{
    return true; /* as with set-action */
}
QMP_REGISTER(watchdog_set_action)

bool qmp_x_exit_preconfig(Error **errp)
{
    if (runstate_machine_ready()) {
        error_set(errp, "The command is permitted only before machine initialization");
        return false;
    }
    startup_machine();
    startup_preconfig_over = true;
    return true;
}
QMP_REGISTER(x_exit_preconfig)
