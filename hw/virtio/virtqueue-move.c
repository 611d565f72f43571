/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues that change their owners while the guest keeps them busy.
 *
 * The owner itself lets go of the queue, once nothing of it is left to run in that thread, and
 * hands it to the next owner; the main thread only starts this. Nobody waits for requests: those
 * that are with the disk are completed by the thread that submitted them, which, no longer being
 * the owner, posts them to whoever is (virtqueue_post). Until the last such stray is back the old
 * thread is not free, and the change of owners has not ended.
 *
 * vq->ctx says who the owner is. Only the owner writes it, as the last thing that it does with the
 * queue (release); who reads its own name there (acquire) may touch the queue, even if the message
 * that has it attached has not arrived yet.
 */

#include "virtio-internal.h"

/* One change of owners. It ends when `pending` is zero. */
typedef struct QueueRemap {
    VirtIODevice *vdev;
    unsigned pending; /* atomic: queues on their way, groups of strays, and its maker */
    AioCallback *done;
    void *opaque;
} QueueRemap;

/* One queue on its way. */
typedef struct QueueMove {
    VirtQueue *vq;
    AioContext *to;
    QueueRemap *remap;
    bool attach; /* it is served, not only owned */
} QueueMove;

/*
 * Requests of a queue that a former owner submitted, and that are busy. The owner's.
 *
 * Whose requests they are may post them, at any moment, to each context that has had the queue
 * since; so all of the changes since then end only when these requests are back.
 */
struct QueueStray {
    AioContext *ctx;
    unsigned n;
    GPtrArray *remaps;
    QueueStray *next;
};

static void remap_end(void *opaque)
{
    QueueRemap *r = opaque;

    g_assert(aio_in_main_thread());
    r->vdev->remaps--;
    if (r->done) {
        r->done(r->opaque);
    }
    g_free(r);
}

static void remap_put(QueueRemap *r)
{
    if (__atomic_sub_fetch(&r->pending, 1, __ATOMIC_ACQ_REL) == 0) {
        aio_call(aio_context_main(), remap_end, r);
    }
}

/* As aio_call() to a context that may be gone as soon as fn has run. */
static void call_in(AioContext *ctx, AioCallback *fn, void *opaque)
{
    aio_context_ref(ctx);
    aio_call(ctx, fn, opaque);
    aio_context_unref(ctx);
}

/* ---- strays. Runs in: the queue's context ---- */

static void stray_hold(QueueStray *s, QueueRemap *r)
{
    __atomic_add_fetch(&r->pending, 1, __ATOMIC_RELAXED);
    g_ptr_array_add(s->remaps, r);
}

static void stray_remove(QueueStray **where)
{
    QueueStray *s = *where;

    *where = s->next;
    g_ptr_array_unref(s->remaps);
    g_free(s);
}

/* What is busy and was submitted here turns into strays. */
static void strays_out(VirtQueue *vq, QueueRemap *r)
{
    unsigned n = vq->o.busy;
    QueueStray *s;

    for (s = vq->o.strays; s; s = s->next) {
        n -= s->n;
        stray_hold(s, r);
    }
    if (n) {
        s = g_new(QueueStray, 1);
        *s = (QueueStray){
            .ctx = aio_context_current(),
            .n = n,
            .remaps = g_ptr_array_new_with_free_func((GDestroyNotify)remap_put),
            .next = vq->o.strays,
        };
        stray_hold(s, r);
        vq->o.strays = s;
    }
}

/* A thread gets the queue back: its strays are ordinary requests again. */
static void strays_home(VirtQueue *vq, AioContext *ctx)
{
    for (QueueStray **s = &vq->o.strays; *s; s = &(*s)->next) {
        if ((*s)->ctx == ctx) {
            stray_remove(s);
            return;
        }
    }
}

void virtqueue_stray_done(VirtQueue *vq, AioContext *ctx)
{
    for (QueueStray **s = &vq->o.strays; *s; s = &(*s)->next) {
        if ((*s)->ctx == ctx) {
            if (--(*s)->n == 0) {
                stray_remove(s);
            }
            return;
        }
    }
    g_assert_not_reached();
}

typedef struct QueuePost {
    VirtQueue *vq;
    AioCallback *fn;
    void *opaque;
} QueuePost;

static void post_run(void *opaque)
{
    QueuePost *p = opaque;
    AioContext *owner = virtqueue_owner(p->vq);

    if (!aio_in_context(owner)) {
        /* It has moved on while this was on its way. */
        call_in(owner, post_run, p);
        return;
    }
    p->fn(p->opaque);
    g_free(p);
}

void virtqueue_post(VirtQueue *vq, AioCallback *fn, void *opaque)
{
    QueuePost *p = g_new(QueuePost, 1);

    *p = (QueuePost){vq, fn, opaque};
    call_in(virtqueue_owner(vq), post_run, p);
}

bool virtqueue_is_mine(const VirtQueue *vq)
{
    return aio_in_context(virtqueue_owner(vq));
}

/* ---- the way of a queue ---- */

/* Runs in: main thread. */
static void move_landed(void *opaque)
{
    QueueMove *m = opaque;
    VirtQueue *vq = m->vq;
    VirtIODevice *vdev = vq->vdev;

    vq->m.moving = false;
    vdev->moving--;
    if (m->to == aio_context_main() && vq->guest.fd >= 0) {
        /* The main thread interrupts by itself. */
        vdev->transport->del_guest_notifier(vdev->transport_opaque, vq);
    }
    remap_put(m->remap);
    g_free(m);
}

static void tell_transport(VirtQueue *vq, bool arrives)
{
    const VirtIOTransportOps *ops = vq->vdev->transport;

    if (ops->queue_moves) {
        ops->queue_moves(vq->vdev->transport_opaque, vq, arrives);
    }
}

/* Runs in: the new owner. */
static void move_arrive(void *opaque)
{
    QueueMove *m = opaque;

    /* Not before: up to now, this thread may have been about to post to the old owner. */
    strays_home(m->vq, m->to);
    tell_transport(m->vq, true);
    if (m->attach) {
        virtqueue_attach(m->vq);
    }
    aio_call(aio_context_main(), move_landed, m);
}

/* Runs in: the old owner. */
static void move_leave(void *opaque)
{
    QueueMove *m = opaque;
    VirtQueue *vq = m->vq;

    g_assert(virtqueue_is_mine(vq));
    virtqueue_detach(vq);
    if (vq->o.flush_deferred) {
        /* What was completed in this turn is published first; this comes behind it in line. */
        aio_defer(move_leave, m);
        return;
    }
    tell_transport(vq, false);
    strays_out(vq, m->remap);
    __atomic_store_n(&vq->ctx, m->to, __ATOMIC_RELEASE);
    call_in(m->to, move_arrive, m);
}

static void move_start(VirtQueue *vq, AioContext *to, QueueRemap *r)
{
    QueueMove *m = g_new(QueueMove, 1);
    AioContext *from = virtqueue_owner(vq);

    *m = (QueueMove){vq, to, r, vq->m.running};
    vq->m.moving = true;
    vq->vdev->moving++;
    __atomic_add_fetch(&r->pending, 1, __ATOMIC_RELAXED);
    if (from == aio_context_main()) {
        move_leave(m);
    } else {
        aio_call(from, move_leave, m);
    }
}

/* ---- the device. Runs in: main thread ---- */

/* A queue that leaves the main thread needs a way to interrupt. */
static bool prepare_notifiers(VirtIODevice *vdev, AioContext *const *to, Error **errp)
{
    bool made[VIRTIO_QUEUE_MAX] = {false};

    for (unsigned i = 0; i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (to[i] == aio_context_main() || vq->guest.fd >= 0) {
            continue;
        }
        if (!vdev->transport->add_guest_notifier(vdev->transport_opaque, vq, errp)) {
            while (i-- > 0) {
                if (made[i]) {
                    vdev->transport->del_guest_notifier(vdev->transport_opaque, vdev->queues[i]);
                }
            }
            return false;
        }
        made[i] = true;
    }
    return true;
}

bool virtio_move_queues(VirtIODevice *vdev, AioCallback *done, void *opaque, Error **errp)
{
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);
    g_autofree AioContext **to = g_new(AioContext *, vdev->num_queues);
    QueueRemap *r;

    g_assert(aio_in_main_thread());
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        if (vdev->queues[i]->m.moving) {
            error_set(errp, "virtqueue %u is still on its way to another thread", i);
            return false;
        }
        to[i] = klass->queue_context(vdev, vdev->queues[i]);
        if (vdev->started && !vdev->notifiers && to[i] != aio_context_main()) {
            error_set(errp, "virtqueue %u has no event notifiers, so that only the main thread can "
                            "serve it", i);
            return false;
        }
    }
    if (vdev->started && !prepare_notifiers(vdev, to, errp)) {
        return false;
    }
    r = g_new(QueueRemap, 1);
    *r = (QueueRemap){vdev, 1, done, opaque};
    vdev->remaps++;
    for (unsigned i = 0; vdev->started && i < vdev->num_queues; i++) {
        if (virtqueue_owner(vdev->queues[i]) != to[i]) {
            move_start(vdev->queues[i], to[i], r);
        }
    }
    remap_put(r);
    return true;
}

void virtio_wait_moves(VirtIODevice *vdev)
{
    AIO_WAIT_WHILE(vdev->moving > 0);
}

void virtio_wait_remaps(VirtIODevice *vdev)
{
    AIO_WAIT_WHILE(vdev->remaps > 0);
}

static void set_true(void *opaque)
{
    *(bool *)opaque = true;
}

static void wait_for_none(const unsigned *count, int64_t timeout_ns)
{
    bool expired = false;
    AioTimer *t = aio_timer_new(aio_context_main(), AIO_CLOCK_REALTIME, set_true, &expired);

    aio_timer_set(t, aio_clock_ns(AIO_CLOCK_REALTIME) + timeout_ns);
    AIO_WAIT_WHILE(*count > 0 && !expired);
    aio_timer_free(t);
}

void virtio_wait_arrived(VirtIODevice *vdev, int64_t timeout_ns)
{
    wait_for_none(&vdev->moving, timeout_ns);
}

void virtio_wait_moved(VirtIODevice *vdev, int64_t timeout_ns)
{
    wait_for_none(&vdev->remaps, timeout_ns);
}
