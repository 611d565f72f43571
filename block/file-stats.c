/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What clients can learn about the requests of the drivers file and host_device. */
#include <string.h>

#include "file.h"
#include "qapi/qapi-block-file.h"
#include "qapi/qapi.h"

BlockStatsSpecific *file_stats(BlockNode *node)
{
    FileState *s = node->opaque;
    BlockStatsSpecific *stats = g_new0(BlockStatsSpecific, 1);
    BlockStatsSpecificFile f = {
        .discard_nb_ok = __atomic_load_n(&s->discards_ok, __ATOMIC_RELAXED),
        .discard_nb_failed = __atomic_load_n(&s->discards_failed, __ATOMIC_RELAXED),
        .discard_bytes_ok = __atomic_load_n(&s->discard_bytes, __ATOMIC_RELAXED),
    };

    if (strcmp(node->drv->name, "file") == 0) {
        stats->driver = BLOCKDEV_DRIVER_FILE;
        stats->u.file = f;
    } else {
        stats->driver = BLOCKDEV_DRIVER_HOST_DEVICE;
        stats->u.host_device = f;
    }
    return stats;
}

static void add_shard(void *part, void *opaque)
{
    const FileShard *sh = part;
    FileIoStats *sum = opaque;

    sum->in_place += counter_get(&sh->in_place);
    sum->in_place_mapped += counter_get(&sh->mapped);
    sum->in_place_missed += counter_get(&sh->missed);
    sum->io_uring += counter_get(&sh->ring);
    sum->native += counter_get(&sh->native);
    sum->workers += counter_get(&sh->worker);
}

static FileIoStats *io_stats(BlockNode *node)
{
    FileState *s = node->opaque;
    FileIoStats *stats = g_new0(FileIoStats, 1);

    stats->node_name = g_strdup(node->name);
    stats->filename = g_strdup(s->path);
    stats->aio = s->aio;
    if (s->caps.in_memory) {
        stats->storage = FILE_STORAGE_MEMORY;
    } else {
        stats->storage = s->direct ? FILE_STORAGE_DEVICE : FILE_STORAGE_PAGE_CACHE;
    }
    slot_table_foreach(&s->shards, add_shard, stats);
    return stats;
}

GPtrArray *qmp_query_file_io_stats(Error **errp)
{
    GPtrArray *list = g_ptr_array_new();

    for (GList *l = block_nodes(); l; l = l->next) {
        BlockNode *node = l->data;

        if (node->opened && node->drv->submit == file_submit) {
            g_ptr_array_add(list, io_stats(node));
        }
    }
    return list;
}
QMP_REGISTER(query_file_io_stats)
