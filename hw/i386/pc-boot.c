/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What firmware would have done before it enters a kernel: opening RAM below 1 MiB, placing the
 * windows of the chipset, routing interrupts, switching ACPI on, and describing it all in tables.
 * Only for machines whose kernel is loaded without firmware (-kernel).
 */
#include <string.h>

#include "hw/char/serial.h"
#include "hw/core/memory.h"
#include "hw/i386/acpi-tables.h"
#include "hw/i386/boot.h"
#include "hw/i386/smbios.h"
#include "pc.h"
#include "pci-setup.h"

#define FOUR_GIB       (1ull << 32)
#define EBDA_START     0x9fc00ull
#define LOW_RAM_END    0xa0000ull
#define TABLES_START   0xe0000ull
#define HIGH_RAM_START 0x100000ull
#define PM_BASE        0x600
#define ECAM_BASE      0xb0000000ull
#define ECAM_SIZE      0x10000000ull
#define MMIO_END       0xfec00000ull /* of the window for devices: the I/O APIC */
#define KVM_PAGES      0xfeffc000ull /* to the end of 4 GiB: the accelerator's, and firmware's */
#define MMIO64_SIZE    (32ull << 30)
/* The end of RAM below 4 GiB is for ACPI tables, where there is RAM to spare. */
#define TABLES_SIZE    (1ull << 20)
#define TABLES_MIN_RAM (32ull << 20)

#define MAP_MAX        9

typedef struct ConfigWrite {
    uint8_t devfn, reg, size;
    uint32_t value;
} ConfigWrite;

#define LPC PCI_DEVFN(31, 0)
#define PM  PCI_DEVFN(1, 3)

static const ConfigWrite q35_setup[] = {
    /* RAM answers from 0xc0000 to 0xfffff. */
    { 0, 0x90, 1, 0x30 },          { 0, 0x91, 1, 0x33 },   { 0, 0x92, 1, 0x33 },
    { 0, 0x93, 1, 0x33 },          { 0, 0x94, 1, 0x33 },   { 0, 0x95, 1, 0x33 },
    { 0, 0x96, 1, 0x33 },          { 0, 0x64, 4, 0 },      { 0, 0x60, 4, ECAM_BASE | 1 },
    { LPC, 0x40, 4, PM_BASE | 1 }, { LPC, 0x44, 1, 0x80 },
    /* PIRQs have lines 16 to 23 of the I/O APIC to themselves, and ACPI tells of these alone: none
     * is routed to the 8259s, so that each drives one line. */
};

static const ConfigWrite i440fx_setup[] = {
    { 0, 0x59, 1, 0x30 },         { 0, 0x5a, 1, 0x33 },
    { 0, 0x5b, 1, 0x33 },         { 0, 0x5c, 1, 0x33 },
    { 0, 0x5d, 1, 0x33 },         { 0, 0x5e, 1, 0x33 },
    { 0, 0x5f, 1, 0x33 },         { PCI_DEVFN(1, 0), 0x60, 4, 0x0b0b0a0a },
    { PM, 0x40, 4, PM_BASE | 1 }, { PM, 0x80, 1, 1 },
    { PM, 0x3c, 1, 9 },
};

static bool is_q35;

static uint64_t ram_above_4g(const MachineState *m)
{
    return m->ram_size > pc_ram_below_4g ? m->ram_size - pc_ram_below_4g : 0;
}

/* Windows for devices. */
static PciSetupRange mmio32(void)
{
    return (PciSetupRange){
        is_q35 ? ECAM_BASE + ECAM_SIZE : MAX(pc_ram_below_4g, 0xc0000000ull),
        MMIO_END,
    };
}

static PciSetupRange mmio64(const MachineState *m)
{
    uint64_t base = (FOUR_GIB + ram_above_4g(m) + MMIO64_SIZE - 1) & ~(MMIO64_SIZE - 1);

    return (PciSetupRange){ base, base + MMIO64_SIZE };
}

static void setup_pci(const MachineState *m)
{
    BusState *root = bus_find_name(is_q35 ? "pcie.0" : "pci.0");
    PciSetupWindows w = {
        /* Below the ports of ACPI hot-plug, above those of legacy devices. */
        .io = { 0x1000, 0xa000 },
        .mem = mmio32(),
        .pref = mmio64(m),
    };

    pci_setup_bridges(PCI_BUS(root), &w);
}

static void boot_reset(void *opaque)
{
    const ConfigWrite *setup = is_q35 ? q35_setup : i440fx_setup;
    unsigned n = is_q35 ? G_N_ELEMENTS(q35_setup) : G_N_ELEMENTS(i440fx_setup);

    address_space_batch_begin();
    for (unsigned i = 0; i < n; i++) {
        pci_setup_write(0, setup[i].devfn, setup[i].reg, setup[i].value, setup[i].size);
    }
    setup_pci(current_machine);
    address_space_batch_commit();
    address_space_store(guest_ports, 0xcf8, 0, 4);
    if (current_machine->acpi != ON_OFF_AUTO_OFF) {
        /* The command by which an operating system would ask firmware for ACPI mode. */
        address_space_store(guest_ports, 0xb2, is_q35 ? 0x02 : 0xf1, 1);
    }
    x86_boot_place();
}

/* Where that part of RAM begins; its end: there is none. */
static uint64_t tables_in_ram(void)
{
    uint64_t end = pc_ram_below_4g & ~0xfffull;

    return pc_ram_below_4g < TABLES_MIN_RAM || pc_ram_below_4g != end ? pc_ram_below_4g
                                                                     : end - TABLES_SIZE;
}

static unsigned memory_map(const MachineState *m, BootMemory *map)
{
    uint64_t above = ram_above_4g(m);
    unsigned n = 0;

    map[n++] = (BootMemory){ 0, MIN(EBDA_START, pc_ram_below_4g), BOOT_MEMORY_RAM };
    if (pc_ram_below_4g > EBDA_START) {
        map[n++] = (BootMemory){ EBDA_START, LOW_RAM_END - EBDA_START, BOOT_MEMORY_RESERVED };
    }
    map[n++] = (BootMemory){ TABLES_START, HIGH_RAM_START - TABLES_START, BOOT_MEMORY_RESERVED };
    if (pc_ram_below_4g > HIGH_RAM_START) {
        map[n++] =
            (BootMemory){ HIGH_RAM_START, tables_in_ram() - HIGH_RAM_START, BOOT_MEMORY_RAM };
    }
    if (tables_in_ram() < pc_ram_below_4g) {
        map[n++] = (BootMemory){ tables_in_ram(), TABLES_SIZE, BOOT_MEMORY_ACPI };
    }
    if (is_q35) {
        map[n++] = (BootMemory){ ECAM_BASE, ECAM_SIZE, BOOT_MEMORY_RESERVED };
    }
    map[n++] = (BootMemory){ KVM_PAGES, FOUR_GIB - KVM_PAGES, BOOT_MEMORY_RESERVED };
    if (above) {
        map[n++] = (BootMemory){ FOUR_GIB, above, BOOT_MEMORY_RAM };
    }
    g_assert(n <= MAP_MAX);
    return n;
}

static void boot_ready(void *opaque)
{
    MachineState *m = opaque;
    PciSetupRange low = mmio32(), high = mmio64(m);
    AcpiPlatform p = {
        .q35 = is_q35,
        .ram_below_4g = pc_ram_below_4g,
        .pm_base = PM_BASE,
        .gpe0_base = is_q35 ? PM_BASE + 0x20 : 0xafe0,
        .gpe0_len = is_q35 ? 16 : 4,
        .ecam_base = is_q35 ? ECAM_BASE : 0,
        .mmio32_base = low.base,
        .mmio32_end = low.end,
        .mmio64_base = high.base,
        .mmio64_size = high.end - high.base,
        .panic_port = pvpanic_port(),
        .tables_base = ACPI_LOW_TABLES,
        .tables_end = ACPI_LOW_END,
    };

    if (tables_in_ram() < pc_ram_below_4g) {
        p.tables_base = tables_in_ram();
        p.tables_end = p.tables_base + TABLES_SIZE;
    }

    for (unsigned i = 0; i < SERIAL_PORTS_MAX; i++) {
        p.com_ports |= isa_serial_present(i) << i;
    }
    if (m->acpi != ON_OFF_AUTO_OFF) {
        acpi_tables_build(m, &p);
    }
}

bool pc_boot_init(MachineState *m, Error **errp)
{
    bool acpi = m->acpi != ON_OFF_AUTO_OFF;
    BootMemory map[MAP_MAX];
    unsigned n;

    if (!m->kernel) {
        if (!m->firmware) {
            x86_boot.protocol = X86_BOOT_HALTED;
        }
        return true;
    }
    if (m->firmware) {
        error_set(errp, "-bios and -kernel together are not supported: a kernel is loaded without "
                        "firmware");
        return false;
    }
    is_q35 = bus_find_name("pcie.0") != NULL;
    n = memory_map(m, map);
    if (!x86_load_kernel(m, map, n, acpi ? ACPI_RSDP_ADDR : 0, errp)) {
        return false;
    }
    if (!smbios_place(m, errp)) {
        return false;
    }
    machine_ready_register(boot_ready, m);
    reset_register(boot_reset, NULL);
    return true;
}
