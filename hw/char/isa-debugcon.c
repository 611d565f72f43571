/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isa-debugcon: a port to which firmware writes its messages, byte by byte. A guest knows that it
 * is there by what it reads from it. There is no flow control: what is written faster than the
 * peer takes it is dropped once a lot of it waits. */
#include "chardev/char.h"
#include "hw/core/isa.h"
#include "hw/core/memory.h"

#define BACKLOG_MAX (1u << 20)

typedef struct IsaDebugcon {
    ISADevice parent_obj;
    uint32_t iobase, readback;
    char *chardev_id;
    Chardev *chr;
    MmioRegion *port;
} IsaDebugcon;

static uint64_t debugcon_read(void *opaque, uint64_t offset, unsigned size)
{
    return ((IsaDebugcon *)opaque)->readback;
}

static void debugcon_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    IsaDebugcon *s = opaque;
    uint8_t byte = value;

    if (chardev_queued(s->chr) < BACKLOG_MAX) {
        chardev_write(s->chr, &byte, 1);
    }
}

static const MmioOps debugcon_ops = {
    .read = debugcon_read,
    .write = debugcon_write,
    .max_size = 1,
};

/* There is no way for input to reach the guest. */
static size_t debugcon_can_receive(void *opaque)
{
    return 4096;
}

static void debugcon_receive(void *opaque, const uint8_t *buf, size_t len)
{
}

static void debugcon_event(void *opaque, ChardevEvent event)
{
}

static const ChardevHandlers debugcon_handlers = {
    .can_receive = debugcon_can_receive,
    .receive = debugcon_receive,
    .event = debugcon_event,
};

static bool debugcon_realize(DeviceState *dev, Error **errp)
{
    IsaDebugcon *s = (IsaDebugcon *)dev;

    if (!s->chardev_id) {
        error_set(errp, "Can't create debugcon device, empty char device");
        return false;
    }
    if (s->iobase > 0xffff) {
        error_set(errp, "iobase=0x%x is not a port", s->iobase);
        return false;
    }
    s->chr = chardev_find(s->chardev_id);
    if (!s->chr) {
        error_set(errp, "Property 'isa-debugcon.chardev' can't find value '%s'", s->chardev_id);
        return false;
    }
    if (!chardev_claim(s->chr, &debugcon_handlers, s, errp)) {
        error_prepend(errp, "Property 'isa-debugcon.chardev' can't take value '%s': ",
                      s->chardev_id);
        s->chr = NULL;
        return false;
    }
    s->port = mmio_region_new("isa-debugcon", &debugcon_ops, s, 1);
    mmio_region_map(s->port, guest_ports, s->iobase, 0);
    return true;
}

static void debugcon_unrealize(DeviceState *dev)
{
    IsaDebugcon *s = (IsaDebugcon *)dev;

    g_clear_pointer(&s->port, mmio_region_free);
    g_clear_pointer(&s->chr, chardev_release);
}

static const Property debugcon_props[] = {
    PROP_STRING("chardev", IsaDebugcon, chardev_id),
    PROP_UINT32("iobase", IsaDebugcon, iobase, 0xe9),
    PROP_UINT32("readback", IsaDebugcon, readback, 0xe9),
    PROP_END,
};

static void debugcon_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->category = "misc";
    dc->user_creatable = true;
    dc->realize = debugcon_realize;
    dc->unrealize = debugcon_unrealize;
}

static const TypeInfo debugcon_type = {
    .name = "isa-debugcon",
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(IsaDebugcon),
    .props = debugcon_props,
    .class_init = debugcon_class_init,
};
TYPE_REGISTER(debugcon_type)
