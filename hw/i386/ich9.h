/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_ICH9_H
#define SPINDLE_HW_I386_ICH9_H

#include "pc.h"

/* Puts the ICH9 south bridge (LPC bridge with power management, SATA, SMBus) at slot 31 of the bus
 * and wires the bus's interrupts through it. Returns the ISA bus. */
BusState *ich9_init(MachineState *m, PCIBus *bus, Error **errp);

#endif
