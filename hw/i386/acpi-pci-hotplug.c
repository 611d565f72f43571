/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI hot-plug by ACPI. */
#include "acpi-pci-hotplug.h"

#include "hw/core/machine.h"
#include "hw/pci/bridge.h"

#define REG_UP        0x00 /* slots with a new device; reading clears */
#define REG_DOWN      0x04 /* slots to let go of */
#define REG_EJECT     0x08
#define REG_REMOVABLE 0x0c
#define REG_SELECT    0x10
#define REG_INDEX     0x14 /* write: a slot; read: its acpi-index */
#define REG_SIZE      0x18

/* A guest that answers at once may be asked again at once. */
#define PENDING_NS 1000000

typedef struct HotplugBus {
    PCIBus *bus;
    uint32_t up, down;
} HotplugBus;

struct AcpiPciHotplug {
    AcpiPm *pm;
    PCIBus *root;
    MmioRegion *ports;
    GArray *buses; /* of HotplugBus; the index is the number by which the guest selects */
    uint32_t selected, index_slot;
};

static AcpiPciHotplug *the_hotplug;
static const HotplugOps hotplug_ops;

static HotplugBus *selected_bus(AcpiPciHotplug *h)
{
    return h->selected < h->buses->len ? &g_array_index(h->buses, HotplugBus, h->selected) : NULL;
}

static HotplugBus *find_bus(AcpiPciHotplug *h, PCIBus *bus)
{
    for (guint i = 0; i < h->buses->len; i++) {
        HotplugBus *b = &g_array_index(h->buses, HotplugBus, i);

        if (b->bus == bus) {
            return b;
        }
    }
    return NULL;
}

bool acpi_pci_hotplug_present(void)
{
    return the_hotplug != NULL;
}

int acpi_pci_hotplug_number(PCIBus *bus, bool *slots)
{
    for (guint i = 0; the_hotplug && i < the_hotplug->buses->len; i++) {
        if (g_array_index(the_hotplug->buses, HotplugBus, i).bus == bus) {
            if (slots) {
                *slots = bus->parent_obj.hotplug == &hotplug_ops;
            }
            return i;
        }
    }
    return -1;
}

/* ---- plugging ---- */

static bool hotplug_pre_plug(BusState *bus, DeviceState *dev, Error **errp)
{
    /* The guest knows the buses by numbers that were fixed when it got its tables. */
    if (dev->hotplugged && !find_bus(the_hotplug, PCI_BUS(bus))) {
        error_set(errp, "Unsupported bus. Bus doesn't have property 'acpi-pcihp-bsel' set");
        return false;
    }
    return true;
}

static bool hotplug_plug(BusState *bus, DeviceState *dev, Error **errp)
{
    HotplugBus *b = find_bus(the_hotplug, PCI_BUS(bus));

    if (!dev->hotplugged || !b) {
        return true;
    }
    pcie_slot_power_on(b->bus);
    b->up |= 1U << PCI_SLOT_OF(PCI_DEVICE(dev)->devfn);
    acpi_pm_gpe(the_hotplug->pm, ACPI_GPE_PCI_HOTPLUG);
    return true;
}

static bool hotplug_unplug_request(BusState *bus, DeviceState *dev, Error **errp)
{
    HotplugBus *b = find_bus(the_hotplug, PCI_BUS(bus));

    if (!b) {
        error_set(errp, "Unsupported bus. Bus doesn't have property 'acpi-pcihp-bsel' set");
        return false;
    }
    dev->unplug_deadline_ns = aio_clock_ns(AIO_CLOCK_VIRTUAL) + PENDING_NS;
    b->down |= 1U << PCI_SLOT_OF(PCI_DEVICE(dev)->devfn);
    acpi_pm_gpe(the_hotplug->pm, ACPI_GPE_PCI_HOTPLUG);
    return true;
}

static const HotplugOps hotplug_ops = {
    .pre_plug = hotplug_pre_plug,
    .plug = hotplug_plug,
    .unplug_request = hotplug_unplug_request,
};

static bool removable(const PCIDevice *dev)
{
    return DEVICE_CLASS(dev)->hotpluggable &&
           !(PCI_DEVICE_CLASS(dev)->is_bridge && !dev->parent_obj.hotplugged);
}

static void eject_slot(HotplugBus *b, int slot)
{
    g_autoptr(GPtrArray) gone = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

    /* Unplugging may wait for I/O, and the list change meanwhile. */
    for (GList *l = b->bus->parent_obj.children; l; l = l->next) {
        PCIDevice *dev = PCI_DEVICE(l->data);

        if (PCI_SLOT_OF(dev->devfn) == slot && removable(dev)) {
            g_ptr_array_add(gone, object_ref((Object *)dev));
        }
    }
    device_unplug_by_guest(g_steal_pointer(&gone));
    b->down &= ~(1U << slot);
    b->up &= ~(1U << slot);
}

static uint32_t removable_slots(HotplugBus *b)
{
    uint32_t mask = UINT32_MAX;

    for (int i = 0; i < 256; i++) {
        if (b->bus->devices[i] && !removable(b->bus->devices[i])) {
            mask &= ~(1U << PCI_SLOT_OF(i));
        }
    }
    return mask;
}

/* ---- ports ---- */

static uint64_t hotplug_read(void *opaque, uint64_t offset, unsigned size)
{
    AcpiPciHotplug *h = opaque;
    HotplugBus *b = selected_bus(h);
    uint32_t v = 0;

    if (size != 4) {
        return 0;
    }
    switch (offset) {
    case REG_UP:
        if (b) {
            v = b->up;
            b->up = 0;
        }
        return v;
    case REG_DOWN:
        return b ? b->down : 0;
    case REG_REMOVABLE:
        /* Numbers that no bus has but could have are empty buses. */
        return b ? removable_slots(b) : h->selected < 256 ? UINT32_MAX : 0;
    case REG_SELECT:
        return h->selected < 256 ? h->selected : 0;
    case REG_INDEX: {
        PCIDevice *dev =
            b && h->index_slot < 32 ? b->bus->devices[PCI_DEVFN(h->index_slot, 0)] : NULL;

        return dev ? dev->acpi_index : 0;
    }
    default:
        return 0;
    }
}

static void hotplug_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    AcpiPciHotplug *h = opaque;
    HotplugBus *b = selected_bus(h);

    if (size != 4) {
        return;
    }
    switch (offset) {
    case REG_EJECT:
        for (int slot = 0; b && slot < 32; slot++) {
            if (value & 1U << slot) {
                eject_slot(b, slot);
            }
        }
        break;
    case REG_SELECT:
        h->selected = value;
        break;
    case REG_INDEX:
        h->index_slot = value;
        break;
    }
}

static const MmioOps hotplug_port_ops = {
    .read = hotplug_read,
    .write = hotplug_write,
    .max_size = 4,
};

/* ---- life ---- */

static void take_over(PCIBus *bus)
{
    bus->parent_obj.hotplug = &hotplug_ops;
}

/* Clients expect these numbers: depth first, among the buses below one the newest first. */
static void number_buses(AcpiPciHotplug *h, PCIBus *bus)
{
    if (bus->parent_obj.hotplug == &hotplug_ops) {
        HotplugBus b = {.bus = bus};

        g_array_append_val(h->buses, b);
    }
    for (GList *l = bus->parent_obj.children; l; l = l->next) {
        PCIDevice *dev = PCI_DEVICE(l->data);

        if (PCI_DEVICE_CLASS(dev)->is_bridge) {
            number_buses(h, PCI_BRIDGE(dev)->secondary);
        }
    }
}

static void hotplug_machine_ready(void *opaque)
{
    AcpiPciHotplug *h = opaque;

    number_buses(h, h->root);
}

/* A guest that is reset will not answer any more: what it was asked to let go of goes now. */
static void hotplug_reset(void *opaque)
{
    AcpiPciHotplug *h = the_hotplug;

    for (guint i = 0; h && i < h->buses->len; i++) {
        HotplugBus *b = &g_array_index(h->buses, HotplugBus, i);

        for (int slot = 0; slot < 32; slot++) {
            if (b->down & 1U << slot) {
                eject_slot(b, slot);
                pcie_slot_reset_empty(b->bus);
            }
        }
        b->up = 0;
    }
    if (h) {
        h->selected = h->index_slot = 0;
    }
}

AcpiPciHotplug *acpi_pci_hotplug_new(AcpiPm *pm, PCIBus *root, uint16_t base, bool root_slots,
                                     bool bridges)
{
    AcpiPciHotplug *h = g_new0(AcpiPciHotplug, 1);
    g_assert(!the_hotplug);
    the_hotplug = h;
    h->pm = pm;
    h->root = root;
    h->buses = g_array_new(false, true, sizeof(HotplugBus));
    if (root_slots) {
        take_over(root);
    }
    if (bridges) {
        pci_hotplug_bus_hook = take_over;
    }
    h->ports = mmio_region_new("acpi-pci-hotplug", &hotplug_port_ops, h, REG_SIZE);
    mmio_region_map(h->ports, guest_ports, base, 0);
    machine_ready_register(hotplug_machine_ready, h);
    reset_register(hotplug_reset, NULL);
    return h;
}

void acpi_pci_hotplug_free(AcpiPciHotplug *h)
{
    if (!h) {
        return;
    }
    the_hotplug = NULL;
    pci_hotplug_bus_hook = NULL;
    mmio_region_free(h->ports);
    g_array_free(h->buses, true);
    g_free(h);
}
