/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-pci and info pci. */
#include <linux/pci_regs.h>

#include "hw/pci/bridge.h"
#include "pci-internal.h"
#include "qapi/qapi-pci.h"

static PciMemoryRange *window(const PCIDevice *dev, PCIWindow w)
{
    PciMemoryRange *r = g_new0(PciMemoryRange, 1);
    uint64_t base, limit;

    pci_bridge_window(dev, w, &base, &limit);
    r->base = base;
    r->limit = limit;
    return r;
}

static GPtrArray *bus_devices(PCIBus *bus);

static PciBridgeInfo *bridge_info(PCIDevice *dev)
{
    PCIBridge *b = PCI_BRIDGE(dev);
    PciBridgeInfo *info = g_new0(PciBridgeInfo, 1);
    PciBusInfo *bus = info->bus = g_new0(PciBusInfo, 1);

    bus->number = dev->config[PCI_PRIMARY_BUS];
    bus->secondary = dev->config[PCI_SECONDARY_BUS];
    bus->subordinate = dev->config[PCI_SUBORDINATE_BUS];
    bus->io_range = window(dev, PCI_WINDOW_IO);
    bus->memory_range = window(dev, PCI_WINDOW_MEM);
    bus->prefetchable_range = window(dev, PCI_WINDOW_PREF);
    if (bus->secondary != 0 && b->secondary) {
        info->devices = bus_devices(b->secondary);
    }
    return info;
}

static GPtrArray *regions(const PCIDevice *dev)
{
    GPtrArray *list = g_ptr_array_new();

    for (int i = 0; i < PCI_BAR_COUNT; i++) {
        const PCIBar *b = &dev->bars[i];

        if (!b->region) {
            continue;
        }
        PciMemoryRegion *r = g_new0(PciMemoryRegion, 1);
        bool io = b->type & PCI_BASE_ADDRESS_SPACE_IO;

        r->bar = i;
        r->type = g_strdup(io ? "io" : "memory");
        r->address = (int64_t)pci_bar_address(dev, i);
        r->size = b->size;
        if (!io) {
            r->has_prefetch = r->has_mem_type_64 = true;
            r->prefetch = b->type & PCI_BASE_ADDRESS_MEM_PREFETCH;
            r->mem_type_64 = b->type & PCI_BASE_ADDRESS_MEM_TYPE_64;
        }
        g_ptr_array_add(list, r);
    }
    return list;
}

static PciDeviceInfo *device_info(PCIBus *bus, PCIDevice *dev)
{
    const uint8_t *c = dev->config;
    PciDeviceInfo *d = g_new0(PciDeviceInfo, 1);
    bool is_bridge = PCI_DEVICE_CLASS(dev)->is_bridge;

    d->bus = pci_bus_number(bus);
    d->slot = PCI_SLOT_OF(dev->devfn);
    d->function = PCI_FUNC_OF(dev->devfn);
    d->class_info = g_new0(PciDeviceClass, 1);
    d->class_info->class = pci_get_word(c + PCI_CLASS_DEVICE);
    d->class_info->desc = g_strdup(pci_class_name(d->class_info->class));
    d->id = g_new0(PciDeviceId, 1);
    d->id->vendor = pci_get_word(c + PCI_VENDOR_ID);
    d->id->device = pci_get_word(c + PCI_DEVICE_ID);
    d->irq_pin = c[PCI_INTERRUPT_PIN];
    if (d->irq_pin) {
        d->has_irq = true;
        d->irq = c[PCI_INTERRUPT_LINE];
    }
    d->qdev_id = g_strdup(dev->parent_obj.id ? dev->parent_obj.id : "");
    d->regions = regions(dev);
    if (is_bridge) {
        d->pci_bridge = bridge_info(dev);
    } else {
        d->id->has_subsystem = d->id->has_subsystem_vendor = true;
        d->id->subsystem = pci_get_word(c + PCI_SUBSYSTEM_ID);
        d->id->subsystem_vendor = pci_get_word(c + PCI_SUBSYSTEM_VENDOR_ID);
    }
    return d;
}

static GPtrArray *bus_devices(PCIBus *bus)
{
    GPtrArray *list = g_ptr_array_new();

    for (int i = 0; i < 256; i++) {
        PCIDevice *dev = bus->devices[i];

        if (dev && dev->config) {
            g_ptr_array_add(list, device_info(bus, dev));
        }
    }
    return list;
}

GPtrArray *qmp_query_pci(Error **errp)
{
    g_autoptr(GPtrArray) roots = pci_root_buses();
    GPtrArray *list = g_ptr_array_new();

    for (guint i = 0; i < roots->len; i++) {
        PciInfo *info = g_new0(PciInfo, 1);

        info->bus = pci_bus_number(roots->pdata[i]);
        info->devices = bus_devices(roots->pdata[i]);
        g_ptr_array_add(list, info);
    }
    return list;
}
QMP_REGISTER(query_pci)

/* ---- info pci ---- */

static void region_line(GString *s, const PciMemoryRegion *r)
{
    bool io = g_str_equal(r->type, "io");

    g_string_append_printf(s, "      BAR%" G_GINT64_FORMAT ": ", r->bar);
    if (io) {
        g_string_append(s, "I/O");
    } else {
        g_string_append_printf(s, "%d bit%s memory", r->mem_type_64 ? 64 : 32,
                               r->prefetch ? " prefetchable" : "");
    }
    if (r->address == -1) {
        g_string_append(s, " (not mapped)\n");
    } else if (io) {
        g_string_append_printf(s, " at 0x%04" G_GINT64_MODIFIER "x [0x%04" G_GINT64_MODIFIER "x]\n",
                               r->address, r->address + r->size - 1);
    } else {
        g_string_append_printf(s, " at 0x%08" G_GINT64_MODIFIER "x [0x%08" G_GINT64_MODIFIER "x]\n",
                               r->address, r->address + r->size - 1);
    }
}

static void device_text(GString *s, const PciDeviceInfo *d)
{
    g_string_append_printf(s, "  Bus %2" G_GINT64_FORMAT ", device %3" G_GINT64_FORMAT
                              ", function %" G_GINT64_FORMAT ":\n", d->bus, d->slot, d->function);
    if (d->class_info->desc) {
        g_string_append_printf(s, "    %s", d->class_info->desc);
    } else {
        g_string_append_printf(s, "    Class %04" G_GINT64_MODIFIER "x", d->class_info->class);
    }
    g_string_append_printf(s, ": PCI device %04" G_GINT64_MODIFIER "x:%04" G_GINT64_MODIFIER "x\n",
                           d->id->vendor, d->id->device);
    if (d->id->has_subsystem && d->id->has_subsystem_vendor) {
        g_string_append_printf(s, "      PCI subsystem %04" G_GINT64_MODIFIER "x:%04"
                                  G_GINT64_MODIFIER "x\n", d->id->subsystem_vendor,
                               d->id->subsystem);
    }
    if (d->has_irq) {
        g_string_append_printf(s, "      IRQ %" G_GINT64_FORMAT ", pin %c\n", d->irq,
                               (char)('A' + d->irq_pin - 1));
    }
    if (d->pci_bridge) {
        const PciBusInfo *b = d->pci_bridge->bus;

        g_string_append_printf(s, "      BUS %" G_GINT64_FORMAT ".\n", b->number);
        g_string_append_printf(s, "      secondary bus %" G_GINT64_FORMAT ".\n", b->secondary);
        g_string_append_printf(s, "      subordinate bus %" G_GINT64_FORMAT ".\n", b->subordinate);
        g_string_append_printf(s, "      IO range [0x%04" G_GINT64_MODIFIER "x, 0x%04"
                                  G_GINT64_MODIFIER "x]\n", b->io_range->base, b->io_range->limit);
        g_string_append_printf(s, "      memory range [0x%08" G_GINT64_MODIFIER "x, 0x%08"
                                  G_GINT64_MODIFIER "x]\n", b->memory_range->base,
                               b->memory_range->limit);
        g_string_append_printf(s, "      prefetchable memory range [0x%08" G_GINT64_MODIFIER
                                  "x, 0x%08" G_GINT64_MODIFIER "x]\n", b->prefetchable_range->base,
                               b->prefetchable_range->limit);
    }
    for (guint i = 0; i < d->regions->len; i++) {
        region_line(s, d->regions->pdata[i]);
    }
    g_string_append_printf(s, "      id \"%s\"\n", d->qdev_id);
    for (guint i = 0; d->pci_bridge && d->pci_bridge->devices && i < d->pci_bridge->devices->len;
         i++) {
        device_text(s, d->pci_bridge->devices->pdata[i]);
    }
}

char *pci_info_text(void)
{
    g_autoptr(GPtrArray) list = qmp_query_pci(NULL);
    GString *s = g_string_new(NULL);

    for (guint i = 0; i < list->len; i++) {
        PciInfo *info = list->pdata[i];

        for (guint j = 0; j < info->devices->len; j++) {
            device_text(s, info->devices->pdata[j]);
        }
        qapi_free_PciInfo(info);
    }
    return g_string_free(s, false);
}
