/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of processor features (Intel SDM vol. 2A "CPUID", AMD APM vol. 3 appendix E) and the CPU
 * models built of them. */
#include "hw/i386/cpu-features.h"

#include <string.h>

/* clang-format off: eight bits a line */
const X86FeatureWordInfo x86_feature_words[FEAT__COUNT] = {
    [FEAT_1_EDX] = { 1, 0, 'd', {
        "fpu", "vme", "de", "pse", "tsc", "msr", "pae", "mce",
        "cx8", "apic", NULL, "sep", "mtrr", "pge", "mca", "cmov",
        "pat", "pse36", "pn", "clflush", NULL, "ds", "acpi", "mmx",
        "fxsr", "sse", "sse2", "ss", "ht", "tm", "ia64", "pbe",
    } },
    [FEAT_1_ECX] = { 1, 0, 'c', {
        "pni", "pclmulqdq", "dtes64", "monitor", "ds-cpl", "vmx", "smx", "est",
        "tm2", "ssse3", "cid", NULL, "fma", "cx16", "xtpr", "pdcm",
        NULL, "pcid", "dca", "sse4.1", "sse4.2", "x2apic", "movbe", "popcnt",
        "tsc-deadline", "aes", "xsave", NULL, "avx", "f16c", "rdrand", "hypervisor",
    } },
    [FEAT_7_0_EBX] = { 7, 0, 'b', {
        "fsgsbase", "tsc-adjust", "sgx", "bmi1", "hle", "avx2", "fdp-excptn-only", "smep",
        "bmi2", "erms", "invpcid", "rtm", NULL, "zero-fcs-fds", "mpx", NULL,
        "avx512f", "avx512dq", "rdseed", "adx", "smap", "avx512ifma", "pcommit", "clflushopt",
        "clwb", "intel-pt", "avx512pf", "avx512er", "avx512cd", "sha-ni", "avx512bw", "avx512vl",
    } },
    [FEAT_7_0_ECX] = { 7, 0, 'c', {
        NULL, "avx512vbmi", "umip", "pku", NULL, "waitpkg", "avx512vbmi2", NULL,
        "gfni", "vaes", "vpclmulqdq", "avx512vnni", "avx512bitalg", NULL, "avx512-vpopcntdq", NULL,
        "la57", NULL, NULL, NULL, NULL, NULL, "rdpid", NULL,
        "bus-lock-detect", "cldemote", NULL, "movdiri", "movdir64b", NULL, "sgxlc", "pks",
    } },
    [FEAT_7_0_EDX] = { 7, 0, 'd', {
        NULL, NULL, "avx512-4vnniw", "avx512-4fmaps", "fsrm", NULL, NULL, NULL,
        "avx512-vp2intersect", NULL, "md-clear", NULL, NULL, NULL, "serialize", NULL,
        "tsx-ldtrk", NULL, NULL, "arch-lbr", NULL, NULL, "amx-bf16", "avx512-fp16",
        "amx-tile", "amx-int8", "spec-ctrl", "stibp",
        "flush-l1d", "arch-capabilities", "core-capability", "ssbd",
    } },
    [FEAT_7_1_EAX] = { 7, 1, 'a', {
        NULL, NULL, NULL, NULL, "avx-vnni", "avx512-bf16", NULL, "cmpccxadd",
        NULL, NULL, "fzrm", "fsrs", "fsrc", NULL, NULL, NULL,
        NULL, "fred", "lkgs", "wrmsrns", NULL, "amx-fp16", NULL, "avx-ifma",
        NULL, NULL, "lam", NULL, NULL, NULL, NULL, NULL,
    } },
    [FEAT_D_1_EAX] = { 0xd, 1, 'a', {
        "xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd",
    } },
    [FEAT_8000_0001_EDX] = { 0x80000001, 0, 'd', {
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, "syscall", NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, "mp", "nx", NULL, "mmxext", NULL,
        NULL, "fxsr-opt", "pdpe1gb", "rdtscp", NULL, "lm", "3dnowext", "3dnow",
    } },
    [FEAT_8000_0001_ECX] = { 0x80000001, 0, 'c', {
        "lahf-lm", "cmp-legacy", "svm", "extapic", "cr8legacy", "abm", "sse4a", "misalignsse",
        "3dnowprefetch", "osvw", "ibs", "xop", "skinit", "wdt", NULL, "lwp",
        "fma4", "tce", NULL, "nodeid-msr", NULL, "tbm", "topoext", "perfctr-core",
        "perfctr-nb",
    } },
    [FEAT_8000_0007_EDX] = { 0x80000007, 0, 'd', {
        [8] = "invtsc",
    } },
    [FEAT_8000_0008_EBX] = { 0x80000008, 0, 'b', {
        "clzero", NULL, "xsaveerptr", NULL, NULL, NULL, NULL, NULL,
        NULL, "wbnoinvd", NULL, NULL, "ibpb", NULL, "ibrs", "amd-stibp",
        NULL, "stibp-always-on", NULL, NULL, NULL, NULL, NULL, NULL,
        "amd-ssbd", "virt-ssbd", "amd-no-ssb", NULL, "amd-psfd",
    } },
    [FEAT_KVM] = { 0x40000001, 0, 'a', {
        "kvmclock", "kvm-nopiodelay", "kvm-mmu", "kvmclock2",
        "kvm-asyncpf", "kvm-steal-time", "kvm-pv-eoi", "kvm-pv-unhalt",
        NULL, "kvm-pv-tlb-flush", "kvm-asyncpf-vmexit", "kvm-pv-ipi",
        "kvm-poll-control", "kvm-pv-sched-yield", "kvm-asyncpf-int", "kvm-msi-ext-dest-id",
        [24] = "kvmclock-stable-bit",
    } },
    [FEAT_6_EAX] = { 6, 0, 'a', {
        [2] = "arat",
    } },
    [FEAT_SVM] = { 0x8000000a, 0, 'd', {
        "npt", "lbrv", "svm-lock", "nrip-save",
        "tsc-scale", "vmcb-clean", "flushbyasid", "decodeassists",
        NULL, NULL, "pause-filter", NULL, "pfthreshold", "avic", NULL, "v-vmsave-vmload",
        "vgif",
    } },
};
/* clang-format on */

static const struct {
    const char *alias, *name;
} aliases[] = {
    { "sse3", "pni" },
    { "pclmuldq", "pclmulqdq" },
    { "sse4-1", "sse4.1" },
    { "sse4-2", "sse4.2" },
    { "i64", "lm" },
    { "xd", "nx" },
    { "ffxsr", "fxsr-opt" },
    { "tsc-deadline-timer", "tsc-deadline" },
    { "cmp-lm", "cmp-legacy" },
    { "vmx-cap", "vmx" },
    { "sha", "sha-ni" },
};

bool x86_feature_find(const char *name, X86FeatureWord *word, unsigned *bit)
{
    g_autofree char *canonical = g_strdup(name);

    g_strdelimit(canonical, "_", '-');
    for (unsigned i = 0; i < G_N_ELEMENTS(aliases); i++) {
        if (!strcmp(canonical, aliases[i].alias)) {
            g_free(canonical);
            canonical = g_strdup(aliases[i].name);
            break;
        }
    }
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        for (unsigned b = 0; b < 32; b++) {
            if (x86_feature_words[w].names[b] &&
                !strcmp(x86_feature_words[w].names[b], canonical)) {
                *word = w;
                *bit = b;
                return true;
            }
        }
    }
    return false;
}

/* FPU..CMOV, PAT, FXSR, MMX, SSE, SSE2: what every 64-bit system expects. */
#define BASE_1_EDX 0x078bfbfdu
#define BASE_64    (1u << 29 | 1u << 11 | 1u << 20) /* lm, syscall, nx */

static const X86CpuModel model_host = { .name = "host", .host = true };
static const X86CpuModel model_max = { .name = "max", .host = true };
static const X86CpuModel model_qemu64 = {
    .name = "qemu64",
    .vendor = "AuthenticAMD",
    .family = 15, .model = 107, .stepping = 1,
    .level = 0xd, .xlevel = 0x8000000a,
    .model_id = "QEMU Virtual CPU version 2.5+",
    .features.word = {
        [FEAT_1_EDX] = BASE_1_EDX,
        [FEAT_1_ECX] = 1u << 0 | 1u << 13,           /* pni, cx16 */
        [FEAT_8000_0001_EDX] = BASE_64,
        [FEAT_8000_0001_ECX] = 1u << 0,              /* lahf-lm */
        [FEAT_KVM] = 0x010000ffu & ~(1u << 2),
    },
};
static const X86CpuModel model_kvm64 = {
    .name = "kvm64",
    .vendor = "GenuineIntel",
    .family = 15, .model = 6, .stepping = 1,
    .level = 0xd, .xlevel = 0x80000008,
    .model_id = "Common KVM processor",
    .features.word = {
        [FEAT_1_EDX] = BASE_1_EDX,
        [FEAT_1_ECX] = 1u << 0 | 1u << 13,
        [FEAT_8000_0001_EDX] = BASE_64,
        [FEAT_KVM] = 0x010000ffu & ~(1u << 2),
    },
};

static const X86CpuModel *const models[] = { &model_host, &model_kvm64, &model_max, &model_qemu64,
                                             NULL };

const X86CpuModel *const *x86_cpu_models(void)
{
    return models;
}

const X86CpuModel *x86_cpu_model_find(const char *name)
{
    for (unsigned i = 0; models[i]; i++) {
        if (!strcmp(models[i]->name, name)) {
            return models[i];
        }
    }
    return NULL;
}
