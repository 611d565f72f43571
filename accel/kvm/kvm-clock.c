/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The paravirtual clock: it must not run while the machine is stopped, or timers of the guest would
 * all fire when it resumes. */
#include "kvm-int.h"

static bool stopped;
static struct kvm_clock_data at_stop;

void kvm_clock_stop(void)
{
    if (!stopped && kvm_check(KVM_CAP_ADJUST_CLOCK) > 0) {
        stopped = kvm_ioctl(kvm.vm_fd, KVM_GET_CLOCK, &at_stop) >= 0;
    }
}

void kvm_clock_start(void)
{
    struct kvm_clock_data data = { .clock = at_stop.clock };

    if (stopped) {
        kvm_ioctl(kvm.vm_fd, KVM_SET_CLOCK, &data);
        kvm_vcpus_clock_paused();
        stopped = false;
    }
}
