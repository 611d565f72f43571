/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QAPI_QAPI_TYPE_H
#define SPINDLE_QAPI_QAPI_TYPE_H

#include <stddef.h>

#include "qapi/qapi.h"

/*
 * The tables that scripts/qapi-gen.py writes, and that decoder, encoder and schema reply walk.
 * Only generated code and qapi/ look inside.
 */

typedef enum {
    QAPI_INT,       /* signed, of 1, 2, 4 or 8 bytes */
    QAPI_UINT,      /* unsigned, likewise */
    QAPI_SIZE,      /* uint64 that takes a suffix in the key=value form */
    QAPI_NUMBER,    /* double */
    QAPI_BOOL,
    QAPI_STR,       /* char * */
    QAPI_ANY,       /* JsonNode * */
    QAPI_NULL,      /* nothing in C; only in alternates */
    QAPI_ENUM,
    QAPI_STRUCT,
    QAPI_UNION,
    QAPI_ALTERNATE,
    QAPI_LIST,      /* GPtrArray * or GArray * */
} QapiKind;

typedef enum {
    QAPI_JSON_STRING,
    QAPI_JSON_INTEGER,
    QAPI_JSON_NUMBER,
    QAPI_JSON_BOOLEAN,
    QAPI_JSON_NULL,
    QAPI_JSON_OBJECT,
    QAPI_JSON_ARRAY,
} QapiJsonType;

/* has_offset of a member whose C type tells absence by itself (NULL), or that is not optional. */
#define QAPI_NO_HAS ((size_t)-1)

typedef struct QapiMember {
    const char *name;
    const QapiType *type;
    size_t offset;
    size_t has_offset;
    bool optional;
    const char *const *features; /* NULL-terminated, or NULL */
} QapiMember;

typedef struct QapiAlternate {
    QapiJsonType json;
    const QapiType *type;
} QapiAlternate;

struct QapiType {
    QapiKind kind;
    const char *name;
    size_t size; /* of the C type; of what the pointer points to for structs, unions, alternates */
    const char *const *features;
    GDestroyNotify free; /* of an element of a GPtrArray; NULL for what is no pointer */

    const QapiEnum *enumeration;              /* enum */
    const char *const *const *value_features; /* enum: by value, or NULL */

    const QapiMember *members; /* struct; union: the common ones */
    unsigned n_members;

    unsigned tag;                    /* union: index of the discriminator in members */
    const QapiType *const *branches; /* union: by value of the discriminator; NULL: no members */

    const QapiAlternate *alternates; /* alternate: index = its `type` in C */
    unsigned n_alternates;

    size_t u_offset; /* union, alternate */

    const QapiType *element; /* list */
};

extern const QapiType qapi_builtin_int, qapi_builtin_int8, qapi_builtin_int16, qapi_builtin_int32,
    qapi_builtin_int64, qapi_builtin_uint8, qapi_builtin_uint16, qapi_builtin_uint32,
    qapi_builtin_uint64, qapi_builtin_size, qapi_builtin_number, qapi_builtin_bool,
    qapi_builtin_str, qapi_builtin_any, qapi_builtin_null;
/* The object without members. */
extern const QapiType qapi_builtin_empty;

/* Whether a value of the type is a pointer in C. */
static inline bool qapi_type_is_pointer(const QapiType *type)
{
    return type->kind == QAPI_STR || type->kind == QAPI_ANY || type->kind >= QAPI_STRUCT;
}

typedef struct QapiEvent {
    const char *name; /* NULL ends the table */
    const QapiType *type;
    const char *const *features;
} QapiEvent;
extern const QapiEvent qapi_events[];

/* As qapi_decode(), for the arguments of a command: NULL stands for {}. `out` may be NULL if the
 * type has no members. */
bool qapi_decode_args(const QapiType *type, JsonNode *args, void *out, Error **errp);
/* A struct, union or alternate on the heap; NULL on error. */
void *qapi_decode_new(const QapiType *type, JsonNode *value, QapiForm form, Error **errp);
/* Releases and frees a struct, union or alternate; NULL is fine. */
void qapi_free(const QapiType *type, void *value);
/* {} */
JsonNode *qapi_empty_object(void);

#endif
