/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_ACPI_PCI_HOTPLUG_H
#define SPINDLE_HW_I386_ACPI_PCI_HOTPLUG_H

#include "acpi-pm.h"
#include "hw/pci/pci.h"

/*
 * PCI hot-plug by ACPI: a block of ports that the guest's AML reads to learn which slots of which
 * bus changed, and writes to eject. Runs in: under the big lock.
 */
typedef struct AcpiPciHotplug AcpiPciHotplug;

/*
 * base: of the ports. root_slots: the root bus takes part, as the first one.
 * bridges: so do buses behind bridges that exist when the machine is ready.
 */
AcpiPciHotplug *acpi_pci_hotplug_new(AcpiPm *pm, PCIBus *root, uint16_t base, bool root_slots,
                                     bool bridges);
void acpi_pci_hotplug_free(AcpiPciHotplug *h);
/* Whether the machine has it: then PCI Express ports leave hot-plug to it. */
bool acpi_pci_hotplug_present(void);
/* The number by which the guest selects the bus, once the machine is ready; -1: it takes no part.
 * `slots` (may be NULL) is set to whether devices may come and go there. */
int acpi_pci_hotplug_number(PCIBus *bus, bool *slots);

#endif
