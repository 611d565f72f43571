/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pseudo terminal as a character device: open while somebody has its slave side open. */
#include "char-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

/* The kernel does not tell when the slave is opened, so it is looked at now and then. */
#define PTY_LOOK_NS (1000 * 1000 * 1000)

typedef struct PtyState {
    int master; /* kept over connections */
    char *link; /* path=, absolute */
    AioTimer *timer;
} PtyState;

static bool slave_is_open(PtyState *s)
{
    struct pollfd p = { .fd = s->master, .events = POLLOUT };

    return poll(&p, 1, 0) >= 0 && !(p.revents & POLLHUP);
}

static void pty_look(void *opaque)
{
    Chardev *c = opaque;
    PtyState *s = c->state;

    if (c->open) {
        return;
    }
    if (slave_is_open(s)) {
        int fd = fcntl(s->master, F_DUPFD_CLOEXEC, 0);

        if (fd >= 0) {
            chardev_stream_open(c, fd, fd, 0);
            return;
        }
    }
    aio_timer_set(s->timer, aio_clock_ns(AIO_CLOCK_REALTIME) + PTY_LOOK_NS);
}

static bool pty_open(Chardev *c, Opts *opts, Error **errp)
{
    PtyState *s = c->state;
    g_autofree char *link = opts_take(opts, "path");
    struct termios tty;
    char name[64];

    s->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (s->master < 0) {
        error_set_errno(errp, errno, "Failed to open PTY");
        return false;
    }
    if (grantpt(s->master) < 0 || unlockpt(s->master) < 0 ||
        ptsname_r(s->master, name, sizeof(name)) != 0) {
        error_set_errno(errp, errno, "Failed to open PTY");
        return false;
    }
    if (tcgetattr(s->master, &tty) == 0) {
        cfmakeraw(&tty);
        tcsetattr(s->master, TCSAFLUSH, &tty);
    }
    /* A terminal that was never opened looks open; opening it once makes hang-ups visible. */
    close(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (link) {
        if (symlink(name, link) < 0) {
            error_set_errno(errp, errno, "Failed to create PTY symlink");
            return false;
        }
        s->link = g_canonicalize_filename(link, NULL);
    }
    chardev_set_filename(c, g_strdup_printf("pty:%s", name));
    return true;
}

static void pty_attach(Chardev *c)
{
    PtyState *s = c->state;

    s->timer = aio_timer_new(c->ctx, AIO_CLOCK_REALTIME, pty_look, c);
    if (!c->open) {
        aio_timer_set(s->timer, aio_clock_ns(AIO_CLOCK_REALTIME));
    }
}

static void pty_detach(Chardev *c)
{
    PtyState *s = c->state;

    g_clear_pointer(&s->timer, aio_timer_free);
}

static void pty_disconnected(Chardev *c)
{
    PtyState *s = c->state;

    if (s->timer) {
        aio_timer_set(s->timer, aio_clock_ns(AIO_CLOCK_REALTIME) + PTY_LOOK_NS);
    }
}

static void pty_close(Chardev *c)
{
    PtyState *s = c->state;

    if (s->master >= 0) {
        close(s->master);
        s->master = -1;
    }
    if (s->link) {
        unlink(s->link);
        g_clear_pointer(&s->link, g_free);
    }
}

static const ChardevDriver pty_driver = {
    .name = "pty",
    .state_size = sizeof(PtyState),
    .open = pty_open,
    .attach = pty_attach,
    .detach = pty_detach,
    .disconnected = pty_disconnected,
    .close = pty_close,
};
CHARDEV_REGISTER(pty_driver)
