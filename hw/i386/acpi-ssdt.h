/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_ACPI_SSDT_H
#define SPINDLE_HW_I386_ACPI_SSDT_H

#include <glib.h>

#include "hw/i386/acpi-tables.h"

/* Appends the code that depends on the configuration: numbers that the DSDT refers to, interrupt
 * routing, slots with hot-plug. Runs in: main thread, when the machine is ready. */
void acpi_ssdt_fill(GByteArray *t, const AcpiPlatform *p);

#endif
