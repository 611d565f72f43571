/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choice of the engine, and disk I/O through the ring. */
#include <errno.h>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/aio.h"
#include "util/iothread.h"

static AioContext *ctx;

static const char *engine_of_new_thread(void)
{
    IOThreadCore *t = iothread_core_start("e", NULL, &error_abort);
    const char *name = aio_engine_name(iothread_core_context(t));

    g_assert_cmpint(aio_has_uring(iothread_core_context(t)), ==, strcmp(name, "io_uring") == 0);
    iothread_core_stop(t);
    return name;
}

static void test_environment(void)
{
    g_autofree char *old = g_strdup(g_getenv("SPINDLE_AIO_ENGINE"));
    g_autoptr(Error) err = NULL;

    g_setenv("SPINDLE_AIO_ENGINE", "epoll", TRUE);
    g_assert_cmpstr(engine_of_new_thread(), ==, "epoll");
    g_setenv("SPINDLE_AIO_ENGINE", "kqueue", TRUE);
    g_assert_null(aio_context_new(&err));
    g_assert_cmpstr(error_message(err), ==,
                    "SPINDLE_AIO_ENGINE does not accept value 'kqueue', only 'io_uring' or "
                    "'epoll'");
    if (old) {
        g_setenv("SPINDLE_AIO_ENGINE", old, TRUE);
    } else {
        g_unsetenv("SPINDLE_AIO_ENGINE");
    }
}

static void refuse_io_uring(int err)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {G_N_ELEMENTS(filter), filter};

    g_assert_cmpint(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ==, 0);
    g_assert_cmpint(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), ==, 0);
}

static void refused(int err, const char *stderr_pattern)
{
    if (g_test_subprocess()) {
        refuse_io_uring(err);
        if (err != EMFILE) {
            g_unsetenv("SPINDLE_AIO_ENGINE");
        } else {
            g_setenv("SPINDLE_AIO_ENGINE", "io_uring", TRUE);
        }
        g_assert_cmpstr(engine_of_new_thread(), ==, "epoll");
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr(stderr_pattern);
}

static void test_refused_enosys(void)
{
    refused(ENOSYS, "");
}

static void test_refused_eperm(void)
{
    refused(EPERM, "");
}

static void test_refused_for_another_reason(void)
{
    refused(EMFILE, "*warning: io_uring is not available (Too many open files), using epoll\n");
}

typedef struct Request {
    AioCompletion c; /* first */
    int res;
    int *left;
} Request;

static void request_done(AioCompletion *c, int res)
{
    Request *r = (Request *)c;

    r->res = res;
    --*r->left;
}

static bool need_uring(void)
{
    if (!aio_has_uring(ctx)) {
        g_test_skip("this kernel refuses io_uring");
        return false;
    }
    return true;
}

static void test_file_io(void)
{
    g_autofree char *name = NULL;
    char out[] = "twelve bytes", in[sizeof(out)] = "";
    int fd, left = 1;
    Request r = {.c.done = request_done, .left = &left};

    if (!need_uring()) {
        return;
    }
    fd = g_file_open_tmp("aio-XXXXXX", &name, NULL);
    io_uring_prep_write(aio_sqe(ctx, &r.c), fd, out, sizeof(out), 4096);
    AIO_WAIT_WHILE(left > 0);
    g_assert_cmpint(r.res, ==, sizeof(out));
    left = 1;
    io_uring_prep_read(aio_sqe(ctx, &r.c), fd, in, sizeof(in), 4096);
    AIO_WAIT_WHILE(left > 0);
    g_assert_cmpint(r.res, ==, sizeof(in));
    g_assert_cmpstr(in, ==, out);
    left = 1;
    io_uring_prep_read(aio_sqe(ctx, &r.c), -1, in, sizeof(in), 0);
    AIO_WAIT_WHILE(left > 0);
    g_assert_cmpint(r.res, ==, -EBADF);
    close(fd);
    unlink(name);
}

/* More than the submission and the completion queue hold, in one turn. */
static void test_more_than_the_queue(void)
{
    enum { N = 20000 };
    Request *r;
    int left = N;

    if (!need_uring()) {
        return;
    }
    r = g_new0(Request, N);
    for (int i = 0; i < N; i++) {
        r[i] = (Request){.c.done = request_done, .left = &left, .res = 1};
        io_uring_prep_nop(aio_sqe(ctx, &r[i].c));
    }
    AIO_WAIT_WHILE(left > 0);
    for (int i = 0; i < N; i++) {
        g_assert_cmpint(r[i].res, ==, 0);
    }
    g_free(r);
}

static void test_max_batch(void)
{
    static const uint64_t one = 1;
    int fd, left = 10;
    Request r[10];
    eventfd_t value;

    if (!need_uring()) {
        return;
    }
    aio_poll(ctx, false);
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    aio_set_max_batch(ctx, 4);
    g_assert_cmpint(aio_max_batch(ctx), ==, 4);
    for (int i = 0; i < 10; i++) {
        r[i] = (Request){.c.done = request_done, .left = &left};
        io_uring_prep_write(aio_sqe(ctx, &r[i].c), fd, &one, sizeof(one), 0);
    }
    /* Two batches have gone to the kernel already, the rest goes at the end of the turn. */
    g_assert_cmpint(eventfd_read(fd, &value), ==, 0);
    g_assert_cmpint(value, ==, 8);
    AIO_WAIT_WHILE(left > 0);
    g_assert_cmpint(eventfd_read(fd, &value), ==, 0);
    g_assert_cmpint(value, ==, 2);
    aio_set_max_batch(ctx, 0);
    close(fd);
}

typedef struct Chain {
    AioCompletion c; /* first */
    int depth;
    int *left;
} Chain;

static void chain_done(AioCompletion *c, int res)
{
    Chain *chain = (Chain *)c;

    if (chain->depth > 0) {
        int left = 1;
        Chain inner = {.c.done = chain_done, .depth = chain->depth - 1, .left = &left};

        io_uring_prep_nop(aio_sqe(ctx, &inner.c));
        AIO_WAIT_WHILE(left > 0);
    }
    --*chain->left;
}

static void test_wait_inside_completion(void)
{
    int left = 20;
    Chain c[20];

    if (!need_uring()) {
        return;
    }
    for (int i = 0; i < 20; i++) {
        c[i] = (Chain){.c.done = chain_done, .depth = 3, .left = &left};
        io_uring_prep_nop(aio_sqe(ctx, &c[i].c));
    }
    AIO_WAIT_WHILE(left > 0);
}

static int created, destroyed;

static void *service_create(AioContext *c, Error **errp)
{
    created++;
    return g_new0(int, 1);
}

static void service_destroy(void *service)
{
    destroyed++;
    g_free(service);
}

static const AioServiceOps service = {service_create, service_destroy};

static void service_use(void *opaque)
{
    AioContext *c = aio_context_current();
    void *s;

    g_assert_null(aio_service_peek(c, &service));
    s = aio_service_get(c, &service, &error_abort);
    g_assert_true(aio_service_get(c, &service, &error_abort) == s);
    g_assert_true(aio_service_peek(c, &service) == s);
}

static void test_service(void)
{
    IOThreadCore *t = iothread_core_start("s", NULL, &error_abort);

    aio_call_sync(iothread_core_context(t), service_use, NULL);
    g_assert_cmpint(created, ==, 1);
    g_assert_cmpint(destroyed, ==, 0);
    iothread_core_stop(t);
    g_assert_cmpint(destroyed, ==, 1);
}

static guint count_fds(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    guint n = 0;

    while (g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

static void test_nothing_left_behind(void)
{
    guint before = count_fds();

    for (int i = 0; i < 50; i++) {
        engine_of_new_thread();
    }
    g_assert_cmpint(count_fds(), ==, before);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!g_test_subprocess()) {
        aio_main_init(&error_abort);
        ctx = aio_context_main();
    }
    g_test_add_func("/aio-engine/environment", test_environment);
    g_test_add_func("/aio-engine/refused/enosys", test_refused_enosys);
    g_test_add_func("/aio-engine/refused/eperm", test_refused_eperm);
    g_test_add_func("/aio-engine/refused/another-reason", test_refused_for_another_reason);
    /* Asked to run on epoll, there is no ring to test; where the kernel refuses one they skip. */
    if (g_strcmp0(g_getenv("SPINDLE_AIO_ENGINE"), "epoll")) {
        g_test_add_func("/aio-engine/file-io", test_file_io);
        g_test_add_func("/aio-engine/more-than-the-queue", test_more_than_the_queue);
        g_test_add_func("/aio-engine/max-batch", test_max_batch);
        g_test_add_func("/aio-engine/wait-inside-completion", test_wait_inside_completion);
    }
    g_test_add_func("/aio-engine/service", test_service);
    g_test_add_func("/aio-engine/nothing-left-behind", test_nothing_left_behind);
    return g_test_run();
}
