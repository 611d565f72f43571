/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-machines, query-current-machine, query-cpus-fast. */
#include <unistd.h>

#include "hw/core/cpu.h"
#include "hw/core/machine.h"
#include "qapi/qapi-machine.h"

GPtrArray *qmp_query_machines(const q_query_machines_args *args, Error **errp)
{
    g_autoptr(GPtrArray) classes = object_class_list(TYPE_MACHINE, false);
    GPtrArray *list = g_ptr_array_new();

    for (guint i = 0; i < classes->len; i++) {
        const MachineClass *mc = classes->pdata[i];
        MachineInfo *info = g_new0(MachineInfo, 1);

        info->name = g_strdup(mc->name);
        info->alias = g_strdup(mc->alias);
        info->has_is_default = info->is_default = mc->is_default;
        info->cpu_max = mc->max_cpus;
        info->hotpluggable_cpus = mc->hotpluggable_cpus;
        info->default_cpu_type = g_strdup(mc->default_cpu_type);
        info->default_ram_id = g_strdup(mc->default_ram_id);
        info->acpi = mc->has_acpi;
        if (args && args->has_compat_props && args->compat_props) {
            info->compat_props = g_ptr_array_new();
        }
        g_ptr_array_add(list, info);
    }
    return list;
}
QMP_REGISTER(query_machines)

CurrentMachineParams *qmp_query_current_machine(Error **errp)
{
    CurrentMachineParams *p = g_new0(CurrentMachineParams, 1);

    /* Nothing here sleeps and wakes up again. */
    p->wakeup_suspend_support = false;
    return p;
}
QMP_REGISTER(query_current_machine)

GPtrArray *qmp_query_cpus_fast(Error **errp)
{
    GPtrArray *list = g_ptr_array_new();

    for (unsigned i = 0; i < cpu_count(); i++) {
        CPUState *cpu = cpu_get(i);
        CpuInfoFast *info = g_new0(CpuInfoFast, 1);
        CpuInstanceProperties *p = info->props = g_new0(CpuInstanceProperties, 1);

        info->cpu_index = cpu->index;
        info->qom_path = object_path((Object *)cpu);
        info->thread_id = cpu->host_tid ? cpu->host_tid : getpid();
        info->target = SYS_EMU_TARGET_X86_64;
        p->has_socket_id = p->has_core_id = p->has_thread_id = true;
        p->socket_id = cpu->socket_id;
        p->core_id = cpu->core_id;
        p->thread_id = cpu->thread_id;
        if (current_machine->smp.dies > 1) {
            p->has_die_id = true;
            p->die_id = cpu->die_id;
        }
        if (current_machine->smp.modules > 1) {
            p->has_module_id = true;
            p->module_id = cpu->module_id;
        }
        g_ptr_array_add(list, info);
    }
    return list;
}
QMP_REGISTER(query_cpus_fast)
