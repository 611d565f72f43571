/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_OFFLOAD_H
#define SPINDLE_UTIL_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What may never come back: system calls on files whose server does not answer, and waits for
 * requests to such files.
 */

/* Calls fn(opaque) in a thread of its own and then done(opaque) in the main thread; the thread is
 * never waited for. Returns false if there can be no thread. Runs in: main thread. */
bool offload_start(void (*fn)(void *opaque), void (*done)(void *opaque), void *opaque);

/* Calls fn(opaque), which may never come back, and returns when it has: in a thread of its own,
 * while the main context is polled, so that clients are served meanwhile. Before offload_serve()
 * was called nobody could be, and it is called at once. Runs in: main thread. */
void offload_call(void (*fn)(void *opaque), void *opaque);
/* From here on (or no longer) there is a main loop whose clients must be served. */
void offload_serve(bool on);

/* Polls the main context until cond() is true, at most for limit_ns. Returns whether it is.
 * Runs in: main thread. */
bool offload_wait(bool (*cond)(void *opaque), void *opaque, int64_t limit_ns);

/* Between the two the main thread, directly or not, waits for storage, or may be kept by it. Nests.
 * The end of the process does not wait for that. Runs in: any thread. */
void stall_begin(void);
void stall_end(void);
bool stalled(void);

/* Whether closing fd may have to wait for storage, for as long as it is open.
 * Runs in: any thread. */
void stall_fd_set(int fd, bool on);
/* Ends the process at once. Descriptors of storage are closed by a process of their own, since the
 * kernel has each close wait for the storage, also at the end of a process, and nothing can
 * interrupt that. Runs in: any thread. */
void stall_exit(int status) __attribute__((noreturn));

#endif
