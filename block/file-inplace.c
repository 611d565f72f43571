/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that are no more than a copy between guest memory and memory of the host: carried out on
 * the spot, in the thread that has the request. Handing one over, to a ring or to a worker, costs
 * more than the copy does.
 *
 * - Memory (tmpfs, zram, ...): plain calls. They wait for no disk, except when memory is short: the
 *   page may have been swapped out, or room must be made for a new one. A thread that is caught
 *   sleeping stays away from it for a while.
 * - Page cache: RWF_NOWAIT does what is there, and says EAGAIN for the rest.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backend.h"
#include "file.h"

/* Copying more than this in place would keep other queues of the thread waiting. */
#define IN_PLACE_MAX (256 * 1024)
/* The clock is read once per so many bytes. */
#define CLOCK_BYTES (16 * 1024)
/* Requests that took this long are suspected of having slept; or the host had no CPU for this
 * thread, which is no reason to change anything. So the next ones are watched. */
#define SLOW_NS          (1000 * 1000)
#define SUSPECT_REQUESTS 8
#define HOLD_NS          (20 * 1000 * 1000)
/* After so many misses in a row, with a ring at hand, only one in MISS_RETRY requests tries. */
#define MISS_STREAK 16
#define MISS_RETRY  16
/* A completion may submit the next request. The stack must not grow with the number of requests. */
#define MAX_NESTING 4

static __thread unsigned nesting;

__thread uint64_t blk_bytes_copied;

/* How often this thread has slept. */
static long times_slept(void)
{
    struct rusage u;

    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nvcsw : 0;
}

static ssize_t read_memory(FileState *s, FileShard *sh, const BlockRequest *req)
{
    if (file_map_copy(s, sh, req)) {
        return req->bytes;
    }
    if (G_LIKELY(req->niov == 1)) {
        return pread(s->fd, req->iov->iov_base, req->iov->iov_len, req->at_offset);
    }
    return preadv(s->fd, req->iov, req->niov, req->at_offset);
}

static ssize_t write_memory(FileState *s, FileShard *sh, const BlockRequest *req)
{
    if (file_map_copy(s, sh, req)) {
        return req->bytes;
    }
    if (G_UNLIKELY((req->at_flags & BLK_REQ_FUA) && !s->caps.flush_free)) {
        return pwritev2(s->fd, req->iov, req->niov, req->at_offset, RWF_DSYNC);
    }
    if (G_LIKELY(req->niov == 1)) {
        return pwrite(s->fd, req->iov->iov_base, req->iov->iov_len, req->at_offset);
    }
    return pwritev(s->fd, req->iov, req->niov, req->at_offset);
}

static ssize_t transfer_memory(FileState *s, FileShard *sh, const BlockRequest *req)
{
    if (G_UNLIKELY(sh->suspect)) {
        long slept = times_slept();
        ssize_t n;
        int err;

        sh->suspect--;
        n = req->at_op == BLK_OP_READ ? read_memory(s, sh, req) : write_memory(s, sh, req);
        err = errno;
        if (times_slept() != slept) {
            sh->hold_until_ns = block_clock_fresh() + HOLD_NS;
            /* The first ones afterwards show whether that is over. */
            sh->suspect = SUSPECT_REQUESTS;
        }
        errno = err;
        return n;
    }
    return req->at_op == BLK_OP_READ ? read_memory(s, sh, req) : write_memory(s, sh, req);
}

static bool may_in_place(FileState *s, FileShard *sh, const BlockRequest *req)
{
    if (req->bytes > IN_PLACE_MAX || nesting >= MAX_NESTING || !s->caps.local) {
        return false;
    }
    if (s->caps.in_memory) {
        /* A device's page cache is written back when it is full, and writers wait for that. */
        if (!s->caps.flush_free && !s->direct && req->at_op == BLK_OP_WRITE) {
            return false;
        }
        return G_LIKELY(!sh->hold_until_ns) || block_clock() >= sh->hold_until_ns;
    }
    if (req->at_op == BLK_OP_WRITE) {
        return !s->direct && !(req->at_flags & BLK_REQ_FUA) && !file_flag(&s->nowait_write_broken);
    }
    if (!s->caps.nowait_read || file_flag(&s->nowait_read_broken)) {
        return false;
    }
    /* Workers are so much dearer than a vain attempt that it always pays to try. */
    return sh->misses < MISS_STREAK || s->aio != BLOCKDEV_AIO_OPTIONS_IO_URING ||
           ++sh->misses % MISS_RETRY == 0;
}

static ssize_t transfer_cached(FileState *s, FileShard *sh, const BlockRequest *req)
{
    bool read = req->at_op == BLK_OP_READ;
    ssize_t n = read ? preadv2(s->fd, req->iov, req->niov, req->at_offset, RWF_NOWAIT)
                     : pwritev2(s->fd, req->iov, req->niov, req->at_offset, RWF_NOWAIT);

    if (n == req->bytes) {
        sh->misses = 0;
    } else if (n < 0 && errno == EOPNOTSUPP) {
        file_set_flag(read ? &s->nowait_read_broken : &s->nowait_write_broken);
    } else if (n >= 0 || errno == EAGAIN) {
        counter_add(&sh->missed, 1);
        sh->misses++;
    }
    return n;
}

static void note_time(FileState *s, FileShard *sh, int64_t bytes)
{
    int64_t before, now;

    sh->unclocked += bytes;
    if (sh->unclocked < CLOCK_BYTES) {
        return;
    }
    sh->unclocked = 0;
    before = block_clock();
    now = block_clock_fresh();
    if (G_UNLIKELY(now - before > SLOW_NS)) {
        sh->suspect = SUSPECT_REQUESTS;
    }
    file_map_touch_late(s, now);
}

static void note_in_place(FileState *s, FileShard *sh, int64_t bytes)
{
    counter_add(&sh->in_place, 1);
    note_time(s, sh, bytes);
    blk_bytes_copied += MAX((uint64_t)bytes, 4096);
}

/* Devices whose requests are best carried out many at once. One that may have slept is watched
 * more closely. */
static bool wants_batch(const FileState *s, const FileShard *sh, const BlockRequest *req)
{
    return s->caps.in_memory && s->caps.is_block && s->direct && !sh->suspect && !req->skip &&
           (!(req->at_flags & BLK_REQ_FUA) || s->caps.flush_free);
}

bool file_try_in_place(FileState *s, FileShard *sh, BlockRequest *req)
{
    ssize_t n;

    if (!may_in_place(s, sh, req)) {
        return false;
    }
    if (wants_batch(s, sh, req) && file_batch_rw(s, sh, req)) {
        note_in_place(s, sh, req->bytes);
        return true;
    }
    n = s->caps.in_memory ? transfer_memory(s, sh, req) : transfer_cached(s, sh, req);
    if (G_UNLIKELY(n != req->bytes)) {
        /* Who goes on finds out why: the end of the file, no space, ... */
        if (n > 0 && n % s->caps.request_alignment == 0) {
            req->skip = n;
        }
        return false;
    }
    note_in_place(s, sh, n);
    nesting++;
    file_done(s, req, 0);
    nesting--;
    return true;
}
