/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queues move from thread to thread while their requests are with somebody else. */
#include "virtio-fixture.h"

#include <unistd.h>

#define NUM       64
#define TYPE_LATE "test-late"

/* A device whose requests are called back later, in the context that took them. */
typedef struct Late {
    Echo echo;
    uint32_t delay_us; /* atomic; of each request, in a worker */
    bool hold;         /* atomic; what is taken meanwhile takes until `release` */
    bool release;      /* atomic */
    unsigned taken;    /* atomic */
    unsigned strays;   /* atomic; called back where the queue no longer was */
} Late;

typedef struct LateRequest {
    AioWork work;
    VirtQueue *vq;
    VirtQueueElement elem;
    AioContext *ctx;
    bool held;
} LateRequest;

static IOThreadCore *threads[3];

static void late_finish(void *opaque)
{
    LateRequest *r = opaque;

    g_assert_true(virtqueue_is_mine(r->vq));
    virtqueue_set_last_byte(&r->elem, 0x77);
    virtqueue_push(r->vq, &r->elem, 1);
    virtqueue_idle(r->vq, r->ctx);
    virtqueue_element_release(&r->elem);
    g_free(r);
}

static int late_run(AioWork *w)
{
    LateRequest *r = (LateRequest *)w;
    Late *l = (Late *)virtqueue_device(r->vq);
    uint32_t us = __atomic_load_n(&l->delay_us, __ATOMIC_RELAXED);

    while (r->held && !__atomic_load_n(&l->release, __ATOMIC_ACQUIRE)) {
        usleep(1000);
    }
    if (us) {
        usleep(us);
    }
    return 0;
}

static void late_done(AioWork *w, int ret)
{
    LateRequest *r = (LateRequest *)w;

    g_assert_true(aio_in_context(r->ctx));
    if (virtqueue_is_mine(r->vq)) {
        late_finish(r);
    } else {
        __atomic_add_fetch(&((Late *)virtqueue_device(r->vq))->strays, 1, __ATOMIC_RELAXED);
        virtqueue_post(r->vq, late_finish, r);
    }
}

static bool late_handle(VirtIODevice *vdev, VirtQueue *vq)
{
    Late *l = (Late *)vdev;
    bool any = false;

    g_assert_true(virtqueue_is_mine(vq));
    for (;;) {
        LateRequest *r = g_new0(LateRequest, 1);

        if (virtqueue_pop(vq, &r->elem) <= 0) {
            virtqueue_element_release(&r->elem);
            g_free(r);
            return any;
        }
        any = true;
        r->vq = vq;
        r->ctx = aio_context_current();
        r->work.run = late_run;
        r->work.done = late_done;
        r->held = __atomic_load_n(&l->hold, __ATOMIC_RELAXED);
        virtqueue_busy(vq);
        aio_work_submit(r->ctx, &r->work);
        __atomic_add_fetch(&l->taken, 1, __ATOMIC_RELAXED);
    }
}

static void late_class_init(ObjectClass *klass, const void *data)
{
    ((VirtIODeviceClass *)klass)->handle_queue = late_handle;
}

static const TypeInfo late_info = {
    .name = TYPE_LATE,
    .parent = TYPE_ECHO,
    .instance_size = sizeof(Late),
    .class_init = late_class_init,
};
TYPE_REGISTER(late_info)

/* ---- the driver: NUM slots, each with one request at a time ---- */

static struct {
    uint16_t used_seen;
    unsigned completed;
    unsigned count[NUM]; /* completions of each slot */
    bool busy[NUM];
} drv;

static void drv_reset(void)
{
    memset(&drv, 0, sizeof(drv));
}

static void drv_send(VirtIODevice *vdev, unsigned upto)
{
    unsigned sent = 0;

    for (unsigned i = 0; i < NUM && sent < upto; i++) {
        if (!drv.busy[i]) {
            drv.busy[i] = true;
            desc(i, DATA + i, 1, VRING_DESC_F_WRITE, 0);
            *(uint8_t *)host(DATA + i) = 0;
            publish(NUM, i);
            sent++;
        }
    }
    if (sent) {
        virtio_queue_kick(vdev, 0);
    }
}

static void drv_reap(void)
{
    uint16_t idx = get16(USED + 2);

    vring_rmb();
    while (drv.used_seen != idx) {
        unsigned slot = get16(USED + 4 + 8 * (drv.used_seen % NUM));

        g_assert_cmpuint(slot, <, NUM);
        g_assert_true(drv.busy[slot]);
        g_assert_cmphex(*(uint8_t *)host(DATA + slot), ==, 0x77);
        drv.busy[slot] = false;
        drv.count[slot]++;
        drv.completed++;
        drv.used_seen++;
    }
}

static bool drv_idle(void)
{
    drv_reap();
    for (unsigned i = 0; i < NUM; i++) {
        if (drv.busy[i]) {
            return false;
        }
    }
    return true;
}

static void drv_finish(void)
{
    while (!drv_idle()) {
        aio_poll(aio_context_main(), true);
    }
}

static Late *late_new(AioContext *ctx)
{
    Late *l = (Late *)echo_new_type(TYPE_LATE, ctx);

    drv_reset();
    echo_up(&l->echo, NUM, 0);
    return l;
}

static AioContext *some_context(unsigned i)
{
    return i % 4 == 3 ? aio_context_main() : iothread_core_context(threads[i % 4]);
}

static void count_up(void *opaque)
{
    g_assert_true(aio_in_main_thread());
    ++*(unsigned *)opaque;
}

static void move_to(Late *l, AioContext *ctx, unsigned *ended)
{
    l->echo.ctx = ctx;
    g_assert_true(virtio_move_queues((VirtIODevice *)l, count_up, ended, &error_abort));
}

/* ---- tests ---- */

static void test_under_load(void)
{
    Late *l = late_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)l;
    unsigned ended = 0, n = 2000;

    for (unsigned i = 0; i < n; i++) {
        __atomic_store_n(&l->delay_us, g_test_rand_int_range(0, 4) * 30, __ATOMIC_RELAXED);
        drv_send(vdev, g_test_rand_int_range(1, NUM));
        move_to(l, some_context(g_test_rand_int_range(0, 4)), &ended);
        while (vdev->moving) {
            aio_poll(aio_context_main(), true);
        }
        g_assert_true(virtqueue_owner(vdev->queues[0]) == l->echo.ctx);
        g_assert_cmpint(vdev->queues[0]->guest.fd >= 0, ==, l->echo.ctx != aio_context_main());
        drv_reap();
    }
    drv_finish();
    virtio_wait_moved(vdev, INT64_MAX / 4);
    g_assert_cmpuint(ended, ==, n);
    g_assert_cmpuint(drv.completed, >=, n);
    g_assert_cmpuint(__atomic_load_n(&l->strays, __ATOMIC_RELAXED), >, 0);
    g_assert_null(vdev->queues[0]->o.strays);
    echo_free(&l->echo);
}

/* The queue is served by its new thread although the old one still has requests, and the change
 * ends only when those are back. */
static void test_does_not_wait(void)
{
    Late *l = late_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)l;
    unsigned ended = 0;

    l->hold = true;
    drv_send(vdev, 4);
    while (__atomic_load_n(&l->taken, __ATOMIC_RELAXED) != 4) {
        aio_poll(aio_context_main(), false);
    }
    __atomic_store_n(&l->hold, false, __ATOMIC_RELAXED);
    move_to(l, iothread_core_context(threads[1]), &ended);
    virtio_wait_moved(vdev, 1000000);
    drv_send(vdev, 10);
    while (drv.completed < 10) {
        aio_poll(aio_context_main(), true);
        drv_reap();
    }
    g_assert_true(virtqueue_owner(vdev->queues[0]) == iothread_core_context(threads[1]));
    g_assert_cmpuint(drv.completed, ==, 10);
    g_assert_cmpuint(ended, ==, 0);
    __atomic_store_n(&l->release, true, __ATOMIC_RELEASE);
    drv_finish();
    virtio_wait_moved(vdev, INT64_MAX / 4);
    g_assert_cmpuint(ended, ==, 1);
    g_assert_cmpuint(drv.completed, ==, 14);
    echo_free(&l->echo);
}

/* There and back again: what was a stray is none any more. */
static void test_home_again(void)
{
    Late *l = late_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)l;
    unsigned ended = 0;

    for (unsigned i = 0; i < 300; i++) {
        __atomic_store_n(&l->delay_us, 200, __ATOMIC_RELAXED);
        drv_send(vdev, 16);
        for (unsigned k = 0; k < 4; k++) {
            move_to(l, iothread_core_context(threads[k & 1 ? 0 : 1]), &ended);
            while (vdev->moving) {
                aio_poll(aio_context_main(), true);
            }
        }
        drv_finish();
    }
    virtio_wait_moved(vdev, INT64_MAX / 4);
    g_assert_cmpuint(ended, ==, 1200);
    echo_free(&l->echo);
}

static void test_with_pause_stop_and_reset(void)
{
    Late *l = late_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)l;
    unsigned ended = 0, moves = 0;

    for (unsigned i = 0; i < 400; i++) {
        __atomic_store_n(&l->delay_us, i % 3 * 50, __ATOMIC_RELAXED);
        drv_send(vdev, 20);
        switch (i % 4) {
        case 0:
            virtio_pause(vdev);
            move_to(l, some_context(i / 4), &ended);
            virtio_resume(vdev);
            break;
        case 1:
            move_to(l, some_context(i / 4), &ended);
            virtio_pause(vdev);
            virtio_resume(vdev);
            break;
        case 2:
            move_to(l, some_context(i / 4), &ended);
            vdev->vm_running = false;
            virtio_update_running(vdev);
            g_assert_true(virtqueue_is_mine(vdev->queues[0]));
            /* Nothing is left to be moved, and the next start knows. */
            move_to(l, some_context(i / 4 + 1), &ended);
            moves++;
            g_assert_cmpuint(vdev->moving, ==, 0);
            vdev->vm_running = true;
            virtio_update_running(vdev);
            break;
        case 3:
            move_to(l, some_context(i / 4), &ended);
            virtio_reset(vdev);
            memset(ram, 0, RAM_SIZE);
            drv_reset();
            echo_up(&l->echo, NUM, 0);
            break;
        }
        moves++;
        drv_finish();
        while (vdev->moving) {
            aio_poll(aio_context_main(), true);
        }
        g_assert_true(virtqueue_owner(vdev->queues[0]) == l->echo.ctx);
    }
    virtio_wait_moved(vdev, INT64_MAX / 4);
    g_assert_cmpuint(ended, ==, moves);
    echo_free(&l->echo);
}

/* A device that goes away takes the unfinished change with it. */
static void test_gone_while_moving(void)
{
    for (unsigned i = 0; i < 100; i++) {
        Late *l = late_new(iothread_core_context(threads[0]));
        unsigned ended = 0;

        __atomic_store_n(&l->delay_us, 100, __ATOMIC_RELAXED);
        drv_send((VirtIODevice *)l, 30);
        move_to(l, some_context(i), &ended);
        echo_free(&l->echo);
        g_assert_cmpuint(ended, ==, 1);
    }
}

/* As soon as a change has ended, the threads that lost the queue may end, too. */
static void test_threads_go(void)
{
    Late *l = late_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)l;

    for (unsigned i = 0; i < 100; i++) {
        IOThreadCore *chain[4];
        unsigned ended = 0;

        __atomic_store_n(&l->delay_us, i % 4 * 40, __ATOMIC_RELAXED);
        for (unsigned k = 0; k < G_N_ELEMENTS(chain); k++) {
            chain[k] = iothread_core_start("t", NULL, &error_abort);
            drv_send(vdev, 8);
            move_to(l, iothread_core_context(chain[k]), &ended);
            virtio_wait_moves(vdev);
            drv_reap();
        }
        move_to(l, some_context(i), &ended);
        while (ended < 5) {
            aio_poll(aio_context_main(), true);
        }
        for (unsigned k = 0; k < G_N_ELEMENTS(chain); k++) {
            iothread_core_stop(chain[k]);
        }
        drv_finish();
    }
    echo_free(&l->echo);
}

static void hold_thread(void *opaque)
{
    while (!__atomic_load_n((bool *)opaque, __ATOMIC_ACQUIRE)) {
        usleep(1000);
    }
}

/* A thread that does not answer holds up nobody; another change waits for its turn. */
static void test_thread_does_not_answer(void)
{
    Late *l = late_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)l;
    g_autoptr(Error) err = NULL;
    bool go_on = false;
    unsigned ended = 0;

    drv_send(vdev, 10);
    drv_finish();
    aio_call(iothread_core_context(threads[0]), hold_thread, &go_on);
    move_to(l, iothread_core_context(threads[1]), &ended);
    virtio_wait_moved(vdev, 2000000);
    g_assert_cmpuint(ended, ==, 0);
    virtio_wait_arrived(vdev, 2000000);
    g_assert_false(virtio_move_queues(vdev, count_up, &ended, &err));
    g_assert_cmpstr(error_message(err), ==, "virtqueue 0 is still on its way to another thread");
    drv_send(vdev, 10);
    __atomic_store_n(&go_on, true, __ATOMIC_RELEASE);
    virtio_wait_arrived(vdev, INT64_MAX / 4);
    g_assert_cmpuint(vdev->moving, ==, 0);
    drv_finish();
    virtio_wait_moved(vdev, INT64_MAX / 4);
    g_assert_cmpuint(ended, ==, 1);
    g_assert_true(virtqueue_owner(vdev->queues[0]) == iothread_core_context(threads[1]));
    echo_free(&l->echo);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fixture_init();
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++) {
        g_autofree char *name = g_strdup_printf("t%u", i);

        threads[i] = iothread_core_start(name, NULL, &error_abort);
    }
    g_test_add_func("/virtqueue/move/under-load", test_under_load);
    g_test_add_func("/virtqueue/move/does-not-wait", test_does_not_wait);
    g_test_add_func("/virtqueue/move/home-again", test_home_again);
    g_test_add_func("/virtqueue/move/with-pause-stop-and-reset", test_with_pause_stop_and_reset);
    g_test_add_func("/virtqueue/move/gone-while-moving", test_gone_while_moving);
    g_test_add_func("/virtqueue/move/threads-go", test_threads_go);
    g_test_add_func("/virtqueue/move/thread-does-not-answer", test_thread_does_not_answer);
    int ret = g_test_run();
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++) {
        iothread_core_stop(threads[i]);
    }
    return ret;
}
