/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set-up of the machine: clock, local APICs, other processors, PCI. */
#include "guest.h"

/* Written by KVM: the pvclock structure of the KVM ABI. */
static struct {
    u32 version, pad;
    u64 tsc, time;
    u32 multiplier;
    int8_t shift;
    u8 flags, pad2[2];
} pvclock __attribute__((aligned(64)));

u64 kernel_loop_cycles;

static bool kvm_clock_offered(void)
{
    u32 a, b, c, d;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x40000000), "c"(0));
    if (b != 0x4b4d564b || c != 0x564b4d56 || d != 0x4d) { /* KVMKVMKVM */
        return false;
    }
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x40000001), "c"(0));
    return a & (1 << 3);
}

/* The only C code that runs at CPL 0. The loop shows whether the host runs such code or emulates
 * it, instruction by instruction. */
void kernel_setup(void);
void kernel_setup(void)
{
    kernel_loop_cycles = ~0ull;
    for (int attempt = 0; attempt < 16; attempt++) {
        u64 start = rdtsc();
        u32 n = KERNEL_LOOPS;
        __asm__ volatile("1: decl %0\n\tjnz 1b" : "+r"(n));
        u64 cycles = rdtsc() - start;
        /* The shortest: the host may have had other things to do meanwhile. */
        if (cycles < kernel_loop_cycles) {
            kernel_loop_cycles = cycles;
        }
    }
    if (kvm_clock_offered()) {
        u64 v = (u64)&pvclock | 1;
        __asm__ volatile("wrmsr" ::"c"(0x4b564d01), "a"((u32)v), "d"((u32)(v >> 32)));
    }
}

/* Channel 2 of the interval timer counts down from 65535 at 1193182 Hz. */
static u64 tsc_khz_by_timer(void)
{
    outb(0x61, (inb(0x61) & ~2) | 1);
    outb(0x43, 0xb0);
    outb(0x42, 0xff);
    outb(0x42, 0xff);
    u64 start = rdtsc();
    while (!(inb(0x61) & 0x20)) {
        pause();
        if (rdtsc() - start > 20000000000ull) {
            fail("the timer does not count");
        }
    }
    return (rdtsc() - start) * 1193182 / 65536 / 1000;
}

u64 measure_tsc_khz(void)
{
    if (!pvclock.multiplier) {
        return tsc_khz_by_timer();
    }
    /* ns = (tsc << shift) * multiplier >> 32 */
    u64 khz = (1000000ull << 32) / pvclock.multiplier;
    return pvclock.shift < 0 ? khz << -pvclock.shift : khz >> pvclock.shift;
}

#define APIC(offset) (*(volatile u32 *)(0xfee00000ull + (offset)))

void apic_enable(void)
{
    APIC(0xf0) = 0x1ff;
}

u32 apic_id(void)
{
    return APIC(0x20) >> 24;
}

void end_of_interrupt(void)
{
    APIC(0xb0) = 0;
}

static void wait_us(u64 us)
{
    u64 end = rdtsc() + us * options.tsc_khz / 1000;
    while (rdtsc() < end) {
        pause();
    }
}

void start_processors(u32 count)
{
    extern char ap_trampoline[], ap_trampoline_end[];
    extern volatile u32 cpus_started;
    u8 *page = (u8 *)0x8000;
    for (char *p = ap_trampoline; p < ap_trampoline_end; p++) {
        *page++ = *p;
    }
    APIC(0x310) = 0;
    APIC(0x300) = 0xc4500; /* INIT to all others */
    wait_us(10000);
    for (int attempt = 0; attempt < 2 && cpus_started < count; attempt++) {
        APIC(0x300) = 0xc4608; /* start at 0x8000 */
        wait_us(1000);
    }
    for (int ms = 0; cpus_started < count; ms++) {
        wait_us(1000);
        if (ms > 20000) {
            fail("cpus= is more than the machine has (-smp), or they do not start");
        }
    }
}

u32 pci_read(u32 bdf, u32 offset)
{
    outl(0xcf8, 0x80000000u | (bdf << 8) | (offset & 0xfc));
    return inl(0xcfc);
}

void pci_write(u32 bdf, u32 offset, u32 value)
{
    outl(0xcf8, 0x80000000u | (bdf << 8) | (offset & 0xfc));
    outl(0xcfc, value);
}

u8 pci_read8(u32 bdf, u32 offset)
{
    return pci_read(bdf, offset) >> ((offset & 3) * 8);
}

void find_disks(u32 limit)
{
    for (u32 dev = 0; dev < 32 && disk_count < limit && disk_count < MAX_DISKS; dev++) {
        u32 id = pci_read(dev << 3, 0);
        if (id == 0x10011af4 || id == 0x10421af4) {
            struct disk *d = &disks[disk_count];
            d->number = disk_count++;
            disk_start(d, dev << 3);
        }
    }
    if (!disk_count) {
        fail("no virtio-blk device on bus 0");
    }
}
