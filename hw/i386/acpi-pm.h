/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_ACPI_PM_H
#define SPINDLE_HW_I386_ACPI_PM_H

#include "hw/core/memory.h"
#include "util/aio.h"

/*
 * ACPI fixed hardware (ACPI 6 §4.8): PM1 events and control, the power management timer, general
 * purpose events, and the SMI command port by which firmware switches it on. Runs in: under the big
 * lock.
 */
typedef struct AcpiPm {
    uint16_t sts, en, cnt;
    uint64_t gpe_sts, gpe_en;
    unsigned gpe_len;      /* bytes of each half of the GPE block */
    uint64_t overflow;     /* tick of the timer at which its status bit is set next */
    AioTimer *timer;
    uint8_t smi[2];        /* 0xb2, 0xb3 */
    uint8_t enable_cmd, disable_cmd;
    uint8_t s4_val;
    MmioRegion *evt, *ctl, *tmr, *gpe, *apm;
} AcpiPm;

#define ACPI_GPE_PCI_HOTPLUG 1 /* bit of the event */

/* gpe_len: bytes of the status half. enable_cmd, disable_cmd: values for port 0xb2. */
void acpi_pm_init(AcpiPm *pm, unsigned gpe_len, uint8_t enable_cmd, uint8_t disable_cmd);
void acpi_pm_fini(AcpiPm *pm);
void acpi_pm_reset(AcpiPm *pm);
/* Where the blocks are; on false they are nowhere. The GPE block may be placed apart. */
void acpi_pm_map(AcpiPm *pm, bool on, uint16_t base);
void acpi_pm_map_gpe(AcpiPm *pm, bool on, uint16_t base);
/* Raises a general purpose event. */
void acpi_pm_gpe(AcpiPm *pm, unsigned bit);

#endif
