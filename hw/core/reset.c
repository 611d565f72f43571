/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System reset. Runs in: main thread, under the big lock. */
#include "device-internal.h"

#include "util/biglock.h"

typedef struct ResetHandler {
    void (*fn)(void *opaque);
    void *opaque;
} ResetHandler;

static GArray *handlers; /* of ResetHandler */

/* A snapshot: a reset may complete an unplug that was asked for. */
static void add_to(gpointer dev, gpointer array)
{
    g_ptr_array_add(array, object_ref(dev));
}

static GPtrArray *devices_on(BusState *bus)
{
    GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

    for (GList *l = g_list_last(bus->children); l; l = l->prev) {
        add_to(l->data, list);
    }
    return list;
}

static void reset_all_of(GPtrArray *devices)
{
    for (guint i = 0; i < devices->len; i++) {
        DeviceState *dev = devices->pdata[i];
        if (dev->realized) {
            device_reset(dev);
        }
    }
}

static void reset_bus(BusState *bus)
{
    g_autoptr(GPtrArray) devices = devices_on(bus);

    reset_all_of(devices);
    if (bus_class(bus)->reset) {
        bus_class(bus)->reset(bus);
    }
}

void device_reset(DeviceState *dev)
{
    ASSERT_BIG_LOCK();
    object_ref((Object *)dev);
    for (guint i = 0; i < dev->child_buses->len; i++) {
        reset_bus(dev->child_buses->pdata[i]);
    }
    const DeviceClass *dc = DEVICE_CLASS(dev);
    if (dc->reset && dev->realized) {
        dc->reset(dev);
    }
    object_unref((Object *)dev);
}

void device_reset_all(void)
{
    g_autoptr(GPtrArray) orphans = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

    reset_bus(main_system_bus());
    g_queue_foreach(device_orphans(), add_to, orphans);
    reset_all_of(orphans);
    for (guint i = 0; handlers && i < handlers->len; i++) {
        ResetHandler h = g_array_index(handlers, ResetHandler, i);
        h.fn(h.opaque);
    }
}

void reset_register(void (*fn)(void *opaque), void *opaque)
{
    ResetHandler h = { fn, opaque };

    if (!handlers) {
        handlers = g_array_new(FALSE, FALSE, sizeof(ResetHandler));
    }
    g_array_append_val(handlers, h);
}
