/* SPDX-License-Identifier: GPL-2.0-or-later */
/* aio=io_uring: requests in the ring of the thread's own event loop. */
#include <errno.h>
#include <liburing.h>
#include <sys/uio.h>

#include "file.h"

static BlockRequest *request_of(AioCompletion *c)
{
    return (BlockRequest *)((char *)c - offsetof(BlockRequest, u.uring));
}

/* A file that has a server is not tried in the submitting thread, which could be kept by it. */
static void not_here(const FileState *s, struct io_uring_sqe *sqe)
{
    if (!s->caps.local) {
        sqe->flags |= IOSQE_ASYNC;
    }
}

static void rw_done(AioCompletion *c, int res)
{
    file_engine_result(request_of(c), res);
}

bool file_uring_rw(FileState *s, BlockRequest *req)
{
    struct io_uring_sqe *sqe;
    int flags = 0;

    if (G_UNLIKELY(!aio_has_uring(req->ctx))) {
        return false;
    }
    req->u.uring.done = rw_done;
    sqe = aio_sqe(req->ctx, &req->u.uring);
    if (req->at_op == BLK_OP_READ) {
        if (req->niov == 1) {
            io_uring_prep_read(sqe, s->fd, req->iov[0].iov_base, (unsigned)req->iov[0].iov_len,
                               (uint64_t)req->at_offset);
        } else {
            io_uring_prep_readv(sqe, s->fd, req->iov, (unsigned)req->niov,
                                (uint64_t)req->at_offset);
        }
        not_here(s, sqe);
        return true;
    }
    if (req->at_flags & BLK_REQ_FUA) {
        flags = RWF_DSYNC;
    }
    if (req->niov == 1) {
        io_uring_prep_write(sqe, s->fd, req->iov[0].iov_base, (unsigned)req->iov[0].iov_len,
                            (uint64_t)req->at_offset);
    } else {
        io_uring_prep_writev(sqe, s->fd, req->iov, (unsigned)req->niov, (uint64_t)req->at_offset);
    }
    sqe->rw_flags = flags;
    not_here(s, sqe);
    return true;
}

static void flush_done(AioCompletion *c, int res)
{
    BlockRequest *req = request_of(c);
    FileState *s = req->node->opaque;

    if (res == -EINTR || res == -EAGAIN) {
        file_submit_worker(req);
        return;
    }
    file_done(s, req, res < 0 ? file_flush_failed(s, -res) : 0);
}

bool file_uring_flush(FileState *s, BlockRequest *req)
{
    struct io_uring_sqe *sqe;

    if (!aio_has_uring(req->ctx) || file_flag(&s->flush_error)) {
        return false;
    }
    req->u.uring.done = flush_done;
    sqe = aio_sqe(req->ctx, &req->u.uring);
    io_uring_prep_fsync(sqe, s->fd, IORING_FSYNC_DATASYNC);
    not_here(s, sqe);
    return true;
}
