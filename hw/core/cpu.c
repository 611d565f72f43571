/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual processors as objects. */
#include "hw/core/cpu.h"

#include "hw/core/machine.h"

CpuModel cpu_model;

static GPtrArray *cpus; /* of CPUState, by index; borrowed */

unsigned cpu_count(void)
{
    return cpus ? cpus->len : 0;
}

CPUState *cpu_get(unsigned index)
{
    return cpus->pdata[index];
}

static bool cpu_realize(DeviceState *dev, Error **errp)
{
    CPUState *cpu = CPU(dev);

    if (!cpus) {
        cpus = g_ptr_array_new();
    }
    g_assert(cpu->index == cpus->len);
    g_ptr_array_add(cpus, cpu);
    if (!accel_cpu_create(cpu, errp)) {
        g_ptr_array_remove(cpus, cpu);
        return false;
    }
    return true;
}

static void cpu_unrealize(DeviceState *dev)
{
    accel_cpu_destroy(CPU(dev));
    g_ptr_array_remove(cpus, CPU(dev));
}

static void cpu_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = cpu_realize;
    dc->unrealize = cpu_unrealize;
}

static const TypeInfo cpu_type = {
    .name = TYPE_CPU,
    .parent = TYPE_DEVICE,
    .abstract = true,
    .instance_size = sizeof(CPUState),
    .class_init = cpu_class_init,
};
TYPE_REGISTER(cpu_type)
