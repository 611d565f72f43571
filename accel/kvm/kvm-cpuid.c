/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest's CPUID says: what KVM offers, cut down to the model of -cpu, changed by its
 * features, with the topology of -smp. A feature that is asked for and not there is named in a
 * warning (`check`, the default) and ends the start if `enforce` is given.
 */
#include <errno.h>
#include <string.h>

#include "kvm-cpu-request.h"
#include "kvm-int.h"
#include "util/report.h"

#define KVM_LEAF_FIRST 0x40000000u
#define KVM_LEAF_LAST  0x400000ffu
/* Bits of 0x80000001 EDX that repeat those of leaf 1 on AMD's processors. */
#define AMD_ALIASES     0x0183f3ffu
#define TOPOLOGY_LEVELS 3 /* entries of leaf 0xb: thread, core, end */

static struct kvm_cpuid2 *supported; /* by KVM, asked once */
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

/* ---- features ---- */

static uint32_t word_available(X86FeatureWord w)
{
    const X86FeatureWordInfo *info = &x86_feature_words[w];
    struct kvm_cpuid_entry2 *e = cpuid_find(supported, info->leaf, info->subleaf);
    uint32_t bits = e ? *cpuid_reg(e, info->reg) : 0;

    if (w == FEAT_1_EDX) {
        bits |= 1u << 28; /* more than one logical processor: the topology decides */
    } else if (w == FEAT_1_ECX) {
        /* These are of the kernel's local APIC, and the mark of a virtual machine. */
        bits |= 1u << 31 | 1u << 21;
        if (kvm_check(KVM_CAP_TSC_DEADLINE_TIMER) > 0) {
            bits |= 1u << 24;
        }
    } else if (w == FEAT_6_EAX) {
        bits |= 1u << 2; /* the kernel's APIC timer never stops */
    }
    return bits;
}

static bool vendor_is_amd(void)
{
    struct kvm_cpuid_entry2 *e = cpuid_find(supported, 0, 0);

    return request.model->host ? e && e->ebx == 0x68747541u : request.model->vendor[0] == 'A';
}

static uint32_t word_wanted(X86FeatureWord w, uint32_t avail)
{
    uint32_t want = request.model->host ? avail : request.model->features.word[w];

    if (request.model->host && request.migratable && w == FEAT_8000_0007_EDX) {
        want &= ~(1u << 8); /* an invariant TSC ties the guest to this host's clock */
    }
    if (w == FEAT_1_ECX) {
        want |= 1u << 21;
        want = request.hide_hypervisor ? want & ~(1u << 31) : want | 1u << 31;
    }
    if (w == FEAT_8000_0001_EDX && vendor_is_amd()) {
        want |= request.model->features.word[FEAT_1_EDX] & AMD_ALIASES;
    }
    return (want | request.on.word[w]) & ~request.off.word[w];
}

static void report_missing(X86FeatureWord w, uint32_t missing)
{
    const X86FeatureWordInfo *info = &x86_feature_words[w];

    for (unsigned b = 0; b < 32; b++) {
        if ((missing & 1u << b) && info->names[b]) {
            report_warning("host doesn't support requested feature: CPUID.%02XH:E%cX.%s [bit %u]",
                           info->leaf, g_ascii_toupper(info->reg), info->names[b], b);
        }
    }
}

static bool cpuid_features(struct kvm_cpuid2 *t, bool report, Error **errp)
{
    bool complete = true;

    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        const X86FeatureWordInfo *info = &x86_feature_words[w];
        struct kvm_cpuid_entry2 *e = cpuid_find(t, info->leaf, info->subleaf);
        uint32_t avail = word_available(w), want = word_wanted(w, avail);
        /* Paravirtual features of the model itself are a matter of what the host has. */
        uint32_t missing = want & ~avail & (w == FEAT_KVM ? request.on.word[w] : UINT32_MAX);

        if (missing) {
            complete = false;
            if (report && (request.check || request.enforce)) {
                report_missing(w, missing);
            }
        }
        if (e) {
            *cpuid_reg(e, info->reg) = want & avail;
        }
    }
    if (!complete && request.enforce) {
        error_set(errp, "Host doesn't support requested features");
        return false;
    }
    return true;
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

    memcpy(id, text, MIN(strlen(text), sizeof(id)));
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

static void cpuid_identity(struct kvm_cpuid2 *t)
{
    const X86CpuModel *m = request.model;
    static const uint32_t vendor_leaves[] = { 0, 0x80000000 };
    unsigned family = MIN(m->family, 15u);
    struct kvm_cpuid_entry2 *e;

    for (unsigned i = 0; i < G_N_ELEMENTS(vendor_leaves); i++) {
        e = cpuid_find(t, vendor_leaves[i], 0);
        if (e) {
            memcpy(&e->ebx, m->vendor, 4);
            memcpy(&e->edx, m->vendor + 4, 4);
            memcpy(&e->ecx, m->vendor + 8, 4);
        }
    }
    e = cpuid_find(t, 1, 0);
    if (e) {
        e->eax = m->stepping | (m->model & 0xf) << 4 | family << 8 | (m->model >> 4) << 16 |
                 (m->family - family) << 20;
    }
    e = cpuid_find(t, 7, 0);
    if (e) {
        e->eax = 0; /* none of the later sub-leaves */
    }
    cpuid_model_id(t, m->model_id);
}

static void cpuid_phys_bits(struct kvm_cpuid2 *t)
{
    struct kvm_cpuid_entry2 *e = cpuid_find(t, 0x80000008, 0);

    if (e && request.phys_bits) {
        uint32_t host = e->eax & 0xff;

        if (request.phys_bits > host) {
            report_warning("Host physical bits (%u) does not match phys-bits property (%u)", host,
                           request.phys_bits);
        }
        e->eax = (e->eax & ~0xffu) | MIN(request.phys_bits, host);
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
            e->ebx =
                (e->ebx & 0x0000ffff) | (p->apic_id & 0xff) << 24 | MIN(p->per_package, 255u) << 16;
            e->edx = p->per_package > 1 ? e->edx | 1u << 28 : e->edx & ~(1u << 28);
            break;
        case 4:
        case 0x8000001d:
            cache_sharing(e, p);
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

bool kvm_cpuid_setup(CPUState *cpu, int vcpu_fd, Error **errp)
{
    g_autofree struct kvm_cpuid2 *t = NULL;
    Topology p = topology_of(cpu);
    struct kvm_cpuid_entry2 *base;
    int ret;

    if (!supported && !cpuid_query_supported(errp)) {
        return false;
    }
    if (!request_parsed && !kvm_cpu_request_parse(&request, errp)) {
        return false;
    }
    request_parsed = true;
    t = cpuid_copy();
    if (!cpuid_features(t, cpu->index == 0, errp)) {
        return false;
    }
    cpuid_levels(t);
    if (!request.model->host) {
        cpuid_identity(t);
    }
    cpuid_phys_bits(t);
    cpuid_topology(t, &p);
    base = cpuid_find(t, 0, 0);
    if (base && base->eax >= 0xb) {
        cpuid_append_x2apic_topology(t, &p);
    }
    ret = kvm_ioctl(vcpu_fd, KVM_SET_CPUID2, t);
    if (ret < 0) {
        error_set_errno(errp, -ret, "KVM refuses the CPUID of -cpu %s", request.model->name);
        return false;
    }
    return true;
}
