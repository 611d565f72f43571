/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_COPY_GUARD_H
#define SPINDLE_UTIL_COPY_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/*
 * Copies the bytes from src on into iov[0..niov), all of it. False if a page on the way could not
 * be had (SIGBUS): src is a mapping of a file that another program has cut short, its memory is
 * broken, and so on, or the same is true of the destination. Part of it may have been copied then.
 * Runs in: any thread that has not blocked SIGBUS.
 */
bool copy_guarded(const struct iovec *iov, int niov, const void *src);
/* The same from iov[0..niov) into the bytes from dst on. What is long passes the caches by, as is
 * best where far more is written than they hold. */
bool copy_guarded_out(void *dst, const struct iovec *iov, int niov);

#endif
