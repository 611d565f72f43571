/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_PCI_BRIDGE_H
#define SPINDLE_HW_PCI_BRIDGE_H

#include "hw/pci/pci.h"

/* PCI-to-PCI bridges (header type 1). Runs in: under the big lock. */

#define TYPE_PCI_BRIDGE "base-pci-bridge"

typedef struct PCIBridge {
    PCIDevice parent_obj;
    PCIBus *secondary; /* between realize and unrealize */
    bool in_reset;     /* the guest holds the secondary bus in reset */
    uint32_t bus_reserve; /* hints for firmware; UINT32_MAX and UINT64_MAX: none */
    uint64_t io_reserve, mem_reserve, pref32_reserve, pref64_reserve;
} PCIBridge;

#define PCI_BRIDGE(obj) OBJECT_CHECK(PCIBridge, obj, TYPE_PCI_BRIDGE)

/* For a subclass's realize and unrealize: header, windows and the secondary bus. */
bool pci_bridge_init(PCIBridge *b, const char *bus_type, Error **errp);
void pci_bridge_fini(PCIBridge *b);
/* What a subclass's own config_written and reset call first. */
void pci_bridge_config_written(PCIDevice *dev, unsigned offset, unsigned size);
void pci_bridge_reset(PCIDevice *dev);
/* Adds the vendor capability with the hints, if any is given. */
bool pci_bridge_add_reserve_cap(PCIBridge *b, Error **errp);

typedef enum { PCI_WINDOW_IO, PCI_WINDOW_MEM, PCI_WINDOW_PREF } PCIWindow;
/* Addresses that the window forwards (limit inclusive; base > limit: none), as the registers say.
 */
void pci_bridge_window(const PCIDevice *bridge, PCIWindow w, uint64_t *base, uint64_t *limit);
/* Whether [base, base+size) reaches devices on bus through the windows of all bridges above. */
bool pci_bridges_forward(const PCIBus *bus, bool io, uint64_t base, uint64_t size);

/* Bridges with hot-plug call this for each secondary bus: a machine may take over how (ACPI). */
extern void (*pci_hotplug_bus_hook)(PCIBus *bus);

/* Turns the power of a root port's slot on for a device that was plugged without the guest's help.
 */
void pcie_slot_power_on(PCIBus *bus);
/* Puts the slot back into its reset state, if it is one and nothing is left in it. */
void pcie_slot_reset_empty(PCIBus *bus);

/* Properties of all bridges that give hints. */
#define PCI_BRIDGE_RESERVE_PROPS(T, f)                                                             \
    PROP_UINT32("bus-reserve", T, f.bus_reserve, UINT32_MAX),                                      \
        PROP_SIZE("io-reserve", T, f.io_reserve, UINT64_MAX),                                      \
        PROP_SIZE("mem-reserve", T, f.mem_reserve, UINT64_MAX),                                    \
        PROP_SIZE("pref32-reserve", T, f.pref32_reserve, UINT64_MAX),                              \
        PROP_SIZE("pref64-reserve", T, f.pref64_reserve, UINT64_MAX)

#endif
