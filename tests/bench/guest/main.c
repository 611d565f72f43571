/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bare guest's course, and its command line: words KEY=VALUE; N.KEY=VALUE is for disk N alone,
 * in order of PCI slots. Sizes may end in k or m.
 *
 *   cpus=1     processors that drive queues; queue n belongs to processor n modulo that
 *   t=3        seconds; 0: for ever
 *   ios=0      ends a processor's load when each of its queues has had so many requests
 *   ctl=0      1: a byte that arrives at the serial port ends the load (after ios= as well)
 *   n=32       disks at most
 *   stall=10   seconds without any completion after which it gives up
 *   mem=512    MiB of RAM it may use
 *   tsc=0      kHz of the TSC; 0: asks KVM or the timer
 *   toggle=0   with irq=2, each 10 ms: 1: the lines lead elsewhere (of those that the guest listens
 *              to); 2: INTx is forbidden and allowed again by the command register; 3: both
 * for each disk:
 *   q=1 d=32   queues, requests in flight per queue
 *   bs=4096    bytes per request
 *   rw=100     percentage of reads
 *   seq=0      1: sequential
 *   v=0        1: reads of what this run wrote are verified, and all of it is read back at the
 *              end; 2: the whole disk held pattern generation 0 before, all reads are verified
 *   ev=1       event index, if offered
 *   ind=0      1: indirect descriptors
 *   irq=0      1: an MSI-X interrupt is wanted for each batch (and stays pending); 2: INTx, and
 *              queues look at their rings only when there has been one
 *   legacy=0   1: the legacy interface, of devices that have both
 *   pio=0      1: the I/O port doorbell (modern-pio-notify)
 */
#include "guest.h"

struct options options;

static u64 heap_next, heap_end;
static volatile u32 cpus_named, cpus_running, cpus_done, cpus_checked;
u32 cpu_apic_ids[MAX_CPUS];
static volatile bool go;
extern char image_end[];

void *memset(void *dest, int c, size_t n);
void *memset(void *dest, int c, size_t n)
{
    void *d = dest;
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
    return dest;
}

static bool option_at(const char *word, const char *key, u64 *value)
{
    while (*key && *word == *key) {
        word++;
        key++;
    }
    if (*key || *word != '=') {
        return false;
    }
    u64 v = 0;
    for (word++; *word >= '0' && *word <= '9'; word++) {
        v = v * 10 + *word - '0';
    }
    if (*word == 'k') {
        v <<= 10;
    } else if (*word == 'm') {
        v <<= 20;
    }
    *value = v;
    return true;
}

u64 option(const char *key, u64 fallback)
{
    u64 value = fallback;
    const char *s = options.cmdline;
    while (s && *s) {
        while (*s == ' ') {
            s++;
        }
        option_at(s, key, &value);
        while (*s && *s != ' ') {
            s++;
        }
    }
    return value;
}

u64 disk_option(u32 disk, const char *key, u64 fallback)
{
    char name[24];
    int i = 0;
    if (disk >= 10) {
        name[i++] = '0' + disk / 10;
    }
    name[i++] = '0' + disk % 10;
    name[i++] = '.';
    while (*key && i < 23) {
        name[i++] = *key++;
    }
    name[i] = 0;
    return option(name, option(name + (disk >= 10 ? 3 : 2), fallback));
}

void *guest_alloc_raw(u64 size, u64 align)
{
    u64 start = (heap_next + align - 1) & ~(align - 1);
    if (start + size > heap_end) {
        fail("out of memory: fewer or smaller requests, or mem=MIB (and as much for the machine)");
    }
    heap_next = start + size;
    return (void *)start;
}

void *guest_alloc(u64 size, u64 align)
{
    return memset(guest_alloc_raw(size, align), 0, size);
}

static void first_processor(u32 start_info)
{
    /* hvm_start_info: the address of the command line is at 24. */
    options.cmdline = (const char *)*(u64 *)(u64)(start_info + 24);
    options.cpus = option("cpus", 1);
    options.seconds = option("t", 3);
    options.requests = option("ios", 0);
    options.control = option("ctl", 0);
    options.stall_seconds = option("stall", 10);
    options.memory_mib = option("mem", 512);
    if (options.cpus < 1 || options.cpus > MAX_CPUS) {
        fail("cpus= must be between 1 and 16");
    }
    heap_next = (u64)image_end;
    heap_end = (u64)options.memory_mib << 20;
    /* Modules, the command line and start_info lie between; keep well above. */
    if (heap_next < 0x4000000) {
        heap_next = 0x4000000;
    }
    options.tsc_khz = option("tsc", 0);
    if (!options.tsc_khz) {
        options.tsc_khz = measure_tsc_khz();
    }
    if (options.cpus > 1) {
        start_processors(options.cpus);
    }
    while (cpus_named < options.cpus) {
        pause();
    }
    find_disks(option("n", MAX_DISKS));
    put_string("START");
    put_field("cpus", options.cpus);
    put_field("tsc_khz", options.tsc_khz);
    put_field("kernel_loop_cycles", kernel_loop_cycles);
    put_string("\n");
}

static void meet(volatile u32 *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    while (*counter < options.cpus && !stalled) {
        pause();
    }
}

void guest_main(u32 cpu, u32 start_info);
void guest_main(u32 cpu, u32 start_info)
{
    apic_enable();
    cpu_apic_ids[cpu] = apic_id();
    __atomic_add_fetch(&cpus_named, 1, __ATOMIC_SEQ_CST);
    if (cpu == 0) {
        first_processor(start_info);
        go = true;
    } else {
        while (!go) {
            pause();
        }
        if (cpu >= options.cpus) {
            return;
        }
    }
    meet(&cpus_running);
    if (cpu == 0) {
        intx_allow();
    }
    load_run(cpu);
    meet(&cpus_done);
    if (cpu == 0) {
        put_string("END\n");
    }
    load_check(cpu);
    meet(&cpus_checked);
    if (cpu == 0) {
        intx_forbid();
        report();
        finish(0);
    }
}
