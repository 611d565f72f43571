/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_NODE_H
#define BLOCK_NODE_H

#include "block/driver.h"

/*
 * Nodes of the block graph, as the files of this folder see them.
 *
 * The data path reads drv, opaque, children, the flags and limits without a lock: they change only
 * while every backend above the node is drained. `length` may change at any time and is read and
 * written atomically.
 */
struct BlockNode {
    const BlockDriver *drv;
    void *opaque; /* drv->instance_size bytes, zeroed */
    int64_t length;
    BlockLimits limits;
    bool read_only;
    bool discard_unmap;
    bool no_flush;
    bool probed; /* format was guessed: the guest must not make it look like another one */
    BlockdevDetectZeroesOptions detect_zeroes;
    BlockNode *file; /* node of the "file" child */
    uint64_t write_threshold; /* atomic; bytes, 0: none */

    char *name;
    char *filename; /* as clients see it; NULL: only "json:{...}" describes it */
    bool auto_read_only;
    bool cache_direct;
    bool force_share;
    bool monitor_owned; /* made by blockdev-add or -blockdev, which hold a reference */
    bool opened;
    unsigned refs;
    GPtrArray *children; /* of BlockChild, owned */
    GList *parents;      /* of BlockChild, newest first */
    unsigned perm, shared; /* what drv->set_perm() was told last */
    int64_t wr_highest;    /* of backends that are gone */
};

/* What a node's own options leave open comes from the node above it. */
typedef struct BlockInherit {
    bool read_only, auto_read_only, cache_direct, no_flush, force_share;
    bool is_child; /* discards are passed on by default */
    bool probed;   /* the driver was guessed */
    bool drive;    /* for -drive, which lets detect-zeroes=unmap stand without discard=unmap */
} BlockInherit;

/* ---- node.c; all in the main thread ---- */

/* Opens a node and what is described in place below it. Returns a reference. `inherit` may be NULL
 * for a root. */
BlockNode *block_node_open(const BlockdevOptions *opts, const BlockInherit *inherit, Error **errp);
BlockNode *block_node_ref(BlockNode *node);
/* Closes and frees with the last reference, also of the nodes below. */
void block_node_unref(BlockNode *node);
BlockNode *block_node_find(const char *name);
/* All drivers. Borrowed. */
GSList *block_drivers(void);
/* All nodes, newest first. Borrowed. */
GList *block_nodes(void);
/* Makes `ref` a child of node; for a driver's open(). Inline descriptions inherit from node. */
BlockChild *block_node_open_child(BlockNode *node, const char *name, const BlockdevRef *ref,
                                  Error **errp);
/* Asks drivers for length and limits again, from the bottom up. */
bool block_node_refresh(BlockNode *node, Error **errp);
/* A node by -drive id or node name; either may be NULL. */
BlockNode *block_lookup(const char *device, const char *node_name, Error **errp);
bool block_check_node_name(const char *name, Error **errp);
/* Adds and removes an edge; permissions are the caller's business. */
void block_child_attach(BlockChild *child, BlockNode *node);
void block_child_detach(BlockChild *child);

static inline int64_t block_node_length(const BlockNode *node)
{
    return __atomic_load_n(&node->length, __ATOMIC_RELAXED);
}

/* ---- perm.c; main thread ---- */

/* Tries new permissions on an edge. On failure everything is as before. */
bool block_child_set_perm(BlockChild *child, unsigned perm, unsigned shared, Error **errp);
/* Recomputes what lies below node after an edge to it came or went. */
bool block_node_refresh_perm(BlockNode *node, Error **errp);
/* "consistent read, write"; caller frees. */
char *block_perm_names(unsigned perm);
const char *block_perm_name(unsigned bit);

/* ---- node-submit.c ---- */

/* Starts req in node. cont, at_op, at_flags and at_offset are set.
 * Runs in: the context that submits. */
void block_node_submit(BlockNode *node, BlockRequest *req);
/* Waits for one request of a node, outside of any backend. Runs in: main thread. */
int block_node_request_sync(BlockNode *node, BlockOp op, int64_t offset, void *buf, int64_t bytes);

/* ---- filename.c ---- */

void block_node_refresh_filename(BlockNode *node);
/* The name that clients see; caller frees. */
char *block_node_filename(BlockNode *node);

/* ---- probe.c ---- */

/* Name of the format whose header buf is, or NULL for anything else (raw). */
const char *block_probe_format(const uint8_t *buf, size_t len);

/* ---- helpers of drivers: iov.c ---- */

bool block_iov_is_zero(const struct iovec *iov, int niov);
void block_iov_zero(const struct iovec *iov, int niov, size_t from);
size_t block_iov_to_buf(const struct iovec *iov, int niov, size_t from, void *buf, size_t bytes);
size_t block_iov_from_buf(const struct iovec *iov, int niov, size_t to, const void *buf,
                          size_t bytes);
/* The part [from, from + bytes) as at most `max` elements in out; returns their number. */
int block_iov_slice(struct iovec *out, int max, const struct iovec *iov, int niov, size_t from,
                    size_t bytes, size_t *got);

#endif
