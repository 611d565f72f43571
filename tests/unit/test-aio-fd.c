/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptor handlers: level-triggered, removable anywhere, never nested. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/aio.h"
#include "util/event-notifier.h"
#include "util/iothread.h"

static AioContext *ctx;

typedef struct Watch {
    AioFd *h;
    int fd;
    int reads;
    int writes;
    int take;       /* bytes to read per callback */
    AioFd **victim; /* removed by the callback */
} Watch;

static void on_read(void *opaque)
{
    Watch *w = opaque;
    char buf[16];

    w->reads++;
    if (w->take) {
        g_assert_cmpint(read(w->fd, buf, w->take), ==, w->take);
    }
    if (w->victim && *w->victim) {
        aio_fd_remove(*w->victim);
        *w->victim = NULL;
    }
}

static void on_write(void *opaque)
{
    Watch *w = opaque;

    w->writes++;
    aio_fd_want_write(w->h, false);
}

static const AioFdOps ops = {.read = on_read, .write = on_write};

static void make_pair(int fds[2])
{
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), ==, 0);
}

static void put(int fd, const char *s)
{
    g_assert_cmpint(write(fd, s, strlen(s)), ==, strlen(s));
}

/* Enough turns for anything that is on its way. */
static void settle(void)
{
    for (int i = 0; i < 10; i++) {
        aio_poll(ctx, false);
    }
}

static void test_data_left_unread(void)
{
    Watch w = {.take = 1};
    int fds[2];

    make_pair(fds);
    w.fd = fds[0];
    w.h = aio_fd_add(ctx, fds[0], &ops, &w);
    put(fds[1], "hello");
    /* Nothing else arrives: each call must come from what is still there. */
    while (w.reads < 5) {
        g_assert_true(aio_poll(ctx, true));
    }
    settle();
    g_assert_cmpint(w.reads, ==, 5);
    put(fds[1], "x");
    while (w.reads < 6) {
        aio_poll(ctx, true);
    }
    settle();
    g_assert_cmpint(w.reads, ==, 6);
    aio_fd_remove(w.h);
    close(fds[0]);
    close(fds[1]);
}

static void test_interest(void)
{
    Watch w = {.take = 1};
    int fds[2];

    make_pair(fds);
    w.fd = fds[0];
    w.h = aio_fd_add(ctx, fds[0], &ops, &w);
    settle();
    g_assert_cmpint(w.writes, ==, 0);
    aio_fd_want_write(w.h, true);
    while (w.writes < 1) {
        aio_poll(ctx, true);
    }
    settle();
    g_assert_cmpint(w.writes, ==, 1);

    aio_fd_want_read(w.h, false);
    put(fds[1], "ab");
    settle();
    g_assert_cmpint(w.reads, ==, 0);
    for (int i = 0; i < 100; i++) {
        aio_fd_want_read(w.h, true);
        aio_fd_want_read(w.h, false);
    }
    settle();
    g_assert_cmpint(w.reads, ==, 0);
    aio_fd_want_read(w.h, true);
    while (w.reads < 2) {
        aio_poll(ctx, true);
    }
    settle();
    g_assert_cmpint(w.reads, ==, 2);
    aio_fd_remove(w.h);
    close(fds[0]);
    close(fds[1]);
}

static void test_hang_up(void)
{
    Watch w = {0};
    int fds[2];

    make_pair(fds);
    w.fd = fds[0];
    w.h = aio_fd_add(ctx, fds[0], &ops, &w);
    settle();
    close(fds[1]);
    while (w.reads < 3) {
        aio_poll(ctx, true);
    }
    /* Without interest, a hang-up must not keep the loop awake or call anybody. */
    aio_fd_want_read(w.h, false);
    w.reads = 0;
    settle();
    g_assert_cmpint(w.reads, ==, 0);
    g_assert_false(aio_poll(ctx, false));
    aio_fd_remove(w.h);
    close(fds[0]);
}

static void test_remove_closes_for_the_peer(void)
{
    Watch w = {.take = 1};
    int fds[2];
    char c;

    make_pair(fds);
    w.fd = fds[0];
    w.h = aio_fd_add(ctx, fds[0], &ops, &w);
    settle();
    aio_fd_remove(w.h);
    close(fds[0]);
    /* No reference to the file is left in the kernel. */
    g_assert_cmpint(read(fds[1], &c, 1), ==, 0);
    close(fds[1]);
}

static void test_remove_in_callbacks(void)
{
    for (int round = 0; round < 50; round++) {
        Watch a = {.take = 1}, b = {.take = 1};
        int fa[2], fb[2];

        make_pair(fa);
        make_pair(fb);
        a.fd = fa[0];
        b.fd = fb[0];
        a.h = aio_fd_add(ctx, fa[0], &ops, &a);
        b.h = aio_fd_add(ctx, fb[0], &ops, &b);
        a.victim = &b.h;
        b.victim = &a.h;
        if (round % 2) {
            settle();
        }
        put(fa[1], "x");
        put(fb[1], "x");
        while (a.reads + b.reads < 1) {
            aio_poll(ctx, true);
        }
        settle();
        g_assert_cmpint(a.reads + b.reads, ==, 1); /* one removed the other in time */

        if (a.h) {
            a.victim = &a.h; /* itself */
            put(fa[1], "xy");
            while (a.h) {
                aio_poll(ctx, true);
            }
        } else {
            b.victim = &b.h;
            put(fb[1], "xy");
            while (b.h) {
                aio_poll(ctx, true);
            }
        }
        settle();
        g_assert_cmpint(a.reads + b.reads, ==, 2);
        close(fa[0]);
        close(fa[1]);
        close(fb[0]);
        close(fb[1]);
    }
}

typedef struct Nest {
    AioFd *h;
    int fd;
    int depth;
    int calls;
    int other;
} Nest;

static void nest_read(void *opaque)
{
    Nest *n = opaque;
    char c;

    g_assert_cmpint(n->depth, ==, 0);
    n->depth++;
    n->calls++;
    g_assert_cmpint(read(n->fd, &c, 1), ==, 1);
    if (n->calls == 1) {
        AioContext *self = aio_context_current();

        /* More data is there all the time; a nested wait neither nests nor spins. */
        aio_call(self, (AioCallback *)aio_kick, self);
        for (int i = 0; i < 20; i++) {
            aio_poll(self, false);
        }
        g_assert_false(aio_poll(self, false));
        n->other = 1;
    }
    n->depth--;
}

static const AioFdOps nest_ops = {.read = nest_read};

static void test_callbacks_do_not_nest(void)
{
    Nest n = {0};
    int fds[2];

    make_pair(fds);
    n.fd = fds[0];
    n.h = aio_fd_add(ctx, fds[0], &nest_ops, &n);
    put(fds[1], "abc");
    while (n.calls < 3) {
        aio_poll(ctx, true);
    }
    g_assert_cmpint(n.other, ==, 1);
    aio_fd_remove(n.h);
    close(fds[0]);
    close(fds[1]);
}

typedef struct Counter {
    AioFd *h;
    EventNotifier n;
    int64_t seen;
    bool lazy; /* every other time, leaves it set */
    unsigned calls;
} Counter;

static void counter_read(void *opaque)
{
    Counter *c = opaque;
    uint64_t v;

    if (c->lazy && c->calls++ % 2) {
        return;
    }
    if (c->lazy) {
        if (read(c->n.fd, &v, sizeof(v)) == sizeof(v)) {
            c->seen++;
        }
    } else if (event_notifier_test_and_clear(&c->n)) {
        c->seen++;
    }
}

static const AioFdOps counter_ops = {.read = counter_read};

/* Each signal is answered before the next is sent: one lost wake-up would hang. */
static void signal_many(bool lazy)
{
    Counter c = {.lazy = lazy};

    g_assert_true(event_notifier_init(&c.n, false, &error_abort));
    c.h = aio_fd_add(ctx, c.n.fd, &counter_ops, &c);
    for (int i = 1; i <= 2000; i++) {
        event_notifier_set(&c.n);
        while (c.seen < i) {
            aio_poll(ctx, true);
        }
    }
    settle();
    g_assert_cmpint(c.seen, ==, 2000);
    aio_fd_remove(c.h);
    event_notifier_cleanup(&c.n);
}

static void test_notifier(void)
{
    signal_many(false);
}

static void test_notifier_left_set(void)
{
    signal_many(true);
}

/* A notifier is handled by test_and_clear at first (multishot), and then left set for a while. */
typedef struct Moody {
    AioFd *h;
    EventNotifier n;
    int ignore;
    int calls;
    int cleared;
} Moody;

static void moody_read(void *opaque)
{
    Moody *m = opaque;

    m->calls++;
    if (m->ignore > 0) {
        m->ignore--;
        return;
    }
    m->cleared += event_notifier_test_and_clear(&m->n);
}

static const AioFdOps moody_ops = {.read = moody_read};

static void test_notifier_ignored_later(void)
{
    Moody m = {0};

    g_assert_true(event_notifier_init(&m.n, true, &error_abort));
    m.h = aio_fd_add(ctx, m.n.fd, &moody_ops, &m);
    for (int i = 1; i <= 200; i++) {
        m.ignore = i % 4 == 0 ? i % 7 : 0;
        while (m.cleared < i) {
            aio_poll(ctx, true);
        }
        event_notifier_set(&m.n);
    }
    aio_fd_remove(m.h);
    event_notifier_cleanup(&m.n);
}

static void *notify_thread(void *opaque)
{
    EventNotifier *n = opaque;

    for (int i = 0; i < 50000; i++) {
        event_notifier_set(n);
    }
    return NULL;
}

static void test_notifier_from_another_thread(void)
{
    Counter c = {0};
    pthread_t thread;

    g_assert_true(event_notifier_init(&c.n, false, &error_abort));
    c.h = aio_fd_add(ctx, c.n.fd, &counter_ops, &c);
    g_assert_cmpint(pthread_create(&thread, NULL, notify_thread, &c.n), ==, 0);
    for (int i = 0; i < 50; i++) {
        int64_t before = c.seen;

        event_notifier_set(&c.n);
        while (c.seen == before) {
            aio_poll(ctx, true);
        }
    }
    pthread_join(thread, NULL);
    aio_fd_remove(c.h);
    event_notifier_cleanup(&c.n);
}

static void test_regular_file_is_always_ready(void)
{
    g_autofree char *name = NULL;
    Watch w = {.take = 1};
    int fd = g_file_open_tmp("aio-XXXXXX", &name, NULL);

    g_assert_cmpint(fd, >=, 0);
    put(fd, "abc");
    g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
    w.fd = fd;
    w.h = aio_fd_add(ctx, fd, &ops, &w);
    while (w.reads < 3) {
        aio_poll(ctx, true);
    }
    aio_fd_remove(w.h);
    close(fd);
    unlink(name);

    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    w = (Watch){.fd = fd};
    w.h = aio_fd_add(ctx, fd, &ops, &w);
    while (w.reads < 3) {
        aio_poll(ctx, true);
    }
    aio_fd_want_read(w.h, false);
    settle();
    g_assert_false(aio_poll(ctx, false));
    aio_fd_remove(w.h);
    close(fd);
}

static void test_two_handlers_of_one_descriptor(void)
{
    Watch r = {.take = 1}, w = {0};
    int fds[2];

    make_pair(fds);
    r.fd = w.fd = fds[0];
    r.h = aio_fd_add(ctx, fds[0], &ops, &r);
    w.h = aio_fd_add(ctx, fds[0], &ops, &w);
    aio_fd_want_read(w.h, false);
    aio_fd_want_write(w.h, true);
    put(fds[1], "x");
    while (r.reads < 1 || w.writes < 1) {
        aio_poll(ctx, true);
    }
    aio_fd_remove(w.h);
    put(fds[1], "x");
    while (r.reads < 2) {
        aio_poll(ctx, true);
    }
    aio_fd_remove(r.h);
    close(fds[0]);
    close(fds[1]);
}

static void test_many(void)
{
    enum { N = 400 };
    Watch *w = g_new0(Watch, N);
    int(*fds)[2] = g_malloc(sizeof(int[2]) * N);
    int total = 0;

    for (int i = 0; i < N; i++) {
        make_pair(fds[i]);
        w[i].fd = fds[i][0];
        w[i].take = 1;
        w[i].h = aio_fd_add(ctx, fds[i][0], &ops, &w[i]);
    }
    for (int i = 0; i < N; i++) {
        put(fds[i][1], "ab");
    }
    while (total < 2 * N) {
        aio_poll(ctx, true);
        total = 0;
        for (int i = 0; i < N; i++) {
            total += w[i].reads;
        }
    }
    for (int i = 0; i < N; i++) {
        g_assert_cmpint(w[i].reads, ==, 2);
        aio_fd_remove(w[i].h);
        close(fds[i][0]);
        close(fds[i][1]);
    }
    g_free(w);
    g_free(fds);
}

static void stopped_add(void *opaque)
{
    Watch *w = opaque;

    w->h = aio_fd_add(aio_context_current(), w->fd, &ops, w);
}

/* A handler that outlived its thread can still be removed. */
static void test_remove_after_the_thread(void)
{
    IOThreadCore *t = iothread_core_start("gone", NULL, &error_abort);
    AioContext *c = aio_context_ref(iothread_core_context(t));
    Watch w = {.take = 1};
    int fds[2];

    make_pair(fds);
    w.fd = fds[0];
    aio_call_sync(c, stopped_add, &w);
    iothread_core_stop(t);
    aio_fd_remove(w.h);
    aio_context_unref(c);
    close(fds[0]);
    close(fds[1]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    ctx = aio_context_main();
    g_test_add_func("/aio-fd/data-left-unread", test_data_left_unread);
    g_test_add_func("/aio-fd/interest", test_interest);
    g_test_add_func("/aio-fd/hang-up", test_hang_up);
    g_test_add_func("/aio-fd/remove-closes-for-the-peer", test_remove_closes_for_the_peer);
    g_test_add_func("/aio-fd/remove-in-callbacks", test_remove_in_callbacks);
    g_test_add_func("/aio-fd/callbacks-do-not-nest", test_callbacks_do_not_nest);
    g_test_add_func("/aio-fd/notifier", test_notifier);
    g_test_add_func("/aio-fd/notifier-left-set", test_notifier_left_set);
    g_test_add_func("/aio-fd/notifier-ignored-later", test_notifier_ignored_later);
    g_test_add_func("/aio-fd/notifier-from-another-thread", test_notifier_from_another_thread);
    g_test_add_func("/aio-fd/regular-file-is-always-ready", test_regular_file_is_always_ready);
    g_test_add_func("/aio-fd/two-handlers-of-one-descriptor", test_two_handlers_of_one_descriptor);
    g_test_add_func("/aio-fd/many", test_many);
    g_test_add_func("/aio-fd/remove-after-the-thread", test_remove_after_the_thread);
    return g_test_run();
}
