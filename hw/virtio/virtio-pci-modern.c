/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a modern virtio function: common configuration, ISR, device configuration and
 * doorbells in one BAR (virtio 1.3 §4.1.4). */

#include "virtio-pci-internal.h"

#include <linux/virtio_pci.h>

#define COMMON_QUEUE_RESET 0x3a

static uint32_t get_half(const uint32_t half[2], uint64_t offset)
{
    return half[(offset >> 2) & 1];
}

static uint32_t common_read_queue(VirtIOPCI *proxy, uint64_t offset)
{
    VirtIODevice *vdev = proxy->vdev;
    VirtQueue *vq = virtio_queue(vdev, vdev->queue_sel);
    const VirtIOPCIQueue *pq;

    if (offset == VIRTIO_PCI_COMMON_Q_NOFF) {
        return vdev->queue_sel;
    }
    if (!vq) {
        return offset == VIRTIO_PCI_COMMON_Q_MSIX ? VIRTIO_NO_VECTOR : 0;
    }
    pq = &proxy->queues[vdev->queue_sel];
    switch (offset) {
    case VIRTIO_PCI_COMMON_Q_SIZE:
        return vq->num;
    case VIRTIO_PCI_COMMON_Q_MSIX:
        return vq->m.vector;
    case VIRTIO_PCI_COMMON_Q_ENABLE:
        return pq->enabled;
    case VIRTIO_PCI_COMMON_Q_DESCLO:
    case VIRTIO_PCI_COMMON_Q_DESCHI:
        return get_half(pq->desc, offset);
    case VIRTIO_PCI_COMMON_Q_AVAILLO:
    case VIRTIO_PCI_COMMON_Q_AVAILHI:
        return get_half(pq->avail, offset);
    case VIRTIO_PCI_COMMON_Q_USEDLO:
    case VIRTIO_PCI_COMMON_Q_USEDHI:
        return get_half(pq->used, offset);
    default:
        return 0;
    }
}

static uint32_t common_read(VirtIOPCI *proxy, uint64_t offset)
{
    VirtIODevice *vdev = proxy->vdev;

    switch (offset) {
    case VIRTIO_PCI_COMMON_DFSELECT:
        return proxy->device_feature_sel;
    case VIRTIO_PCI_COMMON_DF:
        return proxy->device_feature_sel < 2
                   ? virtio_modern_features(vdev) >> (32 * proxy->device_feature_sel)
                   : 0;
    case VIRTIO_PCI_COMMON_GFSELECT:
        return proxy->driver_feature_sel;
    case VIRTIO_PCI_COMMON_GF:
        return proxy->driver_feature_sel < 2 ? proxy->driver_features[proxy->driver_feature_sel]
                                             : 0;
    case VIRTIO_PCI_COMMON_MSIX:
        return vdev->config_vector;
    case VIRTIO_PCI_COMMON_NUMQ:
        return vdev->num_queues;
    case VIRTIO_PCI_COMMON_STATUS:
        return virtio_get_status(vdev);
    case VIRTIO_PCI_COMMON_CFGGENERATION:
        return vdev->generation & 0xff;
    case VIRTIO_PCI_COMMON_Q_SELECT:
        return vdev->queue_sel;
    default:
        return common_read_queue(proxy, offset);
    }
}

static uint64_t pair(const uint32_t half[2])
{
    return half[0] | (uint64_t)half[1] << 32;
}

static void common_write_queue(VirtIOPCI *proxy, uint64_t offset, uint32_t value)
{
    VirtIODevice *vdev = proxy->vdev;
    VirtQueue *vq = virtio_queue(vdev, vdev->queue_sel);
    VirtIOPCIQueue *pq;

    if (!vq) {
        return;
    }
    pq = &proxy->queues[vdev->queue_sel];
    switch (offset) {
    case VIRTIO_PCI_COMMON_Q_SIZE:
        virtio_queue_set_num(vq, value & 0xffff);
        break;
    case VIRTIO_PCI_COMMON_Q_MSIX:
        virtio_pci_set_queue_vector(proxy, vq, value);
        break;
    case VIRTIO_PCI_COMMON_Q_ENABLE:
        if (value != 1) {
            virtio_error(vdev, "wrong value for queue_enable %x", value);
            break;
        }
        pq->enabled = true;
        virtio_queue_set_rings(vq, pair(pq->desc), pair(pq->avail), pair(pq->used));
        break;
    case VIRTIO_PCI_COMMON_Q_DESCLO:
    case VIRTIO_PCI_COMMON_Q_DESCHI:
        pq->desc[(offset >> 2) & 1] = value;
        break;
    case VIRTIO_PCI_COMMON_Q_AVAILLO:
    case VIRTIO_PCI_COMMON_Q_AVAILHI:
        pq->avail[(offset >> 2) & 1] = value;
        break;
    case VIRTIO_PCI_COMMON_Q_USEDLO:
    case VIRTIO_PCI_COMMON_Q_USEDHI:
        pq->used[(offset >> 2) & 1] = value;
        break;
    case COMMON_QUEUE_RESET:
        if (value == 1) {
            virtio_queue_reset(vq);
            virtio_pci_set_queue_vector(proxy, vq, VIRTIO_NO_VECTOR);
            *pq = (VirtIOPCIQueue){0};
        }
        break;
    }
}

static void common_write_status(VirtIOPCI *proxy, uint8_t status)
{
    if (status) {
        virtio_set_status(proxy->vdev, status);
    } else {
        virtio_pci_driver_reset(proxy);
    }
}

static void common_write(VirtIOPCI *proxy, uint64_t offset, uint32_t value)
{
    VirtIODevice *vdev = proxy->vdev;

    switch (offset) {
    case VIRTIO_PCI_COMMON_DFSELECT:
        proxy->device_feature_sel = value;
        break;
    case VIRTIO_PCI_COMMON_GFSELECT:
        proxy->driver_feature_sel = value;
        break;
    case VIRTIO_PCI_COMMON_GF:
        if (proxy->driver_feature_sel < 2) {
            proxy->driver_features[proxy->driver_feature_sel] = value;
            virtio_set_guest_features(vdev, pair(proxy->driver_features));
        }
        break;
    case VIRTIO_PCI_COMMON_MSIX:
        vdev->config_vector = virtio_pci_check_vector(proxy, value);
        break;
    case VIRTIO_PCI_COMMON_STATUS:
        common_write_status(proxy, value);
        break;
    case VIRTIO_PCI_COMMON_Q_SELECT:
        if (value < VIRTIO_QUEUE_MAX) {
            vdev->queue_sel = value;
        }
        break;
    default:
        common_write_queue(proxy, offset, value);
        break;
    }
}

static uint64_t modern_read(void *opaque, uint64_t offset, unsigned size)
{
    VirtIOPCI *proxy = opaque;
    uint64_t part = offset & ~(uint64_t)(MODERN_PART - 1);

    if (part == MODERN_DEVICE) {
        return virtio_config_read(proxy->vdev, offset - part, size);
    }
    if (size > 1 && (offset & (size - 1))) {
        /* Other registers are aligned: such an access touches two of them. */
        unsigned half = size / 2;

        return modern_read(proxy, offset, half) | modern_read(proxy, offset + half, half)
                                                      << (8 * half);
    }
    switch (part) {
    case MODERN_COMMON:
        return common_read(proxy, offset) & (UINT32_MAX >> (32 - 8 * size));
    case MODERN_ISR:
        return virtio_pci_ack_isr(proxy);
    default:
        return 0;
    }
}

static void modern_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    VirtIOPCI *proxy = opaque;
    uint64_t part = offset & ~(uint64_t)(MODERN_PART - 1);

    if (part >= MODERN_NOTIFY) {
        virtio_queue_kick(proxy->vdev, (offset - MODERN_NOTIFY) / virtio_pci_notify_stride(proxy));
        return;
    }
    if (part == MODERN_DEVICE) {
        virtio_config_write(proxy->vdev, offset - part, value, size);
        return;
    }
    if (size > 1 && (offset & (size - 1))) {
        unsigned half = size / 2;

        modern_write(proxy, offset, value & (UINT32_MAX >> (32 - 8 * half)), half);
        modern_write(proxy, offset + half, value >> (8 * half), half);
        return;
    }
    if (part == MODERN_COMMON) {
        common_write(proxy, offset, value);
    }
}

const MmioOps virtio_pci_modern_ops = {
    .read = modern_read,
    .write = modern_write,
    .min_size = 1,
    .max_size = 4,
};

/* ---- modern-pio-notify: one port, the value names the queue ---- */

static uint64_t pio_notify_read(void *opaque, uint64_t offset, unsigned size)
{
    return 0;
}

static void pio_notify_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    VirtIOPCI *proxy = opaque;

    if (offset == 0) {
        virtio_queue_kick(proxy->vdev, value & 0xffff);
    }
}

const MmioOps virtio_pci_pio_notify_ops = {
    .read = pio_notify_read,
    .write = pio_notify_write,
    .min_size = 1,
    .max_size = 4,
};
