/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workers of a context, for calls that block. */
#include "util/aio.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "aio-internal.h"
#include "threads.h"
#include "util/offload.h"

/* A worker beyond the minimum goes away after this long without work. */
#define WORKER_IDLE_S 10

typedef struct WorkList {
    AioWork *head;
    AioWork *tail;
} WorkList;

typedef struct ThreadPool {
    AioContext *ctx;
    AioBh *bh;
    WorkList ready; /* context only: done, callback not yet called */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work_cond;
    pthread_cond_t exit_cond;
    WorkList todo;
    WorkList finished;
    unsigned n_todo;
    unsigned n_idle;
    int n_threads;
    int min;
    int max;
    bool stopping;
    GSList *dead; /* threads to be joined */
} ThreadPool;

static void list_push(WorkList *list, AioWork *w)
{
    w->next = NULL;
    if (list->tail) {
        list->tail->next = w;
    } else {
        list->head = w;
    }
    list->tail = w;
}

static AioWork *list_pop(WorkList *list)
{
    AioWork *w = list->head;

    if (w) {
        list->head = w->next;
        if (!list->head) {
            list->tail = NULL;
        }
    }
    return w;
}

static void list_take_all(WorkList *to, WorkList *from)
{
    if (!from->head) {
        return;
    }
    if (to->tail) {
        to->tail->next = from->head;
    } else {
        to->head = from->head;
    }
    to->tail = from->tail;
    *from = (WorkList){NULL, NULL};
}

static void pool_bh(void *opaque)
{
    ThreadPool *pool = opaque;
    AioWork *w;

    pthread_mutex_lock(&pool->lock);
    list_take_all(&pool->ready, &pool->finished);
    pthread_mutex_unlock(&pool->lock);

    while ((w = list_pop(&pool->ready))) {
        if (pool->ready.head) {
            /* A callback that waits in a nested aio_poll() may wait for one of the others. */
            aio_bh_schedule(pool->bh);
        }
        w->done(w, w->ret);
    }
}

/* Runs in: a worker thread, with pool->lock held; drops it meanwhile. */
static void run_one(ThreadPool *pool)
{
    AioWork *w = list_pop(&pool->todo);

    pool->n_todo--;
    pthread_mutex_unlock(&pool->lock);
    w->ret = w->run(w);
    pthread_mutex_lock(&pool->lock);
    list_push(&pool->finished, w);
    aio_bh_schedule(pool->bh);
}

static gpointer worker(gpointer opaque)
{
    ThreadPool *pool = opaque;
    bool timed_out = false;

    pthread_mutex_lock(&pool->lock);
    while (pool->n_threads <= pool->max) {
        if (pool->todo.head) {
            run_one(pool);
            timed_out = false;
        } else if (pool->stopping || (timed_out && pool->n_threads > pool->min)) {
            break;
        } else {
            struct timespec until;

            pool->n_idle++;
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_sec += WORKER_IDLE_S;
            timed_out = pthread_cond_timedwait(&pool->work_cond, &pool->lock, &until) == ETIMEDOUT;
            pool->n_idle--;
        }
    }
    pool->n_threads--;
    pool->dead = g_slist_prepend(pool->dead, g_thread_self());
    pthread_cond_signal(&pool->exit_cond);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void join_dead(ThreadPool *pool)
{
    GSList *dead;

    pthread_mutex_lock(&pool->lock);
    dead = pool->dead;
    pool->dead = NULL;
    pthread_mutex_unlock(&pool->lock);
    for (GSList *l = dead; l; l = l->next) {
        g_thread_join(l->data);
    }
    g_slist_free(dead);
}

/* With pool->lock held. */
static bool spawn(ThreadPool *pool)
{
    sigset_t old;
    GThread *thread;

    threads_block_signals(&old);
    thread = g_thread_try_new("worker", worker, pool, NULL);
    threads_restore_signals(&old);
    if (!thread) {
        return false;
    }
    pool->n_threads++;
    return true;
}

static void pool_follow_limits(ThreadPool *pool)
{
    pthread_mutex_lock(&pool->lock);
    aio_get_thread_pool(pool->ctx, &pool->min, &pool->max);
    while (pool->n_threads < pool->min && spawn(pool)) {
        continue;
    }
    pthread_cond_broadcast(&pool->work_cond); /* whoever is too many leaves */
    pthread_mutex_unlock(&pool->lock);
    join_dead(pool);
}

static void *pool_create(AioContext *ctx, Error **errp)
{
    ThreadPool *pool = g_new0(ThreadPool, 1);
    pthread_condattr_t attr;

    pool->ctx = ctx;
    pool->bh = aio_bh_new(ctx, pool_bh, pool);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->work_cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_cond_init(&pool->exit_cond, NULL);
    pool_follow_limits(pool);
    return pool;
}

static void pool_destroy(void *service)
{
    ThreadPool *pool = service;

    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work_cond);
    stall_begin();
    while (pool->n_threads > 0) {
        pthread_cond_wait(&pool->exit_cond, &pool->lock);
    }
    stall_end();
    pthread_mutex_unlock(&pool->lock);
    join_dead(pool);
    pool_bh(pool); /* no submitter is left without its answer */
    g_assert(pool->todo.head == NULL);

    aio_bh_free(pool->bh);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work_cond);
    pthread_cond_destroy(&pool->exit_cond);
    g_free(pool);
}

static const AioServiceOps pool_service = {
    .create = pool_create,
    .destroy = pool_destroy,
};

void aio_pool_update(void *opaque)
{
    AioContext *ctx = opaque;
    ThreadPool *pool = aio_service_peek(ctx, &pool_service);
    int min, max;

    aio_get_thread_pool(ctx, &min, &max);
    if (pool) {
        pool_follow_limits(pool);
    } else if (min > 0) {
        aio_service_get(ctx, &pool_service, &error_abort);
    }
}

void aio_work_submit(AioContext *ctx, AioWork *w)
{
    ThreadPool *pool = aio_service_get(ctx, &pool_service, &error_abort);
    bool inline_run = false;
    bool dead;

    g_assert(aio_in_context(ctx));
    w->ctx = ctx;

    pthread_mutex_lock(&pool->lock);
    list_push(&pool->todo, w);
    pool->n_todo++;
    if (pool->n_todo > pool->n_idle && pool->n_threads < pool->max) {
        /* Failing is fine while there is any worker: it takes longer, that is all. */
        inline_run = !spawn(pool) && pool->n_threads == 0;
    }
    if (inline_run) {
        run_one(pool);
    } else {
        pthread_cond_signal(&pool->work_cond);
    }
    dead = pool->dead != NULL;
    pthread_mutex_unlock(&pool->lock);
    if (dead) {
        join_dead(pool);
    }
}
