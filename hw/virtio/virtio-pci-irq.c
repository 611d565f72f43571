/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Eventfds between the guest and the queues of a PCI function, and its interrupts.
 *
 * A queue that another thread serves interrupts by its guest notifier. While MSI-X is on, the
 * vector is not masked and the accelerator can, the notifier delivers the message by itself; with
 * INTx see virtio-pci-intx.c. Otherwise the main loop watches it and raises the interrupt.
 */

#include "virtio-pci-internal.h"

#include <linux/virtio_pci.h>

static void virtio_pci_notify(void *opaque, uint16_t vector)
{
    VirtIOPCI *proxy = opaque;
    PCIDevice *pdev = PCI_DEVICE(proxy);

    if (msix_enabled(pdev)) {
        if (vector != VIRTIO_NO_VECTOR) {
            msix_notify(pdev, vector);
        }
    } else {
        pci_set_intx(pdev, virtio_read_isr(proxy->vdev, false) & 1);
    }
}

uint8_t virtio_pci_ack_isr(VirtIOPCI *proxy)
{
    uint8_t isr = virtio_read_isr(proxy->vdev, true);

    pci_set_intx(PCI_DEVICE(proxy), false);
    return isr;
}

/* ---- guest notifiers ---- */

static void guest_notifier_read(void *opaque)
{
    VirtQueue *vq = opaque;

    if (event_notifier_test_and_clear(&vq->guest)) {
        virtio_pci_notify(vq->vdev->transport_opaque, vq->m.vector);
    }
}

static const AioFdOps guest_notifier_ops = {.read = guest_notifier_read};

static bool guest_bound(const VirtQueue *vq)
{
    return vq->m.guest_fd || vq->m.route || vq->m.line;
}

static void guest_unbind(VirtQueue *vq)
{
    g_clear_pointer(&vq->m.guest_fd, aio_fd_remove);
    g_clear_pointer(&vq->m.route, msi_route_del);
    if (vq->m.line) {
        virtio_pci_intx_unbind(vq->vdev->transport_opaque, g_steal_pointer(&vq->m.line));
    }
}

static void guest_bind(VirtIOPCI *proxy, VirtQueue *vq)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);
    uint16_t v = vq->m.vector;

    if (msix_enabled(pdev) && v != VIRTIO_NO_VECTOR && !msix_masked(pdev, v) &&
        msi_routes_available()) {
        uint64_t addr;
        uint32_t data;

        msix_message(pdev, v, &addr, &data);
        vq->m.route = msi_route_add(&vq->guest, addr, data);
    } else if (!msix_enabled(pdev)) {
        vq->m.line = virtio_pci_intx_bind(proxy, vq);
    }
    if (!guest_bound(vq)) {
        vq->m.guest_fd = aio_fd_add(aio_context_main(), vq->guest.fd, &guest_notifier_ops, vq);
    }
}

static void guest_rebind(void *opaque)
{
    VirtQueue *vq = opaque;

    /* It may have been stopped on the way to this thread. */
    if (vq->guest.fd >= 0) {
        guest_unbind(vq);
        guest_bind(vq->vdev->transport_opaque, vq);
    }
}

void virtio_pci_rebind_all(void *opaque)
{
    VirtIOPCI *proxy = opaque;
    VirtIODevice *vdev = proxy->vdev;

    virtio_wait_moves(vdev);
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        if (vdev->queues[i]->guest.fd >= 0) {
            guest_unbind(vdev->queues[i]);
        }
    }
    /* This waits, and the device may be stopped or started meanwhile. */
    virtio_pci_intx_close(proxy);
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        if (vdev->queues[i]->guest.fd >= 0 && !guest_bound(vdev->queues[i])) {
            guest_bind(proxy, vdev->queues[i]);
        }
    }
}

void virtio_pci_set_queue_vector(VirtIOPCI *proxy, VirtQueue *vq, uint16_t vector)
{
    vq->m.vector = virtio_pci_check_vector(proxy, vector);
    if (vq->guest.fd >= 0 && msix_enabled(PCI_DEVICE(proxy))) {
        virtio_run_in_main(guest_rebind, vq);
    }
}

void virtio_pci_msix_changed(PCIDevice *pdev, unsigned vector, void *opaque)
{
    VirtIOPCI *proxy = opaque;
    VirtIODevice *vdev = proxy->vdev;

    if (vector == UINT_MAX) {
        if (vdev->notifiers) {
            virtio_run_in_main(virtio_pci_rebind_all, proxy);
        }
        return;
    }
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (vq->guest.fd >= 0 && vq->m.vector == vector) {
            virtio_run_in_main(guest_rebind, vq);
        }
    }
}

/* An interrupt that waits in a notifier is as pending as one that has been marked so. */
bool virtio_pci_msix_pending(PCIDevice *pdev, unsigned vector, void *opaque)
{
    VirtIOPCI *proxy = opaque;
    VirtIODevice *vdev = proxy->vdev;
    bool pending = false;

    for (unsigned i = 0; i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (vq->guest.fd >= 0 && !vq->m.route && vq->m.vector == vector) {
            pending |= event_notifier_test_and_clear(&vq->guest);
        }
    }
    return pending;
}

static bool guest_notifier_start(void *opaque, VirtQueue *vq, Error **errp)
{
    if (!event_notifier_init(&vq->guest, false, errp)) {
        vq->guest.fd = -1;
        error_prepend(errp, "cannot set up guest notifier %u of %u: ", vq->index,
                      vq->vdev->num_queues);
        return false;
    }
    guest_bind(opaque, vq);
    return true;
}

static void guest_notifier_stop(void *opaque, VirtQueue *vq)
{
    guest_unbind(vq);
    /* The last interrupts of the queue must not get lost. */
    if (event_notifier_test_and_clear(&vq->guest)) {
        virtio_pci_notify(opaque, vq->m.vector);
    }
    event_notifier_cleanup(&vq->guest);
    vq->guest.fd = -1;
}

/* ---- host notifiers ---- */

static uint64_t doorbell(const VirtIOPCI *proxy, const VirtQueue *vq)
{
    return MODERN_NOTIFY + (uint64_t)vq->index * virtio_pci_notify_stride(proxy);
}

static void host_notifier_stop(VirtIOPCI *proxy, VirtQueue *vq)
{
    if (proxy->modern_bar) {
        mmio_region_del_eventfd(proxy->modern_bar, doorbell(proxy, vq), 0, &vq->host);
    }
    if (proxy->legacy_bar) {
        mmio_region_del_eventfd_match(proxy->legacy_bar, VIRTIO_PCI_QUEUE_NOTIFY, 2, vq->index,
                                      &vq->host);
    }
    if (proxy->pio_bar) {
        mmio_region_del_eventfd_match(proxy->pio_bar, 0, 2, vq->index, &vq->host);
    }
}

static bool host_notifier_start(VirtIOPCI *proxy, VirtQueue *vq, Error **errp)
{
    if (!event_notifier_init(&vq->host, false, errp)) {
        vq->host.fd = -1;
        return false;
    }
    if (proxy->modern_bar) {
        mmio_region_add_eventfd(proxy->modern_bar, doorbell(proxy, vq), 0, &vq->host);
    }
    /* One register for all queues: the value says which. */
    if (proxy->legacy_bar) {
        mmio_region_add_eventfd_match(proxy->legacy_bar, VIRTIO_PCI_QUEUE_NOTIFY, 2, vq->index,
                                      &vq->host);
    }
    if (proxy->pio_bar) {
        mmio_region_add_eventfd_match(proxy->pio_bar, 0, 2, vq->index, &vq->host);
    }
    return true;
}

static void stop_some(VirtIOPCI *proxy)
{
    VirtIODevice *vdev = proxy->vdev;

    address_space_batch_begin();
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        if (vdev->queues[i]->host.fd >= 0) {
            host_notifier_stop(proxy, vdev->queues[i]);
        }
    }
    address_space_batch_commit();
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (vq->host.fd >= 0) {
            event_notifier_cleanup(&vq->host);
            vq->host.fd = -1;
        }
        if (vq->guest.fd >= 0) {
            guest_notifier_stop(proxy, vq);
        }
    }
    virtio_pci_intx_close(proxy);
}

static bool virtio_pci_start_notifiers(void *opaque, Error **errp)
{
    VirtIOPCI *proxy = opaque;
    VirtIODevice *vdev = proxy->vdev;
    bool ok = true;

    for (unsigned i = 0; ok && i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (virtqueue_owner(vq) != aio_context_main()) {
            ok = guest_notifier_start(proxy, vq, errp);
        }
    }
    address_space_batch_begin();
    for (unsigned i = 0; ok && i < vdev->num_queues; i++) {
        ok = host_notifier_start(proxy, vdev->queues[i], errp);
        if (!ok) {
            error_prepend(errp, "cannot set up host notifier %u of %u: ", i, vdev->num_queues);
        }
    }
    address_space_batch_commit();
    if (!ok) {
        stop_some(proxy);
    }
    return ok;
}

static void virtio_pci_stop_notifiers(void *opaque)
{
    stop_some(opaque);
}

static bool virtio_pci_has_notifiers(void *opaque)
{
    return ((VirtIOPCI *)opaque)->ioeventfd;
}

static bool virtio_pci_can_run(void *opaque)
{
    return pci_bus_master_enabled(PCI_DEVICE(opaque));
}

const VirtIOTransportOps virtio_pci_transport_ops = {
    .notify = virtio_pci_notify,
    .start_notifiers = virtio_pci_start_notifiers,
    .stop_notifiers = virtio_pci_stop_notifiers,
    .has_notifiers = virtio_pci_has_notifiers,
    .add_guest_notifier = guest_notifier_start,
    .del_guest_notifier = guest_notifier_stop,
    .queue_moves = virtio_pci_queue_moves,
    .can_run = virtio_pci_can_run,
};
