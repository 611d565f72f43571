/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pvpanic: a port by which a guest's kernel tells that it panicked. */
#include "hw/core/memory.h"
#include "hw/core/runstate.h"
#include "pc.h"
#include "qapi/qapi-run-state.h"

#define TYPE_PVPANIC "pvpanic"

/* Bits of the port: what may be told, and by a write what has happened. */
#define EVENT_PANICKED     0x01
#define EVENT_CRASH_LOADED 0x02
#define EVENT_SHUTDOWN     0x04
#define EVENTS             (EVENT_PANICKED | EVENT_CRASH_LOADED | EVENT_SHUTDOWN)

typedef struct PvPanic {
    ISADevice parent_obj;
    uint16_t ioport;
    uint8_t events;
    MmioRegion *port;
} PvPanic;

static PvPanic *the_pvpanic;

uint16_t pvpanic_port(void)
{
    return the_pvpanic ? the_pvpanic->ioport : 0;
}

static uint64_t pvpanic_read(void *opaque, uint64_t offset, unsigned size)
{
    return ((PvPanic *)opaque)->events;
}

static void pvpanic_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    uint8_t happened = value & EVENTS;

    if (happened & EVENT_PANICKED) {
        request_guest_panic();
    } else if (happened & EVENT_CRASH_LOADED) {
        qapi_event_send_GUEST_CRASHLOADED(GUEST_PANIC_ACTION_RUN);
    } else if (happened & EVENT_SHUTDOWN) {
        qapi_event_send_GUEST_PVSHUTDOWN();
        request_shutdown(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
    }
}

static const MmioOps pvpanic_ops = { .read = pvpanic_read, .write = pvpanic_write, .max_size = 1 };

static bool pvpanic_realize(DeviceState *dev, Error **errp)
{
    PvPanic *s = (PvPanic *)dev;

    if (the_pvpanic) {
        error_set(errp, "at most one pvpanic device is supported");
        return false;
    }
    if (!s->ioport) {
        error_set(errp, "ioport=0 is not a place for the device");
        return false;
    }
    the_pvpanic = s;
    s->port = mmio_region_new("pvpanic", &pvpanic_ops, s, 1);
    mmio_region_map(s->port, guest_ports, s->ioport, 0);
    return true;
}

static void pvpanic_unrealize(DeviceState *dev)
{
    g_clear_pointer(&((PvPanic *)dev)->port, mmio_region_free);
    the_pvpanic = NULL;
}

static bool check_events(Object *obj, const Property *prop, Error **errp)
{
    if (((PvPanic *)obj)->events & ~EVENTS) {
        error_set(errp, "events=%u: only the bits of %u are supported", ((PvPanic *)obj)->events,
                  EVENTS);
        return false;
    }
    return true;
}

static const Property pvpanic_props[] = {
    PROP_UINT16("ioport", PvPanic, ioport, 0x505),
    { .name = "events",
      .type = &prop_uint8,
      .offset = PROP_FIELD(PvPanic, events),
      .def = DEFAULT_UINT,
      .def_int = EVENTS,
      .check = check_events },
    PROP_END,
};

static void pvpanic_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->category = "misc";
    dc->user_creatable = true;
    dc->realize = pvpanic_realize;
    dc->unrealize = pvpanic_unrealize;
}

static const TypeInfo pvpanic_type = {
    .name = TYPE_PVPANIC,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(PvPanic),
    .props = pvpanic_props,
    .class_init = pvpanic_class_init,
};
TYPE_REGISTER(pvpanic_type)
