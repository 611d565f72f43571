/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_PCI_PCIE_SLOT_H
#define SPINDLE_HW_PCI_PCIE_SLOT_H

#include "hw/pci/bridge.h"

/*
 * The slot of a PCI Express root port: power, indicators, attention button and the events that tell
 * the guest (PCI Express 4.0 §6.7). Runs in: under the big lock.
 */
typedef struct PCIESlot {
    PCIBridge parent_obj;
    uint8_t chassis, port;
    uint16_t slot;
    bool hotplug, power_controller, disable_acs, hide_hotplug_cap;
    int32_t speed, width; /* indices of the enumerations */
    bool registered;      /* chassis and slot are taken */
    bool irq_asserted;
    uint16_t old_ctl, old_sta, written_sta; /* of the write under way */
} PCIESlot;

#define TYPE_PCIE_SLOT "pcie-slot"
#define PCIE_SLOT(obj) OBJECT_CHECK(PCIESlot, obj, TYPE_PCIE_SLOT)

/* Fills in the slot registers; then reset, reads and writes of configuration space keep them. */
void pcie_slot_init(PCIESlot *s);
void pcie_slot_reset(PCIESlot *s);
void pcie_slot_write_begin(PCIESlot *s, unsigned offset, uint32_t value, unsigned size);
void pcie_slot_written(PCIESlot *s, unsigned offset, unsigned size);
void pcie_slot_update_link(PCIESlot *s);
extern const HotplugOps pcie_slot_hotplug_ops;

#endif
