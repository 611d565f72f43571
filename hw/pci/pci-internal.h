/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_PCI_PCI_INTERNAL_H
#define SPINDLE_HW_PCI_PCI_INTERNAL_H

#include "hw/pci/pci.h"

/* What the files of PCI share. Runs in: under the big lock. */

#define PCI_CONFIG_MAX 4096

/* Expansion ROM of romfile=: loads it and makes the register decode. */
bool pci_rom_init(PCIDevice *dev, Error **errp);
void pci_rom_fini(PCIDevice *dev);

/* After a guest's write to [offset, offset+size). */
void msix_config_written(PCIDevice *dev, unsigned offset, unsigned size);
/* "addr": slot and function. */
extern const PropertyType prop_pci_addr;
/* Where a BAR is in the guest's address space now, or UINT64_MAX. */
uint64_t pci_bar_address(const PCIDevice *dev, int bar);

static inline bool range_touches(unsigned offset, unsigned size, unsigned first, unsigned len)
{
    return offset < first + len && first < offset + size;
}

#endif
