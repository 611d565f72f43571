/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices that the guest lets go of. A processor's access asks for it; the main thread does it. */
#include "hw/core/device.h"
#include "hw/core/runstate.h"
#include "qapi/qapi-qdev.h"
#include "util/biglock.h"

static void unplug_all(GPtrArray *devices)
{
    for (guint i = 0; i < devices->len; i++) {
        device_unplug(devices->pdata[i]);
    }
    g_ptr_array_unref(devices);
}

static void unplug_in_main(void *opaque)
{
    /* Not inside another request, which may be at work on one of them. */
    if (command_begin(unplug_in_main, opaque)) {
        unplug_all(opaque);
        command_end();
    }
}

void device_unplug_by_guest(GPtrArray *devices)
{
    ASSERT_BIG_LOCK();
    if (aio_in_main_thread()) {
        unplug_all(devices);
    } else {
        aio_call(aio_context_main(), unplug_in_main, devices);
    }
}

void device_unplug_refused(DeviceState *dev)
{
    g_autofree char *path = NULL;

    ASSERT_BIG_LOCK();
    if (!dev->pending_unplug) {
        return;
    }
    dev->pending_unplug = false;
    dev->unplug_deadline_ns = 0;
    path = object_path((Object *)dev);
    qapi_event_send_DEVICE_UNPLUG_GUEST_ERROR(dev->id, path ? path : "");
}
