/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbering PCI buses and giving bridges their windows, in place of firmware. */
#include "pci-setup.h"

#include <linux/pci_regs.h>

#include "hw/core/memory.h"
#include "hw/pci/bridge.h"

#define IO_UNIT     0x1000ull
#define MEM_UNIT    0x100000ull
#define MEM_RESERVE 0x200000ull /* for a device that is plugged later */

typedef enum { KIND_IO, KIND_MEM, KIND_PREF, KIND_COUNT } Kind;

typedef struct Setup {
    uint64_t next[KIND_COUNT], end[KIND_COUNT];
    unsigned last_bus;
} Setup;

void pci_setup_write(unsigned bus, unsigned devfn, unsigned reg, uint32_t value, unsigned size)
{
    address_space_store(guest_ports, 0xcf8, 0x80000000u | bus << 16 | devfn << 8 | (reg & 0xfc), 4);
    address_space_store(guest_ports, 0xcfc + (reg & 3), value, size);
}

static PCIBridge *bridge_at(PCIBus *bus, unsigned devfn)
{
    PCIDevice *dev = bus->devices[devfn];

    return dev && PCI_DEVICE_CLASS(dev)->is_bridge ? PCI_BRIDGE(dev) : NULL;
}

static Kind kind_of(const PCIBar *b)
{
    if (b->type & PCI_BASE_ADDRESS_SPACE_IO) {
        return KIND_IO;
    }
    return b->type & PCI_BASE_ADDRESS_MEM_PREFETCH ? KIND_PREF : KIND_MEM;
}

/* Bytes that the functions of the bus want themselves, and the largest of them. */
static uint64_t bars_of(PCIBus *bus, Kind kind, uint64_t *largest)
{
    uint64_t sum = 0;

    for (unsigned devfn = 0; devfn < 256; devfn++) {
        PCIDevice *dev = bus->devices[devfn];

        for (unsigned i = 0; dev && i < PCI_BAR_COUNT; i++) {
            const PCIBar *b = &dev->bars[i];

            if (b->region && kind_of(b) == kind) {
                uint64_t size = mmio_region_size(b->region);

                sum += size;
                *largest = MAX(*largest, size);
            }
        }
    }
    return sum;
}

static uint64_t reserve_of(const PCIBridge *b, Kind kind)
{
    uint64_t hint = kind == KIND_IO                   ? b->io_reserve
                    : kind == KIND_MEM                ? b->mem_reserve
                    : b->pref64_reserve != UINT64_MAX ? b->pref64_reserve
                                                      : b->pref32_reserve;

    return hint != UINT64_MAX ? hint : kind == KIND_IO ? IO_UNIT : MEM_RESERVE;
}

static uint64_t round_up(uint64_t v, uint64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

static void window_write(unsigned bus, unsigned devfn, Kind kind, uint64_t base, uint64_t last)
{
    switch (kind) {
    case KIND_IO:
        pci_setup_write(bus, devfn, PCI_IO_BASE, base >> 8 & 0xf0, 1);
        pci_setup_write(bus, devfn, PCI_IO_LIMIT, last >> 8 & 0xf0, 1);
        break;
    case KIND_MEM:
        pci_setup_write(bus, devfn, PCI_MEMORY_BASE, base >> 16 & 0xfff0, 2);
        pci_setup_write(bus, devfn, PCI_MEMORY_LIMIT, last >> 16 & 0xfff0, 2);
        break;
    default:
        pci_setup_write(bus, devfn, PCI_PREF_MEMORY_BASE, base >> 16 & 0xfff0, 2);
        pci_setup_write(bus, devfn, PCI_PREF_MEMORY_LIMIT, last >> 16 & 0xfff0, 2);
        pci_setup_write(bus, devfn, PCI_PREF_BASE_UPPER32, base >> 32, 4);
        pci_setup_write(bus, devfn, PCI_PREF_LIMIT_UPPER32, last >> 32, 4);
        break;
    }
}

static void setup_bus(Setup *s, PCIBus *bus, unsigned number);

static void setup_bridge(Setup *s, PCIBus *bus, unsigned number, unsigned devfn, PCIBridge *b)
{
    uint64_t start[KIND_COUNT], unit[KIND_COUNT];
    unsigned secondary = s->last_bus + 1;

    if (secondary > 255) {
        return;
    }
    s->last_bus = secondary;
    pci_setup_write(number, devfn, PCI_PRIMARY_BUS, number, 1);
    pci_setup_write(number, devfn, PCI_SECONDARY_BUS, secondary, 1);
    pci_setup_write(number, devfn, PCI_SUBORDINATE_BUS, 255, 1);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        uint64_t largest = 0, sum = bars_of(b->secondary, k, &largest);

        /* BARs are powers of two: from a start that suits the largest all fit without holes. */
        unit[k] = MAX(k == KIND_IO ? IO_UNIT : MEM_UNIT, largest);
        start[k] = round_up(s->next[k], unit[k]);
        s->next[k] = start[k] + sum;
    }
    setup_bus(s, b->secondary, secondary);
    if (b->bus_reserve != UINT32_MAX) {
        s->last_bus = MIN(s->last_bus + b->bus_reserve, 255u);
    }
    pci_setup_write(number, devfn, PCI_SUBORDINATE_BUS, s->last_bus, 1);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        uint64_t granule = k == KIND_IO ? IO_UNIT : MEM_UNIT;
        uint64_t size = s->next[k] - start[k];
        uint64_t reserve = reserve_of(b, k);
        uint64_t wanted = round_up(MAX(size, reserve), granule);

        if (!wanted || start[k] + wanted > s->end[k]) {
            /* Closed: the base lies above the limit. */
            window_write(number, devfn, k, k == KIND_IO ? 0xf000 : 0xfff00000, 0);
            s->next[k] = start[k] + size;
            continue;
        }
        s->next[k] = start[k] + wanted;
        window_write(number, devfn, k, start[k], s->next[k] - 1);
    }
}

static void setup_bus(Setup *s, PCIBus *bus, unsigned number)
{
    for (unsigned devfn = 0; devfn < 256; devfn++) {
        PCIBridge *b = bridge_at(bus, devfn);

        if (b && b->secondary) {
            setup_bridge(s, bus, number, devfn, b);
        }
    }
}

void pci_setup_bridges(PCIBus *root, const PciSetupWindows *w)
{
    Setup s = {
        .next = { w->io.base, w->mem.base, w->pref.base },
        .end = { w->io.end, w->mem.end, w->pref.end },
    };

    setup_bus(&s, root, 0);
}
