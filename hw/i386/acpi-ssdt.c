/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the ACPI namespace that depends on the configuration.
 *
 * Each bus on which ACPI does the hot-plugging gets a device per slot, a method HPDV that notifies
 * the slots in a mask, and a method HPNT that asks the ports (see acpi-pci-hotplug.c) what happened
 * on this bus and those below.
 */
#include "acpi-ssdt.h"

#include "acpi-aml.h"
#include "acpi-pci-hotplug.h"
#include "hw/pci/bridge.h"

#define SLOTS              32
#define PINS               4

#define OP_PACKAGE         0x12
#define PRT_ROW            0x04 /* elements of a row of _PRT */

#define OSC_NATIVE_HOTPLUG 0x01
#define OSC_CAPABILITY     0x10 /* control of the PCI Express capability */

#define NOTIFY_CHECK       1
#define NOTIFY_EJECT       3

/* ---- interrupt routing ---- */

/* The link of a pin of a slot of the root bus, as the south bridge is wired and set up. */
static const char *link_of(bool q35, unsigned slot, unsigned pin)
{
    static const char *const pc_links[] = { "LNKA", "LNKB", "LNKC", "LNKD" };
    static const char *const q35_links[] = { "GSIA", "GSIB", "GSIC", "GSID",
                                             "GSIE", "GSIF", "GSIG", "GSIH" };

    if (!q35) {
        return pc_links[(slot + pin + 3) % 4];
    }
    if (slot < 25) {
        return q35_links[4 + (slot + pin) % 4];
    }
    return q35_links[slot == 30 ? 4 + pin : pin];
}

static size_t open_package(GByteArray *a, uint8_t elements)
{
    size_t mark;

    aml_byte(a, OP_PACKAGE);
    mark = a->len;
    g_byte_array_set_size(a, a->len + 4); /* the length, filled in by aml_end() */
    aml_byte(a, elements);
    return mark;
}

static void prt_fill(GByteArray *a, bool q35)
{
    size_t table;

    aml_byte(a, 0x08); /* Name */
    aml_path(a, "_PRT");
    table = open_package(a, SLOTS * PINS);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        for (unsigned pin = 0; pin < PINS; pin++) {
            g_autofree char *link = g_strdup_printf("\\_SB_.%s", link_of(q35, slot, pin));
            size_t row = open_package(a, PRT_ROW);

            aml_int(a, slot << 16 | 0xffff);
            aml_int(a, pin);
            aml_path(a, link);
            aml_int(a, 0);
            aml_end(a, row);
        }
    }
    aml_end(a, table);
}

/* ---- hot-plug ---- */

static void slot_name(char name[5], unsigned devfn)
{
    g_snprintf(name, 5, "S%02X_", devfn & 0xff);
}

static PCIBus *bus_below(PCIBus *bus, unsigned devfn)
{
    PCIDevice *dev = bus->devices[devfn];

    return dev && PCI_DEVICE_CLASS(dev)->is_bridge ? PCI_BRIDGE(dev)->secondary : NULL;
}

/* Whether the bus, or one below it, takes part. */
static bool takes_part(PCIBus *bus)
{
    bool slots = false;

    if (acpi_pci_hotplug_number(bus, &slots) >= 0 && slots) {
        return true;
    }
    for (unsigned devfn = 0; devfn < 256; devfn++) {
        PCIBus *below = bus_below(bus, devfn);

        if (below && takes_part(below)) {
            return true;
        }
    }
    return false;
}

static bool slot_hotpluggable(PCIBus *bus, unsigned slot)
{
    PCIDevice *dev = bus->devices[PCI_DEVFN(slot, 0)];

    if (bus->is_port && slot != 0) {
        return false;
    }
    if (slot < bus->slot_first || slot >= bus->slot_first + bus->slot_count) {
        return false;
    }
    return !dev || (DEVICE_CLASS(dev)->hotpluggable && !PCI_DEVICE_CLASS(dev)->is_bridge);
}

static void slot_eject_method(GByteArray *a, int number, unsigned slot)
{
    size_t m = aml_method(a, "_EJ0", 1);

    aml_path(a, "\\_SB_.PCI0.EJCT");
    aml_int(a, number);
    aml_int(a, slot);
    aml_end(a, m);
}

static void notify_method(GByteArray *a, PCIBus *bus)
{
    size_t m = aml_method(a, "HPDV", 2);

    for (unsigned slot = 0; slot < SLOTS; slot++) {
        char name[5];
        size_t cond;

        if (!slot_hotpluggable(bus, slot)) {
            continue;
        }
        slot_name(name, PCI_DEVFN(slot, 0));
        cond = aml_if(a);
        aml_byte(a, AML_AND);
        aml_byte(a, AML_ARG0);
        aml_int(a, 1u << slot);
        aml_byte(a, 0);
        aml_byte(a, AML_NOTIFY);
        aml_path(a, name);
        aml_byte(a, AML_ARG1);
        aml_end(a, cond);
    }
    aml_end(a, m);
}

static void ask_register(GByteArray *a, const char *reg, unsigned event)
{
    aml_path(a, "HPDV");
    aml_path(a, reg);
    aml_int(a, event);
}

static void ask_method(GByteArray *a, PCIBus *bus, int number, bool slots)
{
    size_t m = aml_method(a, "HPNT", 0);

    if (slots) {
        aml_byte(a, AML_STORE);
        aml_int(a, number);
        aml_path(a, "\\_SB_.PCI0.HPBN");
        ask_register(a, "\\_SB_.PCI0.HPUP", NOTIFY_CHECK);
        ask_register(a, "\\_SB_.PCI0.HPDN", NOTIFY_EJECT);
    }
    for (unsigned devfn = 0; devfn < 256; devfn++) {
        PCIBus *below = bus_below(bus, devfn);

        if (below && takes_part(below)) {
            char name[5];
            g_autofree char *path = NULL;

            slot_name(name, devfn);
            path = g_strdup_printf("^%s.HPNT", name);
            aml_path(a, path);
        }
    }
    aml_end(a, m);
}

static void bus_fill(GByteArray *a, PCIBus *bus)
{
    bool slots = false;
    int number = acpi_pci_hotplug_number(bus, &slots);

    slots = slots && number >= 0;
    for (unsigned devfn = 0; devfn < 256; devfn++) {
        PCIBus *below = bus_below(bus, devfn);
        unsigned slot = PCI_SLOT_OF(devfn), fn = PCI_FUNC_OF(devfn);
        bool plug = slots && fn == 0 && slot_hotpluggable(bus, slot);
        char name[5];
        size_t dev;

        if (!plug && !(below && takes_part(below))) {
            continue;
        }
        slot_name(name, devfn);
        dev = aml_device(a, name);
        aml_name_int(a, "_ADR", slot << 16 | fn);
        if (plug) {
            aml_name_int(a, "_SUN", slot);
            slot_eject_method(a, number, slot);
        } else {
            bus_fill(a, below);
        }
        aml_end(a, dev);
    }
    if (slots) {
        notify_method(a, bus);
    }
    ask_method(a, bus, number, slots);
}

/* ---- all of it ---- */

static PCIBus *root_bus(bool q35)
{
    BusState *bus = bus_find_name(q35 ? "pcie.0" : "pci.0");

    return bus ? PCI_BUS(bus) : NULL;
}

void acpi_ssdt_fill(GByteArray *t, const AcpiPlatform *p)
{
    PCIBus *root = root_bus(p->q35);
    bool acpi_hotplug = acpi_pci_hotplug_present();
    size_t scope;

    aml_name_int(t, "\\M32B", p->mmio32_base);
    aml_name_int(t, "\\M32E", p->mmio32_end);
    aml_name_int(t, "\\M64B", p->mmio64_base);
    aml_name_int(t, "\\M64S", p->mmio64_size);
    aml_name_int(t, "\\COMS", p->com_ports);
    aml_name_int(t, "\\PANP", p->panic_port);
    /* Who does the hot-plugging below PCI Express ports: ACPI, or the guest by the ports'
     * registers. */
    aml_name_int(t, "\\OSCM", OSC_CAPABILITY | (acpi_hotplug ? 0 : OSC_NATIVE_HOTPLUG));
    scope = aml_scope(t, "\\_SB_.PCI0");
    prt_fill(t, p->q35);
    if (root && takes_part(root)) {
        bus_fill(t, root);
    }
    aml_end(t, scope);
}
