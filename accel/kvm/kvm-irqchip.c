/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interrupt controllers (two 8259, an I/O APIC, the local APICs) and the 8254 timer are the
 * kernel's. Their state right after creation is kept and put back at each reset; local APICs belong
 * to the processors. With kernel-irqchip=split only the local APICs are the kernel's.
 */
#include <errno.h>
#include <string.h>

#include "hw/core/irq.h"
#include "hw/i386/irqchip.h"
#include "kvm-int.h"
#include "util/report.h"

static struct kvm_irqchip chips[3];
static struct kvm_pit_state2 pit;
static bool has_pit;

static bool create_pit(Error **errp)
{
    struct kvm_pit_config config = { .flags = KVM_PIT_SPEAKER_DUMMY };
    int ret = kvm_ioctl(kvm.vm_fd, KVM_CREATE_PIT2, &config);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Create kernel PIC irqchip failed");
        return false;
    }
    ret = kvm_ioctl(kvm.vm_fd, KVM_GET_PIT2, &pit);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM_GET_PIT2");
        return false;
    }
    has_pit = true;
    return true;
}

static bool irqchip_create_full(bool with_pit, Error **errp)
{
    int ret = kvm_ioctl(kvm.vm_fd, KVM_CREATE_IRQCHIP, NULL);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Create kernel irqchip failed");
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
    return !with_pit || create_pit(errp);
}

static void pic_raised(void)
{
    kvm_vcpu_poke();
}

static const IrqchipOps split_ops = {
    .pic_raised = pic_raised,
    .ioapic_route = kvm_ioapic_route,
};

/* The local APICs only, and as many routes as the I/O APIC has pins. */
static bool irqchip_create_split(Error **errp)
{
    struct kvm_enable_cap cap = { .cap = KVM_CAP_SPLIT_IRQCHIP, .args = { GSI_COUNT } };
    int ret = kvm_ioctl(kvm.vm_fd, KVM_ENABLE_CAP, &cap);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not enable split irqchip mode");
        return false;
    }
    irqchip_set_ops(&split_ops);
    return true;
}

bool kvm_irqchip_create(bool with_pit, Error **errp)
{
    return kvm.split ? irqchip_create_split(errp) : irqchip_create_full(with_pit, errp);
}

void kvm_irqchip_reset(void)
{
    int ret = 0;

    if (kvm.split) {
        return; /* they are devices like any other */
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(chips) && ret >= 0; i++) {
        struct kvm_irqchip chip = chips[i];

        ret = kvm_ioctl(kvm.vm_fd, KVM_SET_IRQCHIP, &chip);
    }
    if (ret >= 0 && has_pit) {
        ret = kvm_ioctl(kvm.vm_fd, KVM_SET_PIT2, &pit);
    }
    if (ret < 0) {
        report_warning("KVM refused to reset its interrupt controllers: %s", strerror(-ret));
    }
}
