/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that O_DIRECT does not take as they are: wrong address, or not whole blocks. They go
 * through a buffer; a write reads the blocks first that it does not fill. Whoever writes holds the
 * range (range-lock.h), so nothing changes between reading and writing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

#define BUFFER_MAX (1024 * 1024)

static void *buffer_new(FileState *s, size_t bytes)
{
    size_t align = MAX(s->caps.mem_alignment, 4096u);

    return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

/* Reads the blocks at both ends of the buffer that [from, to) does not fill. */
static int read_edges(FileState *s, uint8_t *buf, int64_t pos, int64_t n, int64_t from, int64_t to)
{
    int64_t align = s->caps.request_alignment;
    int64_t last = n - align;
    int ret = 0;

    if (from > pos) {
        ret = file_pread_all(s, buf, (size_t)align, pos);
    }
    if (ret == 0 && to < pos + n && (last > 0 || from == pos)) {
        ret = file_pread_all(s, buf + last, (size_t)align, pos + last);
    }
    return ret;
}

/* Writing a whole last block may have made the file longer than the disk. */
static int cut_tail(FileState *s, BlockNode *node, int64_t old_size, int64_t end)
{
    int64_t length = block_node_length(node), want = MAX(length, old_size);

    if (s->caps.is_block || s->caps.is_char || end <= want) {
        return 0;
    }
    while (ftruncate(s->fd, want) < 0) {
        if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* With iov NULL: writes zeroes. */
static int transfer(FileState *s, BlockNode *node, bool write, int64_t offset, int64_t bytes,
                    const struct iovec *iov, int niov)
{
    int64_t align = s->caps.request_alignment;
    int64_t start = offset & -align;
    int64_t end = (offset + bytes + align - 1) & -align;
    int64_t size = MIN(end - start, MAX(BUFFER_MAX, align));
    int64_t old_size = write ? file_size(s) : 0;
    uint8_t *buf = buffer_new(s, (size_t)size);
    int ret = old_size < 0 ? (int)old_size : 0;

    if (!buf) {
        return -ENOMEM;
    }
    for (int64_t pos = start, n; pos < end && ret == 0; pos += n) {
        int64_t from = MAX(pos, offset), to;

        n = MIN(size, end - pos);
        to = MIN(pos + n, offset + bytes);
        if (!write) {
            ret = file_pread_all(s, buf, (size_t)n, pos);
            if (ret == 0) {
                block_iov_from_buf(iov, niov, (size_t)(from - offset), buf + (from - pos),
                                   (size_t)(to - from));
            }
            continue;
        }
        ret = read_edges(s, buf, pos, n, from, to);
        if (ret < 0) {
            break;
        }
        if (iov) {
            block_iov_to_buf(iov, niov, (size_t)(from - offset), buf + (from - pos),
                             (size_t)(to - from));
        } else {
            memset(buf + (from - pos), 0, (size_t)(to - from));
        }
        ret = file_pwrite_all(s, buf, (size_t)n, pos);
    }
    free(buf);
    if (write && ret == 0) {
        ret = cut_tail(s, node, old_size, end);
    }
    return ret;
}

int file_bounce(FileState *s, BlockNode *node, BlockRequest *req)
{
    return transfer(s, node, req->at_op == BLK_OP_WRITE, req->at_offset, req->bytes, req->iov,
                    req->niov);
}

int file_write_zero_buffer(FileState *s, BlockNode *node, int64_t offset, int64_t bytes)
{
    return bytes ? transfer(s, node, true, offset, bytes, NULL, 0) : 0;
}
