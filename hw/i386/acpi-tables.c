/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XSDT, FADT, FACS, DSDT, MADT, SSDT, MCFG, SRAT and SLIT, laid out one after the other where the
 * memory map reserves room, and the RSDP in the BIOS area. The DSDT is compiled from ASL when the
 * program is built.
 */
#include "hw/i386/acpi-tables.h"

#include <stdlib.h>
#include <string.h>

#include "acpi-ssdt.h"
#include "hw/core/cpu.h"
#include "hw/core/numa.h"
#include "hw/i386/acpi-dsdt-pc.h"
#include "hw/i386/acpi-dsdt-q35.h"
#include "hw/i386/boot.h"
#include "util/report.h"

#define RSDP_SIZE          36
#define FACS_SIZE          64
#define FADT_SIZE          276
#define SCI_IRQ            9
#define LAPIC_BASE         0xfee00000u
#define IOAPIC_BASE        0xfec00000u

#define BOOT_ARCH_LEGACY   (1u << 0)
#define FADT_WBINVD        (1u << 0)
#define FADT_PROC_C1       (1u << 2)
#define FADT_SLP_BUTTON    (1u << 5)
#define FADT_RTC_S4        (1u << 7)
#define FADT_RESET_REG_SUP (1u << 10)

static void put8(GByteArray *t, uint8_t v)
{
    g_byte_array_append(t, &v, 1);
}

static void put16(GByteArray *t, uint16_t v)
{
    v = GUINT16_TO_LE(v);
    g_byte_array_append(t, (uint8_t *)&v, 2);
}

static void put32(GByteArray *t, uint32_t v)
{
    v = GUINT32_TO_LE(v);
    g_byte_array_append(t, (uint8_t *)&v, 4);
}

static void put64(GByteArray *t, uint64_t v)
{
    v = GUINT64_TO_LE(v);
    g_byte_array_append(t, (uint8_t *)&v, 8);
}

static void set8(GByteArray *t, size_t at, uint8_t v)
{
    t->data[at] = v;
}

static void set16(GByteArray *t, size_t at, uint16_t v)
{
    v = GUINT16_TO_LE(v);
    memcpy(t->data + at, &v, 2);
}

static void set32(GByteArray *t, size_t at, uint32_t v)
{
    v = GUINT32_TO_LE(v);
    memcpy(t->data + at, &v, 4);
}

static void set64(GByteArray *t, size_t at, uint64_t v)
{
    v = GUINT64_TO_LE(v);
    memcpy(t->data + at, &v, 8);
}

static uint8_t checksum(const uint8_t *p, size_t n)
{
    uint8_t sum = 0;

    while (n--) {
        sum += *p++;
    }
    return -sum;
}

/* A table with its header; length and checksum come with table_end(). */
static GByteArray *table_begin(const char *signature, uint8_t revision)
{
    GByteArray *t = g_byte_array_new();

    g_byte_array_append(t, (const uint8_t *)signature, 4);
    put32(t, 0);
    put8(t, revision);
    put8(t, 0);
    g_byte_array_append(t, (const uint8_t *)"SPNDL ", 6);
    g_byte_array_append(t, (const uint8_t *)"SPINDLE ", 8);
    put32(t, 1);
    g_byte_array_append(t, (const uint8_t *)"SPND", 4);
    put32(t, 1);
    return t;
}

static void table_end(GByteArray *t)
{
    set32(t, 4, t->len);
    set8(t, 9, 0);
    set8(t, 9, checksum(t->data, t->len));
}

typedef struct AcpiPlacer {
    uint64_t next, end;
} AcpiPlacer;

/* Takes the table over; returns its guest address. */
static uint64_t table_place(AcpiPlacer *p, GByteArray *t)
{
    uint64_t addr = (p->next + 63) & ~63ull;
    size_t len = t->len;

    if (addr + len > p->end) {
        report_error("the ACPI tables need more memory than there is for them (-m)");
        exit(1);
    }
    p->next = addr + len;
    x86_boot_blob(addr, g_byte_array_free(t, FALSE), len);
    return addr;
}

/* Generic address structure: I/O ports, width in bits. */
static void set_gas_io(GByteArray *t, size_t at, uint8_t bits, uint8_t access, uint64_t port)
{
    set8(t, at, 1);
    set8(t, at + 1, bits);
    set8(t, at + 2, 0);
    set8(t, at + 3, access);
    set64(t, at + 4, port);
}

static GByteArray *fadt_build(const AcpiPlatform *p, uint64_t facs, uint64_t dsdt)
{
    GByteArray *t = table_begin("FACP", 6);
    size_t body = t->len;

    g_byte_array_set_size(t, FADT_SIZE);
    memset(t->data + body, 0, FADT_SIZE - body);
    set32(t, 36, facs);
    set32(t, 40, dsdt);
    set16(t, 46, SCI_IRQ);
    /* No SMI command port: the machine is in ACPI mode from the start. */
    set32(t, 56, p->pm_base);
    set32(t, 64, p->pm_base + 4);
    set32(t, 76, p->pm_base + 8);
    set32(t, 80, p->gpe0_base);
    set8(t, 88, 4); /* lengths: PM1 event, PM1 control, timer, GPE0 */
    set8(t, 89, 2);
    set8(t, 91, 4);
    set8(t, 92, p->gpe0_len);
    set16(t, 96, 0xfff); /* C2, C3 not supported */
    set16(t, 98, 0xfff);
    set8(t, 108, 0x32);              /* century in CMOS */
    set16(t, 109, BOOT_ARCH_LEGACY); /* no 8042 with a keyboard */
    set32(t, 112, FADT_WBINVD | FADT_PROC_C1 | FADT_SLP_BUTTON | FADT_RTC_S4 | FADT_RESET_REG_SUP);
    set_gas_io(t, 116, 8, 1, 0xcf9);
    set8(t, 128, 0x0f); /* value that resets */
    set8(t, 131, 5);    /* minor version */
    set64(t, 140, dsdt);
    set_gas_io(t, 148, 32, 2, p->pm_base);
    set_gas_io(t, 172, 16, 2, p->pm_base + 4);
    set_gas_io(t, 208, 32, 3, p->pm_base + 8);
    set_gas_io(t, 220, p->gpe0_len * 8, 1, p->gpe0_base);
    table_end(t);
    return t;
}

static GByteArray *facs_build(void)
{
    GByteArray *t = g_byte_array_new();

    g_byte_array_set_size(t, FACS_SIZE);
    memset(t->data, 0, FACS_SIZE);
    memcpy(t->data, "FACS", 4);
    set32(t, 4, FACS_SIZE);
    return t;
}

static void madt_override(GByteArray *t, uint8_t irq, uint32_t gsi, uint16_t flags)
{
    put8(t, 2);
    put8(t, 10);
    put8(t, 0);
    put8(t, irq);
    put32(t, gsi);
    put16(t, flags);
}

static GByteArray *madt_build(void)
{
    GByteArray *t = table_begin("APIC", 5);

    put32(t, LAPIC_BASE);
    put32(t, 1); /* PC-AT compatible: two 8259s, too */
    for (unsigned i = 0; i < cpu_count(); i++) {
        CPUState *cpu = cpu_get(i);

        if (cpu->apic_id < 255) {
            put8(t, 0);
            put8(t, 8);
            put8(t, i);
            put8(t, cpu->apic_id);
            put32(t, 1);
        } else {
            put8(t, 9);
            put8(t, 16);
            put16(t, 0);
            put32(t, cpu->apic_id);
            put32(t, 1);
            put32(t, i);
        }
    }
    put8(t, 1); /* IOAPIC */
    put8(t, 12);
    put8(t, 0);
    put8(t, 0);
    put32(t, IOAPIC_BASE);
    put32(t, 0);
    madt_override(t, 0, 2, 0); /* the timer's line is pin 2 */
    /* Lines that PCI may be routed to, and the SCI: level, active high. */
    madt_override(t, 5, 5, 0xd);
    madt_override(t, 9, 9, 0xd);
    madt_override(t, 10, 10, 0xd);
    madt_override(t, 11, 11, 0xd);
    put8(t, 4); /* NMI at LINT1 of all */
    put8(t, 6);
    put8(t, 0xff);
    put16(t, 0);
    put8(t, 1);
    table_end(t);
    return t;
}

/* Which processors and which memory are near each other (ACPI 6.5 §5.2.16). */
static void srat_cpu(GByteArray *t, uint32_t apic_id, uint32_t node)
{
    if (apic_id < 255 && node < 256) {
        put8(t, 0);
        put8(t, 16);
        put8(t, node);
        put8(t, apic_id);
        put32(t, 1); /* enabled */
        put32(t, 0);
        put32(t, 0);
    } else {
        put8(t, 2);
        put8(t, 24);
        put16(t, 0);
        put32(t, node);
        put32(t, apic_id);
        put32(t, 1);
        put32(t, 0);
        put32(t, 0);
    }
}

static void srat_memory(GByteArray *t, uint64_t addr, uint64_t size, uint32_t node)
{
    put8(t, 1);
    put8(t, 40);
    put32(t, node);
    put16(t, 0);
    put64(t, addr);
    put64(t, size);
    put32(t, 0);
    put32(t, 1);
    put64(t, 0);
}

/* A node's memory may be on both sides of the gap for devices. */
static void srat_node_memory(GByteArray *t, uint64_t start, uint64_t end, uint64_t below,
                             uint32_t node)
{
    if (start < MIN(end, below)) {
        srat_memory(t, start, MIN(end, below) - start, node);
    }
    if (MAX(start, below) < end) {
        srat_memory(t, (1ull << 32) + MAX(start, below) - below, end - MAX(start, below), node);
    }
}

static GByteArray *srat_build(const AcpiPlatform *p)
{
    GByteArray *t = table_begin("SRAT", 3);
    uint64_t start = 0;

    put32(t, 1);
    put64(t, 0);
    for (unsigned i = 0; i < cpu_count(); i++) {
        srat_cpu(t, cpu_get(i)->apic_id, numa_node_of_cpu(i));
    }
    for (unsigned i = 0; i < numa_nodes(); i++) {
        srat_node_memory(t, start, start + numa_size(i), p->ram_below_4g, i);
        start += numa_size(i);
    }
    table_end(t);
    return t;
}

static GByteArray *slit_build(void)
{
    GByteArray *t = table_begin("SLIT", 1);

    put64(t, numa_nodes());
    for (unsigned a = 0; a < numa_nodes(); a++) {
        for (unsigned b = 0; b < numa_nodes(); b++) {
            put8(t, numa_distance(a, b));
        }
    }
    table_end(t);
    return t;
}

static GByteArray *mcfg_build(uint64_t base)
{
    GByteArray *t = table_begin("MCFG", 1);

    put64(t, 0);
    put64(t, base);
    put16(t, 0);
    put8(t, 0);
    put8(t, 255);
    put32(t, 0);
    table_end(t);
    return t;
}

/* The compiled DSDT, which has its header. */
static GByteArray *dsdt_build(bool q35)
{
    GByteArray *t = g_byte_array_new();

    if (q35) {
        g_byte_array_append(t, acpi_dsdt_q35_aml_code, sizeof(acpi_dsdt_q35_aml_code));
    } else {
        g_byte_array_append(t, acpi_dsdt_pc_aml_code, sizeof(acpi_dsdt_pc_aml_code));
    }
    return t;
}

static GByteArray *ssdt_build(const AcpiPlatform *p)
{
    GByteArray *t = table_begin("SSDT", 2);

    acpi_ssdt_fill(t, p);
    table_end(t);
    return t;
}

static GByteArray *xsdt_build(const uint64_t *listed, unsigned n)
{
    GByteArray *t = table_begin("XSDT", 1);

    for (unsigned i = 0; i < n; i++) {
        put64(t, listed[i]);
    }
    table_end(t);
    return t;
}

static GByteArray *rsdp_build(uint64_t xsdt)
{
    GByteArray *t = g_byte_array_new();

    g_byte_array_append(t, (const uint8_t *)"RSD PTR ", 8);
    put8(t, 0);
    g_byte_array_append(t, (const uint8_t *)"SPNDL ", 6);
    put8(t, 2);
    put32(t, 0);
    put32(t, RSDP_SIZE);
    put64(t, xsdt);
    put32(t, 0);
    set8(t, 8, checksum(t->data, 20));
    set8(t, 32, checksum(t->data, RSDP_SIZE));
    return t;
}

void acpi_tables_build(MachineState *m, const AcpiPlatform *p)
{
    AcpiPlacer rsdp = { .next = ACPI_RSDP_ADDR, .end = ACPI_RSDP_ADDR + RSDP_SIZE };
    AcpiPlacer rest = { .next = p->tables_base, .end = p->tables_end };
    uint64_t facs = table_place(&rest, facs_build());
    uint64_t dsdt = table_place(&rest, dsdt_build(p->q35));
    uint64_t listed[6];
    unsigned n = 0;

    listed[n++] = table_place(&rest, fadt_build(p, facs, dsdt));
    listed[n++] = table_place(&rest, madt_build());
    listed[n++] = table_place(&rest, ssdt_build(p));
    if (p->ecam_base) {
        listed[n++] = table_place(&rest, mcfg_build(p->ecam_base));
    }
    if (numa_nodes()) {
        listed[n++] = table_place(&rest, srat_build(p));
    }
    if (numa_nodes() && numa_has_distances()) {
        listed[n++] = table_place(&rest, slit_build());
    }
    table_place(&rsdp, rsdp_build(table_place(&rest, xsdt_build(listed, n))));
}
