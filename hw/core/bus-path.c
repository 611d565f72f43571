/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What -device bus= says: the name of a bus, or a path "/dev/bus/dev" whose steps are devices (by
 * id, type or alias) and buses in turn, from a bus or, with a leading "/", from the main system
 * bus.
 */
#include "device-internal.h"

#include <string.h>

static void append_name(GString *s, const char *name)
{
    g_string_append_printf(s, "%s\"%s\"", s->len ? ", " : "", name);
}

static void hint_buses(DeviceState *dev, Error **errp)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (guint i = 0; i < dev->child_buses->len; i++) {
        append_name(names, ((BusState *)dev->child_buses->pdata[i])->name);
    }
    error_append_hint(errp, "child buses at \"%s\": %s\n",
                      dev->id ? dev->id : object_type_name((Object *)dev), names->str);
}

static void hint_devices(BusState *bus, Error **errp)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (GList *l = bus->children; l; l = l->next) {
        DeviceState *dev = l->data;
        append_name(names, dev->id ? dev->id : object_type_name((Object *)dev));
    }
    error_append_hint(errp, "devices at \"%s\": %s\n", bus->name, names->str);
}

static bool names_id(DeviceState *dev, const char *name)
{
    return dev->id && !strcmp(dev->id, name);
}

static bool names_type(DeviceState *dev, const char *name)
{
    return !strcmp(object_type_name((Object *)dev), name);
}

static bool names_alias(DeviceState *dev, const char *name)
{
    return DEVICE_CLASS(dev)->alias && !strcmp(DEVICE_CLASS(dev)->alias, name);
}

/* Ids take precedence over types, and those over aliases. */
static DeviceState *device_on_bus(BusState *bus, const char *name)
{
    static bool (*const ways[])(DeviceState *, const char *) = { names_id, names_type,
                                                                 names_alias };
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        for (GList *l = bus->children; l; l = l->next) {
            if (ways[i](l->data, name)) {
                return l->data;
            }
        }
    }
    return NULL;
}

static BusState *bus_below(DeviceState *dev, const char *name)
{
    for (guint i = 0; i < dev->child_buses->len; i++) {
        BusState *bus = dev->child_buses->pdata[i];
        if (!strcmp(bus->name, name)) {
            return bus;
        }
    }
    return NULL;
}

/* Where the steps from `bus` lead. */
static BusState *walk(BusState *bus, char **steps, Error **errp)
{
    while (*steps) {
        DeviceState *dev = device_on_bus(bus, *steps);
        if (!dev) {
            error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", *steps);
            hint_devices(bus, errp);
            return NULL;
        }
        if (!steps[1]) {
            /* The last step may be a device, if that leaves no choice of the bus. */
            if (!dev->child_buses->len) {
                error_set(errp, "Device '%s' has no child bus", *steps);
                return NULL;
            }
            if (dev->child_buses->len > 1) {
                error_set(errp, "Device '%s' has multiple child buses", *steps);
                hint_buses(dev, errp);
                return NULL;
            }
            return dev->child_buses->pdata[0];
        }
        bus = bus_below(dev, steps[1]);
        if (!bus) {
            error_set(errp, "Bus '%s' not found", steps[1]);
            hint_buses(dev, errp);
            return NULL;
        }
        steps += 2;
    }
    return bus;
}

BusState *bus_find_path(const char *path, Error **errp)
{
    g_autoptr(GPtrArray) steps = g_ptr_array_new();
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    BusState *bus;

    for (guint i = 0; parts[i]; i++) {
        if (parts[i][0]) {
            g_ptr_array_add(steps, parts[i]);
        }
    }
    g_ptr_array_add(steps, NULL);

    char **first = (char **)steps->pdata;
    if (path[0] == '/') {
        bus = main_system_bus();
    } else {
        const char *name = *first ? *first++ : "";
        bus = bus_find_name(name);
        if (!bus) {
            error_set(errp, "Bus '%s' not found", name);
            return NULL;
        }
    }
    bus = walk(bus, first, errp);
    if (bus && bus_is_full(bus)) {
        error_set(errp, "Bus '%s' is full", path);
        return NULL;
    }
    return bus;
}
