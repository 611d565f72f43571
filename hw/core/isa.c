/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ISA bus and its devices; and the IDE bus, on which nothing can sit yet. */
#include "hw/core/isa.h"

static void kind_class_init(ObjectClass *klass, const void *data)
{
    ((BusClass *)klass)->kind = data;
}

static const TypeInfo isa_bus_type = {
    .name = TYPE_ISA_BUS,
    .parent = TYPE_BUS,
    .class_init = kind_class_init,
    .class_data = "ISA",
};
TYPE_REGISTER(isa_bus_type)

static const TypeInfo ide_bus_type = {
    .name = "IDE",
    .parent = TYPE_BUS,
    .class_init = kind_class_init,
    .class_data = "IDE",
};
TYPE_REGISTER(ide_bus_type)

static void isa_device_class_init(ObjectClass *klass, const void *data)
{
    ((DeviceClass *)klass)->bus_type = TYPE_ISA_BUS;
}

static const TypeInfo isa_device_type = {
    .name = TYPE_ISA_DEVICE,
    .parent = TYPE_DEVICE,
    .abstract = true,
    .instance_size = sizeof(ISADevice),
    .class_init = isa_device_class_init,
};
TYPE_REGISTER(isa_device_type)
