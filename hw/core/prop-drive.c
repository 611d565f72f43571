/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The property "drive": which disk a device serves. Runs in: main thread, under the big lock. */
#include "block/block.h"
#include "hw/core/device.h"

static BlockBackend **drive_field(Object *obj, const Property *prop)
{
    return (BlockBackend **)((char *)obj + prop->offset);
}

static void drive_release(Object *obj, const Property *prop)
{
    BlockBackend **blk = drive_field(obj, prop);

    if (!*blk) {
        return;
    }
    /* A -drive stays where adding the device failed, and goes where the device was unplugged. */
    if (DEVICE(obj)->unplugged) {
        drive_device_gone(*blk);
    }
    g_clear_pointer(blk, blk_unref);
}

static bool drive_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                      Error **errp)
{
    if (!JSON_NODE_HOLDS_VALUE(value) || json_node_get_value_type(value) != G_TYPE_STRING) {
        error_set(errp, "Invalid parameter type for '%s', expected: string", prop->name);
        return false;
    }
    const char *name = json_node_get_string(value);
    BlockBackend **blk = drive_field(obj, prop);

    if (DEVICE(obj)->realized && *blk) {
        /* The device keeps its backend; what is below it changes. */
        return blk_replace(*blk, name, errp);
    }
    if (!name[0]) {
        drive_release(obj, prop);
        return true;
    }
    BlockBackend *found = blk_for_device(name, object_type_name(obj), errp);
    if (!found) {
        return false;
    }
    drive_release(obj, prop);
    *blk = found;
    return true;
}

static const char *drive_name(Object *obj, const Property *prop)
{
    BlockBackend *blk = *drive_field(obj, prop);
    const char *name = blk ? blk_name(blk) : NULL;
    return name ? name : "";
}

static JsonNode *drive_get(Object *obj, const Property *prop, Error **errp)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_string(node, drive_name(obj, prop));
    return node;
}

static char *drive_print(Object *obj, const Property *prop)
{
    return g_strdup_printf("\"%s\"", drive_name(obj, prop));
}

const PropertyType prop_drive = {
    .name = "str",
    .description = "Node name or ID of a block device to use as a backend",
    .size = sizeof(BlockBackend *),
    .set = drive_set,
    .get = drive_get,
    .print = drive_print,
    .release = drive_release,
    .in_place = true,
};
