/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_CPU_FEATURES_H
#define SPINDLE_HW_I386_CPU_FEATURES_H

#include "qapi/qapi.h"

/* Processor features by name, grouped in the registers of CPUID (or the model-specific registers)
 * that hold them, and the processor models made of them. Runs in: main thread. */

typedef enum {
    FEAT_1_EDX,
    FEAT_1_ECX,
    FEAT_6_EAX,
    FEAT_7_0_EBX,
    FEAT_7_0_ECX,
    FEAT_7_0_EDX,
    FEAT_7_1_EAX,
    FEAT_7_1_EDX,
    FEAT_7_2_EDX,
    FEAT_D_1_EAX,
    FEAT_12_0_EAX,
    FEAT_12_0_EBX,
    FEAT_12_1_EAX,
    FEAT_14_0_ECX,
    FEAT_24_0_EBX,
    FEAT_KVM,
    FEAT_KVM_HINTS,
    FEAT_8000_0001_EDX,
    FEAT_8000_0001_ECX,
    FEAT_8000_0007_EBX,
    FEAT_8000_0007_EDX,
    FEAT_8000_0008_EBX,
    FEAT_SVM,
    FEAT_8000_0021_EAX,
    FEAT_8000_0022_EAX,
    FEAT_C000_0001_EDX,
    FEAT_CORE_CAPABILITY,
    FEAT_ARCH_CAPABILITIES,
    FEAT_PERF_CAPABILITIES,
    FEAT_VMX_BASIC,
    FEAT_VMX_MISC,
    FEAT_VMX_SECONDARY_CTLS,
    FEAT_VMX_EPT_VPID_CAPS,
    FEAT_VMX_PINBASED_CTLS,
    FEAT_VMX_PROCBASED_CTLS,
    FEAT_VMX_EXIT_CTLS,
    FEAT_VMX_ENTRY_CTLS,
    FEAT_VMX_VMFUNC,
    FEAT__COUNT,
} X86FeatureWord;

typedef struct X86FeatureWordInfo {
    uint32_t msr;           /* 0: CPUID */
    unsigned msr_shift;     /* what the names count from, in the register */
    uint32_t leaf, subleaf; /* of CPUID */
    char reg;               /* 'a', 'b', 'c', 'd' */
    const char *names[64];  /* NULL: no name; some features have more than one bit */
} X86FeatureWordInfo;

extern const X86FeatureWordInfo x86_feature_words[FEAT__COUNT];

typedef struct X86Features {
    uint64_t word[FEAT__COUNT];
} X86Features;

/* Where a feature has its (first) bit. '_' and '-' are the same in a name, "sse4_1" and "sse4.1"
 * too. False if there is no such feature. */
bool x86_feature_find(const char *name, X86FeatureWord *word, unsigned *bit);
/* Sets or clears all bits of that name. False if there is no such feature. */
bool x86_feature_set(X86Features *f, const char *name, bool on);

typedef struct X86CpuModel {
    const char *name;
    const char *alias_of; /* the version it stands for; NULL: none */
    bool host;            /* as the host: "host", "max" */
    bool deprecated;
    const char *vendor;   /* 12 characters */
    unsigned family, model, stepping, level, xlevel;
    const char *model_id;
    X86Features features; /* without those of KVM itself, which depend on the host */
} X86CpuModel;

/* NULL if there is none of that name. */
const X86CpuModel *x86_cpu_model_find(const char *name);
/* All, aliases too: of const X86CpuModel *, in no order, whose features may not be filled in yet
 * (x86_cpu_model_find() does that). The array is shared. */
const GPtrArray *x86_cpu_models(void);

/* ---- what the accelerator makes of it ---- */

typedef struct X86HostCpu {
    X86Features features; /* that a guest can have */
    char vendor[13], model_id[49];
    unsigned family, model, stepping, level, xlevel;
} X86HostCpu;

typedef struct X86CpuAccel {
    /* What a processor of this host can be for a guest. Runs in: main thread. */
    bool (*host)(X86HostCpu *host, Error **errp);
    /* What the processors of -cpu have, and what was asked for and is not there. Runs in: main
     * thread. */
    bool (*guest)(X86Features *got, X86Features *missing, Error **errp);
} X86CpuAccel;

/* Set while the accelerator in use runs guest code; else NULL. */
extern const X86CpuAccel *x86_cpu_accel;

/* The names of the features in `f`, as an array of strings; caller frees it with its elements. */
GPtrArray *x86_feature_names(const X86Features *f);

#endif
