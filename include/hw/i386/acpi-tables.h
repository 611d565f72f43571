/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_ACPI_TABLES_H
#define SPINDLE_HW_I386_ACPI_TABLES_H

#include "hw/core/machine.h"

/* The ACPI tables of a machine (ACPI 6.5 §5.2). Runs in: main thread, before the guest. */

/* Where the search for tables begins: the first thing in the BIOS area. */
#define ACPI_RSDP_ADDR 0x000e0000

/* What follows the RSDP, where RAM is too small to take a part of it away. */
#define ACPI_LOW_TABLES 0x000e0040
#define ACPI_LOW_END    0x000f0000

typedef struct AcpiPlatform {
    uint64_t tables_base, tables_end; /* room for all but the RSDP */
    uint64_t ram_below_4g;
    bool q35;         /* which of the DSDTs */
    uint16_t pm_base; /* port of the PM1a event block; control at +4, timer at +8 */
    uint16_t gpe0_base;
    uint8_t gpe0_len;                 /* bytes of status and enable registers together */
    uint64_t ecam_base;               /* 0: none */
    uint64_t mmio32_base, mmio32_end; /* window for devices below 4 GiB */
    uint64_t mmio64_base, mmio64_size;
    uint8_t com_ports;   /* bit 0: COM1 exists, ... */
    uint16_t panic_port; /* of pvpanic; 0: none */
} AcpiPlatform;

/* Builds all tables; they are put into guest RAM at each reset (see boot.h), the first at
 * ACPI_RSDP_ADDR. */
void acpi_tables_build(MachineState *m, const AcpiPlatform *p);

#endif
