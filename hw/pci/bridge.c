/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all PCI-to-PCI bridges share: header, windows, secondary bus. */
#include "hw/pci/bridge.h"

#include <linux/pci_regs.h>
#include <string.h>

#include "pci-internal.h"

void (*pci_hotplug_bus_hook)(PCIBus *bus);

/* ---- windows ---- */

void pci_bridge_window(const PCIDevice *bridge, PCIWindow w, uint64_t *base, uint64_t *limit)
{
    const uint8_t *c = bridge->config;

    switch (w) {
    case PCI_WINDOW_IO:
        *base = (uint64_t)(c[PCI_IO_BASE] & PCI_IO_RANGE_MASK & 0xff) << 8;
        *limit = (uint64_t)(c[PCI_IO_LIMIT] & PCI_IO_RANGE_MASK & 0xff) << 8 | 0xfff;
        break;
    case PCI_WINDOW_MEM:
        *base = (uint64_t)(pci_get_word(c + PCI_MEMORY_BASE) & 0xfff0) << 16;
        *limit = (uint64_t)(pci_get_word(c + PCI_MEMORY_LIMIT) & 0xfff0) << 16 | 0xfffff;
        break;
    case PCI_WINDOW_PREF:
        *base = (uint64_t)(pci_get_word(c + PCI_PREF_MEMORY_BASE) & 0xfff0) << 16;
        *limit = (uint64_t)(pci_get_word(c + PCI_PREF_MEMORY_LIMIT) & 0xfff0) << 16 | 0xfffff;
        if ((c[PCI_PREF_MEMORY_BASE] & PCI_PREF_RANGE_TYPE_MASK) == PCI_PREF_RANGE_TYPE_64) {
            *base |= (uint64_t)pci_get_long(c + PCI_PREF_BASE_UPPER32) << 32;
            *limit |= (uint64_t)pci_get_long(c + PCI_PREF_LIMIT_UPPER32) << 32;
        }
        break;
    }
}

static bool window_has(const PCIDevice *bridge, PCIWindow w, uint64_t first, uint64_t last)
{
    uint64_t base, limit;

    pci_bridge_window(bridge, w, &base, &limit);
    return base <= limit && base <= first && last <= limit;
}

bool pci_bridges_forward(const PCIBus *bus, bool io, uint64_t base, uint64_t size)
{
    uint64_t last = base + (size - 1);

    for (; bus->bridge; bus = bus->bridge->pbus) {
        const PCIDevice *b = bus->bridge;

        if (!b->config || b->hidden ||
            !(b->config[PCI_COMMAND] & (io ? PCI_COMMAND_IO : PCI_COMMAND_MEMORY))) {
            return false;
        }
        if (io ? !window_has(b, PCI_WINDOW_IO, base, last)
               : !window_has(b, PCI_WINDOW_MEM, base, last) &&
                     !window_has(b, PCI_WINDOW_PREF, base, last)) {
            return false;
        }
    }
    return true;
}

static void reset_child(gpointer dev, gpointer unused)
{
    device_reset(dev);
}

void pci_bridge_config_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    PCIBridge *b = PCI_BRIDGE(dev);

    if (!b->secondary) {
        return;
    }
    if (range_touches(offset, size, PCI_COMMAND, 2) ||
        range_touches(offset, size, PCI_IO_BASE, 2) ||
        range_touches(offset, size, PCI_MEMORY_BASE, 0x14)) {
        pci_bus_update_bars(b->secondary);
    }
    if (range_touches(offset, size, PCI_BRIDGE_CONTROL, 2)) {
        bool reset = dev->config[PCI_BRIDGE_CONTROL] & PCI_BRIDGE_CTL_BUS_RESET;

        if (reset && !b->in_reset) {
            g_list_foreach(b->secondary->parent_obj.children, reset_child, NULL);
        }
        b->in_reset = reset;
    }
}

/* ---- life ---- */

bool pci_bridge_init(PCIBridge *b, const char *bus_type, Error **errp)
{
    PCIDevice *dev = &b->parent_obj;
    uint8_t *w = dev->wmask;

    memset(w + PCI_BASE_ADDRESS_2, 0, PCI_INTERRUPT_LINE - PCI_BASE_ADDRESS_2);
    w[PCI_PRIMARY_BUS] = w[PCI_SECONDARY_BUS] = w[PCI_SUBORDINATE_BUS] = 0xff;
    w[PCI_IO_BASE] = w[PCI_IO_LIMIT] = 0xf0;
    pci_set_word(w + PCI_MEMORY_BASE, 0xfff0);
    pci_set_word(w + PCI_MEMORY_LIMIT, 0xfff0);
    pci_set_word(w + PCI_PREF_MEMORY_BASE, 0xfff0);
    pci_set_word(w + PCI_PREF_MEMORY_LIMIT, 0xfff0);
    memset(w + PCI_PREF_BASE_UPPER32, 0xff, 8);
    dev->config[PCI_PREF_MEMORY_BASE] = PCI_PREF_RANGE_TYPE_64;
    dev->config[PCI_PREF_MEMORY_LIMIT] = PCI_PREF_RANGE_TYPE_64;
    pci_set_word(w + PCI_BRIDGE_CONTROL,
                 PCI_BRIDGE_CTL_PARITY | PCI_BRIDGE_CTL_SERR | PCI_BRIDGE_CTL_ISA |
                     PCI_BRIDGE_CTL_VGA | 0x10 /* 16-bit VGA */ | PCI_BRIDGE_CTL_BUS_RESET);
    pci_set_word(dev->w1cmask + PCI_SEC_STATUS,
                 PCI_STATUS_PARITY | PCI_STATUS_SIG_TARGET_ABORT | PCI_STATUS_REC_TARGET_ABORT |
                     PCI_STATUS_REC_MASTER_ABORT | PCI_STATUS_SIG_SYSTEM_ERROR |
                     PCI_STATUS_DETECTED_PARITY);
    b->secondary = pci_bus_new(bus_type, &dev->parent_obj, dev, dev->parent_obj.id);
    return true;
}

void pci_bridge_fini(PCIBridge *b)
{
    PCIBus *bus = b->secondary;

    b->secondary = NULL;
    bus_free(&bus->parent_obj);
}

void pci_bridge_reset(PCIDevice *dev)
{
    uint8_t *c = dev->config;
    bool port = PCI_BRIDGE(dev)->secondary && PCI_BRIDGE(dev)->secondary->is_port;

    c[PCI_PRIMARY_BUS] = c[PCI_SECONDARY_BUS] = c[PCI_SUBORDINATE_BUS] = 0;
    /* A port comes up with its windows closed; a conventional bridge with the lowest ones. */
    c[PCI_IO_BASE] = port ? 0xf0 : 0;
    c[PCI_IO_LIMIT] = 0;
    pci_set_word(c + PCI_MEMORY_BASE, port ? 0xfff0 : 0);
    pci_set_word(c + PCI_MEMORY_LIMIT, 0);
    pci_set_word(c + PCI_PREF_MEMORY_BASE, (port ? 0xfff0 : 0) | PCI_PREF_RANGE_TYPE_64);
    pci_set_word(c + PCI_PREF_MEMORY_LIMIT, PCI_PREF_RANGE_TYPE_64);
    memset(c + PCI_PREF_BASE_UPPER32, 0, 8);
    c[PCI_SEC_LATENCY_TIMER] = 0;
    pci_set_word(c + PCI_BRIDGE_CONTROL, 0);
    PCI_BRIDGE(dev)->in_reset = false;
    if (PCI_BRIDGE(dev)->secondary) {
        pci_bus_update_bars(PCI_BRIDGE(dev)->secondary);
    }
}

/* Firmware reads from this vendor capability how much to set aside for later hot-plug. */
bool pci_bridge_add_reserve_cap(PCIBridge *b, Error **errp)
{
    PCIDevice *dev = &b->parent_obj;

    if (b->bus_reserve == UINT32_MAX && b->io_reserve == UINT64_MAX &&
        b->mem_reserve == UINT64_MAX && b->pref32_reserve == UINT64_MAX &&
        b->pref64_reserve == UINT64_MAX) {
        return true;
    }
    if (b->pref32_reserve != UINT64_MAX && b->pref64_reserve != UINT64_MAX) {
        error_set(errp, "PCI resource reserve cap: PREF32 and PREF64 conflict");
        return false;
    }
    if ((b->mem_reserve != UINT64_MAX && b->mem_reserve > UINT32_MAX) ||
        (b->pref32_reserve != UINT64_MAX && b->pref32_reserve > UINT32_MAX)) {
        error_set(errp,
                  "PCI resource reserve cap: mem-reserve and pref32-reserve must be less than 4G");
        return false;
    }
    uint8_t *c = dev->config + pci_add_capability(dev, PCI_CAP_ID_VNDR, 0, 32);

    c[2] = 32; /* length */
    c[3] = 1;  /* resource reservation */
    pci_set_long(c + 4, b->bus_reserve);
    pci_set_long(c + 8, b->io_reserve);
    pci_set_long(c + 12, b->io_reserve >> 32);
    pci_set_long(c + 16, b->mem_reserve);
    pci_set_long(c + 20, b->pref32_reserve);
    pci_set_long(c + 24, b->pref64_reserve);
    pci_set_long(c + 28, b->pref64_reserve >> 32);
    return true;
}

static void bridge_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->is_bridge = true;
    pc->class_id = 0x060400;
    pc->config_written = pci_bridge_config_written;
    pc->reset = pci_bridge_reset;
    ((DeviceClass *)klass)->category = "bridge";
}

static const TypeInfo bridge_type = {
    .name = TYPE_PCI_BRIDGE,
    .parent = TYPE_PCI_DEVICE,
    .abstract = true,
    .instance_size = sizeof(PCIBridge),
    .class_init = bridge_class_init,
};
TYPE_REGISTER(bridge_type)
