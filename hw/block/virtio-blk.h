/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_BLOCK_VIRTIO_BLK_H
#define SPINDLE_HW_BLOCK_VIRTIO_BLK_H

#include "block/block.h"
#include "hw/virtio/iothread-vq-mapping.h"
#include "hw/virtio/virtio.h"
#include "qapi/qapi-block-core.h"
#include "qapi/qapi-common.h"

/* What the files of virtio-blk share. */

#define TYPE_VIRTIO_BLK        "virtio-blk-device"
#define VIRTIO_BLK_QUEUES_AUTO 65535
#define VIRTIO_BLK_MAX_MERGE   32

typedef struct VirtIOBlk VirtIOBlk;
typedef struct VirtIOBlkQueue VirtIOBlkQueue;
typedef struct VirtIOBlkReq VirtIOBlkReq;

/* One request, from its chain to its status byte; from the pool of its queue. */
struct VirtIOBlkReq {
    BlockRequest blk;
    VirtIOBlkQueue *q;
    VirtIOBlkReq *next; /* in the pool, in the retry list, or of the same merged request */
    VirtQueueElement elem;
    struct iovec *data; /* data segments, inside elem */
    unsigned n_data;
    uint64_t bytes; /* of data[], or of the range to discard or zero */
    uint64_t sector;
    BlockOp op;
    unsigned flags;
    int ret; /* on its way to another thread */
    struct iovec *merged; /* segments of all requests that were merged into this one */
    unsigned merged_cap;
};

typedef struct VirtIOBlkChunk VirtIOBlkChunk;

/* The device's part of a queue: its owner's alone, like the queue. */
struct VirtIOBlkQueue {
    VirtIOBlk *s;
    VirtQueue *vq;
    VirtIOBlkReq *pool;
    VirtIOBlkChunk *chunks; /* all memory of the pool */
    bool prompt; /* all requests of the latest round were done at the end of it */
    bool copies; /* requests take their time in this thread: see virtio_blk_handle_queue() */
    VirtIOBlkReq *retry,
        **retry_tail; /* failed, to be sent again when the VM resumes; oldest first */
} __attribute__((aligned(128)));

/* Requests of one round that may become one. */
typedef struct VirtIOBlkBatch {
    VirtIOBlkReq *reqs[VIRTIO_BLK_MAX_MERGE];
    unsigned n;
} VirtIOBlkBatch;

/* Properties, and what realize made of them. */
typedef struct VirtIOBlkConf {
    OnOffAuto backend_defaults;
    uint32_t logical_block_size, physical_block_size;       /* bytes */
    uint32_t min_io_size, opt_io_size, discard_granularity; /* bytes */
    OnOffAuto write_cache, account_invalid, account_failed;
    bool share_rw;
    BlockdevOnError rerror, werror;
    uint32_t cyls, heads, secs, lcyls, lheads, lsecs;
    char *serial;
    bool config_wce, request_merging, seg_max_adjust, discard, report_discard_granularity;
    bool write_zeroes, enable_wce_if_config_wce;
    uint16_t num_queues, queue_size;
    uint32_t max_discard_sectors, max_write_zeroes_sectors;
    Object *iothread;
    GPtrArray *vq_mapping;
    int32_t bootindex;
} VirtIOBlkConf;

struct VirtIOBlk {
    VirtIODevice parent_obj;
    BlockBackend *blk;
    VirtIOBlkConf conf;
    IOThreadVqMap *map;
    VirtIOBlkQueue *queues;
    bool original_wce; /* cache mode after a reset */
};

#define VIRTIO_BLK(obj) OBJECT_CHECK(VirtIOBlk, obj, TYPE_VIRTIO_BLK)

/* ---- virtio-blk-conf.c. Runs in: main thread ---- */

/* Checks that come before the drive is taken: media, queues. */
bool virtio_blk_check_queues(VirtIOBlk *s, Error **errp);
/* Fills in what was left open and checks the rest. */
bool virtio_blk_check_conf(VirtIOBlk *s, Error **errp);
/* Size as the guest sees it, in 512-byte sectors. Runs in: any thread. */
uint64_t virtio_blk_capacity(VirtIOBlk *s);
uint32_t virtio_blk_config_len(const VirtIOBlk *s);
void virtio_blk_fill_config(VirtIOBlk *s, uint8_t *config);

/* ---- virtio-blk-names.c ---- */

extern const VirtIOBitName virtio_blk_feature_names[];

/* ---- virtio-blk-request.c. Runs in: the queue's context ---- */

bool virtio_blk_handle_queue(VirtIODevice *vdev, VirtQueue *vq);
void virtio_blk_restart_queue(VirtIODevice *vdev, VirtQueue *vq);
/* Forgets what waits for a retry. */
void virtio_blk_drop_retries(VirtIOBlkQueue *q);
/* Frees the pool; nothing may be in use. Runs in: main thread. */
void virtio_blk_queue_free(VirtIOBlkQueue *q);
/* Starts one request, whose data the block layer is to see as iov. `req` may be gone when it
 * returns. */
void virtio_blk_start(VirtIOBlkReq *req, const struct iovec *iov, unsigned niov, uint64_t bytes);

/* ---- virtio-blk-merge.c. Runs in: the queue's context ---- */

/* Adds a read or write; may submit what is there before. */
void virtio_blk_batch_add(VirtIOBlk *s, VirtIOBlkBatch *batch, VirtIOBlkReq *req);
void virtio_blk_batch_submit(VirtIOBlk *s, VirtIOBlkBatch *batch);
/*
 * How many of reqs[0..n), sorted by sector, can go as one request: each begins where the one before
 * ends, and together they stay within the limits. At least 1.
 */
unsigned virtio_blk_merge_count(VirtIOBlkReq *const *reqs, unsigned n, unsigned max_iov,
                                uint64_t max_bytes);

#endif
