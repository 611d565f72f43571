/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers of file descriptors, independent of how the kernel reports readiness. */
#include "util/aio.h"

#include <poll.h>

#include "aio-internal.h"
#include "event-notifier-drained.h"

unsigned aio_fd_events(const AioFd *h)
{
    return (h->want_read && h->ops->read ? POLLIN : 0) |
           (h->want_write && h->ops->write ? POLLOUT : 0);
}

/* A context that no thread runs any more has no engine; its handlers can still be removed. */
static void assert_in_context(AioContext *ctx)
{
    g_assert(aio_in_context(ctx) || __atomic_load_n(&ctx->ops, __ATOMIC_ACQUIRE) == NULL);
}

static void fd_update(AioFd *h)
{
    /* Engines leave it for the end of a callback; see run_end(). */
    h->update = h->running;
    if (h->ctx->ops) {
        h->ctx->ops->fd_update(h->ctx, h);
    }
}

AioFd *aio_fd_add(AioContext *ctx, int fd, const AioFdOps *ops, void *opaque)
{
    AioFd *h = g_new0(AioFd, 1);

    g_assert(aio_in_context(ctx));
    g_assert(fd >= 0);
    g_assert(!ops->poll == !ops->poll_begin && !ops->poll == !ops->poll_end);

    h->ctx = ctx;
    h->fd = fd;
    h->ops = ops;
    h->opaque = opaque;
    h->want_read = ops->read != NULL;
    h->reg_fd = -1;
    h->ready_link.data = h;
    h->poll_link.data = h;
    h->always_link.data = h;
    if (ops->poll) {
        g_queue_push_tail_link(&ctx->poll_fds, &h->poll_link);
    }
    fd_update(h);
    return h;
}

void aio_fd_want_read(AioFd *h, bool on)
{
    assert_in_context(h->ctx);
    if (h->removed || h->want_read == on) {
        return;
    }
    aio_fd_walk_begin(h->ctx);
    if (!on) {
        aio_fd_poll_end(h);
    }
    h->want_read = on;
    if (!h->removed) {
        fd_update(h);
    }
    aio_fd_walk_end(h->ctx);
}

void aio_fd_want_write(AioFd *h, bool on)
{
    assert_in_context(h->ctx);
    if (h->removed || h->want_write == on) {
        return;
    }
    h->want_write = on;
    fd_update(h);
}

void aio_fd_remove(AioFd *h)
{
    AioContext *ctx = h->ctx;

    assert_in_context(ctx);
    if (h->removed) {
        return;
    }
    aio_fd_walk_begin(ctx);
    aio_fd_poll_end(h);
    if (!h->removed) { /* else by its own poll_end */
        h->removed = true;
        if (h->queued) {
            g_queue_unlink(&ctx->ready, &h->ready_link);
            h->queued = false;
        }
        if (ctx->ops) {
            ctx->ops->fd_del(ctx, h);
        }
        h->next_removed = ctx->removed;
        ctx->removed = h;
    }
    aio_fd_walk_end(ctx);
}

void aio_fd_walk_begin(AioContext *ctx)
{
    ctx->walking++;
}

void aio_fd_walk_end(AioContext *ctx)
{
    g_assert(ctx->walking > 0);
    if (--ctx->walking > 0) {
        return;
    }
    while (ctx->removed) {
        AioFd *h = ctx->removed;

        ctx->removed = h->next_removed;
        if (h->ops->poll) {
            g_queue_unlink(&ctx->poll_fds, &h->poll_link);
        }
        g_free(h);
    }
}

void aio_fd_mark_ready(AioFd *h, unsigned revents)
{
    if (h->polling && !h->running && !h->want_write) {
        /* `poll` sees what the descriptor tells of without the system calls that it takes. */
        h->missed |= revents;
        return;
    }
    h->revents |= revents;
    if (!h->running && !h->queued && !h->removed) {
        h->queued = true;
        g_queue_push_tail_link(&h->ctx->ready, &h->ready_link);
    }
}

/* Ends h->running; what arrived meanwhile (seen by a nested aio_poll()) gets its turn now. */
static void run_end(AioFd *h)
{
    h->running = false;
    h->update = false;
    if (h->removed) {
        return;
    }
    if (h->revents) {
        unsigned revents = h->revents;

        h->revents = 0;
        aio_fd_mark_ready(h, revents);
    }
    fd_update(h);
}

static bool dispatch_one(AioFd *h)
{
    unsigned revents = h->revents;
    bool progress = false;

    h->revents = 0;
    h->running = true;
    if ((revents & (POLLIN | POLLERR | POLLHUP)) && h->want_read && h->ops->read) {
        event_notifier_drained_fd = -1;
        h->ops->read(h->opaque);
        h->edge = event_notifier_drained_fd == h->fd;
        progress = true;
    }
    if (!h->removed && (revents & (POLLOUT | POLLERR | POLLHUP)) && h->want_write &&
        h->ops->write) {
        h->ops->write(h->opaque);
        progress = true;
    }
    /* Not if it is only about what polling has dealt with already. */
    h->hit |= progress && !h->stale;
    h->stale = false;
    run_end(h);
    return progress;
}

bool aio_fd_dispatch(AioContext *ctx)
{
    guint n = ctx->ready.length;
    bool progress = false;

    aio_fd_walk_begin(ctx);
    while (n-- > 0) {
        GList *link = g_queue_pop_head_link(&ctx->ready);
        AioFd *h;

        if (!link) {
            break; /* handled by a nested aio_poll() */
        }
        h = link->data;
        h->queued = false;
        progress |= dispatch_one(h);
    }
    aio_fd_walk_end(ctx);
    return progress;
}

bool aio_fd_run_poll(AioFd *h)
{
    bool found;

    if (h->removed || h->running || !h->polling) {
        return false;
    }
    h->running = true;
    found = h->ops->poll(h->opaque);
    if (!found && !h->removed && !h->revents && !h->update) {
        h->running = false;
        return false;
    }
    h->hit |= found;
    run_end(h);
    return found;
}

void aio_fd_poll_begin(AioFd *h)
{
    if (h->removed || h->running || h->polling || !h->want_read) {
        return;
    }
    h->polling = true;
    h->ctx->n_polling++;
    h->ops->poll_begin(h->opaque);
}

void aio_fd_poll_end(AioFd *h)
{
    if (h->polling) {
        h->polling = false;
        h->ctx->n_polling--;
        h->ops->poll_end(h->opaque);
        if (h->missed && !h->removed) {
            /* The descriptor is still ready, and its handler has to see to that. */
            unsigned missed = h->missed;

            h->missed = 0;
            h->stale = true;
            aio_fd_mark_ready(h, missed);
        }
    }
}
