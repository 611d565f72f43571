/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_VIRTIO_PCI_INTERNAL_H
#define SPINDLE_VIRTIO_PCI_INTERNAL_H

#include "hw/virtio/virtio-pci.h"
#include "virtio-internal.h"

/* What the files of the PCI transport share. */

/* Layout of the modern BAR. */
#define MODERN_COMMON 0x0000
#define MODERN_ISR    0x1000
#define MODERN_DEVICE 0x2000
#define MODERN_NOTIFY 0x3000
#define MODERN_PART   0x1000

/* Bytes between the doorbells of two queues. */
static inline unsigned virtio_pci_notify_stride(const VirtIOPCI *proxy)
{
    return proxy->page_per_vq ? 4096 : 4;
}

extern const MmioOps virtio_pci_modern_ops;
extern const MmioOps virtio_pci_pio_notify_ops;
extern const MmioOps virtio_pci_legacy_ops;

/* ---- virtio-pci.c ---- */

/* A reset that the driver asked for by a register of the device. */
void virtio_pci_driver_reset(VirtIOPCI *proxy);
/* The number of a vector as the driver sees it afterwards. */
uint16_t virtio_pci_check_vector(VirtIOPCI *proxy, uint16_t vector);

/* ---- virtio-pci-irq.c ---- */

extern const VirtIOTransportOps virtio_pci_transport_ops;
void virtio_pci_set_queue_vector(VirtIOPCI *proxy, VirtQueue *vq, uint16_t vector);
/* Reads and clears the ISR. */
uint8_t virtio_pci_ack_isr(VirtIOPCI *proxy);
void virtio_pci_msix_changed(PCIDevice *pdev, unsigned vector, void *opaque);
bool virtio_pci_msix_pending(PCIDevice *pdev, unsigned vector, void *opaque);
/* All guest notifiers again, by what holds now. Runs in: main thread. */
void virtio_pci_rebind_all(void *proxy);

/* ---- virtio-pci-intx.c ---- */

/* NULL: the line is not known, or cannot be raised by an eventfd. Runs in: main thread. */
LineRoute *virtio_pci_intx_bind(VirtIOPCI *proxy, VirtQueue *vq);
void virtio_pci_intx_unbind(VirtIOPCI *proxy, LineRoute *route);
/* When no queue has a route left. Runs in: main thread. */
void virtio_pci_intx_close(VirtIOPCI *proxy);
/* PCIDeviceClass.intx_changed; and when the command register has been written. Runs in: under the
 * big lock. */
void virtio_pci_intx_changed(PCIDevice *pdev);
void virtio_pci_intx_command(VirtIOPCI *proxy);
/* Brings the status register's interrupt bit up to date. */
void virtio_pci_intx_status(VirtIOPCI *proxy);
/* VirtIOTransportOps.queue_moves. */
void virtio_pci_queue_moves(void *opaque, VirtQueue *vq, bool arrives);

#endif
