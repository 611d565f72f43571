/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM slots and doorbells of the virtual machine, kept equal to the guest memory map: a write to a
 * mapped doorbell sets its eventfd inside the kernel, without a return to user space.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw/core/runstate.h"
#include "kvm-int.h"
#include "util/report.h"

typedef struct KvmSlot {
    uint64_t addr, size; /* as the memory map has it; size 0: free */
} KvmSlot;

static GArray *slots; /* of KvmSlot; the index is the slot's number */
static bool any_length;

static unsigned kvm_slot_take(uint64_t addr, uint64_t size)
{
    KvmSlot slot = { addr, size };
    unsigned i = 0;

    while (i < slots->len && g_array_index(slots, KvmSlot, i).size) {
        i++;
    }
    if (i == slots->len) {
        g_array_append_val(slots, slot);
    } else {
        g_array_index(slots, KvmSlot, i) = slot;
    }
    return i;
}

static void kvm_ram_add(void *opaque, uint64_t addr, uint64_t size, void *host, bool read_only)
{
    uint64_t page = sysconf(_SC_PAGESIZE);
    uint64_t start = (addr + page - 1) & ~(page - 1), end = (addr + size) & ~(page - 1);
    struct kvm_userspace_memory_region region = {
        .guest_phys_addr = start,
        .memory_size = end - start,
        .userspace_addr = (uintptr_t)host + (start - addr),
        .flags = read_only ? KVM_MEM_READONLY : 0,
    };
    int ret;

    /* A piece that is no whole page is reached by way of user space, like a device. */
    if (start >= end || (region.userspace_addr & (page - 1))) {
        return;
    }
    region.slot = kvm_slot_take(addr, size);
    ret = kvm_ioctl(kvm.vm_fd, KVM_SET_USER_MEMORY_REGION, &region);
    if (ret >= 0) {
        return;
    }
    report_error("KVM refused %" PRIu64 " bytes of RAM at 0x%" PRIx64 ": %s", size, addr,
                 strerror(-ret));
    if (!runstate_machine_ready()) {
        exit(1);
    }
    /* Later it is the guest that moves memory: it does without, the machine goes on. */
    g_array_index(slots, KvmSlot, region.slot).size = 0;
}

static void kvm_ram_del(void *opaque, uint64_t addr, uint64_t size, void *host)
{
    for (unsigned i = 0; i < slots->len; i++) {
        KvmSlot *slot = &g_array_index(slots, KvmSlot, i);

        if (slot->size == size && slot->addr == addr) {
            struct kvm_userspace_memory_region region = { .slot = i, .guest_phys_addr = addr };

            kvm_ioctl(kvm.vm_fd, KVM_SET_USER_MEMORY_REGION, &region);
            slot->size = 0;
        }
    }
}

static void kvm_eventfd_update(AddressSpace *as, const Doorbell *d, bool add)
{
    struct kvm_ioeventfd io = {
        .addr = d->addr,
        /* Where a doorbell of any width is not to be had: the width that drivers use. */
        .len = d->size || any_length ? d->size : 2,
        .fd = d->notifier->fd,
        .flags = (as == guest_ports ? KVM_IOEVENTFD_FLAG_PIO : 0) |
                 (add ? 0 : KVM_IOEVENTFD_FLAG_DEASSIGN),
    };
    int ret;

    if (d->match >= 0) {
        io.datamatch = d->match;
        io.flags |= KVM_IOEVENTFD_FLAG_DATAMATCH;
    }
    ret = kvm_ioctl(kvm.vm_fd, KVM_IOEVENTFD, &io);
    /* Without it the write returns to user space and is dispatched there: slower, not wrong. */
    if (ret < 0 && add) {
        report_warning("KVM refused a doorbell at 0x%" PRIx64 ": %s", d->addr, strerror(-ret));
    }
}

static void kvm_eventfd_add(void *opaque, AddressSpace *as, const Doorbell *d)
{
    kvm_eventfd_update(as, d, true);
}

static void kvm_eventfd_del(void *opaque, AddressSpace *as, const Doorbell *d)
{
    kvm_eventfd_update(as, d, false);
}

static const MemoryListener kvm_memory_listener = {
    .eventfd_add = kvm_eventfd_add,
    .eventfd_del = kvm_eventfd_del,
    .ram_add = kvm_ram_add,
    .ram_del = kvm_ram_del,
};

void kvm_memory_init(void)
{
    slots = g_array_new(FALSE, FALSE, sizeof(KvmSlot));
    any_length = kvm_check(KVM_CAP_IOEVENTFD_ANY_LENGTH) > 0;
    memory_listener_add(&kvm_memory_listener, NULL);
}
