/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data path of the drivers file and host_device. A request goes the cheapest way that cannot block
 * the thread: in place, if it only copies memory; else to the engine of aio=. Whatever an engine
 * does not finish, a worker thread does.
 */
#include <errno.h>
#include <limits.h>

#include "backend.h"
#include "file.h"

static void worker_done(AioWork *w, int ret)
{
    BlockRequest *req = (BlockRequest *)((char *)w - offsetof(BlockRequest, u.work));

    file_done(req->node->opaque, req, ret);
}

void file_submit_worker(BlockRequest *req)
{
    FileState *s = req->node->opaque;
    FileShard *sh = slot_table_get(&s->shards);

    counter_add(&sh->worker, 1);
    req->u.work = (AioWork){ .run = file_worker_run, .done = worker_done };
    aio_work_submit(req->ctx, &req->u.work);
}

void file_done(FileState *s, BlockRequest *req, int ret)
{
    unsigned flags = req->driver_flags;

    /* Before the layers above hear of it: their next write to the range must not find it held. */
    if (G_UNLIKELY(flags & FILE_REQ_HELD)) {
        range_lock_release(&s->ranges, req);
    } else if (flags & FILE_REQ_COUNTED) {
        range_lock_uncount(&s->ranges);
    }
    block_request_done(req, ret);
}

void file_engine_result(BlockRequest *req, int64_t res)
{
    FileState *s = req->node->opaque;

    if (G_LIKELY(res == req->bytes)) {
        file_done(s, req, 0);
        return;
    }
    if (res < 0 && res != -EAGAIN && res != -EINTR && res != -EOPNOTSUPP) {
        file_done(s, req, (int)res);
        return;
    }
    if (res > 0) {
        req->skip = res;
    }
    file_submit_worker(req);
}

void file_engine_submit(FileState *s, BlockRequest *req)
{
    FileShard *sh = slot_table_get(&s->shards);

    if (G_UNLIKELY(req->niov > IOV_MAX)) {
        file_submit_worker(req);
        return;
    }
    if (file_try_in_place(s, sh, req)) {
        return;
    }
    /* An engine starts from the beginning. And what the kernel would do in the thread that submits
     * is too long for it by now. */
    if (!req->skip && !s->caps.in_memory) {
        if (s->aio == BLOCKDEV_AIO_OPTIONS_IO_URING && file_uring_rw(s, req)) {
            counter_add(&sh->ring, 1);
            return;
        }
        /* io_submit() would be kept by a file's server. */
        if (s->aio == BLOCKDEV_AIO_OPTIONS_NATIVE && s->caps.local && file_native_rw(s, req)) {
            counter_add(&sh->native, 1);
            return;
        }
    }
    file_submit_worker(req);
}

static bool is_aligned(FileState *s, const BlockRequest *req)
{
    uint64_t align = s->caps.request_alignment - 1;
    uint64_t mem = s->caps.mem_alignment - 1;

    if ((req->at_offset | req->bytes) & (int64_t)align) {
        return false;
    }
    for (int i = 0; i < req->niov; i++) {
        if (((uintptr_t)req->iov[i].iov_base & mem) || (req->iov[i].iov_len & align)) {
            return false;
        }
    }
    return true;
}

/* Read, write, and what overwrites a range. */
static void submit_direct(FileState *s, BlockRequest *req)
{
    int64_t align = s->caps.request_alignment;
    bool whole_blocks = !((req->at_offset | req->bytes) & (align - 1));

    if (req->at_op == BLK_OP_READ || req->at_op == BLK_OP_WRITE) {
        if (!is_aligned(s, req)) {
            req->driver_flags |= FILE_REQ_BOUNCE;
        }
    }
    if (req->at_op != BLK_OP_READ && s->serialise) {
        if (!whole_blocks || !range_lock_count(&s->ranges)) {
            req->hold_start = req->at_offset & -align;
            req->hold_end = (req->at_offset + req->bytes + align - 1) & -align;
            range_lock_acquire(&s->ranges, req);
            return;
        }
        req->driver_flags |= FILE_REQ_COUNTED;
    }
    if ((req->driver_flags & FILE_REQ_BOUNCE) ||
        (req->at_op != BLK_OP_READ && req->at_op != BLK_OP_WRITE)) {
        file_submit_worker(req);
    } else {
        file_engine_submit(s, req);
    }
}

void file_submit(BlockNode *node, BlockRequest *req)
{
    FileState *s = node->opaque;

    req->node = node;
    if (req->at_op == BLK_OP_FLUSH && (s->caps.is_char || s->caps.flush_free)) {
        file_map_touch(s);
        file_done(s, req, 0); /* a stream keeps nothing back, and says EINVAL when asked */
    } else if (req->at_op == BLK_OP_FLUSH) {
        if (s->aio == BLOCKDEV_AIO_OPTIONS_IO_URING && file_uring_flush(s, req)) {
            counter_add(&((FileShard *)slot_table_get(&s->shards))->ring, 1);
        } else {
            file_submit_worker(req);
        }
    } else if (s->direct) {
        submit_direct(s, req);
    } else if (req->at_op == BLK_OP_READ || req->at_op == BLK_OP_WRITE) {
        file_engine_submit(s, req);
    } else {
        file_submit_worker(req);
    }
}
