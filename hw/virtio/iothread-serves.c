/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For query-iothreads: the virtqueues that are mapped to a thread. */

#include "qapi/qapi-iothread.h"
#include "qom/iothread.h"
#include "virtio-internal.h"

static void list_queues(IOThread *t, GPtrArray *serves)
{
    GPtrArray *all = virtio_devices();

    for (guint i = 0; i < all->len; i++) {
        VirtIODevice *vdev = all->pdata[i];
        VirtIODeviceClass *klass = VIRTIO_DEVICE_CLASS(vdev);
        IOThreadServes *s = NULL;

        for (unsigned q = 0; klass->queue_context && q < vdev->num_queues; q++) {
            uint16_t index = q;

            if (klass->queue_context(vdev, vdev->queues[q]) != iothread_context(t)) {
                continue;
            }
            if (!s) {
                s = g_new0(IOThreadServes, 1);
                s->path = object_path((Object *)vdev);
                s->queues = g_array_new(FALSE, FALSE, sizeof(uint16_t));
                g_ptr_array_add(serves, s);
            }
            g_array_append_val(s->queues, index);
        }
    }
}

static void __attribute__((constructor)) register_lister(void)
{
    iothread_add_lister(list_queues);
}
