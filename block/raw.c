/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Driver raw: the file as it is, or a part of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"

typedef struct RawState {
    int64_t offset;
    int64_t size; /* when has_size */
    bool has_offset, has_size;
} RawState;

static bool raw_check_range(BlockNode *node, Error **errp)
{
    RawState *s = node->opaque;
    int64_t file = block_node_length(node->file);

    if (s->offset > file) {
        error_set(errp,
                  "Offset (%" PRIi64 ") cannot be greater than size of the containing file "
                  "(%" PRIi64 ")", s->offset, file);
        return false;
    }
    if (s->has_size && s->size > file - s->offset) {
        error_set(errp,
                  "The sum of offset (%" PRIi64 ") and size (%" PRIi64 ") has to be smaller or "
                  "equal to the  actual size of the containing file (%" PRIi64 ")", s->offset,
                  s->size, file);
        return false;
    }
    if (s->has_size && s->size % BLK_SECTOR_SIZE) {
        error_set(errp, "Specified size is not multiple of %d", BLK_SECTOR_SIZE);
        return false;
    }
    return true;
}

static bool raw_open(BlockNode *node, const BlockdevOptions *opts, Error **errp)
{
    const BlockdevOptionsRaw *o = &opts->u.raw;
    RawState *s = node->opaque;
    BlockChild *c;

    if (o->has_offset && o->offset < 0) {
        error_set(errp, "Value '%" PRIi64 "' is out of range for parameter 'offset'", o->offset);
        return false;
    }
    if (o->has_size && o->size < 0) {
        error_set(errp, "Value '%" PRIi64 "' is out of range for parameter 'size'", o->size);
        return false;
    }
    c = block_node_open_child(node, "file", o->file, errp);
    if (!c) {
        return false;
    }
    node->file = c->node;
    s->has_offset = o->has_offset;
    s->offset = o->has_offset ? o->offset : 0;
    s->has_size = o->has_size;
    s->size = o->size;
    return raw_check_range(node, errp);
}

static int64_t raw_length(BlockNode *node)
{
    RawState *s = node->opaque;
    int64_t file = block_node_length(node->file);

    if (s->has_size) {
        return s->size;
    }
    return file > s->offset ? file - s->offset : 0;
}

static void raw_limits(BlockNode *node, BlockLimits *l)
{
    /* Guessing the format must not be fooled by writing a header in pieces. */
    if (node->probed && l->request_alignment < BLK_SECTOR_SIZE) {
        l->request_alignment = BLK_SECTOR_SIZE;
    }
}

static bool raw_truncate(BlockNode *node, int64_t size, Error **errp)
{
    RawState *s = node->opaque;

    if (s->has_size) {
        error_set(errp, "Cannot resize fixed-size raw disks");
        return false;
    }
    if (size > INT64_MAX - s->offset) {
        error_set(errp, "Disk size too large for the chosen offset");
        return false;
    }
    if (!node->file->drv->truncate) {
        error_set(errp, "Image format driver does not support resize");
        return false;
    }
    return node->file->drv->truncate(node->file, size + s->offset, errp);
}

static void raw_child_perm(BlockNode *node, int child, unsigned perm, unsigned shared,
                           unsigned *cperm, unsigned *cshared)
{
    RawState *s = node->opaque;

    *cperm = perm;
    *cshared = shared;
    if (s->has_offset || s->has_size) {
        /* The part must stay inside the file. */
        *cshared &= ~(unsigned)BLK_PERM_RESIZE;
    }
}

static int64_t raw_allocated(BlockNode *node)
{
    return node->file->drv->allocated ? node->file->drv->allocated(node->file) : -ENOTSUP;
}

static void raw_refresh_filename(BlockNode *node)
{
    RawState *s = node->opaque;

    if (!s->has_offset && !s->has_size) {
        node->filename = g_strdup(node->file->filename);
    }
}

static JsonNode *raw_describe(BlockNode *node)
{
    RawState *s = node->opaque;
    JsonNode *json = json_node_new(JSON_NODE_OBJECT);
    JsonObject *obj = json_object_new();

    if (s->has_offset) {
        json_object_set_int_member(obj, "offset", s->offset);
    }
    json_object_set_string_member(obj, "driver", "raw");
    if (s->has_size) {
        json_object_set_int_member(obj, "size", s->size);
    }
    json_node_take_object(json, obj);
    return json;
}

static void raw_probe_blocksizes(BlockNode *node, uint32_t *logical, uint32_t *physical)
{
    RawState *s = node->opaque;
    uint32_t l = 0, p = 0;

    if (node->file->drv->probe_blocksizes) {
        node->file->drv->probe_blocksizes(node->file, &l, &p);
    }
    /* Sizes of the device say nothing about a part that begins off their grid. */
    if (l && p && s->offset % l == 0 && s->offset % p == 0) {
        *logical = l;
        *physical = p;
    }
}

static bool raw_can_discard(BlockNode *node)
{
    return node->file->discard_unmap && node->file->drv->can_discard &&
           node->file->drv->can_discard(node->file);
}

static int64_t raw_child_offset(BlockNode *node)
{
    RawState *s = node->opaque;

    return s->offset;
}

/* ---- requests ---- */

/* A write that covers the place where formats have their header. The guest can change its buffer at
 * any time, so what is checked is a copy, and the copy is written. */
typedef struct HeaderWrite {
    BlockRequest req;
    BlockRequest *parent;
    uint8_t header[BLK_SECTOR_SIZE] __attribute__((aligned(BLK_SECTOR_SIZE)));
    struct iovec iov[];
} HeaderWrite;

static void header_write_done(BlockRequest *req, int ret)
{
    HeaderWrite *w = (HeaderWrite *)req;
    BlockRequest *parent = w->parent;

    free(w);
    block_request_done(parent, ret);
}

static void raw_submit_header(BlockNode *node, BlockRequest *req)
{
    RawState *s = node->opaque;
    size_t len = (size_t)MIN(req->bytes, BLK_SECTOR_SIZE - req->at_offset);
    HeaderWrite *w;
    size_t got, size = sizeof(*w) + sizeof(struct iovec) * ((size_t)req->niov + 1);

    size = (size + BLK_SECTOR_SIZE - 1) & ~(size_t)(BLK_SECTOR_SIZE - 1);
    w = aligned_alloc(BLK_SECTOR_SIZE, size);
    if (!w) {
        block_request_done(req, -ENOMEM);
        return;
    }
    memset(w, 0, size);
    block_iov_to_buf(req->iov, req->niov, 0, w->header, len);
    if (block_probe_format(w->header, len)) {
        free(w);
        block_request_done(req, -EPERM);
        return;
    }
    w->parent = req;
    w->iov[0].iov_base = w->header;
    w->iov[0].iov_len = len;
    w->req.niov = 1 + block_iov_slice(w->iov + 1, req->niov, req->iov, req->niov, len,
                                      (size_t)req->bytes - len, &got);
    w->req.op = w->req.at_op = BLK_OP_WRITE;
    w->req.flags = w->req.at_flags = req->at_flags;
    w->req.offset = w->req.at_offset = req->at_offset + s->offset;
    w->req.bytes = req->bytes;
    w->req.iov = w->iov;
    w->req.stream = req->stream;
    w->req.ctx = req->ctx;
    w->req.blk = req->blk;
    w->req.shard = req->shard;
    w->req.cont = header_write_done;
    block_node_submit(node->file, &w->req);
}

static void raw_submit(BlockNode *node, BlockRequest *req)
{
    RawState *s = node->opaque;

    if (G_UNLIKELY(node->probed && req->at_op == BLK_OP_WRITE &&
                   req->at_offset < BLK_SECTOR_SIZE)) {
        raw_submit_header(node, req);
        return;
    }
    req->at_offset += s->offset;
    block_node_submit(node->file, req);
}

static const char *const raw_options[] = { "offset", "size", "file", NULL };
static const char *const raw_size_options[] = { "offset", "size", NULL };

static const BlockDriver raw_driver = {
    .name = "raw",
    .is_format = true,
    .instance_size = sizeof(RawState),
    .options = raw_options,
    .size_options = raw_size_options,
    .open = raw_open,
    .length = raw_length,
    .limits = raw_limits,
    .truncate = raw_truncate,
    .child_perm = raw_child_perm,
    .allocated = raw_allocated,
    .refresh_filename = raw_refresh_filename,
    .describe = raw_describe,
    .probe_blocksizes = raw_probe_blocksizes,
    .can_discard = raw_can_discard,
    .child_offset = raw_child_offset,
    .submit = raw_submit,
};
BLOCK_DRIVER_REGISTER(raw_driver)
