/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of processor features: where each has its bit (Intel SDM vol. 2A "CPUID" and vol. 3D
 * appendix A, AMD APM vol. 3 appendix E, Documentation/virt/kvm/x86/cpuid.rst of the kernel). */
#include "hw/i386/cpu-features.h"

/* clang-format off: a table */
const X86FeatureWordInfo x86_feature_words[FEAT__COUNT] = {
    [FEAT_1_EDX] = { .leaf = 1, .subleaf = 0, .reg = 'd', .names = {
        [0] = "fpu", "vme", "de", "pse", "tsc", "msr", "pae", "mce", "cx8", "apic", [11] = "sep",
        [12] = "mtrr", "pge", "mca", "cmov", "pat", "pse36", "pn", "clflush", [21] = "ds", "acpi",
        [23] = "mmx", "fxsr", "sse", "sse2", "ss", "ht", "tm", "ia64", "pbe",
    } },
    [FEAT_1_ECX] = { .leaf = 1, .subleaf = 0, .reg = 'c', .names = {
        [0] = "pni", "pclmulqdq", "dtes64", "monitor", "ds-cpl", "vmx", "smx", "est", "tm2",
        [9] = "ssse3", "cid", [12] = "fma", "cx16", "xtpr", "pdcm", [17] = "pcid", "dca",
        [19] = "sse4.1", "sse4.2", "x2apic", "movbe", "popcnt", "tsc-deadline", "aes", "xsave",
        [28] = "avx", "f16c", "rdrand", "hypervisor",
    } },
    [FEAT_6_EAX] = { .leaf = 6, .subleaf = 0, .reg = 'a', .names = {
        [2] = "arat",
    } },
    [FEAT_7_0_EBX] = { .leaf = 7, .subleaf = 0, .reg = 'b', .names = {
        [0] = "fsgsbase", "tsc-adjust", "sgx", "bmi1", "hle", "avx2", "fdp-excptn-only", "smep",
        [8] = "bmi2", "erms", "invpcid", "rtm", [13] = "zero-fcs-fds", "mpx", [16] = "avx512f",
        [17] = "avx512dq", "rdseed", "adx", "smap", "avx512ifma", "pcommit", "clflushopt", "clwb",
        [25] = "intel-pt", "avx512pf", "avx512er", "avx512cd", "sha-ni", "avx512bw", "avx512vl",
    } },
    [FEAT_7_0_ECX] = { .leaf = 7, .subleaf = 0, .reg = 'c', .names = {
        [1] = "avx512vbmi", "umip", "pku", [5] = "waitpkg", "avx512vbmi2", [8] = "gfni", "vaes",
        [10] = "vpclmulqdq", "avx512vnni", "avx512bitalg", [14] = "avx512-vpopcntdq",
        [16] = "la57", [22] = "rdpid", [24] = "bus-lock-detect", "cldemote", [27] = "movdiri",
        [28] = "movdir64b", [30] = "sgxlc", "pks",
    } },
    [FEAT_7_0_EDX] = { .leaf = 7, .subleaf = 0, .reg = 'd', .names = {
        [2] = "avx512-4vnniw", "avx512-4fmaps", "fsrm", [8] = "avx512-vp2intersect",
        [10] = "md-clear", [14] = "serialize", [16] = "tsx-ldtrk", [19] = "arch-lbr",
        [22] = "amx-bf16", "avx512-fp16", "amx-tile", "amx-int8", "spec-ctrl", "stibp",
        [28] = "flush-l1d", "arch-capabilities", "core-capability", "ssbd",
    } },
    [FEAT_7_1_EAX] = { .leaf = 7, .subleaf = 1, .reg = 'a', .names = {
        [0] = "sha512", "sm3", "sm4", [4] = "avx-vnni", "avx512-bf16", [7] = "cmpccxadd",
        [10] = "fzrm", "fsrs", "fsrc", [17] = "fred", "lkgs", "wrmsrns", [21] = "amx-fp16",
        [23] = "avx-ifma", [26] = "lam",
    } },
    [FEAT_7_1_EDX] = { .leaf = 7, .subleaf = 1, .reg = 'd', .names = {
        [4] = "avx-vnni-int8", "avx-ne-convert", [8] = "amx-complex", [10] = "avx-vnni-int16",
        [14] = "prefetchiti", [19] = "avx10",
    } },
    [FEAT_7_2_EDX] = { .leaf = 7, .subleaf = 2, .reg = 'd', .names = {
        [0] = "intel-psfd", "ipred-ctrl", "rrsba-ctrl", "ddpd-u", "bhi-ctrl", "mcdt-no",
    } },
    [FEAT_D_1_EAX] = { .leaf = 0xd, .subleaf = 1, .reg = 'a', .names = {
        [0] = "xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd",
    } },
    [FEAT_12_0_EAX] = { .leaf = 0x12, .subleaf = 0, .reg = 'a', .names = {
        [0] = "sgx1", "sgx2", [11] = "sgx-edeccssa",
    } },
    [FEAT_12_0_EBX] = { .leaf = 0x12, .subleaf = 0, .reg = 'b', .names = {
        [0] = "sgx-exinfo",
    } },
    [FEAT_12_1_EAX] = { .leaf = 0x12, .subleaf = 1, .reg = 'a', .names = {
        [1] = "sgx-debug", "sgx-mode64", [4] = "sgx-provisionkey", "sgx-tokenkey",
        [7] = "sgx-kss", [10] = "sgx-aex-notify",
    } },
    [FEAT_14_0_ECX] = { .leaf = 0x14, .subleaf = 0, .reg = 'c', .names = {
        [31] = "intel-pt-lip",
    } },
    [FEAT_24_0_EBX] = { .leaf = 0x24, .subleaf = 0, .reg = 'b', .names = {
        [16] = "avx10-128", "avx10-256", "avx10-512",
    } },
    [FEAT_KVM] = { .leaf = 0x40000001, .subleaf = 0, .reg = 'a', .names = {
        [0] = "kvmclock", "kvm-nopiodelay", "kvm-mmu", "kvmclock", "kvm-asyncpf",
        [5] = "kvm-steal-time", "kvm-pv-eoi", "kvm-pv-unhalt", [9] = "kvm-pv-tlb-flush",
        [10] = "kvm-asyncpf-vmexit", "kvm-pv-ipi", "kvm-poll-control", "kvm-pv-sched-yield",
        [14] = "kvm-asyncpf-int", "kvm-msi-ext-dest-id", [24] = "kvmclock-stable-bit",
    } },
    [FEAT_KVM_HINTS] = { .leaf = 0x40000001, .subleaf = 0, .reg = 'd', .names = {
        [0] = "kvm-hint-dedicated",
    } },
    [FEAT_8000_0001_EDX] = { .leaf = 0x80000001, .subleaf = 0, .reg = 'd', .names = {
        [11] = "syscall", [20] = "nx", [22] = "mmxext", [25] = "fxsr-opt", "pdpe1gb", "rdtscp",
        [29] = "lm", "3dnowext", "3dnow",
    } },
    [FEAT_8000_0001_ECX] = { .leaf = 0x80000001, .subleaf = 0, .reg = 'c', .names = {
        [0] = "lahf-lm", "cmp-legacy", "svm", "extapic", "cr8legacy", "abm", "sse4a",
        [7] = "misalignsse", "3dnowprefetch", "osvw", "ibs", "xop", "skinit", "wdt", [15] = "lwp",
        [16] = "fma4", "tce", [19] = "nodeid-msr", [21] = "tbm", "topoext", "perfctr-core",
        [24] = "perfctr-nb",
    } },
    [FEAT_8000_0007_EBX] = { .leaf = 0x80000007, .subleaf = 0, .reg = 'b', .names = {
        [0] = "overflow-recov", "succor",
    } },
    [FEAT_8000_0007_EDX] = { .leaf = 0x80000007, .subleaf = 0, .reg = 'd', .names = {
        [8] = "invtsc",
    } },
    [FEAT_8000_0008_EBX] = { .leaf = 0x80000008, .subleaf = 0, .reg = 'b', .names = {
        [0] = "clzero", [2] = "xsaveerptr", [9] = "wbnoinvd", [12] = "ibpb", [14] = "ibrs",
        [15] = "amd-stibp", [17] = "stibp-always-on", [24] = "amd-ssbd", "virt-ssbd",
        [26] = "amd-no-ssb", [28] = "amd-psfd",
    } },
    [FEAT_SVM] = { .leaf = 0x8000000a, .subleaf = 0, .reg = 'd', .names = {
        [0] = "npt", "lbrv", "svm-lock", "nrip-save", "tsc-scale", "vmcb-clean", "flushbyasid",
        [7] = "decodeassists", [10] = "pause-filter", [12] = "pfthreshold", "avic",
        [15] = "v-vmsave-vmload", "vgif", [25] = "vnmi", [28] = "svme-addr-chk",
    } },
    [FEAT_8000_0021_EAX] = { .leaf = 0x80000021, .subleaf = 0, .reg = 'a', .names = {
        [0] = "no-nested-data-bp", [2] = "lfence-always-serializing", [6] = "null-sel-clr-base",
        [8] = "auto-ibrs", [24] = "eraps", [27] = "sbpb", "ibpb-brtype", "srso-no",
        [30] = "srso-user-kernel-no",
    } },
    [FEAT_8000_0022_EAX] = { .leaf = 0x80000022, .subleaf = 0, .reg = 'a', .names = {
        [0] = "perfmon-v2",
    } },
    [FEAT_C000_0001_EDX] = { .leaf = 0xc0000001, .subleaf = 0, .reg = 'd', .names = {
        [2] = "xstore", "xstore-en", [6] = "xcrypt", "xcrypt-en", "ace2", "ace2-en", "phe",
        [11] = "phe-en", "pmm", "pmm-en",
    } },
    [FEAT_CORE_CAPABILITY] = { .msr = 0xcf, .names = {
        [5] = "split-lock-detect",
    } },
    [FEAT_ARCH_CAPABILITIES] = { .msr = 0x10a, .names = {
        [0] = "rdctl-no", "ibrs-all", "rsba", "skip-l1dfl-vmentry", "ssb-no", "mds-no",
        [6] = "pschange-mc-no", "tsx-ctrl", "taa-no", [13] = "sbdr-ssdp-no", "fbsdp-no",
        [15] = "psdp-no", [17] = "fb-clear", [20] = "bhi-no", [24] = "pbrsb-no", [26] = "gds-no",
        [27] = "rfds-no", "rfds-clear",
    } },
    [FEAT_PERF_CAPABILITIES] = { .msr = 0x345, .names = {
        [13] = "full-width-write",
    } },
    [FEAT_VMX_BASIC] = { .msr = 0x480, .names = {
        [54] = "vmx-ins-outs", "vmx-true-ctls", "vmx-any-errcode", [58] = "vmx-nested-exception",
    } },
    [FEAT_VMX_MISC] = { .msr = 0x485, .names = {
        [5] = "vmx-store-lma", "vmx-activity-hlt", "vmx-activity-shutdown",
        [8] = "vmx-activity-wait-sipi", [29] = "vmx-vmwrite-vmexit-fields", "vmx-zero-len-inject",
    } },
    [FEAT_VMX_SECONDARY_CTLS] = { .msr = 0x48b, .msr_shift = 32, .names = {
        [0] = "vmx-apicv-xapic", "vmx-ept", "vmx-desc-exit", "vmx-rdtscp-exit",
        [4] = "vmx-apicv-x2apic", "vmx-vpid", "vmx-wbinvd-exit", "vmx-unrestricted-guest",
        [8] = "vmx-apicv-register", "vmx-apicv-vid", "vmx-ple", "vmx-rdrand-exit",
        [12] = "vmx-invpcid-exit", "vmx-vmfunc", "vmx-shadow-vmcs", "vmx-encls-exit",
        [16] = "vmx-rdseed-exit", "vmx-pml", [20] = "vmx-xsaves", [25] = "vmx-tsc-scaling",
        [26] = "vmx-enable-user-wait-pause",
    } },
    [FEAT_VMX_EPT_VPID_CAPS] = { .msr = 0x48c, .names = {
        [0] = "vmx-ept-execonly", [6] = "vmx-page-walk-4", "vmx-page-walk-5",
        [16] = "vmx-ept-2mb", "vmx-ept-1gb", [20] = "vmx-invept", "vmx-eptad",
        [22] = "vmx-ept-advanced-exitinfo", [26] = "vmx-invept-all-context", [32] = "vmx-invvpid",
        [40] = "vmx-invvpid-single-addr", "vmx-invept-single-context", "vmx-invvpid-all-context",
        [43] = "vmx-invept-single-context-noglobals",
    } },
    [FEAT_VMX_PINBASED_CTLS] = { .msr = 0x48d, .msr_shift = 32, .names = {
        [0] = "vmx-intr-exit", [3] = "vmx-nmi-exit", [5] = "vmx-vnmi", "vmx-preemption-timer",
        [7] = "vmx-posted-intr",
    } },
    [FEAT_VMX_PROCBASED_CTLS] = { .msr = 0x48e, .msr_shift = 32, .names = {
        [2] = "vmx-vintr-pending", "vmx-tsc-offset", [7] = "vmx-hlt-exit",
        [9] = "vmx-invlpg-exit", "vmx-mwait-exit", "vmx-rdpmc-exit", "vmx-rdtsc-exit",
        [15] = "vmx-cr3-load-noexit", "vmx-cr3-store-noexit", [19] = "vmx-cr8-load-exit",
        [20] = "vmx-cr8-store-exit", "vmx-flexpriority", "vmx-vnmi-pending", "vmx-movdr-exit",
        [24] = "vmx-io-exit", "vmx-io-bitmap", [27] = "vmx-mtf", "vmx-msr-bitmap",
        [29] = "vmx-monitor-exit", "vmx-pause-exit", "vmx-secondary-ctls",
    } },
    [FEAT_VMX_EXIT_CTLS] = { .msr = 0x48f, .msr_shift = 32, .names = {
        [2] = "vmx-exit-nosave-debugctl", [12] = "vmx-exit-load-perf-global-ctrl",
        [15] = "vmx-exit-ack-intr", [18] = "vmx-exit-save-pat", "vmx-exit-load-pat",
        [20] = "vmx-exit-save-efer", "vmx-exit-load-efer", "vmx-exit-save-preemption-timer",
        [23] = "vmx-exit-clear-bndcfgs", [25] = "vmx-exit-clear-rtit-ctl",
        [29] = "vmx-exit-load-pkrs", [31] = "vmx-exit-secondary-ctls",
    } },
    [FEAT_VMX_ENTRY_CTLS] = { .msr = 0x490, .msr_shift = 32, .names = {
        [2] = "vmx-entry-noload-debugctl", [9] = "vmx-entry-ia32e-mode",
        [13] = "vmx-entry-load-perf-global-ctrl", "vmx-entry-load-pat", "vmx-entry-load-efer",
        [16] = "vmx-entry-load-bndcfgs", [18] = "vmx-entry-load-rtit-ctl",
        [22] = "vmx-entry-load-pkrs", "vmx-entry-load-fred",
    } },
    [FEAT_VMX_VMFUNC] = { .msr = 0x491, .names = {
        [0] = "vmx-eptp-switching",
    } },
};
/* clang-format on */
