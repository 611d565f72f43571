/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_AIO_H
#define SPINDLE_UTIL_AIO_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/counter.h"
#include "util/error.h"

/*
 * AioContext: the event loop of one thread (the main thread or an IOThread).
 *
 * Its engine is io_uring where the kernel allows it, else epoll; both give the same behaviour,
 * except that only the first can carry disk I/O of aio=io_uring. The environment variable
 * SPINDLE_AIO_ENGINE=epoll|io_uring chooses; a refused io_uring_setup falls back to epoll.
 *
 * Three kinds of function:
 *   "Runs in: any thread"      may be called from anywhere;
 *   "Runs in: the context"     only from callbacks of this context, or from its thread;
 *   "Runs in: main thread"     control plane, under the big lock.
 */
typedef struct AioContext AioContext;

/* Creates a context that no thread runs yet. The thread that will run it calls aio_context_enter()
 * first. Runs in: any thread. */
AioContext *aio_context_new(Error **errp);
AioContext *aio_context_ref(AioContext *ctx);
void aio_context_unref(AioContext *ctx);

/* Makes ctx the calling thread's context. Runs in: the context's thread, once. */
void aio_context_enter(AioContext *ctx);
/* Undoes aio_context_enter() and frees what only that thread may free (its io_uring). */
void aio_context_leave(AioContext *ctx);

/* The context of the calling thread; NULL in a thread that has none (vCPU, worker).
 * Runs in: any thread. */
AioContext *aio_context_current(void);
/* The main thread's context, set up by aio_main_init(). Runs in: any thread. */
AioContext *aio_context_main(void);
bool aio_in_main_thread(void);
bool aio_in_context(AioContext *ctx);
/* Whether sources with little to do have work in the calling thread's context beside those that
 * have much: a callback does well to return soon. Runs in: a context. */
bool aio_crowded(void);
/* Whether only one source had work when the calling thread's context last found some by polling.
 * Runs in: a context. */
bool aio_alone(void);

/* Creates the main context and enters it. Runs in: main thread, once, before anything else. */
bool aio_main_init(Error **errp);

/* "io_uring" or "epoll". */
const char *aio_engine_name(AioContext *ctx);

/*
 * Runs the loop once: timers, bottom halves, ready descriptors, completions. With `blocking` it
 * polls and then sleeps until something happens. Returns whether any callback ran.
 * Runs in: the context. May be called from within a callback (nested waiting).
 */
bool aio_poll(AioContext *ctx, bool blocking);

/* Polls the calling thread's context until cond is false. Used to wait, in the main thread, for
 * something another context does; that context must aio_kick() the waiter afterwards. */
#define AIO_WAIT_WHILE(cond)                                                                       \
    do {                                                                                           \
        AioContext *ctx_ = aio_context_current();                                                  \
        while (cond) {                                                                             \
            aio_poll(ctx_, true);                                                                  \
        }                                                                                          \
    } while (0)

/* Makes a sleeping aio_poll() return. Runs in: any thread. */
void aio_kick(AioContext *ctx);

/* ---- bottom halves: functions to run soon in the context ---- */

typedef void AioCallback(void *opaque);
typedef struct AioBh AioBh;

/* Creates a bottom half, not scheduled. Runs in: any thread. */
AioBh *aio_bh_new(AioContext *ctx, AioCallback *cb, void *opaque);
/* Runs it once in the context; scheduling it again before that changes nothing.
 * Runs in: any thread. */
void aio_bh_schedule(AioBh *bh);
/* Takes back a schedule. Runs in: the context. */
void aio_bh_cancel(AioBh *bh);
/* Cancels and frees. Runs in: the context. */
void aio_bh_free(AioBh *bh);

/* Runs cb once in ctx, soon, and forgets it. Calls from one thread keep their order.
 * Runs in: any thread. */
void aio_call(AioContext *ctx, AioCallback *cb, void *opaque);
/* Runs cb in ctx and returns when it has returned. At once if this is that context; otherwise the
 * calling thread's own context keeps being polled meanwhile if it has one, so `cb` may wait for the
 * caller's context, too. Runs in: any thread; never from an IOThread towards the main thread. */
void aio_call_sync(AioContext *ctx, AioCallback *cb, void *opaque);

/* ---- file descriptors ---- */

/*
 * Level-triggered: a callback that leaves data unread is called again. Callbacks of one handler
 * never nest: while one is on the stack, a nested aio_poll() leaves the handler alone. (So whoever
 * completes requests from a descriptor's callback and may thereby cause a nested wait for others
 * of the same descriptor does it in a bottom half.)
 */
typedef struct AioFd AioFd;
typedef struct AioFdOps {
    AioCallback *read;  /* readable, error or hang-up; NULL: not interested */
    AioCallback *write; /* writable; called while aio_fd_want_write() is on */
    /*
     * Adaptive polling, all or none. `poll` looks for work in memory, without a system call, and
     * handles what it finds; it returns whether it found any. It is called from the busy-wait that
     * precedes sleeping, between poll_begin (which may suppress notifications) and poll_end (which
     * enables them again and must then look once more and handle what slipped in between).
     */
    bool (*poll)(void *opaque);
    AioCallback *poll_begin;
    AioCallback *poll_end;
} AioFdOps;

/* Watches fd until aio_fd_remove(). ops and opaque must outlive it. Runs in: the context. */
AioFd *aio_fd_add(AioContext *ctx, int fd, const AioFdOps *ops, void *opaque);
void aio_fd_want_read(AioFd *h, bool on);  /* on at first if ops->read is set */
void aio_fd_want_write(AioFd *h, bool on); /* off at first */
/* No callback runs after it has returned; legal from within any callback. If the handler is inside
 * poll_begin..poll_end, poll_end is called first. The fd is not closed. Runs in: the context. */
void aio_fd_remove(AioFd *h);

/* ---- timers ---- */

typedef enum {
    AIO_CLOCK_REALTIME, /* CLOCK_MONOTONIC of the host; always runs */
    AIO_CLOCK_VIRTUAL,  /* guest time: stands while the VM is stopped; a qtest client drives it */
    AIO_CLOCK_HOST,     /* CLOCK_REALTIME */
} AioClock;

int64_t aio_clock_ns(AioClock clock);

typedef struct AioTimer AioTimer;
AioTimer *aio_timer_new(AioContext *ctx, AioClock clock, AioCallback *cb, void *opaque);
/* Fires once at `expire_ns` of its clock; replaces an earlier setting. Runs in: the context; for
 * the main context also any thread that holds the big lock. So do the others below. */
void aio_timer_set(AioTimer *t, int64_t expire_ns);
void aio_timer_cancel(AioTimer *t);
bool aio_timer_pending(const AioTimer *t);
int64_t aio_timer_expire_ns(const AioTimer *t); /* -1 when not pending */
void aio_timer_free(AioTimer *t);

/* The virtual clock is stopped at 0 at first. Runs in: main thread. */
void aio_virtual_clock_start(void);
void aio_virtual_clock_stop(void);
/* Takes the clock away from real time: from now on only aio_virtual_clock_set() moves it. */
void aio_virtual_clock_set_manual(void);
bool aio_virtual_clock_is_manual(void); /* any thread */
/* Moves the manual clock forward to `ns`, firing timers on the way in order: the clock stands at a
 * timer's time until the timer's context, whichever it is, has run it. Polls the main context while
 * it waits for others. Returns false if ns lies in the past. */
bool aio_virtual_clock_set(int64_t ns);
/* Deadline of the earliest virtual timer of all contexts, or -1. */
int64_t aio_virtual_clock_deadline(void);
/* Between the two a manual clock stands still: something that belongs to this instant is on its
 * way to another thread. Runs in: any thread. */
void aio_virtual_clock_hold(void);
void aio_virtual_clock_release(void);

/* ---- plugging: collecting what can be done once for a whole batch ---- */

/* Between plug and unplug, functions given to aio_defer() are collected; the outermost unplug calls
 * each (fn, opaque) pair once, in the order of first mention. Outside a plugged section aio_defer()
 * calls at once. aio_poll() itself plugs around each round of callbacks.
 * Runs in: a thread that has a context; per thread. */
void aio_plug(void);
void aio_unplug(void);
void aio_defer(AioCallback *fn, void *opaque);

/* ---- disk I/O through the context's own io_uring ---- */

struct io_uring_sqe;
typedef struct AioCompletion AioCompletion;
struct AioCompletion {
    /* res as in the CQE. Runs in: the context that issued the request. */
    void (*done)(AioCompletion *c, int res);
};
/* Whether aio_sqe() works here, that is, the engine is io_uring. Runs in: any thread. */
bool aio_has_uring(AioContext *ctx);
/* An SQE to be filled in with io_uring_prep_*(); its user data is already set to `c` and must be
 * kept. It is submitted with everything else of this turn of the loop, in one io_uring_enter.
 * Never NULL: a full queue is submitted first. Runs in: the context. */
struct io_uring_sqe *aio_sqe(AioContext *ctx, AioCompletion *c);

/* ---- something that lives once per context ---- */

/* A service (thread pool, libaio queue) that a module keeps for each context that needs it. `key`
 * is the address of a static object of the module. Created at first use, destroyed by
 * aio_context_leave(). Runs in: the context. */
typedef struct AioServiceOps {
    void *(*create)(AioContext *ctx, Error **errp);
    void (*destroy)(void *service);
} AioServiceOps;
void *aio_service_get(AioContext *ctx, const AioServiceOps *key, Error **errp);
/* As above, but NULL if it has not been created. */
void *aio_service_peek(AioContext *ctx, const AioServiceOps *key);

/* ---- what a context has done ---- */

typedef struct AioCounters {
    StatCounter turns;       /* rounds of the loop */
    StatCounter polled;      /* waits in which the busy-wait found work */
    StatCounter slept;       /* times it slept in the kernel */
    StatCounter completions; /* of aio_sqe() */
} AioCounters;
/* Written by the context's thread, to be read with counter_get(). Runs in: any thread. */
const AioCounters *aio_counters(AioContext *ctx);

/* ---- tuning; each may be changed at any time, from any thread ---- */

void aio_set_poll_params(AioContext *ctx, int64_t max_ns, int64_t grow, int64_t shrink);
/* From now on, until aio_release_cpu(), the calling thread needs a CPU when it wants one, as a
 * guest's processor does: when CPUs are short, event loops do not busy-wait on its. Not nested.
 * Runs in: any thread but an event loop's. */
void aio_reserve_cpu(void);
void aio_release_cpu(void);
/* Upper bound of requests handed to the kernel in one batch; 0: the engine's choice. */
void aio_set_max_batch(AioContext *ctx, int64_t max_batch);
int64_t aio_max_batch(AioContext *ctx);
/* Workers of the context's thread pool: `min` are kept, at most `max` exist. */
void aio_set_thread_pool(AioContext *ctx, int min, int max);
void aio_get_thread_pool(AioContext *ctx, int *min, int *max);

/* ---- the thread pool of a context, for calls that block ---- */

typedef struct AioWork AioWork;
struct AioWork {
    int (*run)(AioWork *w);             /* Runs in: a worker thread */
    void (*done)(AioWork *w, int ret);  /* Runs in: the context that submitted it */
    /* private to util/thread-pool.c */
    AioWork *next;
    int ret;
    AioContext *ctx;
};
/* Queues w, which the caller owns until done() is called. Runs in: the context. */
void aio_work_submit(AioContext *ctx, AioWork *w);

#endif
