/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scalars from JSON or from strings, and the names of parameters in errors. */
#include <math.h>

#include "decode-internal.h"
#include "qapi/keyval.h"

static void append_path(GString *s, const Place *place, QapiForm form)
{
    if (place->up) {
        append_path(s, place->up, form);
    }
    if (place->index >= 0) {
        g_string_append_printf(s, form == QAPI_KEYVAL ? ".%d" : "[%d]", place->index);
    } else if (place->name) {
        g_string_append_printf(s, "%s%s", s->len ? "." : "", place->name);
    }
}

char *decode_path(const Decoder *d, const Place *place)
{
    GString *s = g_string_new(NULL);

    append_path(s, place, d->form);
    if (!s->len) {
        g_string_append(s, "<anonymous>");
    }
    return g_string_free(s, FALSE);
}

bool decode_fail_type(const Decoder *d, const Place *place, const char *expected)
{
    g_autofree char *path = decode_path(d, place);

    error_set(d->errp, "Invalid parameter type for '%s', expected: %s", path, expected);
    return false;
}

static bool fail_expects(const Decoder *d, const Place *place, const char *expected)
{
    g_autofree char *path = decode_path(d, place);

    error_set(d->errp, "Parameter '%s' expects %s", path, expected);
    return false;
}

/* Clients know the range errors with the parameter's last name; an element has none, so that it
 * takes the whole path. */
static bool fail_range(const Decoder *d, const Place *place, const QapiType *type)
{
    bool element = place->index >= 0;
    g_autofree char *path = element ? decode_path(d, place) : g_strdup(place->name);

    error_set(d->errp, "Parameter '%s' expects %sint%zu%s", path ? path : "null",
              type->kind == QAPI_INT ? "" : "u", type->size * 8, element ? "" : "_t");
    return false;
}

/* The text of a scalar in the key=value form. */
static const char *keyval_text(const Decoder *d, JsonNode *value, const Place *place)
{
    if (decode_is(value, G_TYPE_STRING)) {
        return json_node_get_string(value);
    }
    if (JSON_NODE_HOLDS_OBJECT(value) || JSON_NODE_HOLDS_ARRAY(value)) {
        g_autofree char *path = decode_path(d, place);

        error_set(d->errp, "Parameters '%s.*' are unexpected", path);
    } else {
        decode_fail_type(d, place, "string");
    }
    return NULL;
}

static bool decode_int(const Decoder *d, const QapiType *type, JsonNode *value,
                       const Place *place, void *out)
{
    int64_t v;

    if (d->form == QAPI_KEYVAL) {
        const char *text = keyval_text(d, value, place);

        if (!text) {
            return false;
        }
        if (!parse_int64(text, &v)) {
            return fail_expects(d, place, "integer");
        }
    } else {
        if (!decode_is(value, G_TYPE_INT64)) {
            return decode_fail_type(d, place, "integer");
        }
        v = json_node_get_int(value);
    }
    switch (type->size) {
    case 1:
        *(int8_t *)out = (int8_t)v;
        return v == (int8_t)v || fail_range(d, place, type);
    case 2:
        *(int16_t *)out = (int16_t)v;
        return v == (int16_t)v || fail_range(d, place, type);
    case 4:
        *(int32_t *)out = (int32_t)v;
        return v == (int32_t)v || fail_range(d, place, type);
    default:
        *(int64_t *)out = v;
        return true;
    }
}

static bool decode_uint(const Decoder *d, const QapiType *type, JsonNode *value,
                        const Place *place, void *out)
{
    uint64_t v;

    if (d->form == QAPI_KEYVAL) {
        const char *text = keyval_text(d, value, place);

        if (!text) {
            return false;
        }
        if (type->kind == QAPI_SIZE) {
            if (!parse_size(text, &v)) {
                return fail_expects(d, place, "size");
            }
        } else if (!parse_uint64(text, &v)) {
            return fail_expects(d, place, "integer");
        }
    } else if (decode_is(value, G_TYPE_INT64)) {
        /* A negative number stands for its two's complement, as old clients write 2^64-1. */
        v = (uint64_t)json_node_get_int(value);
        if (type->kind == QAPI_SIZE && v > INT64_MAX) {
            return fail_expects(d, place, "uint64");
        }
    } else {
        double n = decode_is(value, G_TYPE_DOUBLE) ? json_node_get_double(value) : 0;

        /* Integers above INT64_MAX arrive as doubles; 2^64-1 is rounded to 2^64. */
        if (!(n >= 0x1p63 && n <= 0x1p64)) {
            return fail_expects(d, place, "uint64");
        }
        v = n < 0x1p64 ? (uint64_t)n : UINT64_MAX;
    }
    switch (type->size) {
    case 1:
        *(uint8_t *)out = (uint8_t)v;
        return v <= UINT8_MAX || fail_range(d, place, type);
    case 2:
        *(uint16_t *)out = (uint16_t)v;
        return v <= UINT16_MAX || fail_range(d, place, type);
    case 4:
        *(uint32_t *)out = (uint32_t)v;
        return v <= UINT32_MAX || fail_range(d, place, type);
    default:
        *(uint64_t *)out = v;
        return true;
    }
}

static bool decode_number(const Decoder *d, JsonNode *value, const Place *place, double *out)
{
    if (d->form == QAPI_KEYVAL) {
        const char *text = keyval_text(d, value, place);
        char *end;

        if (!text) {
            return false;
        }
        *out = g_ascii_strtod(text, &end);
        return (end != text && !*end && isfinite(*out)) || fail_expects(d, place, "number");
    }
    if (decode_is(value, G_TYPE_INT64)) {
        *out = (double)json_node_get_int(value);
        return true;
    }
    if (!decode_is(value, G_TYPE_DOUBLE)) {
        return decode_fail_type(d, place, "number");
    }
    *out = json_node_get_double(value);
    return true;
}

static bool decode_bool(const Decoder *d, JsonNode *value, const Place *place, bool *out)
{
    if (d->form == QAPI_KEYVAL) {
        const char *text = keyval_text(d, value, place);
        g_autofree char *path = NULL;

        if (!text) {
            return false;
        }
        path = decode_path(d, place);
        return parse_bool(path, text, out, d->errp);
    }
    if (!decode_is(value, G_TYPE_BOOLEAN)) {
        return decode_fail_type(d, place, "boolean");
    }
    *out = json_node_get_boolean(value);
    return true;
}

/* The text of a string; NULL on error. */
static const char *decode_text(const Decoder *d, JsonNode *value, const Place *place)
{
    if (d->form == QAPI_KEYVAL) {
        return keyval_text(d, value, place);
    }
    if (!decode_is(value, G_TYPE_STRING)) {
        decode_fail_type(d, place, "string");
        return NULL;
    }
    return json_node_get_string(value);
}

static bool decode_enum(const Decoder *d, const QapiType *type, JsonNode *value,
                        const Place *place, void *out)
{
    const char *text = decode_text(d, value, place);
    int v;

    if (!text) {
        return false;
    }
    v = qapi_enum_parse(type->enumeration, text);
    if (v < 0) {
        error_set(d->errp, "Parameter '%s' does not accept value '%s'",
                  place->name ? place->name : "null", text);
        return false;
    }
    *(int *)out = v;
    return true;
}

bool decode_scalar(const Decoder *d, const QapiType *type, JsonNode *value, const Place *place,
                   void *out)
{
    const char *text;

    switch (type->kind) {
    case QAPI_INT:
        return decode_int(d, type, value, place, out);
    case QAPI_UINT:
    case QAPI_SIZE:
        return decode_uint(d, type, value, place, out);
    case QAPI_NUMBER:
        return decode_number(d, value, place, out);
    case QAPI_BOOL:
        return decode_bool(d, value, place, out);
    case QAPI_ENUM:
        return decode_enum(d, type, value, place, out);
    case QAPI_STR:
        text = decode_text(d, value, place);
        *(char **)out = g_strdup(text);
        return text != NULL;
    case QAPI_ANY:
        *(JsonNode **)out = json_node_ref(value);
        return true;
    case QAPI_NULL:
        return JSON_NODE_HOLDS_NULL(value) || decode_fail_type(d, place, "null");
    default:
        g_assert_not_reached();
    }
}
