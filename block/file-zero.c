/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Discarding and zeroing ranges by asking the file system or device, or by writing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "file.h"

static bool means_unsupported(int err)
{
    return err == EOPNOTSUPP || err == ENOSYS || err == ENOTTY || err == EINVAL || err == ENODEV ||
           err == EPERM;
}

/* 0, -ENOTSUP, or another negative errno. */
static int do_fallocate(FileState *s, int mode, int64_t offset, int64_t bytes)
{
    while (fallocate(s->fd, mode, offset, bytes) < 0) {
        if (errno != EINTR) {
            return means_unsupported(errno) ? -ENOTSUP : -errno;
        }
    }
    return 0;
}

static int try_fallocate(FileState *s, int *broken, int mode, int64_t offset, int64_t bytes)
{
    int ret;

    if (file_flag(broken)) {
        return -ENOTSUP;
    }
    ret = do_fallocate(s, mode, offset, bytes);
    if (ret == -ENOTSUP) {
        file_set_flag(broken);
    }
    return ret;
}

static int do_discard(FileState *s, int64_t offset, int64_t bytes)
{
    if (s->caps.is_block) {
        uint64_t range[2] = { (uint64_t)offset, (uint64_t)bytes };

        while (ioctl(s->fd, BLKDISCARD, range) < 0) {
            if (errno != EINTR) {
                return means_unsupported(errno) ? -ENOTSUP : -errno;
            }
        }
        return 0;
    }
    return try_fallocate(s, &s->no_punch, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                         bytes);
}

int file_discard(FileState *s, BlockRequest *req)
{
    int64_t align = s->caps.is_block ? MAX(s->caps.logical, (uint32_t)BLK_SECTOR_SIZE) : 1;
    /* Only blocks that lie inside as a whole: the guest did not give up the rest of the others. */
    int64_t start = (req->at_offset + align - 1) & -align;
    int64_t end = (req->at_offset + req->bytes) & -align;
    int ret;

    if (!s->caps.discard || start >= end) {
        return 0;
    }
    ret = do_discard(s, start, end - start);
    file_map_forget(s, start, end - start);
    if (ret == 0) {
        __atomic_fetch_add(&s->discards_ok, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&s->discard_bytes, (uint64_t)(end - start), __ATOMIC_RELAXED);
        return 0;
    }
    __atomic_fetch_add(&s->discards_failed, 1, __ATOMIC_RELAXED);
    return ret == -ENOTSUP ? 0 : ret;
}

/* A range that is aligned for a device. */
static int zero_range(FileState *s, int64_t offset, int64_t bytes, bool unmap)
{
    int ret = -ENOTSUP;

    if (unmap) {
        ret = try_fallocate(s, &s->no_punch, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                            bytes);
    }
    if (ret == -ENOTSUP) {
        ret = try_fallocate(s, &s->no_zero_range, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                            offset, bytes);
    }
    if (ret == -ENOTSUP && s->caps.is_block) {
        uint64_t range[2] = { (uint64_t)offset, (uint64_t)bytes };

        if (ioctl(s->fd, BLKZEROOUT, range) == 0) {
            ret = 0;
        } else {
            ret = means_unsupported(errno) || errno == EINTR ? -ENOTSUP : -errno;
        }
    } else if (ret == -ENOTSUP && !unmap && !file_flag(&s->no_fallocate)) {
        /* Let go, and allocate anew: as good as zeroing in place. */
        ret = try_fallocate(s, &s->no_punch, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                            bytes);
        if (ret == 0) {
            ret = try_fallocate(s, &s->no_fallocate, FALLOC_FL_KEEP_SIZE, offset, bytes);
        }
    }
    return ret;
}

int file_write_zeroes(FileState *s, BlockNode *node, BlockRequest *req)
{
    bool unmap = req->at_flags & BLK_REQ_UNMAP;
    int64_t offset = req->at_offset, end = offset + req->bytes;
    int64_t start = offset, stop = end;
    int ret;

    if (s->caps.is_block) {
        int64_t align = MAX(s->caps.logical, (uint32_t)BLK_SECTOR_SIZE);

        start = (offset + align - 1) & -align;
        stop = end & -align;
    }
    if (start >= stop) {
        return file_write_zero_buffer(s, node, offset, end - offset);
    }
    ret = zero_range(s, start, stop - start, unmap);
    file_map_forget(s, start, stop - start);
    if (ret == -ENOTSUP) {
        return file_write_zero_buffer(s, node, offset, end - offset);
    }
    if (ret == 0) {
        ret = file_write_zero_buffer(s, node, offset, start - offset);
    }
    if (ret == 0) {
        ret = file_write_zero_buffer(s, node, stop, end - stop);
    }
    return ret;
}
