/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bus between a transport and its one device. */

#include "hw/virtio/virtio-pci.h"

static void virtio_bus_class_init(ObjectClass *klass, const void *data)
{
    BusClass *bc = (BusClass *)klass;

    bc->kind = TYPE_VIRTIO_BUS;
    bc->max_dev = 1;
}

static const TypeInfo virtio_bus_info = {
    .name = TYPE_VIRTIO_BUS,
    .parent = TYPE_BUS,
    .abstract = true,
    .class_init = virtio_bus_class_init,
};
TYPE_REGISTER(virtio_bus_info)

static const TypeInfo virtio_pci_bus_info = {
    .name = TYPE_VIRTIO_PCI_BUS,
    .parent = TYPE_VIRTIO_BUS,
};
TYPE_REGISTER(virtio_pci_bus_info)
