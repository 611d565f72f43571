/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pair of 8259 interrupt controllers (Intel 8259A data sheet) with the registers that make
 * lines level-triggered (ELCR). */
#include "hw/core/irq.h"
#include "hw/core/isa.h"
#include "hw/core/memory.h"
#include "hw/i386/irqchip.h"
#include "util/biglock.h"

#define MASTER_PORT  0x20
#define SLAVE_PORT   0xa0
#define ELCR_PORT    0x4d0
#define CASCADE_LINE 2

#define ICW1         0x10
#define ICW1_ICW4    0x01
#define ICW4_AEOI    0x02
#define OCW3         0x08
#define OCW3_READ    0x02 /* of the two low bits: read IRR or ISR next */
#define OCW3_ISR     0x01
#define OCW3_POLL    0x04
#define OCW3_SET_SMM 0x40
#define OCW3_SMM     0x20
#define OCW2_EOI     0x20
#define OCW2_ROTATE  0x80
#define OCW2_LEVEL   0x40

typedef struct Pic {
    uint8_t lines;  /* levels of the inputs */
    uint8_t irr, isr, imr, elcr, elcr_mask;
    uint8_t base;   /* vector of line 0 */
    uint8_t lowest; /* line of the lowest priority */
    unsigned init;  /* which command word comes next; 0: initialized */
    bool need_icw4, aeoi, rotate_aeoi, read_isr, poll, special_mask;
    bool master;
} Pic;

typedef struct PicPair {
    ISADevice parent_obj;
    Pic pic[2];
    int pending; /* atomic */
    MmioRegion *ports[2], *elcr;
} PicPair;

static PicPair *the_pics;
static const IrqchipOps *ops;

void irqchip_set_ops(const IrqchipOps *o)
{
    ops = o;
}

const IrqchipOps *irqchip_ops(void)
{
    return ops;
}

/* Place in the order of priority: 0 comes first. */
static unsigned rank(const Pic *p, unsigned line)
{
    return (line - p->lowest - 1) & 7;
}

/* The line of the highest priority among bits; -1 without any. */
static int highest(const Pic *p, uint8_t bits)
{
    int best = -1;

    for (unsigned i = 0; i < 8; i++) {
        if ((bits >> i & 1) && (best < 0 || rank(p, i) < rank(p, best))) {
            best = i;
        }
    }
    return best;
}

/* The line that may interrupt now; -1: none. */
static int candidate(const Pic *p)
{
    int line = highest(p, p->irr & ~p->imr);
    uint8_t serving = p->special_mask ? p->isr & ~p->imr : p->isr;
    int now;

    /* Fully nested: an interrupt of the slave does not hold up a better one of the slave. */
    if (p->master) {
        serving &= ~(1u << CASCADE_LINE);
    }
    now = highest(p, serving);
    return line >= 0 && (now < 0 || rank(p, line) < rank(p, now)) ? line : -1;
}

static void set_line(Pic *p, unsigned line, bool level)
{
    uint8_t bit = 1u << line;

    if (p->elcr & bit) {
        p->irr = level ? p->irr | bit : p->irr & ~bit;
    } else if (level && !(p->lines & bit)) {
        p->irr |= bit;
    }
    p->lines = level ? p->lines | bit : p->lines & ~bit;
}

static void update(PicPair *s)
{
    bool before = __atomic_load_n(&s->pending, __ATOMIC_SEQ_CST), now;

    set_line(&s->pic[0], CASCADE_LINE, candidate(&s->pic[1]) >= 0);
    if (candidate(&s->pic[1]) < 0) {
        s->pic[0].irr &= ~(1u << CASCADE_LINE);
    }
    now = candidate(&s->pic[0]) >= 0;
    __atomic_store_n(&s->pending, now, __ATOMIC_SEQ_CST);
    if (now && !before && ops && ops->pic_raised) {
        ops->pic_raised();
    }
}

static void gsi_changed(void *opaque, unsigned gsi, bool level)
{
    PicPair *s = opaque;

    if (gsi < ISA_IRQ_COUNT && gsi != CASCADE_LINE) {
        set_line(&s->pic[gsi / 8], gsi % 8, level);
        update(s);
    }
}

bool i8259_pending(void)
{
    return the_pics && __atomic_load_n(&the_pics->pending, __ATOMIC_SEQ_CST);
}

static void end_of_interrupt(Pic *p, int line, bool rotate)
{
    if (line >= 0) {
        p->isr &= ~(1u << line);
        if (rotate) {
            p->lowest = line;
        }
    }
}

/* The line that is served from now on; 7 if its request has gone. */
static unsigned acknowledge(Pic *p)
{
    int line = candidate(p);

    if (line < 0) {
        return 7;
    }
    if (!(p->elcr & 1u << line)) {
        p->irr &= ~(1u << line);
    }
    p->isr |= 1u << line;
    if (p->aeoi) {
        end_of_interrupt(p, line, p->rotate_aeoi);
    }
    return line;
}

uint8_t i8259_acknowledge(void)
{
    PicPair *s = the_pics;
    unsigned line, vector;

    ASSERT_BIG_LOCK();
    line = acknowledge(&s->pic[0]);
    if (line == CASCADE_LINE) {
        vector = s->pic[1].base + acknowledge(&s->pic[1]);
    } else {
        vector = s->pic[0].base + line;
    }
    update(s);
    return vector;
}

/* ---- ports ---- */

static void command_write(Pic *p, uint8_t v)
{
    if (v & ICW1) {
        bool master = p->master;
        uint8_t elcr = p->elcr, mask = p->elcr_mask, lines = p->lines;

        *p = (Pic){ .master = master, .elcr = elcr, .elcr_mask = mask, .lines = lines,
                    .irr = lines & elcr, .lowest = 7, .init = 2, .need_icw4 = v & ICW1_ICW4 };
    } else if (v & OCW3) {
        if (v & OCW3_READ) {
            p->read_isr = v & OCW3_ISR;
        }
        if (v & OCW3_SET_SMM) {
            p->special_mask = v & OCW3_SMM;
        }
        p->poll |= (v & OCW3_POLL) != 0;
    } else if (v & OCW2_EOI) {
        end_of_interrupt(p, v & OCW2_LEVEL ? v & 7 : highest(p, p->isr), v & OCW2_ROTATE);
    } else if ((v & (OCW2_ROTATE | OCW2_LEVEL)) == (OCW2_ROTATE | OCW2_LEVEL)) {
        p->lowest = v & 7;
    } else {
        p->rotate_aeoi = v & OCW2_ROTATE;
    }
}

static void data_write(Pic *p, uint8_t v)
{
    switch (p->init) {
    case 0:
        p->imr = v;
        break;
    case 2:
        p->base = v & 0xf8;
        p->init = 3;
        break;
    case 3: /* how they are connected is fixed */
        p->init = p->need_icw4 ? 4 : 0;
        break;
    default:
        p->aeoi = v & ICW4_AEOI;
        p->init = 0;
        break;
    }
}

static Pic *pic_of(void *opaque)
{
    return opaque;
}

static uint64_t pic_read(void *opaque, uint64_t offset, unsigned size)
{
    Pic *p = pic_of(opaque);

    if (p->poll) {
        bool any = candidate(p) >= 0;
        unsigned line = acknowledge(p);

        p->poll = false;
        update(the_pics);
        return any ? 0x80 | line : 0;
    }
    return offset ? p->imr : p->read_isr ? p->isr : p->irr;
}

static void pic_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    (offset ? data_write : command_write)(pic_of(opaque), value);
    update(the_pics);
}

static const MmioOps pic_ops = { .read = pic_read, .write = pic_write, .max_size = 1 };

static uint64_t elcr_read(void *opaque, uint64_t offset, unsigned size)
{
    return ((PicPair *)opaque)->pic[offset].elcr;
}

static void elcr_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    PicPair *s = opaque;
    Pic *p = &s->pic[offset];

    p->elcr = value & p->elcr_mask;
    p->irr = (p->irr & ~p->elcr) | (p->lines & p->elcr);
    update(s);
}

static const MmioOps elcr_ops = { .read = elcr_read, .write = elcr_write, .max_size = 1 };

/* ---- device ---- */

static void pics_reset(DeviceState *dev)
{
    PicPair *s = (PicPair *)dev;

    for (unsigned i = 0; i < 2; i++) {
        uint8_t lines = s->pic[i].lines;

        /* The timer, the keyboard, the cascade, the clock are wired as edges (82371 §4.2.5). */
        s->pic[i] = (Pic){ .lines = lines, .lowest = 7, .master = i == 0,
                           .elcr_mask = i == 0 ? 0xf8 : 0xde };
    }
    update(s);
}

static bool pics_realize(DeviceState *dev, Error **errp)
{
    PicPair *s = (PicPair *)dev;

    for (unsigned i = 0; i < 2; i++) {
        s->ports[i] = mmio_region_new("pic", &pic_ops, &s->pic[i], 2);
        mmio_region_map(s->ports[i], guest_ports, i == 0 ? MASTER_PORT : SLAVE_PORT, 0);
    }
    s->elcr = mmio_region_new("elcr", &elcr_ops, s, 2);
    mmio_region_map(s->elcr, guest_ports, ELCR_PORT, 0);
    the_pics = s;
    pics_reset(dev);
    gsi_listen(gsi_changed, s);
    return true;
}

static void pics_unrealize(DeviceState *dev)
{
    PicPair *s = (PicPair *)dev;

    gsi_unlisten(gsi_changed, s);
    the_pics = NULL;
    g_clear_pointer(&s->ports[0], mmio_region_free);
    g_clear_pointer(&s->ports[1], mmio_region_free);
    g_clear_pointer(&s->elcr, mmio_region_free);
}

static void pics_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = pics_realize;
    dc->unrealize = pics_unrealize;
    dc->reset = pics_reset;
}

static const TypeInfo pics_type = {
    .name = "isa-i8259",
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(PicPair),
    .class_init = pics_class_init,
};
TYPE_REGISTER(pics_type)
