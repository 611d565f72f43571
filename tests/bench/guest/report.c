/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest says, on the first serial port; isa-debug-exit at 0xf4 ends the machine. */
#include "guest.h"

static void put_char(char c)
{
    /* An emulated port takes a byte at once unless its other end is full. */
    for (int i = 0; i < 1000000 && !(inb(0x3fd) & 0x20); i++) {
        pause();
    }
    outb(0x3f8, c);
}

void put_string(const char *s)
{
    for (; *s; s++) {
        if (*s == '\n') {
            put_char('\r');
        }
        put_char(*s);
    }
}

void put_number(u64 v)
{
    char b[24];
    int i = 23;
    b[i] = 0;
    do {
        b[--i] = '0' + v % 10;
        v /= 10;
    } while (v);
    put_string(b + i);
}

void put_hex(u64 v)
{
    for (int shift = 60; shift >= 0; shift -= 4) {
        put_char("0123456789abcdef"[v >> shift & 15]);
    }
}

void put_field(const char *name, u64 v)
{
    put_char(' ');
    put_string(name);
    put_char(' ');
    put_number(v);
}

void finish(u32 status)
{
    put_string("DONE\n");
    outl(0xf4, status);
    u16 cs;
    __asm__ volatile("mov %%cs,%0" : "=r"(cs));
    if (cs & 3) {
        __asm__ volatile("jmp park");
    }
    for (;;) {
        __asm__ volatile("hlt");
    }
}

void fail(const char *why)
{
    put_string("FAIL ");
    put_string(why);
    put_string("\n");
    finish(1);
}

void guest_trap(const u64 *frame, u64 cr2);
void guest_trap(const u64 *frame, u64 cr2)
{
    put_string("FAIL exception in the guest: stack");
    for (int i = 0; i < 4; i++) {
        put_string(" ");
        put_hex(frame[i]);
    }
    put_string(" cr2 ");
    put_hex(cr2);
    put_string("\n");
    finish(1);
}

/* Right for runs of up to an hour. */
static u64 to_ns(u64 cycles)
{
    return cycles * 1000000 / options.tsc_khz;
}

/* The upper end of a bucket, in cycles. */
static u64 bucket_limit(u32 i)
{
    u32 block = i >> HIST_BITS, low = i & ((1 << HIST_BITS) - 1);
    if (block == 0) {
        return low + 1;
    }
    return ((u64)(low + (1 << HIST_BITS)) + 1) << (block - 1);
}

static void put_percentile(const char *name, const u64 *sum, u64 total, u32 per_mille, u64 max)
{
    u64 wanted = (total * per_mille + 999) / 1000, seen = 0;
    u32 i = 0;
    for (; i < HIST_BUCKETS; i++) {
        seen += sum[i];
        if (seen >= wanted) {
            break;
        }
    }
    u64 cycles = bucket_limit(i);
    put_field(name, to_ns(cycles < max ? cycles : max));
}

static u64 histogram_sum[HIST_BUCKETS];

static void report_disk(struct disk *d)
{
    u64 reads = 0, writes = 0, errors = 0, bad = 0, checked = 0, kicks = 0, batches = 0;
    u64 latency = 0, max = 0, left = 0, completed = 0;
    for (u32 i = 0; i < HIST_BUCKETS; i++) {
        histogram_sum[i] = 0;
    }
    for (u32 i = 0; i < d->used_queues; i++) {
        struct queue *q = &queues[d->first_queue + i];
        put_string("vq");
        put_field("disk", d->number);
        put_field("queue", q->number);
        put_field("cpu", q->cpu);
        put_field("ios", q->reads + q->writes);
        put_field("kicks", q->kicks);
        put_field("batches", q->batches);
        put_field("errs", q->errors);
        put_field("left", q->inflight);
        put_string("\n");
        reads += q->reads;
        writes += q->writes;
        errors += q->errors;
        bad += q->bad;
        checked += q->checked;
        kicks += q->kicks;
        batches += q->batches;
        latency += q->latency_sum;
        left += q->inflight;
        completed += q->completed;
        if (q->latency_max > max) {
            max = q->latency_max;
        }
        for (u32 b = 0; b < HIST_BUCKETS; b++) {
            histogram_sum[b] += q->histogram[b];
        }
    }
    u64 ios = reads + writes, us = to_ns(run_cycles) / 1000;
    put_string("RESULT");
    put_field("disk", d->number);
    put_field("ios", ios);
    put_field("usec", us);
    put_field("iops", us ? ios * 1000000 / us : 0);
    put_field("kicks", kicks);
    put_field("batches", batches);
    put_field("errs", errors);
    put_field("reads", reads);
    put_field("writes", writes);
    put_field("checked", checked);
    put_field("bad", bad);
    put_field("completed", completed);
    put_field("left", left);
    put_field("irqs", d->taken);
    put_field("spurious", spurious_interrupts);
    put_field("toggles", toggles);
    put_field("bs", d->block_size);
    put_field("avg_ns", ios ? to_ns(latency / ios) : 0);
    put_percentile("p50_ns", histogram_sum, ios, 500, max);
    put_percentile("p99_ns", histogram_sum, ios, 990, max);
    put_percentile("p999_ns", histogram_sum, ios, 999, max);
    put_field("max_ns", to_ns(max));
    put_string("\n");
}

void report(void)
{
    if (stalled) {
        put_string("STALL\n");
    }
    for (u32 i = 0; i < disk_count; i++) {
        report_disk(&disks[i]);
    }
}
