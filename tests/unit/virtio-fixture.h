/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_TEST_VIRTIO_FIXTURE_H
#define SPINDLE_TEST_VIRTIO_FIXTURE_H

#include "../../hw/virtio/virtio-internal.h"
#include "../../hw/virtio/vring-access.h"

#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "util/biglock.h"
#include "util/iothread.h"
#include "util/report.h"

/*
 * A machine of nothing but RAM, and a virtio device with a transport that only counts. The device
 * answers a chain by setting its writable bytes to the sum of its readable ones.
 */

#define RAM_BASE  0x100000
#define RAM_SIZE  0x400000
#define DESC      RAM_BASE
#define AVAIL     (RAM_BASE + 0x8000)
#define USED      (RAM_BASE + 0xc000)
#define DATA      (RAM_BASE + 0x20000)

#define TYPE_ECHO "test-echo"

typedef struct Echo {
    VirtIODevice parent_obj;
    AioContext *ctx;   /* owner of the queues; NULL: main */
    unsigned notified; /* atomic; interrupts */
    unsigned handled;  /* chains; the owner's */
    AioContext *seen;  /* where the last chain was handled */
    bool early;        /* the guest is to see each answer at once */
    uint16_t used;     /* then: the index it saw after the latest one, before the batch ended */
} Echo;

static uint8_t *ram;
static char *last_error;

static inline void *host(uint64_t addr)
{
    return ram + (addr - RAM_BASE);
}

static inline void put16(uint64_t addr, uint16_t v)
{
    vring_store16(host(addr), v);
}

static inline uint16_t get16(uint64_t addr)
{
    return vring_load16(host(addr));
}

static inline void desc_at(uint64_t table, unsigned i, uint64_t addr, uint32_t len, uint16_t flags,
                           uint16_t next)
{
    struct vring_desc d = {addr, len, flags, next};

    vring_copy(host(table + 16 * i), &d, sizeof(d));
}

static inline void desc(unsigned i, uint64_t addr, uint32_t len, uint16_t flags, uint16_t next)
{
    desc_at(DESC, i, addr, len, flags, next);
}

/* Adds a chain to the ring of `num` entries. */
static inline void publish(unsigned num, uint16_t head)
{
    uint16_t idx = get16(AVAIL + 2);

    put16(AVAIL + 4 + 2 * (idx % num), head);
    vring_mb();
    put16(AVAIL + 2, idx + 1);
}

/* ---- the device ---- */

static bool echo_realize(VirtIODevice *vdev, Error **errp)
{
    virtio_init(vdev, "echo", 42, 8);
    virtio_add_queue(vdev, 256);
    virtio_add_queue(vdev, 256);
    return true;
}

static void echo_unrealize(VirtIODevice *vdev)
{
    virtio_cleanup(vdev);
}

static uint64_t echo_features(VirtIODevice *vdev, uint64_t features)
{
    return features | UINT64_C(1) << VIRTIO_F_VERSION_1;
}

static void echo_get_config(VirtIODevice *vdev, uint8_t *config)
{
    memset(config, 0x5a, 8);
}

static AioContext *echo_context(VirtIODevice *vdev, VirtQueue *vq)
{
    Echo *e = (Echo *)vdev;

    return e->ctx ? e->ctx : aio_context_main();
}

static bool echo_handle(VirtIODevice *vdev, VirtQueue *vq)
{
    Echo *e = (Echo *)vdev;
    VirtQueueElement elem = {0};
    bool suppress = virtqueue_kick_wanted(vq), any = false;

    aio_plug();
    do {
        if (suppress) {
            virtqueue_set_kick_wanted(vq, false);
        }
        while (virtqueue_pop(vq, &elem) > 0) {
            uint8_t sum = 0;

            for (unsigned i = 0; i < elem.out_bytes; i++) {
                uint8_t c;

                g_assert_cmpuint(virtqueue_copy_out(&elem, i, &c, 1), ==, 1);
                sum += c;
            }
            for (unsigned i = 0; i < elem.in_bytes; i++) {
                virtqueue_copy_in(&elem, i, &sum, 1);
            }
            any = true;
            e->handled++;
            e->seen = aio_context_current();
            virtqueue_push(vq, &elem, elem.in_bytes);
            if (e->early) {
                virtqueue_flush_early(vq);
                e->used = get16(USED + 2);
            }
        }
        if (suppress) {
            virtqueue_set_kick_wanted(vq, true);
        }
    } while (!virtqueue_empty(vq));
    aio_unplug();
    virtqueue_element_release(&elem);
    return any;
}

static void echo_class_init(ObjectClass *klass, const void *data)
{
    VirtIODeviceClass *vc = (VirtIODeviceClass *)klass;

    vc->realize = echo_realize;
    vc->unrealize = echo_unrealize;
    vc->get_features = echo_features;
    vc->get_config = echo_get_config;
    vc->queue_context = echo_context;
    vc->handle_queue = echo_handle;
    vc->parent_class.bus_type = NULL;
}

static const TypeInfo echo_info = {
    .name = TYPE_ECHO,
    .parent = TYPE_VIRTIO_DEVICE,
    .instance_size = sizeof(Echo),
    .class_init = echo_class_init,
};
TYPE_REGISTER(echo_info)

/* ---- the transport ---- */

static void fake_notify(void *opaque, uint16_t vector)
{
    __atomic_fetch_add(&((Echo *)opaque)->notified, 1, __ATOMIC_RELAXED);
}

static void guest_read_fd(void *opaque)
{
    VirtQueue *vq = opaque;

    if (event_notifier_test_and_clear(&vq->guest)) {
        fake_notify(vq->vdev, 0);
    }
}

static const AioFdOps guest_ops = {.read = guest_read_fd};

static bool fake_add_guest(void *opaque, VirtQueue *vq, Error **errp)
{
    event_notifier_init(&vq->guest, false, &error_abort);
    vq->m.guest_fd = aio_fd_add(aio_context_main(), vq->guest.fd, &guest_ops, vq);
    return true;
}

static void fake_del_guest(void *opaque, VirtQueue *vq)
{
    aio_fd_remove(vq->m.guest_fd);
    vq->m.guest_fd = NULL;
    guest_read_fd(vq);
    event_notifier_cleanup(&vq->guest);
    vq->guest.fd = -1;
}

static bool fake_start(void *opaque, Error **errp)
{
    VirtIODevice *vdev = opaque;

    for (unsigned i = 0; i < vdev->num_queues; i++) {
        event_notifier_init(&vdev->queues[i]->host, false, &error_abort);
        fake_add_guest(opaque, vdev->queues[i], &error_abort);
    }
    return true;
}

static void fake_stop(void *opaque)
{
    VirtIODevice *vdev = opaque;

    for (unsigned i = 0; i < vdev->num_queues; i++) {
        VirtQueue *vq = vdev->queues[i];

        if (vq->guest.fd >= 0) {
            fake_del_guest(opaque, vq);
        }
        event_notifier_cleanup(&vq->host);
        vq->host.fd = -1;
    }
}

static bool fake_has_notifiers(void *opaque)
{
    return ((Echo *)opaque)->ctx != NULL;
}

static bool fake_can_run(void *opaque)
{
    return true;
}

static const VirtIOTransportOps fake_transport = {
    .notify = fake_notify,
    .start_notifiers = fake_start,
    .stop_notifiers = fake_stop,
    .has_notifiers = fake_has_notifiers,
    .add_guest_notifier = fake_add_guest,
    .del_guest_notifier = fake_del_guest,
    .can_run = fake_can_run,
};

/* ---- a device ready for use ---- */

static void catch_error(const char *line, void *opaque)
{
    g_free(last_error);
    last_error = g_strdup(line);
}

static inline Echo *echo_new_type(const char *type, AioContext *ctx)
{
    Echo *e = (Echo *)device_new(type);
    VirtIODevice *vdev = (VirtIODevice *)e;

    memset(ram, 0, RAM_SIZE);
    g_clear_pointer(&last_error, g_free);
    e->ctx = ctx;
    vdev->transport = &fake_transport;
    vdev->transport_opaque = e;
    vdev->bounce_limit = 4096;
    device_realize((DeviceState *)e, NULL, &error_abort);
    vdev->vm_running = true;
    return e;
}

static inline Echo *echo_new(AioContext *ctx)
{
    return echo_new_type(TYPE_ECHO, ctx);
}

static inline void echo_free(Echo *e)
{
    device_unplug((DeviceState *)e);
    object_unref((Object *)e);
}

/* As a driver does it: features, ring of queue 0, DRIVER_OK. */
static inline VirtQueue *echo_up(Echo *e, unsigned num, uint64_t features)
{
    VirtIODevice *vdev = (VirtIODevice *)e;

    virtio_set_status(vdev, 3);
    virtio_set_guest_features(vdev, features | UINT64_C(1) << VIRTIO_F_VERSION_1);
    virtio_set_status(vdev, 11);
    virtio_queue_set_num(vdev->queues[0], num);
    virtio_queue_set_rings(vdev->queues[0], DESC, AVAIL, USED);
    virtio_set_status(vdev, 15);
    return vdev->queues[0];
}

static inline void fixture_init(void)
{
    aio_main_init(&error_abort);
    big_lock();
    report_set_sink(catch_error, NULL);
    ram = aligned_alloc(4096, RAM_SIZE);
    guest_ram_add("ram", RAM_BASE, RAM_SIZE, ram, false, &error_abort);
}

#endif
