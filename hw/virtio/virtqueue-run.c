/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which thread serves a queue, and how the queue gets there and back.
 *
 * The main thread gives a queue to its context (virtqueue_give) and takes it back
 * (virtio_take_queues); in between, everything of the queue that is not the main thread's own
 * happens in that context. Both directions are messages, which keep their order. Taking a queue
 * back waits until none of its requests is busy and nothing of it is left to run in that thread.
 * From one context straight to another: virtqueue-move.c.
 */

#include "virtio-internal.h"

#include "util/offload.h"

static bool queue_run(VirtQueue *vq)
{
    VirtIODevice *vdev = vq->vdev;
    uint16_t before = vq->o.last_avail, taken;
    bool progress;

    if (!vq->desc || virtio_is_broken(vdev)) {
        return false;
    }
    progress = VIRTIO_DEVICE_CLASS(vdev)->handle_queue(vdev, vq);
    taken = vq->o.last_avail - before;
    if (taken) {
        counter_add(&vq->o.counters.requests, taken);
        counter_add(&vq->o.counters.batches, 1);
    }
    return progress;
}

/* ---- the guest's kicks. Runs in: the queue's context ---- */

static void kick_read(void *opaque)
{
    VirtQueue *vq = opaque;

    if (event_notifier_test_and_clear(&vq->host)) {
        counter_add(&vq->o.counters.kicks, 1);
        queue_run(vq);
    }
}

static bool kick_poll(void *opaque)
{
    VirtQueue *vq = opaque;

    if (virtqueue_empty(vq) || !queue_run(vq)) {
        return false;
    }
    counter_add(&vq->o.counters.polled, 1);
    return true;
}

static void kick_poll_begin(void *opaque)
{
    VirtQueue *vq = opaque;

    vq->o.polling = true;
    virtqueue_mute(vq);
}

static void kick_poll_end(void *opaque)
{
    VirtQueue *vq = opaque;

    vq->o.polling = false;
    virtqueue_set_kick_wanted(vq, true);
    /* A chain that was added while kicks were off has no other way to be seen. */
    if (vq->o.attached && !virtqueue_empty(vq)) {
        queue_run(vq);
    }
}

static const AioFdOps kick_ops = {
    .read = kick_read,
    .poll = kick_poll,
    .poll_begin = kick_poll_begin,
    .poll_end = kick_poll_end,
};

void virtqueue_run_again(VirtQueue *vq)
{
    if (vq->o.polling) {
        /* The next round of polling finds it. */
        return;
    }
    if (vq->o.fd) {
        event_notifier_set(&vq->host);
    } else {
        vq->m.kicked = true;
        aio_bh_schedule(vq->vdev->kick_bh);
    }
}

/* ---- changing hands ---- */

static void queue_attach(VirtQueue *vq, bool started)
{
    VirtIODevice *vdev = vq->vdev;
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);

    g_assert(virtqueue_is_mine(vq));
    g_assert(!vq->o.attached);
    vq->o.attached = true;
    virtqueue_set_kick_wanted(vq, true);
    if (vq->host.fd >= 0) {
        vq->o.fd = aio_fd_add(vq->ctx, vq->host.fd, &kick_ops, vq);
    }
    aio_plug();
    if (started && klass->queue_started) {
        klass->queue_started(vdev, vq);
    }
    /* What was added before needs no kick. */
    queue_run(vq);
    aio_unplug();
}

void virtqueue_attach(VirtQueue *vq)
{
    queue_attach(vq, false);
}

/* The ring is looked up again each time: features and the guest's memory may have changed. Here,
 * not in the main thread: after a pause the owner may still be completing requests. */
static void queue_given(void *opaque)
{
    VirtQueue *vq = opaque;

    virtqueue_latch_features(vq);
    virtqueue_map(vq);
    queue_attach(vq, vq->m.started);
}

static void barrier_pass(QueueBarrier *b)
{
    /* The barrier is gone as soon as the waiter sees zero. */
    __atomic_fetch_sub(&b->pending, 1, __ATOMIC_RELEASE);
    aio_kick(aio_context_main());
}

void virtqueue_idle_check(VirtQueue *vq)
{
    QueueTake *take;

    if (vq->o.busy || vq->o.flush_deferred) {
        return;
    }
    take = vq->o.takes;
    vq->o.takes = NULL;
    while (take) {
        QueueTake *next = take->next;

        barrier_pass(take->barrier);
        take = next;
    }
}

void virtqueue_busy(VirtQueue *vq)
{
    vq->o.busy++;
}

void virtqueue_idle(VirtQueue *vq, AioContext *ctx)
{
    g_assert(vq->o.busy > 0);
    vq->o.busy--;
    if (G_UNLIKELY(!aio_in_context(ctx))) {
        virtqueue_stray_done(vq, ctx);
    }
    if (G_UNLIKELY(vq->o.takes)) {
        virtqueue_idle_check(vq);
    }
}

static void queue_detach(VirtQueue *vq, bool final_look)
{
    g_assert(virtqueue_is_mine(vq));
    if (!vq->o.attached) {
        return;
    }
    vq->o.attached = false;
    if (vq->o.fd) {
        aio_fd_remove(vq->o.fd);
        vq->o.fd = NULL;
    }
    if (final_look && vq->host.fd >= 0 && event_notifier_test_and_clear(&vq->host)) {
        aio_plug();
        queue_run(vq);
        aio_unplug();
    }
}

void virtqueue_detach(VirtQueue *vq)
{
    queue_detach(vq, false);
}

static void queue_take(void *opaque)
{
    QueueTake *take = opaque;
    VirtQueue *vq = take->vq;

    queue_detach(vq, take->final_look);
    if (take->detach_only) {
        barrier_pass(take->barrier);
        return;
    }
    take->next = vq->o.takes;
    vq->o.takes = take;
    virtqueue_idle_check(vq);
}

void virtqueue_give(VirtQueue *vq)
{
    g_assert(aio_in_main_thread());
    g_assert(!vq->m.running);
    vq->m.running = true;
    vq->m.started = vq->m.start_pending;
    vq->m.start_pending = false;
    g_assert(!vq->m.moving);
    if (virtqueue_is_mine(vq)) {
        queue_given(vq);
    } else {
        aio_call(virtqueue_owner(vq), queue_given, vq);
    }
}

void virtio_take_queues(VirtIODevice *vdev, VirtQueue *only, bool detach_only, bool final_look)
{
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);
    bool hurry = !detach_only && klass->hurry;
    QueueBarrier barrier = {0};
    g_autofree QueueTake *takes = g_new(QueueTake, vdev->num_queues);
    unsigned n = 0;

    g_assert(aio_in_main_thread());
    virtio_wait_moves(vdev);
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (!only || vq == only) {
            takes[n++] = (QueueTake){.vq = vq,
                                     .barrier = &barrier,
                                     .detach_only = detach_only,
                                     .final_look = final_look};
            vq->m.running = false;
        }
    }
    barrier.pending = n;
    for (unsigned i = 0; i < n; i++) {
        AioContext *owner = virtqueue_owner(takes[i].vq);

        if (owner == aio_context_main()) {
            queue_take(&takes[i]);
        } else {
            aio_call(owner, queue_take, &takes[i]);
        }
    }
    if (hurry) {
        klass->hurry(vdev, true);
    }
    stall_begin();
    /* While this waits a client may ask for other owners. */
    AIO_WAIT_WHILE(__atomic_load_n(&barrier.pending, __ATOMIC_ACQUIRE) != 0 || vdev->moving > 0);
    stall_end();
    if (hurry) {
        klass->hurry(vdev, false);
    }
}

void virtqueue_run_in_place(VirtQueue *vq)
{
    VirtIODevice *vdev = vq->vdev;

    g_assert(aio_in_main_thread());
    if (!virtqueue_is_mine(vq) || vdev->paused || vdev->changing ||
        !vdev->transport->can_run(vdev->transport_opaque)) {
        return;
    }
    counter_add(&vq->o.counters.kicks, 1);
    aio_plug();
    queue_run(vq);
    aio_unplug();
}
