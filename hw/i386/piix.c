/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PIIX3 south bridge: ISA bridge with the interrupt router, IDE controller, power management.
 */
#include "piix.h"

#include <linux/pci_regs.h>
#include <string.h>

#include "acpi-pci-hotplug.h"

#define PIIX_SLOT      1
#define PIRQ_REG       0x60
#define PIRQ_COUNT     4
#define PIRQ_DISABLED  0x80
#define PM_BASE_REG    0x40
#define PM_ENABLE_REG  0x80
#define DEVACTB_REG    0x58
#define DEVACTB_APMC_EN 0x02 /* of its highest byte */
#define GPE_BASE       0xafe0
#define HOTPLUG_BASE   0xae00
#define ACPI_ENABLE    0xf1
#define ACPI_DISABLE   0xf0
#define BMDMA_SIZE     16

/* ---- PIIX3: ISA bridge ---- */

typedef struct PIIX3 {
    PCIDevice parent_obj;
    PirqRouter router;
    uint8_t reset_control;
    MmioRegion *reset_port;
    BusState *isa;
} PIIX3;

static void route_update(PIIX3 *s)
{
    bool moved = false;

    for (unsigned i = 0; i < PIRQ_COUNT; i++) {
        uint8_t reg = s->parent_obj.config[PIRQ_REG + i];

        moved |= pirq_route(&s->router, i, reg & PIRQ_DISABLED ? -1 : reg & 0xf);
    }
    if (moved) {
        pci_bus_intx_moved(s->parent_obj.pbus);
    }
}

static void piix3_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    if (offset < PIRQ_REG + PIRQ_COUNT && offset + size > PIRQ_REG) {
        route_update((PIIX3 *)dev);
    }
}

static void piix3_reset(PCIDevice *dev)
{
    static const struct {
        uint8_t reg, value;
    } defaults[] = {
        {0x4c, 0x4d}, {0x4e, 0x03}, {0x60, 0x80}, {0x61, 0x80}, {0x62, 0x80},
        {0x63, 0x80}, {0x69, 0x02}, {0x70, 0x80}, {0x76, 0x0c}, {0x77, 0x0c}, {0x78, 0x02},
        {0xa0, 0x08}, {0xa8, 0x0f},
    };
    PIIX3 *s = (PIIX3 *)dev;

    memset(dev->config + PCI_STD_HEADER_SIZEOF, 0, 256 - PCI_STD_HEADER_SIZEOF);
    for (unsigned i = 0; i < G_N_ELEMENTS(defaults); i++) {
        dev->config[defaults[i].reg] = defaults[i].value;
    }
    pci_set_word(dev->config + PCI_STATUS, PCI_STATUS_DEVSEL_MEDIUM);
    s->reset_control = 0;
    route_update(s);
}

/* INTA of slot 1 is input 0; each slot is one further. */
static unsigned pirq_of(const PCIDevice *dev, int pin)
{
    return (pin + PCI_SLOT_OF(dev->devfn) + PIRQ_COUNT - 1) % PIRQ_COUNT;
}

static void piix3_set_irq(PCIBus *bus, PCIDevice *dev, int pin, bool level)
{
    PIIX3 *s = bus->opaque;

    pirq_set(&s->router, pirq_of(dev, pin), level);
}

static int piix3_intx_gsi(PCIBus *bus, PCIDevice *dev, int pin)
{
    PIIX3 *s = bus->opaque;

    return pirq_gsi(&s->router, pirq_of(dev, pin));
}

static bool piix3_realize(PCIDevice *dev, Error **errp)
{
    PIIX3 *s = (PIIX3 *)dev;

    for (unsigned i = 0; i < G_N_ELEMENTS(s->router.line); i++) {
        s->router.line[i] = -1;
    }
    s->reset_port = pc_reset_control_new(&s->reset_control);
    s->isa = bus_new(TYPE_ISA_BUS, &dev->parent_obj, "isa.0");
    piix3_reset(dev);
    dev->pbus->set_irq = piix3_set_irq;
    dev->pbus->intx_gsi = piix3_intx_gsi;
    dev->pbus->opaque = s;
    return true;
}

static void piix3_unrealize(PCIDevice *dev)
{
    PIIX3 *s = (PIIX3 *)dev;

    g_clear_pointer(&s->reset_port, mmio_region_free);
    bus_free(s->isa);
    s->isa = NULL;
}

static void piix3_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x7000;
    pc->class_id = 0x060100;
    pc->realize = piix3_realize;
    pc->unrealize = piix3_unrealize;
    pc->config_written = piix3_written;
    pc->reset = piix3_reset;
    ((DeviceClass *)klass)->category = "bridge";
    ((DeviceClass *)klass)->desc = "ISA bridge";
}

static const TypeInfo piix3_type = {
    .name = "PIIX3",
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(PIIX3),
    .class_init = piix3_class_init,
};
TYPE_REGISTER(piix3_type)

/* ---- piix3-ide: a controller without drives ---- */

typedef struct PIIXIde {
    PCIDevice parent_obj;
    uint8_t bmdma[BMDMA_SIZE]; /* two channels: command, -, status, -, table address */
    BusState *buses[2];
} PIIXIde;

static uint64_t bmdma_read(void *opaque, uint64_t offset, unsigned size)
{
    PIIXIde *s = opaque;

    return offset & 4 ? s->bmdma[offset] : offset & 1 ? 0xff : s->bmdma[offset];
}

static void bmdma_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    PIIXIde *s = opaque;

    switch (offset & 7) {
    case 0:
        s->bmdma[offset] = value & 0x08; /* without a drive nothing ever starts */
        break;
    case 2:
        s->bmdma[offset] = (value & 0x60) | (s->bmdma[offset] & 0x06 & ~value);
        break;
    case 4:
        s->bmdma[offset] = value & 0xfc;
        break;
    case 5:
    case 6:
    case 7:
        s->bmdma[offset] = value;
        break;
    }
}

static const MmioOps bmdma_ops = {.read = bmdma_read, .write = bmdma_write, .max_size = 1};

static void piix_ide_reset(PCIDevice *dev)
{
    PIIXIde *s = (PIIXIde *)dev;

    memset(s->bmdma, 0, sizeof(s->bmdma));
    memset(dev->config + PCI_STD_HEADER_SIZEOF, 0, 256 - PCI_STD_HEADER_SIZEOF);
    pci_set_word(dev->config + PCI_STATUS, PCI_STATUS_DEVSEL_MEDIUM | PCI_STATUS_FAST_BACK);
}

static bool piix_ide_realize(PCIDevice *dev, Error **errp)
{
    PIIXIde *s = (PIIXIde *)dev;

    pci_add_bar(dev, 4, mmio_region_new("piix-bmdma-container", &bmdma_ops, s, BMDMA_SIZE),
                PCI_BASE_ADDRESS_SPACE_IO);
    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *name = g_strdup_printf("ide.%u", i);

        s->buses[i] = bus_new("IDE", &dev->parent_obj, name);
    }
    piix_ide_reset(dev);
    return true;
}

static void piix_ide_unrealize(PCIDevice *dev)
{
    for (unsigned i = 0; i < 2; i++) {
        bus_free(((PIIXIde *)dev)->buses[i]);
    }
}

static void piix_ide_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x7010;
    pc->class_id = 0x010180;
    pc->realize = piix_ide_realize;
    pc->unrealize = piix_ide_unrealize;
    pc->reset = piix_ide_reset;
    ((DeviceClass *)klass)->category = "storage";
}

static const TypeInfo piix_ide_type = {
    .name = "piix3-ide",
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(PIIXIde),
    .class_init = piix_ide_class_init,
};
TYPE_REGISTER(piix_ide_type)

/* ---- PIIX4_PM ---- */

typedef struct PIIX4PM {
    PCIDevice parent_obj;
    AcpiPm pm;
    AcpiPciHotplug *hotplug;
    bool bridge_hotplug, root_hotplug;
    uint8_t disable_s3, disable_s4;
} PIIX4PM;

static void piix4_pm_map(PIIX4PM *s)
{
    const uint8_t *c = s->parent_obj.config;

    acpi_pm_map(&s->pm, c[PM_ENABLE_REG] & 1, pci_get_word(c + PM_BASE_REG) & 0xffc0);
}

static void piix4_pm_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    if ((offset < PM_BASE_REG + 4 && offset + size > PM_BASE_REG) ||
        (offset <= PM_ENABLE_REG && offset + size > PM_ENABLE_REG)) {
        piix4_pm_map((PIIX4PM *)dev);
    }
}

static void piix4_pm_reset(PCIDevice *dev)
{
    PIIX4PM *s = (PIIX4PM *)dev;
    uint8_t *c = dev->config;

    memset(c + PCI_STD_HEADER_SIZEOF, 0, 256 - PCI_STD_HEADER_SIZEOF);
    pci_set_word(c + PCI_STATUS, PCI_STATUS_DEVSEL_MEDIUM | PCI_STATUS_FAST_BACK);
    c[PM_BASE_REG] = 0x01;
    if (accel_is("kvm")) {
        /* Guests on KVM have no system management mode, and firmware would wait for the interrupt
         * that leads there: this bit says that somebody has set it up already. */
        c[DEVACTB_REG + 3] = DEVACTB_APMC_EN;
    }
    c[0x5f] = 0x10;
    c[0x63] = 0x60;
    pci_set_word(c + 0x90, 0xb101); /* SMBus base */
    c[0xd2] = 0x09;
    acpi_pm_reset(&s->pm);
    piix4_pm_map(s);
}

static bool piix4_pm_realize(PCIDevice *dev, Error **errp)
{
    PIIX4PM *s = (PIIX4PM *)dev;

    dev->config[PCI_INTERRUPT_PIN] = 1;
    acpi_pm_init(&s->pm, 2, ACPI_ENABLE, ACPI_DISABLE);
    s->pm.s4_val = s->disable_s4 ? 0 : 2;
    acpi_pm_map_gpe(&s->pm, true, GPE_BASE);
    s->hotplug = acpi_pci_hotplug_new(&s->pm, dev->pbus, HOTPLUG_BASE, s->root_hotplug,
                                      s->bridge_hotplug);
    piix4_pm_reset(dev);
    return true;
}

static void piix4_pm_unrealize(PCIDevice *dev)
{
    PIIX4PM *s = (PIIX4PM *)dev;

    acpi_pci_hotplug_free(s->hotplug);
    s->hotplug = NULL;
    acpi_pm_fini(&s->pm);
}

static bool check_s3(Object *obj, const Property *prop, Error **errp)
{
    if (*((uint8_t *)obj + prop->offset) == 0) {
        error_set(errp, "Property '%s.%s': sleep state S3 is not supported", object_type_name(obj),
                  prop->name);
        return false;
    }
    return true;
}

static const Property piix4_pm_props[] = {
    PROP_BOOL("acpi-pci-hotplug-with-bridge-support", PIIX4PM, bridge_hotplug, true),
    PROP_BOOL("acpi-root-pci-hotplug", PIIX4PM, root_hotplug, true),
    {.name = "disable_s3", .type = &prop_uint8, .offset = PROP_FIELD(PIIX4PM, disable_s3),
     .def = DEFAULT_UINT, .def_int = 1, .check = check_s3},
    PROP_UINT8("disable_s4", PIIX4PM, disable_s4, 0),
    PROP_END,
};

static void piix4_pm_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x7113;
    pc->revision = 0x03;
    pc->class_id = 0x068000;
    pc->realize = piix4_pm_realize;
    pc->unrealize = piix4_pm_unrealize;
    pc->config_written = piix4_pm_written;
    pc->reset = piix4_pm_reset;
    ((DeviceClass *)klass)->category = "bridge";
    ((DeviceClass *)klass)->desc = "PM";
}

static const TypeInfo piix4_pm_type = {
    .name = "PIIX4_PM",
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(PIIX4PM),
    .props = piix4_pm_props,
    .class_init = piix4_pm_class_init,
};
TYPE_REGISTER(piix4_pm_type)

BusState *piix_init(MachineState *m, PCIBus *bus, Error **errp)
{
    PCIDevice *isa = pc_pci_device(bus, PCI_DEVFN(PIIX_SLOT, 0), true, "PIIX3", NULL, NULL, errp);

    if (!isa || !pc_pci_device(bus, PCI_DEVFN(PIIX_SLOT, 1), false, "piix3-ide", (Object *)isa,
                               "ide", errp)) {
        return NULL;
    }
    if (m->acpi != ON_OFF_AUTO_OFF && !pc_pci_device(bus, PCI_DEVFN(PIIX_SLOT, 3), false,
                                                     "PIIX4_PM", (Object *)isa, "pm", errp)) {
        return NULL;
    }
    return ((PIIX3 *)isa)->isa;
}
