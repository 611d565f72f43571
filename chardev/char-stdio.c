/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Standard input and output as a character device. */
#include "char-internal.h"

#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static bool forbidden;
static bool in_use;

/* The terminal as it was, to be restored at exit. */
static struct termios saved_tty;
static bool tty_changed;

void chardev_forbid_stdio(void)
{
    forbidden = true;
}

static void restore_tty(void)
{
    if (tty_changed) {
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_tty);
        tty_changed = false;
    }
}

static void make_raw(bool signals)
{
    struct termios tty;

    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &saved_tty) < 0) {
        return;
    }
    tty = saved_tty;
    tty.c_iflag &= ~(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
    tty.c_oflag |= OPOST;
    tty.c_lflag &= ~(ECHO | ECHONL | ICANON | IEXTEN);
    if (!signals) {
        tty.c_lflag &= ~ISIG;
    }
    tty.c_cflag &= ~(CSIZE | PARENB);
    tty.c_cflag |= CS8;
    tty.c_cc[VMIN] = 1;
    tty.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &tty) == 0) {
        tty_changed = true;
        atexit(restore_tty);
    }
}

static bool stdio_open(Chardev *c, Opts *opts, Error **errp)
{
    bool *mine = c->state;
    bool signals;

    if (forbidden) {
        error_set(errp, "cannot use stdio with -daemonize");
        return false;
    }
    if (in_use) {
        error_set(errp, "cannot use stdio by multiple character devices");
        return false;
    }
    if (!opts_take_bool(opts, "signal", true, &signals, errp)) {
        return false;
    }
    in_use = *mine = true;
    make_raw(signals);
    chardev_stream_open(c, STDIN_FILENO, STDOUT_FILENO, STREAM_KEEP_FDS);
    return true;
}

static void stdio_close(Chardev *c)
{
    bool *mine = c->state;

    if (*mine) {
        restore_tty();
        in_use = false;
    }
}

static const ChardevDriver stdio_driver = {
    .name = "stdio",
    .state_size = sizeof(bool),
    .open = stdio_open,
    .close = stdio_close,
};
CHARDEV_REGISTER(stdio_driver)
