/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether somebody wants the process to end while it does something long. */
#include "util/stop-request.h"

#include <poll.h>

static int stop_fd = -1;

void stop_request_set_fd(int fd)
{
    stop_fd = fd;
}

int stop_request_fd(void)
{
    return stop_fd;
}

bool stop_requested(const char *what, Error **errp)
{
    struct pollfd p = { .fd = stop_fd, .events = POLLIN }; /* -1 is skipped */

    if (poll(&p, 1, 0) <= 0 || !p.revents) {
        return false;
    }
    error_set(errp, "Interrupted while %s", what);
    return true;
}
