/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C to JSON along the tables of the schema, and the release of what C values own. */
#include <string.h>

#include "qapi/qapi-type.h"

static const QapiType *chosen_branch(const QapiType *type, const void *value)
{
    return type->branches[*(const int *)((const char *)value + type->members[type->tag].offset)];
}

static bool is_boxed(const QapiType *type)
{
    return type->kind == QAPI_STRUCT || type->kind == QAPI_UNION || type->kind == QAPI_ALTERNATE;
}

static JsonNode *int_node(int64_t v)
{
    return json_node_init_int(json_node_alloc(), v);
}

static JsonNode *encode_int(const QapiType *type, const void *value)
{
    switch (type->size) {
    case 1:
        return int_node(*(const int8_t *)value);
    case 2:
        return int_node(*(const int16_t *)value);
    case 4:
        return int_node(*(const int32_t *)value);
    default:
        return int_node(*(const int64_t *)value);
    }
}

static JsonNode *encode_uint(const QapiType *type, const void *value)
{
    uint64_t v;

    switch (type->size) {
    case 1:
        v = *(const uint8_t *)value;
        break;
    case 2:
        v = *(const uint16_t *)value;
        break;
    case 4:
        v = *(const uint32_t *)value;
        break;
    default:
        v = *(const uint64_t *)value;
    }
    return v <= INT64_MAX ? int_node((int64_t)v)
                          : json_node_init_double(json_node_alloc(), (double)v);
}

static void encode_members(const QapiType *type, const void *value, JsonObject *object)
{
    for (unsigned i = 0; i < type->n_members; i++) {
        const QapiMember *m = &type->members[i];
        const void *p = (const char *)value + m->offset;

        if (m->optional && (m->has_offset == QAPI_NO_HAS
                                ? *(void *const *)p == NULL
                                : !*(const bool *)((const char *)value + m->has_offset))) {
            continue;
        }
        if (is_boxed(m->type)) {
            p = *(void *const *)p;
            g_assert(p);
        }
        json_object_set_member(object, m->name, qapi_encode(m->type, p));
    }
    if (type->kind == QAPI_UNION) {
        const QapiType *branch = chosen_branch(type, value);

        if (branch) {
            encode_members(branch, (const char *)value + type->u_offset, object);
        }
    }
}

static JsonNode *encode_object(const QapiType *type, const void *value)
{
    JsonObject *object = json_object_new();
    JsonNode *node = json_node_init_object(json_node_alloc(), object);

    json_object_unref(object);
    encode_members(type, value, object);
    return node;
}

static JsonNode *encode_alternate(const QapiType *type, const void *value)
{
    const QapiAlternate *a = &type->alternates[*(const int *)value];
    const void *u = (const char *)value + type->u_offset;

    return qapi_encode(a->type, is_boxed(a->type) ? *(void *const *)u : u);
}

static JsonNode *encode_list(const QapiType *type, const void *value)
{
    JsonArray *array = json_array_new();
    JsonNode *node = json_node_init_array(json_node_alloc(), array);

    json_array_unref(array);
    if (qapi_type_is_pointer(type->element)) {
        const GPtrArray *list = *(GPtrArray *const *)value;

        for (guint i = 0; list && i < list->len; i++) {
            json_array_add_element(array, qapi_encode(type->element, is_boxed(type->element)
                                                                         ? list->pdata[i]
                                                                         : &list->pdata[i]));
        }
    } else {
        const GArray *list = *(GArray *const *)value;

        for (guint i = 0; list && i < list->len; i++) {
            json_array_add_element(array, qapi_encode(type->element,
                                                      list->data + i * type->element->size));
        }
    }
    return node;
}

JsonNode *qapi_encode(const QapiType *type, const void *value)
{
    JsonNode *any;
    const char *text;

    switch (type->kind) {
    case QAPI_INT:
        return encode_int(type, value);
    case QAPI_UINT:
    case QAPI_SIZE:
        return encode_uint(type, value);
    case QAPI_NUMBER:
        return json_node_init_double(json_node_alloc(), *(const double *)value);
    case QAPI_BOOL:
        return json_node_init_boolean(json_node_alloc(), *(const bool *)value);
    case QAPI_STR:
        text = *(char *const *)value;
        return json_node_init_string(json_node_alloc(), text ? text : "");
    case QAPI_ENUM:
        text = qapi_enum_name(type->enumeration, *(const int *)value);
        return json_node_init_string(json_node_alloc(), text);
    case QAPI_ANY:
        any = *(JsonNode *const *)value;
        return any ? json_node_ref(any) : json_node_init_null(json_node_alloc());
    case QAPI_STRUCT:
    case QAPI_UNION:
        return encode_object(type, value);
    case QAPI_ALTERNATE:
        return encode_alternate(type, value);
    case QAPI_LIST:
        return encode_list(type, value);
    case QAPI_NULL:
        break;
    }
    return json_node_init_null(json_node_alloc());
}

JsonNode *qapi_empty_object(void)
{
    return encode_object(&qapi_builtin_empty, NULL);
}

/* ---- release ---- */

static void release_members(const QapiType *type, void *value)
{
    const QapiType *branch = type->kind == QAPI_UNION ? chosen_branch(type, value) : NULL;

    if (branch) {
        release_members(branch, (char *)value + type->u_offset);
    }
    for (unsigned i = 0; i < type->n_members; i++) {
        const QapiMember *m = &type->members[i];
        void *p = (char *)value + m->offset;

        if (is_boxed(m->type)) {
            qapi_free(m->type, *(void **)p);
            *(void **)p = NULL;
        } else {
            qapi_release(m->type, p);
        }
    }
}

static void release_list(const QapiType *type, void *value)
{
    if (qapi_type_is_pointer(type->element)) {
        GPtrArray *list = *(GPtrArray **)value;

        if (list) {
            gsize n;
            gpointer *elements = g_ptr_array_steal(list, &n);

            /* Taken out first, so that it does not matter whether the list would free them. */
            for (gsize i = 0; i < n; i++) {
                if (elements[i]) {
                    type->element->free(elements[i]);
                }
            }
            g_free(elements);
            g_ptr_array_unref(list);
        }
    } else if (*(GArray **)value) {
        g_array_unref(*(GArray **)value);
    }
    *(void **)value = NULL;
}

void qapi_release(const QapiType *type, void *value)
{
    switch (type->kind) {
    case QAPI_STR:
    case QAPI_ANY:
        if (*(void **)value) {
            type->free(*(void **)value);
            *(void **)value = NULL;
        }
        break;
    case QAPI_STRUCT:
    case QAPI_UNION:
        release_members(type, value);
        break;
    case QAPI_ALTERNATE: {
        const QapiType *branch = type->alternates[*(int *)value].type;
        void *u = (char *)value + type->u_offset;

        if (is_boxed(branch)) {
            qapi_free(branch, *(void **)u);
            *(void **)u = NULL;
        } else {
            qapi_release(branch, u);
        }
        break;
    }
    case QAPI_LIST:
        release_list(type, value);
        break;
    default:
        break;
    }
}

void qapi_free(const QapiType *type, void *value)
{
    if (value) {
        qapi_release(type, value);
        g_free(value);
    }
}
