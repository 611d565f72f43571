/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtio device core: status, features, configuration, and when the queues run.
 *
 * A device runs while the driver has said DRIVER_OK (or has kicked early), the VM runs and the
 * transport lets it access memory. virtio_update_running() compares that with what is and starts or
 * stops the device; all of this happens in the main thread, wherever the access came from.
 */

#include "virtio-internal.h"

#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <string.h>

#include "hw/core/runstate.h"
#include "util/biglock.h"
#include "util/report.h"

#define LEGACY_RING_ALIGN    4096
#define FEATURE_BAD          30 /* a legacy driver that takes it is broken */

#define CONFIG_EVENT_CHANGED 1
#define CONFIG_EVENT_ERROR   2

void virtio_run_in_main(AioCallback *fn, void *opaque)
{
    ASSERT_BIG_LOCK();
    if (aio_in_main_thread()) {
        fn(opaque);
        return;
    }
    /* A vCPU thread that waits must not hold what the main thread needs. */
    big_unlock();
    aio_call_sync(aio_context_main(), fn, opaque);
    big_lock();
}

/* ---- facts ---- */

bool virtio_has_feature(const VirtIODevice *vdev, unsigned bit)
{
    return __atomic_load_n(&vdev->guest_features, __ATOMIC_RELAXED) & (UINT64_C(1) << bit);
}

uint8_t virtio_get_status(const VirtIODevice *vdev)
{
    return __atomic_load_n(&vdev->status, __ATOMIC_RELAXED);
}

VirtQueue *virtio_queue(VirtIODevice *vdev, unsigned index)
{
    return index < vdev->num_queues ? vdev->queues[index] : NULL;
}

uint64_t virtio_modern_features(const VirtIODevice *vdev)
{
    return vdev->host_features &
           ~((UINT64_C(1) << VIRTIO_F_NOTIFY_ON_EMPTY) | (UINT64_C(1) << VIRTIO_F_ANY_LAYOUT) |
             (UINT64_C(1) << FEATURE_BAD));
}

uint32_t virtio_legacy_features(const VirtIODevice *vdev)
{
    return (uint32_t)vdev->host_features | (UINT32_C(1) << FEATURE_BAD);
}

/* ---- interrupts and errors ---- */

void virtio_set_isr(VirtIODevice *vdev, uint8_t bits)
{
    /* With MSI-X nobody clears it, and queues of several threads share the line: look first. */
    if ((__atomic_load_n(&vdev->isr, __ATOMIC_RELAXED) & bits) != bits) {
        __atomic_fetch_or(&vdev->isr, bits, __ATOMIC_RELEASE);
    }
}

uint8_t virtio_read_isr(VirtIODevice *vdev, bool clear)
{
    return clear ? __atomic_exchange_n(&vdev->isr, 0, __ATOMIC_ACQ_REL)
                 : __atomic_load_n(&vdev->isr, __ATOMIC_ACQUIRE);
}

static void config_bh(void *opaque)
{
    VirtIODevice *vdev = opaque;
    unsigned events = __atomic_exchange_n(&vdev->config_events, 0, __ATOMIC_ACQ_REL);

    if (events) {
        vdev->generation++;
        if (virtio_get_status(vdev) & VIRTIO_CONFIG_S_DRIVER_OK) {
            virtio_set_isr(vdev, 3);
            vdev->transport->notify(vdev->transport_opaque, vdev->config_vector);
        }
    }
}

static void config_event(VirtIODevice *vdev, unsigned event)
{
    __atomic_fetch_or(&vdev->config_events, event, __ATOMIC_ACQ_REL);
    aio_bh_schedule(vdev->config_bh);
}

void virtio_config_changed(VirtIODevice *vdev)
{
    config_event(vdev, CONFIG_EVENT_CHANGED);
}

void virtio_error(VirtIODevice *vdev, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    if (__atomic_exchange_n(&vdev->broken, true, __ATOMIC_ACQ_REL)) {
        return;
    }
    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    report_error("%s", text);
    if (virtio_has_feature(vdev, VIRTIO_F_VERSION_1)) {
        __atomic_fetch_or(&vdev->status, VIRTIO_CONFIG_S_NEEDS_RESET, __ATOMIC_ACQ_REL);
        config_event(vdev, CONFIG_EVENT_ERROR);
    }
}

/* ---- running ---- */

static bool should_run(VirtIODevice *vdev)
{
    return vdev->vm_running &&
           ((virtio_get_status(vdev) & VIRTIO_CONFIG_S_DRIVER_OK) || vdev->start_on_kick) &&
           vdev->transport->can_run(vdev->transport_opaque);
}

void virtqueue_latch_features(VirtQueue *vq)
{
    vq->event_idx = virtio_has_feature(vq->vdev, VIRTIO_RING_F_EVENT_IDX);
    vq->notify_on_empty = virtio_has_feature(vq->vdev, VIRTIO_F_NOTIFY_ON_EMPTY);
}

static void queue_start(VirtQueue *vq)
{
    if (!vq->m.running && vq->m.desc) {
        virtqueue_give(vq);
    }
}

static void start_queues(VirtIODevice *vdev)
{
    virtio_wait_moves(vdev);
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        queue_start(vdev->queues[i]);
    }
}

/* Requests that were served while the device was stopped. */
static void settle(VirtIODevice *vdev)
{
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        if (vdev->queues[i]->o.busy || vdev->queues[i]->o.flush_deferred) {
            virtio_take_queues(vdev, NULL, false, false);
            return;
        }
    }
}

static void queues_to_main(VirtIODevice *vdev)
{
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        __atomic_store_n(&vdev->queues[i]->ctx, aio_context_main(), __ATOMIC_RELEASE);
    }
}

static void choose_contexts(VirtIODevice *vdev)
{
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);

    queues_to_main(vdev);
    if (!klass->queue_context || !vdev->transport->has_notifiers(vdev->transport_opaque)) {
        return;
    }
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        __atomic_store_n(&vdev->queues[i]->ctx, klass->queue_context(vdev, vdev->queues[i]),
                         __ATOMIC_RELEASE);
    }
}

static void start_notifiers(VirtIODevice *vdev)
{
    g_autoptr(Error) err = NULL;

    vdev->notifiers = false;
    if (!vdev->transport->has_notifiers(vdev->transport_opaque)) {
        return;
    }
    if (vdev->transport->start_notifiers(vdev->transport_opaque, &err)) {
        vdev->notifiers = true;
        return;
    }
    report_warning("%s: %s; its requests are served in the main thread", vdev->name,
                   error_message(err));
    queues_to_main(vdev);
}

static void device_start(VirtIODevice *vdev)
{
    settle(vdev);
    choose_contexts(vdev);
    start_notifiers(vdev);
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        vdev->queues[i]->m.start_pending = true;
    }
    vdev->started = true;
    if (!vdev->paused) {
        start_queues(vdev);
    }
}

static void device_stop(VirtIODevice *vdev)
{
    /* Only a VM that is stopped goes on later: what the guest has kicked is served before, what it
     * has not is found when it resumes. */
    bool final_look =
        !vdev->vm_running && !vdev->paused && vdev->transport->can_run(vdev->transport_opaque) &&
        ((virtio_get_status(vdev) & VIRTIO_CONFIG_S_DRIVER_OK) || vdev->start_on_kick);

    virtio_take_queues(vdev, NULL, false, final_look);
    if (vdev->notifiers) {
        vdev->transport->stop_notifiers(vdev->transport_opaque);
        vdev->notifiers = false;
    }
    vdev->started = false;
    queues_to_main(vdev);
}

static void update_in_main(void *opaque)
{
    VirtIODevice *vdev = opaque;

    if (vdev->changing) {
        /* A vCPU's access came in while the main thread waits for a queue. */
        vdev->change_again = true;
        return;
    }
    vdev->changing = true;
    do {
        bool want = should_run(vdev);

        vdev->change_again = false;
        if (want && !vdev->started) {
            device_start(vdev);
        } else if (!want && vdev->started) {
            device_stop(vdev);
        }
    } while (vdev->change_again);
    vdev->changing = false;
}

void virtio_update_running(VirtIODevice *vdev)
{
    virtio_run_in_main(update_in_main, vdev);
}

static void vm_changed(void *opaque, bool running, RunState state)
{
    VirtIODevice *vdev = opaque;

    vdev->vm_running = running;
    virtio_update_running(vdev);
}

void virtio_pause(VirtIODevice *vdev)
{
    if (vdev->paused++ == 0 && vdev->started) {
        virtio_take_queues(vdev, NULL, true, false);
    }
}

void virtio_resume(VirtIODevice *vdev)
{
    g_assert(vdev->paused > 0);
    if (--vdev->paused > 0) {
        return;
    }
    if (vdev->started) {
        start_queues(vdev);
    } else if (vdev->kick_bh) {
        /* A kick that came meanwhile was left alone. */
        aio_bh_schedule(vdev->kick_bh);
    }
}

/* ---- status ---- */

void virtio_set_status(VirtIODevice *vdev, uint8_t status)
{
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);
    uint8_t old = __atomic_exchange_n(&vdev->status, status, __ATOMIC_ACQ_REL);

    ASSERT_BIG_LOCK();
    if (!(status & VIRTIO_CONFIG_S_DRIVER_OK)) {
        vdev->start_on_kick = false;
    }
    if (klass->status_changed) {
        klass->status_changed(vdev, old);
    }
    virtio_update_running(vdev);
}

static void queue_clear(VirtQueue *vq)
{
    vq->m.desc = vq->m.avail = vq->m.used = 0;
    vq->m.vector = VIRTIO_NO_VECTOR;
    vq->m.kicked = false;
    vq->num = vq->m.num_default;
    vq->desc = NULL;
    virtqueue_reset_state(vq);
}

static void reset_in_main(void *opaque)
{
    VirtIODevice *vdev = opaque;
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);

    virtio_set_status(vdev, 0);
    virtio_take_queues(vdev, NULL, false, false);
    if (klass->reset) {
        klass->reset(vdev);
    }
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        queue_clear(vdev->queues[i]);
    }
    __atomic_store_n(&vdev->guest_features, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&vdev->isr, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&vdev->config_events, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&vdev->status, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&vdev->broken, false, __ATOMIC_RELEASE);
    vdev->config_vector = VIRTIO_NO_VECTOR;
    vdev->queue_sel = 0;
}

void virtio_reset(VirtIODevice *vdev)
{
    virtio_run_in_main(reset_in_main, vdev);
}

void virtio_set_guest_features(VirtIODevice *vdev, uint64_t features)
{
    if (!(virtio_get_status(vdev) & VIRTIO_CONFIG_S_FEATURES_OK)) {
        __atomic_store_n(&vdev->guest_features, features & vdev->host_features, __ATOMIC_RELAXED);
    }
}

/* ---- queues, as the driver sets them up ---- */

typedef struct QueueChange {
    VirtQueue *vq;
    enum { CHANGE_NUM, CHANGE_RINGS, CHANGE_RESET } what;
    unsigned num;
    uint64_t desc, avail, used;
} QueueChange;

/* A driver may write these registers of a queue that is in use; then the queue is taken out of its
 * thread for the change. */
static void change_in_main(void *opaque)
{
    QueueChange *c = opaque;
    VirtQueue *vq = c->vq;
    VirtIODevice *vdev = vq->vdev;
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);

    virtio_wait_moves(vdev);
    if (!virtqueue_is_mine(vq) || vq->m.running || vq->o.busy || vq->o.flush_deferred) {
        virtio_take_queues(vdev, vq, false, false);
    }
    switch (c->what) {
    case CHANGE_NUM:
        vq->num = c->num;
        break;
    case CHANGE_RINGS:
        vq->m.desc = c->desc;
        vq->m.avail = c->avail;
        vq->m.used = c->used;
        break;
    case CHANGE_RESET:
        if (klass->queue_reset) {
            klass->queue_reset(vdev, vq);
        }
        queue_clear(vq);
        break;
    }
    virtqueue_latch_features(vq);
    virtqueue_map(vq);
    if (vdev->started && !vdev->paused) {
        queue_start(vq);
    }
}

void virtio_queue_set_num(VirtQueue *vq, unsigned num)
{
    QueueChange c = {.vq = vq, .what = CHANGE_NUM, .num = num};

    if (num && num <= VIRTQUEUE_MAX_SIZE && num != vq->num) {
        virtio_run_in_main(change_in_main, &c);
    }
}

void virtio_queue_set_rings(VirtQueue *vq, uint64_t desc, uint64_t avail, uint64_t used)
{
    QueueChange c = {.vq = vq, .what = CHANGE_RINGS, .desc = desc, .avail = avail, .used = used};

    virtio_run_in_main(change_in_main, &c);
}

void virtio_queue_set_legacy_ring(VirtQueue *vq, uint64_t addr)
{
    uint64_t avail = addr + 16 * (uint64_t)vq->num;
    uint64_t used = avail + 4 + 2 * (uint64_t)vq->num + 2;

    used = (used + LEGACY_RING_ALIGN - 1) & ~(uint64_t)(LEGACY_RING_ALIGN - 1);
    virtio_queue_set_rings(vq, addr, avail, used);
}

void virtio_queue_reset(VirtQueue *vq)
{
    QueueChange c = {.vq = vq, .what = CHANGE_RESET};

    virtio_run_in_main(change_in_main, &c);
}

static void kick_bh(void *opaque)
{
    VirtIODevice *vdev = opaque;

    for (unsigned i = 0; i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (vq->m.kicked && !vdev->paused && !vdev->changing) {
            vq->m.kicked = false;
            virtqueue_run_in_place(vq);
        }
    }
}

void virtio_queue_kick(VirtIODevice *vdev, unsigned index)
{
    VirtQueue *vq = virtio_queue(vdev, index);

    ASSERT_BIG_LOCK();
    if (!vq || !vq->m.desc || virtio_is_broken(vdev)) {
        return;
    }
    if (!vdev->started && vdev->vm_running) {
        /* Some drivers kick before they say DRIVER_OK. */
        vdev->start_on_kick = true;
        virtio_update_running(vdev);
    }
    if (vdev->notifiers && vq->m.running) {
        event_notifier_set(&vq->host);
    } else if (aio_in_main_thread() && !vdev->paused && !vdev->changing) {
        virtqueue_run_in_place(vq);
    } else {
        vq->m.kicked = true;
        aio_bh_schedule(vdev->kick_bh);
    }
}

/* ---- configuration ---- */

uint32_t virtio_config_read(VirtIODevice *vdev, uint64_t offset, unsigned size)
{
    uint32_t value = 0;

    if (offset + size > vdev->config_len) {
        return UINT32_MAX >> (32 - 8 * size);
    }
    VIRTIO_DEVICE_CLASS(vdev)->get_config(vdev, vdev->config);
    memcpy(&value, vdev->config + offset, size);
    return value;
}

void virtio_config_write(VirtIODevice *vdev, uint64_t offset, uint32_t value, unsigned size)
{
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);

    if (offset + size > vdev->config_len || !klass->set_config) {
        return;
    }
    klass->get_config(vdev, vdev->config);
    memcpy(vdev->config + offset, &value, size);
    klass->set_config(vdev, vdev->config);
}

/* ---- life ---- */

static GPtrArray *devices;

GPtrArray *virtio_devices(void)
{
    if (!devices) {
        devices = g_ptr_array_new();
    }
    return devices;
}

void virtio_init(VirtIODevice *vdev, const char *name, uint16_t device_id, uint32_t config_len)
{
    vdev->name = name;
    vdev->device_id = device_id;
    vdev->config_len = config_len;
    vdev->config = g_malloc0(config_len);
    vdev->config_vector = VIRTIO_NO_VECTOR;
    vdev->queues = g_new0(VirtQueue *, VIRTIO_QUEUE_MAX);
    vdev->config_bh = aio_bh_new(aio_context_main(), config_bh, vdev);
    vdev->kick_bh = aio_bh_new(aio_context_main(), kick_bh, vdev);
    vdev->vm_running = runstate_is_running();
    vdev->vm_listener = runstate_listen(vm_changed, vdev);
    g_ptr_array_add(virtio_devices(), vdev);
}

VirtQueue *virtio_add_queue(VirtIODevice *vdev, unsigned size)
{
    VirtQueue *vq;

    g_assert(vdev->num_queues < VIRTIO_QUEUE_MAX);
    g_assert(size > 0 && size <= VIRTQUEUE_MAX_SIZE);
    vq = aligned_alloc(VIRTQUEUE_CACHE_LINE, sizeof(*vq));
    g_assert(vq);
    memset(vq, 0, sizeof(*vq));
    vq->vdev = vdev;
    vq->index = vdev->num_queues;
    vq->ctx = aio_context_main();
    vq->host.fd = -1;
    vq->guest.fd = -1;
    vq->m.num_default = size;
    queue_clear(vq);
    vdev->queues[vdev->num_queues++] = vq;
    return vq;
}

void virtio_cleanup(VirtIODevice *vdev)
{
    if (!vdev->queues) {
        return;
    }
    g_ptr_array_remove(virtio_devices(), vdev);
    virtio_reset(vdev);
    virtio_wait_remaps(vdev);
    runstate_unlisten(vdev->vm_listener);
    vdev->vm_listener = NULL;
    for (unsigned i = 0; i < vdev->num_queues; i++) {
        free(vdev->queues[i]);
    }
    vdev->num_queues = 0;
    g_clear_pointer(&vdev->queues, g_free);
    g_clear_pointer(&vdev->config_bh, aio_bh_free);
    g_clear_pointer(&vdev->kick_bh, aio_bh_free);
    g_clear_pointer(&vdev->config, g_free);
}

static bool virtio_device_realize(DeviceState *dev, Error **errp)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);

    g_assert(vdev->transport);
    vdev->bounce_bytes = 0;
    if (!klass->realize(vdev, errp)) {
        return false;
    }
    vdev->host_features = klass->get_features(vdev, vdev->prop_features);
    return true;
}

static void virtio_device_unrealize(DeviceState *dev)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);

    VIRTIO_DEVICE_CLASS(vdev)->unrealize(vdev);
}

static void virtio_device_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->bus_type = TYPE_VIRTIO_BUS;
    dc->realize = virtio_device_realize;
    dc->unrealize = virtio_device_unrealize;
}

#define PROP_FEATURE(name, bit, dflt) PROP_BIT64(name, VirtIODevice, prop_features, bit, dflt)

static const Property virtio_device_props[] = {
    PROP_FEATURE("indirect_desc", VIRTIO_RING_F_INDIRECT_DESC, true),
    PROP_FEATURE("event_idx", VIRTIO_RING_F_EVENT_IDX, true),
    PROP_FEATURE("notify_on_empty", VIRTIO_F_NOTIFY_ON_EMPTY, true),
    PROP_FEATURE("any_layout", VIRTIO_F_ANY_LAYOUT, true),
    PROP_FEATURE("iommu_platform", VIRTIO_F_ACCESS_PLATFORM, false),
    PROP_FEATURE("packed", VIRTIO_F_RING_PACKED, false),
    PROP_FEATURE("queue_reset", VIRTIO_F_RING_RESET, true),
    PROP_FEATURE("in_order", VIRTIO_F_IN_ORDER, false),
    PROP_BOOL("use-started", VirtIODevice, use_started, true),
    PROP_BOOL("use-disabled-flag", VirtIODevice, use_disabled_flag, true),
    PROP_BOOL("x-disable-legacy-check", VirtIODevice, disable_legacy_check, false),
    PROP_END,
};

static const TypeInfo virtio_device_info = {
    .name = TYPE_VIRTIO_DEVICE,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(VirtIODevice),
    .class_size = sizeof(VirtIODeviceClass),
    .abstract = true,
    .props = virtio_device_props,
    .class_init = virtio_device_class_init,
};
TYPE_REGISTER(virtio_device_info)
