/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queues change hands between the main thread and IOThreads while a driver keeps them busy. */
#include "virtio-fixture.h"

#define NUM 64

static IOThreadCore *threads[2];

/* One chain at a time, as fast as they come back; kicks as the device asks. */
static void drive(Echo *e, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint16_t want = get16(AVAIL + 2) + 1;

        desc(0, DATA, 1, VRING_DESC_F_WRITE, 0);
        publish(NUM, 0);
        virtio_queue_kick((VirtIODevice *)e, 0);
        while (get16(USED + 2) != want) {
            aio_poll(aio_context_main(), false);
        }
    }
}

static void fill(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        desc(i, DATA + i, 1, VRING_DESC_F_WRITE, 0);
        publish(NUM, i);
    }
}

static void set_running(VirtIODevice *vdev, bool on)
{
    vdev->vm_running = on;
    virtio_update_running(vdev);
}

static void wait_used(uint16_t idx)
{
    while (get16(USED + 2) != idx) {
        aio_poll(aio_context_main(), false);
    }
}

static void test_served_in_thread(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));

    echo_up(e, NUM, 0);
    drive(e, 100);
    virtio_reset((VirtIODevice *)e);
    g_assert_true(e->seen == iothread_core_context(threads[0]));
    g_assert_cmpuint(e->handled, ==, 100);
    g_assert_cmpuint(e->notified, >=, 1);
    echo_free(e);
}

/* What is in the ring when the driver says DRIVER_OK needs no kick; nor does what is there when the
 * VM resumes. */
static void test_found_without_kick(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)e;

    virtio_set_status(vdev, 11);
    virtio_queue_set_num(vdev->queues[0], NUM);
    virtio_queue_set_rings(vdev->queues[0], DESC, AVAIL, USED);
    fill(10);
    virtio_set_status(vdev, 15);
    wait_used(10);
    set_running(vdev, false);
    fill(10);
    g_assert_cmpuint(get16(USED + 2), ==, 10);
    set_running(vdev, true);
    wait_used(20);
    echo_free(e);
}

static void test_early_kick(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)e;

    virtio_set_status(vdev, 11);
    virtio_queue_set_num(vdev->queues[0], NUM);
    virtio_queue_set_rings(vdev->queues[0], DESC, AVAIL, USED);
    drive(e, 3);
    g_assert_cmphex(virtio_get_status(vdev), ==, 11);
    virtio_set_status(vdev, 15);
    drive(e, 3);
    g_assert_cmpuint(get16(USED + 2), ==, 6);
    echo_free(e);
}

/* After a stop or reset has returned nothing moves. */
static void test_still_after_stop(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)e;

    echo_up(e, NUM, 0);
    for (unsigned i = 0; i < 300; i++) {
        uint16_t used;

        fill(32);
        virtio_queue_kick(vdev, 0);
        set_running(vdev, false);
        used = get16(USED + 2);
        g_assert_true(used == get16(AVAIL + 2) || used == (uint16_t)(get16(AVAIL + 2) - 32));
        g_assert_true(vdev->queues[0]->ctx == aio_context_main());
        memset(host(DATA), 0xee, 64);
        for (unsigned k = 0; k < 64; k++) {
            g_assert_cmphex(*(uint8_t *)host(DATA + k), ==, 0xee);
        }
        g_assert_cmpuint(get16(USED + 2), ==, used);
        set_running(vdev, true);
        wait_used(get16(AVAIL + 2));
    }
    for (unsigned i = 0; i < 100; i++) {
        virtio_reset(vdev);
        memset(ram, 0, RAM_SIZE);
        echo_up(e, NUM, 0);
        fill(NUM);
        virtio_queue_kick(vdev, 0);
    }
    virtio_reset(vdev);
    memset(ram, 0xee, RAM_SIZE);
    for (unsigned i = 0; i < RAM_SIZE; i++) {
        g_assert_cmphex(ram[i], ==, 0xee);
    }
    echo_free(e);
}

static void test_pause(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)e;

    echo_up(e, NUM, 0);
    for (unsigned i = 0; i < 300; i++) {
        uint16_t used;

        drive(e, 2);
        virtio_pause(vdev);
        virtio_pause(vdev);
        used = get16(USED + 2);
        fill(5);
        virtio_queue_kick(vdev, 0);
        virtio_resume(vdev);
        g_assert_cmpuint(get16(USED + 2), ==, used);
        virtio_resume(vdev);
        wait_used(used + 5);
    }
    /* Stopping, starting and resetting within a pause. */
    virtio_pause(vdev);
    set_running(vdev, false);
    set_running(vdev, true);
    fill(5);
    virtio_resume(vdev);
    wait_used(get16(AVAIL + 2));
    virtio_pause(vdev);
    virtio_reset(vdev);
    virtio_resume(vdev);
    echo_free(e);
}

static void test_queue_reset(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)e;

    echo_up(e, NUM, 0);
    for (unsigned i = 0; i < 100; i++) {
        fill(20);
        virtio_queue_kick(vdev, 0);
        virtio_queue_reset(vdev->queues[0]);
        g_assert_false(virtqueue_ready(vdev->queues[0]));
        memset(ram, 0, RAM_SIZE);
        virtio_queue_set_num(vdev->queues[0], NUM);
        virtio_queue_set_rings(vdev->queues[0], DESC, AVAIL, USED);
        drive(e, 2);
    }
    echo_free(e);
}

/* The size of a queue in use is changed under it: no crash, and the device is usable after reset.
 */
static void test_resize_in_use(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)e;

    for (unsigned i = 0; i < 100; i++) {
        memset(ram, 0, RAM_SIZE);
        echo_up(e, NUM, 0);
        fill(40);
        virtio_queue_kick(vdev, 0);
        virtio_queue_set_num(vdev->queues[0], 16 + i);
        fill(10);
        virtio_queue_kick(vdev, 0);
        virtio_reset(vdev);
    }
    memset(ram, 0, RAM_SIZE);
    echo_up(e, NUM, 0);
    drive(e, 10);
    echo_free(e);
}

/* An error in an IOThread is told from the main thread, and another device does not notice. */
static void test_error_in_thread(void)
{
    Echo *e = echo_new(iothread_core_context(threads[0]));
    VirtIODevice *vdev = (VirtIODevice *)e;

    echo_up(e, NUM, 0);
    desc(0, DATA, 0, 0, 0);
    publish(NUM, 0);
    virtio_queue_kick(vdev, 0);
    while (virtio_get_status(vdev) != 0x4f || __atomic_load_n(&e->notified, __ATOMIC_RELAXED) < 1) {
        aio_poll(aio_context_main(), false);
    }
    virtio_reset(vdev);
    memset(ram, 0, RAM_SIZE);
    echo_up(e, NUM, 0);
    drive(e, 10);
    echo_free(e);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fixture_init();
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++) {
        threads[i] = iothread_core_start(i ? "t1" : "t0", NULL, &error_abort);
    }
    g_test_add_func("/virtqueue/owner/served-in-thread", test_served_in_thread);
    g_test_add_func("/virtqueue/owner/found-without-kick", test_found_without_kick);
    g_test_add_func("/virtqueue/owner/early-kick", test_early_kick);
    g_test_add_func("/virtqueue/owner/still-after-stop", test_still_after_stop);
    g_test_add_func("/virtqueue/owner/pause", test_pause);
    g_test_add_func("/virtqueue/owner/queue-reset", test_queue_reset);
    g_test_add_func("/virtqueue/owner/resize-in-use", test_resize_in_use);
    g_test_add_func("/virtqueue/owner/error-in-thread", test_error_in_thread);
    return g_test_run() || (iothread_core_stop(threads[0]), iothread_core_stop(threads[1]), 0);
}
