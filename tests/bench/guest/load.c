/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load: keeps each queue's requests in flight, looks at the used rings in memory, never waits
 * for an interrupt. */
#include "guest.h"

u64 run_cycles;
volatile bool stalled;
volatile bool told_to_end;

static struct queue *cpu_queues[MAX_CPUS][MAX_QUEUES];
static u32 cpu_queue_count[MAX_CPUS];

static bool is_plain(const struct disk *d)
{
    return !d->verify && (d->read_percent == 100 || d->read_percent == 0) && !d->interrupts &&
           !d->indirect;
}

static void prepare_queue(struct disk *d, struct queue *q)
{
    u32 per_request = d->indirect ? 1 : 3;
    u64 blocks = d->capacity / d->sectors_per_block;
    q->depth = d->depth;
    if (q->depth * per_request > q->size) {
        q->depth = q->size / per_request;
    }
    q->random = 88172645463325252ull + (q - queues) * 104729;
    q->first = 0;
    q->span = blocks;
    if (d->generations) {
        /* What is verified belongs to one queue: order between queues is not defined. */
        q->span = blocks / d->used_queues;
        q->first = q->number * q->span;
    } else if (d->sequential) {
        q->next = q->number * (blocks / d->used_queues);
    }
    if (q->span < 4ull * q->depth) {
        fail("the disk is too small for so many requests");
    }
    q->requests = guest_alloc(q->depth * sizeof(struct request), 64);
    q->slots = guest_alloc(q->depth * sizeof(struct slot), 64);
    bool write = d->read_percent == 0;
    for (u32 k = 0; k < q->depth; k++) {
        struct request *r = &q->requests[k];
        struct slot *s = &q->slots[k];
        struct desc *t = d->indirect ? r->table : q->desc + k * 3;
        u16 first = d->indirect ? 0 : k * 3;
        s->buf = guest_alloc_raw(d->block_size, 4096);
        s->write = write;
        r->type = write ? BLK_WRITE : BLK_READ;
        r->status = 0xff;
        t[0] = (struct desc){ (u64)r, 16, DESC_NEXT, first + 1 };
        t[1] = (struct desc){ (u64)s->buf, d->block_size, DESC_NEXT | (write ? 0 : DESC_WRITE),
                              first + 2 };
        t[2] = (struct desc){ (u64)&r->status, 1, DESC_WRITE, 0 };
        if (d->indirect) {
            q->desc[k] = (struct desc){ (u64)t, sizeof r->table, DESC_INDIRECT, 0 };
        }
    }
    if (!d->event_index) {
        q->avail[0] = !d->interrupts;
    } else if (!d->interrupts) {
        q->avail[2 + q->size] = 0x8000;
    }
    cpu_queues[q->cpu][cpu_queue_count[q->cpu]++] = q;
}

void load_prepare(struct disk *d)
{
    if (d->verify && d->read_percent < 100) {
        d->generations = guest_alloc(d->capacity / d->sectors_per_block * 4, 64);
    }
    for (u32 i = 0; i < d->used_queues; i++) {
        prepare_queue(d, &queues[d->first_queue + i]);
    }
}

static inline u64 next_random(struct queue *q)
{
    q->random ^= q->random << 13;
    q->random ^= q->random >> 7;
    q->random ^= q->random << 17;
    return q->random;
}

static inline u64 pick_block(struct queue *q, bool sequential)
{
    if (sequential) {
        u64 block = q->next++;
        if (q->next >= q->span) {
            q->next = 0;
        }
        return block;
    }
    return (u64)(((unsigned __int128)next_random(q) * q->span) >> 64);
}

static void fill_block(struct queue *q, struct slot *s)
{
    u64 sector = s->block * q->disk->sectors_per_block;
    for (u32 i = 0; i < q->disk->sectors_per_block; i++) {
        pattern_fill((u64 *)(s->buf + i * SECTOR), sector + i, s->generation);
    }
}

static void check_block(struct queue *q, struct slot *s)
{
    u64 sector = s->block * q->disk->sectors_per_block;
    q->checked++;
    for (u32 i = 0; i < q->disk->sectors_per_block; i++) {
        if (!pattern_check((u64 *)(s->buf + i * SECTOR), sector + i, s->generation)) {
            q->bad++;
            return;
        }
    }
}

static void set_direction(struct queue *q, u32 slot, bool write)
{
    struct request *r = &q->requests[slot];
    struct desc *data = q->disk->indirect ? &r->table[1] : &q->desc[slot * 3 + 1];
    r->type = write ? BLK_WRITE : BLK_READ;
    data->flags = DESC_NEXT | (write ? 0 : DESC_WRITE);
    q->slots[slot].write = write;
}

static inline void make_available(struct queue *q, u32 slot, u32 stride)
{
    q->avail[2 + (q->avail_index & (q->size - 1))] = slot * stride;
    q->avail_index++;
    q->inflight++;
}

/* All that the command line can ask for. */
static void submit_full(struct queue *q, u32 slot, u64 now)
{
    struct disk *d = q->disk;
    struct slot *s = &q->slots[slot];
    bool write = s->write;
    if (d->read_percent != 0 && d->read_percent != 100) {
        write = (next_random(q) >> 20) % 100 >= d->read_percent;
        set_direction(q, slot, write);
    }
    u64 block = pick_block(q, d->sequential);
    if (d->generations) {
        u32 *g = d->generations + q->first;
        while (g[block] & GENERATION_BUSY) {
            block = block + 1 == q->span ? 0 : block + 1;
        }
        s->generation = g[block] + write;
        g[block] |= GENERATION_BUSY;
    }
    s->block = q->first + block;
    if (write && d->verify) {
        fill_block(q, s);
    }
    q->requests[slot].sector = s->block * d->sectors_per_block;
    s->sent = now;
    make_available(q, slot, d->indirect ? 1 : 3);
}

static void completed_full(struct queue *q, u32 slot, bool good)
{
    struct disk *d = q->disk;
    struct slot *s = &q->slots[slot];
    if (d->generations) {
        d->generations[s->block] = s->generation;
    }
    if (!s->write && good && (d->verify == 2 || (d->verify && s->generation))) {
        check_block(q, s);
    }
}

static inline void kick(struct queue *q, u16 old)
{
    barrier();
    *(volatile u16 *)&q->avail[1] = q->avail_index;
    mb();
    bool need;
    if (q->disk->event_index) {
        u16 event = *(volatile u16 *)((u8 *)q->used + 4 + 8 * q->size);
        need = (u16)(q->avail_index - event - 1) < (u16)(q->avail_index - old);
    } else {
        need = !(*(volatile u16 *)q->used & 1);
    }
    if (need) {
        if (q->doorbell_port) {
            outw(q->doorbell_port, q->number);
        } else {
            *q->doorbell = q->number;
        }
        q->kicks++;
    }
}

/* `count` requests of the same latency. */
static inline void count_latency(struct queue *q, u64 cycles, u32 count)
{
    u64 x = cycles < (1ull << 40) - 1 ? cycles : (1ull << 40) - 1;
    u32 bucket = x;
    if (x >> HIST_BITS) {
        u32 shift = 63 - __builtin_clzll(x) - HIST_BITS;
        bucket = (shift << HIST_BITS) + (x >> shift);
    }
    q->histogram[bucket] += count;
    q->latency_sum += cycles * count;
    if (cycles > q->latency_max) {
        q->latency_max = cycles;
    }
}

static inline u32 used_slot(struct queue *q, u16 at, u32 stride)
{
    return *(volatile u32 *)((u8 *)q->used + 4 + 8 * (at & (q->size - 1))) / stride;
}

/* Takes what the device has finished and sends as much again. The measured loop: what it costs is
 * missing from the device's time, so counters stay in registers and requests that were sent
 * together are counted together. */
static void serve_plain(struct queue *q, u16 index, u64 now)
{
    struct disk *d = q->disk;
    struct request *requests = q->requests;
    struct slot *slots = q->slots;
    u16 old = q->avail_index, mask = q->size - 1, avail = old, at = q->last_used;
    u64 random = q->random, span = q->span, sent = 0;
    u32 per_block = d->sectors_per_block, run = 0, errors = 0;
    u32 count = (u16)(index - at);
    for (; at != index; at++) {
        u32 slot = used_slot(q, at, 3);
        struct request *r = &requests[slot];
        struct slot *s = &slots[slot];
        errors += r->status != 0;
        r->status = 0xff;
        if (s->sent != sent) {
            if (run) {
                count_latency(q, now - sent, run);
            }
            sent = s->sent;
            run = 0;
        }
        run++;
        s->sent = now;
        u64 block;
        if (d->sequential) {
            block = q->next++;
            if (q->next >= span) {
                q->next = 0;
            }
        } else {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            block = (u64)(((unsigned __int128)random * span) >> 64);
        }
        r->sector = block * per_block;
        q->avail[2 + (avail & mask)] = slot * 3;
        avail++;
    }
    count_latency(q, now - sent, run);
    q->last_used = at;
    q->avail_index = avail;
    q->random = random;
    q->batches++;
    q->errors += errors;
    q->completed += count;
    *(d->read_percent == 0 ? &q->writes : &q->reads) += count;
    kick(q, old);
}

/* The same for everything that the command line can ask for; also without sending again. */
static void serve_full(struct queue *q, u16 index, u64 now, bool again)
{
    u16 old = q->avail_index;
    const u32 stride = q->disk->indirect ? 1 : 3;
    q->batches++;
    q->completed += (u16)(index - q->last_used);
    while (q->last_used != index) {
        u32 slot = used_slot(q, q->last_used, stride);
        struct request *r = &q->requests[slot];
        u8 status = *(volatile u8 *)&r->status;
        if (status) {
            q->errors++;
        }
        r->status = 0xff;
        q->last_used++;
        q->inflight--;
        if (again) {
            count_latency(q, now - q->slots[slot].sent, 1);
            *(q->slots[slot].write ? &q->writes : &q->reads) += 1;
        }
        completed_full(q, slot, !status);
        if (again) {
            submit_full(q, slot, now);
        }
    }
    if (q->disk->interrupts && q->disk->event_index) {
        *(volatile u16 *)&q->avail[2 + q->size] = q->last_used;
    }
    if (again) {
        kick(q, old);
    }
}

static inline u16 used_index(struct queue *q)
{
    u16 index = *(volatile u16 *)&q->used[1];
    barrier();
    return index;
}

/* Whether the queue may look at its ring. */
static bool told(struct queue *q)
{
    if (q->disk->interrupts == IRQ_INTX) {
        u64 taken = *(volatile u64 *)&q->disk->taken;
        if (taken == q->taken && !q->look_again) {
            return false;
        }
        q->taken = taken;
        mb();
        q->look_again = false;
    }
    return true;
}

/* What was added before the event index asked for an interrupt gives none. */
static void look_after(struct queue *q)
{
    if (q->disk->interrupts == IRQ_INTX && q->disk->event_index) {
        mb();
        q->look_again = used_index(q) != q->last_used;
    }
}

static bool all_had_enough(u32 cpu)
{
    for (u32 i = 0; i < cpu_queue_count[cpu]; i++) {
        if (cpu_queues[cpu][i]->completed < options.requests) {
            return false;
        }
    }
    return true;
}

/* A look at the serial port leaves the guest; one each 100 ms is enough. */
static bool look_at_port(u32 cpu, u64 now)
{
    static u64 next;
    if (cpu == 0 && now >= next) {
        next = now + options.tsc_khz * 100;
        if (inb(0x3fd) & 1) {
            inb(0x3f8);
            told_to_end = true;
        }
    }
    return told_to_end;
}

static bool had_enough(u32 cpu, u64 now)
{
    if (options.control) {
        return look_at_port(cpu, now) && (!options.requests || all_had_enough(cpu));
    }
    return options.requests && all_had_enough(cpu);
}

static void run_loop(u32 cpu, u64 start, bool plain)
{
    u64 end = options.seconds ? start + options.seconds * options.tsc_khz * 1000 : ~0ull;
    u64 limit = options.stall_seconds * options.tsc_khz * 1000, last = start, now = start;
    struct queue **list = cpu_queues[cpu];
    u32 n = cpu_queue_count[cpu], spin = 0;
    while (n) {
        bool any = false;
        for (u32 i = 0; i < n; i++) {
            struct queue *q = list[i];
            if (!told(q)) {
                continue;
            }
            u16 index = used_index(q);
            if (index == q->last_used) {
                continue;
            }
            any = true;
            now = rdtsc();
            if (plain) {
                serve_plain(q, index, now);
            } else {
                serve_full(q, index, now, true);
            }
            look_after(q);
        }
        if (any || ++spin >= 64) {
            spin = 0;
            if (any) {
                last = now;
            } else {
                now = rdtsc();
            }
            if (cpu == 0) {
                intx_tick(now);
            }
            if (now >= end || had_enough(cpu, now)) {
                break;
            }
            if (now - last > limit || stalled) {
                stalled = true;
                break;
            }
        }
        pause();
    }
}

/* What is in flight comes back, and nothing new is sent. */
static void drain(u32 cpu)
{
    u64 limit = options.stall_seconds * options.tsc_khz * 1000, last = rdtsc();
    for (u32 left = 1; left && !stalled;) {
        left = 0;
        for (u32 i = 0; i < cpu_queue_count[cpu]; i++) {
            struct queue *q = cpu_queues[cpu][i];
            u16 index = told(q) ? used_index(q) : q->last_used;
            if (index != q->last_used) {
                last = rdtsc();
                serve_full(q, index, last, false);
                look_after(q);
            }
            left += q->inflight;
        }
        if (left && rdtsc() - last > limit) {
            stalled = true;
        }
        pause();
    }
}

void load_run(u32 cpu)
{
    u64 start = rdtsc();
    bool plain = true;
    for (u32 i = 0; i < cpu_queue_count[cpu]; i++) {
        plain &= is_plain(cpu_queues[cpu][i]->disk);
    }
    for (u32 i = 0; i < cpu_queue_count[cpu]; i++) {
        struct queue *q = cpu_queues[cpu][i];
        u16 old = q->avail_index;
        for (u32 k = 0; k < q->depth; k++) {
            submit_full(q, k, start);
        }
        kick(q, old);
    }
    run_loop(cpu, start, plain);
    if (cpu == 0) {
        run_cycles = rdtsc() - start;
    }
    drain(cpu);
}

/* The next block of a queue that this run wrote, from q->next on. */
static bool next_written(struct queue *q)
{
    u32 *g = q->disk->generations + q->first;
    while (q->next < q->span && !g[q->next]) {
        q->next++;
    }
    return q->next < q->span;
}

static void read_back(struct queue *q, u32 slot)
{
    struct slot *s = &q->slots[slot];
    u64 block = q->next++;
    s->block = q->first + block;
    s->generation = q->disk->generations[s->block];
    s->sent = rdtsc();
    set_direction(q, slot, false);
    q->requests[slot].sector = s->block * q->disk->sectors_per_block;
    make_available(q, slot, q->disk->indirect ? 1 : 3);
}

void load_check(u32 cpu)
{
    for (u32 i = 0; i < cpu_queue_count[cpu]; i++) {
        cpu_queues[cpu][i]->next = 0;
    }
    for (bool more = true; more && !stalled;) {
        more = false;
        for (u32 i = 0; i < cpu_queue_count[cpu]; i++) {
            struct queue *q = cpu_queues[cpu][i];
            if (!q->disk->generations) {
                continue;
            }
            u16 old = q->avail_index;
            for (u32 k = 0; k < q->depth && next_written(q); k++) {
                read_back(q, k);
                more = true;
            }
            if (q->avail_index != old) {
                kick(q, old);
            }
        }
        drain(cpu);
    }
}
