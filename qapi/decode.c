/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON to C along the tables of the schema. */
#include "decode-internal.h"

#include <string.h>

static bool decode_value(const Decoder *d, const QapiType *type, JsonNode *value,
                         const Place *place, void *out);

/* ---- objects ---- */

/* The branch that the discriminator of a decoded union chose; NULL if it has no members. */
static const QapiType *chosen_branch(const QapiType *type, const void *out)
{
    return type->branches[*(const int *)((const char *)out + type->members[type->tag].offset)];
}

static bool decode_members(const Decoder *d, const QapiType *type, JsonObject *object,
                           const Place *place, void *out)
{
    for (unsigned i = 0; i < type->n_members; i++) {
        const QapiMember *m = &type->members[i];
        JsonNode *value = json_object_get_member(object, m->name);
        Place here = { place, m->name, -1 };

        if (!value) {
            if (!m->optional) {
                g_autofree char *path = decode_path(d, &here);

                error_set(d->errp, "Parameter '%s' is missing", path);
                return false;
            }
            continue;
        }
        if (m->has_offset != QAPI_NO_HAS) {
            *(bool *)((char *)out + m->has_offset) = true;
        }
        if (m->type->kind >= QAPI_STRUCT && m->type->kind <= QAPI_ALTERNATE) {
            void **p = (void **)((char *)out + m->offset);

            *p = g_malloc0(m->type->size);
            if (!decode_value(d, m->type, value, &here, *p)) {
                /* What is in it was released already. */
                g_free(*p);
                *p = NULL;
                return false;
            }
        } else if (!decode_value(d, m->type, value, &here, (char *)out + m->offset)) {
            return false;
        }
    }
    if (type->kind == QAPI_UNION) {
        const QapiType *branch = chosen_branch(type, out);

        return !branch || decode_members(d, branch, object, place, (char *)out + type->u_offset);
    }
    return true;
}

static bool knows_member(const QapiType *type, const void *out, const char *name)
{
    for (unsigned i = 0; i < type->n_members; i++) {
        if (!strcmp(type->members[i].name, name)) {
            return true;
        }
    }
    if (type->kind == QAPI_UNION) {
        const QapiType *branch = chosen_branch(type, out);

        return branch && knows_member(branch, (const char *)out + type->u_offset, name);
    }
    return false;
}

static bool decode_object(const Decoder *d, const QapiType *type, JsonNode *value,
                          const Place *place, void *out)
{
    JsonObject *object;
    JsonObjectIter iter;
    const char *name;

    if (!JSON_NODE_HOLDS_OBJECT(value)) {
        return decode_fail_type(d, place, "object");
    }
    object = json_node_get_object(value);
    if (!decode_members(d, type, object, place, out)) {
        return false;
    }
    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &name, NULL)) {
        if (!knows_member(type, out, name)) {
            Place here = { place, name, -1 };
            g_autofree char *path = decode_path(d, &here);

            error_set(d->errp, "Parameter '%s' is unexpected", path);
            return false;
        }
    }
    return true;
}

/* ---- alternates ---- */

static QapiJsonType json_type_of(JsonNode *value)
{
    switch (json_node_get_node_type(value)) {
    case JSON_NODE_OBJECT:
        return QAPI_JSON_OBJECT;
    case JSON_NODE_ARRAY:
        return QAPI_JSON_ARRAY;
    case JSON_NODE_NULL:
        return QAPI_JSON_NULL;
    case JSON_NODE_VALUE:
        break;
    }
    switch (json_node_get_value_type(value)) {
    case G_TYPE_INT64:
        return QAPI_JSON_INTEGER;
    case G_TYPE_DOUBLE:
        return QAPI_JSON_NUMBER;
    case G_TYPE_BOOLEAN:
        return QAPI_JSON_BOOLEAN;
    default:
        return QAPI_JSON_STRING;
    }
}

static bool alternate_matches(QapiForm form, QapiJsonType branch, QapiJsonType given, bool strict)
{
    if (branch == given || (branch == QAPI_JSON_NUMBER && given == QAPI_JSON_INTEGER)) {
        return true;
    }
    /* In the key=value form a number or a switch is written as a string. */
    return !strict && form == QAPI_KEYVAL && given == QAPI_JSON_STRING &&
           (branch == QAPI_JSON_INTEGER || branch == QAPI_JSON_NUMBER ||
            branch == QAPI_JSON_BOOLEAN);
}

static bool decode_alternate(const Decoder *d, const QapiType *type, JsonNode *value,
                             const Place *place, void *out)
{
    QapiJsonType given = json_type_of(value);
    char *u = (char *)out + type->u_offset;

    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < type->n_alternates; i++) {
            const QapiAlternate *a = &type->alternates[i];

            if (!alternate_matches(d->form, a->json, given, pass == 0)) {
                continue;
            }
            *(int *)out = (int)i;
            if (a->type->kind == QAPI_STRUCT || a->type->kind == QAPI_UNION) {
                void *p = g_malloc0(a->type->size);

                if (!decode_value(d, a->type, value, place, p)) {
                    g_free(p);
                    return false;
                }
                *(void **)u = p;
                return true;
            }
            return decode_value(d, a->type, value, place, u);
        }
    }
    return decode_fail_type(d, place, type->name);
}

/* ---- lists ---- */

static bool decode_pointer_list(const Decoder *d, const QapiType *element, JsonArray *array,
                                const Place *place, GPtrArray *list)
{
    guint n = json_array_get_length(array);

    for (guint i = 0; i < n; i++) {
        JsonNode *value = json_array_get_element(array, i);
        Place here = { place, NULL, (int)i };

        if (element->kind >= QAPI_STRUCT && element->kind <= QAPI_ALTERNATE) {
            void *p = g_malloc0(element->size);

            if (!decode_value(d, element, value, &here, p)) {
                g_free(p);
                return false;
            }
            g_ptr_array_add(list, p);
        } else {
            void *p = NULL;

            if (!decode_value(d, element, value, &here, &p)) {
                return false;
            }
            g_ptr_array_add(list, p);
        }
    }
    return true;
}

static bool decode_scalar_list(const Decoder *d, const QapiType *element, JsonArray *array,
                               const Place *place, GArray *list)
{
    guint n = json_array_get_length(array);

    g_array_set_size(list, n);
    for (guint i = 0; i < n; i++) {
        Place here = { place, NULL, (int)i };

        if (!decode_value(d, element, json_array_get_element(array, i), &here,
                          list->data + i * element->size)) {
            return false;
        }
    }
    return true;
}

static bool decode_list(const Decoder *d, const QapiType *type, JsonNode *value,
                        const Place *place, void *out)
{
    if (!JSON_NODE_HOLDS_ARRAY(value)) {
        return decode_fail_type(d, place, "array");
    }
    if (qapi_type_is_pointer(type->element)) {
        GPtrArray *list = g_ptr_array_new_with_free_func(type->element->free);

        *(GPtrArray **)out = list;
        return decode_pointer_list(d, type->element, json_node_get_array(value), place, list);
    }
    *(GArray **)out = g_array_new(FALSE, TRUE, type->element->size);
    return decode_scalar_list(d, type->element, json_node_get_array(value), place,
                              *(GArray **)out);
}

/* On failure, what `out` owns is released. */
static bool decode_value(const Decoder *d, const QapiType *type, JsonNode *value,
                         const Place *place, void *out)
{
    bool ok = false;

    switch (type->kind) {
    case QAPI_STRUCT:
    case QAPI_UNION:
        ok = decode_object(d, type, value, place, out);
        break;
    case QAPI_ALTERNATE:
        ok = decode_alternate(d, type, value, place, out);
        break;
    case QAPI_LIST:
        ok = decode_list(d, type, value, place, out);
        break;
    default:
        return decode_scalar(d, type, value, place, out);
    }
    if (!ok) {
        qapi_release(type, out);
        memset(out, 0, type->size);
    }
    return ok;
}

bool qapi_decode(const QapiType *type, JsonNode *value, QapiForm form, const char *name, void *out,
                 Error **errp)
{
    Decoder d = { form, errp };
    Place place = { NULL, name, -1 };

    return decode_value(&d, type, value, &place, out);
}

bool qapi_decode_args(const QapiType *type, JsonNode *args, void *out, Error **errp)
{
    static const char none;
    g_autoptr(JsonNode) value = args ? json_node_ref(args) : qapi_empty_object();

    /* A type without members is only checked for members that should not be there. */
    return qapi_decode(type, value, QAPI_JSON, NULL, out ? out : (void *)&none, errp);
}

void *qapi_decode_new(const QapiType *type, JsonNode *value, QapiForm form, Error **errp)
{
    void *out = g_malloc0(type->size);

    if (!qapi_decode(type, value, form, NULL, out, errp)) {
        g_free(out);
        return NULL;
    }
    return out;
}
