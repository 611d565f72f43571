/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processor features: what KVM offers, what -cpu wants of it, and what of that cannot be had. A
 * feature that is asked for and not there is named in a warning (`check`, the default) and ends the
 * start if `enforce` is given.
 */
#include "kvm-cpu-features.h"

#include <string.h>

#include "kvm-int.h"
#include "util/report.h"

/* Bits of 0x80000001 EDX that repeat those of leaf 1 on AMD's processors. */
#define AMD_ALIASES 0x0183f3ffu
/* What a guest of any model gets of KVM's own features, where the host has them: kvmclock, no I/O
 * delay, asynchronous page faults, steal time, EOI by memory, stable clock. */
#define KVM_DEFAULT 0x0100007bu

#define INVTSC      (1u << 8)
#define HYPERVISOR  (1u << 31)
#define X2APIC      (1u << 21)
#define HTT         (1u << 28)

static bool is_vmx_word(X86FeatureWord w)
{
    return w >= FEAT_VMX_BASIC && w <= FEAT_VMX_VMFUNC;
}

static uint64_t word_offered(const struct kvm_cpuid2 *supported, X86FeatureWord w)
{
    const X86FeatureWordInfo *info = &x86_feature_words[w];
    uint64_t bits = 0;

    if (info->msr) {
        return kvm_msr_offered(info->msr) >> info->msr_shift;
    }
    kvm_cpuid_get((struct kvm_cpuid2 *)supported, info->leaf, info->subleaf, info->reg, &bits);
    if (w == FEAT_1_EDX) {
        bits |= HTT; /* more than one logical processor: the topology decides */
    } else if (w == FEAT_1_ECX) {
        /* These are of the kernel's local APIC, and the mark of a virtual machine. */
        bits |= HYPERVISOR | X2APIC;
        if (kvm_check(KVM_CAP_TSC_DEADLINE_TIMER) > 0) {
            bits |= 1u << 24;
        }
    } else if (w == FEAT_6_EAX) {
        bits |= 1u << 2; /* the kernel's APIC timer never stops */
    } else if (w == FEAT_KVM_HINTS) {
        bits |= 1; /* a promise of whoever asks for it: host processors of their own */
    }
    return bits;
}

void kvm_features_offered(const struct kvm_cpuid2 *supported, X86Features *out)
{
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        out->word[w] = word_offered(supported, w);
    }
}

/* ---- what is wanted ---- */

/* Without the first, the others mean nothing: they go with it unless they are asked for. */
static const struct {
    X86FeatureWord word;
    uint64_t bit;
    X86FeatureWord other;
    uint64_t others;
} depends[] = {
    { FEAT_1_ECX, 1u << 26 /* xsave */, FEAT_D_1_EAX, UINT64_MAX },
    { FEAT_1_ECX, 1u << 26, FEAT_1_ECX, 1u << 28 /* avx */ },
    { FEAT_1_ECX, 1u << 26, FEAT_7_0_EBX, 1u << 14 /* mpx */ },
    { FEAT_1_ECX, 1u << 26, FEAT_7_0_ECX, 1u << 3 /* pku */ },
    { FEAT_1_ECX, 1u << 26, FEAT_7_0_EDX, 0x03400000 /* amx-* */ },
    { FEAT_1_ECX, 1u << 28, FEAT_1_ECX, 1u << 12 | 1u << 29 /* fma f16c */ },
    { FEAT_1_ECX, 1u << 28, FEAT_7_0_EBX, 1u << 5 | 1u << 16 /* avx2 avx512f */ },
    { FEAT_1_ECX, 1u << 28, FEAT_7_0_ECX, 3u << 9 /* vaes vpclmulqdq */ },
    { FEAT_1_ECX, 1u << 28, FEAT_7_1_EAX, 1u << 4 | 1u << 23 /* avx-vnni avx-ifma */ },
    { FEAT_1_ECX, 1u << 28, FEAT_8000_0001_ECX, 1u << 11 | 1u << 16 /* xop fma4 */ },
    { FEAT_7_0_EBX, 1u << 16, FEAT_7_0_EBX, 0xdc220000 /* avx512* */ },
    { FEAT_7_0_EBX, 1u << 16, FEAT_7_0_ECX, 0x00005842 },
    { FEAT_7_0_EBX, 1u << 16, FEAT_7_0_EDX, 0x0080010c },
    { FEAT_7_0_EBX, 1u << 16, FEAT_7_1_EAX, 1u << 5 },
    { FEAT_7_0_EDX, 1u << 24 /* amx-tile */, FEAT_7_0_EDX, 1u << 22 | 1u << 25 },
    { FEAT_8000_0001_ECX, 1u << 2 /* svm */, FEAT_SVM, UINT64_MAX },
    { FEAT_7_0_EDX, 1u << 29, FEAT_ARCH_CAPABILITIES, UINT64_MAX },
    { FEAT_7_0_EDX, 1u << 30, FEAT_CORE_CAPABILITY, UINT64_MAX },
    { FEAT_1_ECX, 1u << 15 /* pdcm */, FEAT_PERF_CAPABILITIES, UINT64_MAX },
};

static uint64_t word_named(X86FeatureWord w)
{
    uint64_t mask = 0;

    for (unsigned b = 0; b < 64; b++) {
        mask |= (uint64_t)(x86_feature_words[w].names[b] != NULL) << b;
    }
    return mask;
}

static uint64_t word_wanted(const KvmCpuRequest *r, X86FeatureWord w, uint64_t offered, bool amd)
{
    uint64_t want = r->model->host ? offered : r->model->features.word[w];

    if (is_vmx_word(w)) {
        want = offered; /* no model says what it has of nested virtualization: what KVM has */
    }
    if (w == FEAT_KVM && !r->model->host) {
        want = KVM_DEFAULT & offered;
    }
    if (w == FEAT_KVM_HINTS) {
        want = 0;
    }
    if (r->model->host && r->migratable) {
        /* What has no name could not be asked for on another host; and an invariant TSC ties the
         * guest to this one's clock. */
        want &= word_named(w) | (w == FEAT_8000_0001_EDX && amd ? AMD_ALIASES : 0);
        want &= w == FEAT_8000_0007_EDX ? ~(uint64_t)INVTSC : UINT64_MAX;
    }
    if (w == FEAT_1_ECX) {
        want |= X2APIC;
        want = r->hide_hypervisor ? want & ~(uint64_t)HYPERVISOR : want | HYPERVISOR;
    }
    if (w == FEAT_8000_0001_EDX && amd && !r->model->host) {
        want |= r->model->features.word[FEAT_1_EDX] & AMD_ALIASES;
    }
    return (want | r->on.word[w]) & ~r->off.word[w];
}

static void want_all(const KvmCpuRequest *r, const X86Features *offered, bool amd,
                     X86Features *want)
{
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        want->word[w] = word_wanted(r, w, offered->word[w], amd);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(depends); i++) {
        if (!(want->word[depends[i].word] & depends[i].bit)) {
            want->word[depends[i].other] &= ~depends[i].others | r->on.word[depends[i].other];
        }
    }
}

/* ---- what is missing ---- */

static void report_missing(X86FeatureWord w, uint64_t missing)
{
    const X86FeatureWordInfo *info = &x86_feature_words[w];

    for (unsigned b = 0; b < 64; b++) {
        if (!(missing >> b & 1) || !info->names[b]) {
            continue;
        }
        if (info->msr) {
            report_warning("host doesn't support requested feature: MSR(%XH).%s [bit %u]",
                           info->msr, info->names[b], b);
        } else {
            report_warning("host doesn't support requested feature: CPUID.%02XH:E%cX.%s [bit %u]",
                           info->leaf, g_ascii_toupper(info->reg), info->names[b], b);
        }
    }
}

bool kvm_features_choose(const KvmCpuRequest *r, const X86Features *offered, bool amd, bool report,
                         X86Features *out, X86Features *lacking, Error **errp)
{
    bool complete = true;

    want_all(r, offered, amd, out);
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        uint64_t missing = out->word[w] & ~offered->word[w];

        lacking->word[w] = missing;
        if (missing) {
            complete = false;
            if (report && (r->check || r->enforce)) {
                report_missing(w, missing);
            }
        }
        out->word[w] &= offered->word[w];
    }
    if (!complete && r->enforce) {
        error_set(errp, "Host doesn't support requested features");
        return false;
    }
    return true;
}

void kvm_features_set_msrs(const KvmCpuRequest *r, const X86Features *have, int vcpu_fd)
{
    static const struct {
        X86FeatureWord needs, word;
        uint64_t bit;
    } on_cpuid[] = {
        { FEAT_7_0_EDX, FEAT_ARCH_CAPABILITIES, 1u << 29 },
        { FEAT_7_0_EDX, FEAT_CORE_CAPABILITY, 1u << 30 },
        { FEAT_1_ECX, FEAT_PERF_CAPABILITIES, 1u << 15 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(on_cpuid); i++) {
        X86FeatureWord w = on_cpuid[i].word;
        uint64_t now;

        /* The register is left as KVM made it where nothing was asked for: "host" is what it is,
         * and not every host lets its own value be set. */
        if ((have->word[on_cpuid[i].needs] & on_cpuid[i].bit) &&
            (!r->model->host || r->on.word[w] || r->off.word[w]) &&
            kvm_msr_get(vcpu_fd, x86_feature_words[w].msr, &now) && now != have->word[w]) {
            kvm_msr_set(vcpu_fd, x86_feature_words[w].msr, have->word[w]);
        }
    }
    for (unsigned w = FEAT_VMX_BASIC; w <= FEAT_VMX_VMFUNC; w++) {
        const X86FeatureWordInfo *info = &x86_feature_words[w];
        uint64_t now;

        if ((have->word[FEAT_1_ECX] & 1u << 5) && r->off.word[w] &&
            kvm_msr_get(vcpu_fd, info->msr, &now)) {
            kvm_msr_set(vcpu_fd, info->msr, now & ~(r->off.word[w] << info->msr_shift));
        }
    }
}
