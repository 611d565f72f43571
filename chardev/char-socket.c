/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets as character devices: listening for one peer at a time, or connecting to one. */
#include "char-socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/report.h"
#include "util/stop-request.h"

#define ACCEPT_RETRY_NS (200 * 1000 * 1000)

/* One attempt to connect, made in a worker, as names are resolved and peers may be slow. */
typedef struct ConnectWork {
    AioWork work; /* first, so that the one is the other */
    Chardev *c; /* a reference */
    int fd;
    Error *err;
} ConnectWork;

typedef struct SocketState {
    SockAddress addr;
    bool server, nodelay, keep_alive;
    uint64_t reconnect_ms; /* 0: never */
    int listen_fd;
    char *unlink_path; /* absolute, as a daemon changes its directory */
    bool stop; /* atomic: makes a connecting worker give up */

    /* The chardev's context. */
    AioFd *listener;
    AioTimer *timer;
    bool connecting;
    bool failure_told;
} SocketState;

static void set_peer(Chardev *c, int fd)
{
    SocketState *s = c->state;
    int on = 1;

    if (s->nodelay) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* fails on Unix sockets */
    }
    if (s->keep_alive) {
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    }
    chardev_set_filename(c, sock_name_connected(fd, s->server));
    chardev_stream_open(c, fd, fd, STREAM_SOCKET);
}

/* ---- listening ---- */

static void on_connection(void *opaque)
{
    Chardev *c = opaque;
    SocketState *s = c->state;
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            /* Out of descriptors, say. The peer stays in the backlog, to be asked for in a while.
             */
            aio_fd_want_read(s->listener, false);
            aio_timer_set(s->timer, aio_clock_ns(AIO_CLOCK_REALTIME) + ACCEPT_RETRY_NS);
        }
        return;
    }
    /* The next one waits in the backlog until this one has gone. */
    aio_fd_want_read(s->listener, false);
    set_peer(c, fd);
}

static const AioFdOps listener_ops = { .read = on_connection };

static bool wait_for_peer(Chardev *c, Error **errp)
{
    SocketState *s = c->state;
    g_autofree char *name = chardev_filename(c);

    report_info("QEMU waiting for connection on: %s", name);
    for (;;) {
        struct pollfd p[2] = {
            { .fd = s->listen_fd, .events = POLLIN },
            { .fd = stop_request_fd(), .events = POLLIN }, /* -1 is skipped */
        };
        int fd;

        if (poll(p, 2, -1) < 0 && errno != EINTR) {
            error_set_errno(errp, errno, "Failed to wait for a connection");
            return false;
        }
        if (p[1].revents) {
            error_set(errp, "Interrupted while waiting for a connection");
            return false;
        }
        fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            set_peer(c, fd);
            return true;
        }
    }
}

/* ---- connecting ---- */

static void retry_later(Chardev *c)
{
    SocketState *s = c->state;

    if (s->timer && s->reconnect_ms) {
        aio_timer_set(s->timer,
                      aio_clock_ns(AIO_CLOCK_REALTIME) + (int64_t)s->reconnect_ms * 1000000);
    }
}

static int connect_run(AioWork *w)
{
    ConnectWork *cw = (ConnectWork *)w;
    SocketState *s = cw->c->state;

    cw->fd = sock_connect(&s->addr, &s->stop, &cw->err);
    return 0;
}

static void connect_finish(void *opaque)
{
    ConnectWork *cw = opaque;
    Chardev *c = cw->c;
    SocketState *s = c->state;
    AioContext *ctx = chardev_context(c);

    if (!aio_in_context(ctx)) {
        /* It moved to another context meanwhile, and so does the result. */
        aio_call(ctx, connect_finish, cw);
        return;
    }
    s->connecting = false;
    if (c->removed) {
        if (cw->fd >= 0) {
            close(cw->fd);
        }
        error_free(cw->err);
    } else if (cw->fd >= 0) {
        s->failure_told = false;
        set_peer(c, cw->fd);
    } else {
        if (!s->failure_told) {
            s->failure_told = true;
            error_prepend(&cw->err, "Unable to connect character device %s: ", c->id);
            report_error_free(cw->err);
        } else {
            error_free(cw->err);
        }
        retry_later(c);
    }
    g_free(cw);
    chardev_unref(c);
}

static void connect_done(AioWork *w, int ret)
{
    connect_finish(w);
}

static void start_connecting(Chardev *c)
{
    SocketState *s = c->state;
    ConnectWork *cw;

    if (c->open || s->connecting) {
        return;
    }
    s->connecting = true;
    cw = g_new0(ConnectWork, 1);
    cw->work.run = connect_run;
    cw->work.done = connect_done;
    cw->c = chardev_ref(c);
    aio_work_submit(c->ctx, &cw->work);
}

static void on_timer(void *opaque)
{
    Chardev *c = opaque;
    SocketState *s = c->state;

    if (!s->listener) {
        start_connecting(c);
    } else if (!c->open) {
        aio_fd_want_read(s->listener, true);
    }
}

/* ---- the driver ---- */

static bool take_reconnect(SocketState *s, Opts *opts, Error **errp)
{
    g_autofree char *sec = opts_take(opts, "reconnect");
    g_autofree char *ms = opts_take(opts, "reconnect-ms");
    const char *key = sec ? "reconnect" : "reconnect-ms";
    const char *text = sec ?: ms;

    if (sec && ms) {
        error_set(errp, "'reconnect' and 'reconnect-ms' are mutually exclusive");
        return false;
    }
    if (!text) {
        return true;
    }
    if (!parse_uint64(text, &s->reconnect_ms)) {
        error_set(errp, "Parameter '%s' expects a number", key);
        return false;
    }
    if (s->reconnect_ms > INT32_MAX) {
        error_set(errp, "Parameter '%s' is out of range", key);
        return false;
    }
    if (sec) {
        s->reconnect_ms *= 1000;
    }
    if (s->server) {
        error_set(errp, "'%s' option is incompatible with socket in server listen mode", key);
        return false;
    }
    return true;
}

/* What clients may ask for and this build has not. */
static bool refuse_protocols(Opts *opts, Error **errp)
{
    static const char *const protocols[] = { "telnet", "tn3270", "websocket" };
    g_autofree char *tls = opts_take(opts, "tls-creds");
    g_autofree char *authz = opts_take(opts, "tls-authz");

    for (guint i = 0; i < G_N_ELEMENTS(protocols); i++) {
        bool on;

        if (!opts_take_bool(opts, protocols[i], false, &on, errp)) {
            return false;
        }
        if (on) {
            error_set(errp, "chardev: socket: '%s' is not supported", protocols[i]);
            return false;
        }
    }
    if (tls || authz) {
        error_set(errp, "chardev: socket: TLS ('%s') is not supported",
                  tls ? "tls-creds" : "tls-authz");
        return false;
    }
    return true;
}

static bool take_nodelay(SocketState *s, Opts *opts, Error **errp)
{
    bool delay = true;

    if (opts_get(opts, "delay")) {
        if (!opts_take_bool(opts, "delay", true, &delay, errp)) {
            return false;
        }
    }
    return opts_take_bool(opts, "nodelay", !delay, &s->nodelay, errp) &&
           opts_take_bool(opts, "keep-alive", false, &s->keep_alive, errp);
}

static bool socket_open_server(Chardev *c, bool wait, Error **errp)
{
    SocketState *s = c->state;

    s->listen_fd = sock_listen(&s->addr, errp);
    if (s->listen_fd < 0) {
        return false;
    }
    if (s->addr.kind == SOCK_ADDR_UNIX && !s->addr.abstract) {
        s->unlink_path = g_canonicalize_filename(s->addr.path, NULL);
    }
    chardev_set_filename(c, sock_name_disconnected(&s->addr, s->listen_fd, true));
    return !wait || wait_for_peer(c, errp);
}

static bool socket_open(Chardev *c, Opts *opts, Error **errp)
{
    SocketState *s = c->state;
    bool has_wait = opts_get(opts, "wait") != NULL;
    bool wait;
    int fd;

    s->listen_fd = -1;
    if (!opts_take_bool(opts, "server", false, &s->server, errp) ||
        !opts_take_bool(opts, "wait", true, &wait, errp) || !take_nodelay(s, opts, errp) ||
        !refuse_protocols(opts, errp) || !sock_address_take(&s->addr, opts, s->server, errp) ||
        !take_reconnect(s, opts, errp)) {
        return false;
    }
    if (has_wait && !s->server) {
        error_set(errp, "'wait' option is incompatible with socket in client connect mode");
        return false;
    }
    /* Before it blocks or binds anything. */
    if (!opts_all_taken(opts, errp)) {
        return false;
    }
    if (s->server) {
        return socket_open_server(c, wait, errp);
    }
    chardev_set_filename(c, sock_name_disconnected(&s->addr, -1, false));
    if (s->reconnect_ms) {
        return true; /* attach starts it */
    }
    fd = sock_connect(&s->addr, NULL, errp);
    if (fd < 0) {
        return false;
    }
    set_peer(c, fd);
    return true;
}

static void socket_attach(Chardev *c)
{
    SocketState *s = c->state;

    if (s->listen_fd >= 0) {
        s->listener = aio_fd_add(c->ctx, s->listen_fd, &listener_ops, c);
        aio_fd_want_read(s->listener, !c->open);
    }
    s->timer = aio_timer_new(c->ctx, AIO_CLOCK_REALTIME, on_timer, c);
    if (s->reconnect_ms && !c->open) {
        aio_timer_set(s->timer, aio_clock_ns(AIO_CLOCK_REALTIME));
    }
}

static void socket_detach(Chardev *c)
{
    SocketState *s = c->state;

    g_clear_pointer(&s->listener, aio_fd_remove);
    g_clear_pointer(&s->timer, aio_timer_free);
}

static void socket_disconnected(Chardev *c)
{
    SocketState *s = c->state;

    chardev_set_filename(c, sock_name_disconnected(&s->addr, s->listen_fd, s->server));
    if (s->listener) {
        aio_fd_want_read(s->listener, true);
    }
    retry_later(c);
}

static void socket_close(Chardev *c)
{
    SocketState *s = c->state;

    __atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
    if (s->listen_fd >= 0) {
        close(s->listen_fd);
        s->listen_fd = -1;
        if (s->unlink_path) {
            unlink(s->unlink_path);
        }
    }
}

static void socket_free(Chardev *c)
{
    SocketState *s = c->state;

    sock_address_clear(&s->addr);
    g_clear_pointer(&s->unlink_path, g_free);
}

/* Makes whoever waits for the peer see the end of the stream. The descriptor stays open, as its
 * owner may be using it right now. */
static void socket_yank(Chardev *c)
{
    pthread_mutex_lock(&c->lock);
    if (c->open) {
        shutdown(c->in_fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&c->lock);
}

static const ChardevDriver socket_driver = {
    .name = "socket",
    .state_size = sizeof(SocketState),
    .open = socket_open,
    .attach = socket_attach,
    .detach = socket_detach,
    .disconnected = socket_disconnected,
    .close = socket_close,
    .free = socket_free,
    .yank = socket_yank,
};
CHARDEV_REGISTER(socket_driver)
