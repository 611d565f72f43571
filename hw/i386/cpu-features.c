/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding processor features and models by name. */
#include "hw/i386/cpu-features.h"

#include <string.h>

#include "cpu-models.h"

const X86CpuAccel *x86_cpu_accel;

static const struct {
    const char *alias, *name;
} aliases[] = {
    { "sse3", "pni" },      { "pclmuldq", "pclmulqdq" }, { "sse4-1", "sse4.1" },
    { "sse4-2", "sse4.2" }, { "i64", "lm" },             { "xd", "nx" },
    { "ffxsr", "fxsr-opt" },
};

/* Caller frees. */
static char *canonical_name(const char *name)
{
    char *c = g_strdelimit(g_strdup(name), "_", '-');

    for (unsigned i = 0; i < G_N_ELEMENTS(aliases); i++) {
        if (!strcmp(c, aliases[i].alias)) {
            g_free(c);
            return g_strdup(aliases[i].name);
        }
    }
    return c;
}

bool x86_feature_find(const char *name, X86FeatureWord *word, unsigned *bit)
{
    g_autofree char *c = canonical_name(name);

    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        for (unsigned b = 0; b < 64; b++) {
            if (!g_strcmp0(x86_feature_words[w].names[b], c)) {
                *word = w;
                *bit = b;
                return true;
            }
        }
    }
    return false;
}

bool x86_feature_set(X86Features *f, const char *name, bool on)
{
    g_autofree char *c = canonical_name(name);
    bool found = false;

    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        for (unsigned b = 0; b < 64; b++) {
            if (!g_strcmp0(x86_feature_words[w].names[b], c)) {
                f->word[w] = on ? f->word[w] | 1ull << b : f->word[w] & ~(1ull << b);
                found = true;
            }
        }
    }
    return found;
}

GPtrArray *x86_feature_names(const X86Features *f)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        for (unsigned b = 0; b < 64; b++) {
            if ((f->word[w] >> b & 1) && x86_feature_words[w].names[b]) {
                g_ptr_array_add(list, g_strdup(x86_feature_words[w].names[b]));
            }
        }
    }
    return list;
}

/* ---- models ---- */

typedef struct ModelEntry {
    X86CpuModel m;
    const X86ModelDef *def; /* NULL: as the host */
    bool has_features;      /* they are put together when the model is asked for */
} ModelEntry;

static GHashTable *by_name; /* of ModelEntry */
static GPtrArray *all;      /* of the same */

static ModelEntry *model_add(const char *name, const X86ModelDef *d)
{
    ModelEntry *e = g_new0(ModelEntry, 1);

    e->def = d;
    e->m.name = name;
    if (d) {
        e->m.vendor = d->vendor;
        e->m.family = d->family;
        e->m.model = d->model;
        e->m.stepping = d->stepping;
        e->m.level = d->level;
        e->m.xlevel = d->xlevel;
        e->m.model_id = d->model_id;
        e->m.deprecated = d->deprecated;
    } else {
        e->m.host = true;
        e->has_features = true;
    }
    g_hash_table_insert(by_name, (gpointer)name, e);
    g_ptr_array_add(all, e);
    return e;
}

static void model_make_features(ModelEntry *e)
{
    const X86ModelDef *d = e->def;
    g_auto(GStrv) changes = NULL;

    if (e->has_features) {
        return;
    }
    e->has_features = true;
    if (d->base) {
        ModelEntry *base = g_hash_table_lookup(by_name, d->base);

        g_assert(base && base != e);
        model_make_features(base);
        e->m.features = base->m.features;
    }
    changes = g_strsplit(d->changes, " ", -1);
    for (unsigned i = 0; changes[i]; i++) {
        bool minus = changes[i][0] == '-';

        if (*changes[i] && !x86_feature_set(&e->m.features, changes[i] + minus, !minus)) {
            g_error("model '%s': there is no feature '%s'", d->name, changes[i]);
        }
    }
}

static void models_make(void)
{
    /* Nothing: what others are described on top of. */
    static const X86ModelDef base = {
        .name = "base", .vendor = "\0\0\0\0\0\0\0\0\0\0\0", .model_id = "", .changes = "",
    };

    by_name = g_hash_table_new(g_str_hash, g_str_equal);
    all = g_ptr_array_new();
    model_add("base", &base);
    model_add("host", NULL);
    model_add("max", NULL);
    for (const X86ModelDef *d = x86_model_defs; d->name; d++) {
        model_add(d->name, d);
    }
    for (const X86ModelAlias *a = x86_model_aliases; a->name; a++) {
        const ModelEntry *target = g_hash_table_lookup(by_name, a->stands_for);

        g_assert(target);
        model_add(a->name, target->def)->m.alias_of = target->m.name;
    }
}

const GPtrArray *x86_cpu_models(void)
{
    if (!all) {
        models_make();
    }
    return all;
}

const X86CpuModel *x86_cpu_model_find(const char *name)
{
    ModelEntry *e;

    x86_cpu_models();
    e = g_hash_table_lookup(by_name, name);
    if (e) {
        model_make_features(e);
    }
    return e ? &e->m : NULL;
}
