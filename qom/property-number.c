/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Integer and size properties. Clients match on the texts, which depend on the form of the value
 * (JSON or key=value), on the sign, and on whether the owner is a device or a user-creatable
 * object.
 */
#include "property-number.h"

#include "internal.h"
#include "qapi/keyval.h"

#include <inttypes.h>
#include <string.h>

typedef enum { NUMBER_INT, NUMBER_UINT, NUMBER_SIZE } NumberKind;

const char *node_text(JsonNode *value)
{
    if (!JSON_NODE_HOLDS_VALUE(value) || json_node_get_value_type(value) != G_TYPE_STRING) {
        return NULL;
    }
    return json_node_get_string(value);
}

typedef const char *const Wording[3]; /* what is expected in key=value form, by kind */
static Wording device_wording = { "integer", "integer", "size" };
static Wording object_wording = { "an int64 value", "a uint64 value", "a size value" };

/* Reads a value as 64 bits; what is a valid range is the caller's business. */
static bool read_number(NumberKind kind, Wording words, const char *name, JsonNode *value,
                        QapiForm form, uint64_t *out, Error **errp)
{
    if (form == QAPI_KEYVAL && node_text(value)) {
        const char *text = node_text(value);
        bool ok;
        if (kind == NUMBER_INT) {
            int64_t i = 0;
            ok = parse_int64(text, &i);
            *out = i;
        } else {
            ok = kind == NUMBER_UINT ? parse_uint64(text, out) : parse_size(text, out);
        }
        if (!ok) {
            error_set(errp, "Parameter '%s' expects %s", name, words[kind]);
        }
        return ok;
    }

    GType gtype = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_value_type(value) : G_TYPE_INVALID;
    if (gtype == G_TYPE_INT64) {
        *out = json_node_get_int(value);
        return true;
    }
    if (kind == NUMBER_INT) {
        error_set(errp, "Invalid parameter type for '%s', expected: integer", name);
        return false;
    }
    /* Integers from 2^63 on arrive as doubles; 2^64 is what 2^64-1 is rounded to. */
    if (gtype == G_TYPE_DOUBLE) {
        double d = json_node_get_double(value);
        if (d >= 0x1p63 && d <= 0x1p64) {
            *out = d == 0x1p64 ? UINT64_MAX : (uint64_t)d;
            return true;
        }
    }
    error_set(errp, "Parameter '%s' expects uint64", name);
    return false;
}

static void store(Object *obj, const Property *prop, uint64_t v)
{
    void *field = property_field(obj, prop);

    switch (prop->type->size) {
    case 1:
        *(uint8_t *)field = v;
        break;
    case 2:
        *(uint16_t *)field = v;
        break;
    case 4:
        *(uint32_t *)field = v;
        break;
    default:
        *(uint64_t *)field = v;
        break;
    }
}

static uint64_t load(Object *obj, const Property *prop)
{
    void *field = property_field(obj, prop);

    switch (prop->type->size) {
    case 1:
        return *(uint8_t *)field;
    case 2:
        return *(uint16_t *)field;
    case 4:
        return *(uint32_t *)field;
    default:
        return *(uint64_t *)field;
    }
}

static int64_t load_signed(Object *obj, const Property *prop)
{
    void *field = property_field(obj, prop);
    return prop->type->size == 4 ? *(int32_t *)field : *(int64_t *)field;
}

static bool set_number(NumberKind kind, Wording words, Object *obj, const Property *prop,
                       JsonNode *value, QapiForm form, Error **errp)
{
    unsigned bits = prop->type->size * 8;
    uint64_t v;

    if (!read_number(kind, words, prop->name, value, form, &v, errp)) {
        return false;
    }
    if (bits < 64) {
        bool fits = kind == NUMBER_INT ? (int64_t)v >= INT32_MIN && (int64_t)v <= INT32_MAX
                                       : v >> bits == 0;
        if (!fits && kind == NUMBER_SIZE) {
            error_set(errp,
                      "Property %s.%s doesn't take value %" PRIu64 " (maximum: %" PRIu64 ")",
                      object_type_name(obj), prop->name, v, (UINT64_C(1) << bits) - 1);
            return false;
        }
        if (!fits) {
            error_set(errp, "Parameter '%s' expects %sint%u_t", prop->name,
                      kind == NUMBER_INT ? "" : "u", bits);
            return false;
        }
    }
    store(obj, prop, v);
    return true;
}

/* Block sizes that disks may have. */
#define BLOCK_SIZE_MIN 512
#define BLOCK_SIZE_MAX (2 * 1024 * 1024)

static bool blocksize_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                          Error **errp)
{
    uint64_t v;

    if (!read_number(NUMBER_SIZE, device_wording, prop->name, value, form, &v, errp)) {
        return false;
    }
    if (v && (v < BLOCK_SIZE_MIN || v > BLOCK_SIZE_MAX || (v & (v - 1)))) {
        error_set(errp, "parameter %s must be a power of 2 between %d and %d", prop->name,
                  BLOCK_SIZE_MIN, BLOCK_SIZE_MAX);
        return false;
    }
    store(obj, prop, v);
    return true;
}

#define DEFINE_SET(fn, kind, words)                                                                \
    static bool fn(Object *obj, const Property *prop, JsonNode *value, QapiForm form,              \
                   Error **errp)                                                                   \
    {                                                                                              \
        return set_number(kind, words, obj, prop, value, form, errp);                              \
    }
DEFINE_SET(int_set, NUMBER_INT, device_wording)
DEFINE_SET(uint_set, NUMBER_UINT, device_wording)
DEFINE_SET(size_set, NUMBER_SIZE, device_wording)
DEFINE_SET(object_int_set, NUMBER_INT, object_wording)
DEFINE_SET(object_uint_set, NUMBER_UINT, object_wording)
DEFINE_SET(object_size_set, NUMBER_SIZE, object_wording)

static JsonNode *int_get(Object *obj, const Property *prop, Error **errp)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_int(node, load_signed(obj, prop));
    return node;
}

static JsonNode *uint_get(Object *obj, const Property *prop, Error **errp)
{
    uint64_t v = load(obj, prop);
    JsonNode *node = json_node_new(JSON_NODE_VALUE);

    if (v > INT64_MAX) {
        json_node_set_double(node, (double)v);
    } else {
        json_node_set_int(node, v);
    }
    return node;
}

static char *int_print(Object *obj, const Property *prop)
{
    int64_t v = load_signed(obj, prop);
    return g_strdup_printf("%" PRId64 " (0x%" PRIx64 ")", v, (uint64_t)v);
}

static char *uint_print(Object *obj, const Property *prop)
{
    uint64_t v = load(obj, prop);
    return g_strdup_printf("%" PRIu64 " (0x%" PRIx64 ")", v, v);
}

static char *size_print(Object *obj, const Property *prop)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    uint64_t v = load(obj, prop);
    double d = v;
    unsigned i = 0;

    while (d >= 1000 && i + 1 < G_N_ELEMENTS(units)) {
        d /= 1024;
        i++;
    }
    return g_strdup_printf("%" PRIu64 " (%.3g %s)", v, d, units[i]);
}

static void number_set_default(Object *obj, const Property *prop)
{
    store(obj, prop, prop->def_int);
}

#define DEFINE_TYPE(var, shown, ctype, setter, getter, printer)                                    \
    const PropertyType var = {                                                                     \
        .name = (shown),                                                                           \
        .size = sizeof(ctype),                                                                     \
        .set = (setter),                                                                           \
        .get = (getter),                                                                           \
        .print = (printer),                                                                        \
        .set_default = number_set_default,                                                         \
    };
DEFINE_TYPE(prop_uint8, "uint8", uint8_t, uint_set, uint_get, uint_print)
DEFINE_TYPE(prop_uint16, "uint16", uint16_t, uint_set, uint_get, uint_print)
DEFINE_TYPE(prop_uint32, "uint32", uint32_t, uint_set, uint_get, uint_print)
DEFINE_TYPE(prop_uint64, "uint64", uint64_t, uint_set, uint_get, uint_print)
DEFINE_TYPE(prop_int32, "int32", int32_t, int_set, int_get, int_print)
DEFINE_TYPE(prop_int64, "int64", int64_t, int_set, int_get, int_print)
DEFINE_TYPE(prop_size, "size", uint64_t, size_set, uint_get, size_print)
DEFINE_TYPE(prop_size32, "size", uint32_t, size_set, uint_get, size_print)
DEFINE_TYPE(prop_object_int, "int", int64_t, object_int_set, int_get, int_print)
DEFINE_TYPE(prop_object_uint32, "int", uint32_t, object_uint_set, uint_get, uint_print)
DEFINE_TYPE(prop_object_size, "int", uint64_t, object_size_set, uint_get, size_print)

const PropertyType prop_blocksize = {
    .name = "size",
    .description = "A power of two between 512 B and 2 MiB",
    .size = sizeof(uint32_t),
    .set = blocksize_set,
    .get = uint_get,
    .print = size_print,
    .set_default = number_set_default,
};
