/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP commands about the run state. */
#include "hw/core/runstate.h"

#include "block/block.h"
#include "qapi/qapi-control.h"
#include "qapi/qapi-misc.h"
#include "qapi/qapi-run-state.h"

StatusInfo *qmp_query_status(Error **errp)
{
    StatusInfo *info = g_new0(StatusInfo, 1);

    info->running = runstate_is_running();
    info->status = runstate_get();
    return info;
}
QMP_REGISTER(query_status)

bool qmp_stop(Error **errp)
{
    vm_stop(RUN_STATE_PAUSED);
    return true;
}
QMP_REGISTER(stop)

bool qmp_cont(Error **errp)
{
    if (!runstate_is_running()) {
        blk_iostatus_reset_all();
    }
    return vm_start(errp);
}
QMP_REGISTER(cont)

bool qmp_system_reset(Error **errp)
{
    request_reset(SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET);
    return true;
}
QMP_REGISTER(system_reset)

bool qmp_system_powerdown(Error **errp)
{
    request_powerdown();
    return true;
}
QMP_REGISTER(system_powerdown)

bool qmp_quit(Error **errp)
{
    request_exit(SHUTDOWN_CAUSE_HOST_QMP_QUIT);
    return true;
}
QMP_REGISTER(quit)
