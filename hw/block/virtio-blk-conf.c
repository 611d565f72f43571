/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of virtio-blk: what they must be, what is derived, what the guest sees of them. */

#include "virtio-blk.h"

#include <linux/virtio_blk.h>

#define DEFAULT_BLOCK_SIZE 512
#define MAX_SECTORS        (BLK_MAX_REQUEST_BYTES >> BLK_SECTOR_BITS)
#define SEG_MAX_FIXED      126 /* with seg-max-adjust=off: fits a queue of 128 */
#define GRANULARITY_AUTO   UINT32_MAX

/* Geometry that PC firmware expects of a disk. */
#define GUESS_HEADS    16
#define GUESS_SECS     63
#define GUESS_MAX_CYLS 16383

uint64_t virtio_blk_capacity(VirtIOBlk *s)
{
    int64_t length = blk_length(s->blk);

    return length > 0 ? ((uint64_t)length + BLK_SECTOR_SIZE - 1) >> BLK_SECTOR_BITS : 0;
}

bool virtio_blk_check_queues(VirtIOBlk *s, Error **errp)
{
    const VirtIOBlkConf *c = &s->conf;

    if (!s->blk) {
        error_set(errp, "drive property not set");
        return false;
    }
    if (!blk_is_inserted(s->blk)) {
        error_set(errp, "Device needs media, but drive is empty");
        return false;
    }
    if (!c->num_queues) {
        error_set(errp, "num-queues property must be larger than 0");
        return false;
    }
    if (c->queue_size <= 2) {
        error_set(errp, "invalid queue-size property (%u), must be > 2", c->queue_size);
        return false;
    }
    if ((c->queue_size & (c->queue_size - 1)) || c->queue_size > VIRTQUEUE_MAX_SIZE) {
        error_set(errp, "invalid queue-size property (%u), must be a power of 2 (max %d)",
                  c->queue_size, VIRTQUEUE_MAX_SIZE);
        return false;
    }
    return true;
}

static bool check_geometry(VirtIOBlk *s, Error **errp)
{
    VirtIOBlkConf *c = &s->conf;

    if (!c->cyls && !c->heads && !c->secs) {
        uint64_t cyls = virtio_blk_capacity(s) / (GUESS_HEADS * GUESS_SECS);

        c->cyls = CLAMP(cyls, 2, GUESS_MAX_CYLS);
        c->heads = GUESS_HEADS;
        c->secs = GUESS_SECS;
        return true;
    }
    if (c->cyls < 1 || c->cyls > 65535) {
        error_set(errp, "cyls must be between 1 and 65535");
        return false;
    }
    if (c->heads < 1 || c->heads > 255) {
        error_set(errp, "heads must be between 1 and 255");
        return false;
    }
    if (c->secs < 1 || c->secs > 255) {
        error_set(errp, "secs must be between 1 and 255");
        return false;
    }
    return true;
}

static bool check_block_sizes(VirtIOBlk *s, Error **errp)
{
    VirtIOBlkConf *c = &s->conf;
    uint32_t logical = 0, physical = 0;

    /* A guest that was installed with 512-byte blocks must not see others just because its image
     * has been moved to another disk: the host's sizes are taken only if asked for. */
    if (c->backend_defaults == ON_OFF_AUTO_ON) {
        blk_probe_blocksizes(s->blk, &logical, &physical);
    }
    if (!c->physical_block_size) {
        c->physical_block_size = physical ? physical : DEFAULT_BLOCK_SIZE;
    }
    if (!c->logical_block_size) {
        c->logical_block_size = logical ? logical : DEFAULT_BLOCK_SIZE;
    }
    if (c->logical_block_size > c->physical_block_size) {
        error_set(errp, "logical_block_size > physical_block_size not supported");
        return false;
    }
    if (c->min_io_size % c->logical_block_size) {
        error_set(errp, "min_io_size must be a multiple of logical_block_size");
        return false;
    }
    /* The guest reads it as 16 bits. */
    if (c->min_io_size / c->logical_block_size > UINT16_MAX) {
        error_set(errp, "min_io_size must not exceed %u logical blocks", UINT16_MAX);
        return false;
    }
    if (c->opt_io_size % c->logical_block_size) {
        error_set(errp, "opt_io_size must be a multiple of logical_block_size");
        return false;
    }
    if (c->discard_granularity != GRANULARITY_AUTO &&
        c->discard_granularity % c->logical_block_size) {
        error_set(errp, "discard_granularity must be a multiple of logical_block_size");
        return false;
    }
    return true;
}

static bool check_max_sectors(const char *name, uint32_t value, Error **errp)
{
    if (!value || value > MAX_SECTORS) {
        error_set(errp, "invalid %s property (%u), must be between 1 and %d", name, value,
                  MAX_SECTORS);
        return false;
    }
    return true;
}

bool virtio_blk_check_conf(VirtIOBlk *s, Error **errp)
{
    VirtIOBlkConf *c = &s->conf;

    if (!check_geometry(s, errp) || !check_block_sizes(s, errp)) {
        return false;
    }
    if (c->discard && !check_max_sectors("max-discard-sectors", c->max_discard_sectors, errp)) {
        return false;
    }
    if (c->write_zeroes &&
        !check_max_sectors("max-write-zeroes-sectors", c->max_write_zeroes_sectors, errp)) {
        return false;
    }
    if (c->num_queues > VIRTIO_QUEUE_MAX) {
        error_set(errp, "num-queues property must be between 1 and %d", VIRTIO_QUEUE_MAX);
        return false;
    }
    return true;
}

/* ---- the guest's view ---- */

/* The fields of features that are not offered are cut off. */
uint32_t virtio_blk_config_len(const VirtIOBlk *s)
{
    if (s->conf.write_zeroes) {
        return offsetof(struct virtio_blk_config, write_zeroes_may_unmap) + 1;
    }
    if (s->conf.discard) {
        return offsetof(struct virtio_blk_config, max_write_zeroes_sectors);
    }
    return offsetof(struct virtio_blk_config, max_discard_sectors);
}

static uint8_t config_secs(VirtIOBlk *s)
{
    const VirtIOBlkConf *c = &s->conf;
    uint64_t bytes = virtio_blk_capacity(s) << BLK_SECTOR_BITS;
    uint32_t mask = (c->logical_block_size >> BLK_SECTOR_BITS) - 1;

    /* A track holds whole blocks, unless the size can be expressed without that. */
    return bytes && bytes / c->heads / c->secs % c->logical_block_size ? c->secs & ~mask : c->secs;
}

void virtio_blk_fill_config(VirtIOBlk *s, uint8_t *config)
{
    const VirtIOBlkConf *c = &s->conf;
    struct virtio_blk_config cfg = {0};

    cfg.capacity = GUINT64_TO_LE(virtio_blk_capacity(s));
    cfg.seg_max = GUINT32_TO_LE(c->seg_max_adjust ? c->queue_size - 2 : SEG_MAX_FIXED);
    cfg.geometry.cylinders = GUINT16_TO_LE(c->cyls);
    cfg.geometry.heads = c->heads;
    cfg.geometry.sectors = config_secs(s);
    cfg.blk_size = GUINT32_TO_LE(c->logical_block_size);
    cfg.physical_block_exp = __builtin_ctz(c->physical_block_size / c->logical_block_size);
    cfg.min_io_size = GUINT16_TO_LE(c->min_io_size / c->logical_block_size);
    cfg.opt_io_size = GUINT32_TO_LE(c->opt_io_size / c->logical_block_size);
    cfg.wce = blk_write_cache(s->blk);
    cfg.num_queues = GUINT16_TO_LE(c->num_queues);
    if (c->discard) {
        uint32_t granularity = c->discard_granularity;

        if (granularity == GRANULARITY_AUTO || !c->report_discard_granularity) {
            granularity = c->logical_block_size;
        }
        cfg.max_discard_sectors = GUINT32_TO_LE(c->max_discard_sectors);
        cfg.max_discard_seg = GUINT32_TO_LE(1);
        cfg.discard_sector_alignment = GUINT32_TO_LE(granularity >> BLK_SECTOR_BITS);
    }
    if (c->write_zeroes) {
        cfg.max_write_zeroes_sectors = GUINT32_TO_LE(c->max_write_zeroes_sectors);
        cfg.max_write_zeroes_seg = GUINT32_TO_LE(1);
        cfg.write_zeroes_may_unmap = 1;
    }
    memcpy(config, &cfg, virtio_blk_config_len(s));
}
