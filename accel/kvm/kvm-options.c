/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of -accel kvm that are passed on to the kernel: its page tables for the guest, the way it
 * logs dirty pages, and how long a processor may refuse interrupts. */
#include <inttypes.h>
#include <errno.h>
#include <string.h>

#include "kvm-int.h"
#include "util/report.h"

#define PAGE_SHIFT_4K    12

static bool set_shadow_mem(int64_t bytes, Error **errp)
{
    int ret;

    if (bytes < 0) {
        return true; /* KVM chooses by the guest's RAM */
    }
    /* It wants 64 pages at least. */
    ret = kvm_ioctl(kvm.vm_fd, KVM_SET_NR_MMU_PAGES,
                    (void *)(uintptr_t)((uint64_t)bytes >> PAGE_SHIFT_4K));
    if (ret < 0) {
        error_set_errno(errp, -ret, "kvm-shadow-mem=%" PRId64, bytes);
    }
    return ret >= 0;
}

/* Nothing logs dirty pages as yet; but who asks for rings learns whether this host has them. */
static bool set_dirty_ring(uint64_t entries, Error **errp)
{
    uint64_t bytes = entries * sizeof(struct kvm_dirty_gfn);
    struct kvm_enable_cap cap = { .cap = KVM_CAP_DIRTY_LOG_RING_ACQ_REL, .args = { bytes } };
    int most, ret;

    if (!entries) {
        return true;
    }
    most = kvm_check(cap.cap);
    if (most <= 0) {
        cap.cap = KVM_CAP_DIRTY_LOG_RING;
        most = kvm_check(cap.cap);
    }
    if (most <= 0) {
        report_warning("KVM dirty ring not available, using bitmap method");
        return true;
    }
    if (entries > UINT32_MAX || bytes > (uint64_t)most) {
        error_set(errp,
                  "KVM dirty ring size %" PRIu64 " too big (maximum is %zu). Please use a smaller "
                  "value.",
                  entries, (size_t)most / sizeof(struct kvm_dirty_gfn));
        return false;
    }
    ret = kvm_ioctl(kvm.vm_fd, KVM_ENABLE_CAP, &cap);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Enabling of KVM dirty ring failed");
    }
    return ret >= 0;
}

static bool set_notify(NotifyVmexitOption mode, uint32_t window, Error **errp)
{
    struct kvm_enable_cap cap = {
        .cap = KVM_CAP_X86_NOTIFY_VMEXIT,
        .args = { (uint64_t)window << 32 | KVM_X86_NOTIFY_VMEXIT_ENABLED |
                  KVM_X86_NOTIFY_VMEXIT_USER },
    };
    int ret;

    /* Processors of some vendors have no such thing; the default must not fail there. */
    if (mode == NOTIFY_VMEXIT_OPTION_DISABLE || kvm_check(cap.cap) <= 0) {
        return true;
    }
    ret = kvm_ioctl(kvm.vm_fd, KVM_ENABLE_CAP, &cap);
    if (ret < 0) {
        error_set_errno(errp, -ret, "notify-window=%u", window);
    }
    return ret >= 0;
}

bool kvm_options_apply(const KvmOptions *o, Error **errp)
{
    kvm.stop_on_notify = o->notify == NOTIFY_VMEXIT_OPTION_INTERNAL_ERROR;
    return set_shadow_mem(o->shadow_mem, errp) && set_dirty_ring(o->dirty_ring_size, errp) &&
           set_notify(o->notify, o->notify_window, errp);
}
