/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Eventfds. */
#include "util/event-notifier.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "event-notifier-drained.h"

__thread int event_notifier_drained_fd = -1;

bool event_notifier_init(EventNotifier *n, bool signalled, Error **errp)
{
    int fd = eventfd(signalled ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0) {
        n->fd = -1;
        error_set_errno(errp, errno, "Cannot create an event notifier");
        return false;
    }
    n->fd = fd;
    return true;
}

void event_notifier_cleanup(EventNotifier *n)
{
    if (n->fd >= 0) {
        close(n->fd);
        n->fd = -1;
    }
}

void event_notifier_set(EventNotifier *n)
{
    const uint64_t one = 1;
    ssize_t len;

    do {
        len = write(n->fd, &one, sizeof(one));
    } while (len < 0 && errno == EINTR);
    /* EAGAIN: the counter is full, so the reader is going to be woken anyway. */
    g_assert(len == sizeof(one) || errno == EAGAIN);
}

bool event_notifier_test_and_clear(EventNotifier *n)
{
    uint64_t value;
    ssize_t len;

    do {
        len = read(n->fd, &value, sizeof(value));
    } while (len < 0 && errno == EINTR);
    g_assert(len == sizeof(value) || errno == EAGAIN);
    event_notifier_drained_fd = n->fd;
    return len == sizeof(value);
}
