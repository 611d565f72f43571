/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Character devices that are no connection: null, file, pipe. */
#include "char-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "chardev/fdset.h"

static bool null_open(Chardev *c, Opts *opts, Error **errp)
{
    /* Open, so that its front end sees a peer, who takes everything and says nothing. */
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fd < 0) {
        error_set_errno(errp, errno, "Could not open '/dev/null'");
        return false;
    }
    chardev_stream_open(c, -1, fd, 0);
    return true;
}

static const ChardevDriver null_driver = { .name = "null", .open = null_open };
CHARDEV_REGISTER(null_driver)

static int open_path(const char *path, int flags, Error **errp)
{
    int fd = fdset_open(path, flags, 0666);

    if (fd < 0) {
        error_set_errno(errp, errno, "Could not open '%s'", path);
    }
    return fd;
}

static bool file_open(Chardev *c, Opts *opts, Error **errp)
{
    g_autofree char *path = opts_take(opts, "path");
    g_autofree char *input = opts_take(opts, "input-path");
    bool append;
    int in = -1, out;

    if (!path) {
        error_set(errp, "chardev: file: no filename given");
        return false;
    }
    if (!opts_take_bool(opts, "append", false, &append, errp)) {
        return false;
    }
    out = open_path(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), errp);
    if (out < 0) {
        return false;
    }
    if (input) {
        in = open_path(input, O_RDONLY, errp);
        if (in < 0) {
            close(out);
            return false;
        }
    }
    chardev_stream_open(c, in, out, 0);
    return true;
}

static const ChardevDriver file_driver = { .name = "file", .open = file_open };
CHARDEV_REGISTER(file_driver)

static bool pipe_open(Chardev *c, Opts *opts, Error **errp)
{
    g_autofree char *path = opts_take(opts, "path");
    g_autofree char *in_path = NULL;
    g_autofree char *out_path = NULL;
    int in, out;

    if (!path) {
        error_set(errp, "chardev: pipe: no device path given");
        return false;
    }
    in_path = g_strconcat(path, ".in", NULL);
    out_path = g_strconcat(path, ".out", NULL);
    /* Read-write, so that a FIFO whose other end comes and goes neither ends nor blocks. */
    in = open(in_path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    out = open(out_path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (in < 0 || out < 0) {
        if (in >= 0) {
            close(in);
        }
        if (out >= 0) {
            close(out);
        }
        in = out = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (in < 0) {
            error_set_errno(errp, errno, "Could not open '%s'", path);
            return false;
        }
    }
    chardev_stream_open(c, in, out, 0);
    return true;
}

static const ChardevDriver pipe_driver = { .name = "pipe", .open = pipe_open };
CHARDEV_REGISTER(pipe_driver)
