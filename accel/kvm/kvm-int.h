/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_ACCEL_KVM_INT_H
#define SPINDLE_ACCEL_KVM_INT_H

#include <linux/kvm.h>

#include "hw/core/cpu.h"
#include "hw/core/machine.h"
#include "hw/core/memory.h"
#include "qapi/qapi-common.h"

/* What the files of accel/kvm/ share. One virtual machine per process. */

typedef struct KvmState {
    int fd; /* /dev/kvm */
    int vm_fd;
    size_t run_size; /* of the mapping shared with a vCPU */
    unsigned max_vcpus;
    bool stop_on_notify; /* a processor that takes no interrupts ends the guest */
    bool split; /* the kernel emulates local APICs only; see hw/i386/irqchip.h */
} KvmState;

extern KvmState kvm;

/* ioctl on /dev/kvm, the VM or a vCPU; returns -errno on failure. Runs in: any thread. */
int kvm_ioctl(int fd, unsigned long request, void *arg);
/* KVM_CHECK_EXTENSION on the VM if there is one, else on /dev/kvm. Runs in: any thread. */
int kvm_check(int cap);

/* kvm-options.c: what -accel kvm says to the kernel, before there are vCPUs. Runs in: main thread.
 */
typedef struct KvmOptions {
    int64_t shadow_mem;       /* bytes; -1: as KVM likes */
    uint64_t dirty_ring_size; /* entries; 0: none */
    NotifyVmexitOption notify;
    uint32_t notify_window;   /* TSC cycles; 0: the processor's own minimum */
} KvmOptions;
bool kvm_options_apply(const KvmOptions *o, Error **errp);

/* kvm-memory.c: RAM slots and doorbells follow the guest memory map. Runs in: main thread. */
void kvm_memory_init(void);

/* kvm-irq.c: interrupt lines, messages, irqfd routes. Runs in: main thread. */
bool kvm_irq_init(Error **errp);
/* A pin of an I/O APIC in user space: the kernel tells the ends of interrupts that it has routes
 * of. Runs in: under the big lock. */
void kvm_ioapic_route(unsigned pin, bool connected, uint64_t addr, uint32_t data);

/* kvm-irqchip.c: the interrupt controllers and the timer that the kernel emulates, and their state
 * after a reset. Runs in: main thread. */
bool kvm_irqchip_create(bool with_pit, Error **errp);
void kvm_irqchip_reset(void);
/* kvm-pit.c: the timer as a device. Runs in: main thread. */
bool kvm_pit_create(MachineState *m, Error **errp);

/* kvm-clock.c: the guest's clock stands while the machine does. Runs in: main thread, while no vCPU
 * runs. */
void kvm_clock_stop(void);
void kvm_clock_start(void);

/* kvm-cpuid.c: what -cpu asks for against what KVM offers. Runs in: one thread at a time. */
bool kvm_cpuid_setup(CPUState *cpu, int vcpu_fd, Error **errp);
/* Answers to what management asks about processors come from KVM. Runs in: main thread. */
void kvm_cpuid_init(void);
/* A register of a table; false if the leaf is not in it. Runs in: any thread. */
bool kvm_cpuid_get(struct kvm_cpuid2 *t, uint32_t leaf, uint32_t subleaf, char reg, uint64_t *out);

/* kvm-state.c: the registers of a processor as it was made, and how it gets them back. Runs in: the
 * vCPU's thread. */
typedef struct KvmCpuState KvmCpuState;
KvmCpuState *kvm_cpu_state_save(int vcpu_fd, Error **errp);
/* The state after a reset: `initial`, and for the first processor what the boot protocol says. */
bool kvm_cpu_state_load(int vcpu_fd, const CPUState *cpu, const KvmCpuState *initial, Error **errp);
void kvm_cpu_state_free(KvmCpuState *s);

/* kvm-msr.c: model-specific registers. */
typedef struct KvmMsrs KvmMsrs;
/* All that KVM keeps for the processor and that a reset concerns. Runs in: the vCPU's thread. */
KvmMsrs *kvm_msrs_save(int vcpu_fd);
/* Puts back what differs. A register that KVM refuses is named in a warning, once. */
void kvm_msrs_load(int vcpu_fd, const KvmMsrs *initial);
void kvm_msr_set(int vcpu_fd, uint32_t index, uint64_t value);
/* False if the processor does not have it. */
bool kvm_msr_get(int vcpu_fd, uint32_t index, uint64_t *out);
/* The value of a register that tells of features, as far as KVM of this host can give them; 0: it
 * has no such register. */
uint64_t kvm_msr_offered(uint32_t index);

/* kvm-vcpu.c: the threads that run processors. Runs in: main thread, under the big lock. */
bool kvm_vcpu_create(CPUState *cpu, Error **errp);
void kvm_vcpu_destroy(CPUState *cpu);
void kvm_vcpus_pause(void);
void kvm_vcpus_resume(void);
/* Loads the state after a reset into all of them; they stand still. */
void kvm_vcpus_reset(void);
/* Those that wait for the host's attention to their paravirtual clock are told that they were
 * paused. */
void kvm_vcpus_clock_paused(void);
/* The first processor looks at the 8259s. Runs in: any thread, under the big lock. */
void kvm_vcpu_poke(void);

#endif
