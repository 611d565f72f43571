/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isa-debug-exit: a port by which a guest ends the process with a status of its choice. */
#include "hw/core/isa.h"
#include "hw/core/memory.h"
#include "hw/core/runstate.h"

typedef struct IsaDebugExit {
    ISADevice parent_obj;
    uint32_t iobase, iosize;
    MmioRegion *port;
} IsaDebugExit;

static uint64_t debug_exit_read(void *opaque, uint64_t offset, unsigned size)
{
    return 0;
}

static void debug_exit_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    /* Odd, so that it is never the status of success. */
    request_shutdown_status(SHUTDOWN_CAUSE_GUEST_SHUTDOWN, (int)((value << 1 | 1) & 0xff));
}

static const MmioOps debug_exit_ops = {
    .read = debug_exit_read,
    .write = debug_exit_write,
    .max_size = 4,
};

static bool debug_exit_realize(DeviceState *dev, Error **errp)
{
    IsaDebugExit *s = (IsaDebugExit *)dev;

    if (!s->iosize || s->iobase > 0xffff || s->iosize > 0x10000 - s->iobase) {
        error_set(errp, "iobase=0x%x and iosize=0x%x are not a range of ports", s->iobase,
                  s->iosize);
        return false;
    }
    s->port = mmio_region_new("isa-debug-exit", &debug_exit_ops, s, s->iosize);
    mmio_region_map(s->port, guest_ports, s->iobase, 0);
    return true;
}

static void debug_exit_unrealize(DeviceState *dev)
{
    g_clear_pointer(&((IsaDebugExit *)dev)->port, mmio_region_free);
}

static const Property debug_exit_props[] = {
    PROP_UINT32("iobase", IsaDebugExit, iobase, 0x501),
    PROP_UINT32("iosize", IsaDebugExit, iosize, 2),
    PROP_END,
};

static void debug_exit_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->category = "misc";
    dc->user_creatable = true;
    dc->realize = debug_exit_realize;
    dc->unrealize = debug_exit_unrealize;
}

static const TypeInfo debug_exit_type = {
    .name = "isa-debug-exit",
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(IsaDebugExit),
    .props = debug_exit_props,
    .class_init = debug_exit_class_init,
};
TYPE_REGISTER(debug_exit_type)
