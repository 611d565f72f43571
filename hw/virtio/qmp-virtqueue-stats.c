/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP: query-virtqueue-stats. */

#include <unistd.h>

#include "block/block.h"
#include "qapi/qapi-virtio.h"
#include "qom/iothread.h"
#include "virtio-internal.h"

static void find_id(Object *obj, void *opaque)
{
    struct {
        AioContext *ctx;
        const char *id;
    } *q = opaque;

    if (object_is(obj, "iothread") && iothread_context((IOThread *)obj) == q->ctx) {
        q->id = iothread_id((IOThread *)obj);
    }
}

/* NULL for the main loop. Caller frees. */
static char *iothread_of_context(AioContext *ctx)
{
    struct {
        AioContext *ctx;
        const char *id;
    } q = {ctx, NULL};

    object_for_each_child(object_objects_root(), find_id, &q);
    return g_strdup(q.id);
}

static BlockBackend *backend_of(VirtIODevice *vdev)
{
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);

    return klass->backend ? klass->backend(vdev) : NULL;
}

static VirtQueueStats *queue_stats(VirtQueue *vq)
{
    const VirtQueueCounters *c = virtqueue_counters(vq);
    BlockBackend *blk = backend_of(vq->vdev);
    VirtQueueStats *s = g_new0(VirtQueueStats, 1);

    s->index = vq->index;
    s->iothread = iothread_of_context(virtqueue_owner(vq));
    s->requests = counter_get(&c->requests);
    s->bytes = counter_get(&c->bytes);
    s->merged = counter_get(&c->merged);
    s->batches = counter_get(&c->batches);
    s->polled = counter_get(&c->polled);
    s->kicks = counter_get(&c->kicks);
    s->notifications = counter_get(&c->notifications);
    if (blk) {
        s->rd_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_READ, vq->index, 0);
        s->wr_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_WRITE, vq->index, 0);
        s->flush_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_FLUSH, vq->index, 0);
    }
    return s;
}

static VirtioDeviceQueueStats *device_stats(VirtIODevice *vdev)
{
    VirtioDeviceQueueStats *s = g_new0(VirtioDeviceQueueStats, 1);

    s->path = object_path((Object *)vdev);
    s->name = g_strdup(vdev->name);
    s->queues = g_ptr_array_new();
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        g_ptr_array_add(s->queues, queue_stats(vdev->queues[i]));
    }
    return s;
}

/* What the thread counted of each disk that has histograms. */
static GPtrArray *loop_disks(pid_t tid)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_EventLoopDiskStats);
    GPtrArray *all = virtio_devices();

    for (guint i = 0; i < all->len; i++) {
        BlockBackend *blk = backend_of(all->pdata[i]);
        EventLoopDiskStats *d;

        if (!blk) {
            continue;
        }
        d = g_new0(EventLoopDiskStats, 1);
        d->path = object_path(all->pdata[i]);
        d->rd_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_READ, -1, tid);
        d->wr_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_WRITE, -1, tid);
        d->flush_latency_histogram = blk_latency_histogram(blk, BLK_LATENCY_FLUSH, -1, tid);
        if (d->rd_latency_histogram || d->wr_latency_histogram || d->flush_latency_histogram) {
            g_ptr_array_add(list, d);
        } else {
            qapi_free_EventLoopDiskStats(d);
        }
    }
    return list;
}

static EventLoopStats *loop_stats(AioContext *ctx, const char *id, pid_t tid)
{
    const AioCounters *c = aio_counters(ctx);
    EventLoopStats *s = g_new0(EventLoopStats, 1);

    s->iothread = g_strdup(id);
    s->turns = counter_get(&c->turns);
    s->polled = counter_get(&c->polled);
    s->slept = counter_get(&c->slept);
    s->completions = counter_get(&c->completions);
    s->disks = loop_disks(tid);
    return s;
}

static void add_loop(Object *obj, void *opaque)
{
    if (object_is(obj, "iothread")) {
        IOThread *t = (IOThread *)obj;

        g_ptr_array_add(opaque, loop_stats(iothread_context(t), iothread_id(t), iothread_tid(t)));
    }
}

/* The device itself, or its transport. */
static bool is_device(VirtIODevice *vdev, DeviceState *dev)
{
    BusState *bus = DEVICE(vdev)->bus;

    return DEVICE(vdev) == dev || (bus && bus->parent == dev);
}

VirtQueueStatsInfo *qmp_query_virtqueue_stats(const q_query_virtqueue_stats_args *args,
                                              Error **errp)
{
    GPtrArray *all = virtio_devices();
    DeviceState *dev = NULL;
    VirtQueueStatsInfo *info;

    if (args->device) {
        dev = device_find(args->device, errp);
        if (!dev) {
            return NULL;
        }
    }
    info = g_new0(VirtQueueStatsInfo, 1);
    info->devices = g_ptr_array_new();
    info->event_loops = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        if (!dev || is_device(all->pdata[i], dev)) {
            g_ptr_array_add(info->devices, device_stats(all->pdata[i]));
        }
    }
    if (dev && !info->devices->len) {
        error_set(errp, "Device '%s' is not a virtio device", args->device);
        qapi_free_VirtQueueStatsInfo(info);
        return NULL;
    }
    g_ptr_array_add(info->event_loops, loop_stats(aio_context_main(), NULL, getpid()));
    object_for_each_child(object_objects_root(), add_loop, info->event_loops);
    return info;
}
QMP_REGISTER(query_virtqueue_stats)
