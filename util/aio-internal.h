/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the event loop share. */
#ifndef SPINDLE_UTIL_AIO_INTERNAL_H
#define SPINDLE_UTIL_AIO_INTERNAL_H

#include <poll.h>

#include "util/aio.h"

typedef struct AioEngineOps AioEngineOps;

/*
 * How a context learns of readiness, and sleeps. All functions run in the context.
 */
struct AioEngineOps {
    const char *name;
    /* False when the kernel refuses; errno says why. */
    bool (*create)(AioContext *ctx);
    void (*destroy)(AioContext *ctx);
    /* Makes the kernel's view of h match aio_fd_events(h). May leave it for later while h is
     * running, queued or has missed an event: whoever ends that state calls it again. */
    void (*fd_update)(AioContext *ctx, AioFd *h);
    /* The kernel holds no reference to h->fd after this, so that it may be closed. */
    void (*fd_del)(AioContext *ctx, AioFd *h);
    /* Hands queued requests to the kernel; sleeps until an event or until timeout_ns has passed.
     * 0: does not sleep; negative: no limit. May return early for no reason. */
    void (*wait)(AioContext *ctx, int64_t timeout_ns);
    /*
     * For a sleep in poll(2) instead of wait(): hands queued requests to the kernel and fills in,
     * of at most `max`, the descriptors that tell of an event. Returns how many; -1: poll(2) would
     * not see everything, or something has arrived already.
     */
    int (*wait_fds)(AioContext *ctx, struct pollfd *fds, int max);
    /* Whether such a sleep is better now; NULL: never. */
    bool (*wait_badly)(AioContext *ctx);
    /* Takes in what has arrived: marks descriptors ready, runs completions. Returns whether a
     * completion ran. */
    bool (*collect)(AioContext *ctx);
    /* Hands queued requests to the kernel. */
    void (*flush)(AioContext *ctx);
    /* Cheap look during the busy-wait: has anything arrived? */
    bool (*peek)(AioContext *ctx);
    /* Requests that the kernel has not completed yet. */
    unsigned (*inflight)(AioContext *ctx);
    /* NULL if the engine carries no disk I/O. */
    struct io_uring_sqe *(*sqe)(AioContext *ctx, AioCompletion *c);
};

extern const AioEngineOps aio_engine_uring;
extern const AioEngineOps aio_engine_epoll;

struct AioBh {
    AioBh *next; /* valid while AIO_BH_QUEUED */
    AioContext *ctx;
    AioCallback *cb;
    void *opaque;
    unsigned flags; /* atomic */
};

struct AioFd {
    AioContext *ctx;
    int fd;
    const AioFdOps *ops;
    void *opaque;
    bool want_read;
    bool want_write;
    bool removed; /* only kept until nobody walks over it */
    bool running; /* a callback of it is on the stack */
    bool update;  /* the engine has to be told of a change when it returns */
    bool queued;  /* on ctx->ready */
    bool polling; /* between poll_begin and poll_end */
    bool hit;     /* had an event in this turn */
    bool stale;   /* queued for an event that came while polling */
    unsigned revents;
    unsigned missed; /* readiness reported while polling, when nobody looks at it */
    GList ready_link;
    GList poll_link; /* on ctx->poll_fds if ops->poll is set */
    AioFd *next_removed;

    int64_t poll_ns;     /* busy-wait that has been worth it lately */
    int64_t last_hit_ns; /* when it had its last event */
    int64_t work_ns;     /* what dealing with an event took lately */

    /* engine's own */
    struct UringArm *arm;
    bool edge;  /* the callback empties its eventfd: multishot is safe */
    int reg_fd; /* epoll: the registered descriptor; -1: none */
    unsigned reg_events;
    bool always; /* epoll: a file that is always ready */
    GList always_link;
};

typedef struct AioTimerHeap {
    AioTimer **v;
    unsigned n;
    unsigned cap;
} AioTimerHeap;

#define AIO_N_CLOCKS (AIO_CLOCK_HOST + 1)

enum { AIO_GATE_OUT, AIO_GATE_WAITING, AIO_GATE_HOLDING };

/* How long a thread has been kept waiting for a CPU. */
typedef struct AioDelay {
    int fd;            /* of the scheduler's figures; 0: not open yet; -1: cannot be */
    int64_t at_ns;     /* when it was looked at */
    int64_t waited_ns; /* up to then */
} AioDelay;

/* A context's part in aio-gate.c. */
typedef struct AioGate {
    int state; /* atomic; a waiting one is admitted by others */
    GList link;
    int64_t since_ns;   /* when it was admitted */
    int64_t give_up_ns; /* when it stops waiting */
    bool found;         /* there was work since it was admitted */
    bool roused;        /* an event, not a place, has ended its last sleep */
    AioDelay delay;
} AioGate;

typedef enum {
    AIO_AWAKE,
    AIO_SLEEPING, /* in the engine: wake_fd wakes it */
    AIO_PARKED,   /* in poll(2): park_fd does */
} AioWakeState;

struct AioContext {
    gint ref;
    const AioEngineOps *ops; /* atomic; NULL unless a thread runs the context */
    void *engine;
    bool want_uring;
    bool engine_asked; /* by the environment */
    int epoll_fd;      /* made early, so that the fallback cannot fail */
    int wake_fd;
    int park_fd[2]; /* a pipe, made when first needed; -1 */
    GList contexts_link;

    /* ---- touched by other threads, atomically ---- */
    int wake_state;
    int kicked;
    AioBh *incoming; /* newest first */
    int64_t poll_max_ns;
    int64_t poll_grow;
    int64_t poll_shrink;
    int64_t max_batch;
    int pool_min;
    int pool_max;
    int uses_virtual_clock;
    int64_t virtual_deadline; /* of its earliest virtual timer, INT64_MAX: none */

    /* ---- the context's thread only ---- */
    AioBh *bh_head; /* oldest first */
    AioBh *bh_tail;
    unsigned bh_count;

    GQueue ready;
    GQueue poll_fds;
    unsigned n_polling; /* of them, in poll mode */
    unsigned rounds;    /* of looking at them, in which something was found */
    unsigned crowded;   /* for so many of them aio_crowded() holds */
    bool alone;         /* one source alone had work in the last of them */
    unsigned walking;   /* callbacks on the stack that walk over handlers */
    AioFd *removed;

    AioTimerHeap timers[AIO_N_CLOCKS];
    uint64_t timer_seq;
    bool running_virtual; /* a virtual timer's callback is on the stack */

    uint64_t turn;         /* counts calls of aio_poll() */
    int64_t wait_start_ns; /* when the latest wait began */
    bool poll_expired;     /* its busy-wait is over */
    int64_t waited_ns;     /* how long nothing came in it */
    int64_t completion_poll_ns;
    bool completion_hit;
    AioGate gate;

    AioCounters counters;

    GPtrArray *services;
};

/* ---- aio-context.c ---- */

/* Wakes the context's thread if it sleeps. Async-signal-safe. Runs in: any thread. */
void aio_wake(AioContext *ctx);
/* Sleeps in poll(2) until woken, until an event, or until timeout_ns has passed (negative: no
 * limit). Returns false at once if that cannot be done. Runs in: the context. */
bool aio_park(AioContext *ctx, int64_t timeout_ns);
/* Kicks every context that has a timer on the virtual clock. Runs in: any thread. */
void aio_kick_virtual_clock_users(void);
/* The earliest virtual deadline of all contexts except one; INT64_MAX: none.
 * Runs in: any thread. */
int64_t aio_contexts_virtual_deadline(const AioContext *except);

/* ---- aio-poll.c ---- */

/* Whether there is something to do, leaving out timers and what only the engine knows. */
bool aio_work_pending(AioContext *ctx);

/* ---- aio-bh.c ---- */

/* Runs what was scheduled before the call. */
bool aio_bh_run(AioContext *ctx);
bool aio_bh_pending(AioContext *ctx);
void aio_bh_drop_all(AioContext *ctx);

/* ---- aio-fd.c ---- */

unsigned aio_fd_events(const AioFd *h);
void aio_fd_mark_ready(AioFd *h, unsigned revents);
bool aio_fd_dispatch(AioContext *ctx);
/* Callbacks that may remove handlers are called between these two. */
void aio_fd_walk_begin(AioContext *ctx);
void aio_fd_walk_end(AioContext *ctx);
/* Calls one of the polling callbacks of h, guarded against re-entry. */
bool aio_fd_run_poll(AioFd *h);
void aio_fd_poll_begin(AioFd *h);
void aio_fd_poll_end(AioFd *h);

/* ---- aio-timer.c ---- */

/* Nanoseconds until the next timer; 0 if one is due, -1 if there is none. */
int64_t aio_timers_timeout(AioContext *ctx);
bool aio_timers_run(AioContext *ctx);
void aio_timers_free(AioContext *ctx);

/* ---- aio-defer.c ---- */

/* Calls what has been collected, even inside a plugged section: before a thread may sleep. Returns
 * whether there was anything. */
bool aio_defer_flush(void);

/* ---- aio-gate.c. Runs in: the context ---- */

typedef enum {
    AIO_GATE_GO,      /* busy-wait */
    AIO_GATE_WAIT,    /* sleep with notifications off; whose turn it is gets kicked */
    AIO_GATE_GIVE_UP, /* it took too long */
} AioGateAnswer;

/* Whether CPUs are short. */
bool aio_gate_closed(int64_t now);
/* Asks the scheduler now and then whether they are. */
void aio_gate_sample(AioContext *ctx, int64_t now);
/* Takes a place, or a place in the line. */
AioGateAnswer aio_gate_ask(AioContext *ctx, int64_t now);
/* How long the holder of a place may busy-wait for an event, of `limit` ns. */
int64_t aio_gate_limit(AioContext *ctx, int64_t limit);
/* Its slice is over, and others wait. */
bool aio_gate_over(AioContext *ctx, int64_t now);
bool aio_gate_wanted(void);
/* Leaves the place, or the line; `again`: to its end. */
void aio_gate_leave(AioContext *ctx, int64_t now, bool again);
void aio_gate_close_context(AioContext *ctx);

/* ---- thread-pool.c ---- */

/* Lets an existing pool follow changed limits, and makes one if workers are to be kept. */
void aio_pool_update(void *ctx);

#endif
