/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP: devices. */
#include "hw/core/device.h"
#include "qapi/qapi-qdev.h"

GPtrArray *qmp_device_list_properties(const q_device_list_properties_args *args, Error **errp)
{
    ObjectClass *klass = object_class_by_name(args->typename);

    if (!klass) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found",
                        args->typename);
        return NULL;
    }
    if (!object_class_is(klass, TYPE_DEVICE) || klass->info->abstract) {
        error_set(errp, "Parameter 'typename' expects a non-abstract device type");
        return NULL;
    }
    return object_class_property_infos(klass, false);
}
QMP_REGISTER(device_list_properties)

bool qmp_device_add(JsonNode *args, Error **errp)
{
    g_autoptr(JsonObject) none = NULL;
    JsonObject *options;

    if (args) {
        options = json_node_get_object(args);
    } else {
        options = none = json_object_new();
    }
    return device_add(options, QAPI_JSON, true, errp);
}
QMP_REGISTER(device_add)

bool qmp_device_del(const q_device_del_args *args, Error **errp)
{
    return device_del(args->id, errp);
}
QMP_REGISTER(device_del)
