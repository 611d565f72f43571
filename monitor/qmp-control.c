/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP commands about the session itself. */
#include "qmp.h"

#include "hw/core/cpu.h"
#include "monitor/version.h"
#include "qapi/qapi-control.h"
#include "qapi/qapi-misc.h"

bool qmp_qmp_capabilities(const q_qmp_capabilities_args *args, Error **errp)
{
    QmpMonitor *mon = qmp_current;
    bool oob = false, again;

    for (guint i = 0; args->enable && i < args->enable->len; i++) {
        oob |= g_array_index(args->enable, QMPCapability, i) == QMP_CAPABILITY_OOB;
    }
    pthread_mutex_lock(&mon->lock);
    again = mon->negotiated;
    /* The client may be gone, and the next one has not negotiated yet. */
    if (mon->session == mon->running && !again) {
        mon->negotiated = true;
        mon->oob = oob;
    }
    pthread_mutex_unlock(&mon->lock);
    if (again) {
        error_set_class(errp, ERROR_CLASS_COMMAND_NOT_FOUND,
                        "Capabilities negotiation is already complete, command ignored");
    }
    return !again;
}
QMP_REGISTER(qmp_capabilities)

VersionInfo *qmp_query_version(Error **errp)
{
    VersionInfo *info = g_new0(VersionInfo, 1);

    info->qemu = g_new0(VersionTriple, 1);
    info->qemu->major = INTERFACE_VERSION_MAJOR;
    info->qemu->minor = INTERFACE_VERSION_MINOR;
    info->qemu->micro = INTERFACE_VERSION_MICRO;
    info->package = g_strdup(SPINDLE_PACKAGE);
    return info;
}
QMP_REGISTER(query_version)

char *qmp_human_monitor_command(const q_human_monitor_command_args *args, Error **errp)
{
    if (args->has_cpu_index &&
        (args->cpu_index < 0 || (uint64_t)args->cpu_index >= cpu_count())) {
        error_set(errp, "Parameter 'cpu-index' expects a CPU number");
        return NULL;
    }
    return hmp_run(args->command_line);
}
QMP_REGISTER(human_monitor_command)

bool qmp_migrate_pause(Error **errp)
{
    error_set(errp, "migrate-pause is currently only supported during postcopy-active or "
                    "postcopy-recover state");
    return false;
}
QMP_REGISTER(migrate_pause)
