/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What clients can ask about disks and nodes. */
#include <string.h>

#include "backend.h"
#include "query.h"
#include "throttle-limits.h"
#include "timed-stats.h"
#include "util/biglock.h"

/* Whether the file under a format, or the node itself, is a file of the host. */
static bool has_dirty_flag(BlockNode *node)
{
    return node->drv->has_dirty_flag || (node->file && has_dirty_flag(node->file));
}

/* Length of the chain of nodes that show each other's data. */
static int64_t backing_depth(BlockNode *node)
{
    return node->drv->is_filter ? 1 + backing_depth(node->file) : 0;
}

static ImageInfo *image_info(BlockNode *node, bool flat)
{
    ImageInfo *info = g_new0(ImageInfo, 1);
    int64_t allocated = node->drv->allocated ? node->drv->allocated(node) : -1;

    info->filename = block_node_filename(node);
    info->format = g_strdup(node->drv->name);
    info->virtual_size = block_node_length(node);
    info->has_actual_size = allocated >= 0;
    info->actual_size = allocated;
    info->has_dirty_flag = has_dirty_flag(node);
    info->format_specific = node->drv->info ? node->drv->info(node) : NULL;
    if (node->drv->is_filter && !flat) {
        info->backing_image = image_info(node->file, false);
    }
    return info;
}

BlockDeviceInfo *block_node_info(BlockNode *node, BlockBackend *blk, bool flat)
{
    BlockDeviceInfo *info = g_new0(BlockDeviceInfo, 1);

    info->file = block_node_filename(node);
    info->node_name = g_strdup(node->name);
    info->ro = node->read_only;
    info->drv = g_strdup(node->drv->name);
    info->active = true;
    info->write_threshold =
        (int64_t)__atomic_load_n(&node->write_threshold, __ATOMIC_RELAXED);
    info->detect_zeroes = node->detect_zeroes;
    info->backing_file_depth = backing_depth(node);
    info->image = image_info(node, flat);
    if (blk) {
        throttle_fill_info(info, blk);
    }
    info->cache = g_new0(BlockdevCacheInfo, 1);
    info->cache->writeback = blk ? blk_write_cache(blk) : true;
    info->cache->direct = node->cache_direct;
    info->cache->no_flush = node->no_flush;
    return info;
}

bool block_is_listed(BlockBackend *blk)
{
    return blk->id || blk_has_dev(blk);
}

static BlockInfo *backend_info(BlockBackend *blk)
{
    BlockInfo *info = g_new0(BlockInfo, 1);

    info->device = g_strdup(blk_drive_id(blk));
    info->qdev = blk_dev_path(blk);
    info->type = g_strdup("unknown");
    info->removable = !blk_has_dev(blk);
    if (blk->root) {
        info->inserted = block_node_info(blk->root, blk, false);
    }
    if (__atomic_load_n(&blk->iostatus_enabled, __ATOMIC_RELAXED)) {
        info->has_io_status = true;
        info->io_status = blk->iostatus;
    }
    return info;
}

GPtrArray *qmp_query_block(Error **errp)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_BlockInfo);
    GPtrArray *all = blk_all();

    ASSERT_BIG_LOCK();
    block_refresh_facts();
    for (guint i = 0; i < all->len; i++) {
        BlockBackend *blk = g_ptr_array_index(all, i);

        if (block_is_listed(blk)) {
            g_ptr_array_add(list, backend_info(blk));
        }
    }
    return list;
}
QMP_REGISTER(query_block)

GPtrArray *qmp_query_named_block_nodes(const q_query_named_block_nodes_args *args, Error **errp)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_BlockDeviceInfo);

    ASSERT_BIG_LOCK();
    block_refresh_facts();
    for (GList *l = block_nodes(); l; l = l->next) {
        BlockNode *node = l->data;

        /* One that is being opened while this runs is not there yet. */
        if (node->opened) {
            g_ptr_array_add(list, block_node_info(node, NULL, args->has_flat && args->flat));
        }
    }
    return list;
}
QMP_REGISTER(query_named_block_nodes)

/* ---- counters ---- */

static BlockDeviceStats *stats_new(void)
{
    BlockDeviceStats *s = g_new0(BlockDeviceStats, 1);

    s->timed_stats =
        g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_BlockDeviceTimedStats);
    return s;
}

BlockDeviceStats *block_backend_stats(BlockBackend *blk)
{
    BlockDeviceStats *s = stats_new();
    BlkShard sum;

    blk_account_sum(blk, &sum);
    s->rd_bytes = (int64_t)sum.bytes[BLK_ACCT_READ];
    s->wr_bytes = (int64_t)sum.bytes[BLK_ACCT_WRITE];
    s->unmap_bytes = (int64_t)sum.bytes[BLK_ACCT_UNMAP];
    s->rd_operations = (int64_t)sum.ops[BLK_ACCT_READ];
    s->wr_operations = (int64_t)sum.ops[BLK_ACCT_WRITE];
    s->flush_operations = (int64_t)sum.ops[BLK_ACCT_FLUSH];
    s->unmap_operations = (int64_t)sum.ops[BLK_ACCT_UNMAP];
    s->rd_total_time_ns = (int64_t)sum.time_ns[BLK_ACCT_READ];
    s->wr_total_time_ns = (int64_t)sum.time_ns[BLK_ACCT_WRITE];
    s->flush_total_time_ns = (int64_t)sum.time_ns[BLK_ACCT_FLUSH];
    s->unmap_total_time_ns = (int64_t)sum.time_ns[BLK_ACCT_UNMAP];
    s->rd_merged = (int64_t)sum.merged[BLK_ACCT_READ];
    s->wr_merged = (int64_t)sum.merged[BLK_ACCT_WRITE];
    s->unmap_merged = (int64_t)sum.merged[BLK_ACCT_UNMAP];
    s->failed_rd_operations = (int64_t)sum.failed[BLK_ACCT_READ];
    s->failed_wr_operations = (int64_t)sum.failed[BLK_ACCT_WRITE];
    s->failed_flush_operations = (int64_t)sum.failed[BLK_ACCT_FLUSH];
    s->failed_unmap_operations = (int64_t)sum.failed[BLK_ACCT_UNMAP];
    s->invalid_rd_operations = (int64_t)sum.invalid[BLK_ACCT_READ];
    s->invalid_wr_operations = (int64_t)sum.invalid[BLK_ACCT_WRITE];
    s->invalid_flush_operations = (int64_t)sum.invalid[BLK_ACCT_FLUSH];
    s->invalid_unmap_operations = (int64_t)sum.invalid[BLK_ACCT_UNMAP];
    s->rd_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_READ, -1, 0);
    s->wr_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_WRITE, -1, 0);
    s->zone_append_latency_histogram =
        blk_latency_histogram(blk, BLK_LATENCY_ZONE_APPEND, -1, 0);
    s->flush_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_FLUSH, -1, 0);
    if (blk->timed) {
        blk_timed_describe(blk->timed, aio_clock_ns(AIO_CLOCK_REALTIME), s->timed_stats);
    }
    s->account_invalid = blk->account_invalid;
    s->account_failed = blk->account_failed;
    if (sum.last_access_ns) {
        int64_t idle_ns = aio_clock_ns(AIO_CLOCK_REALTIME) - sum.last_access_ns;

        s->has_idle_time_ns = true;
        s->idle_time_ns = MAX(idle_ns, 0);
    }
    return s;
}

static BlockStats *node_stats(BlockNode *node, BlockBackend *blk)
{
    BlockStats *st = g_new0(BlockStats, 1);

    if (node) {
        st->node_name = g_strdup(node->name);
        st->driver_specific = node->drv->stats ? node->drv->stats(node) : NULL;
    }
    st->stats = blk ? block_backend_stats(blk) : stats_new();
    st->stats->wr_highest_offset = node ? block_node_wr_highest(node) : 0;
    if (node && node->file) {
        st->parent = node_stats(node->file, NULL);
    }
    return st;
}

GPtrArray *qmp_query_blockstats(const q_query_blockstats_args *args, Error **errp)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_BlockStats);
    GPtrArray *all = blk_all();

    ASSERT_BIG_LOCK();
    if (args->has_query_nodes && args->query_nodes) {
        for (GList *l = g_list_last(block_nodes()); l; l = l->prev) {
            BlockNode *node = l->data;

            if (node->opened) {
                g_ptr_array_add(list, node_stats(node, NULL));
            }
        }
        return list;
    }
    for (guint i = 0; i < all->len; i++) {
        BlockBackend *blk = g_ptr_array_index(all, i);
        BlockStats *st;

        if (!block_is_listed(blk)) {
            continue;
        }
        st = node_stats(blk->root, blk);
        st->device = g_strdup(blk_drive_id(blk));
        st->qdev = blk_dev_path(blk);
        g_ptr_array_add(list, st);
    }
    return list;
}
QMP_REGISTER(query_blockstats)
