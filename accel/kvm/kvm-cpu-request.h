/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_ACCEL_KVM_CPU_REQUEST_H
#define SPINDLE_ACCEL_KVM_CPU_REQUEST_H

#include "hw/i386/cpu-features.h"

/* What -cpu asks for. Runs in: one thread at a time. */
typedef struct KvmCpuRequest {
    const X86CpuModel *model;
    X86Features on, off; /* by name */
    bool check, enforce; /* warn of what cannot be had; refuse to run without it */
    bool hide_kvm, hide_hypervisor;
    bool migratable;
    bool no_pmu;
    uint32_t level, xlevel; /* highest leaves; 0: the model's */
    uint32_t phys_bits;     /* of a guest physical address; 0: the host's */
} KvmCpuRequest;

/* Reads the global cpu_model. The text of an error is the one that clients know. */
bool kvm_cpu_request_parse(KvmCpuRequest *r, Error **errp);

#endif
