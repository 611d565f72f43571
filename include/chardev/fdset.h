/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_CHARDEV_FDSET_H
#define SPINDLE_CHARDEV_FDSET_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/*
 * Sets of open descriptors that the user handed over (-add-fd, add-fd), to be named as
 * "/dev/fdset/N" wherever a file is opened. Runs in: main thread.
 */

/* Takes fd over. With set_id < 0 a new set is made. Returns the set, or -1. */
int64_t fdset_add(int64_t set_id, int fd, const char *opaque, Error **errp);
/* open(), where a path of the form "/dev/fdset/N" gives a duplicate of the descriptor of set N
 * whose access mode is that of `flags`. Close-on-exec. Returns -1 with errno: ENOENT without such a
 * set, EACCES without a descriptor of that mode. */
int fdset_open(const char *path, int flags, int mode);
void fdset_cleanup(void);

#endif
