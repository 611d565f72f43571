/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 8254 timer (Intel 8254 data sheet) and port 0x61, for an accelerator that has none in the
 * kernel. Counters are not run but computed from the guest's clock; counter 0 interrupts.
 */
#include "hw/core/irq.h"
#include "hw/core/isa.h"
#include "hw/core/memory.h"
#include "util/aio.h"

#define PORT         0x40
#define SPEAKER_PORT 0x61
#define PIT_HZ       1193182
#define SECOND       1000000000

enum { ACCESS_LATCH, ACCESS_LOW, ACCESS_HIGH, ACCESS_BOTH };

typedef struct Counter {
    unsigned mode, access;
    uint32_t reload;    /* 1..0x10000 */
    int64_t start;      /* when it began to count; ns of the virtual clock */
    bool counting;      /* a count has been loaded since the mode was set */
    bool gate;
    bool write_high, read_high; /* the second byte is next */
    uint8_t low;                /* first byte of a count that is being written */
    unsigned latched;           /* bytes that are left of it */
    uint16_t latch;
    bool status_latched;
    uint8_t status;
} Counter;

typedef struct Pit {
    ISADevice parent_obj;
    Counter counter[3];
    bool speaker;
    AioTimer *timer;
    int64_t next; /* tick of counter 0 at which it interrupts next */
    MmioRegion *ports, *port61;
} Pit;

static int64_t now_ns(void)
{
    return aio_clock_ns(AIO_CLOCK_VIRTUAL);
}

/* Ticks since it began to count. */
static int64_t elapsed(const Counter *c)
{
    int64_t ns = now_ns() - c->start;

    return ns / SECOND * PIT_HZ + ns % SECOND * PIT_HZ / SECOND;
}

static int64_t tick_ns(const Counter *c, int64_t tick)
{
    return c->start + tick / PIT_HZ * SECOND + (tick % PIT_HZ * SECOND + PIT_HZ - 1) / PIT_HZ;
}

static bool is_periodic(const Counter *c)
{
    return c->mode == 2 || c->mode == 3;
}

static uint16_t count_of(const Counter *c)
{
    int64_t d = elapsed(c);

    if (!c->counting || (is_periodic(c) && !c->gate)) {
        return c->reload;
    }
    switch (c->mode) {
    case 2:
        return c->reload - d % c->reload;
    case 3:
        return c->reload - 2 * d % c->reload;
    default:
        return c->reload - d;
    }
}

static bool output_of(const Counter *c)
{
    int64_t d = elapsed(c);

    if (!c->counting) {
        return c->mode != 0;
    }
    switch (c->mode) {
    case 0:
        return d >= c->reload;
    case 1:
        return d >= c->reload;
    case 2:
        return !c->gate || d % c->reload != c->reload - 1;
    case 3:
        return !c->gate || d % c->reload < (c->reload + 1) / 2;
    default:
        return d != c->reload;
    }
}

/* ---- the interrupt of counter 0 ---- */

static void schedule(Pit *s)
{
    const Counter *c = &s->counter[0];

    if (!c->counting || c->mode == 1 || c->mode == 5) {
        aio_timer_cancel(s->timer); /* these start by the gate, which is tied high */
        return;
    }
    aio_timer_set(s->timer, tick_ns(c, s->next));
}

static void timer_fired(void *opaque)
{
    Pit *s = opaque;
    const Counter *c = &s->counter[0];
    int64_t d = elapsed(c);

    if (d < s->next) {
        schedule(s);
        return;
    }
    gsi_set(0, GSI_SOURCE_PIT, false);
    gsi_set(0, GSI_SOURCE_PIT, true);
    if (is_periodic(c)) {
        gsi_set(0, GSI_SOURCE_PIT, false);
        /* Ticks that were missed are lost: the guest was not running either. */
        s->next = (d / c->reload + 1) * c->reload;
        schedule(s);
    } else if (c->mode == 4) {
        gsi_set(0, GSI_SOURCE_PIT, false);
    }
}

static void load(Pit *s, Counter *c, uint16_t count)
{
    c->reload = count ? count : 0x10000;
    c->start = now_ns();
    c->counting = true;
    if (c == &s->counter[0]) {
        gsi_set(0, GSI_SOURCE_PIT, false);
        s->next = c->reload;
        schedule(s);
    }
}

/* ---- ports ---- */

static void latch_count(Counter *c)
{
    if (!c->latched) {
        c->latch = count_of(c);
        c->latched = c->access == ACCESS_BOTH ? 2 : 1;
    }
}

static void latch_status(Counter *c)
{
    if (!c->status_latched) {
        c->status = output_of(c) << 7 | !c->counting << 6 | c->access << 4 | c->mode << 1;
        c->status_latched = true;
    }
}

static void control_write(Pit *s, uint8_t v)
{
    Counter *c;

    if (v >> 6 == 3) {
        for (unsigned i = 0; i < 3; i++) {
            if (v >> (i + 1) & 1) {
                if (!(v & 0x20)) {
                    latch_count(&s->counter[i]);
                }
                if (!(v & 0x10)) {
                    latch_status(&s->counter[i]);
                }
            }
        }
        return;
    }
    c = &s->counter[v >> 6];
    if ((v >> 4 & 3) == ACCESS_LATCH) {
        latch_count(c);
        return;
    }
    c->access = v >> 4 & 3;
    c->mode = v >> 1 & 7;
    c->mode = c->mode > 5 ? c->mode - 4 : c->mode;
    c->counting = c->write_high = c->read_high = c->status_latched = false;
    c->latched = 0;
    if (c == &s->counter[0]) {
        gsi_set(0, GSI_SOURCE_PIT, false);
        schedule(s);
    }
}

static void pit_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    Pit *s = opaque;
    Counter *c;

    if (offset == 3) {
        control_write(s, value);
        return;
    }
    c = &s->counter[offset];
    switch (c->access) {
    case ACCESS_LOW:
        load(s, c, value & 0xff);
        break;
    case ACCESS_HIGH:
        load(s, c, (value & 0xff) << 8);
        break;
    case ACCESS_BOTH:
        if (c->write_high) {
            load(s, c, (value & 0xff) << 8 | c->low);
        } else {
            c->low = value;
        }
        c->write_high = !c->write_high;
        break;
    default:
        break; /* no mode has been set */
    }
}

static uint64_t pit_read(void *opaque, uint64_t offset, unsigned size)
{
    Pit *s = opaque;
    Counter *c;
    uint16_t v;
    bool high;

    if (offset == 3) {
        return 0xff;
    }
    c = &s->counter[offset];
    if (c->status_latched) {
        c->status_latched = false;
        return c->status;
    }
    v = c->latched ? c->latch : count_of(c);
    high = c->access == ACCESS_HIGH || (c->access == ACCESS_BOTH && c->read_high);
    if (c->access == ACCESS_BOTH) {
        c->read_high = !c->read_high;
    }
    c->latched -= c->latched > 0;
    return high ? v >> 8 : v & 0xff;
}

static const MmioOps pit_ops = { .read = pit_read, .write = pit_write, .max_size = 1 };

static uint64_t port61_read(void *opaque, uint64_t offset, unsigned size)
{
    Pit *s = opaque;
    Counter *c = &s->counter[2];

    /* Bit 4 changes with each refresh of memory, every 15 us. */
    return c->gate | s->speaker << 1 | (now_ns() / 15085 & 1) << 4 | output_of(c) << 5;
}

static void port61_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    Pit *s = opaque;
    Counter *c = &s->counter[2];
    bool gate = value & 1;

    s->speaker = value & 2;
    if (gate && !c->gate) {
        c->start = now_ns(); /* a rising gate starts it anew */
    }
    c->gate = gate;
}

static const MmioOps port61_ops = { .read = port61_read, .write = port61_write, .max_size = 1 };

/* ---- device ---- */

static void pit_reset(DeviceState *dev)
{
    Pit *s = (Pit *)dev;

    for (unsigned i = 0; i < 3; i++) {
        s->counter[i] = (Counter){ .mode = 3, .reload = 0x10000, .gate = i != 2 };
    }
    s->speaker = false;
    aio_timer_cancel(s->timer);
    gsi_set(0, GSI_SOURCE_PIT, false);
}

static bool pit_realize(DeviceState *dev, Error **errp)
{
    Pit *s = (Pit *)dev;

    s->timer = aio_timer_new(aio_context_main(), AIO_CLOCK_VIRTUAL, timer_fired, s);
    s->ports = mmio_region_new("pit", &pit_ops, s, 4);
    mmio_region_map(s->ports, guest_ports, PORT, 0);
    s->port61 = mmio_region_new("port61", &port61_ops, s, 1);
    mmio_region_map(s->port61, guest_ports, SPEAKER_PORT, 0);
    pit_reset(dev);
    return true;
}

static void pit_unrealize(DeviceState *dev)
{
    Pit *s = (Pit *)dev;

    g_clear_pointer(&s->timer, aio_timer_free);
    g_clear_pointer(&s->ports, mmio_region_free);
    g_clear_pointer(&s->port61, mmio_region_free);
}

static void pit_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = pit_realize;
    dc->unrealize = pit_unrealize;
    dc->reset = pit_reset;
}

static const TypeInfo pit_type = {
    .name = "isa-pit",
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(Pit),
    .class_init = pit_class_init,
};
TYPE_REGISTER(pit_type)
