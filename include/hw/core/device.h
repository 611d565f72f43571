/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_DEVICE_H
#define SPINDLE_HW_CORE_DEVICE_H

#include "qom/object.h"

/* Devices and the buses they sit on. Runs in: main thread, under the big lock. */

typedef struct DeviceState DeviceState;
typedef struct BusState BusState;

#define TYPE_DEVICE "device"
#define TYPE_BUS "bus"

typedef struct DeviceClass {
    ObjectClass parent_class;
    const char *desc;     /* one line for -device help */
    const char *alias;    /* other name for -device ("virtio-blk") */
    const char *category; /* "storage", "bridge", "misc", ... for -device help */
    const char *bus_type; /* type of bus it needs ("PCI"); NULL: none */
    bool user_creatable;  /* -device may make one */
    bool hotpluggable;
    bool (*realize)(DeviceState *dev, Error **errp); /* undoes everything on failure */
    void (*unrealize)(DeviceState *dev);
    void (*reset)(DeviceState *dev);
    /* Lines for info qtree after the properties, each "text\n"; may be NULL. Caller frees. */
    char *(*print_state)(DeviceState *dev);
} DeviceClass;

struct DeviceState {
    Object parent_obj;
    char *id;          /* of -device; NULL: anonymous */
    BusState *bus;     /* where it sits */
    GPtrArray *child_buses;
    bool realized;
    bool hotplugged;
    bool unplugged;      /* by device_unplug(); it only waits for its last reference to go */
    bool pending_unplug; /* device_del was accepted, the guest has not answered */
    /* Until when (virtual clock) a second device_del is refused; 0: always. */
    int64_t unplug_deadline_ns;
    Error *global_error; /* of a -global that could not be applied; reported by the next step */
};

/*
 * What a bus does about plugging; set by the bridge or machine that owns the bus. Each function may
 * be NULL. pre_plug and plug are called for devices of the command line, too: see dev->hotplugged.
 */
typedef struct HotplugOps {
    bool (*pre_plug)(BusState *bus, DeviceState *dev, Error **errp); /* before assign and realize */
    bool (*plug)(BusState *bus, DeviceState *dev, Error **errp);     /* after realize and reset */
    /*
     * Ask the guest (or unplug at once by device_unplug()). device_del has set dev->pending_unplug
     * with a deadline of 0, and takes it back if this fails; this may set another deadline.
     */
    bool (*unplug_request)(BusState *bus, DeviceState *dev, Error **errp);
} HotplugOps;

typedef struct BusClass {
    ObjectClass parent_class;
    const char *kind; /* "PCI", "ISA", "IDE": in messages ("can't go on ISA bus") */
    int max_dev;      /* 0: no limit */
    /* Resolves and reserves the address; called at the start of realize. */
    bool (*assign)(BusState *bus, DeviceState *dev, Error **errp);
    /* Undoes assign: the device leaves the bus, or its realize failed. After dc->unrealize. */
    void (*release)(BusState *bus, DeviceState *dev);
    void (*reset)(BusState *bus); /* after its devices */
} BusClass;

struct BusState {
    Object parent_obj;
    char *name;          /* "pcie.0", "virtio-bus" */
    DeviceState *parent; /* device it belongs to; NULL: main system bus */
    GList *children;     /* of DeviceState, newest first; each holds a reference */
    const HotplugOps *hotplug; /* NULL: does not support hotplugging */
    void *hotplug_opaque;
    bool full;
};

#define DEVICE(obj) OBJECT_CHECK(DeviceState, obj, TYPE_DEVICE)
#define DEVICE_CLASS(dev) ((DeviceClass *)((Object *)(dev))->klass)
#define BUS(obj) OBJECT_CHECK(BusState, obj, TYPE_BUS)

/* The bus that everything without another bus hangs on ("main-system-bus"). */
BusState *main_system_bus(void);
/* Creates a bus below `parent` (NULL: a root bus, a child of /machine/unattached). name NULL: "<id
 * of parent>.N" or "<kind>.N" in small letters. The result is borrowed: it lives until bus_free(),
 * or until its parent is finalized. */
BusState *bus_new(const char *type, DeviceState *parent, const char *name);
/* The second half of bus_new() for a bus that the caller made by object_new() and keeps a reference
 * of. */
void bus_init(BusState *bus, DeviceState *parent, const char *name);
/* Takes the bus out of the tree; devices that are still on it are unplugged first. */
void bus_free(BusState *bus);
/* Depth first below `from` (NULL: everything) a bus of that name / of that type, preferring one
 * that is not full. */
BusState *bus_find_name(const char *name);
BusState *bus_find_type(const char *type);

/* Makes a device that is not on the tree; then set properties; then realize. */
DeviceState *device_new(const char *type);
/* Puts it on bus (may be NULL), into the tree if it has no parent there
 * ("/machine/unattached/device[N]"), checks hotplug rules, assigns the address and realizes it. On
 * failure the device is off the bus, out of the tree if it was put there by this function, and
 * holds nothing. The caller's reference stays the caller's in any case. A device below a hotplugged
 * one counts as hotplugged; a hotplugged one is reset when it is realized. */
bool device_realize(DeviceState *dev, BusState *bus, Error **errp);
/* The reverse, without an event and without leaving the tree: devices on its child buses first,
 * then dc->unrealize(), then it leaves the bus. Nothing if it is not realized. */
void device_unrealize(DeviceState *dev);
/* Unrealizes it, takes it off the bus and out of the tree, sends DEVICE_DELETED: for the devices
 * below it first. Nothing if it is not realized. */
void device_unplug(DeviceState *dev);
/* The same for devices (an array of references, taken over) that the guest has let go of: at once
 * in the main thread, otherwise there and soon, when no request of a client is being served. Runs
 * in: any thread, under the big lock. */
void device_unplug_by_guest(GPtrArray *devices);
/* The guest was asked to let go of it and will not: it may be asked again at once. Nothing if it
 * was not asked. Runs in: any thread, under the big lock. */
void device_unplug_refused(DeviceState *dev);
/* By id (of -device) or absolute path; Device 'x' not found (class DeviceNotFound), x is not a
 * device. */
DeviceState *device_find(const char *id_or_path, Error **errp);
/* A device below `bus` (NULL: anywhere): calls fn for each, parents before children, in order of
 * creation. */
void device_for_each(BusState *bus, void (*fn)(DeviceState *dev, void *opaque), void *opaque);
/* Resets dev and all below it: children first. */
void device_reset(DeviceState *dev);
/* Everything in the machine, in order of creation. */
void device_reset_all(void);
/* More to reset than devices. */
void reset_register(void (*fn)(void *opaque), void *opaque);

/*
 * -device, device_add: creates, configures and realizes a device from {"driver":..., "id":...,
 * "bus":..., properties}. With `hotplug` the hotplug rules apply. Returns the device (borrowed; the
 * tree holds it) or NULL; then nothing is left behind.
 */
DeviceState *device_add(JsonObject *options, QapiForm form, bool hotplug, Error **errp);
/* device_del: by id or absolute path. */
bool device_del(const char *id_or_path, Error **errp);
/* Whether -device could make one: it exists and is pluggable. */
bool device_check_driver(const char *driver, Error **errp);
/* Whether a driver exists, for -device checks at parse time; resolves aliases. */
const char *device_resolve_alias(const char *driver);

/* -global: remembered, applied to each new device before its own properties. Returns false with the
 * text if malformed. */
bool global_property_add(const char *driver, const char *property, const char *value, Error **errp);
bool global_property_parse(const char *text, Error **errp);
/* The same for a default that the machine changes: all -global go after it, and nobody is told that
 * it was not used. */
void global_property_add_compat(const char *driver, const char *property, const char *value);
/* Warns of those that named no class. */
void global_property_check_used(void);

/* Texts for -device help, -device X,help, -object help, info qtree. Caller frees. */
char *device_help_list(void);
char *device_help(const char *driver, Error **errp);
char *device_tree_text(void);

/* Guest's view of boot order: a number that is at most one device's. A device that is finalized
 * gives its number back. bootindex_of: -1: none. */
bool bootindex_claim(Object *owner, int32_t index, Error **errp);
void bootindex_release(Object *owner);
int32_t bootindex_of(Object *owner);
/* Devices that have one, in boot order. Caller frees the array, not the elements. */
GPtrArray *bootindex_list(void);

/* Property types that need devices: "drive" (BlockBackend *), released (and, if the drive is to
 * vanish with its device, deleted) when the device is finalized. */
extern const PropertyType prop_drive;
#define PROP_DRIVE(n, state, field)                                                                \
    { .name = (n), .type = &prop_drive, .offset = PROP_FIELD(state, field), .flags = PROP_RUNTIME }
/* int32_t, -1 by default; claims the number itself. */
extern const PropertyType prop_bootindex;
bool bootindex_check(Object *obj, const Property *prop, Error **errp);
#define PROP_BOOTINDEX(n, state, field)                                                            \
    { .name = (n), .type = &prop_bootindex, .offset = PROP_FIELD(state, field),                    \
      .flags = PROP_RUNTIME, .check = bootindex_check }
/* OnOffAuto and BlockdevOnError are PROP_ENUM. */

#endif
