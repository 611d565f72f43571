/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O APIC's registers. Delivery of interrupts is the accelerator's. */
#include "hw/core/irq.h"
#include "hw/core/memory.h"
#include "pc.h"

#define IOAPIC_BASE    0xfec00000ULL
#define IOAPIC_SIZE    0x1000
#define REG_SELECT     0x00
#define REG_WINDOW     0x10
#define INDEX_ID       0x00
#define INDEX_VERSION  0x01
#define INDEX_ARB      0x02
#define INDEX_ENTRIES  0x10
#define ENTRY_MASKED   (1ULL << 16)
/* Delivery status and remote IRR are the controller's own. */
#define ENTRY_WRITABLE 0xff0000000001afffULL

typedef struct IOAPIC {
    DeviceState parent_obj;
    uint8_t version;
    uint8_t select;
    uint32_t id;
    uint64_t entries[GSI_COUNT];
    MmioRegion *regs;
} IOAPIC;

static uint32_t window_read(const IOAPIC *s)
{
    unsigned e = (s->select - INDEX_ENTRIES) / 2;

    switch (s->select) {
    case INDEX_ID:
    case INDEX_ARB:
        return s->id;
    case INDEX_VERSION:
        return s->version | (GSI_COUNT - 1) << 16;
    default:
        return s->select >= INDEX_ENTRIES && e < GSI_COUNT
                   ? s->entries[e] >> (s->select & 1 ? 32 : 0)
                   : 0;
    }
}

static void window_write(IOAPIC *s, uint32_t v)
{
    unsigned e = (s->select - INDEX_ENTRIES) / 2;

    if (s->select == INDEX_ID) {
        s->id = v & 0x0f000000;
    } else if (s->select >= INDEX_ENTRIES && e < GSI_COUNT) {
        unsigned shift = s->select & 1 ? 32 : 0;
        uint64_t mask = ENTRY_WRITABLE & (0xffffffffULL << shift);

        s->entries[e] = (s->entries[e] & ~mask) | ((uint64_t)v << shift & mask);
    }
}

static uint64_t ioapic_read(void *opaque, uint64_t offset, unsigned size)
{
    IOAPIC *s = opaque;

    return offset == REG_SELECT                ? s->select
           : offset == REG_WINDOW && size == 4 ? window_read(s)
                                               : 0;
}

static void ioapic_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    IOAPIC *s = opaque;

    if (offset == REG_SELECT) {
        s->select = value;
    } else if (offset == REG_WINDOW && size == 4) {
        window_write(s, value);
    }
}

static const MmioOps ioapic_ops = {.read = ioapic_read, .write = ioapic_write, .max_size = 4};

static bool ioapic_realize(DeviceState *dev, Error **errp)
{
    IOAPIC *s = (IOAPIC *)dev;

    s->regs = mmio_region_new("ioapic", &ioapic_ops, s, IOAPIC_SIZE);
    mmio_region_map(s->regs, guest_memory, IOAPIC_BASE, 0);
    return true;
}

static void ioapic_unrealize(DeviceState *dev)
{
    g_clear_pointer(&((IOAPIC *)dev)->regs, mmio_region_free);
}

static void ioapic_reset(DeviceState *dev)
{
    IOAPIC *s = (IOAPIC *)dev;

    s->select = 0;
    s->id = 0;
    for (unsigned i = 0; i < GSI_COUNT; i++) {
        s->entries[i] = ENTRY_MASKED;
    }
}

static const Property ioapic_props[] = {
    PROP_UINT8("version", IOAPIC, version, 0x20),
    PROP_END,
};

static void ioapic_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = ioapic_realize;
    dc->unrealize = ioapic_unrealize;
    dc->reset = ioapic_reset;
    dc->bus_type = "System";
}

static const TypeInfo ioapic_type = {
    .name = "ioapic",
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(IOAPIC),
    .props = ioapic_props,
    .class_init = ioapic_class_init,
};
TYPE_REGISTER(ioapic_type)
