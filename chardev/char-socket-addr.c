/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of socket chardevs: reading, listening, connecting, printing. */
#include "char-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 30000
#define LISTEN_BACKLOG     1

static bool take_family(SockAddress *a, Opts *opts, Error **errp)
{
    bool has4 = opts_get(opts, "ipv4") != NULL, has6 = opts_get(opts, "ipv6") != NULL;
    bool v4, v6;

    if (!opts_take_bool(opts, "ipv4", false, &v4, errp) ||
        !opts_take_bool(opts, "ipv6", false, &v6, errp)) {
        return false;
    }
    if (has4 && has6 && !v4 && !v6) {
        error_set(errp, "Cannot disable IPv4 and IPv6 at same time");
        return false;
    }
    /* One that is asked for excludes the other, unless that was asked for, too. */
    a->ipv4 = has4 ? v4 : !(has6 && v6);
    a->ipv6 = has6 ? v6 : !(has4 && v4);
    return true;
}

bool (*chardev_named_fd_hook)(const char *name, int *fd, Error **errp);

bool sock_address_take(SockAddress *a, Opts *opts, bool server, Error **errp)
{
    g_autofree char *path = opts_take(opts, "path");
    g_autofree char *fd = opts_take(opts, "fd");
    g_autofree char *host = opts_take(opts, "host");

    a->fd = -1;
    if (!!path + !!fd + !!host > 1) {
        error_set(errp, "None or one of 'path', 'fd' or 'host' option required.");
        return false;
    }
    if (path) {
        a->kind = SOCK_ADDR_UNIX;
        a->path = g_steal_pointer(&path);
        if (!opts_take_bool(opts, "abstract", false, &a->abstract, errp) ||
            !opts_take_bool(opts, "tight", true, &a->tight, errp)) {
            return false;
        }
        return true;
    }
    if (host) {
        a->kind = SOCK_ADDR_INET;
        a->host = g_steal_pointer(&host);
        a->port = opts_take(opts, "port");
        if (!a->port) {
            error_set(errp, "chardev: socket: no port given");
            return false;
        }
        if (!opts_take_uint(opts, "to", 0, &a->to, errp) || !take_family(a, opts, errp)) {
            return false;
        }
        if (a->to > 65535) {
            error_set(errp, "Parameter 'to' expects a port number");
            return false;
        }
        return true;
    }
    a->kind = SOCK_ADDR_FD;
    {
        int64_t n;
        int type;
        socklen_t len = sizeof(type);

        if (fd && chardev_named_fd_hook && chardev_named_fd_hook(fd, &a->fd, errp)) {
            if (a->fd < 0) {
                return false;
            }
            n = a->fd;
        } else if (!fd || !parse_int64(fd, &n) || n < 0 || n > G_MAXINT) {
            error_set(errp, "Unable to parse FD number %s", fd ?: "");
            return false;
        }
        if (getsockopt(n, SOL_SOCKET, SO_TYPE, &type, &len) < 0) {
            error_set(errp, "File descriptor '%s' is not a socket", fd);
            if (a->fd >= 0) {
                close(a->fd);
                a->fd = -1;
            }
            return false;
        }
        a->fd = n;
    }
    return true;
}

void sock_address_clear(SockAddress *a)
{
    g_clear_pointer(&a->path, g_free);
    g_clear_pointer(&a->host, g_free);
    g_clear_pointer(&a->port, g_free);
}

static bool unix_address(const SockAddress *a, struct sockaddr_un *un, socklen_t *len,
                         Error **errp)
{
    size_t n = strlen(a->path);
    size_t max = sizeof(un->sun_path) - (a->abstract ? 1 : 0);

    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    if (n > max || (n == max && !a->abstract)) {
        error_set(errp, "UNIX socket path '%s' is too long", a->path);
        error_append_hint(errp, "Path must be less than %zu bytes", sizeof(un->sun_path));
        return false;
    }
    memcpy(un->sun_path + (a->abstract ? 1 : 0), a->path, n);
    *len = sizeof(*un);
    if (a->abstract && a->tight) {
        *len = offsetof(struct sockaddr_un, sun_path) + 1 + n;
    }
    return true;
}

static int unix_listen(SockAddress *a, Error **errp)
{
    struct sockaddr_un un;
    socklen_t len;
    int fd;

    if (!unix_address(a, &un, &len, errp)) {
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        error_set_errno(errp, errno, "Failed to create Unix socket");
        return -1;
    }
    if (!a->abstract) {
        struct stat st;

        /* Only the leftover of an earlier run is in the way, never somebody's file. */
        if (lstat(a->path, &st) == 0 && S_ISSOCK(st.st_mode) && unlink(a->path) < 0) {
            error_set_errno(errp, errno, "Failed to unlink socket %s", a->path);
            close(fd);
            return -1;
        }
    }
    if (bind(fd, (struct sockaddr *)&un, len) < 0) {
        error_set_errno(errp, errno, "Failed to bind socket to %s", a->path);
        close(fd);
        return -1;
    }
    if (listen(fd, LISTEN_BACKLOG) < 0) {
        error_set_errno(errp, errno, "Failed to listen on socket");
        unlink(a->path);
        close(fd);
        return -1;
    }
    return fd;
}

static struct addrinfo *resolve(const SockAddress *a, const char *port, bool passive, Error **errp)
{
    struct addrinfo hints = {
        .ai_family = a->ipv4 && a->ipv6 ? AF_UNSPEC : a->ipv4 ? AF_INET : AF_INET6,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = passive ? AI_PASSIVE : AI_ADDRCONFIG,
    };
    struct addrinfo *res = NULL;
    uint64_t number;
    int rc = EAI_SERVICE;

    /* The library takes larger ones modulo 2^16. */
    if (!parse_uint64(port, &number) || number <= 65535) {
        rc = getaddrinfo(passive && *a->host == '\0' ? NULL : a->host, port, &hints, &res);
    }
    if (rc != 0) {
        error_set(errp, "address resolution failed for %s:%s: %s", a->host, port,
                  gai_strerror(rc));
        return NULL;
    }
    return res;
}

static int inet_listen_one(const struct addrinfo *ai)
{
    int on = 1;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        int err = errno;

        close(fd);
        errno = err;
        return -1;
    }
    return fd;
}

static int inet_listen(SockAddress *a, Error **errp)
{
    uint64_t port = 0, last = 0;
    int err = 0;

    if (a->to && parse_uint64(a->port, &port)) {
        last = a->to;
    }
    for (;;) {
        g_autofree char *text = a->to ? g_strdup_printf("%" PRIu64, port) : g_strdup(a->port);
        struct addrinfo *list = resolve(a, text, true, errp);

        if (!list) {
            return -1;
        }
        for (struct addrinfo *ai = list; ai; ai = ai->ai_next) {
            int fd = inet_listen_one(ai);

            if (fd >= 0) {
                freeaddrinfo(list);
                return fd;
            }
            err = errno;
        }
        freeaddrinfo(list);
        if (err != EADDRINUSE || port >= last) {
            break;
        }
        port++;
    }
    error_set_errno(errp, err, "Failed to find an available port");
    return -1;
}

int sock_listen(SockAddress *a, Error **errp)
{
    switch (a->kind) {
    case SOCK_ADDR_UNIX:
        return unix_listen(a, errp);
    case SOCK_ADDR_INET:
        return inet_listen(a, errp);
    default: {
        int listening = 0;
        socklen_t len = sizeof(listening);

        if (getsockopt(a->fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening) {
            error_set(errp, "File descriptor '%d' is not a listening socket", a->fd);
            return -1;
        }
        fcntl(a->fd, F_SETFD, FD_CLOEXEC);
        fcntl(a->fd, F_SETFL, fcntl(a->fd, F_GETFL) | O_NONBLOCK);
        return a->fd;
    }
    }
}

/* Connects without blocking for good. Returns 0 or an errno. */
static int connect_within(int fd, const struct sockaddr *sa, socklen_t len, const bool *stop)
{
    int err = 0;
    socklen_t err_len = sizeof(err);

    if (connect(fd, sa, len) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS && errno != EINTR) {
        return errno;
    }
    for (int ms = 0; ms < CONNECT_TIMEOUT_MS; ms += 100) {
        struct pollfd p = { .fd = fd, .events = POLLOUT };

        if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED)) {
            return ECANCELED;
        }
        if (poll(&p, 1, 100) > 0) {
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &err_len);
            return err;
        }
    }
    return ETIMEDOUT;
}

static int unix_connect(const SockAddress *a, const bool *stop, Error **errp)
{
    struct sockaddr_un un;
    socklen_t len;
    int fd, err;

    if (!unix_address(a, &un, &len, errp)) {
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        error_set_errno(errp, errno, "Failed to create socket");
        return -1;
    }
    for (int ms = 0;; ms += 10) {
        struct timespec ts = { .tv_nsec = 10 * 1000 * 1000 };

        err = connect_within(fd, (struct sockaddr *)&un, len, stop);
        /* EAGAIN: the other side's backlog is full, and nothing tells when it is not. */
        if (err != EAGAIN || ms >= CONNECT_TIMEOUT_MS ||
            (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))) {
            break;
        }
        nanosleep(&ts, NULL);
    }
    if (err) {
        error_set_errno(errp, err, "Failed to connect to '%s'", a->path);
        close(fd);
        return -1;
    }
    return fd;
}

static int inet_connect(const SockAddress *a, const bool *stop, Error **errp)
{
    struct addrinfo *list = resolve(a, a->port, false, errp);
    int err = ENOENT;

    if (!list) {
        return -1;
    }
    for (struct addrinfo *ai = list; ai; ai = ai->ai_next) {
        int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0) {
            err = errno;
            continue;
        }
        err = connect_within(fd, ai->ai_addr, ai->ai_addrlen, stop);
        if (err == 0) {
            freeaddrinfo(list);
            return fd;
        }
        close(fd);
    }
    freeaddrinfo(list);
    error_set_errno(errp, err, "Failed to connect to '%s:%s'", a->host, a->port);
    return -1;
}

int sock_connect(const SockAddress *a, const bool *stop, Error **errp)
{
    switch (a->kind) {
    case SOCK_ADDR_UNIX:
        return unix_connect(a, stop, errp);
    case SOCK_ADDR_INET:
        return inet_connect(a, stop, errp);
    default:
        fcntl(a->fd, F_SETFD, FD_CLOEXEC);
        return a->fd;
    }
}

static char *inet_text(const struct sockaddr *sa, socklen_t len)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    bool v6 = sa->sa_family == AF_INET6;

    if (getnameinfo(sa, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return g_strdup("unknown");
    }
    return g_strdup_printf("%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

char *sock_name_connected(int fd, bool server)
{
    struct sockaddr_storage local = { 0 }, peer = { 0 };
    socklen_t local_len = sizeof(local), peer_len = sizeof(peer);
    const char *listening = server ? ",server=on" : "";

    getsockname(fd, (struct sockaddr *)&local, &local_len);
    getpeername(fd, (struct sockaddr *)&peer, &peer_len);
    switch (local.ss_family) {
    case AF_UNIX:
        return g_strdup_printf("unix:%s%s", ((struct sockaddr_un *)&local)->sun_path, listening);
    case AF_INET:
    case AF_INET6: {
        g_autofree char *l = inet_text((struct sockaddr *)&local, local_len);
        g_autofree char *p = inet_text((struct sockaddr *)&peer, peer_len);

        return g_strdup_printf("tcp:%s%s <-> %s", l, listening, p);
    }
    default:
        return g_strdup("unknown");
    }
}

char *sock_name_disconnected(const SockAddress *a, int listen_fd, bool server)
{
    const char *listening = server ? ",server=on" : "";

    if (a->kind == SOCK_ADDR_UNIX) {
        return g_strdup_printf("disconnected:unix:%s%s%s%s", a->path,
                               a->abstract ? ",abstract=on" : "",
                               a->abstract && a->tight ? ",tight=on" : "", listening);
    }
    if (listen_fd >= 0) {
        struct sockaddr_storage local = { 0 };
        socklen_t len = sizeof(local);

        getsockname(listen_fd, (struct sockaddr *)&local, &len);
        if (local.ss_family == AF_UNIX) {
            return g_strdup_printf("disconnected:unix:%s%s",
                                   ((struct sockaddr_un *)&local)->sun_path, listening);
        } else {
            g_autofree char *text = inet_text((struct sockaddr *)&local, len);

            return g_strdup_printf("disconnected:tcp:%s%s", text, listening);
        }
    }
    if (a->kind == SOCK_ADDR_INET) {
        return g_strdup_printf("disconnected:tcp:%s:%s%s", a->host, a->port, listening);
    }
    return g_strdup_printf("disconnected:fd:%d%s", a->fd, listening);
}
