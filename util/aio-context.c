/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Life of an event loop: creation, the thread that runs it, wake-ups, services, tuning. */
#include "util/aio.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <urcu/urcu-memb.h>

#include "aio-internal.h"
#include "util/report.h"

/* Descriptors that a parked context watches at most. */
#define PARK_FDS 64

#define DEFAULT_POOL_MAX 64

typedef struct Service {
    const AioServiceOps *key;
    void *service;
} Service;

static __thread AioContext *current;
static __thread bool in_main_thread;
static AioContext *main_context;

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static GQueue contexts = G_QUEUE_INIT; /* those that a thread runs */

static bool choose_engine(AioContext *ctx, Error **errp)
{
    const char *name = g_getenv("SPINDLE_AIO_ENGINE");

    ctx->want_uring = true;
    if (!name || !*name) {
        return true;
    }
    ctx->engine_asked = true;
    if (strcmp(name, aio_engine_epoll.name) == 0) {
        ctx->want_uring = false;
    } else if (strcmp(name, aio_engine_uring.name) != 0) {
        error_set(errp, "SPINDLE_AIO_ENGINE does not accept value '%s', only 'io_uring' or 'epoll'",
                  name);
        return false;
    }
    return true;
}

static void context_free(AioContext *ctx)
{
    if (ctx->wake_fd >= 0) {
        close(ctx->wake_fd);
    }
    if (ctx->park_fd[0] >= 0) {
        close(ctx->park_fd[0]);
        close(ctx->park_fd[1]);
    }
    if (ctx->epoll_fd >= 0) {
        close(ctx->epoll_fd);
    }
    aio_bh_drop_all(ctx);
    aio_timers_free(ctx);
    g_clear_pointer(&ctx->services, g_ptr_array_unref);
    g_free(ctx);
}

AioContext *aio_context_new(Error **errp)
{
    AioContext *ctx = g_new0(AioContext, 1);

    ctx->ref = 1;
    ctx->epoll_fd = -1;
    ctx->wake_fd = -1;
    ctx->park_fd[0] = ctx->park_fd[1] = -1;
    ctx->pool_max = DEFAULT_POOL_MAX;
    ctx->virtual_deadline = INT64_MAX;
    ctx->contexts_link.data = ctx;
    ctx->gate.link.data = ctx;
    g_queue_init(&ctx->ready);
    g_queue_init(&ctx->poll_fds);
    ctx->services = g_ptr_array_new_with_free_func(g_free);

    if (!choose_engine(ctx, errp)) {
        goto fail;
    }
    ctx->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ctx->wake_fd < 0) {
        error_set_errno(errp, errno, "Cannot create the event notifier of an event loop");
        goto fail;
    }
    ctx->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ctx->epoll_fd < 0) {
        error_set_errno(errp, errno, "Cannot create the epoll instance of an event loop");
        goto fail;
    }
    return ctx;

fail:
    context_free(ctx);
    return NULL;
}

AioContext *aio_context_ref(AioContext *ctx)
{
    g_atomic_int_inc(&ctx->ref);
    return ctx;
}

void aio_context_unref(AioContext *ctx)
{
    if (ctx && g_atomic_int_dec_and_test(&ctx->ref)) {
        g_assert(ctx->ops == NULL);
        context_free(ctx);
    }
}

static void publish_ops(AioContext *ctx, const AioEngineOps *ops)
{
    __atomic_store_n(&ctx->ops, ops, __ATOMIC_RELEASE);
}

/*
 * The ring is made by the thread that runs it: only then does the kernel accept SINGLE_ISSUER, and
 * completions are run by that thread alone.
 */
static void create_engine(AioContext *ctx)
{
    if (ctx->want_uring) {
        if (aio_engine_uring.create(ctx)) {
            close(ctx->epoll_fd);
            ctx->epoll_fd = -1;
            publish_ops(ctx, &aio_engine_uring);
            return;
        }
        /* Expected where a kernel or a sandbox has no io_uring; anything else is worth a word. */
        if (ctx->engine_asked || (errno != ENOSYS && errno != EPERM && errno != EACCES)) {
            report_warning("io_uring is not available (%s), using epoll", g_strerror(errno));
        }
    }
    if (!aio_engine_epoll.create(ctx)) {
        g_error("epoll_ctl: %s", g_strerror(errno));
    }
    publish_ops(ctx, &aio_engine_epoll);
}

void aio_context_enter(AioContext *ctx)
{
    g_assert(current == NULL);
    g_assert(ctx->ops == NULL);

    current = ctx;
    urcu_memb_register_thread();
    /* Timers are as exact as the kernel's, not rounded to the default 50 us. */
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    create_engine(ctx);

    pthread_mutex_lock(&contexts_lock);
    g_queue_push_tail_link(&contexts, &ctx->contexts_link);
    pthread_mutex_unlock(&contexts_lock);
}

void aio_context_leave(AioContext *ctx)
{
    const AioEngineOps *ops = ctx->ops;

    g_assert(aio_in_context(ctx));

    while (ctx->services->len > 0) {
        Service *s = g_ptr_array_index(ctx->services, ctx->services->len - 1);

        /* It is found until it is gone: destroying it may run its own callbacks. */
        s->key->destroy(s->service);
        g_ptr_array_remove(ctx->services, s);
    }

    pthread_mutex_lock(&contexts_lock);
    g_queue_unlink(&contexts, &ctx->contexts_link);
    pthread_mutex_unlock(&contexts_lock);

    aio_gate_close_context(ctx);
    publish_ops(ctx, NULL);
    ops->destroy(ctx);
    urcu_memb_unregister_thread();
    current = NULL;
}

AioContext *aio_context_current(void)
{
    return current;
}

AioContext *aio_context_main(void)
{
    return main_context;
}

bool aio_in_main_thread(void)
{
    return in_main_thread;
}

bool aio_crowded(void)
{
    return current->crowded > 0;
}

bool aio_alone(void)
{
    return current->alone;
}

bool aio_in_context(AioContext *ctx)
{
    return current == ctx;
}

bool aio_main_init(Error **errp)
{
    g_assert(main_context == NULL);

    main_context = aio_context_new(errp);
    if (!main_context) {
        return false;
    }
    in_main_thread = true;
    aio_context_enter(main_context);
    return true;
}

const char *aio_engine_name(AioContext *ctx)
{
    const AioEngineOps *ops = __atomic_load_n(&ctx->ops, __ATOMIC_ACQUIRE);

    if (!ops) {
        ops = ctx->want_uring ? &aio_engine_uring : &aio_engine_epoll;
    }
    return ops->name;
}

bool aio_has_uring(AioContext *ctx)
{
    const AioEngineOps *ops = __atomic_load_n(&ctx->ops, __ATOMIC_ACQUIRE);

    return ops && ops->sqe;
}

struct io_uring_sqe *aio_sqe(AioContext *ctx, AioCompletion *c)
{
    g_assert(aio_in_context(ctx) && ctx->ops->sqe);
    return ctx->ops->sqe(ctx, c);
}

/*
 * The sleeper stores SLEEPING and then looks for work; the waker publishes work and then looks at
 * the state. Both are sequentially consistent, so at least one of them sees the other. The winner
 * of the exchange is the only one to write the eventfd.
 */
void aio_wake(AioContext *ctx)
{
    int saved_errno = errno;
    ssize_t len = 0;

    if (__atomic_load_n(&ctx->wake_state, __ATOMIC_SEQ_CST) == AIO_AWAKE) {
        return;
    }
    switch (__atomic_exchange_n(&ctx->wake_state, AIO_AWAKE, __ATOMIC_SEQ_CST)) {
    case AIO_SLEEPING:
        len = eventfd_write(ctx->wake_fd, 1);
        break;
    case AIO_PARKED:
        len = write(ctx->park_fd[1], "", 1);
        break;
    default:
        break;
    }
    g_assert(len >= 0 || errno == EAGAIN);
    errno = saved_errno;
}

static bool park_pipe(AioContext *ctx)
{
    return ctx->park_fd[0] >= 0 || pipe2(ctx->park_fd, O_CLOEXEC | O_NONBLOCK) == 0;
}

/*
 * Besides where an engine would wait badly, this is for loops that hand a CPU to each other. A
 * write to a pipe, other than to an eventfd, tells the scheduler that the writer is about to sleep:
 * so it puts the woken thread on the writer's CPU, and not on that of the guest's processor.
 */
bool aio_park(AioContext *ctx, int64_t timeout_ns)
{
    struct timespec ts = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    struct pollfd fds[PARK_FDS];
    char drain[16];
    int n;

    if (!park_pipe(ctx) || (n = ctx->ops->wait_fds(ctx, fds + 1, PARK_FDS - 1)) < 0) {
        return false;
    }
    fds[0] = (struct pollfd){.fd = ctx->park_fd[0], .events = POLLIN};
    __atomic_store_n(&ctx->wake_state, AIO_PARKED, __ATOMIC_SEQ_CST);
    if (!aio_work_pending(ctx)) {
        ppoll(fds, (nfds_t)n + 1, timeout_ns < 0 ? NULL : &ts, NULL);
    }
    __atomic_store_n(&ctx->wake_state, AIO_AWAKE, __ATOMIC_SEQ_CST);
    /* One who has seen it parked may write after this: then the next sleep ends early. */
    if (fds[0].revents) {
        while (read(ctx->park_fd[0], drain, sizeof(drain)) == sizeof(drain)) {
            continue;
        }
    }
    return true;
}

void aio_kick(AioContext *ctx)
{
    __atomic_store_n(&ctx->kicked, 1, __ATOMIC_SEQ_CST);
    aio_wake(ctx);
}

void aio_kick_virtual_clock_users(void)
{
    pthread_mutex_lock(&contexts_lock);
    for (GList *l = contexts.head; l; l = l->next) {
        AioContext *ctx = l->data;

        if (__atomic_load_n(&ctx->uses_virtual_clock, __ATOMIC_SEQ_CST)) {
            aio_kick(ctx);
        }
    }
    pthread_mutex_unlock(&contexts_lock);
}

int64_t aio_contexts_virtual_deadline(const AioContext *except)
{
    int64_t first = INT64_MAX;

    pthread_mutex_lock(&contexts_lock);
    for (GList *l = contexts.head; l; l = l->next) {
        AioContext *ctx = l->data;

        if (ctx != except) {
            int64_t deadline = __atomic_load_n(&ctx->virtual_deadline, __ATOMIC_SEQ_CST);

            first = MIN(first, deadline);
        }
    }
    pthread_mutex_unlock(&contexts_lock);
    return first;
}

void *aio_service_peek(AioContext *ctx, const AioServiceOps *key)
{
    g_assert(aio_in_context(ctx));
    for (guint i = 0; i < ctx->services->len; i++) {
        Service *s = g_ptr_array_index(ctx->services, i);

        if (s->key == key) {
            return s->service;
        }
    }
    return NULL;
}

void *aio_service_get(AioContext *ctx, const AioServiceOps *key, Error **errp)
{
    void *service = aio_service_peek(ctx, key);
    Service *s;

    if (service) {
        return service;
    }
    service = key->create(ctx, errp);
    if (!service) {
        return NULL;
    }
    s = g_new0(Service, 1);
    s->key = key;
    s->service = service;
    g_ptr_array_add(ctx->services, s);
    return service;
}

const AioCounters *aio_counters(AioContext *ctx)
{
    return &ctx->counters;
}

void aio_set_poll_params(AioContext *ctx, int64_t max_ns, int64_t grow, int64_t shrink)
{
    __atomic_store_n(&ctx->poll_max_ns, max_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&ctx->poll_grow, grow, __ATOMIC_RELAXED);
    __atomic_store_n(&ctx->poll_shrink, shrink, __ATOMIC_RELAXED);
    aio_kick(ctx);
}

void aio_set_max_batch(AioContext *ctx, int64_t max_batch)
{
    __atomic_store_n(&ctx->max_batch, max_batch, __ATOMIC_RELAXED);
}

int64_t aio_max_batch(AioContext *ctx)
{
    return __atomic_load_n(&ctx->max_batch, __ATOMIC_RELAXED);
}

void aio_set_thread_pool(AioContext *ctx, int min, int max)
{
    g_assert(min >= 0 && max >= 1 && min <= max);
    __atomic_store_n(&ctx->pool_min, min, __ATOMIC_RELAXED);
    __atomic_store_n(&ctx->pool_max, max, __ATOMIC_RELAXED);
    aio_call(ctx, aio_pool_update, ctx);
}

void aio_get_thread_pool(AioContext *ctx, int *min, int *max)
{
    *min = __atomic_load_n(&ctx->pool_min, __ATOMIC_RELAXED);
    *max = __atomic_load_n(&ctx->pool_max, __ATOMIC_RELAXED);
}
