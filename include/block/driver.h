/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_BLOCK_DRIVER_H
#define SPINDLE_BLOCK_DRIVER_H

#include "block/block.h"
#include "qapi/qapi-block-core.h"

/*
 * What a driver reads of a request: at_op, at_flags and at_offset, not op, flags and offset; bytes,
 * iov and niov are the submitter's.
 */

/*
 * What a block driver is: a table of functions, registered by itself. Its options are a branch that
 * it adds to the schema's BlockdevOptions ({"extend": ...} in its own qapi file).
 */
typedef struct BlockLimits {
    unsigned request_alignment; /* bytes */
    unsigned mem_alignment;     /* bytes */
    int max_iov;
    int64_t max_transfer;       /* bytes; 0: no limit */
    unsigned discard_alignment; /* bytes; 0: not supported */
    int64_t max_discard;        /* bytes; 0: no limit */
    int64_t max_write_zeroes;
} BlockLimits;

/* An edge of the graph: a user of a node. The user is another node or a backend. */
typedef struct BlockChild {
    char *name;      /* "file", "backing"; "root" below a backend */
    BlockNode *node; /* what it points to */
    BlockNode *parent;
    BlockBackend *blk;
    unsigned perm, shared;
    unsigned old_perm, old_shared; /* while a change of permissions is being tried */
} BlockChild;

typedef struct BlockDriver {
    const char *name;    /* "raw" */
    const char *protocol; /* prefix of -drive file= ("null-co"); NULL: none */
    bool is_format;      /* sits on a "file" child */
    bool is_filter;      /* shows the data of its "file" child as they are */
    size_t instance_size;
    /* For -drive: its options beside the generic ones, and those of them that take a size suffix.
     * NULL-terminated. */
    const char *const *options;
    const char *const *size_options;

    /* Runs in: main thread. opts are this node's own options, decoded. */
    bool (*open)(BlockNode *node, const BlockdevOptions *opts, Error **errp);
    void (*close)(BlockNode *node);
    int64_t (*length)(BlockNode *node); /* bytes, or negative errno */
    void (*limits)(BlockNode *node, BlockLimits *l); /* l holds the child's, or defaults */
    bool (*truncate)(BlockNode *node, int64_t size, Error **errp); /* NULL: cannot */
    /* What parents' needs mean for child i. NULL: passed on. */
    void (*child_perm)(BlockNode *node, int child, unsigned perm, unsigned shared, unsigned *cperm,
                       unsigned *cshared);
    /* Permissions or read-only-ness changed: take or release locks, reopen. NULL: nothing to do. */
    bool (*set_perm)(BlockNode *node, unsigned perm, unsigned shared, Error **errp);
    /* Begins to find out what allocated() and info() will say; does not wait. NULL: they know. */
    void (*refresh)(BlockNode *node);
    int64_t (*allocated)(BlockNode *node); /* bytes in use on the host; NULL: unknown */
    /* The name that clients see: sets node->filename, or leaves NULL for "json:{..}" of describe().
     * Drivers without it have the name of their "file" child. */
    void (*refresh_filename)(BlockNode *node);
    /* The options that matter for what the node holds, for "json:{...}". Caller frees. */
    JsonNode *(*describe)(BlockNode *node);
    /* For query-blockstats, query-block; NULL: nothing to tell. Caller frees. */
    BlockStatsSpecific *(*stats)(BlockNode *node);
    ImageInfoSpecific *(*info)(BlockNode *node);
    /* Where the node begins in its "file" child, bytes. NULL: 0. */
    int64_t (*child_offset)(BlockNode *node);
    /* While on (nests) no request may be kept waiting for the sake of a limit. Runs in: main
     * thread. NULL: never does. */
    void (*hurry)(BlockNode *node, bool on);
    bool has_dirty_flag; /* image info says "dirty-flag": false */
    void (*probe_blocksizes)(BlockNode *node, uint32_t *logical, uint32_t *physical);
    bool (*can_discard)(BlockNode *node);
    /* Before anything is opened: whether -drive file=NAME without a protocol prefix means this
     * driver, 0..100. NULL: never. */
    int (*probe_device)(const char *filename);
    /* Turns -drive file=NAME into options. NULL: {"filename": NAME}. */
    bool (*parse_filename)(const char *filename, JsonObject *options, Error **errp);

    /* Data path. Starts req and calls block_request_done(req, ret) once, now or later, in the same
     * context. Runs in: any AioContext, concurrently in several. */
    void (*submit)(BlockNode *node, BlockRequest *req);
} BlockDriver;

void block_driver_register(const BlockDriver *drv);
const BlockDriver *block_driver_find(const char *name); /* NULL: there is none */
#define BLOCK_DRIVER_REGISTER(drv)                                                                 \
    static void __attribute__((constructor)) block_driver_register_##drv(void)                     \
    {                                                                                              \
        block_driver_register(&(drv));                                                             \
    }

/* Ends a request of this layer: continues in the layer above. */
void block_request_done(BlockRequest *req, int ret);

#endif
