/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP: walking, reading and writing the tree of objects, and making objects. */
#include "internal.h"

#include "qapi/qapi-qom.h"

#include <string.h>

static ObjectPropertyInfo *property_info(const char *name, const char *type)
{
    ObjectPropertyInfo *info = g_new0(ObjectPropertyInfo, 1);

    info->name = g_strdup(name);
    info->type = g_strdup(type);
    return info;
}

static Object *find_object(const char *path, Error **errp)
{
    Object *obj = object_resolve(path, NULL);

    if (!obj) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", path);
    }
    return obj;
}

static void list_one(Object *obj, const char *name, const char *type, const Property *prop,
                     void *opaque)
{
    g_ptr_array_add(opaque, property_info(name, type));
}

GPtrArray *qmp_qom_list(const q_qom_list_args *args, Error **errp)
{
    bool ambiguous;
    Object *obj = object_resolve(args->path, &ambiguous);

    if (ambiguous) {
        error_set(errp, "Path '%s' is ambiguous", args->path);
        return NULL;
    }
    if (!obj) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", args->path);
        return NULL;
    }
    GPtrArray *list = g_ptr_array_new();
    object_for_each_property(obj, list_one, list);
    return list;
}
QMP_REGISTER(qom_list)

JsonNode *qmp_qom_get(const q_qom_get_args *args, Error **errp)
{
    Object *obj = find_object(args->path, errp);
    return obj ? object_property_get(obj, args->property, errp) : NULL;
}
QMP_REGISTER(qom_get)

bool qmp_qom_set(const q_qom_set_args *args, Error **errp)
{
    Object *obj = find_object(args->path, errp);
    return obj && object_property_set(obj, args->property, args->value, QAPI_JSON, errp);
}
QMP_REGISTER(qom_set)

/* ---- types ---- */

typedef struct TypesState {
    const q_qom_list_types_args *args;
    GPtrArray *out;
} TypesState;

/* Clients ask for what -object can make by the name of an interface. */
#define USER_CREATABLE "user-creatable"

static void list_type(ObjectClass *klass, void *opaque)
{
    TypesState *s = opaque;
    const char *implements = s->args->implements;

    if (klass->info->abstract && !(s->args->has_abstract && s->args->abstract)) {
        return;
    }
    if (implements && !strcmp(implements, USER_CREATABLE) ? !klass->info->user_creatable
                    : implements && !object_class_is(klass, implements)) {
        return;
    }
    ObjectTypeInfo *info = g_new0(ObjectTypeInfo, 1);
    info->name = g_strdup(klass->info->name);
    info->has_abstract = info->abstract = klass->info->abstract;
    info->parent = g_strdup(klass->info->parent);
    g_ptr_array_add(s->out, info);
}

GPtrArray *qmp_qom_list_types(const q_qom_list_types_args *args, Error **errp)
{
    TypesState s = { args, g_ptr_array_new() };

    type_for_each(list_type, &s);
    return s.out;
}
QMP_REGISTER(qom_list_types)

typedef struct InfosState {
    bool hidden;
    GPtrArray *out;
} InfosState;

static void add_info(Object *obj, const char *name, const char *type, const Property *prop,
                     void *opaque)
{
    InfosState *s = opaque;

    if (prop && (prop->flags & PROP_HIDDEN) && !s->hidden) {
        return;
    }
    ObjectPropertyInfo *info = property_info(name, type);
    if (prop) {
        info->description = g_strdup(property_description(prop));
        info->default_value = property_default_json(prop);
    }
    g_ptr_array_add(s->out, info);
}

GPtrArray *object_class_property_infos(ObjectClass *klass, bool hidden)
{
    InfosState s = { hidden, g_ptr_array_new() };

    if (klass->info->abstract) {
        object_class_for_each_property(klass, add_info, &s);
    } else {
        g_autoptr(Object) obj = object_new(klass->info->name);
        object_for_each_property(obj, add_info, &s);
    }
    return s.out;
}

GPtrArray *qmp_qom_list_properties(const q_qom_list_properties_args *args, Error **errp)
{
    ObjectClass *klass = object_class_by_name(args->typename);

    if (!klass) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Class '%s' not found", args->typename);
        return NULL;
    }
    return object_class_property_infos(klass, true);
}
QMP_REGISTER(qom_list_properties)

/* ---- objects ---- */

bool qmp_object_add(const ObjectOptions *args, Error **errp)
{
    g_autoptr(JsonNode) options = qapi_encode_ObjectOptions(args);
    return user_object_add(json_node_get_object(options), QAPI_JSON, errp);
}
QMP_REGISTER(object_add)

bool qmp_object_del(const q_object_del_args *args, Error **errp)
{
    return user_object_del(args->id, errp);
}
QMP_REGISTER(object_del)
