/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structures of SMBIOS, in the order of their types (DSP0134 3.x, chapter 7). */
#include "hw/i386/smbios.h"

#include <string.h>

#include "hw/core/cpu.h"
#include "hw/i386/boot.h"
#include "pc.h"
#include "smbios-options.h"

#define MAKER           "QEMU"
#define DIMM_MAX        (16ull << 30)
#define HANDLE(type, n) ((type) << 8 | (n))
#define HANDLE_NONE     0xfffe

typedef struct Builder {
    GByteArray *out;
    size_t start;  /* of the structure being built */
    GPtrArray *strings;
} Builder;

static void put8(Builder *b, uint8_t v)
{
    g_byte_array_append(b->out, &v, 1);
}

static void put16(Builder *b, uint16_t v)
{
    put8(b, v);
    put8(b, v >> 8);
}

static void put32(Builder *b, uint32_t v)
{
    put16(b, v);
    put16(b, v >> 16);
}

static void put64(Builder *b, uint64_t v)
{
    put32(b, v);
    put32(b, v >> 32);
}

/* The number of a string, which follows the structure; 0 stands for none. */
static void put_text(Builder *b, const char *text)
{
    if (text && *text && b->strings->len < 255) {
        g_ptr_array_add(b->strings, (gpointer)text);
        put8(b, b->strings->len);
    } else {
        put8(b, 0);
    }
}

static void begin(Builder *b, uint8_t type, uint16_t handle)
{
    b->start = b->out->len;
    g_ptr_array_set_size(b->strings, 0);
    put8(b, type);
    put8(b, 0); /* length */
    put16(b, handle);
}

static void end(Builder *b)
{
    b->out->data[b->start + 1] = b->out->len - b->start;
    for (unsigned i = 0; i < b->strings->len; i++) {
        const char *s = b->strings->pdata[i];

        g_byte_array_append(b->out, (const uint8_t *)s, strlen(s) + 1);
    }
    if (!b->strings->len) {
        put8(b, 0);
    }
    put8(b, 0);
}

static const char *or_else(const char *text, const char *dflt)
{
    return text ? text : dflt;
}

/* ---- structures ---- */

static void put_bios(Builder *b)
{
    begin(b, 0, HANDLE(0, 0));
    put_text(b, or_else(smbios_options.t0.vendor, "Spindle"));
    put_text(b, or_else(smbios_options.t0.version, "direct boot"));
    put16(b, 0xe800); /* segment, as of a small BIOS */
    put_text(b, or_else(smbios_options.t0.date, "01/01/2025"));
    put8(b, 0);       /* 64 KiB */
    put64(b, 0x08);   /* characteristics are not told */
    put8(b, 0);
    put8(b, 0x14 | (smbios_options.t0.uefi ? 0x08 : 0)); /* virtual machine, targeted content */
    put8(b, smbios_options.t0.has_release ? smbios_options.t0.major : 0);
    put8(b, smbios_options.t0.has_release ? smbios_options.t0.minor : 0);
    put8(b, 0xff); /* no embedded controller */
    put8(b, 0xff);
    end(b);
}

static void put_system(Builder *b, const MachineClass *mc)
{
    const uint8_t *u = smbios_options.t1.uuid;

    begin(b, 1, HANDLE(1, 0));
    put_text(b, or_else(smbios_options.t1.manufacturer, MAKER));
    put_text(b, or_else(smbios_options.t1.product, mc->desc));
    put_text(b, or_else(smbios_options.t1.version, mc->name));
    put_text(b, smbios_options.t1.serial);
    /* The first three fields are little-endian since 2.6 (7.2.1). */
    put32(b, (uint32_t)u[0] << 24 | u[1] << 16 | u[2] << 8 | u[3]);
    put16(b, u[4] << 8 | u[5]);
    put16(b, u[6] << 8 | u[7]);
    g_byte_array_append(b->out, u + 8, 8);
    put8(b, 6); /* woken by the power switch */
    put_text(b, smbios_options.t1.sku);
    put_text(b, smbios_options.t1.family);
    end(b);
}

static void put_board(Builder *b, const MachineClass *mc)
{
    if (!smbios_options.t2.given) {
        return;
    }
    begin(b, 2, HANDLE(2, 0));
    put_text(b, or_else(smbios_options.t2.manufacturer, MAKER));
    put_text(b, or_else(smbios_options.t2.product, mc->desc));
    put_text(b, or_else(smbios_options.t2.version, mc->name));
    put_text(b, smbios_options.t2.serial);
    put_text(b, smbios_options.t2.asset);
    put8(b, 1); /* hosting board */
    put_text(b, smbios_options.t2.location);
    put16(b, HANDLE(3, 0));
    put8(b, 10); /* motherboard */
    put8(b, 0);
    end(b);
}

static void put_chassis(Builder *b, const MachineClass *mc)
{
    begin(b, 3, HANDLE(3, 0));
    put_text(b, or_else(smbios_options.t3.manufacturer, MAKER));
    put8(b, 1); /* other */
    put_text(b, or_else(smbios_options.t3.version, mc->name));
    put_text(b, smbios_options.t3.serial);
    put_text(b, smbios_options.t3.asset);
    put8(b, 3); /* boot-up, power supply, thermal: safe */
    put8(b, 3);
    put8(b, 3);
    put8(b, 2); /* security: unknown */
    put32(b, 0);
    put8(b, 0);
    put8(b, 0);
    put8(b, 0);
    put8(b, 0);
    put_text(b, smbios_options.t3.sku);
    end(b);
}

static void put_processor(Builder *b, const MachineState *m, unsigned socket)
{
    const SmpConfig *smp = &m->smp;
    unsigned cores = smp->cores * smp->modules * smp->dies, threads = cores * smp->threads;
    g_autofree char *name =
        g_strdup_printf("%s%2x", or_else(smbios_options.t4.sock_pfx, "CPU"), socket);
    const char *version = or_else(smbios_options.t4.version, MACHINE_CLASS(m)->name);
    unsigned max = smbios_options.t4.max_speed, now = smbios_options.t4.current_speed;

    begin(b, 4, HANDLE(4, socket));
    put_text(b, name);
    put8(b, 3); /* central processor */
    put8(b, 1); /* family: other */
    put_text(b, or_else(smbios_options.t4.manufacturer, MAKER));
    put64(b, 0); /* id */
    put_text(b, version);
    put8(b, 0);
    put16(b, 0);
    put16(b, max ? max : 2000);
    put16(b, now ? now : 2000);
    put8(b, 0x41); /* populated, enabled */
    put8(b, 1);    /* upgrade: other */
    for (unsigned i = 0; i < 3; i++) {
        put16(b, 0xffff); /* caches are not told */
    }
    put_text(b, smbios_options.t4.serial);
    put_text(b, smbios_options.t4.asset);
    put_text(b, smbios_options.t4.part);
    put8(b, MIN(cores, 255u));
    put8(b, MIN(cores, 255u));
    put8(b, MIN(threads, 255u));
    put16(b, 2); /* characteristics: unknown */
    put16(b, 1);
    put16(b, cores);
    put16(b, cores);
    put16(b, threads);
    end(b);
}

static void put_strings(Builder *b)
{
    if (!smbios_options.strings) {
        return;
    }
    begin(b, 11, HANDLE(11, 0));
    put8(b, MIN(smbios_options.strings->len, 255u));
    for (unsigned i = 0; i < smbios_options.strings->len && i < 255; i++) {
        g_ptr_array_add(b->strings, smbios_options.strings->pdata[i]);
    }
    end(b);
}

static void put_memory_array(Builder *b, uint64_t size, unsigned dimms)
{
    uint64_t kib = size >> 10;

    begin(b, 16, HANDLE(16, 0));
    put8(b, 1); /* other */
    put8(b, 3); /* system memory */
    put8(b, 6); /* multi-bit ECC */
    put32(b, kib < 0x80000000u ? kib : 0x80000000u);
    put16(b, HANDLE_NONE);
    put16(b, dimms);
    put64(b, kib < 0x80000000u ? 0 : size);
    end(b);
}

static void put_dimm(Builder *b, unsigned n, uint64_t size)
{
    g_autofree char *place =
        g_strdup_printf("%s %u", or_else(smbios_options.t17.loc_pfx, "DIMM"), n);
    uint64_t mib = size >> 20;

    begin(b, 17, HANDLE(17, n));
    put16(b, HANDLE(16, 0));
    put16(b, HANDLE_NONE);
    put16(b, 0xffff); /* widths are unknown */
    put16(b, 0xffff);
    put16(b, mib < 0x7fff ? mib : 0x7fff);
    put8(b, 9); /* DIMM */
    put8(b, 0);
    put_text(b, place);
    put_text(b, smbios_options.t17.bank);
    put8(b, 7);  /* RAM */
    put16(b, 2); /* other */
    put16(b, smbios_options.t17.speed);
    put_text(b, or_else(smbios_options.t17.manufacturer, MAKER));
    put_text(b, smbios_options.t17.serial);
    put_text(b, smbios_options.t17.asset);
    put_text(b, smbios_options.t17.part);
    put8(b, 0);
    put32(b, mib < 0x7fff ? 0 : mib);
    put16(b, smbios_options.t17.speed);
    put16(b, 0); /* voltages are unknown */
    put16(b, 0);
    put16(b, 0);
    end(b);
}

static void put_range(Builder *b, unsigned n, uint64_t start, uint64_t size)
{
    uint64_t last = start + size - 1;
    bool small = last >> 10 < 0xffffffffu;

    begin(b, 19, HANDLE(19, n));
    put32(b, small ? start >> 10 : 0xffffffffu);
    put32(b, small ? last >> 10 : 0xffffffffu);
    put16(b, HANDLE(16, 0));
    put8(b, 1);
    put64(b, small ? 0 : start);
    put64(b, small ? 0 : last);
    end(b);
}

static void put_memory(Builder *b, const MachineState *m)
{
    uint64_t rest = m->ram_size, dimm = MAX(DIMM_MAX, m->ram_size / 128);
    unsigned n = 0;

    put_memory_array(b, m->ram_size, (m->ram_size + dimm - 1) / dimm);
    for (; rest; n++) {
        uint64_t part = MIN(rest, dimm);

        put_dimm(b, n, part);
        rest -= part;
    }
    put_range(b, 0, 0, pc_ram_below_4g);
    if (m->ram_size > pc_ram_below_4g) {
        put_range(b, 1, 1ull << 32, m->ram_size - pc_ram_below_4g);
    }
}

GByteArray *smbios_build(const MachineState *m)
{
    const MachineClass *mc = MACHINE_CLASS(m);
    g_autoptr(GPtrArray) strings = g_ptr_array_new();
    Builder b = { .out = g_byte_array_new(), .strings = strings };

    put_bios(&b);
    put_system(&b, mc);
    put_board(&b, mc);
    put_chassis(&b, mc);
    for (unsigned i = 0; i < MIN(m->smp.sockets, 256u); i++) {
        put_processor(&b, m, i);
    }
    put_strings(&b);
    put_memory(&b, m);
    begin(&b, 32, HANDLE(32, 0)); /* system boot: no errors */
    for (unsigned i = 0; i < 7; i++) {
        put8(&b, 0);
    }
    end(&b);
    begin(&b, 127, HANDLE(127, 0));
    end(&b);
    return b.out;
}

/* ---- entry points ---- */

static uint8_t checksum(const uint8_t *p, size_t n)
{
    uint8_t sum = 0;

    while (n--) {
        sum += *p++;
    }
    return -sum;
}

/* Number and greatest size of the structures, their strings included. */
static unsigned measure(const GByteArray *t, size_t *largest)
{
    unsigned n = 0;
    size_t at = 0;

    *largest = 0;
    while (at + 4 <= t->len) {
        size_t end = at + t->data[at + 1];

        while (t->data[end] || t->data[end + 1]) {
            end++;
        }
        *largest = MAX(*largest, end + 2 - at);
        at = end + 2;
        n++;
    }
    return n;
}

void smbios_entry_21(const GByteArray *t, uint32_t addr, uint8_t out[31])
{
    size_t largest;
    unsigned n = measure(t, &largest);
    uint16_t v16;

    memset(out, 0, 31);
    memcpy(out, "_SM_", 4);
    out[5] = 31;
    out[6] = 2; /* version */
    out[7] = 8;
    v16 = GUINT16_TO_LE(largest);
    memcpy(out + 8, &v16, 2);
    memcpy(out + 16, "_DMI_", 5);
    v16 = GUINT16_TO_LE(t->len);
    memcpy(out + 22, &v16, 2);
    addr = GUINT32_TO_LE(addr);
    memcpy(out + 24, &addr, 4);
    v16 = GUINT16_TO_LE(n);
    memcpy(out + 28, &v16, 2);
    out[30] = 0x28;
    out[21] = checksum(out + 16, 15);
    out[4] = checksum(out, 31);
}

void smbios_entry_30(const GByteArray *t, uint64_t addr, uint8_t out[24])
{
    uint32_t len = GUINT32_TO_LE(t->len);

    memset(out, 0, 24);
    memcpy(out, "_SM3_", 5);
    out[6] = 24;
    out[7] = 3; /* version */
    out[10] = 1;
    memcpy(out + 12, &len, 4);
    addr = GUINT64_TO_LE(addr);
    memcpy(out + 16, &addr, 8);
    out[5] = checksum(out, 24);
}

bool smbios_place(const MachineState *m, Error **errp)
{
    GByteArray *t = smbios_build(m);
    size_t len = t->len;
    uint8_t *entries;

    if (len > SMBIOS_TABLE_END - SMBIOS_TABLE_ADDR) {
        error_set(errp, "-smbios: %zu bytes are more than there is room for below 1 MiB", len);
        g_byte_array_unref(t);
        return false;
    }
    entries = g_malloc0(SMBIOS_TABLE_ADDR - SMBIOS_ENTRY_ADDR);
    smbios_entry_30(t, SMBIOS_TABLE_ADDR, entries);
    smbios_entry_21(t, SMBIOS_TABLE_ADDR, entries + 32);
    x86_boot_blob(SMBIOS_ENTRY_ADDR, entries, SMBIOS_TABLE_ADDR - SMBIOS_ENTRY_ADDR);
    x86_boot_blob(SMBIOS_TABLE_ADDR, g_byte_array_free(t, FALSE), len);
    return true;
}
