/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_PC_H
#define SPINDLE_HW_I386_PC_H

#include "hw/core/isa.h"
#include "hw/core/machine.h"
#include "hw/i386/fw_cfg.h"
#include "hw/pci/host.h"

/* What the PC machines share. Runs in: main thread, under the big lock. */

#define TYPE_PC_MACHINE "generic-pc-machine"

/* How the chipset splits RAM: above `threshold` bytes only `below` of them stay under 4 GiB. */
typedef struct PcRamSplit {
    uint64_t threshold, below;
} PcRamSplit;

/* Maps RAM and firmware. The range 0xc0000..0xfffff is the chipset's (see pc_pam). */
bool pc_memory_init(MachineState *m, const PcRamSplit *split, Error **errp);
extern uint64_t pc_ram_below_4g; /* bytes of RAM that ended up there */

/*
 * The programmable attribute map: for each of 13 segments between 0xc0000 and 0xfffff, whether RAM
 * answers reads and writes. regs are the seven registers of the chipset.
 */
void pc_pam_update(const uint8_t *regs);

/* Items that do not depend on the chipset; the device is a child of /machine. */
bool pc_fw_cfg_init(MachineState *m, Error **errp);

/* I/O APIC (a child of the host bridge), ports 0x92 and 0x70. */
bool pc_basic_devices_init(MachineState *m, DeviceState *host, BusState *isa, Error **errp);

/* A built-in function; `name`, if not NULL, is its name below `parent`. NULL on failure. */
PCIDevice *pc_pci_device(PCIBus *bus, int devfn, bool multifunction, const char *type,
                         Object *parent, const char *name, Error **errp);

/*
 * The eight inputs of a PCI interrupt router. Devices share an input: it is up while one of them
 * drives it.
 */
typedef struct PirqRouter {
    unsigned count[8];
    int line[8];     /* line of the PIC it is routed to; -1: none */
    bool to_ioapic;  /* inputs are also wired to lines 16..23 */
} PirqRouter;

void pirq_set(PirqRouter *r, unsigned pirq, bool level);
/* line -1: not routed. True if that is something new. */
bool pirq_route(PirqRouter *r, unsigned pirq, int line);
/* The one line that the input drives; -1: none, or two. */
int pirq_gsi(const PirqRouter *r, unsigned pirq);

/* Where pvpanic is; 0: there is none. */
uint16_t pvpanic_port(void);

/* Port 0xcf9: a hard reset when bit 2 rises. */
MmioRegion *pc_reset_control_new(uint8_t *value);

#endif
