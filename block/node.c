/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of the block graph: making, naming, finding and closing them. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "backend.h"
#include "qapi/keyval.h"
#include "util/biglock.h"
#include "util/report.h"

#define NODE_NAME_MAX 31

static GSList *drivers;
static GList *nodes;

void block_driver_register(const BlockDriver *drv)
{
    drivers = g_slist_prepend(drivers, (gpointer)drv);
}

const BlockDriver *block_driver_find(const char *name)
{
    for (GSList *l = drivers; l; l = l->next) {
        const BlockDriver *drv = l->data;

        if (strcmp(drv->name, name) == 0) {
            return drv;
        }
    }
    return NULL;
}

GSList *block_drivers(void)
{
    return drivers;
}

GList *block_nodes(void)
{
    return nodes;
}

BlockNode *block_node_find(const char *name)
{
    for (GList *l = nodes; l; l = l->next) {
        BlockNode *node = l->data;

        if (strcmp(node->name, name) == 0) {
            return node;
        }
    }
    return NULL;
}

bool block_check_node_name(const char *name, Error **errp)
{
    if (!id_wellformed(name)) {
        error_set(errp, "Invalid node-name: '%s'", name);
        return false;
    }
    if (blk_by_id(name)) {
        error_set(errp, "node-name=%s is conflicting with a device id", name);
        return false;
    }
    if (block_node_find(name)) {
        error_set(errp, "Duplicate nodes with node-name='%s'", name);
        return false;
    }
    if (strlen(name) > NODE_NAME_MAX) {
        error_set(errp, "Node name too long");
        return false;
    }
    return true;
}

/* A name that no user can give: '#' starts no identifier. Random digits keep clients from relying
 * on a certain name. */
static char *auto_node_name(void)
{
    static unsigned count;

    for (;;) {
        char *name = g_strdup_printf("#block%u%02d", count++, g_random_int_range(0, 100));

        if (!block_node_find(name)) {
            return name;
        }
        g_free(name);
    }
}

BlockNode *block_lookup(const char *device, const char *node_name, Error **errp)
{
    BlockBackend *blk = device ? blk_by_id(device) : NULL;
    BlockNode *node;

    if (blk) {
        if (!blk->root) {
            error_set(errp, "Device '%s' has no medium", device);
        }
        return blk->root;
    }
    node = node_name ? block_node_find(node_name) : NULL;
    if (!node) {
        error_set(errp, "Cannot find device='%s' nor node-name='%s'", device ? device : "",
                  node_name ? node_name : "");
    }
    return node;
}

void block_child_attach(BlockChild *child, BlockNode *node)
{
    child->node = block_node_ref(node);
    node->parents = g_list_prepend(node->parents, child);
}

void block_child_detach(BlockChild *child)
{
    BlockNode *node = child->node;

    child->node = NULL;
    node->parents = g_list_remove(node->parents, child);
    /* Giving permissions back cannot fail. */
    block_node_refresh_perm(node, NULL);
    block_node_unref(node);
}

static void child_free(gpointer p)
{
    BlockChild *c = p;

    if (c->node) {
        block_child_detach(c);
    }
    g_free(c->name);
    g_free(c);
}

BlockNode *block_node_ref(BlockNode *node)
{
    ASSERT_BIG_LOCK();
    node->refs++;
    return node;
}

static void close_flush(BlockNode *node)
{
    int ret;

    /* A node above another has nothing of its own to flush. */
    if (node->read_only || node->file) {
        return;
    }
    ret = block_node_request_sync(node, BLK_OP_FLUSH, 0, NULL, 0);
    if (ret < 0) {
        g_autofree char *filename = block_node_filename(node);

        report_error("Could not flush '%s': %s", filename, g_strerror(-ret));
    }
}

void block_node_unref(BlockNode *node)
{
    ASSERT_BIG_LOCK();
    if (--node->refs > 0) {
        return;
    }
    g_assert(!node->parents);
    nodes = g_list_remove(nodes, node);
    if (node->opened) {
        close_flush(node);
        if (node->drv->close) {
            node->drv->close(node);
        }
    }
    g_ptr_array_unref(node->children);
    g_free(node->opaque);
    g_free(node->name);
    g_free(node->filename);
    g_free(node);
}

bool block_node_refresh(BlockNode *node, Error **errp)
{
    int64_t length;
    BlockLimits l = {
        .request_alignment = 1,
        .mem_alignment = 1,
        .max_iov = IOV_MAX,
    };

    for (guint i = 0; i < node->children->len; i++) {
        BlockChild *c = g_ptr_array_index(node->children, i);

        if (!block_node_refresh(c->node, errp)) {
            return false;
        }
    }
    length = node->drv->length(node);
    if (length > BLK_MAX_LENGTH) {
        length = -EFBIG;
    }
    if (length < 0) {
        error_set_errno(errp, (int)-length, "Could not refresh total sector count");
        return false;
    }
    /* The guest sees whole sectors; the rest of the last one reads as zeroes. */
    length = (length + BLK_SECTOR_SIZE - 1) & ~(int64_t)(BLK_SECTOR_SIZE - 1);
    __atomic_store_n(&node->length, length, __ATOMIC_RELAXED);
    if (node->file) {
        l = node->file->limits;
    }
    if (node->drv->limits) {
        node->drv->limits(node, &l);
    }
    node->limits = l;
    return true;
}

static bool node_options(BlockNode *node, const BlockdevOptions *o, const BlockInherit *inherit,
                         Error **errp)
{
    if (o->has_active && !o->active) {
        error_set(errp, "Parameter 'active': nodes that are created inactive are not supported");
        return false;
    }
    node->read_only = o->has_read_only ? o->read_only : inherit->read_only;
    node->auto_read_only = o->has_auto_read_only ? o->auto_read_only : inherit->auto_read_only;
    node->force_share = o->has_force_share ? o->force_share : inherit->force_share;
    node->cache_direct = o->cache && o->cache->has_direct ? o->cache->direct
                                                          : inherit->cache_direct;
    node->no_flush = o->cache && o->cache->has_no_flush ? o->cache->no_flush : inherit->no_flush;
    node->discard_unmap = o->has_discard ? o->discard == BLOCKDEV_DISCARD_OPTIONS_UNMAP
                                         : inherit->is_child;
    node->detect_zeroes = o->has_detect_zeroes ? o->detect_zeroes
                                               : BLOCKDEV_DETECT_ZEROES_OPTIONS_OFF;
    node->probed = inherit->probed;
    if (node->force_share && !node->read_only) {
        error_set(errp, "force-share=on can only be used with read-only images");
        return false;
    }
    if (node->detect_zeroes == BLOCKDEV_DETECT_ZEROES_OPTIONS_UNMAP && !node->discard_unmap &&
        !inherit->drive) {
        error_set(errp, "setting detect-zeroes to unmap is not allowed without setting discard "
                        "operation to unmap");
        return false;
    }
    return true;
}

BlockNode *block_node_open(const BlockdevOptions *opts, const BlockInherit *inherit, Error **errp)
{
    static const BlockInherit none;
    const BlockDriver *drv;
    BlockNode *node;

    ASSERT_BIG_LOCK();
    if (!inherit) {
        inherit = &none;
    }
    drv = block_driver_find(qapi_enum_name(&qapi_enum_BlockdevDriver, opts->driver));
    g_assert(drv);
    if (opts->node_name && !block_check_node_name(opts->node_name, errp)) {
        return NULL;
    }
    node = g_new0(BlockNode, 1);
    node->drv = drv;
    node->refs = 1;
    node->shared = BLK_PERM_ALL;
    node->children = g_ptr_array_new_with_free_func(child_free);
    node->opaque = g_malloc0(MAX(drv->instance_size, 1));
    node->name = opts->node_name ? g_strdup(opts->node_name) : auto_node_name();
    /* In the list from here on, so that a child of the same name is refused. */
    nodes = g_list_prepend(nodes, node);
    if (!node_options(node, opts, inherit, errp) || !drv->open(node, opts, errp)) {
        goto fail;
    }
    if (!block_node_refresh(node, errp) || !block_node_refresh_perm(node, errp)) {
        if (drv->close) {
            drv->close(node);
        }
        goto fail;
    }
    node->opened = true;
    block_node_refresh_filename(node);
    /* Clients get nodes from the top down. */
    nodes = g_list_remove(nodes, node);
    nodes = g_list_prepend(nodes, node);
    return node;
fail:
    block_node_unref(node);
    return NULL;
}

BlockChild *block_node_open_child(BlockNode *node, const char *name, const BlockdevRef *ref,
                                  Error **errp)
{
    BlockNode *target;
    BlockChild *c;

    if (ref->type == BLOCKDEV_REF_KIND_reference) {
        target = block_lookup(ref->u.reference, ref->u.reference, errp);
        if (!target) {
            return NULL;
        }
        /* Also a node that is being made further up: the graph has no cycles. */
        if (!target->opened) {
            error_set(errp, "Cannot find device='%s' nor node-name='%s'", ref->u.reference,
                      ref->u.reference);
            return NULL;
        }
        block_node_ref(target);
    } else {
        BlockInherit inherit = {
            .read_only = node->read_only,
            .auto_read_only = node->auto_read_only,
            .cache_direct = node->cache_direct,
            .no_flush = node->no_flush,
            .force_share = node->force_share,
            .is_child = true,
        };

        target = block_node_open(ref->u.definition, &inherit, errp);
        if (!target) {
            return NULL;
        }
    }
    c = g_new0(BlockChild, 1);
    c->name = g_strdup(name);
    c->parent = node;
    c->shared = BLK_PERM_ALL;
    block_child_attach(c, target);
    block_node_unref(target);
    g_ptr_array_add(node->children, c);
    return c;
}
