/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -device, device_add and device_del. Runs in: main thread, under the big lock. */
#include "device-internal.h"

#include "util/aio.h"
#include "util/biglock.h"
#include "util/report.h"

#include <string.h>

/* A string member; one of another type counts as absent, as clients have come to rely on. */
static const char *string_option(JsonObject *options, const char *name)
{
    JsonNode *value = json_object_get_member(options, name);

    if (!value || !JSON_NODE_HOLDS_VALUE(value) ||
        json_node_get_value_type(value) != G_TYPE_STRING) {
        return NULL;
    }
    return json_node_get_string(value);
}

/* The class that has this alias itself, not by inheritance. */
static bool owns_alias(ObjectClass *klass, const char *alias)
{
    const char *own = ((DeviceClass *)klass)->alias;

    if (!own || strcmp(own, alias)) {
        return false;
    }
    return !object_class_is(klass->parent, TYPE_DEVICE) ||
           ((DeviceClass *)klass->parent)->alias != own;
}

const char *device_resolve_alias(const char *driver)
{
    ObjectClass *klass = object_class_by_name(driver);

    if (klass) {
        return object_class_is(klass, TYPE_DEVICE) ? object_class_name(klass) : NULL;
    }
    g_autoptr(GPtrArray) classes = object_class_list(TYPE_DEVICE, false);
    for (guint i = 0; i < classes->len; i++) {
        if (owns_alias(classes->pdata[i], driver)) {
            return object_class_name(classes->pdata[i]);
        }
    }
    return NULL;
}

static DeviceClass *device_class_for(const char *driver, bool hotplug, Error **errp)
{
    const char *type = device_resolve_alias(driver);

    if (!type) {
        error_set(errp, "'%s' is not a valid device model name", driver);
        return NULL;
    }
    ObjectClass *klass = object_class_by_name(type);
    if (klass->info->abstract) {
        error_set(errp, "Parameter 'driver' expects a non-abstract device type");
        return NULL;
    }
    DeviceClass *dc = (DeviceClass *)klass;
    if (!dc->user_creatable || (hotplug && !dc->hotpluggable)) {
        error_set(errp, "Parameter 'driver' expects a pluggable device type");
        return NULL;
    }
    return dc;
}

bool device_check_driver(const char *driver, Error **errp)
{
    return device_class_for(driver, false, errp) != NULL;
}

/* Finds where the device goes; *out is NULL for one that needs no bus. */
static bool find_bus(const DeviceClass *dc, JsonObject *options, bool hotplug, BusState **out,
                     Error **errp)
{
    const char *type = object_class_name(&dc->parent_class);
    const char *path = string_option(options, "bus");
    BusState *bus = NULL;

    if (path) {
        bus = bus_find_path(path, errp);
        if (!bus) {
            return false;
        }
        if (!dc->bus_type || !object_is((Object *)bus, dc->bus_type)) {
            error_set(errp, "Device '%s' can't go on %s bus", type,
                      object_type_name((Object *)bus));
            return false;
        }
    } else if (dc->bus_type) {
        bus = bus_find_type(dc->bus_type);
        if (!bus || bus_is_full(bus)) {
            error_set(errp, "No '%s' bus found for device '%s'", dc->bus_type, type);
            return false;
        }
    }
    if (hotplug && bus && !bus->hotplug) {
        error_set(errp, "Bus '%s' does not support hotplugging", bus->name);
        return false;
    }
    if (hotplug && !bus) {
        error_set(errp, "Device '%s' can not be hotplugged on this machine", type);
        return false;
    }
    *out = bus;
    return true;
}

static bool place_in_tree(DeviceState *dev, const char *id, Error **errp)
{
    if (!id) {
        return object_add_child(object_container("/machine/peripheral-anon"), "device[*]",
                                (Object *)dev, errp);
    }
    Object *peripheral = object_container("/machine/peripheral");
    /* An id that looks like a pattern must not be taken for one. */
    if (g_str_has_suffix(id, "[*]")) {
        error_set(errp, "Invalid device ID '%s'", id);
        return false;
    }
    if (!object_add_child(peripheral, id, (Object *)dev, NULL)) {
        error_set(errp, "Duplicate device ID '%s'", id);
        return false;
    }
    dev->id = g_strdup(id);
    return true;
}

typedef struct ApplyState {
    JsonObject *options;
    QapiForm form;
    Error *err;
} ApplyState;

static void apply_one(Object *obj, const char *name, const char *type, const Property *prop,
                      void *opaque)
{
    ApplyState *s = opaque;
    JsonNode *value = s->err ? NULL : json_object_get_member(s->options, name);

    if (value) {
        object_property_set(obj, name, value, s->form, &s->err);
        json_object_remove_member(s->options, name);
    }
}

/* Known properties come first, in the order of the tables, so that a wrong value is reported before
 * an unknown name whatever order they were given in. */
static bool apply_options(DeviceState *dev, JsonObject *options, QapiForm form, Error **errp)
{
    g_autoptr(JsonObject) rest = json_object_new();
    JsonObjectIter it;
    const char *name;
    JsonNode *value;

    json_object_iter_init_ordered(&it, options);
    while (json_object_iter_next_ordered(&it, &name, &value)) {
        if (strcmp(name, "driver") && strcmp(name, "id") && strcmp(name, "bus")) {
            json_object_set_member(rest, name, json_node_copy(value));
        }
    }

    ApplyState s = { rest, form, NULL };
    object_for_each_property((Object *)dev, apply_one, &s);
    if (s.err) {
        error_propagate(errp, s.err);
        return false;
    }
    json_object_iter_init_ordered(&it, rest);
    while (json_object_iter_next_ordered(&it, &name, &value)) {
        if (!object_property_set((Object *)dev, name, value, form, errp)) {
            return false;
        }
    }
    return true;
}

DeviceState *device_add(JsonObject *options, QapiForm form, bool hotplug, Error **errp)
{
    ASSERT_BIG_LOCK();

    const char *driver = string_option(options, "driver");
    if (!driver) {
        error_set(errp, "Parameter 'driver' is missing");
        return NULL;
    }
    DeviceClass *dc = device_class_for(driver, hotplug, errp);
    if (!dc) {
        return NULL;
    }
    BusState *bus;
    if (!find_bus(dc, options, hotplug, &bus, errp)) {
        return NULL;
    }

    g_autoptr(Object) obj = (Object *)device_new(object_class_name(&dc->parent_class));
    DeviceState *dev = DEVICE(obj);
    dev->hotplugged = hotplug;
    Error *global_error = global_error_take(dev);
    if (global_error) {
        if (!hotplug) {
            error_propagate(errp, global_error);
            return NULL;
        }
        /* It was accepted when the machine started; it does not stand in the way now. */
        report_warning_free(global_error);
    }
    if (!place_in_tree(dev, string_option(options, "id"), errp)) {
        return NULL;
    }
    if (!apply_options(dev, options, form, errp) || !device_realize(dev, bus, errp)) {
        object_unparent(obj);
        return NULL;
    }
    return dev; /* the tree holds it */
}

bool device_del(const char *id_or_path, Error **errp)
{
    ASSERT_BIG_LOCK();

    DeviceState *dev = device_find(id_or_path, errp);
    if (!dev) {
        return false;
    }
    if (dev->pending_unplug &&
        (!dev->unplug_deadline_ns ||
         dev->unplug_deadline_ns > aio_clock_ns(AIO_CLOCK_VIRTUAL))) {
        error_set(errp, "Device %s is already in the process of unplug", id_or_path);
        return false;
    }

    BusState *bus = dev->bus;
    if (bus && !bus->hotplug) {
        error_set(errp, "Bus '%s' does not support hotplugging", bus->name);
        return false;
    }
    if (!DEVICE_CLASS(dev)->hotpluggable || !bus || !bus->hotplug->unplug_request) {
        error_set(errp, "Device '%s' does not support hotplugging",
                  object_type_name((Object *)dev));
        return false;
    }

    object_ref((Object *)dev); /* it may go at once */
    bool was_pending = dev->pending_unplug;
    int64_t old_deadline = dev->unplug_deadline_ns;
    dev->pending_unplug = true;
    dev->unplug_deadline_ns = 0;
    bool ok = bus->hotplug->unplug_request(bus, dev, errp);
    if (!ok) {
        dev->pending_unplug = was_pending;
        dev->unplug_deadline_ns = old_deadline;
    }
    object_unref((Object *)dev);
    return ok;
}
