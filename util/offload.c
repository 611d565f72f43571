/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads for calls that may never come back, and the knowledge that the main thread is in one. */
#include "util/offload.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads.h"
#include "util/aio.h"

typedef struct Job {
    void (*fn)(void *opaque);
    void (*done)(void *opaque);
    void *opaque;
} Job;

static unsigned stalls; /* atomic */

static void job_done(void *opaque)
{
    Job *job = opaque;

    job->done(job->opaque);
    g_free(job);
}

static gpointer job_run(gpointer opaque)
{
    Job *job = opaque;

    job->fn(job->opaque);
    aio_call(aio_context_main(), job_done, job);
    return NULL;
}

bool offload_start(void (*fn)(void *opaque), void (*done)(void *opaque), void *opaque)
{
    Job *job = g_new(Job, 1);
    sigset_t old;
    GThread *thread;

    g_assert(aio_in_main_thread());
    *job = (Job){ fn, done, opaque };
    threads_block_signals(&old);
    thread = g_thread_try_new("offload", job_run, job, NULL);
    threads_restore_signals(&old);
    if (!thread) {
        g_free(job);
        return false;
    }
    g_thread_unref(thread);
    return true;
}

static bool serving; /* main thread */

void offload_serve(bool on)
{
    serving = on;
}

typedef struct Call {
    void (*fn)(void *opaque);
    void *opaque;
    bool done; /* main thread */
} Call;

static void call_there(void *opaque)
{
    Call *call = opaque;

    call->fn(call->opaque);
}

static void call_done(void *opaque)
{
    ((Call *)opaque)->done = true;
}

void offload_call(void (*fn)(void *opaque), void *opaque)
{
    Call call = { fn, opaque, false };

    g_assert(aio_in_main_thread());
    stall_begin();
    if (serving && offload_start(call_there, call_done, &call)) {
        AIO_WAIT_WHILE(!call.done);
    } else {
        fn(opaque);
    }
    stall_end();
}

void stall_begin(void)
{
    __atomic_add_fetch(&stalls, 1, __ATOMIC_SEQ_CST);
}

void stall_end(void)
{
    unsigned left = __atomic_sub_fetch(&stalls, 1, __ATOMIC_SEQ_CST);

    g_assert(left != UINT_MAX);
}

bool stalled(void)
{
    return __atomic_load_n(&stalls, __ATOMIC_SEQ_CST) > 0;
}

static void wait_is_over(void *opaque)
{
    *(bool *)opaque = true;
}

bool offload_wait(bool (*cond)(void *opaque), void *opaque, int64_t limit_ns)
{
    AioContext *ctx = aio_context_main();
    bool over = false, ok;
    AioTimer *t;

    g_assert(aio_in_main_thread());
    if (cond(opaque)) {
        return true;
    }
    t = aio_timer_new(ctx, AIO_CLOCK_REALTIME, wait_is_over, &over);
    aio_timer_set(t, aio_clock_ns(AIO_CLOCK_REALTIME) + limit_ns);
    stall_begin();
    while (!(ok = cond(opaque)) && !over) {
        aio_poll(ctx, true);
    }
    stall_end();
    aio_timer_free(t);
    return ok;
}

/* ---- the end of the process ---- */

#define MOST_FDS 65536

static uint8_t storage_fds[MOST_FDS]; /* atomic */

void stall_fd_set(int fd, bool on)
{
    if (fd >= 0 && fd < MOST_FDS) {
        __atomic_store_n(&storage_fds[fd], on, __ATOMIC_RELAXED);
    }
}

static bool any_storage_fd(void)
{
    for (int fd = 0; fd < MOST_FDS; fd++) {
        if (__atomic_load_n(&storage_fds[fd], __ATOMIC_RELAXED)) {
            return true;
        }
    }
    return false;
}

/* Runs in: the process that keeps the descriptors, which has this thread only. */
static void keep_fds(pid_t parent)
{
    int from = 0;

    prctl(PR_SET_NAME, "storage-wait");
    for (int i = 0; i < 5000 && getppid() == parent; i++) {
        usleep(1000);
    }
    /* Clients and peers see the end now. */
    for (int fd = 0; fd < MOST_FDS; fd++) {
        if (__atomic_load_n(&storage_fds[fd], __ATOMIC_RELAXED)) {
            if (fd > from) {
                syscall(SYS_close_range, from, fd - 1, 0);
            }
            from = fd + 1;
        }
    }
    syscall(SYS_close_range, from, ~0u, 0);
    _exit(0);
}

void stall_exit(int status)
{
    pid_t self = getpid();

    /* It shares the table of descriptors; the last one to leave closes them. */
    if (any_storage_fd() && syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0) == 0) {
        keep_fds(self);
    }
    _exit(status);
}
