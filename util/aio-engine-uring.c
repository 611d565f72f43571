/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop's engine on io_uring: readiness, wake-ups, timeouts and disk I/O end in one
 * completion queue, and one system call per turn submits, waits and collects.
 */
#include <errno.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "aio-internal.h"

#define SQ_ENTRIES 256
/* Far more than fit the submission queue: requests of many queues are in flight at once. */
#define CQ_ENTRIES 4096

/* Since Linux 6.15, and not in the headers of the library. */
#ifndef IORING_FEAT_NO_IOWAIT
#define IORING_FEAT_NO_IOWAIT  (1U << 17)
#define IORING_ENTER_NO_IOWAIT (1U << 7)
#endif

/* The low bits of user data tell what a completion belongs to; pointers leave them free. */
#define TAG_MASK       3
#define TAG_COMPLETION 0
#define TAG_ARM        1
#define TAG_WAKE       2
#define TAG_IGNORE     3

/*
 * One poll request in the kernel. It outlives its handler, or its handler's interest, until the
 * kernel has posted its last completion.
 */
typedef struct UringArm {
    AioFd *h; /* NULL: cancelled */
    unsigned events;
    bool multishot;
    GList link;
} UringArm;

typedef struct Cqe {
    uint64_t user_data;
    int res;
    unsigned flags;
} Cqe;

typedef struct UringEngine {
    struct io_uring ring;
    bool no_multishot; /* the kernel has no multishot poll */
    unsigned inflight; /* requests of aio_sqe() */
    GQueue arms;
    GArray *stash; /* completions taken out to make room, oldest first */
    guint stash_head;
} UringEngine;

static void arm_wake(AioContext *ctx);

static int init_ring(struct io_uring *ring)
{
    static const unsigned flags[] = {
        /* Completion work is done by this thread, when it asks, and not by interrupting it. The
         * flag in the ring tells the busy-wait that there is such work. */
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN |
            IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
        0,
    };
    int ret = -EINVAL;

    for (unsigned i = 0; i < G_N_ELEMENTS(flags) && ret == -EINVAL; i++) {
        struct io_uring_params p = {
            .flags = flags[i] | IORING_SETUP_CQSIZE,
            .cq_entries = CQ_ENTRIES,
        };

        ret = io_uring_queue_init_params(SQ_ENTRIES, ring, &p);
        if (ret == 0 && !(p.features & IORING_FEAT_NODROP)) {
            /* Such an old kernel may lose completions. */
            io_uring_queue_exit(ring);
            return -ENOSYS;
        }
    }
    return ret;
}

static bool uring_create(AioContext *ctx)
{
    UringEngine *e = g_new0(UringEngine, 1);
    int ret = init_ring(&e->ring);

    if (ret < 0) {
        g_free(e);
        errno = -ret;
        return false;
    }
    /* Saves the look-up of the descriptor in each call; older kernels do without. */
    io_uring_register_ring_fd(&e->ring);
    g_queue_init(&e->arms);
    e->stash = g_array_new(FALSE, FALSE, sizeof(Cqe));
    ctx->engine = e;
    arm_wake(ctx);
    return true;
}

static void uring_destroy(AioContext *ctx)
{
    UringEngine *e = ctx->engine;
    GList *link;

    io_uring_queue_exit(&e->ring);
    while ((link = g_queue_pop_head_link(&e->arms))) {
        UringArm *arm = link->data;

        if (arm->h) {
            arm->h->arm = NULL;
        }
        g_free(arm);
    }
    g_array_free(e->stash, TRUE);
    ctx->engine = NULL;
    g_free(e);
}

/* ---- submission ---- */

/* Moves completions out of the ring without running them: a callback may be on the stack. */
static void stash_completions(UringEngine *e)
{
    struct io_uring_cqe *cqe;

    io_uring_get_events(&e->ring);
    while (io_uring_peek_cqe(&e->ring, &cqe) == 0) {
        Cqe c = {cqe->user_data, cqe->res, cqe->flags};

        io_uring_cqe_seen(&e->ring, cqe);
        g_array_append_val(e->stash, c);
    }
}

static bool stash_empty(UringEngine *e)
{
    return e->stash_head == e->stash->len;
}

static void check_submit(int ret)
{
    /* EBUSY: completions have to be taken first. EAGAIN: no memory for now. Both are tried again
     * in the next turn. */
    if (ret < 0 && ret != -EBUSY && ret != -EAGAIN && ret != -EINTR && ret != -ETIME) {
        g_error("io_uring_enter: %s", g_strerror(-ret));
    }
}

static struct io_uring_sqe *get_sqe(UringEngine *e)
{
    struct io_uring_sqe *sqe;

    while (!(sqe = io_uring_get_sqe(&e->ring))) {
        int ret = io_uring_submit(&e->ring);

        check_submit(ret);
        if (ret == -EBUSY) {
            stash_completions(e);
        } else if (ret == -EAGAIN) {
            stash_completions(e);
            g_usleep(100);
        }
    }
    return sqe;
}

static struct io_uring_sqe *uring_sqe(AioContext *ctx, AioCompletion *c)
{
    UringEngine *e = ctx->engine;
    int64_t max_batch = aio_max_batch(ctx);
    struct io_uring_sqe *sqe;

    if (max_batch > 0 && io_uring_sq_ready(&e->ring) >= max_batch) {
        check_submit(io_uring_submit(&e->ring));
    }
    sqe = get_sqe(e);
    g_assert(((uintptr_t)c & TAG_MASK) == 0);
    io_uring_sqe_set_data64(sqe, (uintptr_t)c | TAG_COMPLETION);
    e->inflight++;
    return sqe;
}

static void uring_flush(AioContext *ctx)
{
    UringEngine *e = ctx->engine;

    if (io_uring_sq_ready(&e->ring) > 0) {
        check_submit(io_uring_submit_and_get_events(&e->ring));
    }
}

/* ---- readiness ---- */

static void poll_add(UringEngine *e, int fd, unsigned events, bool multishot, uint64_t user_data)
{
    struct io_uring_sqe *sqe = get_sqe(e);

    if (multishot) {
        io_uring_prep_poll_multishot(sqe, fd, events);
    } else {
        io_uring_prep_poll_add(sqe, fd, events);
    }
    io_uring_sqe_set_data64(sqe, user_data);
}

/*
 * Multishot: the eventfd is not read. Each write to it is an event of its own, whatever its count
 * is. Without multishot, it has to be emptied before it is watched again.
 */
static void arm_wake(AioContext *ctx)
{
    UringEngine *e = ctx->engine;

    poll_add(e, ctx->wake_fd, POLLIN, !e->no_multishot, TAG_WAKE);
}

static uint64_t arm_user_data(UringArm *arm)
{
    return (uintptr_t)arm | TAG_ARM;
}

static void arm_free(UringEngine *e, UringArm *arm)
{
    g_queue_unlink(&e->arms, &arm->link);
    g_free(arm);
}

static void fd_arm(UringEngine *e, AioFd *h, unsigned events)
{
    UringArm *arm = g_new0(UringArm, 1);

    arm->h = h;
    arm->events = events;
    /*
     * A multishot poll reports that something was added, not that something is there. That is
     * enough for an eventfd that its handler empties. All others get one report per request, and
     * the next request looks at the descriptor anew: level-triggered, as handlers expect.
     */
    arm->multishot = h->edge && events == POLLIN && !e->no_multishot;
    arm->link.data = arm;
    g_queue_push_tail_link(&e->arms, &arm->link);
    h->arm = arm;
    poll_add(e, h->fd, events, arm->multishot, arm_user_data(arm));
}

static void fd_disarm(UringEngine *e, AioFd *h)
{
    struct io_uring_sqe *sqe = get_sqe(e);

    io_uring_prep_poll_remove(sqe, arm_user_data(h->arm));
    io_uring_sqe_set_data64(sqe, TAG_IGNORE);
    h->arm->h = NULL;
    h->arm = NULL;
}

static void uring_fd_update(AioContext *ctx, AioFd *h)
{
    UringEngine *e = ctx->engine;
    unsigned events = aio_fd_events(h);

    if (h->running || h->queued || h->missed) {
        return;
    }
    if (h->arm && (h->arm->events != events || (h->arm->multishot && !h->edge))) {
        fd_disarm(e, h);
    }
    if (!h->arm && events) {
        fd_arm(e, h, events);
    }
}

static void uring_fd_del(AioContext *ctx, AioFd *h)
{
    UringEngine *e = ctx->engine;

    if (h->arm) {
        fd_disarm(e, h);
        /* At once: the request holds a reference to the file, and the owner may be about to close
         * its descriptor and to rely on the peer noticing. */
        check_submit(io_uring_submit_and_get_events(&e->ring));
    }
}

static void arm_event(AioContext *ctx, UringArm *arm, int res, bool more)
{
    UringEngine *e = ctx->engine;
    AioFd *h = arm->h;
    bool multishot = arm->multishot;

    if (!more) {
        if (h) {
            h->arm = NULL;
        }
        arm_free(e, arm);
    }
    if (!h) {
        return;
    }
    if (res == -EINVAL && multishot) {
        e->no_multishot = true;
        uring_fd_update(ctx, h);
    } else if (res == -EBADF) {
        g_error("watching descriptor %d, which is not open", h->fd);
    } else if (res < 0) {
        /* No memory, or cancelled for a reason of the kernel's: watch it again. */
        uring_fd_update(ctx, h);
    } else {
        aio_fd_mark_ready(h, res);
    }
}

static void wake_event(AioContext *ctx, int res, bool more)
{
    UringEngine *e = ctx->engine;
    eventfd_t value;

    if (more) {
        return;
    }
    if (res == -EINVAL) {
        e->no_multishot = true;
    }
    while (eventfd_read(ctx->wake_fd, &value) < 0 && errno == EINTR) {
        continue;
    }
    arm_wake(ctx);
}

/* ---- completion ---- */

static bool handle_cqe(AioContext *ctx, const Cqe *c)
{
    UringEngine *e = ctx->engine;
    void *p = (void *)(uintptr_t)(c->user_data & ~(uint64_t)TAG_MASK);
    bool more = c->flags & IORING_CQE_F_MORE;

    if (c->user_data == LIBURING_UDATA_TIMEOUT) {
        return false;
    }
    switch (c->user_data & TAG_MASK) {
    case TAG_ARM:
        arm_event(ctx, p, c->res, more);
        return false;
    case TAG_WAKE:
        wake_event(ctx, c->res, more);
        return false;
    case TAG_COMPLETION: {
        AioCompletion *completion = p;

        if (!more) {
            e->inflight--;
        }
        counter_add(&ctx->counters.completions, 1);
        completion->done(completion, c->res);
        return true;
    }
    default:
        return false;
    }
}

static bool next_cqe(UringEngine *e, Cqe *c)
{
    struct io_uring_cqe *cqe;

    if (!stash_empty(e)) {
        *c = g_array_index(e->stash, Cqe, e->stash_head++);
        if (stash_empty(e)) {
            g_array_set_size(e->stash, 0);
            e->stash_head = 0;
        }
        return true;
    }
    if (io_uring_peek_cqe(&e->ring, &cqe) != 0) {
        return false;
    }
    /* Out of the ring before its callback runs, which may call aio_poll() itself. */
    *c = (Cqe){cqe->user_data, cqe->res, cqe->flags};
    io_uring_cqe_seen(&e->ring, cqe);
    return true;
}

static bool uring_collect(AioContext *ctx)
{
    UringEngine *e = ctx->engine;
    bool progress = false;
    Cqe c;

    /* Bounded: a disk that completes as fast as it is asked must not starve the rest. */
    for (unsigned n = 0; n < CQ_ENTRIES && next_cqe(e, &c); n++) {
        progress |= handle_cqe(ctx, &c);
    }
    return progress;
}

/*
 * Waiting for events only, with no request of a disk in flight. To the kernel an armed poll is a
 * request like any other, and whoever waits for one waits for I/O: an idle process would show as
 * pressure on the disks (/proc/pressure/io) and as time in iowait. So it is told better, or, where
 * it does not understand that, not waited for in the ring; see uring_wait_badly().
 */
static void wait_idle(UringEngine *e, const struct __kernel_timespec *ts)
{
    struct io_uring_getevents_arg arg = {.ts = (uintptr_t)ts};

    if (io_uring_sq_ready(&e->ring) > 0) {
        check_submit(io_uring_submit(&e->ring));
    }
    check_submit(io_uring_enter2((unsigned)e->ring.ring_fd, 0, 1,
                                 IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG |
                                     IORING_ENTER_NO_IOWAIT,
                                 (sigset_t *)&arg, sizeof(arg)));
}

static bool uring_wait_badly(AioContext *ctx)
{
    UringEngine *e = ctx->engine;

    return e->inflight == 0 && !(e->ring.features & IORING_FEAT_NO_IOWAIT);
}

static void uring_wait(AioContext *ctx, int64_t timeout_ns)
{
    UringEngine *e = ctx->engine;
    struct io_uring_cqe *cqe;

    if (timeout_ns == 0 || !stash_empty(e)) {
        /* What has become ready without a submission is announced in memory, and collect looks. */
        uring_flush(ctx);
    } else {
        struct __kernel_timespec ts = {timeout_ns / 1000000000, timeout_ns % 1000000000};
        struct __kernel_timespec *limit = timeout_ns < 0 ? NULL : &ts;

        if (e->inflight == 0 && (e->ring.features & IORING_FEAT_NO_IOWAIT)) {
            wait_idle(e, limit);
        } else {
            check_submit(io_uring_submit_and_wait_timeout(&e->ring, &cqe, 1, limit, NULL));
        }
    }
}

static bool uring_peek(AioContext *ctx)
{
    UringEngine *e = ctx->engine;

    return !stash_empty(e) || io_uring_cq_ready(&e->ring) > 0 ||
           (IO_URING_READ_ONCE(*e->ring.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW));
}

/*
 * The descriptors themselves: poll(2) on a ring is not woken by completions that wait for the
 * ring's thread to run them (IORING_SETUP_DEFER_TASKRUN).
 */
static int uring_wait_fds(AioContext *ctx, struct pollfd *fds, int max)
{
    UringEngine *e = ctx->engine;
    int n = 0;

    if (e->inflight > 0) {
        return -1;
    }
    uring_flush(ctx);
    for (GList *l = e->arms.head; l; l = l->next) {
        UringArm *arm = l->data;

        /* What is polled is not waited for; its descriptor may say something that is known. */
        if (!arm->h || arm->h->polling) {
            continue;
        }
        if (n == max) {
            return -1;
        }
        fds[n++] = (struct pollfd){.fd = arm->h->fd, .events = (short)arm->events};
    }
    return uring_peek(ctx) ? -1 : n;
}

static unsigned uring_inflight(AioContext *ctx)
{
    return ((UringEngine *)ctx->engine)->inflight;
}

const AioEngineOps aio_engine_uring = {
    .name = "io_uring",
    .create = uring_create,
    .destroy = uring_destroy,
    .fd_update = uring_fd_update,
    .fd_del = uring_fd_del,
    .wait = uring_wait,
    .wait_fds = uring_wait_fds,
    .wait_badly = uring_wait_badly,
    .collect = uring_collect,
    .flush = uring_flush,
    .peek = uring_peek,
    .inflight = uring_inflight,
    .sqe = uring_sqe,
};
