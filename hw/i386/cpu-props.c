/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Features of a processor as properties of its object: management compares what a guest got with
 * what it asked for.
 */
#include "cpu-props.h"

#include <string.h>

#include "hw/core/cpu.h"
#include "hw/i386/cpu-features.h"

/* What the guest's processors have, and lack of what was asked for. */
static bool guest_features(Object *obj, X86Features *got, X86Features *missing, Error **errp)
{
    const char *type = object_type_name(obj);
    g_autofree char *name = g_strndup(type, strlen(type) - strlen("-x86_64-cpu"));

    memset(missing, 0, sizeof(*missing));
    if (x86_cpu_accel) {
        return x86_cpu_accel->guest(got, missing, errp);
    }
    *got = x86_cpu_model_find(name)->features;
    return true;
}

static JsonNode *feature_get(Object *obj, const Property *prop, Error **errp)
{
    unsigned place = GPOINTER_TO_UINT(prop->arg);
    X86Features got, missing;
    JsonNode *n;

    if (!guest_features(obj, &got, &missing, errp)) {
        return NULL;
    }
    n = json_node_new(JSON_NODE_VALUE);
    json_node_set_boolean(n, got.word[place / 64] >> place % 64 & 1);
    return n;
}

static JsonNode *unavailable_get(Object *obj, const Property *prop, Error **errp)
{
    X86Features got, missing;
    g_autoptr(GPtrArray) names = NULL;
    JsonArray *a;
    JsonNode *n;

    if (!guest_features(obj, &got, &missing, errp)) {
        return NULL;
    }
    names = x86_feature_names(&missing);
    a = json_array_new();
    for (guint i = 0; i < names->len; i++) {
        json_array_add_string_element(a, names->pdata[i]);
    }
    n = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(n, a);
    return n;
}

static JsonNode *migratable_get(Object *obj, const Property *prop, Error **errp)
{
    bool on = true;
    JsonNode *n;

    for (guint i = 0; cpu_model.features && i < cpu_model.features->len; i++) {
        const char *f = cpu_model.features->pdata[i];

        if (g_str_equal(f, "migratable=off") || g_str_equal(f, "-migratable")) {
            on = false;
        } else if (g_str_equal(f, "migratable=on") || g_str_equal(f, "+migratable")) {
            on = true;
        }
    }
    n = json_node_new(JSON_NODE_VALUE);
    json_node_set_boolean(n, on);
    return n;
}

static const PropertyType prop_feature = { .name = "bool", .get = feature_get };
static const PropertyType prop_unavailable = { .name = "strList", .get = unavailable_get };
static const PropertyType prop_migratable = { .name = "bool", .get = migratable_get };

const Property x86_cpu_host_props[] = {
    { .name = "migratable", .type = &prop_migratable, .flags = PROP_READ_ONLY },
    PROP_END,
};

const Property *x86_cpu_props_with_features(const Property *others)
{
    GArray *list = g_array_new(true, true, sizeof(Property));
    Property p = { .name = "unavailable-features", .type = &prop_unavailable,
                   .flags = PROP_READ_ONLY };

    for (; others->name; others++) {
        g_array_append_vals(list, others, 1);
    }
    g_array_append_val(list, p);
    p.type = &prop_feature;
    for (unsigned w = 0; w < FEAT__COUNT; w++) {
        for (unsigned b = 0; b < 64; b++) {
            X86FeatureWord first;
            unsigned bit;

            p.name = x86_feature_words[w].names[b];
            p.arg = GUINT_TO_POINTER(w * 64 + b);
            /* Some features have more than one bit. */
            if (p.name && x86_feature_find(p.name, &first, &bit) && first == w && bit == b) {
                g_array_append_val(list, p);
            }
        }
    }
    return (const Property *)g_array_free(list, false);
}
