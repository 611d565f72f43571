/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts one virtio-blk-pci device: BARs, features, queues, MSI-X; modern or legacy. */
#include "guest.h"

struct disk disks[MAX_DISKS];
u32 disk_count;
struct queue queues[MAX_QUEUES];
u32 queue_count;

#define F_MQ        (1u << 12)
#define F_INDIRECT  (1u << 28)
#define F_EVENT_IDX (1u << 29)
#define NO_VECTOR   0xffff

static u64 next_bar = 0xd0000000;
static u32 next_port = 0xd000;

/* Where the parts of one device are. Port numbers where the BAR is one of ports. */
struct device {
    u32 bdf;
    u64 bar[6];
    bool bar_is_io[6];
    volatile u8 *common, *notify, *config, *isr;
    u16 notify_port;
    u32 multiplier;
    volatile u32 *msix_table;
    u32 msix_entries;
};

static void place_bars(struct device *v)
{
    u32 bdf = v->bdf;
    pci_write(bdf, 4, pci_read(bdf, 4) & ~7u);
    for (int b = 0; b < 6; b++) {
        u32 reg = 0x10 + b * 4;
        pci_write(bdf, reg, 0xffffffff);
        u32 mask = pci_read(bdf, reg);
        if (mask & 1) {
            u32 size = ~(mask & ~3u) + 1;
            size &= 0xffff;
            next_port = (next_port + size - 1) & ~(size - 1);
            pci_write(bdf, reg, next_port);
            v->bar[b] = next_port;
            v->bar_is_io[b] = true;
            next_port += size;
            continue;
        }
        if (!(mask & ~0xfu)) {
            continue;
        }
        u64 size = (u32)(~(mask & ~0xfu) + 1);
        if (size < 4096) {
            size = 4096;
        }
        next_bar = (next_bar + size - 1) & ~(size - 1);
        pci_write(bdf, reg, next_bar);
        v->bar[b] = next_bar;
        next_bar += size;
        if ((mask & 6) == 4) {
            b++;
            pci_write(bdf, reg + 4, 0);
        }
    }
    pci_write(bdf, 4, pci_read(bdf, 4) | 7);
}

static void read_capabilities(struct device *v)
{
    u32 bdf = v->bdf;
    for (u8 p = pci_read8(bdf, 0x34); p; p = pci_read8(bdf, p + 1)) {
        u8 id = pci_read8(bdf, p);
        if (id == 0x11) {
            u32 table = pci_read(bdf, p + 4);
            v->msix_entries = (pci_read(bdf, p) >> 16 & 0x7ff) + 1;
            v->msix_table = (volatile u32 *)(v->bar[table & 7] + (table & ~7u));
        }
        if (id != 9) {
            continue;
        }
        u8 type = pci_read8(bdf, p + 3), bar = pci_read8(bdf, p + 4);
        u32 offset = pci_read(bdf, p + 8);
        if (type < 1 || type > 4 || bar > 5 || !v->bar[bar]) {
            continue;
        }
        volatile u8 *at = (volatile u8 *)(v->bar[bar] + offset);
        if (type == 1) {
            v->common = at;
        } else if (type == 2 && v->bar_is_io[bar]) {
            v->notify_port = v->bar[bar] + offset;
        } else if (type == 2) {
            v->notify = at;
            v->multiplier = pci_read(bdf, p + 16);
        } else if (type == 3) {
            v->isr = at;
        } else if (type == 4) {
            v->config = at;
        }
    }
}

/* One entry per queue, aimed at the queue's processor. Entry 0 is for configuration changes. */
static void enable_msix(struct device *v)
{
    if (!v->msix_table) {
        fail("irq=1, but the device has no MSI-X");
    }
    for (u8 p = pci_read8(v->bdf, 0x34); p; p = pci_read8(v->bdf, p + 1)) {
        if (pci_read8(v->bdf, p) == 0x11) {
            pci_write(v->bdf, p, pci_read(v->bdf, p) | 1u << 31);
        }
    }
}

static u16 vector_for(struct device *v, struct queue *q)
{
    if (q->disk->interrupts != IRQ_MSIX) {
        return NO_VECTOR;
    }
    u32 entry = q->number + 1u < v->msix_entries ? q->number + 1u : v->msix_entries - 1;
    volatile u32 *e = v->msix_table + entry * 4;
    e[0] = 0xfee00000u | cpu_apic_ids[q->cpu] << 12;
    e[1] = 0;
    e[2] = 0x40 + (q - queues) % 128;
    e[3] = 0;
    return entry;
}

static void place_ring(struct queue *q)
{
    u32 n = q->size;
    u8 *base = guest_alloc((16 * n + 6 + 2 * n + 4095) / 4096 * 4096 + 6 + 8 * n, 4096);
    q->desc = (struct desc *)base;
    q->avail = (u16 *)(base + 16 * n);
    q->used = (u16 *)(base + (16 * n + 6 + 2 * n + 4095) / 4096 * 4096);
}

static void share_out(struct disk *d, u32 offered)
{
    d->first_queue = queue_count;
    d->used_queues = d->queues < offered ? d->queues : offered;
    if (queue_count + d->used_queues > MAX_QUEUES) {
        fail("more queues than the guest can drive");
    }
    for (u32 i = 0; i < d->used_queues; i++) {
        struct queue *q = &queues[queue_count++];
        q->disk = d;
        q->number = i;
        q->cpu = (i + d->number) % options.cpus;
    }
}

static void feature_choice(struct disk *d, u32 offered, u32 *chosen)
{
    u32 want = F_MQ | (d->event_index ? F_EVENT_IDX : 0) | (d->indirect ? F_INDIRECT : 0);
    *chosen = offered & want;
    d->event_index = *chosen & F_EVENT_IDX;
    if (d->indirect && !(*chosen & F_INDIRECT)) {
        fail("ind=1, but the device offers no indirect descriptors");
    }
}

#define C8(o)  (*(volatile u8 *)(v->common + (o)))
#define C16(o) (*(volatile u16 *)(v->common + (o)))
#define C32(o) (*(volatile u32 *)(v->common + (o)))

static void put_address(struct device *v, u32 offset, void *address)
{
    C32(offset) = (u64)address;
    C32(offset + 4) = (u64)address >> 32;
}

static void start_modern(struct device *v, struct disk *d)
{
    u32 chosen;
    C8(20) = 0;
    while (C8(20)) {
        pause();
    }
    C8(20) = 1;
    C8(20) = 3;
    C32(0) = 0;
    feature_choice(d, C32(4), &chosen);
    C32(0) = 1;
    if (!(C32(4) & 1)) {
        fail("the device does not offer VERSION_1");
    }
    C32(8) = 0;
    C32(12) = chosen;
    C32(8) = 1;
    C32(12) = 1;
    C8(20) = 11;
    if (!(C8(20) & 8)) {
        fail("the device does not accept the features");
    }
    d->capacity = *(volatile u64 *)v->config;
    share_out(d, chosen & F_MQ ? *(volatile u16 *)(v->config + 34) : 1);
    for (u32 i = 0; i < d->used_queues; i++) {
        struct queue *q = &queues[d->first_queue + i];
        C16(22) = i;
        q->size = C16(24);
        if (q->size > MAX_RING) {
            q->size = MAX_RING;
            C16(24) = MAX_RING;
        }
        place_ring(q);
        C16(26) = vector_for(v, q);
        put_address(v, 32, q->desc);
        put_address(v, 40, q->avail);
        put_address(v, 48, q->used);
        q->doorbell = (volatile u16 *)(v->notify + C16(30) * v->multiplier);
        if (d->pio) {
            q->doorbell_port = v->notify_port;
        }
        C16(28) = 1;
    }
    C8(20) = 15;
}

static void start_legacy(struct device *v, struct disk *d)
{
    u16 io = v->bar[0];
    u32 chosen;
    outb(io + 18, 0);
    outb(io + 18, 1);
    outb(io + 18, 3);
    feature_choice(d, inl(io), &chosen);
    outl(io + 4, chosen);
    /* With MSI-X on, two vector registers lie before the configuration. */
    u16 config = io + (d->interrupts == IRQ_MSIX ? 24 : 20);
    d->capacity = inl(config) | (u64)inl(config + 4) << 32;
    share_out(d, chosen & F_MQ ? inw(config + 34) : 1);
    for (u32 i = 0; i < d->used_queues; i++) {
        struct queue *q = &queues[d->first_queue + i];
        outw(io + 14, i);
        q->size = inw(io + 12);
        if (!q->size || q->size > MAX_RING) {
            fail("a legacy queue of a size that the guest cannot drive");
        }
        place_ring(q);
        if (d->interrupts == IRQ_MSIX) {
            outw(io + 22, vector_for(v, q));
        }
        outl(io + 8, (u64)q->desc >> 12);
        q->doorbell_port = io + 16;
    }
    outb(io + 18, 7);
}

void disk_start(struct disk *d, u32 bdf)
{
    struct device device = { .bdf = bdf }, *v = &device;
    u32 n = d->number;
    u32 writes_only = disk_option(n, "w", 0);
    d->queues = disk_option(n, "q", 1);
    d->depth = disk_option(n, "d", 32);
    d->block_size = disk_option(n, "bs", 4096);
    d->read_percent = disk_option(n, "rw", writes_only ? 0 : 100);
    d->sequential = disk_option(n, "seq", 0);
    d->verify = disk_option(n, "v", 0);
    d->event_index = disk_option(n, "ev", 1);
    d->indirect = disk_option(n, "ind", 0);
    d->interrupts = disk_option(n, "irq", 0);
    d->legacy = disk_option(n, "legacy", 0);
    d->pio = disk_option(n, "pio", 0);
    d->sectors_per_block = d->block_size / SECTOR;
    if (!d->queues || !d->depth || !d->sectors_per_block || d->block_size % SECTOR ||
        d->read_percent > 100) {
        fail("q= and d= must be at least 1, bs= a multiple of 512, rw= at most 100");
    }
    place_bars(v);
    read_capabilities(v);
    if (d->interrupts == IRQ_MSIX) {
        enable_msix(v);
    } else if (d->interrupts == IRQ_INTX) {
        intx_start(d, bdf);
    }
    if (d->legacy || !v->common) {
        if (!v->bar_is_io[0]) {
            fail("the device has no legacy interface");
        }
        d->legacy = true;
        d->isr_port = v->bar[0] + 19;
        start_legacy(v, d);
    } else {
        if (!v->notify || !v->config || !v->isr) {
            fail("a virtio capability is missing");
        }
        if (d->pio && !v->notify_port) {
            fail("pio=1, but the device has no such doorbell (modern-pio-notify=on)");
        }
        d->isr = v->isr;
        start_modern(v, d);
    }
    put_string("dev");
    put_field("disk", n);
    put_field("bdf", bdf);
    put_field("queues", d->used_queues);
    put_field("size", queues[d->first_queue].size);
    put_field("legacy", d->legacy);
    put_field("ev", d->event_index);
    put_field("cap", d->capacity);
    if (d->interrupts == IRQ_INTX) {
        put_field("line", d->line);
    }
    put_string("\n");
    load_prepare(d);
}
