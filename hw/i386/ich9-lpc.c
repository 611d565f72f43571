/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ICH9 LPC bridge: interrupt router, power management, chip configuration registers. */
#include <linux/pci_regs.h>
#include <string.h>

#include "acpi-pci-hotplug.h"
#include "ich9.h"

#define ICH9_SLOT        31
#define PM_BASE_REG      0x40
#define ACPI_CTRL_REG    0x44
#define ACPI_CTRL_ENABLE 0x80
#define PIRQ_A_REG       0x60
#define PIRQ_E_REG       0x68
#define PIRQ_DISABLED    0x80
#define RCBA_REG         0xf0
#define RCBA_ENABLE      1
#define RCBA_SIZE        0x4000
#define HOTPLUG_BASE     0xcc0
#define GPE_OFFSET       0x20
#define ACPI_ENABLE      0x02
#define ACPI_DISABLE     0x03

/* In the chip configuration registers: which input each pin of slots 25..31 goes to. */
#define IR_DEFAULT 0x3210

typedef struct ICH9LPC {
    PCIDevice parent_obj;
    PirqRouter router;
    AcpiPm pm;
    AcpiPciHotplug *hotplug;
    bool bridge_hotplug;
    uint8_t disable_s3, disable_s4;
    bool noreboot;
    uint8_t reset_control;
    uint8_t rcba[RCBA_SIZE];
    MmioRegion *reset_port, *rcba_region;
    BusState *isa;
} ICH9LPC;

#define ICH9_LPC(obj) OBJECT_CHECK(ICH9LPC, obj, "ICH9-LPC")

/* ---- interrupts ---- */

static unsigned ir_offset(int slot)
{
    static const uint16_t offsets[] = {
        [25 - 25] = 0x3150, [26 - 25] = 0x314c, [27 - 25] = 0x3148, [28 - 25] = 0x3146,
        [29 - 25] = 0x3144, [30 - 25] = 0,      [31 - 25] = 0x3140,
    };

    return offsets[slot - 25];
}

static unsigned pirq_of(ICH9LPC *s, int slot, int pin)
{
    if (slot < 25) {
        return 4 + (slot + pin) % 4;
    }
    if (slot == 30) {
        return 4 + pin; /* that slot's register only routes modem and audio functions */
    }
    return pci_get_word(s->rcba + ir_offset(slot)) >> (4 * pin) & 7;
}

static void ich9_set_irq(PCIBus *bus, PCIDevice *dev, int pin, bool level)
{
    ICH9LPC *s = bus->opaque;

    pirq_set(&s->router, pirq_of(s, PCI_SLOT_OF(dev->devfn), pin), level);
}

static int ich9_intx_gsi(PCIBus *bus, PCIDevice *dev, int pin)
{
    ICH9LPC *s = bus->opaque;

    return pirq_gsi(&s->router, pirq_of(s, PCI_SLOT_OF(dev->devfn), pin));
}

static void route_update(ICH9LPC *s)
{
    bool moved = false;

    for (unsigned i = 0; i < 8; i++) {
        uint8_t reg = s->parent_obj.config[i < 4 ? PIRQ_A_REG + i : PIRQ_E_REG + i - 4];

        moved |= pirq_route(&s->router, i, reg & PIRQ_DISABLED ? -1 : reg & 0xf);
    }
    if (moved) {
        pci_bus_intx_moved(s->parent_obj.pbus);
    }
}

/* ---- chip configuration registers ---- */

static uint64_t rcba_read(void *opaque, uint64_t offset, unsigned size)
{
    ICH9LPC *s = opaque;
    uint64_t v = 0;

    for (unsigned i = 0; i < size; i++) {
        v |= (uint64_t)s->rcba[offset + i] << (8 * i);
    }
    return v;
}

static void drive_all(PCIBus *bus, bool level)
{
    for (int i = 0; i < 256; i++) {
        PCIDevice *dev = bus->devices[i];

        if (dev && dev->irq_driven) {
            bus->set_irq(bus, dev, dev->config[PCI_INTERRUPT_PIN] - 1, level);
        }
    }
}

static void rcba_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    ICH9LPC *s = opaque;
    PCIBus *bus = s->parent_obj.pbus;
    bool routes = offset + size > 0x3140 && offset < 0x3152;

    /* Lines that are up move to their new inputs. */
    if (routes) {
        drive_all(bus, false);
    }
    for (unsigned i = 0; i < size; i++) {
        s->rcba[offset + i] = value >> (8 * i);
    }
    if (routes) {
        drive_all(bus, true);
        pci_bus_intx_moved(bus);
    }
}

static const MmioOps rcba_ops = {.read = rcba_read, .write = rcba_write, .max_size = 4};

static void rcba_reset(ICH9LPC *s)
{
    memset(s->rcba, 0, sizeof(s->rcba));
    for (int slot = 25; slot < 32; slot++) {
        if (ir_offset(slot)) {
            pci_set_word(s->rcba + ir_offset(slot), IR_DEFAULT);
        }
    }
}

/* ---- configuration ---- */

static void lpc_follow(ICH9LPC *s)
{
    const uint8_t *c = s->parent_obj.config;
    uint16_t base = pci_get_word(c + PM_BASE_REG) & 0xff80;
    bool on = c[ACPI_CTRL_REG] & ACPI_CTRL_ENABLE;
    uint32_t rcba = pci_get_long(c + RCBA_REG);

    acpi_pm_map(&s->pm, on, base);
    acpi_pm_map_gpe(&s->pm, on, base + GPE_OFFSET);
    if (rcba & RCBA_ENABLE) {
        mmio_region_map(s->rcba_region, guest_memory, rcba & ~(RCBA_SIZE - 1U), 0);
    } else {
        mmio_region_unmap(s->rcba_region);
    }
    route_update(s);
}

static void lpc_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    if (offset >= PCI_STD_HEADER_SIZEOF) {
        lpc_follow(ICH9_LPC(dev));
    }
}

static void lpc_reset(PCIDevice *dev)
{
    ICH9LPC *s = ICH9_LPC(dev);
    uint8_t *c = dev->config;

    memset(c + PCI_STD_HEADER_SIZEOF, 0, 256 - PCI_STD_HEADER_SIZEOF);
    c[PM_BASE_REG] = 0x01; /* ports */
    memset(c + PIRQ_A_REG, PIRQ_DISABLED, 4);
    memset(c + PIRQ_E_REG, PIRQ_DISABLED, 4);
    acpi_pm_reset(&s->pm);
    rcba_reset(s);
    s->reset_control = 0;
    lpc_follow(s);
}

static bool lpc_realize(PCIDevice *dev, Error **errp)
{
    ICH9LPC *s = ICH9_LPC(dev);

    for (unsigned i = 0; i < G_N_ELEMENTS(s->router.line); i++) {
        s->router.line[i] = -1;
    }
    s->router.to_ioapic = true;
    pci_set_long(dev->wmask + PM_BASE_REG, 0xff87);
    acpi_pm_init(&s->pm, 8, ACPI_ENABLE, ACPI_DISABLE);
    s->pm.s4_val = s->disable_s4 ? 0 : 2;
    s->rcba_region = mmio_region_new("lpc-rcrb-mmio", &rcba_ops, s, RCBA_SIZE);
    s->reset_port = pc_reset_control_new(&s->reset_control);
    s->isa = bus_new(TYPE_ISA_BUS, &dev->parent_obj, "isa.0");
    dev->pbus->set_irq = ich9_set_irq;
    dev->pbus->intx_gsi = ich9_intx_gsi;
    dev->pbus->opaque = s;
    if (s->bridge_hotplug) {
        /* The root bus is a root complex: nothing is plugged into it. */
        s->hotplug = acpi_pci_hotplug_new(&s->pm, dev->pbus, HOTPLUG_BASE, false, true);
    }
    lpc_reset(dev);
    return true;
}

static void lpc_unrealize(PCIDevice *dev)
{
    ICH9LPC *s = ICH9_LPC(dev);

    acpi_pci_hotplug_free(s->hotplug);
    s->hotplug = NULL;
    acpi_pm_fini(&s->pm);
    g_clear_pointer(&s->rcba_region, mmio_region_free);
    g_clear_pointer(&s->reset_port, mmio_region_free);
    bus_free(s->isa);
    s->isa = NULL;
}

static bool check_s3(Object *obj, const Property *prop, Error **errp)
{
    if (ICH9_LPC(obj)->disable_s3 == 0) {
        error_set(errp, "Property 'ICH9-LPC.disable_s3': sleep state S3 is not supported");
        return false;
    }
    return true;
}

static const Property lpc_props[] = {
    PROP_BOOL("acpi-pci-hotplug-with-bridge-support", ICH9LPC, bridge_hotplug, true),
    {.name = "disable_s3", .type = &prop_uint8, .offset = PROP_FIELD(ICH9LPC, disable_s3),
     .def = DEFAULT_UINT, .def_int = 1, .check = check_s3},
    PROP_UINT8("disable_s4", ICH9LPC, disable_s4, 0),
    /* The strap that keeps the chipset's watchdog timer from resetting the machine. There is no
     * such timer: with either value none fires. */
    PROP_BOOL("noreboot", ICH9LPC, noreboot, false),
    PROP_END,
};

static void lpc_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x2918;
    pc->revision = 0x02;
    pc->class_id = 0x060100;
    pc->realize = lpc_realize;
    pc->unrealize = lpc_unrealize;
    pc->config_written = lpc_written;
    pc->reset = lpc_reset;
    ((DeviceClass *)klass)->category = "bridge";
    ((DeviceClass *)klass)->desc = "ICH9 LPC bridge";
}

static const TypeInfo lpc_type = {
    .name = "ICH9-LPC",
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(ICH9LPC),
    .props = lpc_props,
    .class_init = lpc_class_init,
};
TYPE_REGISTER(lpc_type)

BusState *ich9_init(MachineState *m, PCIBus *bus, Error **errp)
{
    PCIDevice *lpc =
        pc_pci_device(bus, PCI_DEVFN(ICH9_SLOT, 0), true, "ICH9-LPC", NULL, NULL, errp);

    if (!lpc ||
        (m->sata &&
         !pc_pci_device(bus, PCI_DEVFN(ICH9_SLOT, 2), true, "ich9-ahci", NULL, NULL, errp)) ||
        (m->smbus &&
         !pc_pci_device(bus, PCI_DEVFN(ICH9_SLOT, 3), true, "ICH9-SMB", NULL, NULL, errp))) {
        return NULL;
    }
    return ICH9_LPC(lpc)->isa;
}
