/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_PCI_SETUP_H
#define SPINDLE_HW_I386_PCI_SETUP_H

#include "hw/pci/pci.h"

/* What firmware does to PCI: buses are numbered, and bridges get windows for what sits behind them
 * and for what may be plugged there later. BARs are left to the operating system. Runs in: under
 * the big lock, after a reset. */

typedef struct PciSetupRange {
    uint64_t base, end;
} PciSetupRange;

typedef struct PciSetupWindows {
    PciSetupRange io, mem, pref; /* from which bridges' windows are taken */
} PciSetupWindows;

void pci_setup_bridges(PCIBus *root, const PciSetupWindows *w);
/* A write of the configuration space of a function on the bus of that number, as the guest does it.
 */
void pci_setup_write(unsigned bus, unsigned devfn, unsigned reg, uint32_t value, unsigned size);

#endif
