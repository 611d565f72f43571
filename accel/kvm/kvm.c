/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The KVM accelerator: opens /dev/kvm, makes the virtual machine, hands out the rest. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hw/i386/boot.h"
#include "kvm-cpu-features.h"
#include "kvm-int.h"
#include "util/aio.h"
#include "util/biglock.h"
#include "util/report.h"

#define TYPE_KVM_ACCEL "kvm-accel"

typedef struct KvmAccel {
    Object parent_obj;
    char *device; /* instead of /dev/kvm */
    OnOffSplit kernel_irqchip;
    bool has_kernel_irqchip; /* else what -machine says holds */
    KvmOptions options;
} KvmAccel;

/* Below the firmware's place and above all that a machine maps: four pages for KVM's own use in
 * real mode, one for an identity map and three for a task state segment. */
#define KVM_IDENTITY_MAP 0xfeffc000ull
#define KVM_TSS          0xfeffd000ull

KvmState kvm = { .fd = -1, .vm_fd = -1 };

int kvm_ioctl(int fd, unsigned long request, void *arg)
{
    int ret;

    do {
        ret = ioctl(fd, request, arg);
    } while (ret < 0 && errno == EINTR && request != KVM_RUN);
    return ret < 0 ? -errno : ret;
}

int kvm_check(int cap)
{
    int fd = kvm.vm_fd >= 0 ? kvm.vm_fd : kvm.fd;

    return kvm_ioctl(fd, KVM_CHECK_EXTENSION, (void *)(intptr_t)cap);
}

static bool kvm_open(const char *device, Error **errp)
{
    int version;

    kvm.fd = open(device, O_RDWR | O_CLOEXEC);
    if (kvm.fd < 0) {
        int err = errno;

        /* Two lines, because some clients look for the one and some for the other. */
        report_error("Could not access KVM kernel module: %s", strerror(err));
        error_set(errp, "failed to initialize kvm: %s", strerror(err));
        error_append_hint(errp, "-accel kvm needs %s: %s\n", device,
                          err == ENOENT ? "load the module kvm-intel or kvm-amd of the host"
                                        : "the user must be allowed to read and write it");
        return false;
    }
    version = kvm_ioctl(kvm.fd, KVM_GET_API_VERSION, NULL);
    if (version < 0) {
        error_set(errp, "'%s' is not the device of KVM", device);
        return false;
    }
    if (version != KVM_API_VERSION) {
        error_set(errp, "KVM of this host has API version %d, %d is needed", version,
                  KVM_API_VERSION);
        return false;
    }
    kvm.vm_fd = kvm_ioctl(kvm.fd, KVM_CREATE_VM, NULL);
    if (kvm.vm_fd < 0) {
        error_set_errno(errp, -kvm.vm_fd, "KVM could not create a virtual machine");
        return false;
    }
    return true;
}

static bool kvm_check_caps(Error **errp)
{
    static const struct {
        int cap;
        const char *what;
    } needed[] = {
        { KVM_CAP_USER_MEMORY, "user memory" },
        { KVM_CAP_IRQCHIP, "interrupt controllers" },
        { KVM_CAP_IRQ_ROUTING, "interrupt routing" },
        { KVM_CAP_IRQFD, "irqfd" },
        { KVM_CAP_SIGNAL_MSI, "message-signalled interrupts" },
        { KVM_CAP_IOEVENTFD, "ioeventfd" },
        { KVM_CAP_EXT_CPUID, "CPUID" },
        { KVM_CAP_MP_STATE, "multiprocessor state" },
        { KVM_CAP_VCPU_EVENTS, "vCPU events" },
        { KVM_CAP_DEBUGREGS, "debug registers" },
        { KVM_CAP_IMMEDIATE_EXIT, "immediate exit" },
        { KVM_CAP_PIT2, "an interval timer" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(needed); i++) {
        if (kvm_check(needed[i].cap) <= 0) {
            error_set(errp, "KVM of this host lacks %s", needed[i].what);
            return false;
        }
    }
    return true;
}

/* More processors than KVM takes are refused, more than its developers tested are warned of. */
static bool kvm_check_count(unsigned n, const char *what, Error **errp)
{
    int soft = kvm_check(KVM_CAP_NR_VCPUS);

    if (soft > 0 && n > (unsigned)soft) {
        report_warning("Number of %s cpus requested (%u) exceeds the recommended cpus supported "
                       "by KVM (%d)",
                       what, n, soft);
    }
    if (n > kvm.max_vcpus) {
        error_set(errp,
                  "Number of %s cpus requested (%u) exceeds the maximum cpus supported by KVM (%u)",
                  what, n, kvm.max_vcpus);
        error_append_hint(errp, "-smp may ask for %u at most\n", kvm.max_vcpus);
        return false;
    }
    return true;
}

static bool kvm_check_machine(MachineState *m, Error **errp)
{
    int soft = kvm_check(KVM_CAP_NR_VCPUS), hard = kvm_check(KVM_CAP_MAX_VCPUS);

    if (m->kernel_irqchip == ON_OFF_SPLIT_OFF) {
        error_set(errp, "KVM does not support userspace APIC");
        error_append_hint(errp, "kernel-irqchip=off is not supported; use on\n");
        return false;
    }
    kvm.split = m->kernel_irqchip == ON_OFF_SPLIT_SPLIT;
    if (kvm.split && kvm_check(KVM_CAP_SPLIT_IRQCHIP) <= 0) {
        error_set(errp, "kernel-irqchip=split: Split IRQ chip mode not supported.");
        return false;
    }
    if (m->ram_size_zero && MACHINE_CLASS(m)->default_cpu_type) {
        error_set(errp, "-m 0: a guest that runs needs memory");
        return false;
    }
    kvm.max_vcpus = hard > 0 ? hard : soft > 0 ? soft : 4;
    return kvm_check_count(m->smp.cpus, "SMP", errp) &&
           kvm_check_count(m->smp.max_cpus, "hotpluggable", errp);
}

/* Idle instructions do not leave the guest any more: for one that has its processors to itself. */
static bool kvm_enable_cpu_pm(Error **errp)
{
    int can = kvm_check(KVM_CAP_X86_DISABLE_EXITS);
    struct kvm_enable_cap cap = {
        .cap = KVM_CAP_X86_DISABLE_EXITS,
        .args = { can > 0 ? can & (KVM_X86_DISABLE_EXITS_MWAIT | KVM_X86_DISABLE_EXITS_HLT |
                                   KVM_X86_DISABLE_EXITS_PAUSE | KVM_X86_DISABLE_EXITS_CSTATE)
                          : 0 },
    };
    int ret = cap.args[0] ? kvm_ioctl(kvm.vm_fd, KVM_ENABLE_CAP, &cap) : -EOPNOTSUPP;

    if (ret < 0) {
        error_set_errno(errp, -ret, "-overcommit cpu-pm=on: KVM of this host cannot do it");
    }
    return ret >= 0;
}

static void kvm_close(void)
{
    if (kvm.vm_fd >= 0) {
        close(kvm.vm_fd);
        kvm.vm_fd = -1;
    }
    if (kvm.fd >= 0) {
        close(kvm.fd);
        kvm.fd = -1;
    }
}

static void kvm_reset(void *opaque)
{
    kvm_irqchip_reset();
}

static bool kvm_make_vm(const KvmAccel *accel, MachineState *m, Error **errp)
{
    uint64_t identity_map = KVM_IDENTITY_MAP;
    KvmOptions options = accel->options;
    bool with_pit;
    int ret;

    if (options.shadow_mem < 0) {
        options.shadow_mem = m->kvm_shadow_mem;
    }

    if (!kvm_open(accel->device ? accel->device : "/dev/kvm", errp) || !kvm_check_caps(errp) ||
        !kvm_check_machine(m, errp)) {
        return false;
    }
    if ((m->cpu_pm && !kvm_enable_cpu_pm(errp)) || !kvm_options_apply(&options, errp)) {
        return false;
    }
    ret = kvm_ioctl(kvm.vm_fd, KVM_SET_IDENTITY_MAP_ADDR, &identity_map);
    if (ret >= 0) {
        ret = kvm_ioctl(kvm.vm_fd, KVM_SET_TSS_ADDR, (void *)(uintptr_t)KVM_TSS);
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM refuses its pages at 0x%llx", KVM_IDENTITY_MAP);
        return false;
    }
    ret = kvm_ioctl(kvm.fd, KVM_GET_VCPU_MMAP_SIZE, NULL);
    if (ret < (int)sizeof(struct kvm_run)) {
        error_set_errno(errp, ret < 0 ? -ret : EINVAL, "KVM_GET_VCPU_MMAP_SIZE");
        return false;
    }
    kvm.run_size = ret;
    with_pit = MACHINE_CLASS(m)->default_cpu_type && m->pit != ON_OFF_AUTO_OFF;
    return kvm_irqchip_create(with_pit, errp) && kvm_irq_init(errp) &&
           (kvm.split || !with_pit || kvm_pit_create(m, errp));
}

static bool kvm_accel_init(Object *obj, MachineState *m, Error **errp)
{
    KvmAccel *accel = (KvmAccel *)obj;

    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    if (accel->has_kernel_irqchip) {
        m->kernel_irqchip = accel->kernel_irqchip;
    }
    if (!kvm_make_vm(accel, m, errp)) {
        kvm_close();
        return false;
    }
    kvm_memory_init();
    kvm_cpuid_init();
    reset_register(kvm_reset, NULL);
    return true;
}

static void kvm_vcpus_reset_late(void *opaque)
{
    kvm_vcpus_reset();
}

/* Called when all devices exist: what resets RAM (a kernel to be loaded) has registered before. */
static void kvm_cpus_start(Object *accel, MachineState *m)
{
    if (x86_boot.protocol == X86_BOOT_HALTED && cpu_count()) {
        report_warning(
            "there is no firmware: without -kernel (or -bios) the guest has nothing to run");
    }
    reset_register(kvm_vcpus_reset_late, NULL);
}

static void kvm_cpus_pause(void)
{
    kvm_vcpus_pause();
    kvm_clock_stop();
}

static void kvm_cpus_resume(void)
{
    kvm_clock_start();
    kvm_vcpus_resume();
}

static bool kernel_irqchip_given(Object *obj, const Property *prop, Error **errp)
{
    ((KvmAccel *)obj)->has_kernel_irqchip = true;
    return true;
}

static bool check_ring_size(Object *obj, const Property *prop, Error **errp)
{
    uint64_t n = ((KvmAccel *)obj)->options.dirty_ring_size;

    if (n & (n - 1)) {
        error_set(errp, "dirty-ring-size must be a power of two.");
        return false;
    }
    return true;
}

static const Property kvm_accel_props[] = {
    { .name = "device",
      .type = &prop_object_string,
      .offset = offsetof(KvmAccel, device),
      .description = "Path to the device node to use (default: /dev/kvm)" },
    { .name = "kernel-irqchip",
      .type = &prop_enum,
      .offset = offsetof(KvmAccel, kernel_irqchip),
      .arg = &qapi_enum_OnOffSplit,
      .check = kernel_irqchip_given,
      .description = "Configure KVM in-kernel irqchip" },
    { .name = "kvm-shadow-mem",
      .type = &prop_int64,
      .offset = offsetof(KvmAccel, options.shadow_mem),
      .def = DEFAULT_INT,
      .def_int = -1,
      .description = "KVM shadow MMU size" },
    { .name = "dirty-ring-size",
      .type = &prop_uint64,
      .offset = offsetof(KvmAccel, options.dirty_ring_size),
      .def = DEFAULT_UINT,
      .check = check_ring_size,
      .description = "Size of KVM dirty page ring buffer (default: 0, i.e. use bitmap)" },
    { .name = "notify-vmexit",
      .type = &prop_enum,
      .offset = offsetof(KvmAccel, options.notify),
      .arg = &qapi_enum_NotifyVmexitOption,
      .def = DEFAULT_ENUM,
      .def_int = NOTIFY_VMEXIT_OPTION_RUN,
      .description = "Enable notify VM exit" },
    { .name = "notify-window",
      .type = &prop_uint32,
      .offset = offsetof(KvmAccel, options.notify_window),
      .def = DEFAULT_UINT,
      .description = "Clock cycles without an event window after which a notification VM exit "
                     "occurs" },
    PROP_END,
};

static void kvm_accel_class_init(ObjectClass *klass, const void *data)
{
    AccelClass *ac = (AccelClass *)klass;

    ac->name = "kvm";
    ac->title = "KVM";
    ac->init = kvm_accel_init;
    ac->cpus_start = kvm_cpus_start;
    ac->cpu_create = kvm_vcpu_create;
    ac->cpu_destroy = kvm_vcpu_destroy;
    ac->cpus_pause = kvm_cpus_pause;
    ac->cpus_resume = kvm_cpus_resume;
}

static const TypeInfo kvm_accel_type = {
    .name = TYPE_KVM_ACCEL,
    .parent = TYPE_ACCEL,
    .instance_size = sizeof(KvmAccel),
    .props = kvm_accel_props,
    .class_init = kvm_accel_class_init,
};
TYPE_REGISTER(kvm_accel_type)
