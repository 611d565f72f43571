/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-blk as a PCI function: transitional or not, by property or by type. */

#include "hw/core/machine.h"
#include "hw/virtio/virtio-pci.h"
#include "virtio-blk.h"

#define TYPE_VIRTIO_BLK_PCI_BASE "virtio-blk-pci-base"

static bool virtio_blk_pci_setup(VirtIOPCI *proxy, Error **errp)
{
    VirtIOBlkConf *c = &VIRTIO_BLK(proxy->vdev)->conf;

    if (c->num_queues == VIRTIO_BLK_QUEUES_AUTO) {
        unsigned cpus = current_machine ? current_machine->smp.cpus : 1;

        c->num_queues = CLAMP(cpus, 1, VIRTIO_QUEUE_MAX);
    }
    if (proxy->nvectors == VIRTIO_PCI_VECTORS_AUTO) {
        proxy->nvectors = c->num_queues + 1;
    }
    return true;
}

static void virtio_blk_pci_base_init(Object *obj)
{
    virtio_pci_init_backend(VIRTIO_PCI(obj), TYPE_VIRTIO_BLK);
}

static void virtio_blk_pci_base_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;
    VirtIOPCIClass *vpc = (VirtIOPCIClass *)klass;

    dc->category = "storage";
    dc->user_creatable = true;
    dc->hotpluggable = true;
    pc->device_id = 0x1001;
    pc->class_id = 0x010000;
    vpc->transitional_id = 0x1001;
    vpc->class_code = 0x0100;
    vpc->setup = virtio_blk_pci_setup;
}

static const Property virtio_blk_pci_base_props[] = {
    PROP_UINT32("class", VirtIOPCI, class_code, 0),
    PROP_BOOL("ioeventfd", VirtIOPCI, ioeventfd, true),
    PROP_UINT32("vectors", VirtIOPCI, nvectors, VIRTIO_PCI_VECTORS_AUTO),
    PROP_END,
};

static const TypeInfo virtio_blk_pci_base_info = {
    .name = TYPE_VIRTIO_BLK_PCI_BASE,
    .parent = TYPE_VIRTIO_PCI,
    .abstract = true,
    .props = virtio_blk_pci_base_props,
    .class_init = virtio_blk_pci_base_class_init,
    .instance_init = virtio_blk_pci_base_init,
};
TYPE_REGISTER(virtio_blk_pci_base_info)

static void virtio_blk_pci_class_init(ObjectClass *klass, const void *data)
{
    ((DeviceClass *)klass)->alias = "virtio-blk";
}

static const Property virtio_blk_pci_props[] = {
    VIRTIO_PCI_MODE_PROPS,
    PROP_END,
};

static const TypeInfo virtio_blk_pci_info = {
    .name = "virtio-blk-pci",
    .parent = TYPE_VIRTIO_BLK_PCI_BASE,
    .props = virtio_blk_pci_props,
    .class_init = virtio_blk_pci_class_init,
};
TYPE_REGISTER(virtio_blk_pci_info)

static void virtio_blk_pci_transitional_init(Object *obj)
{
    virtio_pci_set_modes(VIRTIO_PCI(obj), true, true);
}

static const TypeInfo virtio_blk_pci_transitional_info = {
    .name = "virtio-blk-pci-transitional",
    .parent = TYPE_VIRTIO_BLK_PCI_BASE,
    .instance_init = virtio_blk_pci_transitional_init,
};
TYPE_REGISTER(virtio_blk_pci_transitional_info)

static void virtio_blk_pci_modern_init(Object *obj)
{
    virtio_pci_set_modes(VIRTIO_PCI(obj), false, true);
}

static const TypeInfo virtio_blk_pci_modern_info = {
    .name = "virtio-blk-pci-non-transitional",
    .parent = TYPE_VIRTIO_BLK_PCI_BASE,
    .instance_init = virtio_blk_pci_modern_init,
};
TYPE_REGISTER(virtio_blk_pci_modern_info)
