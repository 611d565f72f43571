/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-machines, query-current-machine, query-cpus-fast. */
#include <unistd.h>

#include "hw/core/cpu.h"
#include "hw/core/machine.h"
#include "qapi/qapi-cpu.h"
#include "qapi/qapi-machine.h"

static void list_compat(const char *type, const char *property, const char *value, void *opaque)
{
    CompatProperty *p = g_new0(CompatProperty, 1);

    p->qom_type = g_strdup(type);
    p->property = g_strdup(property);
    p->value = g_strdup(value);
    g_ptr_array_add(opaque, p);
}

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
        info->numa_mem_supported = mc->numa_mem_supported;
        info->deprecated = mc->deprecation != NULL;
        if (args && args->has_compat_props && args->compat_props) {
            info->compat_props = g_ptr_array_new();
            if (mc->compat) {
                mc->compat(mc, list_compat, info->compat_props);
            }
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

/* What a place in the topology is called by. */
static CpuInstanceProperties *place(const SmpConfig *smp, unsigned socket, unsigned die,
                                    unsigned module, unsigned core, unsigned thread)
{
    CpuInstanceProperties *p = g_new0(CpuInstanceProperties, 1);

    p->has_socket_id = p->has_core_id = p->has_thread_id = true;
    p->socket_id = socket;
    p->core_id = core;
    p->thread_id = thread;
    p->has_die_id = smp->dies > 1;
    p->die_id = die;
    p->has_module_id = smp->modules > 1;
    p->module_id = module;
    return p;
}

GPtrArray *qmp_query_cpus_fast(Error **errp)
{
    GPtrArray *list = g_ptr_array_new();

    for (unsigned i = 0; i < cpu_count(); i++) {
        CPUState *cpu = cpu_get(i);
        CpuInfoFast *info = g_new0(CpuInfoFast, 1);

        info->cpu_index = cpu->index;
        info->qom_path = object_path((Object *)cpu);
        info->thread_id = cpu->host_tid ? cpu->host_tid : getpid();
        info->target = SYS_EMU_TARGET_X86_64;
        info->props = place(&current_machine->smp, cpu->socket_id, cpu->die_id, cpu->module_id,
                            cpu->core_id, cpu->thread_id);
        g_ptr_array_add(list, info);
    }
    return list;
}
QMP_REGISTER(query_cpus_fast)

/* The last place comes first, as clients are used to. */
GPtrArray *qmp_query_hotpluggable_cpus(Error **errp)
{
    const MachineClass *mc = MACHINE_CLASS(current_machine);
    const SmpConfig *smp = &current_machine->smp;
    g_autofree char *type = NULL;
    GPtrArray *list;

    if (!mc->hotpluggable_cpus) {
        error_set(errp, "machine does not support hot-plugging CPUs");
        return NULL;
    }
    type = cpu_model.name ? g_strdup_printf("%s-x86_64-cpu", cpu_model.name)
                          : g_strdup(mc->default_cpu_type);
    list = g_ptr_array_new();
    for (unsigned i = smp->max_cpus; i-- > 0;) {
        HotpluggableCPU *info = g_new0(HotpluggableCPU, 1);
        unsigned core = i / smp->threads, module = core / smp->cores, die = module / smp->modules;

        info->type = g_strdup(type);
        info->vcpus_count = 1;
        info->props = place(smp, die / smp->dies, die % smp->dies, module % smp->modules,
                            core % smp->cores, i % smp->threads);
        if (i < cpu_count()) {
            info->qom_path = object_path((Object *)cpu_get(i));
        }
        g_ptr_array_add(list, info);
    }
    return list;
}
QMP_REGISTER(query_hotpluggable_cpus)

MemoryInfo *qmp_query_memory_size_summary(Error **errp)
{
    MemoryInfo *info = g_new0(MemoryInfo, 1);

    info->base_memory = current_machine->ram_size;
    info->has_plugged_memory = true;
    return info;
}
QMP_REGISTER(query_memory_size_summary)

GPtrArray *qmp_query_memory_devices(Error **errp)
{
    return g_ptr_array_new();
}
QMP_REGISTER(query_memory_devices)
