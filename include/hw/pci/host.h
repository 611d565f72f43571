/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_PCI_HOST_H
#define SPINDLE_HW_PCI_HOST_H

#include "hw/pci/pci.h"

/*
 * The host's ways into configuration space: ports 0xcf8/0xcfc, and the memory-mapped window of PCI
 * Express (ECAM). Runs in: under the big lock.
 */
#define TYPE_PCI_HOST "pci-host-bridge"

typedef struct PCIHostState {
    DeviceState parent_obj;
    PCIBus *bus;
    uint32_t address; /* of 0xcf8 */
    MmioRegion *index, *data, *ecam;
    uint64_t ecam_size;
} PCIHostState;

#define PCI_HOST(obj) OBJECT_CHECK(PCIHostState, obj, TYPE_PCI_HOST)

/* Puts the window at base (size 0: takes it away). */
void pci_host_set_ecam(PCIHostState *h, uint64_t base, uint64_t size);

#endif
