/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processor models and the text of -cpu: which features result, and which are missed. */
#include <string.h>

#include "../../accel/kvm/kvm-cpu-features.h"
#include "hw/core/cpu.h"

static X86Features offered;
static KvmCpuRequest request;
static X86Features have, lacking;

static bool has(const X86Features *f, const char *name)
{
    X86FeatureWord w;
    unsigned bit;

    g_assert_true(x86_feature_find(name, &w, &bit));
    return f->word[w] >> bit & 1;
}

static bool choose(const char *text, bool amd, Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);

    g_free(request.vendor);
    g_free(request.model_id);
    cpu_model.name = parts[0];
    cpu_model.features = g_ptr_array_new();
    for (unsigned i = 1; parts[i]; i++) {
        g_ptr_array_add(cpu_model.features, parts[i]);
    }
    bool ok = kvm_cpu_request_parse(&request, errp) &&
              kvm_features_choose(&request, &offered, amd, false, &have, &lacking, errp);

    g_ptr_array_unref(cpu_model.features);
    cpu_model = (CpuModel){ NULL, NULL };
    return ok;
}

static void offer_all(void)
{
    memset(&offered, 0xff, sizeof(offered));
}

static void test_every_model_is_complete(void)
{
    const GPtrArray *all = x86_cpu_models();

    g_assert_cmpuint(all->len, >, 150);
    for (unsigned i = 0; i < all->len; i++) {
        const X86CpuModel *m = all->pdata[i];

        g_assert_true(x86_cpu_model_find(m->name) == m);
        if (m->host || !strcmp(m->name, "base")) {
            continue; /* all that the host has; nothing */
        }
        g_assert_cmpuint(strlen(m->vendor), ==, 12);
        g_assert_cmpuint(strlen(m->model_id), <=, 48);
        g_assert_true(has(&m->features, "fpu"));
        if (m->alias_of) {
            const X86CpuModel *target = x86_cpu_model_find(m->alias_of);

            g_assert_nonnull(target);
            g_assert_null(target->alias_of);
            g_assert_cmpmem(&m->features, sizeof(m->features), &target->features,
                            sizeof(target->features));
        }
    }
    g_assert_null(x86_cpu_model_find("nosuch"));
}

static void test_models_differ_as_they_should(void)
{
    static const struct {
        const char *model, *with, *without;
    } cases[] = {
        { "Haswell", "hle", "avx512f" },
        { "Haswell-noTSX", "avx2", "hle" },
        { "EPYC", "sha-ni", "ibpb" },
        { "EPYC-IBPB", "ibpb", "clzero" },
        { "EPYC-Rome", "wbnoinvd", "pku" },
        { "EPYC-Milan", "pku", "avx512f" },
        { "EPYC-Genoa", "avx512f", "hle" },
        { "Skylake-Server-noTSX-IBRS", "avx512f", "rtm" },
        { "Cascadelake-Server-v2", "rdctl-no", "avx512-bf16" },
        { "Penryn", "sse4.1", "sse4.2" },
        { "Westmere", "aes", "avx" },
        { "x86-64-v2-AES", "aes", "avx" },
        { "x86-64-v3", "avx2", "avx512f" },
        { "qemu64", "cx16", "sse4.1" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const X86CpuModel *m = x86_cpu_model_find(cases[i].model);

        g_test_message("%s", cases[i].model);
        g_assert_true(has(&m->features, cases[i].with));
        g_assert_false(has(&m->features, cases[i].without));
    }
}

static void test_names_of_features(void)
{
    static const char *const same[][2] = {
        { "sse4_1", "sse4.1" }, { "sse4-2", "sse4.2" }, { "lahf_lm", "lahf-lm" },
        { "sse3", "pni" },      { "xd", "nx" },         { "kvm_pv_eoi", "kvm-pv-eoi" },
    };
    X86Features f = { 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(same); i++) {
        X86FeatureWord w1, w2;
        unsigned b1, b2;

        g_assert_true(x86_feature_find(same[i][0], &w1, &b1));
        g_assert_true(x86_feature_find(same[i][1], &w2, &b2));
        g_assert_true(w1 == w2 && b1 == b2);
    }
    g_assert_true(x86_feature_set(&f, "kvmclock", true));
    g_assert_cmphex(f.word[FEAT_KVM], ==, 9);
    g_assert_false(x86_feature_set(&f, "nosuch", true));
    g_assert_false(x86_feature_set(&f, "", true));
}

static void test_plus_minus_and_values(void)
{
    offer_all();
    g_assert_true(choose("qemu64,+aes,-cx16,avx=on,pae=off,popcnt", false, NULL));
    g_assert_true(has(&have, "aes") && has(&have, "popcnt") && has(&have, "x2apic"));
    g_assert_false(has(&have, "cx16") || has(&have, "pae"));
    /* AVX without the means to save its registers is what was asked for. */
    g_assert_true(has(&have, "avx") && !has(&have, "xsave"));
    /* The last word counts. */
    g_assert_true(choose("qemu64,+aes,-aes", false, NULL));
    g_assert_false(has(&have, "aes"));
    g_assert_true(choose("qemu64,-aes,aes=on", false, NULL));
    g_assert_true(has(&have, "aes"));
    g_assert_true(choose("qemu64,kvm=off,pmu=off,migratable=off,enforce=off,l3-cache=off,"
                         "model_id=a=b",
                         false, NULL));
    g_assert_true(request.hide_kvm && request.no_pmu && !request.migratable && request.no_l3);
    g_assert_cmpstr(request.model_id, ==, "a=b");
    g_assert_true(choose("qemu64,tsc-frequency=2G", false, NULL));
    g_assert_cmpuint(request.tsc_hz, ==, 2000000000);
}

static void test_what_depends_goes_along(void)
{
    offer_all();
    g_assert_true(choose("Skylake-Server,-avx", false, NULL));
    g_assert_false(has(&have, "avx2") || has(&have, "avx512f") || has(&have, "avx512bw") ||
                   has(&have, "f16c"));
    g_assert_true(choose("Skylake-Server,-xsave", false, NULL));
    g_assert_false(has(&have, "avx") || has(&have, "xsaveopt") || has(&have, "pku"));
    g_assert_true(choose("Cascadelake-Server-v2,-arch-capabilities", false, NULL));
    g_assert_false(has(&have, "rdctl-no"));
}

static void test_host(void)
{
    offer_all();
    g_assert_true(choose("host,-aes", true, NULL));
    g_assert_true(has(&have, "avx") && !has(&have, "aes") && !has(&have, "invtsc"));
    /* Bit 27 of leaf 1 ECX has no name: whether the system has switched XSAVE on. */
    g_assert_false(have.word[FEAT_1_ECX] & 1u << 27);
    /* AMD's repetition of leaf 1. */
    g_assert_true(have.word[FEAT_8000_0001_EDX] & 1);
    g_assert_true(choose("host,migratable=off", false, NULL));
    g_assert_true(has(&have, "invtsc"));
}

static void test_what_is_missed(void)
{
    g_autoptr(Error) err = NULL;

    offer_all();
    x86_feature_set(&offered, "avx", false);
    g_assert_true(choose("Haswell", false, NULL));
    g_assert_false(has(&have, "avx"));
    g_assert_false(choose("Haswell,enforce", false, &err));
    g_assert_cmpstr(error_message(err), ==, "Host doesn't support requested features");
    g_assert_true(choose("Haswell,enforce,-avx", false, NULL));
    /* What KVM itself offers to a model is never missed, unless it was asked for. */
    offered.word[FEAT_KVM] = 0;
    g_assert_true(choose("Nehalem,enforce", false, NULL));
    g_assert_false(choose("Nehalem,enforce,+kvm_pv_eoi", false, NULL));
}

static void test_wrong_values(void)
{
    static const char *const bad[] = {
        "nosuch",           "qemu64,+nosuch",     "qemu64,nosuch=on", "qemu64,aes=2",
        "qemu64,phys-bits=31", "qemu64,vendor=me", "qemu64,family=-1", "qemu64,level=1x",
        "qemu64,hv-time",   "qemu64,lmce",        "qemu64,cpuid-0xb=off",
    };

    offer_all();
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(Error) err = NULL;

        g_test_message("%s", bad[i]);
        g_assert_false(choose(bad[i], false, &err));
        g_assert_nonnull(err);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cpu-models/every-model-is-complete", test_every_model_is_complete);
    g_test_add_func("/cpu-models/differ-as-they-should", test_models_differ_as_they_should);
    g_test_add_func("/cpu-models/names-of-features", test_names_of_features);
    g_test_add_func("/cpu-models/plus-minus-and-values", test_plus_minus_and_values);
    g_test_add_func("/cpu-models/what-depends-goes-along", test_what_depends_goes_along);
    g_test_add_func("/cpu-models/host", test_host);
    g_test_add_func("/cpu-models/what-is-missed", test_what_is_missed);
    g_test_add_func("/cpu-models/wrong-values", test_wrong_values);
    return g_test_run();
}
