/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What worker threads do for the drivers file and host_device: plain blocking calls, to the end. */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file.h"

#define SLICE_IOV 64

/* A descriptor in blocking mode says EAGAIN only when the kernel is short of something. */
static bool worth_retrying(int err)
{
    if (err == EAGAIN) {
        g_usleep(1000);
        return true;
    }
    return err == EINTR;
}

static int flush(FileState *s)
{
    int err = file_flag(&s->flush_error);

    /* After a failed flush the kernel may have dropped the pages: no later success makes up for
     * that. */
    if (err) {
        return -err;
    }
    while (fdatasync(s->fd) < 0) {
        if (errno != EINTR) {
            return file_flush_failed(s, errno);
        }
    }
    return 0;
}

int file_flush_failed(FileState *s, int err)
{
    int none = 0;

    if (!s->direct) {
        __atomic_compare_exchange_n(&s->flush_error, &none, err, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
    return -err;
}

static int rw_loop(FileState *s, BlockRequest *req)
{
    bool write = req->at_op == BLK_OP_WRITE;
    bool sync = write && (req->at_flags & BLK_REQ_FUA);
    int64_t done = req->skip;

    while (done < req->bytes) {
        struct iovec iov[SLICE_IOV];
        size_t got;
        int n = block_iov_slice(iov, SLICE_IOV, req->iov, req->niov, (size_t)done,
                                (size_t)(req->bytes - done), &got);
        off_t offset = req->at_offset + done;
        ssize_t ret = write ? pwritev(s->fd, iov, n, offset) : preadv(s->fd, iov, n, offset);

        if (ret < 0 && worth_retrying(errno)) {
            continue;
        }
        if (ret < 0) {
            return -errno;
        }
        done += ret;
        if (ret == 0 && write) {
            return -ENOSPC;
        }
        /* End of file. With O_DIRECT it also shows as a count that is no multiple of the block
         * size, from where no further read would be allowed. */
        if (!write && (ret == 0 || (size_t)ret % s->caps.request_alignment)) {
            block_iov_zero(req->iov, req->niov, (size_t)done);
            break;
        }
    }
    return sync ? flush(s) : 0;
}

int file_pread_all(FileState *s, void *buf, size_t bytes, int64_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = pread(s->fd, (uint8_t *)buf + done, bytes - done, offset + (off_t)done);

        if (n < 0 && worth_retrying(errno)) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        done += (size_t)n;
        if (n == 0 || (size_t)n % s->caps.request_alignment) {
            memset((uint8_t *)buf + done, 0, bytes - done);
            break;
        }
    }
    return 0;
}

int file_pwrite_all(FileState *s, const void *buf, size_t bytes, int64_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = pwrite(s->fd, (const uint8_t *)buf + done, bytes - done, offset + (off_t)done);

        if (n < 0 && worth_retrying(errno)) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? -errno : -ENOSPC;
        }
        done += (size_t)n;
    }
    return 0;
}

int file_worker_run(AioWork *w)
{
    BlockRequest *req = (BlockRequest *)((char *)w - offsetof(BlockRequest, u.work));
    BlockNode *node = req->node;
    FileState *s = node->opaque;
    int ret;

    switch (req->at_op) {
    case BLK_OP_READ:
    case BLK_OP_WRITE:
        if (!(req->driver_flags & FILE_REQ_BOUNCE)) {
            return rw_loop(s, req);
        }
        ret = file_bounce(s, node, req);
        break;
    case BLK_OP_FLUSH:
        return flush(s);
    case BLK_OP_DISCARD:
        return file_discard(s, req);
    case BLK_OP_WRITE_ZEROES:
        ret = file_write_zeroes(s, node, req);
        break;
    default:
        g_assert_not_reached();
    }
    if (ret == 0 && req->at_op != BLK_OP_READ && (req->at_flags & BLK_REQ_FUA)) {
        ret = flush(s);
    }
    return ret;
}
