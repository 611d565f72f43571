/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_PIIX_H
#define SPINDLE_HW_I386_PIIX_H

#include "pc.h"

/* Puts the PIIX3 south bridge (ISA bridge, IDE, and with ACPI power management) at slot 1 of the
 * bus and wires the bus's interrupts through it. Returns the ISA bus. */
BusState *piix_init(MachineState *m, PCIBus *bus, Error **errp);

#endif
