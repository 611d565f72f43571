/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP: x-query-virtio and its family, for people who look for a fault in a device or a driver. */

#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "qapi/qapi-virtio-debug.h"
#include "virtio-internal.h"
#include "vring-access.h"

/* How long the thread that has a queue may take to tell about it. */
#define ANSWER_WAIT_NS (400 * INT64_C(1000000))
#define LEGACY_ALIGN   4096

/* ---- names ---- */

static const VirtIOBitName transport_names[] = {
    {VIRTIO_RING_F_EVENT_IDX, "VIRTIO_RING_F_EVENT_IDX: Used & avail. event fields enabled"},
    {VIRTIO_RING_F_INDIRECT_DESC, "VIRTIO_RING_F_INDIRECT_DESC: Indirect descriptors supported"},
    {VIRTIO_F_RING_RESET, "VIRTIO_F_RING_RESET: Driver can reset a queue individually"},
    {VIRTIO_F_IN_ORDER,
     "VIRTIO_F_IN_ORDER: Device uses buffers in same order as made available by driver"},
    {VIRTIO_F_ACCESS_PLATFORM, "VIRTIO_F_IOMMU_PLATFORM: Device can be used on IOMMU platform"},
    {VIRTIO_F_RING_PACKED, "VIRTIO_F_RING_PACKED: Device supports packed VQ layout"},
    {VIRTIO_F_VERSION_1, "VIRTIO_F_VERSION_1: Device compliant for v1 spec (legacy)"},
    {VIRTIO_F_ANY_LAYOUT, "VIRTIO_F_ANY_LAYOUT: Device accepts arbitrary desc. layouts"},
    {VIRTIO_F_NOTIFY_ON_EMPTY,
     "VIRTIO_F_NOTIFY_ON_EMPTY: Notify when device runs out of avail. descs. on VQ"},
    {0, NULL},
};

/* By value: the bits of the status register. */
static const VirtIOBitName status_names[] = {
    {0, "VIRTIO_CONFIG_S_ACKNOWLEDGE: Valid virtio device found"},
    {7, "VIRTIO_CONFIG_S_FAILED: Error in guest, device failed"},
    {6, "VIRTIO_CONFIG_S_NEEDS_RESET: Irrecoverable error, device needs reset"},
    {1, "VIRTIO_CONFIG_S_DRIVER: Guest OS compatible with device"},
    {3, "VIRTIO_CONFIG_S_FEATURES_OK: Feature negotiation complete"},
    {2, "VIRTIO_CONFIG_S_DRIVER_OK: Driver setup and ready"},
    {0, NULL},
};

/* Names of the bits, which are taken out of *bits. */
static GPtrArray *take_names(const VirtIOBitName *names, uint64_t *bits)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

    for (; names && names->name; names++) {
        if (*bits & (UINT64_C(1) << names->bit)) {
            g_ptr_array_add(list, g_strdup(names->name));
            *bits &= ~(UINT64_C(1) << names->bit);
        }
    }
    return list;
}

static VirtioDeviceFeatures *features_info(VirtIODevice *vdev, uint64_t bits)
{
    VirtioDeviceFeatures *f = g_new0(VirtioDeviceFeatures, 1);

    f->transports = take_names(transport_names, &bits);
    f->dev_features = take_names(VIRTIO_DEVICE_CLASS(vdev)->feature_names, &bits);
    f->has_unknown_dev_features = bits != 0;
    f->unknown_dev_features = bits;
    return f;
}

/* ---- finding ---- */

/* Only the whole path of the device itself will do. */
static VirtIODevice *find_device(const char *path, const char *what, Error **errp)
{
    GPtrArray *all = virtio_devices();

    for (guint i = 0; i < all->len; i++) {
        g_autofree char *p = object_path(all->pdata[i]);

        if (g_strcmp0(p, path) == 0) {
            return all->pdata[i];
        }
    }
    error_set(errp, "Path %s is not a %s", path, what);
    return NULL;
}

static VirtQueue *find_queue(VirtIODevice *vdev, unsigned index, Error **errp)
{
    VirtQueue *vq = virtio_queue(vdev, index);

    if (!vq) {
        error_set(errp, "Invalid virtqueue number %u", index);
    }
    return vq;
}

/* ---- what only the owner of a queue knows ---- */

typedef struct QueueState {
    unsigned refs; /* atomic: who asks, and who answers */
    bool known;    /* atomic */
    VirtQueue *vq;
    unsigned inuse;
    uint16_t last_avail, shadow_avail, used_idx, signalled_used;
    bool signalled_used_valid;
} QueueState;

static void state_unref(QueueState *s)
{
    if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        g_free(s);
    }
}

/* Runs in: the queue's context. */
static void state_answer(void *opaque)
{
    QueueState *s = opaque;
    const VirtQueue *vq = s->vq;

    s->inuse = vq->o.inuse;
    s->last_avail = vq->o.last_avail;
    s->shadow_avail = vq->o.shadow_avail;
    s->used_idx = vq->o.used_idx;
    s->signalled_used = vq->o.signalled_used;
    s->signalled_used_valid = vq->o.signalled_used_valid;
    __atomic_store_n(&s->known, true, __ATOMIC_RELEASE);
    aio_kick(aio_context_main());
    state_unref(s);
}

static void set_true(void *opaque)
{
    *(bool *)opaque = true;
}

/* Asks the owner, but does not wait for one that is stuck. NULL: no answer. */
static QueueState *ask_owner(VirtQueue *vq, Error **errp)
{
    bool expired = false;
    AioTimer *t = aio_timer_new(aio_context_main(), AIO_CLOCK_REALTIME, set_true, &expired);
    QueueState *s = g_new0(QueueState, 1);

    s->refs = 2;
    s->vq = vq;
    aio_timer_set(t, aio_clock_ns(AIO_CLOCK_REALTIME) + ANSWER_WAIT_NS);
    AIO_WAIT_WHILE(vq->m.moving && !expired);
    if (vq->m.moving) {
        state_unref(s);
    } else if (virtqueue_is_mine(vq)) {
        state_answer(s);
    } else {
        /* Whatever takes the queue away later is a message behind this one. */
        aio_call(virtqueue_owner(vq), state_answer, s);
        AIO_WAIT_WHILE(!__atomic_load_n(&s->known, __ATOMIC_ACQUIRE) && !expired);
    }
    aio_timer_free(t);
    if (!__atomic_load_n(&s->known, __ATOMIC_ACQUIRE)) {
        error_set(errp, "The thread of virtqueue %u does not answer", vq->index);
        state_unref(s);
        return NULL;
    }
    return s;
}

/* ---- commands ---- */

GPtrArray *qmp_x_query_virtio(Error **errp)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_VirtioInfo);
    GPtrArray *all = virtio_devices();

    for (guint i = all->len; i-- > 0;) {
        VirtIODevice *vdev = all->pdata[i];
        VirtioInfo *info = g_new0(VirtioInfo, 1);

        info->path = object_path((Object *)vdev);
        info->name = g_strdup(vdev->name);
        g_ptr_array_add(list, info);
    }
    return list;
}
QMP_REGISTER(x_query_virtio)

VirtioStatus *qmp_x_query_virtio_status(const q_x_query_virtio_status_args *args, Error **errp)
{
    VirtIODevice *vdev = find_device(args->path, "realized VirtIODevice", errp);
    VirtioStatus *s;
    uint64_t status;

    if (!vdev) {
        return NULL;
    }
    s = g_new0(VirtioStatus, 1);
    status = virtio_get_status(vdev);
    s->name = g_strdup(vdev->name);
    s->device_id = vdev->device_id;
    s->device_endian = g_strdup("little");
    s->guest_features = features_info(
        vdev, __atomic_load_n(&vdev->guest_features, __ATOMIC_RELAXED));
    /* A legacy driver is offered one more, which it must not take. */
    s->host_features = features_info(vdev, vdev->host_features | virtio_legacy_features(vdev));
    s->backend_features = features_info(vdev, 0);
    s->num_vqs = vdev->num_queues;
    s->started = (status & VIRTIO_CONFIG_S_DRIVER_OK) || vdev->started;
    s->status = g_new0(VirtioDeviceStatus, 1);
    s->status->statuses = take_names(status_names, &status);
    s->status->has_unknown_statuses = status != 0;
    s->status->unknown_statuses = status;
    s->isr = virtio_read_isr(vdev, false);
    s->queue_sel = vdev->queue_sel;
    s->vm_running = vdev->vm_running;
    s->broken = virtio_is_broken(vdev);
    s->use_started = vdev->use_started;
    s->start_on_kick = vdev->start_on_kick;
    s->disable_legacy_check = vdev->disable_legacy_check;
    s->bus_name = g_strdup("");
    s->use_guest_notifier_mask = true;
    return s;
}
QMP_REGISTER(x_query_virtio_status)

VirtQueueStatus *qmp_x_query_virtio_queue_status(const q_x_query_virtio_queue_status_args *args,
                                                 Error **errp)
{
    VirtIODevice *vdev = find_device(args->path, "VirtIODevice", errp);
    VirtQueue *vq = vdev ? find_queue(vdev, args->queue, errp) : NULL;
    QueueState *q = vq ? ask_owner(vq, errp) : NULL;
    VirtQueueStatus *s;

    if (!q) {
        return NULL;
    }
    s = g_new0(VirtQueueStatus, 1);
    s->name = g_strdup(vdev->name);
    s->queue_index = vq->index;
    s->inuse = q->inuse;
    s->vring_num = vq->num;
    s->vring_num_default = vq->m.num_default;
    s->vring_align = LEGACY_ALIGN;
    s->vring_desc = vq->m.desc;
    s->vring_avail = vq->m.avail;
    s->vring_used = vq->m.used;
    s->has_last_avail_idx = s->has_shadow_avail_idx = true;
    s->last_avail_idx = q->last_avail;
    s->shadow_avail_idx = q->shadow_avail;
    s->used_idx = q->used_idx;
    s->signalled_used = q->signalled_used;
    s->signalled_used_valid = q->signalled_used_valid;
    state_unref(q);
    return s;
}
QMP_REGISTER(x_query_virtio_queue_status)

/* ---- x-query-virtio-queue-element ---- */

static void add_flag(GPtrArray *flags, uint16_t set, uint16_t bit, const char *name)
{
    if (set & bit) {
        g_ptr_array_add(flags, g_strdup(name));
    }
}

static VirtioRingDesc *desc_info(const struct vring_desc *d)
{
    VirtioRingDesc *info = g_new0(VirtioRingDesc, 1);

    info->addr = GUINT64_FROM_LE(d->addr);
    info->len = GUINT32_FROM_LE(d->len);
    info->flags = g_ptr_array_new_with_free_func(g_free);
    add_flag(info->flags, GUINT16_FROM_LE(d->flags), VRING_DESC_F_WRITE, "write");
    add_flag(info->flags, GUINT16_FROM_LE(d->flags), VRING_DESC_F_NEXT, "next");
    return info;
}

static bool read_desc(uint64_t table, unsigned i, struct vring_desc *d)
{
    const void *p = guest_ram_ptr(table + sizeof(*d) * (uint64_t)i, sizeof(*d), false, NULL);

    if (p) {
        vring_copy(d, p, sizeof(*d));
    }
    return p != NULL;
}

/* The chain at `head`, last descriptor first, as clients expect it. Inside guest_ram_enter(). */
static bool read_chain(VirtQueue *vq, unsigned head, GPtrArray *list, Error **errp)
{
    uint64_t table = vq->m.desc;
    unsigned num = vq->num, i = head, count = 0;
    struct vring_desc d;

    if (!read_desc(table, i, &d)) {
        error_set(errp, "Cannot map descriptor ring");
        return false;
    }
    if (GUINT16_FROM_LE(d.flags) & VRING_DESC_F_INDIRECT) {
        table = GUINT64_FROM_LE(d.addr);
        num = MIN(GUINT32_FROM_LE(d.len) / sizeof(d), VIRTQUEUE_MAX_SIZE);
        i = 0;
        if (!num || !read_desc(table, i, &d)) {
            error_set(errp, "Cannot map indirect buffer");
            return false;
        }
    }
    for (;;) {
        g_ptr_array_insert(list, 0, desc_info(&d));
        if (!(GUINT16_FROM_LE(d.flags) & VRING_DESC_F_NEXT)) {
            return true;
        }
        i = GUINT16_FROM_LE(d.next);
        if (++count >= num || i >= num || !read_desc(table, i, &d)) {
            /* The guest's chain is bad from here on; what was good is told. */
            return true;
        }
    }
}

VirtioQueueElement *qmp_x_query_virtio_queue_element(
    const q_x_query_virtio_queue_element_args *args, Error **errp)
{
    VirtIODevice *vdev = find_device(args->path, "VirtIO device", errp);
    VirtQueue *vq = vdev ? find_queue(vdev, args->queue, errp) : NULL;
    VirtioQueueElement *e = NULL;
    const uint8_t *avail, *used;
    unsigned slot, head;
    QueueState *q;

    if (!vq) {
        return NULL;
    }
    if (virtio_has_feature(vdev, VIRTIO_F_RING_PACKED)) {
        error_set(errp, "Packed ring not supported");
        return NULL;
    }
    if (!vq->m.desc || !vq->num) {
        error_set(errp, "Region caches not initialized");
        return NULL;
    }
    q = ask_owner(vq, errp);
    if (!q) {
        return NULL;
    }
    slot = (args->has_index ? args->index : q->last_avail) % vq->num;
    state_unref(q);
    guest_ram_enter();
    avail = guest_ram_ptr(vq->m.avail, 4 + 2 * (uint64_t)vq->num, false, NULL);
    used = guest_ram_ptr(vq->m.used, 4 + 8 * (uint64_t)vq->num, false, NULL);
    if (!avail || !used) {
        error_set(errp, "Region caches not initialized");
        goto out;
    }
    head = vring_load16(avail + 4 + 2 * slot) % vq->num;
    e = g_new0(VirtioQueueElement, 1);
    e->name = g_strdup(vdev->name);
    e->index = head;
    e->descs = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_VirtioRingDesc);
    e->avail = g_new0(VirtioRingAvail, 1);
    e->avail->flags = vring_load16(avail);
    e->avail->idx = vring_load16(avail + 2);
    e->avail->ring = head;
    e->used = g_new0(VirtioRingUsed, 1);
    e->used->flags = vring_load16(used);
    e->used->idx = vring_load16(used + 2);
    if (!read_chain(vq, head, e->descs, errp)) {
        g_clear_pointer(&e, qapi_free_VirtioQueueElement);
    }
out:
    guest_ram_leave();
    return e;
}
QMP_REGISTER(x_query_virtio_queue_element)

/* ---- x-query-virtio-vhost-queue-status ---- */

VirtVhostQueueStatus *qmp_x_query_virtio_vhost_queue_status(
    const q_x_query_virtio_vhost_queue_status_args *args, Error **errp)
{
    if (find_device(args->path, "VirtIODevice", errp)) {
        error_set(errp, "Error: vhost device has not started yet");
    }
    return NULL;
}
QMP_REGISTER(x_query_virtio_vhost_queue_status)
