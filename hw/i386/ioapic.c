/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The I/O APIC (Intel 82093AA). An accelerator with one of its own answers its registers, and this
 * one is never reached; with local APICs only (hw/i386/irqchip.h) it delivers its interrupts as
 * messages; without any, under qtest, it is registers alone.
 */
#include "hw/core/irq.h"
#include "hw/core/memory.h"
#include "hw/i386/irqchip.h"
#include "pc.h"

#define IOAPIC_BASE    0xfec00000ULL
#define IOAPIC_SIZE    0x1000
#define REG_SELECT     0x00
#define REG_WINDOW     0x10
#define REG_EOI        0x40
#define VERSION_EOI    0x20 /* the first with that register */
#define INDEX_ID       0x00
#define INDEX_VERSION  0x01
#define INDEX_ARB      0x02
#define INDEX_ENTRIES  0x10
#define ENTRY_MASKED   (1ULL << 16)
#define ENTRY_LEVEL    (1ULL << 15)
#define ENTRY_REMOTE   (1ULL << 14) /* a level-triggered interrupt has not been ended yet */
#define ENTRY_LOGICAL  (1ULL << 11)
#define ENTRY_MODE(e)  ((e) >> 8 & 7)
#define MODE_EXTINT    7
#define PIN_TIMER      2 /* where line 0 arrives */
/* Delivery status and remote IRR are the controller's own. */
#define ENTRY_WRITABLE 0xff0000000001afffULL

typedef struct IOAPIC {
    DeviceState parent_obj;
    uint8_t version;
    uint8_t select;
    uint32_t id;
    uint64_t entries[GSI_COUNT];
    bool level[GSI_COUNT]; /* of the inputs */
    MmioRegion *regs;
} IOAPIC;

static IOAPIC *the_ioapic;

/* ---- delivery ---- */

static bool entry_connected(uint64_t e)
{
    /* The output of the 8259s goes to the local APIC directly. */
    return !(e & ENTRY_MASKED) && ENTRY_MODE(e) != MODE_EXTINT;
}

static uint64_t entry_addr(uint64_t e)
{
    return 0xfee00000 | (e >> 56) << 12 | (e & ENTRY_LOGICAL ? 1 << 2 : 0);
}

static uint32_t entry_data(uint64_t e)
{
    return (e & 0x7ff) | (e & ENTRY_LEVEL ? 3 << 14 : 0);
}

static void pin_send(IOAPIC *s, unsigned pin)
{
    uint64_t e = s->entries[pin];

    if (!irqchip_ops() || !entry_connected(e) || (e & ENTRY_REMOTE)) {
        return;
    }
    if (e & ENTRY_LEVEL) {
        s->entries[pin] |= ENTRY_REMOTE;
    }
    msi_send(entry_addr(e), entry_data(e));
}

static void gsi_changed(void *opaque, unsigned gsi, bool level)
{
    IOAPIC *s = opaque;
    unsigned pin = gsi == 0 ? PIN_TIMER : gsi;

    if (gsi == PIN_TIMER) {
        return; /* the cascade of the 8259s is no interrupt */
    }
    /* An edge that comes while the pin is masked is lost, as on hardware. */
    if (level && !s->level[pin]) {
        s->level[pin] = true;
        pin_send(s, pin);
    }
    s->level[pin] = level;
}

static bool pin_waits(const IOAPIC *s, unsigned pin)
{
    return (s->entries[pin] & ENTRY_LEVEL) && s->level[pin];
}

void ioapic_end_of_interrupt(uint8_t vector)
{
    IOAPIC *s = the_ioapic;

    for (unsigned i = 0; s && i < GSI_COUNT; i++) {
        if ((s->entries[i] & ENTRY_REMOTE) && (uint8_t)s->entries[i] == vector) {
            s->entries[i] &= ~ENTRY_REMOTE;
            if (pin_waits(s, i)) {
                pin_send(s, i);
            }
        }
    }
}

static void entry_changed(IOAPIC *s, unsigned pin, uint64_t old)
{
    uint64_t e = s->entries[pin];

    if (!(e & ENTRY_LEVEL)) {
        s->entries[pin] &= ~ENTRY_REMOTE;
    }
    if (!irqchip_ops()) {
        return;
    }
    if (entry_connected(e) != entry_connected(old) || entry_addr(e) != entry_addr(old) ||
        entry_data(e) != entry_data(old)) {
        irqchip_ops()->ioapic_route(pin, entry_connected(e), entry_addr(e), entry_data(e));
    }
    if (pin_waits(s, pin)) {
        pin_send(s, pin);
    }
}

/* ---- registers ---- */

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
        uint64_t mask = ENTRY_WRITABLE & (0xffffffffULL << shift), old = s->entries[e];

        s->entries[e] = (old & ~mask) | ((uint64_t)v << shift & mask);
        entry_changed(s, e, old);
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
    } else if (offset == REG_EOI && s->version >= VERSION_EOI && irqchip_ops()) {
        ioapic_end_of_interrupt(value);
    }
}

static const MmioOps ioapic_ops = {.read = ioapic_read, .write = ioapic_write, .max_size = 4};

static bool ioapic_realize(DeviceState *dev, Error **errp)
{
    IOAPIC *s = (IOAPIC *)dev;

    s->regs = mmio_region_new("ioapic", &ioapic_ops, s, IOAPIC_SIZE);
    mmio_region_map(s->regs, guest_memory, IOAPIC_BASE, 0);
    if (irqchip_ops()) {
        the_ioapic = s;
        gsi_listen(gsi_changed, s);
    }
    return true;
}

static void ioapic_unrealize(DeviceState *dev)
{
    if (the_ioapic == (IOAPIC *)dev) {
        gsi_unlisten(gsi_changed, dev);
        the_ioapic = NULL;
    }
    g_clear_pointer(&((IOAPIC *)dev)->regs, mmio_region_free);
}

static void ioapic_reset(DeviceState *dev)
{
    IOAPIC *s = (IOAPIC *)dev;

    s->select = 0;
    s->id = 0;
    for (unsigned i = 0; i < GSI_COUNT; i++) {
        uint64_t old = s->entries[i];

        s->entries[i] = ENTRY_MASKED;
        entry_changed(s, i, old);
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
