/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INTx without the main thread.
 *
 * Where the line of a function is known and the accelerator can, the guest notifiers of its queues
 * raise the line by themselves. It falls at the guest's end of interrupt, whatever the device
 * thinks of it; so the accelerator then sets `ended`, and the owner of queue 0 raises the line
 * again if the ISR says that there is something the driver has not seen.
 *
 * That thread's watch travels with queue 0. Interrupts that do not come from a queue, and all of
 * them where this is not possible, use the level that pci_set_intx() gives the line: it is the
 * other half of the same OR, and falls when the driver reads the ISR.
 */
#include <linux/pci_regs.h>

#include "util/biglock.h"
#include "virtio-pci-internal.h"

struct VirtIOPCIIntx {
    VirtIODevice *vdev;
    int gsi;
    EventNotifier raise, ended;
    LineRoute *route; /* of raise */
    AioFd *fd;        /* watches ended; the owner's of queue 0 */
};

/* ---- runs in: the context of queue 0 ---- */

static void ended_read(void *opaque)
{
    VirtIOPCIIntx *x = opaque;

    if (event_notifier_test_and_clear(&x->ended) && (virtio_read_isr(x->vdev, false) & 1)) {
        event_notifier_set(&x->raise);
    }
}

static const AioFdOps ended_ops = { .read = ended_read };

static void intx_attach(void *opaque)
{
    VirtIOPCIIntx *x = opaque;

    x->fd = aio_fd_add(aio_context_current(), x->ended.fd, &ended_ops, x);
}

static void intx_detach(void *opaque)
{
    VirtIOPCIIntx *x = opaque;

    g_clear_pointer(&x->fd, aio_fd_remove);
}

void virtio_pci_queue_moves(void *opaque, VirtQueue *vq, bool arrives)
{
    VirtIOPCI *proxy = opaque;

    /* Nothing else changes proxy->intx while queues are on their way. */
    if (vq->index == 0 && proxy->intx) {
        if (arrives) {
            intx_attach(proxy->intx);
        } else {
            intx_detach(proxy->intx);
        }
    }
}

/* ---- runs in: main thread, no queue is on its way ---- */

static int intx_wanted(VirtIOPCI *proxy)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);

    return line_routes_available() && !proxy->intx_toggled && pci_intx_enabled(pdev)
               ? pci_intx_gsi(pdev)
               : -1;
}

static void intx_free(VirtIOPCIIntx *x)
{
    g_clear_pointer(&x->route, line_route_del);
    event_notifier_cleanup(&x->raise);
    event_notifier_cleanup(&x->ended);
    g_free(x);
}

static VirtIOPCIIntx *intx_open(VirtIOPCI *proxy, int gsi)
{
    VirtIOPCIIntx *x = g_new0(VirtIOPCIIntx, 1);
    AioContext *owner;

    x->vdev = proxy->vdev;
    x->gsi = gsi;
    x->raise.fd = x->ended.fd = -1;
    if (event_notifier_init(&x->raise, false, NULL) &&
        event_notifier_init(&x->ended, false, NULL)) {
        x->route = line_route_add(&x->raise, &x->ended, gsi);
    }
    if (!x->route) {
        intx_free(x);
        return NULL;
    }
    owner = virtqueue_owner(proxy->vdev->queues[0]);
    if (aio_in_context(owner)) {
        intx_attach(x);
    } else {
        aio_call(owner, intx_attach, x);
    }
    return x;
}

void virtio_pci_intx_close(VirtIOPCI *proxy)
{
    VirtIOPCIIntx *x = g_steal_pointer(&proxy->intx);

    g_assert(aio_in_main_thread());
    if (x) {
        aio_call_sync(virtqueue_owner(proxy->vdev->queues[0]), intx_detach, x);
        intx_free(x);
    }
}

LineRoute *virtio_pci_intx_bind(VirtIOPCI *proxy, VirtQueue *vq)
{
    int gsi = intx_wanted(proxy);

    if (gsi < 0) {
        return NULL;
    }
    if (!proxy->intx) {
        proxy->intx = intx_open(proxy, gsi);
    }
    return proxy->intx ? line_route_add(&vq->guest, &proxy->intx->ended, gsi) : NULL;
}

void virtio_pci_intx_unbind(VirtIOPCI *proxy, LineRoute *route)
{
    line_route_del(route);
    /* The line may have been up by this route alone. */
    if (virtio_read_isr(proxy->vdev, false) & 1) {
        pci_set_intx(PCI_DEVICE(proxy), true);
    }
}

/* ---- runs in: under the big lock ---- */

void virtio_pci_intx_status(VirtIOPCI *proxy)
{
    uint8_t *status = PCI_DEVICE(proxy)->config + PCI_STATUS;

    if (proxy->intx) {
        bool up = PCI_DEVICE(proxy)->irq_level || (virtio_read_isr(proxy->vdev, false) & 1);

        *status = up ? *status | PCI_STATUS_INTERRUPT : *status & ~PCI_STATUS_INTERRUPT;
    }
}

void virtio_pci_intx_changed(PCIDevice *pdev)
{
    VirtIOPCI *proxy = VIRTIO_PCI(pdev);

    if (proxy->intx ? proxy->intx->gsi != intx_wanted(proxy)
                    : proxy->vdev->notifiers && intx_wanted(proxy) >= 0) {
        virtio_run_in_main(virtio_pci_rebind_all, proxy);
    }
}

void virtio_pci_intx_command(VirtIOPCI *proxy)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);

    /* A driver that holds interrupts back by the command register does so at each of them. That is
     * cheaper by the level of pci_set_intx(). */
    if (proxy->intx && !msix_enabled(pdev) && !pci_intx_enabled(pdev)) {
        proxy->intx_toggled = true;
    }
    virtio_pci_intx_changed(pdev);
}
