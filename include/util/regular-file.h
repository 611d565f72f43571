/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_REGULAR_FILE_H
#define SPINDLE_UTIL_REGULAR_FILE_H

#include <stddef.h>

#include "util/error.h"

/*
 * Files that are loaded at start: kernels, firmware, ROMs. Only regular files will do; a pipe that
 * nobody writes to would keep the program waiting for ever. Errors are the bare reason ("Is a
 * directory"), for the caller to put the option and the name before. Runs in: any thread.
 */

/* For reading; -1 on failure. */
int regular_file_open(const char *path, Error **errp);
/* All of it, with a zero byte behind; NULL on failure. Caller frees. */
char *regular_file_read(const char *path, size_t *len, Error **errp);

#endif
