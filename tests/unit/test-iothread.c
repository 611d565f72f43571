/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IOThreads: names, CPUs, the big lock and the main thread's sleep. */
#include <pthread.h>
#include <sys/resource.h>

#include "util/aio.h"
#include "util/biglock.h"
#include "util/iothread.h"

static void check_name(const char *id, const char *expected)
{
    IOThreadCore *t = iothread_core_start(id, NULL, &error_abort);
    g_autofree char *path = g_strdup_printf("/proc/self/task/%d/comm", iothread_core_tid(t));
    g_autofree char *comm = NULL;

    g_assert_true(g_file_get_contents(path, &comm, NULL, NULL));
    g_assert_cmpstr(comm, ==, expected);
    iothread_core_stop(t);
}

static void test_name(void)
{
    check_name("t0", "IO t0\n");
    check_name("a-very-long-identifier", "IO a-very-long-\n");
}

static void get_affinity(void *opaque)
{
    sched_getaffinity(0, sizeof(cpu_set_t), opaque);
}

static void test_affinity(void)
{
    g_autoptr(Error) err = NULL;
    cpu_set_t all, one, got, none;
    IOThreadCore *t;
    int cpu = 0;

    sched_getaffinity(0, sizeof(all), &all);
    while (!CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    t = iothread_core_start("cpu", &one, &error_abort);
    aio_call_sync(iothread_core_context(t), get_affinity, &got);
    g_assert_true(CPU_EQUAL(&got, &one));
    g_assert_true(iothread_core_set_affinity(t, &all, &error_abort));
    aio_call_sync(iothread_core_context(t), get_affinity, &got);
    g_assert_true(CPU_EQUAL(&got, &all));

    CPU_ZERO(&none);
    CPU_SET(CPU_SETSIZE - 1, &none);
    g_assert_false(iothread_core_set_affinity(t, &none, &err));
    g_assert_nonnull(err);
    iothread_core_stop(t);

    error_free(g_steal_pointer(&err));
    g_assert_null(iothread_core_start("cpu", &none, &err));
    g_assert_nonnull(err);
}

typedef struct Guest {
    AioContext *main;
    int go; /* atomic */
    int held_by_guest;
} Guest;

static void *vcpu(void *opaque)
{
    Guest *g = opaque;

    for (int i = 0; i < 200; i++) {
        big_lock();
        ASSERT_BIG_LOCK();
        g->held_by_guest++;
        big_unlock();
    }
    __atomic_store_n(&g->go, 1, __ATOMIC_SEQ_CST);
    aio_kick(g->main);
    return NULL;
}

/* The main thread lets go of the big lock exactly while it sleeps. */
static void test_big_lock(void)
{
    Guest g = {.main = aio_context_main()};
    pthread_t thread;

    big_lock();
    g_assert_cmpint(pthread_create(&thread, NULL, vcpu, &g), ==, 0);
    g_usleep(1000);
    g_assert_cmpint(g.held_by_guest, ==, 0);
    AIO_WAIT_WHILE(!__atomic_load_n(&g.go, __ATOMIC_SEQ_CST));
    g_assert_true(big_lock_held());
    pthread_join(thread, NULL);
    g_assert_cmpint(g.held_by_guest, ==, 200);
    aio_poll(g.main, false);
    g_assert_true(big_lock_held());
    big_unlock();
    g_assert_false(big_lock_held());
}

typedef struct Programmer {
    AioTimer *t;
    int fired;
    int go; /* atomic */
} Programmer;

static void timer_fired(void *opaque)
{
    ASSERT_BIG_LOCK();
    ((Programmer *)opaque)->fired++;
}

static void *program_timer(void *opaque)
{
    Programmer *p = opaque;

    for (int i = 0; i < 200; i++) {
        big_lock();
        aio_timer_set(p->t, aio_clock_ns(AIO_CLOCK_REALTIME) + (i % 2 ? 1000 : 1000000000));
        if (i % 3 == 0) {
            aio_timer_cancel(p->t);
        }
        big_unlock();
    }
    big_lock();
    p->fired = 0;
    aio_timer_set(p->t, aio_clock_ns(AIO_CLOCK_REALTIME) + 1000000);
    big_unlock();
    return NULL;
}

/* A vCPU may program a timer of the main thread, which sleeps without a limit. */
static void test_timer_under_big_lock(void)
{
    Programmer p = {0};
    pthread_t thread;

    p.t = aio_timer_new(aio_context_main(), AIO_CLOCK_REALTIME, timer_fired, &p);
    big_lock();
    g_assert_cmpint(pthread_create(&thread, NULL, program_timer, &p), ==, 0);
    while (p.fired == 0 || aio_timer_pending(p.t)) {
        aio_poll(aio_context_main(), true);
    }
    aio_poll(aio_context_main(), false);
    big_unlock();
    pthread_join(thread, NULL);
    big_lock();
    while (p.fired == 0) {
        aio_poll(aio_context_main(), true);
    }
    aio_timer_free(p.t);
    big_unlock();
}

static void get_switches(void *opaque)
{
    getrusage(RUSAGE_THREAD, opaque);
}

/* An idle loop does not even wake up. */
static void test_idle(void)
{
    IOThreadCore *t = iothread_core_start("idle", NULL, &error_abort);
    struct rusage before, after;

    aio_set_poll_params(iothread_core_context(t), 32768, 0, 0);
    aio_call_sync(iothread_core_context(t), get_switches, &before);
    g_usleep(300000);
    aio_call_sync(iothread_core_context(t), get_switches, &after);
    g_assert_cmpint(after.ru_nvcsw - before.ru_nvcsw, <=, 5);
    iothread_core_stop(t);
}

static void test_start_stop(void)
{
    for (int i = 0; i < 200; i++) {
        iothread_core_stop(iothread_core_start("x", NULL, &error_abort));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    g_test_add_func("/iothread/name", test_name);
    g_test_add_func("/iothread/affinity", test_affinity);
    g_test_add_func("/iothread/big-lock", test_big_lock);
    g_test_add_func("/iothread/timer-under-big-lock", test_timer_under_big_lock);
    g_test_add_func("/iothread/idle", test_idle);
    g_test_add_func("/iothread/start-stop", test_start_stop);
    return g_test_run();
}
