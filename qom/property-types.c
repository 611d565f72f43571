/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types that properties commonly have, and how each reads and shows its values. */
#include "internal.h"

#include "property-number.h"
#include "qapi/keyval.h"

#include <string.h>

/* ---- bool, and bits of a uint64_t ---- */

static bool read_bool(const Property *prop, JsonNode *value, QapiForm form, bool *out, Error **errp)
{
    if (form == QAPI_KEYVAL && node_text(value)) {
        return parse_bool(prop->name, node_text(value), out, errp);
    }
    if (!JSON_NODE_HOLDS_VALUE(value) || json_node_get_value_type(value) != G_TYPE_BOOLEAN) {
        error_set(errp, "Invalid parameter type for '%s', expected: boolean", prop->name);
        return false;
    }
    *out = json_node_get_boolean(value);
    return true;
}

static JsonNode *bool_node(bool on)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_boolean(node, on);
    return node;
}

static bool bool_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                     Error **errp)
{
    return read_bool(prop, value, form, property_field(obj, prop), errp);
}

static JsonNode *bool_get(Object *obj, const Property *prop, Error **errp)
{
    return bool_node(*(bool *)property_field(obj, prop));
}

static char *bool_print(Object *obj, const Property *prop)
{
    return g_strdup(*(bool *)property_field(obj, prop) ? "true" : "false");
}

static void bool_set_default(Object *obj, const Property *prop)
{
    *(bool *)property_field(obj, prop) = prop->def_int;
}

const PropertyType prop_bool = {
    .name = "bool",
    .description = "on/off",
    .size = sizeof(bool),
    .set = bool_set,
    .get = bool_get,
    .print = bool_print,
    .set_default = bool_set_default,
};

const PropertyType prop_object_bool = {
    .name = "bool",
    .size = sizeof(bool),
    .set = bool_set,
    .get = bool_get,
    .print = bool_print,
    .set_default = bool_set_default,
};

static uint64_t bit_mask(const Property *prop)
{
    return UINT64_C(1) << GPOINTER_TO_UINT(prop->arg);
}

static void bit64_write(Object *obj, const Property *prop, bool on)
{
    uint64_t *field = property_field(obj, prop);
    *field = on ? *field | bit_mask(prop) : *field & ~bit_mask(prop);
}

static bool bit64_read(Object *obj, const Property *prop)
{
    return *(uint64_t *)property_field(obj, prop) & bit_mask(prop);
}

static bool bit64_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                      Error **errp)
{
    bool on;
    if (!read_bool(prop, value, form, &on, errp)) {
        return false;
    }
    bit64_write(obj, prop, on);
    return true;
}

static JsonNode *bit64_get(Object *obj, const Property *prop, Error **errp)
{
    return bool_node(bit64_read(obj, prop));
}

static char *bit64_print(Object *obj, const Property *prop)
{
    return g_strdup(bit64_read(obj, prop) ? "true" : "false");
}

static void bit64_set_default(Object *obj, const Property *prop)
{
    bit64_write(obj, prop, prop->def_int);
}

const PropertyType prop_bit64 = {
    .name = "bool",
    .description = "on/off",
    .size = sizeof(uint64_t),
    .set = bit64_set,
    .get = bit64_get,
    .print = bit64_print,
    .set_default = bit64_set_default,
};

/* ---- strings ---- */

static JsonNode *string_node(const char *text)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_string(node, text);
    return node;
}

static const char *read_string(const Property *prop, JsonNode *value, Error **errp)
{
    const char *text = node_text(value);

    if (!text) {
        error_set(errp, "Invalid parameter type for '%s', expected: string", prop->name);
    }
    return text;
}

static bool string_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                       Error **errp)
{
    const char *text = read_string(prop, value, errp);
    if (!text) {
        return false;
    }
    *(char **)property_field(obj, prop) = g_strdup(text);
    return true;
}

static JsonNode *string_get(Object *obj, const Property *prop, Error **errp)
{
    const char *text = *(char **)property_field(obj, prop);
    return string_node(text ? text : "");
}

static char *string_print(Object *obj, const Property *prop)
{
    const char *text = *(char **)property_field(obj, prop);
    return g_strdup_printf("\"%s\"", text ? text : "");
}

static void string_set_default(Object *obj, const Property *prop)
{
    *(char **)property_field(obj, prop) = g_strdup(prop->def_str);
}

static void string_release(Object *obj, const Property *prop)
{
    g_clear_pointer((char **)property_field(obj, prop), g_free);
}

const PropertyType prop_string = {
    .name = "str",
    .size = sizeof(char *),
    .set = string_set,
    .get = string_get,
    .print = string_print,
    .set_default = string_set_default,
    .release = string_release,
};

const PropertyType prop_object_string = {
    .name = "string",
    .size = sizeof(char *),
    .set = string_set,
    .get = string_get,
    .print = string_print,
    .set_default = string_set_default,
    .release = string_release,
};

static JsonNode *type_name_get(Object *obj, const Property *prop, Error **errp)
{
    return string_node(object_type_name(obj));
}

const PropertyType prop_type_name = {
    .name = "string",
    .get = type_name_get,
};

/* ---- enumerations ---- */

static bool enum_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                     Error **errp)
{
    const char *text = read_string(prop, value, errp);
    if (!text) {
        return false;
    }
    int n = qapi_enum_parse(prop->arg, text);
    if (n < 0) {
        error_set(errp, "Parameter '%s' does not accept value '%s'", prop->name, text);
        return false;
    }
    *(int *)property_field(obj, prop) = n;
    return true;
}

static const char *enum_text(Object *obj, const Property *prop)
{
    return qapi_enum_name(prop->arg, *(int *)property_field(obj, prop));
}

static JsonNode *enum_get(Object *obj, const Property *prop, Error **errp)
{
    return string_node(enum_text(obj, prop));
}

static char *enum_print(Object *obj, const Property *prop)
{
    return g_strdup_printf("\"%s\"", enum_text(obj, prop));
}

static void enum_set_default(Object *obj, const Property *prop)
{
    *(int *)property_field(obj, prop) = prop->def_int;
}

static char *enum_full_name(const Property *prop)
{
    return g_strdup(((const QapiEnum *)prop->arg)->name);
}

const PropertyType prop_enum = {
    .name = "enum",
    .size = sizeof(int),
    .set = enum_set,
    .get = enum_get,
    .print = enum_print,
    .set_default = enum_set_default,
    .full_name = enum_full_name,
};

/* "a/b/c", or what users know better. */
static const char *enum_description(const QapiEnum *e)
{
    if (!strcmp(e->name, "OnOffAuto")) {
        return "on/off/auto";
    }
    g_autofree char *values = g_strjoinv("/", (char **)e->values);
    if (strcmp(e->name, "BlockdevOnError")) {
        return g_intern_string(values);
    }
    g_autofree char *policy = g_strdup_printf("Error handling policy (%s)", values);
    return g_intern_string(policy);
}

const char *property_description(const Property *prop)
{
    if (prop->description) {
        return prop->description;
    }
    if (prop->type == &prop_enum) {
        return enum_description(prop->arg);
    }
    return prop->type ? prop->type->description : NULL;
}

/* ---- links ---- */

static bool link_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                     Error **errp)
{
    const char *path = read_string(prop, value, errp);
    if (!path) {
        return false;
    }
    if (!path[0]) {
        return true; /* the field has been cleared */
    }

    bool ambiguous;
    Object *target = object_resolve_type(path, prop->arg, &ambiguous);
    if (ambiguous) {
        error_set(errp, "Path '%s' does not uniquely identify an object", path);
        return false;
    }
    if (!target) {
        if (object_resolve(path, &ambiguous) || ambiguous) {
            error_set(errp, "Invalid parameter type for '%s', expected: %s", prop->name,
                      (const char *)prop->arg);
        } else {
            error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", path);
        }
        return false;
    }
    object_use(target);
    *(Object **)property_field(obj, prop) = target;
    return true;
}

static JsonNode *link_get(Object *obj, const Property *prop, Error **errp)
{
    Object *target = *(Object **)property_field(obj, prop);
    g_autofree char *path = target ? object_path(target) : NULL;
    return string_node(path ? path : "");
}

static void link_release(Object *obj, const Property *prop)
{
    g_clear_pointer((Object **)property_field(obj, prop), object_unuse);
}

static char *link_full_name(const Property *prop)
{
    return g_strdup_printf("link<%s>", (const char *)prop->arg);
}

const PropertyType prop_link = {
    .name = "link",
    .size = sizeof(Object *),
    .set = link_set,
    .get = link_get,
    .release = link_release,
    .full_name = link_full_name,
    .has_legacy = true,
};
