/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the queue path does for a request, without a machine around it: a disk on null-co, its rings
 * in memory of this program, and batches of requests that are put there and served at once.
 *
 *     replay READS_PERCENT BATCH BATCHES
 *
 * instructions.py runs it under callgrind and has what happens in replay_batch() counted.
 */
#include "../unit/virtio-fixture.h"

#include <linux/virtio_blk.h>
#include <stdlib.h>

#include "block/block.h"
#include "qapi/keyval.h"

#define NUM     128
#define CHAIN   3 /* descriptors: header, data, status */
#define MOST    (NUM / CHAIN)
#define HEADERS (RAM_BASE + 0x10000)
#define STATUS  (RAM_BASE + 0x18000)
#define TYPE_REPLAY_DISK "replay-disk"

/* A virtio-blk without a bus. */
static void disk_class_init(ObjectClass *klass, const void *data)
{
    ((DeviceClass *)klass)->bus_type = NULL;
}

static const TypeInfo disk_info = {
    .name = TYPE_REPLAY_DISK,
    .parent = "virtio-blk-device",
    .class_init = disk_class_init,
};
TYPE_REGISTER(disk_info)

static unsigned interrupts;

static void count_interrupt(void *opaque, uint16_t vector)
{
    interrupts++;
}

static bool no_notifiers(void *opaque)
{
    return false;
}

static const VirtIOTransportOps transport = {
    .notify = count_interrupt,
    .has_notifiers = no_notifiers,
    .can_run = fake_can_run,
};

static void put_request(unsigned i, unsigned percent, uint32_t random)
{
    struct virtio_blk_outhdr hdr = {
        .type = random % 100 < percent ? VIRTIO_BLK_T_IN : VIRTIO_BLK_T_OUT,
        .sector = (uint64_t)(random >> 8) % 32768 * 8,
    };
    unsigned d = CHAIN * i;
    bool in = hdr.type == VIRTIO_BLK_T_IN;

    vring_copy(host(HEADERS + 64 * i), &hdr, sizeof(hdr));
    desc(d, HEADERS + 64 * i, sizeof(hdr), VRING_DESC_F_NEXT, d + 1);
    desc(d + 1, DATA + 4096 * i, 4096, VRING_DESC_F_NEXT | (in ? VRING_DESC_F_WRITE : 0), d + 2);
    desc(d + 2, STATUS + 64 * i, 1, VRING_DESC_F_WRITE, 0);
    *(uint8_t *)host(STATUS + 64 * i) = 0xff;
    publish(NUM, d);
}

/* The name is what is counted. */
void replay_batch(VirtQueue *vq);
void __attribute__((noinline)) replay_batch(VirtQueue *vq)
{
    virtqueue_run_in_place(vq);
}

static VirtIODevice *make_disk(void)
{
    g_autoptr(JsonNode) node = keyval_parse("null-co,node-name=d0,size=1073741824,read-zeroes=off",
                                            "driver", NULL, &error_abort);
    VirtIODevice *vdev;

    blockdev_add_options(node, QAPI_KEYVAL, &error_abort);
    vdev = (VirtIODevice *)device_new(TYPE_REPLAY_DISK);
    object_property_set_str((Object *)vdev, "drive", "d0", &error_abort);
    vdev->transport = &transport;
    vdev->transport_opaque = vdev;
    device_realize((DeviceState *)vdev, NULL, &error_abort);
    vdev->vm_running = true;
    virtio_set_status(vdev, 3);
    virtio_set_guest_features(vdev, UINT64_C(1) << VIRTIO_F_VERSION_1 |
                                        UINT64_C(1) << VIRTIO_RING_F_EVENT_IDX |
                                        UINT64_C(1) << VIRTIO_BLK_F_FLUSH);
    virtio_set_status(vdev, 11);
    virtio_queue_set_num(vdev->queues[0], NUM);
    virtio_queue_set_rings(vdev->queues[0], DESC, AVAIL, USED);
    virtio_set_status(vdev, 15);
    return vdev;
}

int main(int argc, char **argv)
{
    unsigned percent, batch, batches;
    uint32_t random = 12345;
    VirtIODevice *vdev;

    if (argc != 4) {
        g_printerr("usage: %s READS_PERCENT BATCH BATCHES\n", argv[0]);
        return 2;
    }
    percent = atoi(argv[1]);
    batch = atoi(argv[2]);
    batch = CLAMP(batch, 1, MOST);
    batches = atoi(argv[3]);
    fixture_init();
    memset(ram, 0, RAM_SIZE);
    vdev = make_disk();
    for (unsigned n = 0; n < batches; n++) {
        for (unsigned i = 0; i < batch; i++) {
            random = random * 1664525 + 1013904223;
            put_request(i, percent, random);
        }
        replay_batch(vdev->queues[0]);
        if (get16(USED + 2) != (uint16_t)((n + 1) * batch)) {
            g_printerr("%s: batch %u is not done\n", argv[0], n);
            return 1;
        }
        for (unsigned i = 0; i < batch; i++) {
            if (*(uint8_t *)host(STATUS + 64 * i) != VIRTIO_BLK_S_OK) {
                g_printerr("%s: a request of batch %u failed\n", argv[0], n);
                return 1;
            }
        }
    }
    g_print("%u requests, %u interrupts\n", batches * batch, interrupts);
    device_unplug((DeviceState *)vdev);
    object_unref((Object *)vdev);
    block_close_all();
    return 0;
}
