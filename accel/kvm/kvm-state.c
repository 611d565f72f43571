/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a processor as KVM made it, kept to be loaded again at each reset, with the
 * registers that the boot protocol wants on top for the first processor.
 */
#include <errno.h>
#include <string.h>

#include "hw/i386/boot.h"
#include "kvm-int.h"
#include "util/report.h"

#define MSR_MISC_ENABLE      0x1a0
#define MISC_ENABLE_FAST_REP 0x1
#define MSR_MTRR_DEF_TYPE    0x2ff
#define MTRR_ON_WRITE_BACK   0xc06

#define CR0_PE               0x00000001u
#define CR0_ET               0x00000010u
#define CR0_PG               0x80000000u
#define CR4_PAE              0x00000020u
#define EFER_LME             0x100u
#define EFER_LMA             0x400u

struct KvmCpuState {
    struct kvm_regs regs;
    struct kvm_sregs sregs;
    struct kvm_fpu fpu;
    struct kvm_vcpu_events events;
    struct kvm_debugregs debugregs;
    struct kvm_lapic_state lapic;
    struct kvm_mp_state mp;
    struct kvm_xcrs xcrs;
    bool has_xcrs;
    void *xsave; /* NULL: fpu holds all there is */
    KvmMsrs *msrs;
};

#define PART(what, field)                                                                          \
    {                                                                                              \
        KVM_GET_##what, KVM_SET_##what, #what, offsetof(KvmCpuState, field)                        \
    }

/* In the order in which they are loaded: the local APIC after the system registers, which hold its
 * base; the events that wait after all that they depend on. */
static const struct {
    unsigned long get, set;
    const char *name;
    size_t offset;
} parts[] = {
    PART(SREGS, sregs), PART(REGS, regs),          PART(FPU, fpu),     PART(DEBUGREGS, debugregs),
    PART(LAPIC, lapic), PART(VCPU_EVENTS, events), PART(MP_STATE, mp),
};

/* The whole of the extended state, larger where the guest may have tiles. */
static void *xsave_get(int fd)
{
    int size = kvm_check(KVM_CAP_XSAVE2);
    bool large = size > (int)sizeof(struct kvm_xsave);
    void *buf;

    if (!large && kvm_check(KVM_CAP_XSAVE) <= 0) {
        return NULL;
    }
    buf = g_malloc0(large ? (size_t)size : sizeof(struct kvm_xsave));
    if (kvm_ioctl(fd, large ? KVM_GET_XSAVE2 : KVM_GET_XSAVE, buf) < 0) {
        g_clear_pointer(&buf, g_free);
    }
    return buf;
}

void kvm_cpu_state_free(KvmCpuState *s)
{
    if (s) {
        g_free(s->xsave);
        g_free(s->msrs);
        g_free(s);
    }
}

KvmCpuState *kvm_cpu_state_save(int fd, Error **errp)
{
    KvmCpuState *s = g_new0(KvmCpuState, 1);

    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        int ret = kvm_ioctl(fd, parts[i].get, (char *)s + parts[i].offset);

        if (ret < 0) {
            error_set_errno(errp, -ret, "KVM_GET_%s", parts[i].name);
            kvm_cpu_state_free(s);
            return NULL;
        }
    }
    s->has_xcrs = kvm_check(KVM_CAP_XCRS) > 0 && kvm_ioctl(fd, KVM_GET_XCRS, &s->xcrs) >= 0;
    s->xsave = xsave_get(fd);
    s->msrs = kvm_msrs_save(fd);
    return s;
}

/* ---- where a kernel is entered ---- */

static void boot_segment(struct kvm_segment *seg, uint16_t selector, uint8_t type, bool code64)
{
    *seg = (struct kvm_segment){
        .selector = selector,
        .limit = 0xffffffff,
        .type = type,
        .present = 1,
        .s = 1,
        .g = 1,
        .l = code64,
        .db = !code64,
    };
}

/* Linux boot protocol (64-bit entry) or PVH (32-bit). */
static void boot_regs(const X86BootState *boot, struct kvm_regs *regs, struct kvm_sregs *sregs)
{
    bool long_mode = boot->protocol == X86_BOOT_LINUX64;

    memset(regs, 0, sizeof(*regs));
    regs->rflags = 2;
    regs->rip = boot->entry;
    if (long_mode) {
        regs->rsi = boot->params;
    } else {
        regs->rbx = boot->params;
    }
    boot_segment(&sregs->cs, 0x10, 0xb, long_mode);
    boot_segment(&sregs->ds, 0x18, 0x3, false);
    sregs->es = sregs->fs = sregs->gs = sregs->ss = sregs->ds;
    sregs->gdt.base = boot->gdt;
    sregs->gdt.limit = boot->gdt_limit;
    sregs->idt.base = 0;
    sregs->idt.limit = 0;
    sregs->tr = (struct kvm_segment){ .limit = 0x67, .type = 0xb, .present = 1 };
    sregs->cr0 = CR0_PE | CR0_ET;
    sregs->cr4 = 0;
    if (long_mode) {
        sregs->cr3 = boot->page_tables;
        sregs->cr4 = CR4_PAE;
        sregs->cr0 |= CR0_PG;
        sregs->efer |= EFER_LME | EFER_LMA;
    }
}

/* What firmware leaves behind on every processor: fast string operations, and all memory cacheable
 * (device windows are mapped uncached by the kernel itself). */
static void firmware_msrs(int fd)
{
    kvm_msr_set(fd, MSR_MISC_ENABLE, MISC_ENABLE_FAST_REP);
    kvm_msr_set(fd, MSR_MTRR_DEF_TYPE, MTRR_ON_WRITE_BACK);
}

bool kvm_cpu_state_load(int fd, const CPUState *cpu, const KvmCpuState *initial, Error **errp)
{
    KvmCpuState s = *initial;
    bool boot = x86_boot.protocol == X86_BOOT_LINUX64 || x86_boot.protocol == X86_BOOT_PVH;

    if (boot && cpu->index == 0) {
        boot_regs(&x86_boot, &s.regs, &s.sregs);
    } else if (x86_boot.protocol == X86_BOOT_HALTED) {
        s.mp.mp_state = KVM_MP_STATE_HALTED;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        int ret = kvm_ioctl(fd, parts[i].set, (char *)&s + parts[i].offset);

        if (ret < 0) {
            error_set_errno(errp, -ret, "KVM_SET_%s", parts[i].name);
            return false;
        }
    }
    if (s.has_xcrs) {
        kvm_ioctl(fd, KVM_SET_XCRS, &s.xcrs);
    }
    if (s.xsave) {
        kvm_ioctl(fd, KVM_SET_XSAVE, s.xsave);
    }
    kvm_msrs_load(fd, s.msrs);
    if (boot) {
        firmware_msrs(fd);
    }
    return true;
}
