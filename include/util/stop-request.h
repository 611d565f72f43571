/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_STOP_REQUEST_H
#define SPINDLE_UTIL_STOP_REQUEST_H

#include <stdbool.h>

#include "util/error.h"

/*
 * Signals that end the process wait for the main loop, which runs when the start is over. What can
 * take seconds before that (touching all of guest memory, a thousand processors, a peer that does
 * not come) looks here from time to time, and fails.
 */

/* The descriptor that is readable from the moment somebody wants the process to end. Runs in: main
 * thread, before there are others. */
void stop_request_set_fd(int fd);
/* To be waited for beside another; -1: there is none. Runs in: any thread. */
int stop_request_fd(void);
/* True, with the error "Interrupted while WHAT", if the process is to end. Does not wait. Runs in:
 * any thread. */
bool stop_requested(const char *what, Error **errp);

#endif
