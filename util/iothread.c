/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that runs an event loop. */
#include "util/iothread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "threads.h"

struct IOThreadCore {
    AioContext *ctx;
    pthread_t thread;
    char name[16]; /* the kernel keeps 15 characters */
    pid_t tid;
    int stopping; /* atomic */

    pthread_mutex_t lock;
    pthread_cond_t started_cond;
    bool started;
};

static void *iothread_run(void *opaque)
{
    IOThreadCore *t = opaque;

    pthread_setname_np(pthread_self(), t->name);
    aio_context_enter(t->ctx);

    pthread_mutex_lock(&t->lock);
    t->tid = gettid();
    t->started = true;
    pthread_cond_signal(&t->started_cond);
    pthread_mutex_unlock(&t->lock);

    while (!__atomic_load_n(&t->stopping, __ATOMIC_ACQUIRE)) {
        aio_poll(t->ctx, true);
    }
    /* What was asked for before the stop is done, including what that leads to. */
    while (aio_poll(t->ctx, false)) {
        continue;
    }
    aio_context_leave(t->ctx);
    return NULL;
}

static void iothread_core_free(IOThreadCore *t)
{
    aio_context_unref(t->ctx);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->started_cond);
    g_free(t);
}

/* Starts the thread where it may run, so that its memory is near from the first page on. */
static int create_thread(IOThreadCore *t, const cpu_set_t *affinity)
{
    pthread_attr_t attr;
    sigset_t old;
    int ret = 0;

    pthread_attr_init(&attr);
    if (affinity) {
        ret = pthread_attr_setaffinity_np(&attr, sizeof(*affinity), affinity);
    }
    if (ret == 0) {
        threads_block_signals(&old);
        ret = pthread_create(&t->thread, &attr, iothread_run, t);
        threads_restore_signals(&old);
    }
    pthread_attr_destroy(&attr);
    return ret;
}

IOThreadCore *iothread_core_start(const char *id, const cpu_set_t *affinity, Error **errp)
{
    IOThreadCore *t = g_new0(IOThreadCore, 1);
    int ret;

    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->started_cond, NULL);
    snprintf(t->name, sizeof(t->name), "IO %s", id);
    t->ctx = aio_context_new(errp);
    if (!t->ctx) {
        iothread_core_free(t);
        return NULL;
    }
    ret = create_thread(t, affinity);
    if (ret != 0) {
        if (ret == EINVAL && affinity) {
            error_set(errp, "None of the CPUs of cpu-affinity is available to IOThread '%s'", id);
        } else {
            error_set_errno(errp, ret, "Cannot start the thread of IOThread '%s'", id);
        }
        iothread_core_free(t);
        return NULL;
    }

    pthread_mutex_lock(&t->lock);
    while (!t->started) {
        pthread_cond_wait(&t->started_cond, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return t;
}

void iothread_core_stop(IOThreadCore *t)
{
    __atomic_store_n(&t->stopping, 1, __ATOMIC_RELEASE);
    aio_kick(t->ctx);
    pthread_join(t->thread, NULL);
    iothread_core_free(t);
}

AioContext *iothread_core_context(IOThreadCore *t)
{
    return t->ctx;
}

pid_t iothread_core_tid(IOThreadCore *t)
{
    return t->tid;
}

bool iothread_core_set_affinity(IOThreadCore *t, const cpu_set_t *affinity, Error **errp)
{
    int ret = pthread_setaffinity_np(t->thread, sizeof(*affinity), affinity);

    if (ret == EINVAL) {
        error_set(errp, "None of the CPUs of cpu-affinity is available to thread '%s'", t->name);
        return false;
    }
    if (ret != 0) {
        error_set_errno(errp, ret, "Cannot set the CPUs of thread '%s'", t->name);
        return false;
    }
    return true;
}
