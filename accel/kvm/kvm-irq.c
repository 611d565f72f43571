/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts by the kernel's interrupt controllers: lines (KVM_IRQ_LINE), messages (KVM_SIGNAL_MSI)
 * and routes, each an eventfd that any thread may set to deliver one message or to raise a line
 * (irqfd).
 *
 * The kernel takes the routing table as a whole. A copy is kept here; entries beyond the fixed ones
 * of the controllers' pins belong to routes.
 */
#include <errno.h>
#include <string.h>

#include "hw/core/irq.h"
#include "kvm-int.h"
#include "util/biglock.h"
#include "util/report.h"

struct MsiRoute {
    unsigned gsi;
    EventNotifier *notifier;
};

struct LineRoute {
    unsigned gsi;
    EventNotifier *notifier;
};

static GArray *entries;  /* of struct kvm_irq_routing_entry */
static GArray *free_gsi; /* of unsigned: numbers given back */
static unsigned next_gsi;

static int kvm_routing_commit(void)
{
    g_autofree struct kvm_irq_routing *table =
        g_malloc0(sizeof(*table) + entries->len * sizeof(table->entries[0]));

    table->nr = entries->len;
    for (unsigned i = 0; i < entries->len; i++) {
        table->entries[i] = g_array_index(entries, struct kvm_irq_routing_entry, i);
    }
    return kvm_ioctl(kvm.vm_fd, KVM_SET_GSI_ROUTING, table);
}

static void kvm_routing_pin(unsigned gsi, unsigned chip, unsigned pin)
{
    struct kvm_irq_routing_entry e = {
        .gsi = gsi,
        .type = KVM_IRQ_ROUTING_IRQCHIP,
        .u.irqchip = { .irqchip = chip, .pin = pin },
    };

    g_array_append_val(entries, e);
}

static void kvm_entry_fill(struct kvm_irq_routing_entry *e, uint64_t addr, uint32_t data)
{
    e->type = KVM_IRQ_ROUTING_MSI;
    e->u.msi.address_lo = addr;
    e->u.msi.address_hi = addr >> 32;
    e->u.msi.data = data;
}

static struct kvm_irq_routing_entry *kvm_entry_of(const MsiRoute *r)
{
    for (unsigned i = 0; i < entries->len; i++) {
        struct kvm_irq_routing_entry *e = &g_array_index(entries, struct kvm_irq_routing_entry, i);

        if (e->gsi == r->gsi && e->type == KVM_IRQ_ROUTING_MSI) {
            return e;
        }
    }
    g_assert_not_reached();
}

static int kvm_irqfd(const MsiRoute *r, bool on)
{
    struct kvm_irqfd irqfd = {
        .fd = r->notifier->fd,
        .gsi = r->gsi,
        .flags = on ? 0 : KVM_IRQFD_FLAG_DEASSIGN,
    };

    return kvm_ioctl(kvm.vm_fd, KVM_IRQFD, &irqfd);
}

static void kvm_route_drop(MsiRoute *r)
{
    struct kvm_irq_routing_entry *e = kvm_entry_of(r);

    g_array_remove_index_fast(entries,
                              e - &g_array_index(entries, struct kvm_irq_routing_entry, 0));
    g_array_append_val(free_gsi, r->gsi);
    g_free(r);
}

static MsiRoute *kvm_route_add(EventNotifier *n, uint64_t addr, uint32_t data)
{
    MsiRoute *r;
    struct kvm_irq_routing_entry e = { 0 };

    ASSERT_BIG_LOCK();
    /* Other than the APIC range an MSI is a memory write, which no irqfd performs. */
    if (addr >> 20 != 0xfee) {
        return NULL;
    }
    r = g_new0(MsiRoute, 1);
    r->notifier = n;
    if (free_gsi->len) {
        r->gsi = g_array_index(free_gsi, unsigned, free_gsi->len - 1);
        g_array_set_size(free_gsi, free_gsi->len - 1);
    } else {
        r->gsi = next_gsi++;
    }
    e.gsi = r->gsi;
    kvm_entry_fill(&e, addr, data);
    g_array_append_val(entries, e);
    /* The order matters: an eventfd that is already set fires as soon as it is connected. */
    if (kvm_routing_commit() < 0 || kvm_irqfd(r, true) < 0) {
        kvm_route_drop(r);
        kvm_routing_commit();
        return NULL;
    }
    return r;
}

static void kvm_route_update(MsiRoute *r, uint64_t addr, uint32_t data)
{
    struct kvm_irq_routing_entry *e = kvm_entry_of(r);
    int ret;

    ASSERT_BIG_LOCK();
    if (e->u.msi.address_lo == (uint32_t)addr && e->u.msi.address_hi == addr >> 32 &&
        e->u.msi.data == data) {
        return;
    }
    kvm_entry_fill(e, addr, data);
    ret = kvm_routing_commit();
    if (ret < 0) {
        report_warning("KVM refused to change the route of an interrupt: %s", strerror(-ret));
    }
}

static void kvm_route_del(MsiRoute *r)
{
    ASSERT_BIG_LOCK();
    kvm_irqfd(r, false);
    kvm_route_drop(r);
    kvm_routing_commit();
}

void kvm_ioapic_route(unsigned pin, bool connected, uint64_t addr, uint32_t data)
{
    struct kvm_irq_routing_entry e = { .gsi = pin };
    int ret;

    ASSERT_BIG_LOCK();
    for (unsigned i = 0; i < entries->len; i++) {
        if (g_array_index(entries, struct kvm_irq_routing_entry, i).gsi == pin) {
            g_array_remove_index_fast(entries, i);
            break;
        }
    }
    if (connected) {
        kvm_entry_fill(&e, addr, data);
        g_array_append_val(entries, e);
    }
    ret = kvm_routing_commit();
    if (ret < 0) {
        report_warning("KVM refused the route of pin %u of the I/O APIC: %s", pin, strerror(-ret));
    }
}

/* The kernel has a level of its own for all routes of a line together: it falls at each end of
 * interrupt, and with the last of them. */
static LineRoute *kvm_line_add(EventNotifier *n, EventNotifier *ended, unsigned gsi)
{
    struct kvm_irqfd irqfd = {
        .fd = n->fd,
        .resamplefd = ended->fd,
        .gsi = gsi,
        .flags = KVM_IRQFD_FLAG_RESAMPLE,
    };
    LineRoute *r;

    ASSERT_BIG_LOCK();
    if (kvm_ioctl(kvm.vm_fd, KVM_IRQFD, &irqfd) < 0) {
        return NULL;
    }
    r = g_new(LineRoute, 1);
    *r = (LineRoute){ gsi, n };
    return r;
}

static void kvm_line_del(LineRoute *r)
{
    struct kvm_irqfd irqfd = {
        .fd = r->notifier->fd,
        .gsi = r->gsi,
        .flags = KVM_IRQFD_FLAG_DEASSIGN,
    };

    ASSERT_BIG_LOCK();
    kvm_ioctl(kvm.vm_fd, KVM_IRQFD, &irqfd);
    g_free(r);
}

static const MsiRouteOps kvm_route_ops = {
    .add = kvm_route_add,
    .update = kvm_route_update,
    .del = kvm_route_del,
    .line_add = kvm_line_add,
    .line_del = kvm_line_del,
};

/* The lines' controllers are not the kernel's, or it does not tell of ends of interrupts. */
static const MsiRouteOps kvm_route_ops_messages = {
    .add = kvm_route_add,
    .update = kvm_route_update,
    .del = kvm_route_del,
};

static void kvm_gsi_changed(void *opaque, unsigned gsi, bool level)
{
    struct kvm_irq_level line = { .irq = gsi, .level = level };

    kvm_ioctl(kvm.vm_fd, KVM_IRQ_LINE, &line);
}

static void kvm_msi(void *opaque, uint64_t addr, uint32_t data)
{
    struct kvm_msi msi = { .address_lo = addr, .address_hi = addr >> 32, .data = data };

    kvm_ioctl(kvm.vm_fd, KVM_SIGNAL_MSI, &msi);
}

bool kvm_irq_init(Error **errp)
{
    bool lines;
    int ret;

    entries = g_array_new(FALSE, TRUE, sizeof(struct kvm_irq_routing_entry));
    free_gsi = g_array_new(FALSE, FALSE, sizeof(unsigned));
    /* ISA lines reach both controllers; line 0 (the timer) is pin 2 of the IOAPIC. */
    for (unsigned i = 0; i < 16 && !kvm.split; i++) {
        if (i != 2) {
            kvm_routing_pin(i, i < 8 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE, i % 8);
        }
    }
    for (unsigned i = 0; i < GSI_COUNT && !kvm.split; i++) {
        if (i != 2) {
            kvm_routing_pin(i, KVM_IRQCHIP_IOAPIC, i == 0 ? 2 : i);
        }
    }
    next_gsi = GSI_COUNT;
    ret = kvm_routing_commit();
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM refused the interrupt routing table");
        return false;
    }
    if (!kvm.split) {
        gsi_listen(kvm_gsi_changed, NULL);
    }
    msi_set_handler(kvm_msi, NULL);
    lines = !kvm.split && kvm_check(KVM_CAP_IRQFD_RESAMPLE) > 0;
    msi_set_route_ops(lines ? &kvm_route_ops : &kvm_route_ops_messages);
    return true;
}
