/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI buses: addresses, finding functions, and interrupts through bridges. */
#include <linux/pci_regs.h>

#include "hw/pci/bridge.h"
#include "pci-internal.h"
#include "util/report.h"

bool pci_bus_is_root(PCIBus *bus)
{
    return bus->bridge == NULL;
}

bool pci_bus_is_express(PCIBus *bus)
{
    return object_is((Object *)bus, TYPE_PCIE_BUS);
}

int pci_bus_number(PCIBus *bus)
{
    return bus->bridge ? bus->bridge->config[PCI_SECONDARY_BUS] : 0;
}

bool pci_behind_pcie_port(PCIDevice *dev)
{
    return pci_bus_is_express(dev->pbus) && !pci_bus_is_root(dev->pbus);
}

/* ---- finding ---- */

static PCIDevice *find_below(PCIBus *bus, int number, int devfn, int depth)
{
    /* Bridges may be programmed into a ring of numbers; the tree itself has no ring, but each level
     * must hold fewer numbers than the one above. */
    for (int i = 0; i < 256; i++) {
        PCIDevice *d = bus->devices[i];

        if (!d || d->hidden || !PCI_DEVICE_CLASS(d)->is_bridge) {
            continue;
        }
        PCIBus *secondary = PCI_BRIDGE(d)->secondary;
        int first = d->config[PCI_SECONDARY_BUS], last = d->config[PCI_SUBORDINATE_BUS];

        if (!secondary || first == 0 || number < first || number > last) {
            continue;
        }
        if (number == first) {
            return secondary->devices[devfn];
        }
        PCIDevice *found = depth > 0 ? find_below(secondary, number, devfn, depth - 1) : NULL;

        if (found) {
            return found;
        }
    }
    return NULL;
}

PCIDevice *pci_find_device(PCIBus *root, int bus, int devfn)
{
    PCIDevice *d = bus == pci_bus_number(root) ? root->devices[devfn]
                                               : find_below(root, bus, devfn, 255);

    return d && !d->hidden && d->parent_obj.realized ? d : NULL;
}

uint32_t pci_host_read(PCIBus *root, int bus, int devfn, unsigned offset, unsigned size)
{
    PCIDevice *d = pci_find_device(root, bus, devfn);

    return d ? pci_config_read(d, offset, size) : UINT32_MAX >> (32 - 8 * size);
}

void pci_host_write(PCIBus *root, int bus, int devfn, unsigned offset, uint32_t value,
                    unsigned size)
{
    PCIDevice *d = pci_find_device(root, bus, devfn);

    if (d) {
        pci_config_write(d, offset, value, size);
    }
}

/* ---- addresses ---- */

static bool slot_reserved(const PCIBus *bus, int slot)
{
    return slot < (int)bus->slot_first || slot >= (int)(bus->slot_first + bus->slot_count) ||
           (bus->reserved_slots & 1U << slot);
}

static bool choose_devfn(PCIBus *bus, PCIDevice *dev, Error **errp)
{
    const char *name = object_type_name((Object *)dev);

    if (dev->devfn_prop < 0) {
        for (int slot = 0; slot < 32; slot++) {
            if (!slot_reserved(bus, slot) && !bus->devices[PCI_DEVFN(slot, 0)]) {
                dev->devfn = PCI_DEVFN(slot, 0);
                return true;
            }
        }
        error_set(errp, "PCI: no slot/function available for %s, all in use or reserved", name);
        return false;
    }
    int slot = PCI_SLOT_OF(dev->devfn_prop), fn = PCI_FUNC_OF(dev->devfn_prop);

    if (slot_reserved(bus, slot)) {
        error_set(errp, "PCI: slot %d function %d not available for %s, reserved", slot, fn, name);
        return false;
    }
    PCIDevice *other = bus->devices[dev->devfn_prop];

    if (other) {
        error_set(errp, "PCI: slot %d function %d not available for %s, in use by %s,id=%s", slot,
                  fn, name, object_type_name((Object *)other),
                  other->parent_obj.id ? other->parent_obj.id : "(null)");
        return false;
    }
    dev->devfn = dev->devfn_prop;
    return true;
}

/* Function 0 says whether there are others. */
static bool check_functions(PCIBus *bus, PCIDevice *dev, Error **errp)
{
    int slot = PCI_SLOT_OF(dev->devfn), fn = PCI_FUNC_OF(dev->devfn);
    PCIDevice *zero = bus->devices[PCI_DEVFN(slot, 0)];

    if (fn != 0) {
        if (zero && !zero->multifunction) {
            error_set(errp, "PCI: single function device can't be populated in function %x.%x",
                      slot, fn);
            return false;
        }
        return true;
    }
    for (int i = 1; i < 8 && !dev->multifunction; i++) {
        if (bus->devices[PCI_DEVFN(slot, i)]) {
            error_set(errp, "PCI: %x.0 indicates single function, but %x.%x is already populated.",
                      slot, slot, i);
            return false;
        }
    }
    return true;
}

static bool pci_bus_assign(BusState *b, DeviceState *d, Error **errp)
{
    PCIBus *bus = PCI_BUS(b);
    PCIDevice *dev = PCI_DEVICE(d);
    const char *name = object_type_name((Object *)d);

    if (dev->acpi_index > 16383) {
        error_set(errp, "acpi-index should be less or equal to 16383");
        return false;
    }
    if (!choose_devfn(bus, dev, errp)) {
        return false;
    }
    PCIDevice *zero = bus->devices[bus->is_port ? 0 : dev->devfn & ~7];

    if (d->hotplugged && zero) {
        error_set(
            errp,
            "PCI: slot %d function 0 already occupied by %s, new func %s cannot be exposed to "
            "guest.",
            PCI_SLOT_OF(zero->devfn), object_type_name((Object *)zero), name);
        return false;
    }
    if (!check_functions(bus, dev, errp)) {
        return false;
    }
    if (bus->is_port && PCI_SLOT_OF(dev->devfn) != 0) {
        report_warning("PCI: slot %d is not valid for %s, parent device only allows plugging into "
                       "slot 0.", PCI_SLOT_OF(dev->devfn), name);
    }
    dev->pbus = bus;
    bus->devices[dev->devfn] = dev;
    dev->devfn_chosen = dev->devfn_prop < 0;
    dev->devfn_prop = dev->devfn;
    return true;
}

static void pci_bus_release(BusState *b, DeviceState *d)
{
    PCIBus *bus = PCI_BUS(b);
    PCIDevice *dev = PCI_DEVICE(d);

    if (bus->devices[dev->devfn] == dev) {
        bus->devices[dev->devfn] = NULL;
        if (dev->devfn_chosen) {
            dev->devfn_prop = -1;
        }
    }
}

/* ---- interrupts ---- */

/* INTx of a device below a bridge arrives at the bridge's own pins, rotated by the slot number. */
static int bridge_pin(const PCIDevice *dev, int pin)
{
    return (pin + PCI_SLOT_OF(dev->devfn)) & 3;
}

static void bridge_set_irq(PCIBus *bus, PCIDevice *dev, int pin, bool level)
{
    PCIDevice *bridge = bus->bridge;
    int up = bridge_pin(dev, pin);

    /* Several devices share a pin: the line is up as long as one of them drives it. */
    unsigned before = bus->irq_count[up];

    g_assert(level || before > 0);
    bus->irq_count[up] += level ? 1 : -1;
    if (!before != !bus->irq_count[up]) {
        bridge->pbus->set_irq(bridge->pbus, bridge, up, level);
    }
}

int pci_intx_gsi(PCIDevice *dev)
{
    int pin = dev->config[PCI_INTERRUPT_PIN] - 1;

    while (pin >= 0 && dev->pbus->bridge) {
        pin = bridge_pin(dev, pin);
        dev = dev->pbus->bridge;
    }
    return pin >= 0 && dev->pbus->intx_gsi ? dev->pbus->intx_gsi(dev->pbus, dev, pin) : -1;
}

static void intx_moved(PCIDevice *d)
{
    if (d->config && PCI_DEVICE_CLASS(d)->intx_changed) {
        PCI_DEVICE_CLASS(d)->intx_changed(d);
    }
}

void pci_bus_intx_moved(PCIBus *bus)
{
    for (int i = 0; i < 256; i++) {
        PCIDevice *d = bus->devices[i];

        if (d) {
            intx_moved(d);
        }
        d = bus->devices[i];
        if (d && PCI_DEVICE_CLASS(d)->is_bridge && PCI_BRIDGE(d)->secondary) {
            pci_bus_intx_moved(PCI_BRIDGE(d)->secondary);
        }
    }
}

/* ---- construction ---- */

static GPtrArray *roots;

GPtrArray *pci_root_buses(void)
{
    GPtrArray *list = g_ptr_array_new();

    for (guint i = 0; roots && i < roots->len; i++) {
        g_ptr_array_add(list, roots->pdata[i]);
    }
    return list;
}

static void pci_bus_init(Object *obj)
{
    PCIBus *bus = PCI_BUS(obj);

    bus->slot_first = 0;
    bus->slot_count = 32;
}

static void pci_bus_finalize(Object *obj)
{
    if (roots) {
        g_ptr_array_remove(roots, PCI_BUS(obj));
    }
}

PCIBus *pci_bus_new(const char *type, DeviceState *parent, PCIDevice *bridge, const char *name)
{
    PCIBus *bus = PCI_BUS(bus_new(type, parent, name));

    bus->bridge = bridge;
    if (bridge) {
        bus->parent = bridge->pbus;
        bus->set_irq = bridge_set_irq;
    } else {
        if (!roots) {
            roots = g_ptr_array_new();
        }
        g_ptr_array_add(roots, bus);
    }
    return bus;
}

void pci_bus_update_bars(PCIBus *bus)
{
    address_space_batch_begin();
    for (int i = 0; i < 256; i++) {
        PCIDevice *d = bus->devices[i];

        if (!d || !d->config) {
            continue;
        }
        pci_update_bars(d);
        if (PCI_DEVICE_CLASS(d)->is_bridge && PCI_BRIDGE(d)->secondary) {
            pci_bus_update_bars(PCI_BRIDGE(d)->secondary);
        }
    }
    address_space_batch_commit();
}

void pci_bus_set_hidden(PCIBus *bus, bool hidden)
{
    for (int i = 0; i < 256; i++) {
        PCIDevice *d = bus->devices[i];

        if (d && d->config && d->hidden != hidden) {
            d->hidden = hidden;
            pci_update_intx(d);
        }
    }
    pci_bus_update_bars(bus);
    pci_bus_intx_moved(bus);
}

static void pci_bus_class_init(ObjectClass *klass, const void *data)
{
    BusClass *bc = (BusClass *)klass;

    bc->kind = data;
    bc->assign = pci_bus_assign;
    bc->release = pci_bus_release;
}

static const TypeInfo pci_bus_type = {
    .name = TYPE_PCI_BUS,
    .parent = TYPE_BUS,
    .instance_size = sizeof(PCIBus),
    .class_init = pci_bus_class_init,
    .class_data = "PCI",
    .instance_init = pci_bus_init,
    .instance_finalize = pci_bus_finalize,
};
TYPE_REGISTER(pci_bus_type)

static const TypeInfo pcie_bus_type = {
    .name = TYPE_PCIE_BUS,
    .parent = TYPE_PCI_BUS,
    .class_init = pci_bus_class_init,
    .class_data = "PCIE",
};
TYPE_REGISTER(pcie_bus_type)
