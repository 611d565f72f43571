/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bare guest: a poll-mode virtio-blk load generator without an operating system. main.c says
 * what its command line means. */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define MAX_CPUS   16
#define MAX_DISKS  32
#define MAX_QUEUES 128 /* of all disks together */
#define MAX_RING   1024
#define SECTOR     512

/* Latencies in TSC cycles: 32 linear steps per power of two, so a bucket is at most 3 % wide. */
#define HIST_BITS    5
#define HIST_BUCKETS ((40 - HIST_BITS + 1) << HIST_BITS)

#define barrier() __asm__ volatile("" ::: "memory")
#define mb()      __asm__ volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc")
#define pause()   __asm__ volatile("pause")

static inline void outb(u16 p, u8 v)
{
    __asm__ volatile("outb %0,%1" ::"a"(v), "Nd"(p));
}
static inline u8 inb(u16 p)
{
    u8 v;
    __asm__ volatile("inb %1,%0" : "=a"(v) : "Nd"(p));
    return v;
}
static inline void outw(u16 p, u16 v)
{
    __asm__ volatile("outw %0,%1" ::"a"(v), "Nd"(p));
}
static inline u16 inw(u16 p)
{
    u16 v;
    __asm__ volatile("inw %1,%0" : "=a"(v) : "Nd"(p));
    return v;
}
static inline void outl(u16 p, u32 v)
{
    __asm__ volatile("outl %0,%1" ::"a"(v), "Nd"(p));
}
static inline u32 inl(u16 p)
{
    u32 v;
    __asm__ volatile("inl %1,%0" : "=a"(v) : "Nd"(p));
    return v;
}
static inline u64 rdtsc(void)
{
    u32 a, d;
    __asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
    return ((u64)d << 32) | a;
}

struct desc {
    u64 addr;
    u32 len;
    u16 flags, next;
};
#define DESC_NEXT     1
#define DESC_WRITE    2
#define DESC_INDIRECT 4

/* What the device reads and writes of a request; no cache line belongs to two of them. */
struct request {
    u32 type, ioprio;
    u64 sector;
    u8 status;
    struct desc table[3] __attribute__((aligned(64)));
};
#define BLK_READ  0
#define BLK_WRITE 1

/* What only the guest knows of it. */
struct slot {
    u64 sent;  /* TSC when it was made available */
    u64 block; /* in units of the block size */
    u8 *buf;
    u32 generation; /* of the data: written, or expected */
    bool write;
};

struct disk;

/* One virtqueue. Only its processor touches it once the load runs. */
struct queue {
    struct desc *desc;
    u16 *avail;    /* flags, index, ring.., used_event */
    u16 *used;     /* flags, index, pairs of 32 bits.., avail_event */
    volatile u16 *doorbell;
    u16 doorbell_port; /* instead of the doorbell, when not 0 */
    u16 number;        /* within its disk */
    u16 size, depth;
    u16 last_used, avail_index;
    u16 inflight;
    u16 cpu;
    struct disk *disk;
    struct request *requests;
    struct slot *slots;
    u64 random;
    u64 taken;      /* interrupts of the disk, when the ring was last looked at */
    bool look_again;
    u64 first, span; /* its blocks */
    u64 next;
    u64 reads, writes;  /* while the load ran */
    u64 completed;      /* also after its end */
    u64 errors, bad, checked, kicks, batches;
    u64 latency_sum, latency_max; /* cycles */
    u32 histogram[HIST_BUCKETS];
} __attribute__((aligned(64)));

struct disk {
    u32 number;
    u32 queues, depth, block_size, sectors_per_block;
    u32 read_percent;
    bool sequential, event_index, indirect, legacy, pio;
    u32 interrupts;      /* IRQ_... */
    u32 line, bdf;       /* of INTx */
    volatile u8 *isr;
    u16 isr_port;        /* if isr is NULL */
    u64 taken;           /* interrupts */
    u32 verify;
    u64 capacity; /* sectors */
    u32 first_queue, used_queues;
    u32 *generations; /* per block; the top bit: a request is under way */
};
#define IRQ_NONE     0
#define IRQ_MSIX     1
#define IRQ_INTX     2
#define GENERATION_BUSY 0x80000000u

/* What the command line said. */
struct options {
    const char *cmdline;
    u32 cpus, seconds, stall_seconds, memory_mib;
    u64 requests; /* end after so many of each queue, 0: by time alone */
    bool control; /* end at a byte from the serial port */
    u64 tsc_khz;
};

extern struct options options;
extern struct disk disks[MAX_DISKS];
extern u32 disk_count;
extern struct queue queues[MAX_QUEUES];
extern u32 queue_count;
#define KERNEL_LOOPS 64
extern u64 kernel_loop_cycles; /* for so many rounds of a loop of two instructions at CPL 0 */
extern u32 cpu_apic_ids[MAX_CPUS];
extern u64 run_cycles;
extern volatile bool stalled;
extern volatile bool told_to_end;

/* main.c */
u64 option(const char *key, u64 fallback);                /* "key=123", also 4k, 1m */
u64 disk_option(u32 disk, const char *key, u64 fallback); /* "2.key=123", else "key=123" */
void *guest_alloc(u64 size, u64 align); /* zeroed; without memory the guest ends */
void *guest_alloc_raw(u64 size, u64 align);               /* contents are whatever RAM held */

/* setup.c */
u64 measure_tsc_khz(void);
void apic_enable(void);
u32 apic_id(void);
void end_of_interrupt(void);
void start_processors(u32 count);
void find_disks(u32 limit);
u32 pci_read(u32 bdf, u32 offset);
void pci_write(u32 bdf, u32 offset, u32 value);
u8 pci_read8(u32 bdf, u32 offset);

/* virtio.c */
void disk_start(struct disk *d, u32 bdf);

/* intx.c */
extern u64 spurious_interrupts, toggles;
void intx_tick(u64 now); /* toggle= */
void intx_start(struct disk *d, u32 bdf);
void intx_allow(void);
void intx_forbid(void);

/* pattern.c */
void pattern_fill(u64 *buf, u64 sector, u32 generation);
bool pattern_check(const u64 *buf, u64 sector, u32 generation);

/* load.c */
void load_prepare(struct disk *d);
void load_run(u32 cpu);
void load_check(u32 cpu); /* reads back what was written */

/* report.c */
void put_string(const char *s);
void put_number(u64 v);
void put_hex(u64 v);
void put_field(const char *name, u64 v); /* " name v" */
void fail(const char *why) __attribute__((noreturn));
void report(void);
void finish(u32 status) __attribute__((noreturn));

#endif
