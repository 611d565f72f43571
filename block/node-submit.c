/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry of a request into a node: what the node's own options say about it. */
#include <errno.h>

#include "node.h"
#include "write-threshold.h"
#include "util/biglock.h"
#include "util/offload.h"

static inline void check_threshold(BlockNode *node, const BlockRequest *req)
{
    if (G_UNLIKELY(__atomic_load_n(&node->write_threshold, __ATOMIC_RELAXED))) {
        block_write_threshold_check(node, req);
    }
}

void block_node_submit(BlockNode *node, BlockRequest *req)
{
    switch (req->at_op) {
    case BLK_OP_READ:
        break;
    case BLK_OP_WRITE:
        if (G_UNLIKELY(node->read_only)) {
            block_request_done(req, -EPERM);
            return;
        }
        check_threshold(node, req);
        if (G_UNLIKELY(node->detect_zeroes != BLOCKDEV_DETECT_ZEROES_OPTIONS_OFF) &&
            block_iov_is_zero(req->iov, req->niov)) {
            req->at_op = BLK_OP_WRITE_ZEROES;
            if (node->detect_zeroes == BLOCKDEV_DETECT_ZEROES_OPTIONS_UNMAP) {
                req->at_flags |= BLK_REQ_UNMAP;
            }
        }
        break;
    case BLK_OP_WRITE_ZEROES:
        if (G_UNLIKELY(node->read_only)) {
            block_request_done(req, -EPERM);
            return;
        }
        check_threshold(node, req);
        if (!node->discard_unmap) {
            req->at_flags &= ~BLK_REQ_UNMAP;
        }
        break;
    case BLK_OP_DISCARD:
        /* First: what is dropped anyway needs no permission. */
        if (!node->discard_unmap) {
            block_request_done(req, 0);
            return;
        }
        if (G_UNLIKELY(node->read_only)) {
            block_request_done(req, -EPERM);
            return;
        }
        break;
    case BLK_OP_FLUSH:
        if (node->no_flush) {
            block_request_done(req, 0);
            return;
        }
        break;
    default:
        g_assert_not_reached();
    }
    if (node->no_flush) {
        req->at_flags &= ~BLK_REQ_FUA;
    }
    node->drv->submit(node, req);
}

void block_request_done(BlockRequest *req, int ret)
{
    req->cont(req, ret);
}

typedef struct SyncRequest {
    BlockRequest req;
    struct iovec iov;
    int ret;
    bool done;
} SyncRequest;

static void sync_done(BlockRequest *req, int ret)
{
    SyncRequest *s = (SyncRequest *)req;

    s->ret = ret;
    s->done = true;
}

int block_node_request_sync(BlockNode *node, BlockOp op, int64_t offset, void *buf, int64_t bytes)
{
    SyncRequest s = {
        .req = {
            .op = op,
            .at_op = op,
            .offset = offset,
            .at_offset = offset,
            .bytes = bytes,
            .niov = buf ? 1 : 0,
            .cont = sync_done,
            .ctx = aio_context_current(),
        },
        .iov = { buf, (size_t)bytes },
    };

    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    s.req.iov = &s.iov;
    block_node_submit(node, &s.req);
    stall_begin();
    AIO_WAIT_WHILE(!s.done);
    stall_end();
    return s.ret;
}
