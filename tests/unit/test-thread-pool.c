/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workers of a context: bounds, delivery, waiting inside a callback. */
#include <pthread.h>
#include <stdio.h>

#include "util/aio.h"
#include "util/iothread.h"

typedef struct Job {
    AioWork w; /* first */
    int input;
    int *left;
    AioContext *ctx;
} Job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int running, most;

static int square(AioWork *w)
{
    Job *j = (Job *)w;

    g_assert_null(aio_context_current());
    pthread_mutex_lock(&lock);
    running++;
    most = MAX(most, running);
    pthread_mutex_unlock(&lock);
    g_usleep(2000);
    pthread_mutex_lock(&lock);
    running--;
    pthread_mutex_unlock(&lock);
    return j->input * j->input;
}

static void done(AioWork *w, int ret)
{
    Job *j = (Job *)w;

    g_assert_true(aio_in_context(j->ctx));
    g_assert_cmpint(ret, ==, j->input * j->input);
    --*j->left;
}

static void run_jobs(int n)
{
    AioContext *ctx = aio_context_current();
    g_autofree Job *jobs = g_new0(Job, n);
    int left = n;

    for (int i = 0; i < n; i++) {
        jobs[i] = (Job){{.run = square, .done = done}, i, &left, ctx};
        aio_work_submit(ctx, &jobs[i].w);
    }
    while (left > 0) {
        aio_poll(ctx, true);
    }
}

static int workers(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/task", 0, NULL);
    const char *tid;
    int n = 0;

    while ((tid = g_dir_read_name(dir))) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%s/comm", tid);
        g_autofree char *comm = NULL;

        /* It may have ended since. */
        n += g_file_get_contents(path, &comm, NULL, NULL) && strcmp(comm, "worker\n") == 0;
    }
    return n;
}

/* Threads start and end a little later than they are asked to. */
static void expect_workers(int n)
{
    for (int i = 0; i < 500 && workers() != n; i++) {
        aio_poll(aio_context_current(), false);
        g_usleep(10000);
    }
    g_assert_cmpint(workers(), ==, n);
}

static void test_bounds(void)
{
    AioContext *ctx = aio_context_current();
    int min, max;

    aio_get_thread_pool(ctx, &min, &max);
    g_assert_cmpint(min, ==, 0);
    g_assert_cmpint(max, ==, 64);
    aio_set_thread_pool(ctx, 0, 3);
    most = 0;
    run_jobs(30);
    g_assert_cmpint(most, ==, 3);

    aio_set_thread_pool(ctx, 5, 8);
    expect_workers(5);
    most = 0;
    run_jobs(40);
    g_assert_cmpint(most, >, 3);
    g_assert_cmpint(most, <=, 8);

    aio_set_thread_pool(ctx, 0, 1);
    expect_workers(1);
    most = 0;
    run_jobs(10);
    g_assert_cmpint(most, ==, 1);
}

static void test_minimum_without_work(void)
{
    IOThreadCore *t = iothread_core_start("min", NULL, &error_abort);
    int before = workers();

    aio_set_thread_pool(iothread_core_context(t), 4, 4);
    expect_workers(before + 4);
    iothread_core_stop(t);
    expect_workers(before);
}

static void waiting_done(AioWork *w, int ret)
{
    Job *j = (Job *)w;
    Job inner = {{.run = square, .done = done}, 7, NULL, j->ctx};
    int left = 1;

    inner.left = &left;
    aio_work_submit(j->ctx, &inner.w);
    while (left > 0) {
        aio_poll(j->ctx, true);
    }
    --*j->left;
}

static void test_wait_inside_done(void)
{
    AioContext *ctx = aio_context_current();
    Job jobs[10];
    int left = 10;

    aio_set_thread_pool(ctx, 0, 64);
    for (int i = 0; i < 10; i++) {
        jobs[i] = (Job){{.run = square, .done = waiting_done}, i, &left, ctx};
        aio_work_submit(ctx, &jobs[i].w);
    }
    while (left > 0) {
        aio_poll(ctx, true);
    }
}

static void submit_and_forget(void *opaque)
{
    Job *j = opaque;

    aio_work_submit(j->ctx, &j->w);
}

/* Stopping a thread answers what is still in its pool. */
static void test_stop_waits(void)
{
    IOThreadCore *t = iothread_core_start("stop", NULL, &error_abort);
    int left = 1;
    Job j = {{.run = square, .done = done}, 3, &left, iothread_core_context(t)};

    aio_call_sync(j.ctx, submit_and_forget, &j);
    iothread_core_stop(t);
    g_assert_cmpint(left, ==, 0);
}

static int quick(AioWork *w)
{
    return 0;
}

static void quick_done(AioWork *w, int ret)
{
    Job *j = (Job *)w;

    if (--j->input > 0) {
        aio_work_submit(j->ctx, w);
    } else {
        --*j->left;
    }
}

static void test_many_rounds(void)
{
    AioContext *ctx = aio_context_current();
    Job jobs[4];
    int left = 4;

    for (int i = 0; i < 4; i++) {
        jobs[i] = (Job){{.run = quick, .done = quick_done}, 5000, &left, ctx};
        aio_work_submit(ctx, &jobs[i].w);
    }
    while (left > 0) {
        aio_poll(ctx, true);
    }
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    g_test_add_func("/thread-pool/bounds", test_bounds);
    g_test_add_func("/thread-pool/minimum-without-work", test_minimum_without_work);
    g_test_add_func("/thread-pool/wait-inside-done", test_wait_inside_done);
    g_test_add_func("/thread-pool/stop-waits", test_stop_waits);
    g_test_add_func("/thread-pool/many-rounds", test_many_rounds);
    ret = g_test_run();
    aio_context_leave(aio_context_main());
    return ret;
}
