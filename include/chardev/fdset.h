/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_CHARDEV_FDSET_H
#define SPINDLE_CHARDEV_FDSET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/*
 * Sets of open descriptors that the user handed over (-add-fd, add-fd), to be named as
 * "/dev/fdset/N" wherever a file is opened. Runs in: main thread, unless said otherwise.
 */

/* Takes fd over. With set_id < 0 a new set is made. Returns the set. */
int64_t fdset_add(int64_t set_id, int fd, const char *opaque);
/* Closes one descriptor of a set, or with fd == NULL all: "File descriptor named 'fdset-id:1' not
 * found". The set itself goes when nothing that was opened by it is open any more. */
bool fdset_remove(int64_t set_id, const int64_t *fd, Error **errp);
/* All sets, of FdsetInfo, newest numbers first. Caller frees. */
GPtrArray *fdset_query(void);
bool fdset_is_path(const char *path);
/* A duplicate of a descriptor of the set that `path` names, whose access mode and O_DIRECT are
 * those of `flags`. Close-on-exec. Returns -1 with an error and errno: ENOENT without such a set,
 * EACCES without a descriptor of that mode. */
int fdset_dup(const char *path, int flags, Error **errp);
/* open(), or fdset_dup(). Returns -1 with errno. */
int fdset_open(const char *path, int flags, int mode);
/* A descriptor that may have come from a set is about to be closed. Runs in: any thread. */
void fdset_forget(int fd);
void fdset_cleanup(void);

#endif
