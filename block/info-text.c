/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks and nodes as the human monitor shows them. */
#include <inttypes.h>
#include <string.h>

#include "query.h"

static char *human_size(int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double v = (double)bytes;
    unsigned u = 0;

    /* The next unit from 1000 on keeps the number at three digits. */
    while (v >= 1000 && u + 1 < G_N_ELEMENTS(units)) {
        v /= 1024;
        u++;
    }
    return g_strdup_printf("%0.3g %s", v, units[u]);
}

static void image_text(GString *s, const ImageInfo *i, bool first)
{
    g_autofree char *virtual = human_size(i->virtual_size);
    g_autofree char *actual = i->has_actual_size ? human_size(i->actual_size)
                                                 : g_strdup("unavailable");

    g_string_append_printf(s,
                           "%simage: %s\nfile format: %s\nvirtual size: %s (%" PRIi64
                           " bytes)\ndisk size: %s\n",
                           first ? "\nImages:\n" : "", i->filename, i->format, virtual,
                           i->virtual_size, actual);
    if (i->format_specific && i->format_specific->type == IMAGE_INFO_SPECIFIC_KIND_FILE &&
        i->format_specific->u.file.data->has_extent_size_hint) {
        g_string_append_printf(s,
                               "Format specific information:\n    extent size hint: %" PRIu64 "\n",
                               i->format_specific->u.file.data->extent_size_hint);
    }
    if (i->backing_image) {
        image_text(s, i->backing_image, false);
    }
}

static void limits_text(GString *s, const BlockDeviceInfo *d)
{
    if (!d->bps && !d->bps_rd && !d->bps_wr && !d->iops && !d->iops_rd && !d->iops_wr) {
        return;
    }
    g_string_append_printf(
        s,
        "    I/O throttling:   bps=%" PRIi64 " bps_rd=%" PRIi64 " bps_wr=%" PRIi64
        " bps_max=%" PRIi64 " bps_rd_max=%" PRIi64 " bps_wr_max=%" PRIi64 " iops=%" PRIi64
        " iops_rd=%" PRIi64 " iops_wr=%" PRIi64 " iops_max=%" PRIi64 " iops_rd_max=%" PRIi64
        " iops_wr_max=%" PRIi64 " iops_size=%" PRIi64 " group=%s\n",
        d->bps, d->bps_rd, d->bps_wr, d->bps_max, d->bps_rd_max, d->bps_wr_max, d->iops,
        d->iops_rd, d->iops_wr, d->iops_max, d->iops_rd_max, d->iops_wr_max, d->iops_size,
        d->group);
}

static void medium_text(GString *s, const BlockDeviceInfo *d)
{
    g_string_append_printf(s, ": %s (%s%s)\n", d->file, d->drv, d->ro ? ", read-only" : "");
}

static void cache_text(GString *s, const BlockDeviceInfo *d, bool verbose)
{
    g_string_append_printf(s, "    Cache mode:       %s%s%s\n",
                           d->cache->writeback ? "writeback" : "writethrough",
                           d->cache->direct ? ", direct" : "",
                           d->cache->no_flush ? ", ignore flushes" : "");
    if (d->detect_zeroes != BLOCKDEV_DETECT_ZEROES_OPTIONS_OFF) {
        g_string_append_printf(
            s, "    Detect zeroes:    %s\n",
            qapi_enum_name(&qapi_enum_BlockdevDetectZeroesOptions, d->detect_zeroes));
    }
    limits_text(s, d);
    if (verbose) {
        image_text(s, d->image, true);
    }
}

static void backend_text(GString *s, BlockBackend *blk, bool verbose)
{
    g_autoptr(BlockDeviceInfo) d = blk->root ? block_node_info(blk->root, blk, false) : NULL;
    g_autofree char *path = blk_dev_path(blk);
    bool iostatus = __atomic_load_n(&blk->iostatus_enabled, __ATOMIC_RELAXED);

    if (blk->id) {
        g_string_append(s, blk->id);
        if (d) {
            g_string_append_printf(s, " (%s)", d->node_name);
        }
    } else {
        g_string_append(s, d ? d->node_name : path ? path : "");
    }
    if (d) {
        medium_text(s, d);
    } else {
        g_string_append(s, ": [not inserted]\n");
    }
    if (path) {
        g_string_append_printf(s, "    Attached to:      %s\n", path);
    }
    if (iostatus && blk->iostatus != BLOCK_DEVICE_IO_STATUS_OK) {
        g_string_append_printf(s, "    I/O status:       %s\n",
                               qapi_enum_name(&qapi_enum_BlockDeviceIoStatus, blk->iostatus));
    }
    if (!blk_has_dev(blk)) {
        g_string_append(s, "    Removable device: not locked, tray closed\n");
    }
    if (d) {
        cache_text(s, d, verbose);
    }
}

static void node_text(GString *s, BlockNode *node, bool verbose)
{
    g_autoptr(BlockDeviceInfo) d = block_node_info(node, NULL, false);

    g_string_append(s, d->node_name);
    medium_text(s, d);
    cache_text(s, d, verbose);
}

char *block_info_text(bool verbose, bool nodes, const char *name)
{
    GString *s = g_string_new(NULL);
    GPtrArray *all = blk_all();
    bool found = false;

    block_refresh_facts();
    for (guint i = 0; i < all->len && !nodes; i++) {
        BlockBackend *blk = g_ptr_array_index(all, i);

        if (!block_is_listed(blk) || (name && g_strcmp0(blk->id, name) != 0)) {
            continue;
        }
        if (found) {
            g_string_append_c(s, '\n');
        }
        backend_text(s, blk, verbose);
        found = true;
    }
    for (GList *l = block_nodes(); l && (nodes || (name && !found)); l = l->next) {
        BlockNode *node = l->data;

        if (!node->opened || (name && strcmp(node->name, name) != 0)) {
            continue;
        }
        if (s->len) {
            g_string_append_c(s, '\n');
        }
        node_text(s, node, verbose);
        if (name) {
            break;
        }
    }
    return g_string_free(s, FALSE);
}

char *block_stats_text(void)
{
    GString *s = g_string_new(NULL);
    GPtrArray *all = blk_all();

    for (guint i = 0; i < all->len; i++) {
        BlockBackend *blk = g_ptr_array_index(all, i);
        g_autoptr(BlockDeviceStats) st = NULL;

        if (!block_is_listed(blk)) {
            continue;
        }
        st = block_backend_stats(blk);
        g_string_append_printf(
            s,
            "%s: rd_bytes=%" PRIi64 " wr_bytes=%" PRIi64 " rd_operations=%" PRIi64
            " wr_operations=%" PRIi64 " flush_operations=%" PRIi64 " wr_total_time_ns=%" PRIi64
            " rd_total_time_ns=%" PRIi64 " flush_total_time_ns=%" PRIi64 " rd_merged=%" PRIi64
            " wr_merged=%" PRIi64 " idle_time_ns=%" PRIi64 "\n",
            blk_drive_id(blk), st->rd_bytes, st->wr_bytes, st->rd_operations, st->wr_operations,
            st->flush_operations, st->wr_total_time_ns, st->rd_total_time_ns,
            st->flush_total_time_ns, st->rd_merged, st->wr_merged,
            st->has_idle_time_ns ? st->idle_time_ns : 0);
    }
    return g_string_free(s, FALSE);
}
