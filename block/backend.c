/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Backends: the handles that devices and -drive have on nodes. */
#include <errno.h>
#include <string.h>

#include "backend.h"
#include "qom/object.h"
#include "timed-stats.h"
#include "util/biglock.h"

static GPtrArray *backends;

GPtrArray *blk_all(void)
{
    if (!backends) {
        backends = g_ptr_array_new();
    }
    return backends;
}

BlockBackend *blk_by_id(const char *id)
{
    GPtrArray *all = blk_all();

    for (guint i = 0; i < all->len; i++) {
        BlockBackend *blk = g_ptr_array_index(all, i);

        if (blk->id && strcmp(blk->id, id) == 0) {
            return blk;
        }
    }
    return NULL;
}

BlockBackend *blk_new(void)
{
    BlockBackend *blk = g_new0(BlockBackend, 1);

    ASSERT_BIG_LOCK();
    blk->refs = 1;
    blk->shared = BLK_PERM_ALL;
    blk->write_cache = true;
    blk->cache_writeback = true;
    blk->account_failed = blk->drive_account_failed = true;
    blk->account_invalid = blk->drive_account_invalid = true;
    blk->drive_rerror = BLK_ON_ERROR_AUTO;
    blk->drive_werror = BLK_ON_ERROR_AUTO;
    blk->rerror = BLK_ON_ERROR_REPORT;
    blk->werror = BLK_ON_ERROR_ENOSPC;
    blk->parked_tail = &blk->parked;
    pthread_mutex_init(&blk->park_lock, NULL);
    slot_table_init(&blk->shards, sizeof(BlkShard));
    blk_drain_new(blk);
    g_ptr_array_add(blk_all(), blk);
    return blk;
}

BlockBackend *blk_ref(BlockBackend *blk)
{
    __atomic_add_fetch(&blk->refs, 1, __ATOMIC_RELAXED);
    return blk;
}

void blk_unref(BlockBackend *blk)
{
    if (!blk || __atomic_sub_fetch(&blk->refs, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    ASSERT_BIG_LOCK();
    g_assert(!blk->dev_ops && !blk->parked);
    /* For the time of the drain it must not look as if it could be referenced again. */
    g_ptr_array_remove(blk_all(), blk);
    blk_leave_group(blk);
    blk_remove(blk);
    slot_table_free(&blk->shards);
    blk_timed_free(blk->timed);
    pthread_mutex_destroy(&blk->park_lock);
    g_free(blk->id);
    g_free(blk);
}

/* An edge of blk to node that has its permissions, or NULL. */
static BlockChild *edge_new(BlockBackend *blk, BlockNode *node, unsigned perm, unsigned shared,
                            Error **errp)
{
    BlockChild *edge = g_new0(BlockChild, 1);

    edge->name = (char *)"root";
    edge->blk = blk;
    edge->shared = BLK_PERM_ALL;
    block_child_attach(edge, node);
    if (!block_child_set_perm(edge, perm, shared, errp)) {
        block_child_detach(edge);
        g_free(edge);
        return NULL;
    }
    return edge;
}

static void edge_free(BlockChild *edge)
{
    block_child_detach(edge);
    g_free(edge);
}

bool blk_insert(BlockBackend *blk, BlockNode *node, unsigned perm, unsigned shared, Error **errp)
{
    g_assert(!blk->root);
    blk->edge = edge_new(blk, node, perm, shared, errp);
    if (!blk->edge) {
        return false;
    }
    blk->perm = perm;
    blk->shared = shared;
    blk->root = node;
    return true;
}

static void reset_highest(void *part, void *opaque)
{
    BlkShard *sh = part;

    __atomic_store_n(&sh->wr_highest, 0, __ATOMIC_RELAXED);
}

/* The node keeps what its backends knew of it. Runs drained: the owners of the shards are quiet. */
static void hand_over_highest(BlockBackend *blk)
{
    BlkShard sum;

    blk_account_sum(blk, &sum);
    blk->root->wr_highest = MAX(blk->root->wr_highest, sum.wr_highest);
    slot_table_foreach(&blk->shards, reset_highest, NULL);
}

void blk_remove(BlockBackend *blk)
{
    if (!blk->root) {
        return;
    }
    blk_drain_begin(blk);
    hand_over_highest(blk);
    blk->root = NULL;
    edge_free(g_steal_pointer(&blk->edge));
    blk_drain_end(blk);
}

BlockBackend *blk_for_device(const char *name, const char *owner_type, Error **errp)
{
    BlockBackend *blk = blk_by_id(name);
    BlockNode *node;

    ASSERT_BIG_LOCK();
    if (blk) {
        DriveInfo *di = drive_of_blk(blk);

        if (!blk_has_dev(blk)) {
            return blk_ref(blk);
        }
        if (di && strcmp(di->interface, "none") != 0) {
            error_set(errp, "Drive '%s' is already in use because it has been automatically "
                            "connected to another device (did you need 'if=none' in the drive "
                            "options?)", name);
        } else {
            error_set(errp, "Drive '%s' is already in use by another device", name);
        }
        return NULL;
    }
    node = block_node_find(name);
    if (!node) {
        error_set(errp, "Property '%s.drive' can't find value '%s'", owner_type, name);
        return NULL;
    }
    blk = blk_new();
    if (!blk_insert(blk, node, 0, BLK_PERM_ALL, errp)) {
        blk_unref(blk);
        return NULL;
    }
    return blk;
}

void blk_attach_dev(BlockBackend *blk, const BlkDevOps *ops, void *opaque)
{
    ASSERT_BIG_LOCK();
    g_assert(!blk->dev_ops);
    blk->dev_ops = ops;
    blk->dev_opaque = opaque;
    if (blk->drain_depth && ops->drained_begin) {
        ops->drained_begin(opaque);
    }
}

void blk_detach_dev(BlockBackend *blk)
{
    ASSERT_BIG_LOCK();
    /* The device has stopped, but what it submitted is still its own. */
    blk_wait_idle(blk);
    blk_clear_latency_bounds(blk);
    blk->dev_ops = NULL;
    blk->dev_opaque = NULL;
    __atomic_store_n(&blk->iostatus_enabled, 0, __ATOMIC_RELAXED);
    blk->iostatus = BLOCK_DEVICE_IO_STATUS_OK;
    __atomic_store_n(&blk->write_cache, blk->cache_writeback, __ATOMIC_RELAXED);
    if (blk->root) {
        /* What remains is what the drive itself needs. */
        blk_set_perm(blk, blk->id ? BLK_PERM_READ : 0, BLK_PERM_ALL, NULL);
    }
}

bool blk_has_dev(BlockBackend *blk)
{
    return blk->dev_ops != NULL;
}

bool blk_set_perm(BlockBackend *blk, unsigned perm, unsigned shared, Error **errp)
{
    ASSERT_BIG_LOCK();
    if (blk->root && !block_child_set_perm(blk->edge, perm, shared, errp)) {
        return false;
    }
    blk->perm = perm;
    blk->shared = shared;
    return true;
}

bool blk_replace(BlockBackend *blk, const char *name, Error **errp)
{
    BlockNode *node = block_lookup("", name, errp);
    BlockChild *edge, *old;

    ASSERT_BIG_LOCK();
    if (!node) {
        return false;
    }
    if (node == blk->root) {
        return true;
    }
    block_node_ref(node);
    blk_drain_begin(blk);
    /* The old node is let go only when the new one is held: going back cannot fail then. */
    edge = edge_new(blk, node, blk->perm, blk->shared, errp);
    if (edge) {
        old = blk->edge;
        if (blk->root) {
            hand_over_highest(blk);
        }
        blk->edge = edge;
        blk->root = node;
        if (old) {
            edge_free(old);
        }
    }
    blk_drain_end(blk);
    block_node_unref(node);
    if (edge && blk->dev_ops && blk->dev_ops->resized) {
        blk->dev_ops->resized(blk->dev_opaque);
    }
    return edge != NULL;
}

BlockBackend *blk_by_device_or_id(const char *device, const char *id, Error **errp)
{
    GPtrArray *all = blk_all();
    BlockBackend *blk = device ? blk_by_id(device) : NULL;
    g_autofree char *path = NULL;
    Object *obj;

    if (!device == !id) {
        error_set(errp, "Need exactly one of 'device' and 'id'");
        return NULL;
    }
    if (device && !blk) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", device);
    }
    if (device) {
        return blk;
    }
    obj = object_resolve(id, NULL);
    path = obj ? object_path(obj) : NULL;
    if (!path) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", id);
        return NULL;
    }
    for (guint i = 0; i < all->len; i++) {
        g_autofree char *dev = blk_dev_path(g_ptr_array_index(all, i));

        if (dev && strcmp(dev, path) == 0) {
            return g_ptr_array_index(all, i);
        }
    }
    error_set(errp, "Device does not have a block device backend");
    return NULL;
}

char *blk_dev_path(BlockBackend *blk)
{
    if (blk->dev_ops && blk->dev_ops->dev_path) {
        return blk->dev_ops->dev_path(blk->dev_opaque);
    }
    return NULL;
}

char *blk_describe(BlockBackend *blk)
{
    g_autofree char *path = NULL;

    if (blk->id) {
        return g_strdup_printf("block device '%s'", blk->id);
    }
    path = blk_dev_path(blk);
    if (path) {
        return g_strdup_printf("block device '%s'", path);
    }
    return g_strdup("an unnamed block device");
}

/* ---- facts ---- */

bool blk_is_inserted(BlockBackend *blk)
{
    return blk->root != NULL;
}

bool blk_is_read_only(BlockBackend *blk)
{
    return blk->root && blk->root->read_only;
}

int64_t blk_length(BlockBackend *blk)
{
    return blk->root ? block_node_length(blk->root) : -ENOMEDIUM;
}

const char *blk_name(BlockBackend *blk)
{
    if (blk->id) {
        return blk->id;
    }
    return blk->root ? blk->root->name : "";
}

const char *blk_drive_id(BlockBackend *blk)
{
    return blk->id ? blk->id : "";
}

unsigned blk_request_alignment(BlockBackend *blk)
{
    return blk->root ? blk->root->limits.request_alignment : 1;
}

unsigned blk_mem_alignment(BlockBackend *blk)
{
    return blk->root ? blk->root->limits.mem_alignment : 1;
}

int blk_max_iov(BlockBackend *blk)
{
    return blk->root ? blk->root->limits.max_iov : 1;
}

int64_t blk_max_transfer(BlockBackend *blk)
{
    int64_t max = blk->root ? blk->root->limits.max_transfer : 0;

    return max > 0 && max < BLK_MAX_REQUEST_BYTES ? max : BLK_MAX_REQUEST_BYTES;
}

void blk_probe_blocksizes(BlockBackend *blk, uint32_t *logical, uint32_t *physical)
{
    *logical = 0;
    *physical = 0;
    if (blk->root && blk->root->drv->probe_blocksizes) {
        blk->root->drv->probe_blocksizes(blk->root, logical, physical);
    }
}

bool blk_supports_discard(BlockBackend *blk)
{
    BlockNode *node = blk->root;

    return node && node->discard_unmap && node->drv->can_discard && node->drv->can_discard(node);
}

bool blk_write_cache(BlockBackend *blk)
{
    return __atomic_load_n(&blk->write_cache, __ATOMIC_RELAXED);
}

void blk_set_write_cache(BlockBackend *blk, bool on)
{
    __atomic_store_n(&blk->write_cache, on, __ATOMIC_RELAXED);
}

void block_close_all(void)
{
    blk_flush_all();
    drive_close_all();
    blockdev_close_all();
}
