/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What clients are shown as the file name of a node. */
#include "node.h"

void block_node_refresh_filename(BlockNode *node)
{
    g_clear_pointer(&node->filename, g_free);
    if (node->drv->refresh_filename) {
        node->drv->refresh_filename(node);
    } else if (node->file) {
        node->filename = g_strdup(node->file->filename);
    }
}

static JsonNode *node_describe(BlockNode *node)
{
    JsonNode *json;
    JsonObject *obj;

    if (node->drv->describe) {
        json = node->drv->describe(node);
        obj = json_node_get_object(json);
    } else {
        json = json_node_new(JSON_NODE_OBJECT);
        obj = json_object_new();
        json_node_take_object(json, obj);
        json_object_set_string_member(obj, "driver", node->drv->name);
    }
    if (node->file) {
        json_object_set_member(obj, "file", node_describe(node->file));
    }
    return json;
}

char *block_node_filename(BlockNode *node)
{
    g_autoptr(JsonNode) json = NULL;
    g_autofree char *text = NULL;

    if (node->filename) {
        return g_strdup(node->filename);
    }
    json = node_describe(node);
    text = json_write(json, false);
    return g_strconcat("json:", text, NULL);
}
