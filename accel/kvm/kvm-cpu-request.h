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
    bool no_l3;               /* no third level of cache is told of */
    bool pv_enforce;          /* paravirtual features that are off do not work either */
    bool host_phys_bits;      /* phys_bits, if 0, is the host's */
    uint32_t phys_bits_limit; /* 0: none */
    uint32_t phys_bits, guest_phys_bits; /* 0: the default */
    uint32_t level, xlevel;              /* highest leaves; 0: the model's */
    bool has_level_func7;
    uint32_t level_func7; /* highest subleaf of leaf 7 */
    bool has_family, has_model, has_stepping;
    uint32_t family, model_number, stepping; /* instead of the model's */
    char *vendor, *model_id;                 /* the same; NULL: not given */
    uint64_t tsc_hz;                         /* 0: the host's */
} KvmCpuRequest;

/* Reads the global cpu_model. The text of an error is the one that clients know. */
bool kvm_cpu_request_parse(KvmCpuRequest *r, Error **errp);

#endif
