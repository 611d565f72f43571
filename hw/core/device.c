/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a device: new, configured, realized, unrealized, gone. Runs in: main thread, under
 * the big lock.
 */
#include "device-internal.h"

#include "hw/core/machine.h"

#include "qapi/qapi-qdev.h"
#include "util/biglock.h"

#include <string.h>

GQueue *device_orphans(void)
{
    static GQueue orphans = G_QUEUE_INIT;
    return &orphans;
}

DeviceState *device_new(const char *type)
{
    return DEVICE(object_new(type));
}

/* ---- properties that all devices have ---- */

static JsonNode *flag_get(Object *obj, const Property *prop, Error **errp)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_boolean(node, *(bool *)((char *)obj + prop->offset));
    return node;
}

static const PropertyType prop_flag = { .name = "bool", .size = sizeof(bool), .get = flag_get };

static JsonNode *hotpluggable_get(Object *obj, const Property *prop, Error **errp)
{
    DeviceState *dev = DEVICE(obj);
    bool on = DEVICE_CLASS(dev)->hotpluggable && (!dev->bus || dev->bus->hotplug);
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_boolean(node, on);
    return node;
}

static const PropertyType prop_hotpluggable = { .name = "bool", .get = hotpluggable_get };

static JsonNode *parent_bus_get(Object *obj, const Property *prop, Error **errp)
{
    DeviceState *dev = DEVICE(obj);
    g_autofree char *path = dev->bus ? object_path((Object *)dev->bus) : NULL;
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    json_node_set_string(node, path ? path : "");
    return node;
}

static const PropertyType prop_parent_bus = { .name = "link<bus>", .get = parent_bus_get };

#define DEVICE_PROP(n, t, ofs)                                                                     \
    { .name = (n), .type = &(t), .offset = (ofs), .flags = PROP_READ_ONLY | PROP_HIDDEN }

static const Property device_props[] = {
    DEVICE_PROP("parent_bus", prop_parent_bus, 0),
    DEVICE_PROP("realized", prop_flag, PROP_FIELD(DeviceState, realized)),
    DEVICE_PROP("hotplugged", prop_flag, PROP_FIELD(DeviceState, hotplugged)),
    DEVICE_PROP("hotpluggable", prop_hotpluggable, 0),
    PROP_END,
};

static bool device_realized_check(Object *obj, const Property *prop, Error **errp)
{
    if (!object_is(obj, TYPE_DEVICE) || (prop->flags & PROP_RUNTIME)) {
        return true;
    }
    DeviceState *dev = DEVICE(obj);
    if (!dev->realized) {
        return true;
    }
    if (prop->type == &prop_link) {
        error_set(errp,
                  "Attempt to set link property '%s' on device '%s' (type '%s') after it was "
                  "realized",
                  prop->name, dev->id ? dev->id : "(null)", object_type_name(obj));
    } else if (dev->id) {
        error_set(errp,
                  "Attempt to set property '%s' on device '%s' (type '%s') after it was realized",
                  prop->name, dev->id, object_type_name(obj));
    } else {
        error_set(errp,
                  "Attempt to set property '%s' on anonymous device (type '%s') after it was "
                  "realized",
                  prop->name, object_type_name(obj));
    }
    return false;
}

/* ---- realize and unrealize ---- */

static void leave_bus(DeviceState *dev, bool assigned)
{
    if (!dev->bus) {
        return;
    }
    if (assigned && bus_class(dev->bus)->release) {
        bus_class(dev->bus)->release(dev->bus, dev);
    }
    bus_detach(dev);
}

static bool put_in_tree(DeviceState *dev)
{
    if (((Object *)dev)->parent) {
        return false;
    }
    object_add_child(object_container("/machine/unattached"), "device[*]", (Object *)dev,
                     &error_abort);
    return true;
}

static void unrealize_below(DeviceState *dev)
{
    for (guint i = dev->child_buses->len; i-- > 0;) {
        BusState *bus = dev->child_buses->pdata[i];
        while (bus->children) {
            DeviceState *child = bus->children->data;
            if (child->realized) {
                device_unrealize(child);
            } else {
                bus_detach(child);
            }
        }
    }
}

bool device_realize(DeviceState *dev, BusState *bus, Error **errp)
{
    const DeviceClass *dc = DEVICE_CLASS(dev);
    const HotplugOps *ops = bus ? bus->hotplug : NULL;
    bool assigned = false;

    ASSERT_BIG_LOCK();
    g_assert(!dev->realized && !dev->bus);

    Error *global_error = global_error_take(dev);
    if (global_error) {
        error_propagate(errp, global_error);
        return false;
    }

    object_ref((Object *)dev);
    bool placed = put_in_tree(dev);
    if (bus) {
        bus_attach(bus, dev);
        if (bus->parent && bus->parent->hotplugged) {
            dev->hotplugged = true;
        }
    }
    if (ops && ops->pre_plug && !ops->pre_plug(bus, dev, errp)) {
        goto fail;
    }
    if (bus && bus_class(bus)->assign) {
        if (!bus_class(bus)->assign(bus, dev, errp)) {
            goto fail;
        }
        assigned = true;
    }
    if (dc->realize && !dc->realize(dev, errp)) {
        goto fail;
    }
    dev->realized = true;
    if (!bus) {
        g_queue_push_tail(device_orphans(), dev);
    }
    if (dev->hotplugged) {
        device_reset(dev);
    }
    if (ops && ops->plug && !ops->plug(bus, dev, errp)) {
        device_unrealize(dev);
        goto fail_off_bus;
    }
    object_unref((Object *)dev);
    return true;

fail:
    unrealize_below(dev);
    leave_bus(dev, assigned);
fail_off_bus:
    if (placed) {
        object_unparent((Object *)dev);
    }
    object_unref((Object *)dev);
    return false;
}

void device_unrealize(DeviceState *dev)
{
    if (!dev->realized) {
        return; /* a specimen that is only looked at, in a process that is about to print help */
    }
    ASSERT_BIG_LOCK();
    object_ref((Object *)dev);
    unrealize_below(dev);
    const DeviceClass *dc = DEVICE_CLASS(dev);
    if (dc->unrealize) {
        dc->unrealize(dev);
    }
    dev->realized = false;
    if (!dev->bus) {
        g_queue_remove(device_orphans(), dev);
    }
    leave_bus(dev, true);
    object_unref((Object *)dev);
}

/* ---- unplugging ---- */

typedef struct Gone {
    DeviceState *dev; /* one reference */
    char *id;
    char *path;
} Gone;

static void gone_free(gpointer p)
{
    Gone *g = p;
    object_unref((Object *)g->dev);
    g_free(g->id);
    g_free(g->path);
    g_free(g);
}

/* dev and all below it, those below first. */
static void list_gone(DeviceState *dev, GPtrArray *out)
{
    for (guint i = 0; i < dev->child_buses->len; i++) {
        BusState *bus = dev->child_buses->pdata[i];
        for (GList *l = g_list_last(bus->children); l; l = l->prev) {
            list_gone(l->data, out);
        }
    }
    Gone *g = g_new0(Gone, 1);
    g->dev = (DeviceState *)object_ref((Object *)dev);
    g->id = g_strdup(dev->id);
    g->path = object_path((Object *)dev);
    g_ptr_array_add(out, g);
}

void device_unplug(DeviceState *dev)
{
    ASSERT_BIG_LOCK();
    if (!dev->realized) {
        return;
    }
    g_autoptr(GPtrArray) gone = g_ptr_array_new_with_free_func(gone_free);

    list_gone(dev, gone);
    /* No processor may be in the middle of an access to it. */
    accel_cpus_pause();
    device_unrealize(dev);
    accel_cpus_resume();
    for (guint i = 0; i < gone->len; i++) {
        ((Gone *)gone->pdata[i])->dev->unplugged = true;
        Object *obj = (Object *)((Gone *)gone->pdata[i])->dev;
        /* A part of another device goes when that does. */
        if ((DeviceState *)obj == dev || (obj->parent && object_is(obj->parent, "container"))) {
            object_unparent(obj);
        }
    }
    for (guint i = 0; i < gone->len; i++) {
        Gone *g = gone->pdata[i];
        /* Whoever is told may use again what the device held. */
        g_clear_pointer((Object **)&g->dev, object_unref);
        qapi_event_send_DEVICE_DELETED(g->id, g->path ? g->path : "");
    }
}

DeviceState *device_find(const char *id_or_path, Error **errp)
{
    Object *obj;

    if (id_or_path[0] == '/') {
        obj = object_resolve(id_or_path, NULL);
    } else {
        Object *peripheral = object_container("/machine/peripheral");
        obj = object_child(peripheral, id_or_path);
        if (!obj && !id_or_path[0]) {
            obj = peripheral;
        }
    }
    if (!obj) {
        error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", id_or_path);
        return NULL;
    }
    if (!object_is(obj, TYPE_DEVICE)) {
        error_set(errp, "%s is not a device", id_or_path);
        return NULL;
    }
    return DEVICE(obj);
}

/* ---- walking ---- */

static void for_each_below(DeviceState *dev, void (*fn)(DeviceState *, void *), void *opaque)
{
    fn(dev, opaque);
    for (guint i = 0; i < dev->child_buses->len; i++) {
        device_for_each(dev->child_buses->pdata[i], fn, opaque);
    }
}

void device_for_each(BusState *bus, void (*fn)(DeviceState *dev, void *opaque), void *opaque)
{
    BusState *start = bus ? bus : main_system_bus();

    for (GList *l = g_list_last(start->children); l; l = l->prev) {
        for_each_below(l->data, fn, opaque);
    }
    if (!bus) {
        for (GList *l = device_orphans()->head; l; l = l->next) {
            for_each_below(l->data, fn, opaque);
        }
    }
}

/* ---- the type ---- */

static void device_created(Object *obj)
{
    if (object_is(obj, TYPE_DEVICE)) {
        global_property_apply(DEVICE(obj));
    }
}

static void device_unparent(Object *obj)
{
    device_unrealize(DEVICE(obj));
}

static void device_init(Object *obj)
{
    DEVICE(obj)->child_buses = g_ptr_array_new();
}

static void device_finalize(Object *obj)
{
    DeviceState *dev = DEVICE(obj);

    g_assert(!dev->realized);
    while (dev->child_buses->len) {
        bus_free(dev->child_buses->pdata[dev->child_buses->len - 1]);
    }
    g_ptr_array_unref(dev->child_buses);
    bootindex_release(obj);
    error_free(dev->global_error);
    g_free(dev->id);
}

static void device_class_init(ObjectClass *klass, const void *data)
{
    klass->unparent = device_unparent;
    object_realized_check = device_realized_check;
    object_created_hook = device_created;
}

static const TypeInfo device_info = {
    .name = TYPE_DEVICE,
    .parent = "object",
    .instance_size = sizeof(DeviceState),
    .class_size = sizeof(DeviceClass),
    .abstract = true,
    .props = device_props,
    .class_init = device_class_init,
    .instance_init = device_init,
    .instance_finalize = device_finalize,
};
TYPE_REGISTER(device_info)
