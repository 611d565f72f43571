/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aio=native: Linux AIO, one kernel queue per event loop. Requests are collected while the loop is
 * plugged and handed over in one io_submit; completions arrive by eventfd, and polling looks at the
 * ring that the kernel maps into the process.
 */
#include <errno.h>
#include <libaio.h>
#include <string.h>
#include <sys/uio.h>

#include "file-aio-ring.h"
#include "file-pending.h"
#include "util/event-notifier.h"

#define QUEUE_DEPTH   1024
#define DEFAULT_BATCH 32
#define EVENTS        128

G_STATIC_ASSERT(sizeof(struct iocb) <= sizeof(((BlockRequest *)0)->u.engine));

typedef struct NativeQueue {
    AioContext *ctx;
    io_context_t io;
    EventNotifier notifier;
    AioFd *fd;
    FilePending pending;
    unsigned in_flight;
} NativeQueue;

static BlockRequest *request_of(struct iocb *iocb)
{
    return (BlockRequest *)((char *)iocb - offsetof(BlockRequest, u.engine));
}

static void native_flush(void *opaque);

static bool native_reap(NativeQueue *q)
{
    struct io_event events[EVENTS];
    NativeRing *ring = (NativeRing *)q->io;
    struct timespec now = { 0, 0 };
    bool any = false;
    int n;

    do {
        n = ring_known(ring) ? ring_take(ring, events, EVENTS)
                             : io_getevents(q->io, 0, EVENTS, events, &now);
        if (n == -EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        any = true;
        /* First, because a completion may poll this context again. */
        q->in_flight -= (unsigned)n;
        for (int i = 0; i < n; i++) {
            file_engine_result(request_of(events[i].obj), (int64_t)events[i].res);
        }
    } while (n == EVENTS || n == -EINTR);
    if (any && q->pending.first) {
        aio_defer(native_flush, q);
    }
    return any;
}

static void native_readable(void *opaque)
{
    NativeQueue *q = opaque;

    event_notifier_test_and_clear(&q->notifier);
    native_reap(q);
}

static bool native_poll(void *opaque)
{
    NativeQueue *q = opaque;
    const NativeRing *ring = (const NativeRing *)q->io;

    return q->in_flight && ring_known(ring) && !ring_empty(ring) && native_reap(q);
}

static void native_poll_begin(void *opaque)
{
    /* The kernel offers no way to keep it from signalling the eventfd. */
}

static void native_poll_end(void *opaque)
{
    native_poll(opaque);
}

static const AioFdOps native_fd_ops = {
    .read = native_readable,
    .poll = native_poll,
    .poll_begin = native_poll_begin,
    .poll_end = native_poll_end,
};

static void *native_create(AioContext *ctx, Error **errp)
{
    NativeQueue *q = g_new0(NativeQueue, 1);
    int ret;

    q->ctx = ctx;
    file_pending_init(&q->pending);
    if (!event_notifier_init(&q->notifier, false, errp)) {
        g_free(q);
        return NULL;
    }
    ret = io_setup(QUEUE_DEPTH, &q->io);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to use native AIO (see /proc/sys/fs/aio-max-nr)");
        event_notifier_cleanup(&q->notifier);
        g_free(q);
        return NULL;
    }
    q->fd = aio_fd_add(ctx, q->notifier.fd, &native_fd_ops, q);
    return q;
}

static void native_destroy(void *service)
{
    NativeQueue *q = service;

    g_assert(!q->pending.first && !q->in_flight);
    aio_fd_remove(q->fd);
    io_destroy(q->io);
    event_notifier_cleanup(&q->notifier);
    g_free(q);
}

static const AioServiceOps native_ops = { native_create, native_destroy };

static void native_flush(void *opaque)
{
    NativeQueue *q = opaque;

    while (q->pending.first && q->in_flight < QUEUE_DEPTH) {
        struct iocb *batch[EVENTS];
        BlockRequest *req = q->pending.first;
        long n = 0;
        int ret;

        for (; req && n < EVENTS && q->in_flight + (unsigned)n < QUEUE_DEPTH; req = req->next) {
            batch[n++] = (struct iocb *)req->u.engine;
        }
        ret = io_submit(q->io, n, batch);
        if (ret == -EINTR) {
            continue;
        }
        if (ret == -EAGAIN && q->in_flight > 0) {
            return; /* tried again when something completes */
        }
        if (ret <= 0) {
            /* Only the first one is at fault; a worker will do it, or say what is wrong. */
            file_submit_worker(file_pending_take(&q->pending));
            continue;
        }
        for (int i = 0; i < ret; i++) {
            file_pending_take(&q->pending);
        }
        q->in_flight += (unsigned)ret;
    }
}

bool file_native_probe(AioContext *ctx, Error **errp)
{
    return aio_service_get(ctx, &native_ops, errp) != NULL;
}

unsigned file_native_batch(FileState *s, AioContext *ctx)
{
    int64_t limit = aio_max_batch(ctx);

    if (limit <= 0) {
        limit = DEFAULT_BATCH;
    }
    if (s->max_batch) {
        limit = MIN(limit, s->max_batch);
    }
    return (unsigned)MIN(limit, QUEUE_DEPTH);
}

bool file_native_rw(FileState *s, BlockRequest *req)
{
    NativeQueue *q = aio_service_get(req->ctx, &native_ops, NULL);
    struct iocb *iocb = (struct iocb *)req->u.engine;

    if (G_UNLIKELY(!q)) {
        return false;
    }
    if (req->at_op == BLK_OP_READ) {
        io_prep_preadv(iocb, s->fd, req->iov, req->niov, req->at_offset);
    } else {
        io_prep_pwritev(iocb, s->fd, req->iov, req->niov, req->at_offset);
        if (req->at_flags & BLK_REQ_FUA) {
            iocb->aio_rw_flags = RWF_DSYNC;
        }
    }
    io_set_eventfd(iocb, q->notifier.fd);
    file_pending_add(&q->pending, req);
    if (q->pending.n >= file_native_batch(s, q->ctx)) {
        native_flush(q);
    } else {
        aio_defer(native_flush, q);
    }
    return true;
}
