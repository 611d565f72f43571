/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block devices in memory (zram, ...): a request is carried out by the thread that submits it, so
 * it is done when io_submit() returns, and there is nobody to wait for. Many at once save system
 * calls and, in the kernel, the dressing of each as a call that might have to wait.
 *
 * Nothing tells of a completion, because nothing needs to: they are looked for right after the
 * submission. Should a device leave some for later, they are looked for again by a timer.
 */
#include <errno.h>
#include <unistd.h>

#include "file-aio-ring.h"
#include "file-pending.h"

#define QUEUE_DEPTH 1024
#define EVENTS      64
#define LATE_NS     (50 * 1000)

G_STATIC_ASSERT(sizeof(struct iocb) <= sizeof(((BlockRequest *)0)->u.engine));

typedef struct BatchQueue {
    io_context_t io;
    AioTimer *timer;
    FilePending pending;
    unsigned in_flight;
    bool flushing;
} BatchQueue;

static void batch_late(void *opaque);

static void *batch_create(AioContext *ctx, Error **errp)
{
    BatchQueue *q = g_new0(BatchQueue, 1);
    int ret = io_setup(QUEUE_DEPTH, &q->io);

    if (ret < 0) {
        error_set_errno(errp, -ret, "io_setup");
        g_free(q);
        return NULL;
    }
    file_pending_init(&q->pending);
    q->timer = aio_timer_new(ctx, AIO_CLOCK_REALTIME, batch_late, q);
    return q;
}

static void batch_destroy(void *service)
{
    BatchQueue *q = service;

    g_assert(!q->pending.first && !q->in_flight);
    aio_timer_free(q->timer);
    io_destroy(q->io);
    g_free(q);
}

static const AioServiceOps batch_ops = {batch_create, batch_destroy};

static void batch_reap(BatchQueue *q)
{
    struct io_event events[EVENTS];
    NativeRing *ring = (NativeRing *)q->io;
    struct timespec now = {0, 0};
    int n;

    while (q->in_flight > 0) {
        n = ring_known(ring) ? ring_take(ring, events, EVENTS)
                             : io_getevents(q->io, 0, EVENTS, events, &now);
        if (n == -EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        /* First, because a completion may poll this context again. */
        q->in_flight -= (unsigned)n;
        for (int i = 0; i < n; i++) {
            struct iocb *iocb = events[i].obj;

            file_engine_result((BlockRequest *)((char *)iocb - offsetof(BlockRequest, u.engine)),
                               (int64_t)events[i].res);
        }
    }
}

/* A single one is cheaper without a queue. */
static void do_alone(BlockRequest *req)
{
    FileState *s = req->node->opaque;
    ssize_t n = req->at_op == BLK_OP_READ
                    ? preadv(s->fd, req->iov, req->niov, req->at_offset)
                    : pwritev(s->fd, req->iov, req->niov, req->at_offset);

    file_engine_result(req, n < 0 ? -errno : n);
}

static void submit_pending(BatchQueue *q)
{
    struct iocb *batch[EVENTS];
    BlockRequest *req = q->pending.first;
    long n = 0;
    int ret;

    for (; req && n < EVENTS && q->in_flight + (unsigned)n < QUEUE_DEPTH; req = req->next) {
        batch[n++] = (struct iocb *)req->u.engine;
    }
    ret = io_submit(q->io, n, batch);
    if (ret <= 0) {
        /* Whatever the reason is: a worker will do the first one, or say what is wrong. */
        if (ret != -EINTR) {
            file_submit_worker(file_pending_take(&q->pending));
        }
        return;
    }
    for (int i = 0; i < ret; i++) {
        file_pending_take(&q->pending);
    }
    q->in_flight += (unsigned)ret;
    batch_reap(q);
}

static void batch_flush(void *opaque)
{
    BatchQueue *q = opaque;

    /* Called by a completion: who runs it goes on with what has been added. */
    if (q->flushing) {
        return;
    }
    q->flushing = true;
    while (q->pending.first && q->in_flight < QUEUE_DEPTH) {
        if (q->pending.n == 1) {
            do_alone(file_pending_take(&q->pending));
        } else {
            submit_pending(q);
        }
    }
    q->flushing = false;
    if (q->in_flight > 0) {
        aio_timer_set(q->timer, aio_clock_ns(AIO_CLOCK_REALTIME) + LATE_NS);
    }
}

static void batch_late(void *opaque)
{
    BatchQueue *q = opaque;

    batch_reap(q);
    batch_flush(q);
}

bool file_batch_rw(FileState *s, FileShard *sh, BlockRequest *req)
{
    BatchQueue *q = sh->no_batch ? NULL : aio_service_get(req->ctx, &batch_ops, NULL);
    struct iocb *iocb = (struct iocb *)req->u.engine;
    bool read = req->at_op == BLK_OP_READ;

    if (G_UNLIKELY(!q)) {
        sh->no_batch = true;
        return false;
    }
    if (G_LIKELY(req->niov == 1)) {
        (read ? io_prep_pread : io_prep_pwrite)(iocb, s->fd, req->iov->iov_base, req->iov->iov_len,
                                                req->at_offset);
    } else {
        (read ? io_prep_preadv : io_prep_pwritev)(iocb, s->fd, req->iov, req->niov,
                                                  req->at_offset);
    }
    file_pending_add(&q->pending, req);
    if (q->pending.n >= file_native_batch(s, req->ctx)) {
        batch_flush(q);
    } else {
        aio_defer(batch_flush, q);
    }
    return true;
}
