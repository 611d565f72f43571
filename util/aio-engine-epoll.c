/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop's engine where io_uring is missing or forbidden. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "aio-internal.h"

/* epoll and poll agree on these on Linux, so masks are passed on as they are. */
G_STATIC_ASSERT(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
                EPOLLHUP == POLLHUP);

#define MAX_EVENTS 128
/* The busy-wait asks the kernel this often only: it is about watching memory. */
#define PEEK_INTERVAL 64

typedef struct EpollEngine {
    struct epoll_event events[MAX_EVENTS];
    GQueue always; /* handlers of files that epoll refuses, because they never block */
    unsigned peeks;
    bool no_pwait2;
} EpollEngine;

static bool epoll_create_engine(AioContext *ctx)
{
    /* Edge-triggered: each write to the eventfd is a new event, so it is never read. */
    struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    EpollEngine *e;

    if (epoll_ctl(ctx->epoll_fd, EPOLL_CTL_ADD, ctx->wake_fd, &ev) < 0) {
        return false;
    }
    e = g_new0(EpollEngine, 1);
    g_queue_init(&e->always);
    ctx->engine = e;
    return true;
}

static void epoll_unregister(AioContext *ctx, AioFd *h)
{
    EpollEngine *e = ctx->engine;

    if (h->always) {
        g_queue_unlink(&e->always, &h->always_link);
        h->always = false;
    }
    if (h->reg_fd >= 0) {
        epoll_ctl(ctx->epoll_fd, EPOLL_CTL_DEL, h->reg_fd, NULL);
        if (h->reg_fd != h->fd) {
            close(h->reg_fd);
        }
        h->reg_fd = -1;
    }
}

static void epoll_destroy(AioContext *ctx)
{
    EpollEngine *e = ctx->engine;

    while (e->always.head) {
        epoll_unregister(ctx, e->always.head->data);
    }
    ctx->engine = NULL;
    g_free(e);
}

static void epoll_register(AioContext *ctx, AioFd *h, unsigned events)
{
    struct epoll_event ev = {.events = events, .data.ptr = h};
    EpollEngine *e = ctx->engine;

    h->reg_events = events;
    h->reg_fd = h->fd;
    if (epoll_ctl(ctx->epoll_fd, EPOLL_CTL_ADD, h->fd, &ev) == 0) {
        return;
    }
    if (errno == EPERM) {
        h->reg_fd = -1;
        h->always = true;
        g_queue_push_tail_link(&e->always, &h->always_link);
        return;
    }
    if (errno == EEXIST) {
        /* Two handlers of one descriptor; epoll knows it by number, so the second needs its own. */
        h->reg_fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
        if (h->reg_fd >= 0 && epoll_ctl(ctx->epoll_fd, EPOLL_CTL_ADD, h->reg_fd, &ev) == 0) {
            return;
        }
    }
    g_error("epoll_ctl: cannot watch descriptor %d: %s", h->fd, g_strerror(errno));
}

static void epoll_fd_update(AioContext *ctx, AioFd *h)
{
    unsigned events = aio_fd_events(h);

    if (h->running) {
        return;
    }
    if (events == 0) {
        /* An idle registration would still report hang-ups, over and over. */
        epoll_unregister(ctx, h);
    } else if (h->reg_fd < 0 && !h->always) {
        epoll_register(ctx, h, events);
    } else if (h->reg_fd >= 0 && h->reg_events != events) {
        struct epoll_event ev = {.events = events, .data.ptr = h};

        if (epoll_ctl(ctx->epoll_fd, EPOLL_CTL_MOD, h->reg_fd, &ev) < 0) {
            g_error("epoll_ctl: descriptor %d: %s", h->fd, g_strerror(errno));
        }
        h->reg_events = events;
    }
}

static void epoll_event(AioContext *ctx, AioFd *h, unsigned revents)
{
    if (h->running) {
        /* Its callback is on the stack and will not be entered again; level-triggered, the event
         * would end each nested wait at once. It is watched again when the callback returns. */
        epoll_unregister(ctx, h);
    } else {
        aio_fd_mark_ready(h, revents);
    }
}

static int epoll_sleep(AioContext *ctx, int64_t timeout_ns)
{
    EpollEngine *e = ctx->engine;
    int ms = -1;

    if (timeout_ns > 0 && !e->no_pwait2) {
        struct timespec ts = {timeout_ns / 1000000000, timeout_ns % 1000000000};
        int n = epoll_pwait2(ctx->epoll_fd, e->events, MAX_EVENTS, &ts, NULL);

        if (n >= 0 || errno != ENOSYS) {
            return n;
        }
        e->no_pwait2 = true;
    }
    if (timeout_ns >= 0) {
        /* Rounded up: waking early would only spin. */
        ms = MIN(timeout_ns / 1000000 + (timeout_ns % 1000000 != 0), G_MAXINT);
    }
    return epoll_wait(ctx->epoll_fd, e->events, MAX_EVENTS, ms);
}

static void epoll_wait_events(AioContext *ctx, int64_t timeout_ns)
{
    EpollEngine *e = ctx->engine;
    int n;

    for (GList *l = e->always.head; l; l = l->next) {
        AioFd *h = l->data;

        if (!h->running) {
            aio_fd_mark_ready(h, aio_fd_events(h));
            timeout_ns = 0;
        }
    }
    n = epoll_sleep(ctx, timeout_ns);
    if (n < 0 && errno != EINTR) {
        g_error("epoll_wait: %s", g_strerror(errno));
    }
    for (int i = 0; i < n; i++) {
        if (e->events[i].data.ptr) {
            epoll_event(ctx, e->events[i].data.ptr, e->events[i].events);
        }
    }
}

static int epoll_wait_fds(AioContext *ctx, struct pollfd *fds, int max)
{
    EpollEngine *e = ctx->engine;

    if (e->always.length > 0) {
        return -1;
    }
    fds[0] = (struct pollfd){.fd = ctx->epoll_fd, .events = POLLIN};
    return 1;
}

static bool epoll_collect(AioContext *ctx)
{
    return false; /* readiness has been taken in by wait, and there are no completions */
}

static void epoll_flush(AioContext *ctx)
{
}

static bool epoll_peek(AioContext *ctx)
{
    EpollEngine *e = ctx->engine;

    if (++e->peeks % PEEK_INTERVAL != 0) {
        return false;
    }
    epoll_wait_events(ctx, 0);
    return ctx->ready.length > 0;
}

static unsigned epoll_inflight(AioContext *ctx)
{
    return 0;
}

const AioEngineOps aio_engine_epoll = {
    .name = "epoll",
    .create = epoll_create_engine,
    .destroy = epoll_destroy,
    .fd_update = epoll_fd_update,
    .fd_del = epoll_unregister,
    .wait = epoll_wait_events,
    .wait_fds = epoll_wait_fds,
    .collect = epoll_collect,
    .flush = epoll_flush,
    .peek = epoll_peek,
    .inflight = epoll_inflight,
};
