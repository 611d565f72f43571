/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_BACKEND_H
#define BLOCK_BACKEND_H

#include <pthread.h>

#include "node.h"
#include "slot.h"

/* Backends, as the files of this folder see them. */

typedef enum {
    BLK_ACCT_READ,
    BLK_ACCT_WRITE,
    BLK_ACCT_FLUSH,
    BLK_ACCT_UNMAP,
    BLK_ACCT__MAX,
} BlkAcct;

/* What one thread keeps of a backend. Only its owner writes to it. */
typedef struct BlkShard {
    unsigned in_flight; /* atomic; see submit.c */
    int64_t last_access_ns;
    int64_t wr_highest; /* end of the highest write, bytes */
    uint64_t ops[BLK_ACCT__MAX];
    uint64_t bytes[BLK_ACCT__MAX];
    uint64_t time_ns[BLK_ACCT__MAX];
    uint64_t failed[BLK_ACCT__MAX];
    uint64_t invalid[BLK_ACCT__MAX];
    uint64_t merged[BLK_ACCT__MAX];
} BlkShard;

struct BlockBackend {
    /* Read by the data path; changed only while the backend is drained. */
    BlockNode *root;
    struct ThrottleMember *throttle; /* limits of the whole disk; NULL */
    SlotTable shards;     /* of BlkShard */
    unsigned quiesce;     /* drains in force: requests are parked; atomic */
    unsigned waiters;     /* the main thread waits for requests to end; atomic */
    bool write_cache;     /* atomic */
    bool account_failed, account_invalid; /* atomic */
    struct BlkLatency *latency[BLK_LATENCY__MAX]; /* RCU; NULL: no histogram */
    struct BlkTimed *timed; /* of -drive stats-intervals; NULL: none */
    unsigned lanes;       /* queues of the device */
    bool drive_account_failed, drive_account_invalid;

    unsigned refs;        /* atomic */
    unsigned extra_in_flight; /* blk_inc_in_flight(), parked requests being resumed; atomic */
    pthread_mutex_t park_lock;
    BlockRequest *parked, **parked_tail;

    unsigned hurry_depth; /* see blk_hurry_begin() */
    GPtrArray *hurried;   /* of BlockNode, referenced: drivers that were told */
    unsigned drain_depth; /* as quiesce, but raised before the device is told */
    char *id;             /* of -drive; NULL */
    BlockChild *edge;     /* to root; NULL without one */
    const BlkDevOps *dev_ops;
    void *dev_opaque;
    unsigned perm, shared;
    bool cache_writeback; /* as configured */
    BlockOnError drive_rerror, drive_werror; /* of -drive */
    int rerror, werror;   /* BlockOnError in force; atomic */
    int iostatus_enabled; /* atomic */
    BlockDeviceIoStatus iostatus;
};

/* ---- backend.c; main thread ---- */

BlockBackend *blk_new(void);
/* Connects an empty backend to a node, with permissions. Takes its own reference to the node. */
bool blk_insert(BlockBackend *blk, BlockNode *node, unsigned perm, unsigned shared, Error **errp);
void blk_remove(BlockBackend *blk);
BlockBackend *blk_by_id(const char *id);
/* All backends, in order of creation. Borrowed. */
GPtrArray *blk_all(void);
/* The backend of a -drive (`device`) or of a device of the object tree (`id`: path or name), just
 * one of which is given: DeviceNotFound, "Device does not have a block device backend". */
BlockBackend *blk_by_device_or_id(const char *device, const char *id, Error **errp);
/* Path of the device, or NULL; caller frees. */
char *blk_dev_path(BlockBackend *blk);
/* How messages call it: "block device 'x'". Caller frees. */
char *blk_describe(BlockBackend *blk);
bool blk_has_dev(BlockBackend *blk);

/* ---- submit.c ---- */

/* Waits for what is in flight, and for nothing else: the device has stopped. */
void blk_wait_idle(BlockBackend *blk);
/* Drains the backends above node; returns what block_drained_end() needs. */
GPtrArray *block_drained_begin(BlockNode *node);
void block_drained_end(GPtrArray *drained);
void blk_drain_new(BlockBackend *blk); /* a backend made while everything is drained */

/* ---- throttle-backend.c ---- */

/* Ends the limits of the whole disk. Drains blk. */
void blk_leave_group(BlockBackend *blk);

/* ---- file-facts.c ---- */

/* Before a query: has what drivers keep in memory brought up to date, as far as that takes no
 * longer than a moment. Polls the main context. */
void block_refresh_facts(void);

/* ---- account.c ---- */

int64_t block_clock(void);
int64_t block_clock_fresh(void);
void blk_account_done(BlockBackend *blk, BlkShard *sh, BlockRequest *req, int ret);
void blk_account_sum(BlockBackend *blk, BlkShard *sum);
/* End of the highest write ever to the node, in its own offsets. */
int64_t block_node_wr_highest(BlockNode *node);

/* ---- latency.c ---- */

/* Puts a request that took `ns` into the histogram, if there is one. Runs in: the context that
 * completes it. */
void blk_latency_count(BlockBackend *blk, BlkLatencyKind kind, unsigned lane, uint64_t ns);
/* Makes an empty histogram with these boundaries (of uint64_t, ns). */
bool blk_set_latency_bounds(BlockBackend *blk, BlkLatencyKind kind, const GArray *bounds,
                            Error **errp);
/* No histograms any more. */
void blk_clear_latency_bounds(BlockBackend *blk);

/* ---- drive.c ---- */

DriveInfo *drive_of_blk(BlockBackend *blk);
void drive_close_all(void);

/* ---- blockdev.c ---- */

void blockdev_close_all(void);

#endif
