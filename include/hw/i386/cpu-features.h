/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_CPU_FEATURES_H
#define SPINDLE_HW_I386_CPU_FEATURES_H

#include "qapi/qapi.h"

/* Processor features by name, grouped in the registers of CPUID that hold them. Runs in: any
 * thread. */

typedef enum {
    FEAT_1_EDX,
    FEAT_1_ECX,
    FEAT_7_0_EBX,
    FEAT_7_0_ECX,
    FEAT_7_0_EDX,
    FEAT_7_1_EAX,
    FEAT_D_1_EAX,
    FEAT_8000_0001_EDX,
    FEAT_8000_0001_ECX,
    FEAT_8000_0007_EDX,
    FEAT_8000_0008_EBX,
    FEAT_KVM,
    FEAT_6_EAX,
    FEAT_SVM,
    FEAT__COUNT,
} X86FeatureWord;

typedef struct X86FeatureWordInfo {
    uint32_t leaf, subleaf;
    char reg;              /* 'a', 'b', 'c', 'd' */
    const char *names[32]; /* NULL: no name */
} X86FeatureWordInfo;

extern const X86FeatureWordInfo x86_feature_words[FEAT__COUNT];

typedef struct X86Features {
    uint32_t word[FEAT__COUNT];
} X86Features;

/* '_' and '-' are the same in a name, "sse4_1" and "sse4.1" too. False if there is no such feature.
 */
bool x86_feature_find(const char *name, X86FeatureWord *word, unsigned *bit);

typedef struct X86CpuModel {
    const char *name;
    bool host; /* as the host: "host", "max" */
    char vendor[13];
    unsigned family, model, stepping, level, xlevel;
    const char *model_id;
    X86Features features;
} X86CpuModel;

const X86CpuModel *x86_cpu_model_find(const char *name);
/* All models, NULL-terminated. */
const X86CpuModel *const *x86_cpu_models(void);

#endif
