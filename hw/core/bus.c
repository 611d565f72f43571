/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buses: what devices sit on. Runs in: main thread, under the big lock. */
#include "device-internal.h"

#include <string.h>

#define TYPE_SYSTEM_BUS "System"
#define MAIN_SYSTEM_BUS_NAME "main-system-bus"

/* "pci.0", "pci.1": numbers are not used again, so that names stay unique. */
static char *automatic_name(BusState *bus, DeviceState *parent)
{
    static GHashTable *next_number; /* by kind */

    if (parent && parent->id) {
        return g_strdup_printf("%s.%u", parent->id, parent->child_buses->len);
    }
    if (!next_number) {
        next_number = g_hash_table_new(g_str_hash, g_str_equal);
    }
    const BusClass *bc = bus_class(bus);
    const char *kind = bc->kind ? bc->kind : object_type_name((Object *)bus);
    unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(next_number, kind));
    g_hash_table_insert(next_number, (gpointer)kind, GUINT_TO_POINTER(n + 1));
    g_autofree char *lower = g_ascii_strdown(kind, -1);
    return g_strdup_printf("%s.%u", lower, n);
}

void bus_init(BusState *bus, DeviceState *parent, const char *name)
{
    g_assert(!bus->name);
    bus->name = name ? g_strdup(name) : automatic_name(bus, parent);
    bus->parent = parent;

    Object *owner = parent ? (Object *)parent : object_container("/machine/unattached");
    /* A bus is named by the user, through the id of its bridge, and that may be the name of a
     * property of the bridge. */
    if (!object_add_child(owner, bus->name, (Object *)bus, NULL)) {
        object_add_child(owner, "bus[*]", (Object *)bus, &error_abort);
    }
    if (parent) {
        g_ptr_array_add(parent->child_buses, bus);
    }
}

BusState *bus_new(const char *type, DeviceState *parent, const char *name)
{
    g_autoptr(Object) obj = object_new(type);

    bus_init(BUS(obj), parent, name);
    return BUS(obj); /* the tree holds it */
}

void bus_free(BusState *bus)
{
    object_unparent((Object *)bus);
}

static void bus_unparent(Object *obj)
{
    BusState *bus = BUS(obj);

    while (bus->children) {
        DeviceState *dev = bus->children->data;
        /* One whose realize is under way, and tears down the bus, has yet to fail. */
        if (dev->realized) {
            device_unplug(dev);
        } else {
            bus_detach(dev);
        }
    }
    if (bus->parent) {
        g_ptr_array_remove(bus->parent->child_buses, bus);
        bus->parent = NULL;
    }
}

void bus_attach(BusState *bus, DeviceState *dev)
{
    g_assert(!dev->bus);
    bus->children = g_list_prepend(bus->children, object_ref((Object *)dev));
    dev->bus = bus;
}

void bus_detach(DeviceState *dev)
{
    BusState *bus = dev->bus;

    bus->children = g_list_remove(bus->children, dev);
    dev->bus = NULL;
    object_unref((Object *)dev);
}

bool bus_is_full(const BusState *bus)
{
    int max = bus_class((BusState *)bus)->max_dev;
    return bus->full || (max && g_list_length(bus->children) >= (guint)max);
}

BusState *main_system_bus(void)
{
    static BusState *bus;

    if (!bus) {
        bus = BUS(object_new(TYPE_SYSTEM_BUS));
        bus->name = g_strdup(MAIN_SYSTEM_BUS_NAME);
    }
    /* The first device may ask for it before there is a machine to put it into. */
    if (!((Object *)bus)->parent && object_child(object_root(), "machine")) {
        object_add_child(object_container("/machine/unattached"), "sysbus", (Object *)bus,
                         &error_abort);
    }
    return bus;
}

/* ---- finding ---- */

typedef bool BusMatch(BusState *bus, const char *what);

static bool match_name(BusState *bus, const char *what)
{
    return !strcmp(bus->name, what);
}

static bool match_type(BusState *bus, const char *what)
{
    return object_is((Object *)bus, what);
}

static BusState *find_in_device(DeviceState *dev, BusMatch *match, const char *what,
                                BusState **full);

/* Returns a match that has room; *full is set to the first one that has none. */
static BusState *find_in_bus(BusState *bus, BusMatch *match, const char *what, BusState **full)
{
    if (match(bus, what)) {
        if (!bus_is_full(bus)) {
            return bus;
        }
        *full = *full ? *full : bus;
    }
    for (GList *l = bus->children; l; l = l->next) {
        BusState *found = find_in_device(l->data, match, what, full);
        if (found) {
            return found;
        }
    }
    return NULL;
}

static BusState *find_in_device(DeviceState *dev, BusMatch *match, const char *what,
                                BusState **full)
{
    for (guint i = 0; i < dev->child_buses->len; i++) {
        BusState *found = find_in_bus(dev->child_buses->pdata[i], match, what, full);
        if (found) {
            return found;
        }
    }
    return NULL;
}

static BusState *find_anywhere(BusMatch *match, const char *what)
{
    BusState *full = NULL;
    BusState *found = find_in_bus(main_system_bus(), match, what, &full);

    for (GList *l = device_orphans()->head; l && !found; l = l->next) {
        found = find_in_device(l->data, match, what, &full);
    }
    return found ? found : full;
}

BusState *bus_find_name(const char *name)
{
    return find_anywhere(match_name, name);
}

BusState *bus_find_type(const char *type)
{
    return find_anywhere(match_type, type);
}

/* ---- types ---- */

static void bus_finalize(Object *obj)
{
    BusState *bus = BUS(obj);

    g_assert(!bus->children);
    g_free(bus->name);
}

static void bus_class_init(ObjectClass *klass, const void *data)
{
    klass->unparent = bus_unparent;
}

static const TypeInfo bus_info = {
    .name = TYPE_BUS,
    .parent = "object",
    .instance_size = sizeof(BusState),
    .class_size = sizeof(BusClass),
    .abstract = true,
    .class_init = bus_class_init,
    .instance_finalize = bus_finalize,
};
TYPE_REGISTER(bus_info)

static void system_bus_class_init(ObjectClass *klass, const void *data)
{
    ((BusClass *)klass)->kind = TYPE_SYSTEM_BUS;
}

static const TypeInfo system_bus_info = {
    .name = TYPE_SYSTEM_BUS,
    .parent = TYPE_BUS,
    .class_init = system_bus_class_init,
};
TYPE_REGISTER(system_bus_info)
