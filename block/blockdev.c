/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes that the user makes and removes by name; changing the size of a node. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "util/biglock.h"

static bool blockdev_add(const BlockdevOptions *opts, Error **errp)
{
    BlockNode *node;

    ASSERT_BIG_LOCK();
    if (!opts->node_name) {
        error_set(errp, "'node-name' must be specified for the root node");
        return false;
    }
    node = block_node_open(opts, NULL, errp);
    if (!node) {
        return false;
    }
    node->monitor_owned = true;
    return true;
}

bool blockdev_add_options(JsonNode *options, QapiForm form, Error **errp)
{
    g_autoptr(BlockdevOptions) opts = qapi_decode_BlockdevOptions(options, form, errp);

    return opts && blockdev_add(opts, errp);
}

bool qmp_blockdev_add(const BlockdevOptions *args, Error **errp)
{
    return blockdev_add(args, errp);
}
QMP_REGISTER(blockdev_add)

bool qmp_blockdev_del(const q_blockdev_del_args *args, Error **errp)
{
    BlockNode *node = block_node_find(args->node_name);

    ASSERT_BIG_LOCK();
    if (!node) {
        error_set(errp, "Failed to find node with node-name='%s'", args->node_name);
        return false;
    }
    for (GList *l = node->parents; l; l = l->next) {
        BlockChild *c = l->data;

        if (c->blk) {
            error_set(errp, "Node %s is in use", node->name);
            return false;
        }
    }
    if (!node->monitor_owned) {
        error_set(errp, "Node %s is not owned by the monitor", node->name);
        return false;
    }
    if (node->refs > 1) {
        error_set(errp, "Block device %s is in use", node->name);
        return false;
    }
    block_node_unref(node);
    return true;
}
QMP_REGISTER(blockdev_del)

void blockdev_close_all(void)
{
    bool again = true;

    /* Each removal may free nodes below, so the list is searched anew each time. */
    while (again) {
        again = false;
        for (GList *l = block_nodes(); l; l = l->next) {
            BlockNode *node = l->data;

            if (node->monitor_owned) {
                node->monitor_owned = false;
                block_node_unref(node);
                again = true;
                break;
            }
        }
    }
}

/* ---- size ---- */

static bool truncate_node(BlockNode *node, int64_t size, Error **errp)
{
    if (size > BLK_MAX_LENGTH) {
        error_set(errp, "offset(%" PRIi64 ") exceeds maximum(%" PRIi64 ")", size, BLK_MAX_LENGTH);
        return false;
    }
    if (node->read_only) {
        error_set(errp, "Image is read-only");
        return false;
    }
    if (!node->drv->truncate) {
        error_set(errp, "Image format driver does not support resize");
        return false;
    }
    return node->drv->truncate(node, size, errp) && block_node_refresh(node, errp);
}

static void notify_resized(BlockNode *node)
{
    g_autoptr(GPtrArray) users = g_ptr_array_new_with_free_func((GDestroyNotify)blk_unref);

    for (GList *l = node->parents; l; l = l->next) {
        BlockChild *c = l->data;

        if (c->blk) {
            g_ptr_array_add(users, blk_ref(c->blk));
        }
    }
    for (guint i = 0; i < users->len; i++) {
        BlockBackend *blk = g_ptr_array_index(users, i);

        if (blk->dev_ops && blk->dev_ops->resized) {
            blk->dev_ops->resized(blk->dev_opaque);
        }
    }
}

bool block_resize(const char *device, const char *node_name, int64_t size, Error **errp)
{
    BlockNode *node = block_lookup(device, node_name, errp);
    BlockBackend *blk;
    GPtrArray *drained;
    int64_t old;
    bool ok;

    ASSERT_BIG_LOCK();
    if (!node) {
        return false;
    }
    if (size < 0) {
        error_set(errp, "Parameter 'size' expects a >0 size");
        return false;
    }
    /* A user of its own for the time of the change: others must agree to it. */
    blk = blk_new();
    if (!blk_insert(blk, node, node->read_only ? 0 : BLK_PERM_RESIZE, BLK_PERM_ALL, errp)) {
        blk_unref(blk);
        return false;
    }
    drained = block_drained_begin(node);
    old = block_node_length(node);
    ok = truncate_node(node, size, errp);
    block_drained_end(drained);
    if (block_node_length(node) != old) {
        notify_resized(node);
    }
    blk_unref(blk);
    return ok;
}

bool qmp_block_resize(const q_block_resize_args *args, Error **errp)
{
    return block_resize(args->device, args->node_name, args->size, errp);
}
QMP_REGISTER(block_resize)
