/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Character devices: moving bytes between descriptors and a front end. */
#include "char-internal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "chardev/fdset.h"

#define READ_CHUNK   4096
#define MAX_RECV_FDS 16

/* A descriptor that is shared with others (stdout) keeps its blocking mode, so no more is written
 * at once than a pipe that reports room is sure to take. */
#define SHARED_WRITE_CHUNK PIPE_BUF

static void drop_received_fds(Chardev *c)
{
    for (unsigned i = 0; i < c->n_fds; i++) {
        if (c->fds[i] >= 0) {
            close(c->fds[i]);
        }
    }
    g_clear_pointer(&c->fds, g_free);
    c->n_fds = 0;
}

static void keep_received_fds(Chardev *c, struct msghdr *msg)
{
    for (struct cmsghdr *m = CMSG_FIRSTHDR(msg); m; m = CMSG_NXTHDR(msg, m)) {
        size_t bytes;

        if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        bytes = m->cmsg_len - CMSG_LEN(0);
        pthread_mutex_lock(&c->lock);
        /* Those of an earlier message that nobody wanted. */
        drop_received_fds(c);
        c->n_fds = bytes / sizeof(int);
        c->fds = g_memdup2(CMSG_DATA(m), c->n_fds * sizeof(int));
        pthread_mutex_unlock(&c->lock);
    }
}

static ssize_t stream_read(Chardev *c, uint8_t *buf, size_t len)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(MAX_RECV_FDS * sizeof(int))];
    } control;
    struct iovec iov = { buf, len };
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    ssize_t n;

    if (!c->is_socket) {
        return read(c->in_fd, buf, len);
    }
    n = recvmsg(c->in_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n >= 0) {
        keep_received_fds(c, &msg);
    }
    return n;
}

static void end_of_input(Chardev *c)
{
    pthread_mutex_lock(&c->lock);
    c->in_eof = true;
    pthread_mutex_unlock(&c->lock);
    if (c->in && c->in != c->out) {
        aio_fd_remove(c->in);
        c->in = NULL;
    }
    if (c->opened_told) {
        c->opened_told = false;
        c->handlers.event(c->opaque, CHARDEV_CLOSED);
    }
}

static void on_readable(void *opaque)
{
    Chardev *c = opaque;
    uint8_t buf[READ_CHUNK];
    size_t room;
    ssize_t n;

    if (!c->handlers.receive) {
        aio_fd_want_read(c->in, false);
        return;
    }
    room = c->handlers.can_receive(c->opaque);
    if (room == 0) {
        c->in_paused = true;
        aio_fd_want_read(c->in, false);
        return;
    }
    n = stream_read(c, buf, MIN(room, sizeof(buf)));
    if (n > 0) {
        chardev_ref(c);
        c->handlers.receive(c->opaque, buf, n);
        chardev_unref(c);
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    } else if (c->keep_fds) {
        end_of_input(c);
    } else {
        chardev_stream_close(c);
    }
}

/* Writes some. Returns bytes, 0 if it would block, -1 if the peer is gone. Caller holds the lock.
 */
static ssize_t stream_write_some(Chardev *c, const void *buf, size_t len)
{
    ssize_t n;

    do {
        if (c->is_socket) {
            n = send(c->out_fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        } else if (c->keep_fds) {
            struct pollfd p = { .fd = c->out_fd, .events = POLLOUT };

            if (poll(&p, 1, 0) == 0) {
                return 0;
            }
            n = write(c->out_fd, buf, MIN(len, SHARED_WRITE_CHUNK));
        } else {
            n = write(c->out_fd, buf, len);
        }
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    return n < 0 ? -1 : n;
}

static void clear_queue(Chardev *c)
{
    g_byte_array_set_size(c->queue, 0);
    c->queue_head = 0;
}

/* Writes what is queued, as far as it goes. Returns false if the peer is gone. Lock held. */
static bool drain_queue(Chardev *c)
{
    while (c->queue_head < c->queue->len) {
        ssize_t n = stream_write_some(c, c->queue->data + c->queue_head,
                                      c->queue->len - c->queue_head);

        if (n < 0) {
            clear_queue(c);
            return false;
        }
        if (n == 0) {
            return true;
        }
        c->queue_head += n;
    }
    clear_queue(c);
    return true;
}

static void on_writable(void *opaque)
{
    Chardev *c = opaque;
    bool done;

    pthread_mutex_lock(&c->lock);
    /* A failed write is noticed by the reader as a hang-up; a stream without a reader just loses
     * it. */
    drain_queue(c);
    done = c->queue->len == 0;
    if (done) {
        c->write_armed = false;
    }
    pthread_mutex_unlock(&c->lock);
    if (done) {
        aio_fd_want_write(c->out, false);
    }
}

static const AioFdOps in_ops = { .read = on_readable };
static const AioFdOps out_ops = { .write = on_writable };
static const AioFdOps both_ops = { .read = on_readable, .write = on_writable };

void chardev_stream_attach(Chardev *c)
{
    bool armed;

    if (!c->open) {
        return;
    }
    if (c->in_fd >= 0 && !c->in_eof) {
        bool both = c->in_fd == c->out_fd;

        c->in = aio_fd_add(c->ctx, c->in_fd, both ? &both_ops : &in_ops, c);
        c->out = both ? c->in : NULL;
        c->in_paused = false;
        aio_fd_want_read(c->in, c->handlers.receive != NULL);
    }
    pthread_mutex_lock(&c->lock);
    armed = c->queue->len > 0;
    c->write_armed = armed;
    pthread_mutex_unlock(&c->lock);
    if (armed) {
        if (!c->out) {
            c->out = aio_fd_add(c->ctx, c->out_fd, &out_ops, c);
        }
        aio_fd_want_write(c->out, true);
    }
}

void chardev_stream_detach(Chardev *c)
{
    if (c->out && c->out != c->in) {
        aio_fd_remove(c->out);
    }
    if (c->in) {
        aio_fd_remove(c->in);
    }
    c->in = c->out = NULL;
}

void chardev_stream_open(Chardev *c, int in_fd, int out_fd, unsigned flags)
{
    pthread_mutex_lock(&c->lock);
    g_assert(!c->open);
    c->in_fd = in_fd;
    c->out_fd = out_fd;
    c->is_socket = flags & STREAM_SOCKET;
    c->keep_fds = flags & STREAM_KEEP_FDS;
    c->in_eof = false;
    c->open = true;
    pthread_mutex_unlock(&c->lock);
    if (c->attached) {
        chardev_stream_attach(c);
    }
    if (c->handlers.event) {
        c->opened_told = true;
        c->handlers.event(c->opaque, CHARDEV_OPENED);
    }
}

void chardev_stream_drop(Chardev *c)
{
    chardev_stream_detach(c);
    pthread_mutex_lock(&c->lock);
    if (c->open && !c->keep_fds) {
        if (c->in_fd >= 0) {
            fdset_forget(c->in_fd);
            close(c->in_fd);
        }
        if (c->out_fd >= 0 && c->out_fd != c->in_fd) {
            fdset_forget(c->out_fd);
            close(c->out_fd);
        }
    }
    c->in_fd = c->out_fd = -1;
    c->open = false;
    c->write_armed = false;
    clear_queue(c);
    drop_received_fds(c);
    pthread_mutex_unlock(&c->lock);
}

void chardev_stream_close(Chardev *c)
{
    if (!c->open) {
        return;
    }
    chardev_ref(c);
    chardev_stream_drop(c);
    if (c->opened_told) {
        c->opened_told = false;
        c->handlers.event(c->opaque, CHARDEV_CLOSED);
    }
    if (c->drv->disconnected && !c->removed) {
        c->drv->disconnected(c);
    }
    chardev_unref(c);
}

/* ---- for other threads ---- */

/* Brings a call into the context that owns the chardev now; it may have moved since the call was
 * made. */
static bool forward(Chardev *c, AioCallback *fn)
{
    AioContext *ctx = chardev_context(c);

    if (aio_in_context(ctx)) {
        return false;
    }
    aio_call(ctx, fn, c); /* the reference goes with it */
    return true;
}

static void arm_write(void *opaque)
{
    Chardev *c = opaque;
    bool armed;

    if (forward(c, arm_write)) {
        return;
    }
    pthread_mutex_lock(&c->lock);
    armed = c->open && c->write_armed;
    pthread_mutex_unlock(&c->lock);
    if (armed && c->attached) {
        if (!c->out) {
            c->out = aio_fd_add(c->ctx, c->out_fd, &out_ops, c);
        }
        aio_fd_want_write(c->out, true);
    }
    chardev_unref(c);
}

static void close_in_context(void *opaque)
{
    Chardev *c = opaque;

    if (forward(c, close_in_context)) {
        return;
    }
    chardev_stream_close(c);
    chardev_unref(c);
}

void chardev_disconnect(Chardev *c)
{
    close_in_context(chardev_ref(c->lower ?: c));
}

static void accept_input(void *opaque)
{
    Chardev *c = opaque;

    if (forward(c, accept_input)) {
        return;
    }
    if (c->in_paused && c->in) {
        c->in_paused = false;
        aio_fd_want_read(c->in, true);
    }
    chardev_unref(c);
}

void chardev_accept_input(Chardev *c)
{
    if (c->lower) {
        chardev_mux_accept_input(chardev_ref(c));
    } else {
        accept_input(chardev_ref(c));
    }
}

static void write_log(Chardev *c, const uint8_t *buf, size_t len)
{
    while (c->log_fd >= 0 && len > 0) {
        ssize_t n = write(c->log_fd, buf, len);

        if (n < 0 && errno != EINTR) {
            break; /* the log is a convenience; the stream goes on without it */
        }
        if (n > 0) {
            buf += n;
            len -= n;
        }
    }
}

size_t chardev_queued(Chardev *c)
{
    size_t n;

    c = c->lower ?: c;
    pthread_mutex_lock(&c->lock);
    n = c->open ? c->queue->len - c->queue_head : 0;
    pthread_mutex_unlock(&c->lock);
    return n;
}

bool chardev_write(Chardev *c, const void *data, size_t len)
{
    const uint8_t *buf = data;
    bool open, arm = false, overflow = false;

    c = c->lower ?: c;
    pthread_mutex_lock(&c->lock);
    write_log(c, buf, len);
    open = c->open && c->out_fd >= 0;
    if (open) {
        while (len > 0 && c->queue->len == 0) {
            ssize_t n = stream_write_some(c, buf, len);

            if (n < 0) {
                len = 0; /* the reader will see the hang-up */
                open = false;
            } else if (n == 0) {
                break;
            } else {
                buf += n;
                len -= n;
            }
        }
        if (len > 0) {
            if (c->queue_head > c->queue->len / 2) {
                g_byte_array_remove_range(c->queue, 0, c->queue_head);
                c->queue_head = 0;
            }
            overflow = c->queue->len + len > CHARDEV_QUEUE_MAX;
            if (!overflow) {
                g_byte_array_append(c->queue, buf, len);
                arm = !c->write_armed;
                c->write_armed = true;
            }
        }
    }
    pthread_mutex_unlock(&c->lock);
    if (arm) {
        arm_write(chardev_ref(c));
    }
    if (overflow) {
        /* Later, even in its own context: the caller may hold a lock that its handlers take. */
        aio_call(chardev_context(c), close_in_context, chardev_ref(c));
    }
    return open && !overflow;
}

void chardev_flush(Chardev *c, int timeout_ms)
{
    gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;

    c = c->lower ?: c;
    for (;;) {
        struct pollfd p = { .events = POLLOUT };
        gint64 left = (deadline - g_get_monotonic_time()) / 1000;
        bool empty;

        pthread_mutex_lock(&c->lock);
        empty = !c->open || !drain_queue(c) || c->queue->len == 0;
        p.fd = c->out_fd;
        pthread_mutex_unlock(&c->lock);
        if (empty || left <= 0) {
            return;
        }
        poll(&p, 1, MIN(left, 100));
    }
}

int chardev_take_fd(Chardev *c)
{
    int fd = -1;

    c = c->lower ?: c;
    pthread_mutex_lock(&c->lock);
    if (c->n_fds > 0) {
        fd = c->fds[0];
        c->fds[0] = -1;
        drop_received_fds(c);
    }
    pthread_mutex_unlock(&c->lock);
    return fd;
}
