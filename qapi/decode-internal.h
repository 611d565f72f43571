/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QAPI_DECODE_INTERNAL_H
#define QAPI_DECODE_INTERNAL_H

#include "qapi/qapi-type.h"

/* What decode.c and decode-scalar.c share. */

/* Where in the input we are: a chain from the innermost part outwards, on the stack. */
typedef struct Place {
    const struct Place *up;
    const char *name; /* NULL: an element of a list, or the outermost value without a name */
    int index;        /* -1 unless an element */
} Place;

typedef struct Decoder {
    QapiForm form;
    Error **errp;
} Decoder;

/* The parameter's full name; caller frees. */
char *decode_path(const Decoder *d, const Place *place);
/* Sets "Invalid parameter type for ..., expected: ..."; returns false. */
bool decode_fail_type(const Decoder *d, const Place *place, const char *expected);

/* Any type that is no struct, union, alternate or list. */
bool decode_scalar(const Decoder *d, const QapiType *type, JsonNode *value, const Place *place,
                   void *out);

static inline bool decode_is(JsonNode *value, GType type)
{
    return JSON_NODE_HOLDS_VALUE(value) && json_node_get_value_type(value) == type;
}

#endif
