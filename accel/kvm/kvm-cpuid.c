/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest's CPUID says: what KVM offers, cut down to the model of -cpu, changed by its
 * features, with the topology of -smp.
 */
#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "kvm-cpu-features.h"
#include "kvm-int.h"
#include "util/report.h"

#define KVM_LEAF_FIRST 0x40000000u
#define KVM_LEAF_LAST  0x400000ffu
#define TOPOLOGY_LEVELS 3 /* entries of leaf 0xb: thread, core, end */
#define MODEL_PHYS_BITS 40u /* of a model with a name, unless it is told otherwise */

static struct kvm_cpuid2 *supported; /* by KVM, asked once */
static X86Features offered;          /* the same, as features */
static KvmCpuRequest request;
static bool request_parsed;

static bool cpuid_query_supported(Error **errp)
{
    for (unsigned n = 128; n <= 2048; n *= 2) {
        struct kvm_cpuid2 *t = g_malloc0(sizeof(*t) + n * sizeof(t->entries[0]));
        int ret;

        t->nent = n;
        ret = kvm_ioctl(kvm.fd, KVM_GET_SUPPORTED_CPUID, t);
        if (ret >= 0) {
            supported = t;
            return true;
        }
        g_free(t);
        if (ret != -E2BIG) {
            error_set_errno(errp, -ret, "KVM_GET_SUPPORTED_CPUID");
            return false;
        }
    }
    error_set(errp, "KVM_GET_SUPPORTED_CPUID: too many entries");
    return false;
}

static struct kvm_cpuid_entry2 *cpuid_find(struct kvm_cpuid2 *t, uint32_t leaf, uint32_t subleaf)
{
    for (unsigned i = 0; i < t->nent; i++) {
        struct kvm_cpuid_entry2 *e = &t->entries[i];

        if (e->function == leaf &&
            (!(e->flags & KVM_CPUID_FLAG_SIGNIFCANT_INDEX) || e->index == subleaf)) {
            return e;
        }
    }
    return NULL;
}

static uint32_t *cpuid_reg(struct kvm_cpuid_entry2 *e, char reg)
{
    switch (reg) {
    case 'a':
        return &e->eax;
    case 'b':
        return &e->ebx;
    case 'c':
        return &e->ecx;
    default:
        return &e->edx;
    }
}

bool kvm_cpuid_get(struct kvm_cpuid2 *t, uint32_t leaf, uint32_t subleaf, char reg, uint64_t *out)
{
    struct kvm_cpuid_entry2 *e = cpuid_find(t, leaf, subleaf);

    if (e) {
        *out = *cpuid_reg(e, reg);
    }
    return e != NULL;
}

/* ---- features ---- */

static bool vendor_is_amd(void)
{
    struct kvm_cpuid_entry2 *e = cpuid_find(supported, 0, 0);

    if (request.vendor) {
        return !strcmp(request.vendor, "AuthenticAMD");
    }
    return e && e->ebx == 0x68747541u;
}

static bool cpuid_features(struct kvm_cpuid2 *t, bool report, X86Features *have, Error **errp)
{
    X86Features lacking;

    if (!kvm_features_choose(&request, &offered, vendor_is_amd(), report, have, &lacking, errp)) {
        return false;
    }
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        const X86FeatureWordInfo *info = &x86_feature_words[w];
        struct kvm_cpuid_entry2 *e = info->msr ? NULL : cpuid_find(t, info->leaf, info->subleaf);

        if (e) {
            *cpuid_reg(e, info->reg) = have->word[w];
        }
    }
    return true;
}

/* Parts of the extended state (leaf 0xd) and the features whose registers they hold. */
static uint64_t xsave_hidden(const X86Features *have)
{
    static const struct {
        X86FeatureWord word;
        unsigned bit;
        uint64_t parts;
    } of[] = {
        { FEAT_1_ECX, 28, 1 << 2 },   { FEAT_7_0_EBX, 14, 3 << 3 },
        { FEAT_7_0_EBX, 16, 7 << 5 }, { FEAT_7_0_ECX, 3, 1 << 9 },
        { FEAT_7_0_EDX, 24, 3 << 17 },
    };
    uint64_t hidden = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(of); i++) {
        if (!(have->word[of[i].word] >> of[i].bit & 1)) {
            hidden |= of[i].parts;
        }
    }
    return have->word[FEAT_1_ECX] & 1u << 26 ? hidden : UINT64_MAX;
}

static void cpuid_xsave(struct kvm_cpuid2 *t, const X86Features *have)
{
    uint64_t hidden = xsave_hidden(have);
    uint32_t size = hidden == UINT64_MAX ? 0 : 576; /* legacy area and header */
    struct kvm_cpuid_entry2 *all = cpuid_find(t, 0xd, 0);

    if (!all) {
        return;
    }
    for (unsigned i = 0; i < t->nent; i++) {
        struct kvm_cpuid_entry2 *e = &t->entries[i];

        if (e->function != 0xd || e->index < 2 || e->index > 63) {
            continue;
        }
        if (hidden >> e->index & 1) {
            e->eax = e->ebx = e->ecx = e->edx = 0;
        } else if (!(e->ecx & 1)) {
            size = MAX(size, e->eax + e->ebx); /* of the user's state, at a fixed place */
        }
    }
    all->eax &= ~(uint32_t)hidden;
    all->edx &= ~(uint32_t)(hidden >> 32);
    all->ecx = size;
}

/* ---- who the processor says it is ---- */

static void cpuid_levels(struct kvm_cpuid2 *t)
{
    const X86CpuModel *m = request.model;
    uint32_t level = request.level ? request.level : m->level;
    uint32_t xlevel = request.xlevel ? request.xlevel : m->xlevel;
    struct kvm_cpuid_entry2 *e = cpuid_find(t, 0, 0);

    if (e && level) {
        e->eax = MIN(e->eax, level);
    }
    e = cpuid_find(t, 0x80000000, 0);
    if (e && xlevel) {
        e->eax = MIN(e->eax, xlevel);
    }
}

static void cpuid_model_id(struct kvm_cpuid2 *t, const char *text)
{
    char id[48] = "";
    size_t len = strlen(text);

    memcpy(id, text, MIN(len, sizeof(id)));
    for (unsigned i = 0; i < 3; i++) {
        struct kvm_cpuid_entry2 *e = cpuid_find(t, 0x80000002 + i, 0);

        if (e) {
            memcpy(&e->eax, id + 16 * i, 4);
            memcpy(&e->ebx, id + 16 * i + 4, 4);
            memcpy(&e->ecx, id + 16 * i + 8, 4);
            memcpy(&e->edx, id + 16 * i + 12, 4);
        }
    }
}

/* Not every KVM tells the name of the host's processor. */
static void cpuid_host_model_id(struct kvm_cpuid2 *t)
{
    for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; leaf++) {
        struct kvm_cpuid_entry2 *e = cpuid_find(t, leaf, 0);

        if (e && !e->eax && !e->ebx && !e->ecx && !e->edx) {
            __get_cpuid(leaf, &e->eax, &e->ebx, &e->ecx, &e->edx);
        }
    }
}

/* What else the extended leaves tell of the host's processor. */
static void cpuid_extended(struct kvm_cpuid2 *t)
{
    struct kvm_cpuid_entry2 *version = cpuid_find(t, 1, 0);
    struct kvm_cpuid_entry2 *e = cpuid_find(t, 0x80000001, 0);

    if (e && version) {
        e->eax = e->eax ? version->eax : 0; /* the same on AMD's, reserved on Intel's */
        e->ebx = 0;                         /* the kind of its package */
    }
    e = cpuid_find(t, 0x80000021, 0);
    if (e) {
        e->ebx = e->ecx = e->edx = 0;
    }
}

static void cpuid_vendor(struct kvm_cpuid2 *t, const char *vendor)
{
    static const uint32_t leaves[] = { 0, 0x80000000 };

    for (unsigned i = 0; i < G_N_ELEMENTS(leaves); i++) {
        struct kvm_cpuid_entry2 *e = cpuid_find(t, leaves[i], 0);

        if (e) {
            memcpy(&e->ebx, vendor, 4);
            memcpy(&e->edx, vendor + 4, 4);
            memcpy(&e->ecx, vendor + 8, 4);
        }
    }
}

/* Leaf 1: the model's numbers, or the host's, and those that were given. */
static void cpuid_version(struct kvm_cpuid_entry2 *e)
{
    const X86CpuModel *m = request.model;
    unsigned family = (e->eax >> 8 & 0xf) + ((e->eax >> 8 & 0xf) == 15 ? e->eax >> 20 & 0xff : 0);
    unsigned model = (e->eax >> 4 & 0xf) | (e->eax >> 12 & 0xf0), stepping = e->eax & 0xf, base;

    if (!m->host) {
        family = m->family, model = m->model, stepping = m->stepping;
    }
    family = request.has_family ? request.family : family;
    model = request.has_model ? request.model_number : model;
    stepping = request.has_stepping ? request.stepping : stepping;
    base = MIN(family, 15u);
    e->eax = stepping | (model & 0xf) << 4 | base << 8 | (model >> 4) << 16 | (family - base) << 20;
}

static void cpuid_identity(struct kvm_cpuid2 *t, const X86Features *have)
{
    const X86CpuModel *m = request.model;
    struct kvm_cpuid_entry2 *e = cpuid_find(t, 1, 0);

    /* The vendor stays the host's: system calls work differently between them. */
    if (request.vendor) {
        cpuid_vendor(t, request.vendor);
    }
    if (e) {
        cpuid_version(e);
    }
    e = cpuid_find(t, 7, 0);
    if (e && request.has_level_func7) {
        e->eax = MIN(e->eax, request.level_func7);
    } else if (e && !m->host) {
        /* No more sub-leaves than there are features in. */
        e->eax = MIN(e->eax, have->word[FEAT_7_2_EDX]                                ? 2u
                             : have->word[FEAT_7_1_EAX] || have->word[FEAT_7_1_EDX] ? 1u
                                                                                     : 0u);
    }
    if (request.model_id || !m->host) {
        cpuid_model_id(t, request.model_id ? request.model_id : m->model_id);
    } else {
        cpuid_host_model_id(t);
    }
    cpuid_extended(t);
}

static void cpuid_phys_bits(struct kvm_cpuid2 *t, bool report)
{
    struct kvm_cpuid_entry2 *e = cpuid_find(t, 0x80000008, 0);
    uint32_t host, bits;

    if (!e) {
        return;
    }
    host = e->eax & 0xff;
    bits = request.phys_bits ? request.phys_bits : MIN(MODEL_PHYS_BITS, host);
    if (report && request.phys_bits && (request.host_phys_bits ? bits != host : bits > host)) {
        report_warning("Host physical bits (%u) does not match phys-bits property (%u)", host,
                       bits);
    }
    if (request.host_phys_bits) {
        bits = request.phys_bits_limit ? MIN(host, request.phys_bits_limit) : host;
    }
    bits = MIN(bits, host);
    e->eax = (e->eax & ~0xffu) | bits;
    if (request.guest_phys_bits) {
        e->eax = (e->eax & ~0xff0000u) | request.guest_phys_bits << 16;
    }
}

/* ---- topology ---- */

static unsigned width_of(unsigned count)
{
    unsigned w = 0;

    while ((1u << w) < count) {
        w++;
    }
    return w;
}

typedef struct Topology {
    unsigned smt_bits, package_bits; /* of the APIC id, below the core and the package */
    unsigned threads, per_package;
    uint32_t apic_id;
    unsigned core_id;
} Topology;

static Topology topology_of(const CPUState *cpu)
{
    const SmpConfig *smp = &current_machine->smp;
    Topology p = {
        .smt_bits = width_of(smp->threads),
        .threads = smp->threads,
        .per_package = smp->threads * smp->cores * MAX(smp->modules, 1u) * MAX(smp->dies, 1u),
        .apic_id = cpu->apic_id,
        .core_id = cpu->core_id,
    };

    p.package_bits = p.smt_bits + width_of(smp->cores) + width_of(MAX(smp->modules, 1u)) +
                     width_of(MAX(smp->dies, 1u));
    return p;
}

/* Leaves 4 and 0x8000001d: who shares a cache. First and second level belong to a core, the third
 * to the package. */
static void cache_sharing(struct kvm_cpuid_entry2 *e, const Topology *p)
{
    unsigned level = (e->eax >> 5) & 7;
    unsigned bits = level >= 3 ? p->package_bits : p->smt_bits;

    if (!(e->eax & 0x1f)) {
        return; /* the end of the list */
    }
    if (level >= 3 && request.no_l3) {
        e->eax = e->ebx = e->ecx = e->edx = 0; /* the end, earlier */
        return;
    }
    e->eax = (e->eax & 0xfc003fff) | ((1u << bits) - 1) << 14;
    if (e->function == 4) {
        unsigned cores = 1u << (p->package_bits - p->smt_bits);

        e->eax = (e->eax & 0x03ffffff) | (MIN(cores, 64u) - 1) << 26;
    }
}

static void cpuid_topology(struct kvm_cpuid2 *t, const Topology *p)
{
    for (unsigned i = 0; i < t->nent; i++) {
        struct kvm_cpuid_entry2 *e = &t->entries[i];

        switch (e->function) {
        case 1:
            e->ebx = (e->ebx & 0x0000ffff) | (p->apic_id & 0xff) << 24 |
                     (p->per_package > 1 ? MIN(p->per_package, 255u) << 16 : 0);
            e->edx = p->per_package > 1 ? e->edx | 1u << 28 : e->edx & ~(1u << 28);
            break;
        case 4:
        case 0x8000001d:
            cache_sharing(e, p);
            break;
        case 0x80000006:
            e->edx = request.no_l3 ? 0 : e->edx;
            break;
        case 0x80000008:
            e->ecx =
                p->per_package > 1 ? p->package_bits << 12 | (MIN(p->per_package, 256u) - 1) : 0;
            break;
        case 0x8000001e:
            e->eax = p->apic_id;
            e->ebx = (p->threads - 1) << 8 | (p->core_id & 0xff);
            e->ecx = 0;
            e->edx = 0;
            break;
        default:
            break;
        }
    }
}

/* Leaf 0xb, which the host's own description must not show through. */
static void cpuid_append_x2apic_topology(struct kvm_cpuid2 *t, const Topology *p)
{
    const struct kvm_cpuid_entry2 levels[TOPOLOGY_LEVELS] = {
        { .eax = p->smt_bits, .ebx = p->threads, .ecx = 0x100 },
        { .eax = p->package_bits, .ebx = p->per_package, .ecx = 0x201 },
        { .ecx = 0x002 },
    };

    for (unsigned i = 0; i < TOPOLOGY_LEVELS; i++) {
        struct kvm_cpuid_entry2 *e = &t->entries[t->nent++];

        *e = levels[i];
        e->function = 0xb;
        e->index = i;
        e->flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX;
        e->edx = p->apic_id;
    }
}

/* ---- the table ---- */

static bool leaf_dropped(const struct kvm_cpuid_entry2 *e)
{
    bool is_kvm = e->function >= KVM_LEAF_FIRST && e->function <= KVM_LEAF_LAST;

    return e->function == 0xb || e->function == 0x1f ||
           (is_kvm && (request.hide_kvm || request.hide_hypervisor)) ||
           (e->function == 0xa && (request.no_pmu || !request.model->host));
}

static struct kvm_cpuid2 *cpuid_copy(void)
{
    unsigned room = supported->nent + TOPOLOGY_LEVELS;
    struct kvm_cpuid2 *t = g_malloc0(sizeof(*t) + room * sizeof(t->entries[0]));

    for (unsigned i = 0; i < supported->nent; i++) {
        if (!leaf_dropped(&supported->entries[i])) {
            t->entries[t->nent++] = supported->entries[i];
        }
    }
    return t;
}

/* Asks the host and reads -cpu, once. */
static bool cpuid_prepare(Error **errp)
{
    if (!supported) {
        if (!cpuid_query_supported(errp)) {
            return false;
        }
        kvm_features_offered(supported, &offered);
    }
    request_parsed = request_parsed || kvm_cpu_request_parse(&request, errp);
    return request_parsed;
}

static bool cpu_tune(int vcpu_fd, Error **errp)
{
    if (request.tsc_hz) {
        unsigned long khz = request.tsc_hz / 1000;
        int host = kvm_ioctl(vcpu_fd, KVM_GET_TSC_KHZ, NULL);

        if ((unsigned long)MAX(host, 0) != khz &&
            kvm_ioctl(vcpu_fd, KVM_SET_TSC_KHZ, (void *)khz) < 0) {
            error_set(errp,
                      "-cpu: tsc-frequency: TSC frequency mismatch between VM (%lu kHz) and host "
                      "(%d kHz), and TSC scaling unavailable",
                      khz, host);
            return false;
        }
    }
    if (request.pv_enforce) {
        struct kvm_enable_cap cap = { .cap = KVM_CAP_ENFORCE_PV_FEATURE_CPUID, .args = { 1 } };
        int ret = kvm_ioctl(vcpu_fd, KVM_ENABLE_CAP, &cap);

        if (ret < 0) {
            error_set_errno(errp, -ret, "-cpu: kvm-pv-enforce-cpuid=on is not possible here");
            return false;
        }
    }
    return true;
}

bool kvm_cpuid_setup(CPUState *cpu, int vcpu_fd, Error **errp)
{
    g_autofree struct kvm_cpuid2 *t = NULL;
    Topology p = topology_of(cpu);
    struct kvm_cpuid_entry2 *base;
    X86Features have;
    int ret;

    if (!cpuid_prepare(errp)) {
        return false;
    }
    t = cpuid_copy();
    if (!cpuid_features(t, cpu->index == 0, &have, errp)) {
        return false;
    }
    cpuid_xsave(t, &have);
    cpuid_levels(t);
    cpuid_identity(t, &have);
    cpuid_phys_bits(t, cpu->index == 0);
    cpuid_topology(t, &p);
    base = cpuid_find(t, 0, 0);
    if (base && base->eax >= 0xb) {
        cpuid_append_x2apic_topology(t, &p);
    }
    if (!cpu_tune(vcpu_fd, errp)) {
        return false;
    }
    ret = kvm_ioctl(vcpu_fd, KVM_SET_CPUID2, t);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM refuses the CPUID of -cpu %s", request.model->name);
        return false;
    }
    kvm_features_set_msrs(&request, &have, vcpu_fd);
    return true;
}

/* ---- what management asks ---- */

static void identity_of_host(X86HostCpu *host)
{
    struct kvm_cpuid_entry2 *e = cpuid_find(supported, 0, 0);

    if (e) {
        host->level = e->eax;
        memcpy(host->vendor, &e->ebx, 4);
        memcpy(host->vendor + 4, &e->edx, 4);
        memcpy(host->vendor + 8, &e->ecx, 4);
    }
    e = cpuid_find(supported, 1, 0);
    if (e) {
        host->family = (e->eax >> 8) & 0xf;
        host->model = (e->eax >> 4) & 0xf;
        host->stepping = e->eax & 0xf;
        if (host->family == 0xf || host->family == 6) {
            host->model |= (e->eax >> 12) & 0xf0;
        }
        if (host->family == 0xf) {
            host->family += (e->eax >> 20) & 0xff;
        }
    }
    e = cpuid_find(supported, 0x80000000, 0);
    host->xlevel = e ? e->eax : 0;
    for (unsigned i = 0; i < 3; i++) {
        e = cpuid_find(supported, 0x80000002 + i, 0);
        if (e) {
            memcpy(host->model_id + 16 * i, &e->eax, 16); /* four registers side by side */
        }
    }
}

static bool host_cpu(X86HostCpu *host, Error **errp)
{
    memset(host, 0, sizeof(*host));
    if (!supported && !cpuid_query_supported(errp)) {
        return false;
    }
    kvm_features_offered(supported, &host->features);
    identity_of_host(host);
    return true;
}

/* All processors of a guest are alike. */
static bool guest_cpu(X86Features *got, X86Features *missing, Error **errp)
{
    return cpuid_prepare(errp) && kvm_features_choose(&request, &offered, vendor_is_amd(), false,
                                                      got, missing, errp);
}

void kvm_cpuid_init(void)
{
    static const X86CpuAccel ops = { .host = host_cpu, .guest = guest_cpu };

    x86_cpu_accel = &ops;
}
