/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What management asks about processor models before it starts a guest. */
#include <string.h>

#include "hw/core/cpu.h"
#include "hw/i386/cpu-features.h"
#include "qapi/qapi-cpu.h"
#include "qom/object.h"

/* ---- query-cpu-definitions ---- */

static GPtrArray *unavailable(const X86CpuModel *m, const X86HostCpu *host)
{
    X86Features missing;

    if (m->host && !host) {
        /* Any features will do, but something has to have them. */
        GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

        g_ptr_array_add(list, g_strdup("kvm"));
        return list;
    }
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        missing.word[w] =
            m->host || !host ? 0 : m->features.word[w] & ~host->features.word[w];
    }
    return x86_feature_names(&missing);
}

GPtrArray *qmp_query_cpu_definitions(Error **errp)
{
    GPtrArray *list;
    X86HostCpu host;

    if (x86_cpu_accel && !x86_cpu_accel->host(&host, errp)) {
        return NULL;
    }
    list = g_ptr_array_new();
    for (guint i = 0; i < x86_cpu_models()->len; i++) {
        const X86CpuModel *m = x86_cpu_models()->pdata[i];
        CpuDefinitionInfo *info = g_new0(CpuDefinitionInfo, 1);

        m = x86_cpu_model_find(m->name); /* which fills in its features */
        info->name = g_strdup(m->name);
        info->typename = g_strdup_printf("%s-x86_64-cpu", m->name);
        info->alias_of = g_strdup(m->alias_of);
        info->has_migration_safe = true;
        info->migration_safe = !m->host;
        info->q_static = g_str_equal(m->name, "base");
        info->deprecated = m->deprecated;
        info->unavailable_features = unavailable(m, x86_cpu_accel ? &host : NULL);
        g_ptr_array_add(list, info);
    }
    return list;
}
QMP_REGISTER(query_cpu_definitions)

/* ---- query-cpu-model-expansion ---- */

typedef struct Expansion {
    X86HostCpu cpu;
    bool migratable;
} Expansion;

static bool start_from(Expansion *x, const X86CpuModel *m, Error **errp)
{
    X86HostCpu host;

    memset(x, 0, sizeof(*x));
    x->migratable = true;
    if (x86_cpu_accel && !x86_cpu_accel->host(&host, errp)) {
        return false;
    }
    if (m->host) {
        if (!x86_cpu_accel) {
            error_set(errp, "CPU model '%s' requires KVM", m->name);
            return false;
        }
        x->cpu = host;
        return true;
    }
    x->cpu.family = m->family;
    x->cpu.model = m->model;
    x->cpu.stepping = m->stepping;
    x->cpu.level = m->level;
    x->cpu.xlevel = m->xlevel;
    memcpy(x->cpu.vendor, m->vendor, sizeof(x->cpu.vendor) - 1);
    g_strlcpy(x->cpu.model_id, m->model_id ?: "", sizeof(x->cpu.model_id));
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        x->cpu.features.word[w] =
            m->features.word[w] & (x86_cpu_accel ? host.features.word[w] : UINT64_MAX);
    }
    return true;
}

/* A change is within what the host can give; the rest is refused by -cpu with `enforce`, and left
 * out without it. */
static bool change_feature(Expansion *x, const char *name, bool on, Error **errp)
{
    X86Features bits = { { 0 } };
    X86HostCpu host;

    if (x86_cpu_accel && !x86_cpu_accel->host(&host, errp)) {
        return false;
    }
    x86_feature_set(&bits, name, true);
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        if (!on) {
            x->cpu.features.word[w] &= ~bits.word[w];
        } else {
            x->cpu.features.word[w] |=
                bits.word[w] & (x86_cpu_accel ? host.features.word[w] : UINT64_MAX);
        }
    }
    return true;
}

static bool apply(Expansion *x, const X86CpuModel *m, const char *name, JsonNode *value,
                  Error **errp)
{
    static const char *const texts[] = { "vendor", "model-id", NULL };
    static const char *const numbers[] = { "family", "model", "stepping", "min-level",
                                           "min-xlevel", NULL };
    unsigned *const fields[] = { &x->cpu.family, &x->cpu.model, &x->cpu.stepping, &x->cpu.level,
                                 &x->cpu.xlevel };
    GType t = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_value_type(value) : G_TYPE_NONE;
    const char *expected = "boolean";
    X86FeatureWord w;
    unsigned b;

    if (g_strv_contains(texts, name)) {
        if (t == G_TYPE_STRING) {
            bool vendor = g_str_equal(name, "vendor");

            g_strlcpy(vendor ? x->cpu.vendor : x->cpu.model_id, json_node_get_string(value),
                      vendor ? sizeof(x->cpu.vendor) : sizeof(x->cpu.model_id));
            return true;
        }
        expected = "string";
    } else if (g_strv_contains(numbers, name)) {
        if (t == G_TYPE_INT64) {
            for (unsigned i = 0; numbers[i]; i++) {
                if (g_str_equal(numbers[i], name)) {
                    *fields[i] = json_node_get_int(value);
                }
            }
            return true;
        }
        expected = "integer";
    } else if (m->host && g_str_equal(name, "migratable")) {
        if (t == G_TYPE_BOOLEAN) {
            x->migratable = json_node_get_boolean(value);
            return true;
        }
    } else if (!x86_feature_find(name, &w, &b)) {
        error_set(errp, "Property '%s-x86_64-cpu.%s' not found", m->name, name);
        return false;
    } else if (t == G_TYPE_BOOLEAN) {
        return change_feature(x, name, json_node_get_boolean(value), errp);
    }
    error_set(errp, "Invalid parameter type for 'model.props.%s', expected: %s", name, expected);
    return false;
}

static bool apply_all(Expansion *x, const X86CpuModel *m, JsonNode *props, Error **errp)
{
    JsonObjectIter it;
    const char *key;
    JsonNode *value;

    if (!props) {
        return true;
    }
    if (!JSON_NODE_HOLDS_OBJECT(props)) {
        error_set(errp, "Invalid parameter type for 'model.props', expected: object");
        return false;
    }
    json_object_iter_init_ordered(&it, json_node_get_object(props));
    while (json_object_iter_next_ordered(&it, &key, &value)) {
        if (!apply(x, m, key, value, errp)) {
            return false;
        }
    }
    return true;
}

static JsonNode *expansion_props(const Expansion *x, const X86CpuModel *m, bool full)
{
    JsonObject *o = json_object_new();
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);

    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        uint64_t bits = x->cpu.features.word[w];

        if (m->host && x->migratable && w == FEAT_8000_0007_EDX) {
            bits &= ~(1u << 8); /* an invariant TSC ties the guest to this host's clock */
        }
        for (unsigned b = 0; b < 64; b++) {
            if (x86_feature_words[w].names[b]) {
                json_object_set_boolean_member(o, x86_feature_words[w].names[b], bits >> b & 1);
            }
        }
    }
    json_object_set_string_member(o, "vendor", x->cpu.vendor);
    json_object_set_string_member(o, "model-id", x->cpu.model_id);
    json_object_set_int_member(o, "family", x->cpu.family);
    json_object_set_int_member(o, "model", x->cpu.model);
    json_object_set_int_member(o, "stepping", x->cpu.stepping);
    json_object_set_int_member(o, "min-level", x->cpu.level);
    json_object_set_int_member(o, "min-xlevel", x->cpu.xlevel);
    if (full) {
        json_object_set_int_member(o, "level", x->cpu.level);
        json_object_set_int_member(o, "xlevel", x->cpu.xlevel);
        if (m->host) {
            json_object_set_boolean_member(o, "migratable", x->migratable);
        }
    }
    json_node_take_object(node, o);
    return node;
}

CpuModelExpansionInfo *qmp_query_cpu_model_expansion(const q_query_cpu_model_expansion_args *args,
                                                     Error **errp)
{
    const X86CpuModel *m = x86_cpu_model_find(args->model->name);
    bool full = args->type == CPU_MODEL_EXPANSION_TYPE_FULL;
    CpuModelExpansionInfo *info;
    Expansion x;

    if (!m) {
        error_set(errp, "CPU model '%s' not found", args->model->name);
        return NULL;
    }
    if (!start_from(&x, m, errp) || !apply_all(&x, m, args->model->props, errp)) {
        return NULL;
    }
    info = g_new0(CpuModelExpansionInfo, 1);
    info->model = g_new0(CpuModelInfo, 1);
    info->model->name = g_strdup(full ? m->name : "base");
    info->model->props = expansion_props(&x, m, full);
    return info;
}
QMP_REGISTER(query_cpu_model_expansion)
