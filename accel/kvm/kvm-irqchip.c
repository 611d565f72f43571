/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interrupt controllers (two 8259, an I/O APIC, the local APICs) and the 8254 timer are the
 * kernel's. Their state right after creation is kept and put back at each reset; local APICs belong
 * to the processors.
 */
#include <errno.h>
#include <string.h>

#include "kvm-int.h"
#include "util/report.h"

static struct kvm_irqchip chips[3];
static struct kvm_pit_state2 pit;

bool kvm_irqchip_create(Error **errp)
{
    struct kvm_pit_config config = { .flags = KVM_PIT_SPEAKER_DUMMY };
    int ret = kvm_ioctl(kvm.vm_fd, KVM_CREATE_IRQCHIP, NULL);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Create kernel irqchip failed");
        return false;
    }
    ret = kvm_ioctl(kvm.vm_fd, KVM_CREATE_PIT2, &config);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Create kernel PIC irqchip failed");
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(chips); i++) {
        chips[i].chip_id = i;
        ret = kvm_ioctl(kvm.vm_fd, KVM_GET_IRQCHIP, &chips[i]);
        if (ret < 0) {
            error_set_errno(errp, -ret, "KVM_GET_IRQCHIP");
            return false;
        }
    }
    ret = kvm_ioctl(kvm.vm_fd, KVM_GET_PIT2, &pit);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM_GET_PIT2");
        return false;
    }
    return true;
}

void kvm_irqchip_reset(void)
{
    int ret = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(chips) && ret >= 0; i++) {
        struct kvm_irqchip chip = chips[i];

        ret = kvm_ioctl(kvm.vm_fd, KVM_SET_IRQCHIP, &chip);
    }
    if (ret >= 0) {
        ret = kvm_ioctl(kvm.vm_fd, KVM_SET_PIT2, &pit);
    }
    if (ret < 0) {
        report_warning("KVM refused to reset its interrupt controllers: %s", strerror(-ret));
    }
}
