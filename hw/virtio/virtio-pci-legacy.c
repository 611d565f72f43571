/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O registers of a legacy (pre-1.0) virtio function (virtio 1.3 §4.1.4.10). */

#include "virtio-pci-internal.h"

#include <linux/pci_regs.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci.h>

#define FEATURE_BAD_BIT (UINT32_C(1) << 30)

static uint64_t config_base(VirtIOPCI *proxy)
{
    return VIRTIO_PCI_CONFIG_OFF(msix_enabled(PCI_DEVICE(proxy)));
}

static uint64_t legacy_read(void *opaque, uint64_t offset, unsigned size)
{
    VirtIOPCI *proxy = opaque;
    VirtIODevice *vdev = proxy->vdev;
    VirtQueue *vq = virtio_queue(vdev, vdev->queue_sel);
    uint32_t value = UINT32_MAX;

    if (offset >= config_base(proxy)) {
        return virtio_config_read(vdev, offset - config_base(proxy), size);
    }
    switch (offset) {
    case VIRTIO_PCI_HOST_FEATURES:
        value = virtio_legacy_features(vdev);
        break;
    case VIRTIO_PCI_GUEST_FEATURES:
        value = 0;
        break;
    case VIRTIO_PCI_QUEUE_PFN:
        value = vq ? vq->m.desc >> VIRTIO_PCI_QUEUE_ADDR_SHIFT : 0;
        break;
    case VIRTIO_PCI_QUEUE_NUM:
        value = vq ? vq->num : 0;
        break;
    case VIRTIO_PCI_QUEUE_SEL:
        value = vdev->queue_sel;
        break;
    case VIRTIO_PCI_STATUS:
        value = virtio_get_status(vdev);
        break;
    case VIRTIO_PCI_ISR:
        value = virtio_pci_ack_isr(proxy);
        break;
    case VIRTIO_MSI_CONFIG_VECTOR:
        value = vdev->config_vector;
        break;
    case VIRTIO_MSI_QUEUE_VECTOR:
        value = vq ? vq->m.vector : VIRTIO_NO_VECTOR;
        break;
    }
    return value & (UINT32_MAX >> (32 - 8 * size));
}

static void legacy_write_status(VirtIOPCI *proxy, uint8_t status)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);

    if (!status) {
        virtio_pci_driver_reset(proxy);
        return;
    }
    virtio_set_status(proxy->vdev, status);
    if (status == (VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER) &&
        !pci_bus_master_enabled(pdev)) {
        /* Old drivers do not turn bus mastering on and yet expect to be served. */
        pci_config_write(pdev, PCI_COMMAND,
                         pci_get_word(pdev->config + PCI_COMMAND) | PCI_COMMAND_MASTER, 2);
    }
}

static void legacy_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    VirtIOPCI *proxy = opaque;
    VirtIODevice *vdev = proxy->vdev;
    VirtQueue *vq = virtio_queue(vdev, vdev->queue_sel);

    if (offset >= config_base(proxy)) {
        virtio_config_write(vdev, offset - config_base(proxy), value, size);
        return;
    }
    switch (offset) {
    case VIRTIO_PCI_GUEST_FEATURES:
        /* A driver that takes everything, even what stands for "broken", has understood nothing. */
        virtio_set_guest_features(vdev, (value & FEATURE_BAD_BIT) ? 0 : (uint32_t)value);
        break;
    case VIRTIO_PCI_QUEUE_PFN:
        if (!(uint32_t)value) {
            virtio_pci_driver_reset(proxy);
        } else if (vq) {
            virtio_queue_set_legacy_ring(vq, (value & UINT32_MAX) << VIRTIO_PCI_QUEUE_ADDR_SHIFT);
        }
        break;
    case VIRTIO_PCI_QUEUE_SEL:
        if (value < VIRTIO_QUEUE_MAX) {
            vdev->queue_sel = value;
        }
        break;
    case VIRTIO_PCI_QUEUE_NOTIFY:
        virtio_queue_kick(vdev, value & 0xffff);
        break;
    case VIRTIO_PCI_STATUS:
        legacy_write_status(proxy, value);
        break;
    case VIRTIO_MSI_CONFIG_VECTOR:
        vdev->config_vector = virtio_pci_check_vector(proxy, value);
        break;
    case VIRTIO_MSI_QUEUE_VECTOR:
        if (vq) {
            virtio_pci_set_queue_vector(proxy, vq, value);
        }
        break;
    }
}

const MmioOps virtio_pci_legacy_ops = {
    .read = legacy_read,
    .write = legacy_write,
    .min_size = 1,
    .max_size = 4,
};
