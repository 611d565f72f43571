/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory map: priorities, splitting of accesses, RAM snapshots under readers, doorbells. */
#include "hw/core/memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "hw/core/irq.h"
#include "util/aio.h"
#include "util/biglock.h"

typedef struct Recorder {
    char name;
    uint8_t regs[256];
} Recorder;

static GString *trace; /* "rA4+2 " per access: read or write, region, size, offset */

static uint64_t rec_read(void *opaque, uint64_t offset, unsigned size)
{
    Recorder *r = opaque;
    uint64_t v = 0;

    g_string_append_printf(trace, "r%c%u+%" G_GINT64_MODIFIER "x ", r->name, size, offset);
    for (unsigned i = 0; i < size; i++) {
        v |= (uint64_t)r->regs[(offset + i) & 0xff] << (8 * i);
    }
    return v;
}

static void rec_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    Recorder *r = opaque;

    g_string_append_printf(trace, "w%c%u+%" G_GINT64_MODIFIER "x=%" G_GINT64_MODIFIER "x ", r->name,
                           size, offset, value);
    for (unsigned i = 0; i < size; i++) {
        r->regs[(offset + i) & 0xff] = value >> (8 * i);
    }
}

static const MmioOps ops_any = {.read = rec_read, .write = rec_write};
static const MmioOps ops_max4 = {.read = rec_read, .write = rec_write, .max_size = 4};
static const MmioOps ops_only4 = {
    .read = rec_read, .write = rec_write, .min_size = 4, .max_size = 4
};

static void expect(const char *text)
{
    g_assert_cmpstr(trace->str, ==, text);
    g_string_truncate(trace, 0);
}

static void test_priority(void)
{
    Recorder a = {.name = 'A'}, b = {.name = 'B'};
    MmioRegion *ra = mmio_region_new("a", &ops_any, &a, 0x1000);
    MmioRegion *rb = mmio_region_new("b", &ops_any, &b, 0x100);

    mmio_region_map(ra, guest_memory, 0x10000, 0);
    address_space_load(guest_memory, 0x10800, 1);
    expect("rA1+800 ");
    /* The later one of equals is seen, only where it is. */
    mmio_region_map(rb, guest_memory, 0x10800, 0);
    address_space_load(guest_memory, 0x10800, 1);
    address_space_load(guest_memory, 0x107ff, 1);
    address_space_load(guest_memory, 0x10900, 1);
    expect("rB1+0 rA1+7ff rA1+900 ");
    /* A lower priority hides it again. */
    mmio_region_map(rb, guest_memory, 0x10800, -1);
    address_space_load(guest_memory, 0x10800, 1);
    expect("rA1+800 ");
    mmio_region_map(rb, guest_memory, 0x10800, 1);
    mmio_region_unmap(ra);
    address_space_load(guest_memory, 0x10801, 1);
    expect("rB1+1 ");
    g_assert_cmphex(address_space_load(guest_memory, 0x10000, 4), ==, 0);
    g_assert_cmphex(address_space_load(guest_ports, 0x80, 4), ==, 0xffffffff);
    g_assert_cmphex(address_space_load(guest_ports, 0xffff, 2), ==, 0x00ff);
    uint8_t byte;

    g_assert_false(address_space_read(guest_memory, 0x10000, &byte, 1));
    g_assert_true(address_space_read(guest_memory, 0x10800, &byte, 1));
    g_string_truncate(trace, 0);
    mmio_region_free(ra);
    mmio_region_free(rb);
}

static void test_edges(void)
{
    Recorder a = {.name = 'A'};
    MmioRegion *r = mmio_region_new("a", &ops_any, &a, 0x100);

    /* The end of the address space, and a region that would wrap. */
    mmio_region_map(r, guest_memory, UINT64_MAX - 0xff, 0);
    address_space_load(guest_memory, UINT64_MAX, 1);
    expect("rA1+ff ");
    address_space_load(guest_memory, UINT64_MAX - 1, 8);
    expect("rA2+fe ");
    mmio_region_map(r, guest_memory, UINT64_MAX - 0x7f, 0);
    address_space_load(guest_memory, UINT64_MAX, 1);
    expect("rA1+7f ");
    g_assert_cmphex(address_space_load(guest_memory, 0, 4), ==, 0);
    expect("");
    /* Ports end at 64 Ki. */
    mmio_region_map(r, guest_ports, 0xffff, 0);
    address_space_load(guest_ports, 0xffff, 1);
    expect("rA1+0 ");
    mmio_region_free(r);
    g_assert_cmphex(address_space_load(guest_ports, 0xffff, 1), ==, 0xff);
}

static void test_splitting(void)
{
    Recorder a = {.name = 'A'}, b = {.name = 'B'}, c = {.name = 'C'};
    MmioRegion *ra = mmio_region_new("a", &ops_any, &a, 0x100);
    MmioRegion *rb = mmio_region_new("b", &ops_max4, &b, 0x100);
    MmioRegion *rc = mmio_region_new("c", &ops_only4, &c, 0x100);

    mmio_region_map(ra, guest_memory, 0x1000, 0);
    mmio_region_map(rb, guest_memory, 0x1100, 0);
    mmio_region_map(rc, guest_memory, 0x1200, 0);
    address_space_store(guest_memory, 0x1000, 0x1122334455667788, 8);
    expect("wA8+0=1122334455667788 ");
    g_assert_cmphex(address_space_load(guest_memory, 0x1001, 4), ==, 0x44556677);
    expect("rA1+1 rA2+2 rA1+4 ");
    address_space_store(guest_memory, 0x1100, 0x1122334455667788, 8);
    expect("wB4+0=55667788 wB4+4=11223344 ");
    /* Across a border each region gets its part. */
    g_assert_cmphex(address_space_load(guest_memory, 0x10fe, 4), ==, 0x77880000);
    expect("rA2+fe rB2+0 ");
    address_space_store(guest_memory, 0x1202, 0xab, 1);
    expect("wC4+2=ab ");
    g_assert_cmphex(address_space_load(guest_memory, 0x1202, 1), ==, 0xab);
    expect("rC4+2 ");
    g_assert_cmphex(mmio_region_read(rb, 0, 8), ==, 0x1122334455667788);
    expect("rB4+0 rB4+4 ");
    mmio_region_free(ra);
    mmio_region_free(rb);
    mmio_region_free(rc);
}

static void test_first_byte_decides(void)
{
    Recorder a = {.name = 'A'}, b = {.name = 'B'};
    MmioRegion *index = mmio_region_new("index", &ops_max4, &a, 4);
    MmioRegion *reset = mmio_region_new("reset", &ops_max4, &b, 1);

    mmio_region_map(index, guest_ports, 0xcf8, 0);
    mmio_region_map(reset, guest_ports, 0xcf9, 1);
    address_space_store(guest_ports, 0xcf8, 0x80000004, 4);
    expect("wA4+0=80000004 ");
    address_space_store(guest_ports, 0xcf9, 0x6, 1);
    expect("wB1+0=6 ");
    mmio_region_free(index);
    mmio_region_free(reset);
}

static void test_batch(void)
{
    Recorder a = {.name = 'A'};
    MmioRegion *r = mmio_region_new("a", &ops_any, &a, 0x100);

    address_space_batch_begin();
    address_space_batch_begin();
    mmio_region_map(r, guest_memory, 0x1000, 0);
    address_space_batch_commit();
    address_space_load(guest_memory, 0x1000, 1);
    expect("");
    address_space_batch_commit();
    address_space_load(guest_memory, 0x1000, 1);
    expect("rA1+0 ");
    /* What is freed in a batch is gone at once. */
    address_space_batch_begin();
    mmio_region_free(r);
    g_assert_cmphex(address_space_load(guest_memory, 0x1000, 1), ==, 0);
    address_space_batch_commit();
}

/* ---- RAM ---- */

static uint8_t *block(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    g_assert(p != MAP_FAILED);
    return p;
}

static void test_ram(void)
{
    uint8_t *host = block(0x4000), *rom = block(0x1000);
    Recorder a = {.name = 'A'};
    MmioRegion *bar = mmio_region_new("bar", &ops_any, &a, 0x2000);
    uint64_t avail;
    uint8_t buf[16] = "0123456789abcde";

    g_assert_true(guest_ram_add("low", 0x1000, 0x1000, host, false, &error_abort));
    g_assert_true(guest_ram_add("high", 0x2000, 0x1000, host + 0x1000, false, &error_abort));
    g_assert_true(guest_ram_add("rom", 0x4000, 0x1000, rom, true, &error_abort));
    g_assert_false(guest_ram_add("again", 0x4000, 0x1000, rom, true, NULL));
    g_assert_false(guest_ram_add("wraps", UINT64_MAX - 0xfff, 0x2000, rom, true, NULL));
    guest_ram_enter();
    /* Pieces of one block are one piece. */
    g_assert_true(guest_ram_ptr(0x1800, 0x1000, true, &avail) == host + 0x800);
    g_assert_cmphex(avail, ==, 0x1800);
    g_assert_null(guest_ram_ptr(0x2800, 0x801, true, &avail));
    g_assert_cmphex(avail, ==, 0x800);
    g_assert_null(guest_ram_ptr(0x3000, 1, false, &avail));
    g_assert_cmphex(avail, ==, 0);
    g_assert_null(guest_ram_ptr(0xfff, 2, false, NULL));
    g_assert_null(guest_ram_ptr(0x4000, 1, true, NULL));
    g_assert_true(guest_ram_ptr(0x4000, 0x1000, false, NULL) == rom);
    g_assert_null(guest_ram_ptr(0x2fff, UINT64_MAX, false, NULL));
    g_assert_null(guest_ram_ptr(UINT64_MAX, 1, false, NULL));
    guest_ram_leave();
    g_assert_true(guest_write(0x1ff8, buf, 16));
    g_assert_cmpmem(host + 0xff8, 16, buf, 16);
    g_assert_false(guest_write(0x2ff8, buf, 16));
    g_assert_false(guest_write(0x4000, buf, 1));
    g_assert_false(guest_read(0x2ff8, buf, 16));
    /* RAM hides a BAR; a write to ROM goes nowhere. */
    mmio_region_map(bar, guest_memory, 0x2800, -1);
    address_space_store(guest_memory, 0x2900, 0x55, 1);
    g_assert_cmphex(host[0x1900], ==, 0x55);
    address_space_store(guest_memory, 0x3000, 0x66, 1);
    expect("wA1+800=66 ");
    address_space_store(guest_memory, 0x4000, 0x77, 1);
    g_assert_cmphex(rom[0], ==, 0);
    /* Registers above RAM take it away from the data path. */
    mmio_region_map(bar, guest_memory, 0x1800, 1);
    guest_ram_enter();
    g_assert_null(guest_ram_ptr(0x1800, 1, false, NULL));
    g_assert_true(guest_ram_ptr(0x17ff, 1, false, NULL) == host + 0x7ff);
    guest_ram_leave();
    mmio_region_free(bar);
    guest_ram_enter();
    g_assert_true(guest_ram_ptr(0x1800, 1, false, NULL) == host + 0x800);
    guest_ram_leave();
    guest_ram_del(0x1000);
    guest_ram_del(0x2000);
    guest_ram_del(0x4000);
    g_assert_false(guest_read(0x1000, buf, 1));
    munmap(host, 0x4000);
    munmap(rom, 0x1000);
}

static int stop_readers; /* atomic */

static void *reader(void *opaque)
{
    unsigned *seen = opaque;

    while (!__atomic_load_n(&stop_readers, __ATOMIC_ACQUIRE)) {
        uint64_t avail;

        guest_ram_enter();
        guest_ram_enter();
        uint8_t *p = guest_ram_ptr(0x10000, 8, false, &avail);

        /* The piece is there as a whole or not at all, and its memory is good while we look. */
        g_assert_true(!p || avail == 0x1000);
        if (p && *p == 0x5a) {
            ++*seen;
        }
        guest_ram_leave();
        guest_ram_leave();
    }
    return NULL;
}

static void test_ram_readers(void)
{
    pthread_t threads[3];
    unsigned seen[3] = {0};
    uint8_t *host = block(0x1000);

    host[0] = 0x5a;
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(pthread_create(&threads[i], NULL, reader, &seen[i]), ==, 0);
    }
    for (unsigned n = 0; n < 300; n++) {
        g_assert_true(guest_ram_add("ram", 0x10000, 0x1000, host, false, &error_abort));
        g_assert_true(guest_ram_add("other", 0x20000, 0x1000, host, false, &error_abort));
        guest_ram_del(0x10000);
        guest_ram_del(0x20000);
    }
    __atomic_store_n(&stop_readers, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    munmap(host, 0x1000);
}

/* ---- doorbells ---- */

static GString *told;

static void told_doorbell(char sign, const Doorbell *d)
{
    g_string_append_printf(told, "%c%" G_GINT64_MODIFIER "x/%u", sign, d->addr, d->size);
    if (d->match >= 0) {
        g_string_append_printf(told, "=%d", d->match);
    }
    g_string_append_c(told, ' ');
}

static void told_add(void *opaque, AddressSpace *as, const Doorbell *d)
{
    told_doorbell('+', d);
}

static void told_del(void *opaque, AddressSpace *as, const Doorbell *d)
{
    told_doorbell('-', d);
}

static void told_ram(void *opaque, uint64_t addr, uint64_t size, void *host, bool read_only)
{
    g_string_append_printf(told, "ram+%" G_GINT64_MODIFIER "x ", addr);
}

static void expect_told(const char *text)
{
    g_assert_cmpstr(told->str, ==, text);
    g_string_truncate(told, 0);
}

static void test_doorbells(void)
{
    static const MemoryListener listener = {told_add, told_del, told_ram, NULL};
    Recorder a = {.name = 'A'};
    MmioRegion *r = mmio_region_new("a", &ops_any, &a, 0x100);
    EventNotifier n, m;

    g_assert_true(event_notifier_init(&n, false, &error_abort));
    g_assert_true(event_notifier_init(&m, false, &error_abort));
    mmio_region_add_eventfd(r, 0x10, 2, &n);
    mmio_region_add_eventfd(r, 0x20, 0, &m);
    mmio_region_map(r, guest_memory, 0x1000, 0);
    address_space_store(guest_memory, 0x1010, 7, 2);
    expect("");
    g_assert_true(event_notifier_test_and_clear(&n));
    g_assert_false(event_notifier_test_and_clear(&m));
    /* Another width, another place: the device's. */
    address_space_store(guest_memory, 0x1010, 7, 1);
    address_space_store(guest_memory, 0x1012, 7, 2);
    expect("wA1+10=7 wA2+12=7 ");
    for (unsigned size = 1; size <= 8; size *= 2) {
        address_space_store(guest_memory, 0x1020, 7, size);
        g_assert_true(event_notifier_test_and_clear(&m));
    }
    expect("");
    mmio_region_write(r, 0x10, 1, 2);
    g_assert_true(event_notifier_test_and_clear(&n));

    told = g_string_new(NULL);
    memory_listener_add(&listener, NULL);
    expect_told("+1010/2 +1020/0 ");
    mmio_region_map(r, guest_memory, 0x2000, 0);
    expect_told("-1010/2 -1020/0 +2010/2 +2020/0 ");
    address_space_batch_begin();
    mmio_region_del_eventfd(r, 0x10, 2, &n);
    mmio_region_unmap(r);
    mmio_region_map(r, guest_memory, 0x2000, 0);
    address_space_batch_commit();
    expect_told("-2010/2 ");
    /* One register for two doorbells. */
    mmio_region_add_eventfd_match(r, 0x30, 2, 5, &n);
    mmio_region_add_eventfd_match(r, 0x30, 2, 6, &m);
    expect_told("+2030/2=5 +2030/2=6 ");
    address_space_store(guest_memory, 0x2030, 6, 2);
    g_assert_false(event_notifier_test_and_clear(&n));
    g_assert_true(event_notifier_test_and_clear(&m));
    address_space_store(guest_memory, 0x2030, 7, 2);
    expect("wA2+30=7 ");
    mmio_region_del_eventfd_match(r, 0x30, 2, 5, &n);
    expect_told("-2030/2=5 ");
    mmio_region_free(r);
    expect_told("-2020/0 -2030/2=6 ");
    event_notifier_cleanup(&n);
    event_notifier_cleanup(&m);
}

/* ---- interrupt lines and messages ---- */

static unsigned gsi_changes;

static void gsi_changed(void *opaque, unsigned gsi, bool level)
{
    g_assert_cmpuint(gsi, ==, 20);
    gsi_changes++;
}

static void test_gsi(void)
{
    gsi_listen(gsi_changed, NULL);
    gsi_set(20, 3, true);
    gsi_set(20, 3, true);
    gsi_set(20, 5, true);
    g_assert_true(gsi_level(20));
    gsi_set(20, 3, false);
    g_assert_true(gsi_level(20));
    g_assert_cmpuint(gsi_changes, ==, 1);
    gsi_set(20, 5, false);
    g_assert_false(gsi_level(20));
    g_assert_cmpuint(gsi_changes, ==, 2);
}

static void ring_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    unsigned *depth = opaque;

    ++*depth;
    msi_send(0x3000, 1);
}

static void test_msi_ring(void)
{
    static const MmioOps ring_ops = {.read = rec_read, .write = ring_write};
    unsigned depth = 0;
    MmioRegion *r = mmio_region_new("ring", &ring_ops, &depth, 0x100);

    mmio_region_map(r, guest_memory, 0x3000, 0);
    msi_send(0x3000, 1);
    g_assert_cmpuint(depth, ==, 1);
    msi_send(0x3000, 1);
    g_assert_cmpuint(depth, ==, 2);
    mmio_region_free(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    if (!big_lock_held()) {
        big_lock();
    }
    trace = g_string_new(NULL);
    g_test_add_func("/memory-map/priority", test_priority);
    g_test_add_func("/memory-map/edges", test_edges);
    g_test_add_func("/memory-map/splitting", test_splitting);
    g_test_add_func("/memory-map/first-byte-decides", test_first_byte_decides);
    g_test_add_func("/memory-map/batch", test_batch);
    g_test_add_func("/memory-map/ram", test_ram);
    g_test_add_func("/memory-map/ram-readers", test_ram_readers);
    g_test_add_func("/memory-map/doorbells", test_doorbells);
    g_test_add_func("/irq/gsi", test_gsi);
    g_test_add_func("/irq/message-ring", test_msi_ring);
    return g_test_run();
}
