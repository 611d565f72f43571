/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_BLOCK_BLOCK_H
#define SPINDLE_BLOCK_BLOCK_H

#include <sys/uio.h>

#include "qapi/qapi.h"
#include "util/aio.h"

/*
 * What a device sees of the block layer: a BlockBackend, its handle on a node of the graph.
 *
 * Data path (blk_submit and completions): runs in the AioContext of whoever submits; no lock is
 * taken, no context owns a node. Control plane (everything else): main thread under the big lock.
 */
typedef struct BlockBackend BlockBackend;
typedef struct BlockNode BlockNode;
typedef struct BlockRequest BlockRequest;

#define BLK_SECTOR_SIZE 512
#define BLK_SECTOR_BITS 9
/* No image is larger than this (bytes). */
#define BLK_MAX_LENGTH (INT64_MAX & ~(int64_t)((1 << 30) - 1))
/* Most bytes of one read or write. */
#define BLK_MAX_REQUEST_BYTES (INT32_MAX & ~(BLK_SECTOR_SIZE - 1))

typedef enum {
    BLK_OP_READ,
    BLK_OP_WRITE,
    BLK_OP_FLUSH,
    BLK_OP_DISCARD,
    BLK_OP_WRITE_ZEROES,
    BLK_OP__MAX,
} BlockOp;

enum {
    BLK_REQ_FUA = 1,     /* durable when it completes */
    BLK_REQ_UNMAP = 2,   /* write zeroes: may deallocate */
    BLK_REQ_SERIALISE = 4,
};

/*
 * One request. Embedded in the device's own request; the block layer allocates nothing for it. The
 * submitter fills in the first group and keeps request, iovec and data alive until done().
 * Offset, bytes and buffers need no alignment; what a cache.direct file does not take as it is gets
 * bounced, or read, modified and written, below.
 */
struct BlockRequest {
    BlockOp op;
    unsigned flags;
    int64_t offset; /* bytes */
    int64_t bytes;
    const struct iovec *iov; /* READ, WRITE */
    int niov;
    /* Whose request it is, such as a queue: those that wait for a limit take turns. May be NULL. */
    const void *stream;
    /* Where the submitter's next request begins, if it comes at once: bytes from `offset` on. A
     * hint; 0: there is none. */
    int64_t ahead;
    unsigned lane; /* which of the submitter's queues it belongs to; see blk_set_lanes() */
    /* ret is 0 or a negative errno. Runs in: the context that submitted. */
    void (*done)(BlockRequest *req, int ret);

    /* Private to block/: what the layers see on the way down. The submitter's group stays as it was
     * given; layers change these copies. */
    BlockOp at_op;
    unsigned at_flags;
    int64_t at_offset; /* bytes, in the node that handles the request now */
    void (*cont)(BlockRequest *req, int ret); /* what block_request_done() goes on with */
    BlockBackend *blk;
    struct BlkShard *shard;
    BlockNode *node;
    AioContext *ctx;
    int64_t start_ns;
    BlockRequest *next; /* in whatever list it is */
    /* Of the driver at the bottom. */
    int64_t skip; /* bytes that are done already */
    int64_t hold_start, hold_end;
    unsigned driver_flags;
    int worker_fd;
    union {
        AioCompletion uring;
        AioWork work;
        int64_t deadline_ns;
        struct RangeLock *range;
        struct ThrottleMember *throttle; /* while it waits for a limit */
        BlockRequest *range_next;
        uint64_t engine[8]; /* a struct iocb */
    } u;
};

/* ---- life of a backend ---- */

typedef struct BlkDevOps {
    /* The size changed. Runs in: main thread. */
    void (*resized)(void *opaque);
    /* No request may be submitted from drained_begin's return to drained_end, except that requests
     * which are being submitted meanwhile are parked below. Runs in: main thread. */
    void (*drained_begin)(void *opaque);
    void (*drained_end)(void *opaque);
    /* Name for messages and query-block's qdev; caller frees. */
    char *(*dev_path)(void *opaque);
} BlkDevOps;

/* Permissions that a user of a node needs, and leaves to others. */
enum {
    BLK_PERM_READ = 1,          /* "consistent read" */
    BLK_PERM_WRITE = 2,
    BLK_PERM_WRITE_UNCHANGED = 4,
    BLK_PERM_RESIZE = 8,
    BLK_PERM_ALL = 15,
};

/* Finds what "drive=NAME" means: the backend of a -drive of that id (then *blk), or a node of that
 * name for which a new anonymous backend is made. Returns a reference to a backend that no device
 * uses yet, or NULL: Property 'OWNER.drive' can't find value 'NAME', Drive 'x' is already in use by
 * another device, ... `owner_type` is the type name used in the text. */
BlockBackend *blk_for_device(const char *name, const char *owner_type, Error **errp);
BlockBackend *blk_ref(BlockBackend *blk);
void blk_unref(BlockBackend *blk);
/* Connects and disconnects the device. */
void blk_attach_dev(BlockBackend *blk, const BlkDevOps *ops, void *opaque);
void blk_detach_dev(BlockBackend *blk);
/* Takes the permissions on the node; errors as clients know them ("Permission conflict on node ..",
 * "Failed to get \"write\" lock"). */
bool blk_set_perm(BlockBackend *blk, unsigned perm, unsigned shared, Error **errp);
/* Replaces the node under a live backend (qom-set drive). */
bool blk_replace(BlockBackend *blk, const char *name, Error **errp);

/* ---- facts; any thread unless said otherwise ---- */

bool blk_is_inserted(BlockBackend *blk); /* has a node */
bool blk_is_read_only(BlockBackend *blk);
int64_t blk_length(BlockBackend *blk); /* bytes, negative errno; cached, follows resizes */
/* For qom-get drive: node name, or the -drive id. */
const char *blk_name(BlockBackend *blk);
/* "" for backends made by blockdev nodes. */
const char *blk_drive_id(BlockBackend *blk);
unsigned blk_request_alignment(BlockBackend *blk); /* bytes, of offset and length */
unsigned blk_mem_alignment(BlockBackend *blk);     /* bytes, of buffers */
/* How much the calling thread has copied between guests and files itself, instead of having it
 * done, since it was started: in bytes, where a small request counts as a page.
 * Runs in: any thread. */
extern __thread uint64_t blk_bytes_copied;
static inline uint64_t blk_copied(void)
{
    return blk_bytes_copied;
}
int blk_max_iov(BlockBackend *blk);
int64_t blk_max_transfer(BlockBackend *blk); /* bytes */
/* Block sizes the host reports (bytes), 0 if it has no opinion. Used for backend_defaults. */
void blk_probe_blocksizes(BlockBackend *blk, uint32_t *logical, uint32_t *physical);
bool blk_supports_discard(BlockBackend *blk);
/* Initial write cache of this backend (-drive cache=writethrough turns it off). */
bool blk_write_cache(BlockBackend *blk);
void blk_set_write_cache(BlockBackend *blk, bool on); /* off: each write is made durable */

/* ---- requests ---- */

/* Runs in: any AioContext; req->done is called there later, possibly before this returns. */
void blk_submit(BlockBackend *blk, BlockRequest *req);

/* Requests that blk_submit() accepted and that have not completed, summed over all threads. */
unsigned blk_in_flight(BlockBackend *blk);
/* Keeps the disk from being quiescent without a request (a retry that is scheduled).
 * Runs in: any thread. */
void blk_inc_in_flight(BlockBackend *blk);
void blk_dec_in_flight(BlockBackend *blk);

/* From begin to end no request is in flight: the device's drained_begin is called, what is in
 * flight is waited for, new requests are parked and go on, each in its own context, after the end.
 * Nests. Runs in: main thread. */
void blk_drain_begin(BlockBackend *blk);
void blk_drain_end(BlockBackend *blk);
/* From begin to end no request of this backend waits for a limit; those that do go on at once. For
 * devices that wait for their requests. Drains do it by themselves. Nests. Runs in: main thread. */
void blk_hurry_begin(BlockBackend *blk);
void blk_hurry_end(BlockBackend *blk);
/* Stops the device for a moment and waits until all that it submitted, or still submits because it
 * had begun to (blk_inc_in_flight), has completed. Nothing is parked. Runs in: main thread. */
void blk_drain(BlockBackend *blk);
void blk_drain_all_begin(void);
void blk_drain_all_end(void);
/* Drains and flushes all. Returns 0 or the first negative errno. */
int blk_flush_all(void);

/* ---- error policy ---- */

typedef enum {
    BLK_ON_ERROR_REPORT,
    BLK_ON_ERROR_IGNORE,
    BLK_ON_ERROR_ENOSPC,
    BLK_ON_ERROR_STOP,
    BLK_ON_ERROR_AUTO,
} BlockOnError; /* order of the schema's BlockdevOnError */

/* Policies of the device; AUTO takes those of -drive, else report / enospc. */
void blk_set_on_error(BlockBackend *blk, BlockOnError rerror, BlockOnError werror);
typedef enum { BLK_ACTION_REPORT, BLK_ACTION_IGNORE, BLK_ACTION_STOP } BlockAction;
/* What to do about a failure with negative errno `ret`, any thread. */
BlockAction blk_error_action(BlockBackend *blk, bool is_read, int ret);
/* Remembers io-status, sends BLOCK_IO_ERROR, and for STOP asks the run state to stop the VM with
 * io-error. Runs in: any thread (the event and the stop happen in the main thread, in this order
 * relative to what the caller did before). */
void blk_error_apply(BlockBackend *blk, BlockAction action, bool is_read, int ret);
/* Set by system/: stops the VM with RUN_STATE_IO_ERROR. Runs in: main thread. */
extern void (*blk_vm_stop_hook)(void);
/* The VM is about to run again, and what failed is tried again: failures up to now, whose reports
 * may still be on their way to the main thread, do not stop it. Runs in: main thread. */
void blk_error_forget_stops(void);
/* io-status of -drive backends becomes ok again. */
void blk_iostatus_reset_all(void);

/* ---- accounting: counters are per context, written by their owner, summed by readers ---- */

/* blk_submit() counts requests that succeed by itself: operation, bytes, latency. The device adds
 * the rest. Runs in: the AioContext that submits. */
/* A guest's request ended in an error that was reported to the guest or ignored. */
void blk_account_failed(BlockBackend *blk, BlockOp op);
/* A guest's request was refused before it reached blk_submit(). */
void blk_account_invalid(BlockBackend *blk, BlockOp op);
/* `n` guest requests more than one travel in a single BlockRequest: they count as merged, and as
 * operations of their own. */
void blk_account_merged(BlockBackend *blk, BlockOp op, unsigned n);
/* Latencies are kept apart by the device's queues, of which there are n. Runs in: main thread. */
void blk_set_lanes(BlockBackend *blk, unsigned n);
typedef enum {
    BLK_LATENCY_READ,
    BLK_LATENCY_WRITE,
    BLK_LATENCY_ZONE_APPEND,
    BLK_LATENCY_FLUSH,
    BLK_LATENCY__MAX,
} BlkLatencyKind;
/* The histogram of one queue (lane -1: all) as far as one thread of the host counted it (tid 0:
 * all); NULL: none was asked for. Runs in: main thread. */
struct BlockLatencyHistogramInfo *blk_latency_histogram(BlockBackend *blk, BlkLatencyKind kind,
                                                        int lane, pid_t tid);
/* Whether invalid requests end the idle time, and failed ones count in the latencies. Default:
 * both; what -drive turned off stays off.
 * Runs in: main thread. */
void blk_account_config(BlockBackend *blk, bool account_invalid, bool account_failed);

/* ---- command line, called by system/ ---- */

/* -blockdev: adds a node (JSON or key=value, already parsed). */
bool blockdev_add_options(JsonNode *options, QapiForm form, Error **errp);
typedef struct Opts Opts;
/* What a -drive says beyond the image, for the code that connects it to a device. */
typedef struct DriveInfo {
    char *id;
    BlockBackend *blk;  /* has no node if the drive is empty */
    char *interface;    /* "none", "virtio", "ide", ... */
    int bus, unit, index; /* -1: not given */
    bool is_cdrom;
    bool auto_del;      /* vanishes with its device */
} DriveInfo;
/* Creates a -drive. `dflt_if` is the machine's default interface. What opts holds is used up; opts
 * itself stays the caller's. format=help is the caller's business, too. */
DriveInfo *drive_new(Opts *opts, const char *dflt_if, Error **errp);
DriveInfo *drive_find(const char *id);
GPtrArray *drive_list(void); /* of DriveInfo, borrowed; in order of creation */
/* Removes the drive of a device that is gone, if it was to vanish with it. */
void drive_device_gone(BlockBackend *blk);
/* The sentence for -drive format=help. Caller frees. */
char *drive_format_help(void);
/* HMP drive_add (options as of -drive) and drive_del (-drive id, or name of a blockdev node). */
bool drive_add(const char *text, Error **errp);
bool drive_del(const char *id, Error **errp);

/* ---- texts for the human monitor; lines end in "\n", caller frees ---- */

/* info block [-n] [-v] [name]: of disks, or with `nodes` of nodes; `name` NULL: all. */
char *block_info_text(bool verbose, bool nodes, const char *name);
char *block_stats_text(void); /* info blockstats */
bool block_resize(const char *device, const char *node_name, int64_t size, Error **errp);

/* Closes all nodes at exit after flushing them. */
void block_close_all(void);

#endif
