/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_FILE_H
#define BLOCK_FILE_H

#include <sys/stat.h>

#include "node.h"
#include "range-lock.h"
#include "slot.h"
#include "util/counter.h"

/* Drivers file and host_device: what their source files share. */

/* What a descriptor can do, found out once when it is opened. */
typedef struct FileCaps {
    bool is_block;   /* block device */
    bool is_char;
    bool is_regular;
    bool in_memory;  /* a memory file system or memory block device: nothing waits for a disk */
    bool mappable;   /* a regular file whose pages are memory anyway */
    bool flush_free; /* and no cache lies before it: a flush has nothing to do */
    bool nowait_read; /* RWF_NOWAIT tells whether a read would wait */
    bool local;      /* no server has to answer before a call about the file returns */
    bool zoned;      /* a device whose block sizes the guest must know */
    bool discard;    /* a discard is worth trying */
    bool whole_pages; /* whatever it says: its buffers have to begin with pages */
    unsigned request_alignment; /* of O_DIRECT, bytes; 1 without it */
    unsigned mem_alignment;
    uint32_t logical, physical; /* block sizes of a device, 0: none */
} FileCaps;

/* What one thread keeps of a file: counts of requests by the way they went, and whether working in
 * place goes well. Only its owner writes to it. */
typedef struct FileShard {
    StatCounter in_place;
    StatCounter mapped;   /* those of them that needed no system call */
    StatCounter missed; /* tried in place, and would have waited */
    StatCounter ring;
    StatCounter native;
    StatCounter worker;
    unsigned misses;       /* in a row */
    unsigned suspect;      /* requests in place that are watched closely */
    bool no_batch;         /* the kernel has no room for such a queue */
    unsigned before_map;   /* requests that did without a mapping */
    int64_t unclocked;     /* bytes since the clock was read */
    int64_t hold_until_ns; /* nothing in place before: it slept */
} FileShard;

typedef struct FileFacts FileFacts;
typedef struct FileMap FileMap;

/* What only clients want to know. */
typedef struct FileNumbers {
    int64_t allocated;    /* bytes, or negative errno */
    uint32_t extent_size; /* hint, bytes; 0: none */
} FileNumbers;

typedef struct FileState {
    /* Read by the data path. */
    SlotTable shards; /* of FileShard */
    int fd;
    bool direct;
    bool serialise;   /* writes may have to be read-modify-write: count or hold them all */
    BlockdevAioOptions aio;
    int max_batch;    /* requests per io_submit of this file; 0: the context's choice */
    FileCaps caps;
    RangeLock ranges;
    /* Learned from failures; atomic, change at most once. */
    int nowait_read_broken, nowait_write_broken, no_punch, no_zero_range, no_fallocate;
    FileMap *map;     /* atomic; NULL: none yet */
    int map_broken;   /* atomic */
    int untimed;      /* atomic; written through the mapping since its time of change was set */
    int64_t touched_ns; /* atomic; when that was */
    int flush_error; /* errno of the first failed flush of a cached file: its data may be gone */

    FileFacts *facts;
    char *path;
    int lock_fd;      /* the first descriptor: keeps the locks; the same as fd most of the time */
    bool rw;          /* fd is open for writing */
    bool can_lock, locking;
    unsigned locked_perm, locked_unshared;
    uint64_t discards_ok, discards_failed, discard_bytes; /* atomic */
} FileState;

/* Request flags of this driver. */
enum {
    FILE_REQ_COUNTED = 1, /* in the range lock's count */
    FILE_REQ_HELD = 2,    /* holds its range */
    FILE_REQ_BOUNCE = 4,  /* not aligned: goes through a buffer */
};

/* ---- file-caps.c ---- */

bool file_probe_caps(FileState *s, Error **errp);
/* Size in bytes, or negative errno. */
int64_t file_size(FileState *s);

/* ---- file-memory.c ---- */

/* Fills in what speaks of memory. */
void file_probe_memory(FileState *s, const struct stat *st);

/* ---- file-facts.c; runs in the main thread ---- */

void file_facts_init(FileState *s);
void file_facts_free(FileState *s);
/* At once, from memory if the file is not local. */
void file_numbers(FileState *s, FileNumbers *n);
/* Has the memory brought up to date, some time. */
void file_refresh(BlockNode *node);
/* Closes fd, and does not wait for ever. */
void file_close_fd(FileState *s, int fd);
/* Runs in: any thread. */
void file_read_numbers(int fd, FileNumbers *n);

/* ---- file-calls.c; runs in the main thread, and polls it if the file has a server ---- */

/* open(), or with *is_fifo -1 without an error: there is nothing to wait for. */
int file_call_open(FileState *s, bool rw, bool *is_fifo, Error **errp);
/* Whether there is a block or character device of that name. */
bool file_call_is_device(const char *path);
/* file_probe_caps(), and s->can_lock. */
bool file_call_probe(FileState *s, Error **errp);
/* Size in bytes, or negative errno. */
int64_t file_call_length(FileState *s);
int file_call_truncate(FileState *s, int64_t length); /* negative errno on failure */
bool file_call_lock_prepare(FileState *s, unsigned perm, unsigned shared, Error **errp);
void file_call_lock_commit(FileState *s, unsigned perm, unsigned shared);

/* ---- file-lock.c ---- */

bool file_lock_supported(int fd);
/* Takes locks for the new permissions on top of the old ones and looks for conflicts. */
bool file_lock_prepare(FileState *s, unsigned perm, unsigned shared, Error **errp);
/* Gives up what is not needed any more. */
void file_lock_commit(FileState *s, unsigned perm, unsigned shared);

/* ---- file-io.c ---- */

void file_submit(BlockNode *node, BlockRequest *req);
/* Gives an aligned read or write to the engine. Runs in: the request's context. */
void file_engine_submit(FileState *s, BlockRequest *req);
/* Ends a request, and its hold on its range. Runs in: the request's context. */
void file_done(FileState *s, BlockRequest *req, int ret);
/* An engine's result for a read or write: as of preadv2(). Runs in: the request's context. */
void file_engine_result(BlockRequest *req, int64_t res);
/* Goes on with the request (from req->skip) in a worker thread. */
void file_submit_worker(BlockRequest *req);

/* ---- file-inplace.c ---- */

/* Carries out an aligned read or write on the spot and ends it, if that needs no waiting for a
 * disk. Returns false if it is still to be done, from req->skip. Runs in: the request's context. */
bool file_try_in_place(FileState *s, FileShard *sh, BlockRequest *req);

/* ---- file-map.c ---- */

/* Reads or writes what the request asks for through a mapping of the file, if that is possible
 * without filling holes. Runs in: the request's context. */
bool file_map_copy(FileState *s, FileShard *sh, const BlockRequest *req);
/* Sets the file's time of change if something was written so since. Runs in: any thread. */
void file_map_touch(FileState *s);
/* The same, once a second. Runs in: any thread. */
void file_map_touch_late(FileState *s, int64_t now_ns);
/* There may be holes in the range now. Runs in: any thread, after making them. */
void file_map_forget(FileState *s, int64_t offset, int64_t bytes);
/* The file has another size, or is another one. Runs in: main thread, nothing in flight. */
void file_map_drop(FileState *s);

/* ---- file-stats.c; main thread ---- */

BlockStatsSpecific *file_stats(BlockNode *node);

/* ---- file-worker.c; runs in a worker thread ---- */

int file_worker_run(AioWork *w);
/* Remembers that data of a cached file may be lost; returns -err. Runs in: any thread. */
int file_flush_failed(FileState *s, int err);
/* Reads or writes all of `bytes` at `offset`; end of file reads as zeroes. 0 or negative errno. */
int file_pread_all(FileState *s, void *buf, size_t bytes, int64_t offset);
int file_pwrite_all(FileState *s, const void *buf, size_t bytes, int64_t offset);

/* ---- file-bounce.c; runs in a worker thread ---- */

int file_bounce(FileState *s, BlockNode *node, BlockRequest *req);
/* Overwrites a range with zeroes, whatever its alignment. */
int file_write_zero_buffer(FileState *s, BlockNode *node, int64_t offset, int64_t bytes);

/* ---- file-zero.c; runs in a worker thread ---- */

int file_discard(FileState *s, BlockRequest *req);
int file_write_zeroes(FileState *s, BlockNode *node, BlockRequest *req);

/* ---- file-uring.c, file-native.c ---- */

bool file_uring_rw(FileState *s, BlockRequest *req);
bool file_uring_flush(FileState *s, BlockRequest *req);
bool file_native_probe(AioContext *ctx, Error **errp);
/* Returns false if the engine does not exist in this context. */
bool file_native_rw(FileState *s, BlockRequest *req);
/* How many requests are handed over at once at most. Runs in: any thread. */
unsigned file_native_batch(FileState *s, AioContext *ctx);

/* ---- file-batch.c ---- */

/* Takes an aligned read or write of a block device in memory, to be carried out with others at the
 * end of the plugged section. Returns false if that is not possible. Runs in: the request's
 * context. */
bool file_batch_rw(FileState *s, FileShard *sh, BlockRequest *req);

static inline int file_flag(const int *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static inline void file_set_flag(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

#endif
