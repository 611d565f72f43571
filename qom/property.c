/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of objects: finding, setting, getting, walking and describing them. */
#include "internal.h"

#include <inttypes.h>
#include <string.h>

#define LEGACY_PREFIX "legacy-"

bool (*object_realized_check)(Object *obj, const Property *prop, Error **errp);

void dynamic_free(Dynamic *d)
{
    g_free(d->name);
    object_unref(d->target);
    g_free(d);
}

Dynamic *object_dynamic(Object *obj, const char *name)
{
    for (guint i = 0; obj->dynamic && i < obj->dynamic->len; i++) {
        Dynamic *d = obj->dynamic->pdata[i];
        if (!strcmp(d->name, name)) {
            return d;
        }
    }
    return NULL;
}

const Property *class_property(const ObjectClass *klass, const char *name)
{
    for (; klass; klass = klass->parent) {
        for (const Property *p = klass->info->props; p && p->name; p++) {
            if (!strcmp(p->name, name)) {
                return p;
            }
        }
    }
    return NULL;
}

static void init_properties(Object *obj, const ObjectClass *klass)
{
    if (klass->parent) {
        init_properties(obj, klass->parent);
    }
    for (const Property *p = klass->info->props; p && p->name; p++) {
        if (p->type->set_default) {
            p->type->set_default(obj, p);
        }
    }
}

void object_init_properties(Object *obj)
{
    init_properties(obj, obj->klass);
}

void object_release_properties(Object *obj)
{
    for (const ObjectClass *k = obj->klass; k; k = k->parent) {
        for (const Property *p = k->info->props; p && p->name; p++) {
            if (p->type->release) {
                p->type->release(obj, p);
            }
        }
    }
}

const Property *object_find_property(Object *obj, const char *name, Object **target)
{
    const Property *prop = class_property(obj->klass, name);

    if (prop) {
        *target = obj;
        return prop;
    }
    Dynamic *d = object_dynamic(obj, name);
    if (d && d->kind == DYNAMIC_ALIAS) {
        *target = d->target;
        return d->prop;
    }
    return NULL;
}

/* The property NAME of "legacy-NAME". */
static const Property *find_legacy(Object *obj, const char *name, Object **target)
{
    if (!g_str_has_prefix(name, LEGACY_PREFIX)) {
        return NULL;
    }
    const Property *prop = object_find_property(obj, name + strlen(LEGACY_PREFIX), target);
    return prop && prop->type->has_legacy ? prop : NULL;
}

static void error_not_found(Object *obj, const char *name, Error **errp)
{
    error_set(errp, "Property '%s.%s' not found", object_type_name(obj), name);
}

static void error_not_writable(Object *obj, const char *name, Error **errp)
{
    error_set(errp, "Property '%s.%s' is not writable", object_type_name(obj), name);
}

static void error_not_readable(Object *obj, const char *name, Error **errp)
{
    error_set(errp, "Property '%s.%s' is not readable", object_type_name(obj), name);
}

/* Sets the field so that it has either the new value, checked, or the old one. */
static bool replace_value(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                          Error **errp)
{
    const PropertyType *type = prop->type;

    if (type->in_place) {
        return type->set(obj, prop, value, form, errp) &&
               (!prop->check || prop->check(obj, prop, errp));
    }

    void *field = property_field(obj, prop);
    g_autofree void *old = g_memdup2(field, type->size);
    if (type->release) {
        memset(field, 0, type->size);
    }
    bool was_set = type->set(obj, prop, value, form, errp);
    bool ok = was_set && (!prop->check || prop->check(obj, prop, errp));

    if (!ok) {
        if (was_set && type->release) {
            type->release(obj, prop);
        }
        memcpy(field, old, type->size);
        return false;
    }
    if (type->release) {
        /* The old value can only be released from the field. */
        g_autofree void *new = g_memdup2(field, type->size);
        memcpy(field, old, type->size);
        type->release(obj, prop);
        memcpy(field, new, type->size);
    }
    return true;
}

bool object_property_set(Object *obj, const char *name, JsonNode *value, QapiForm form,
                         Error **errp)
{
    Object *target;
    const Property *prop = object_find_property(obj, name, &target);
    g_autoptr(Object) held = NULL;

    if (!prop) {
        if (object_child(obj, name) || find_legacy(obj, name, &target)) {
            error_not_writable(obj, name, errp);
        } else {
            error_not_found(obj, name, errp);
        }
        return false;
    }
    if ((prop->flags & PROP_READ_ONLY) || !prop->type->set) {
        error_not_writable(obj, name, errp);
        return false;
    }
    if (object_realized_check && !object_realized_check(target, prop, errp)) {
        return false;
    }
    /* Taking effect may wait, and a guest give the device back meanwhile. */
    held = object_ref(target);
    if (!replace_value(target, prop, value, form, errp)) {
        return false;
    }
    if (prop->changed) {
        prop->changed(target, prop);
    }
    return true;
}

bool object_property_set_str(Object *obj, const char *name, const char *value, Error **errp)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_VALUE);
    json_node_set_string(node, value);
    return object_property_set(obj, name, node, QAPI_KEYVAL, errp);
}

static JsonNode *string_node(char *text)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_string(node, text);
    g_free(text);
    return node;
}

JsonNode *object_property_get(Object *obj, const char *name, Error **errp)
{
    Object *target;
    const Property *prop = object_find_property(obj, name, &target);

    if (prop) {
        if (!prop->type->get) {
            error_not_readable(obj, name, errp);
            return NULL;
        }
        return prop->type->get(target, prop, errp);
    }

    Object *child = object_child(obj, name);
    if (child) {
        char *path = object_path(child);
        return string_node(path ? path : g_strdup(""));
    }

    prop = find_legacy(obj, name, &target);
    if (prop) {
        if (!prop->type->print) {
            error_not_readable(target, name, errp);
            return NULL;
        }
        return string_node(prop->type->print(target, prop));
    }
    error_not_found(obj, name, errp);
    return NULL;
}

void object_alias_properties(Object *obj, Object *target, const char *upto)
{
    if (!obj->dynamic) {
        obj->dynamic = g_ptr_array_new_with_free_func((GDestroyNotify)dynamic_free);
    }
    for (const ObjectClass *k = target->klass; k; k = k->parent) {
        for (const Property *p = k->info->props; p && p->name; p++) {
            /* An object's own property, or an earlier alias, hides the target's. */
            if ((p->flags & PROP_HIDDEN) || class_property(obj->klass, p->name) ||
                object_dynamic(obj, p->name)) {
                continue;
            }
            Dynamic *d = g_new0(Dynamic, 1);
            d->kind = DYNAMIC_ALIAS;
            d->name = g_strdup(p->name);
            d->target = object_ref(target);
            d->prop = p;
            g_ptr_array_add(obj->dynamic, d);
        }
        if (!strcmp(k->info->name, upto)) {
            return;
        }
    }
    g_assert_not_reached();
}

/* ---- walking ---- */

char *property_type_text(const Property *prop)
{
    return prop->type->full_name ? prop->type->full_name(prop) : g_strdup(prop->type->name);
}

static void emit_property(Object *obj, const Property *prop, ObjectPropertyFn *fn, void *opaque)
{
    g_autofree char *type = property_type_text(prop);

    fn(obj, prop->name, type, prop, opaque);
    if (prop->type->has_legacy) {
        static const Property legacy = { .flags = PROP_READ_ONLY | PROP_HIDDEN };
        g_autofree char *name = g_strconcat(LEGACY_PREFIX, prop->name, NULL);
        fn(obj, name, "str", &legacy, opaque);
    }
}

static void emit_class(Object *obj, const ObjectClass *klass, ObjectPropertyFn *fn, void *opaque)
{
    if (klass->parent) {
        emit_class(obj, klass->parent, fn, opaque);
    }
    for (const Property *p = klass->info->props; p && p->name; p++) {
        emit_property(obj, p, fn, opaque);
    }
}

void object_class_for_each_property(ObjectClass *klass, ObjectPropertyFn *fn, void *opaque)
{
    emit_class(NULL, klass, fn, opaque);
}

void object_for_each_property(Object *obj, ObjectPropertyFn *fn, void *opaque)
{
    emit_class(obj, obj->klass, fn, opaque);
    for (guint i = 0; obj->dynamic && i < obj->dynamic->len; i++) {
        Dynamic *d = obj->dynamic->pdata[i];
        if (d->kind == DYNAMIC_ALIAS) {
            emit_property(obj, d->prop, fn, opaque);
        } else {
            g_autofree char *type = g_strdup_printf("child<%s>", object_type_name(d->target));
            fn(obj, d->name, type, NULL, opaque);
        }
    }
}

/* ---- describing ---- */

/* Of user-creatable objects and machines users are not told defaults, as clients expect it. */
static bool shows_default(const Property *prop)
{
    static const PropertyType *const silent[] = { &prop_object_int, &prop_object_bool,
                                                  &prop_object_size, &prop_object_uint32,
                                                  &prop_object_string };
    for (guint i = 0; i < G_N_ELEMENTS(silent); i++) {
        if (prop->type == silent[i]) {
            return false;
        }
    }
    return prop->def != DEFAULT_NONE;
}

JsonNode *property_default_json(const Property *prop)
{
    if (!shows_default(prop)) {
        return NULL;
    }
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    switch (prop->def) {
    case DEFAULT_BOOL:
        json_node_set_boolean(node, prop->def_int);
        break;
    case DEFAULT_UINT:
        if (prop->def_int < 0) {
            json_node_set_double(node, (double)(uint64_t)prop->def_int);
        } else {
            json_node_set_int(node, prop->def_int);
        }
        break;
    case DEFAULT_STR:
        json_node_set_string(node, prop->def_str);
        break;
    case DEFAULT_ENUM:
        json_node_set_string(node, qapi_enum_name(prop->arg, prop->def_int));
        break;
    default:
        json_node_set_int(node, prop->def_int);
        break;
    }
    return node;
}

static char *default_text(const Property *prop)
{
    if (!shows_default(prop)) {
        return NULL;
    }
    switch (prop->def) {
    case DEFAULT_BOOL:
        return g_strdup(prop->def_int ? "on" : "off");
    case DEFAULT_UINT:
        return g_strdup_printf("%" PRIu64, (uint64_t)prop->def_int);
    case DEFAULT_STR:
        return g_strdup_printf("\"%s\"", prop->def_str);
    case DEFAULT_ENUM:
        return g_strdup(qapi_enum_name(prop->arg, prop->def_int));
    default:
        return g_strdup_printf("%" PRId64, prop->def_int);
    }
}

static void help_line(Object *obj, const char *name, const char *type, const Property *prop,
                      void *opaque)
{
    GPtrArray *lines = opaque;

    if (prop && (prop->flags & PROP_HIDDEN)) {
        return;
    }
    const char *desc = prop ? property_description(prop) : NULL;
    g_autofree char *dflt = prop ? default_text(prop) : NULL;
    GString *s = g_string_new(NULL);

    g_string_append_printf(s, "  %s=<%s>", name, type);
    if (desc || dflt) {
        while (s->len < 24) {
            g_string_append_c(s, ' ');
        }
        g_string_append_printf(s, " - %s", desc ? desc : "");
    }
    if (dflt) {
        g_string_append_printf(s, " (default: %s)", dflt);
    }
    g_ptr_array_add(lines, g_string_free(s, FALSE));
}

static int compare_lines(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *object_class_property_help(ObjectClass *klass)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

    if (klass->info->abstract) {
        object_class_for_each_property(klass, help_line, lines);
    } else {
        g_autoptr(Object) obj = object_new(klass->info->name);
        object_for_each_property(obj, help_line, lines);
    }
    g_ptr_array_sort(lines, compare_lines);

    GString *text = g_string_new(NULL);
    for (guint i = 0; i < lines->len; i++) {
        g_string_append_printf(text, "%s\n", (char *)lines->pdata[i]);
    }
    return g_string_free(text, FALSE);
}
