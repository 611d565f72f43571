/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pci-bridge, pcie-pci-bridge and i82801b11-bridge: bridges to a conventional bus. They have
 * no standard hot-plug controller; hot-plug behind them is the machine's (ACPI).
 */
#include <linux/pci_regs.h>

#include "hw/pci/bridge.h"
#include "pci-internal.h"
#include "qapi/qapi-common.h"

#define PM_OFFSET  0x84
#define EXP_OFFSET 0x48

typedef struct ConventionalBridge {
    PCIBridge parent_obj;
    uint8_t chassis;
    bool shpc;
    OnOffAuto msi;
} ConventionalBridge;

#define TYPE_CONVENTIONAL_BRIDGE "conventional-pci-bridge"
#define CONVENTIONAL_BRIDGE(obj) OBJECT_CHECK(ConventionalBridge, obj, TYPE_CONVENTIONAL_BRIDGE)

static bool check_shpc(Object *obj, const Property *prop, Error **errp)
{
    if (CONVENTIONAL_BRIDGE(obj)->shpc) {
        error_set(errp, "Property '%s.shpc': a standard hot-plug controller is not supported",
                  object_type_name(obj));
        return false;
    }
    return true;
}

/* Its interrupts would be those of the hot-plug controller. */
static bool check_msi(Object *obj, const Property *prop, Error **errp)
{
    if (CONVENTIONAL_BRIDGE(obj)->msi == ON_OFF_AUTO_ON) {
        error_set(errp, "Property '%s.msi': msi=on is not supported without a hot-plug controller",
                  object_type_name(obj));
        return false;
    }
    return true;
}

static void finish(PCIDevice *dev)
{
    PCIBridge *b = PCI_BRIDGE(dev);

    dev->config[PCI_STATUS] |= PCI_STATUS_66MHZ | PCI_STATUS_FAST_BACK;
    pci_bridge_init(b, TYPE_PCI_BUS, NULL);
    dev->config[PCI_SEC_STATUS] |= PCI_STATUS_66MHZ | PCI_STATUS_FAST_BACK;
    pci_set_word(dev->wmask + PCI_BRIDGE_CONTROL, 0x0bff);
    dev->wmask[PCI_SEC_LATENCY_TIMER] = 0xff;
    if (pci_hotplug_bus_hook) {
        pci_hotplug_bus_hook(b->secondary);
    }
}

static void conventional_unrealize(PCIDevice *dev)
{
    pci_bridge_fini(PCI_BRIDGE(dev));
}

/* ---- pci-bridge ---- */

static bool pci_bridge_realize(PCIDevice *dev, Error **errp)
{
    ConventionalBridge *cb = CONVENTIONAL_BRIDGE(dev);

    if (cb->chassis == 0) {
        error_set(errp, "Bridge chassis not specified. Each bridge is required to be assigned a "
                        "unique chassis id > 0.");
        return false;
    }
    int pos = pci_add_capability(dev, PCI_CAP_ID_SLOTID, 0, 4);

    dev->config[pos + PCI_SID_ESR] = PCI_SID_ESR_FIC;
    dev->config[pos + PCI_SID_CHASSIS_NR] = cb->chassis;
    dev->wmask[pos + PCI_SID_CHASSIS_NR] = 0xff;
    if (!pci_bridge_add_reserve_cap(&cb->parent_obj, errp)) {
        return false;
    }
    finish(dev);
    return true;
}

static void pci_bridge_dev_reset(PCIDevice *dev)
{
    unsigned pos = dev->config[PCI_CAPABILITY_LIST];

    pci_bridge_reset(dev);
    while (pos && dev->config[pos] != PCI_CAP_ID_SLOTID) {
        pos = dev->config[pos + PCI_CAP_LIST_NEXT];
    }
    if (pos) {
        dev->config[pos + PCI_SID_CHASSIS_NR] = CONVENTIONAL_BRIDGE(dev)->chassis;
    }
}

static const Property pci_bridge_props[] = {
    PROP_UINT8("chassis_nr", ConventionalBridge, chassis, 0),
    {.name = "shpc", .type = &prop_bool, .offset = PROP_FIELD(ConventionalBridge, shpc),
     .def = DEFAULT_BOOL, .check = check_shpc},
    PCI_BRIDGE_RESERVE_PROPS(ConventionalBridge, parent_obj),
    PROP_END,
};

static void pci_bridge_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;
    DeviceClass *dc = (DeviceClass *)klass;

    pc->vendor_id = 0x1b36;
    pc->device_id = 0x0001;
    pc->realize = pci_bridge_realize;
    pc->reset = pci_bridge_dev_reset;
    dc->desc = "Standard PCI Bridge";
    dc->user_creatable = dc->hotpluggable = true;
}

static const TypeInfo pci_bridge_type = {
    .name = "pci-bridge",
    .parent = TYPE_CONVENTIONAL_BRIDGE,
    .props = pci_bridge_props,
    .class_init = pci_bridge_class_init,
};
TYPE_REGISTER(pci_bridge_type)

/* ---- pcie-pci-bridge ---- */

static bool pcie_pci_bridge_realize(PCIDevice *dev, Error **errp)
{
    int pos = pci_add_capability(dev, PCI_CAP_ID_EXP, EXP_OFFSET, 0x3c);
    uint8_t *c = dev->config + pos, *w = dev->wmask + pos;

    dev->exp_cap = pos;
    pcie_set_express(dev);
    pci_set_word(c + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_PCI_BRIDGE << 4);
    pci_set_long(c + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER);
    pci_set_long(c + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_ASPM_L0S | 1 << 4 | PCI_EXP_LNKCAP_SLS_2_5GB);
    pci_set_word(c + PCI_EXP_LNKSTA, 1 << 4 | PCI_EXP_LNKSTA_CLS_2_5GB);
    pci_set_long(c + PCI_EXP_DEVCAP2, 0x00300020);
    pci_set_word(w + PCI_EXP_DEVCTL2, 0x8000);
    pci_pm_cap_init(dev, PM_OFFSET);
    finish(dev);
    return true;
}

static void pcie_pci_bridge_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;
    DeviceClass *dc = (DeviceClass *)klass;

    pc->vendor_id = 0x1b36;
    pc->device_id = 0x000e;
    pc->realize = pcie_pci_bridge_realize;
    dc->desc = "PCI Express to PCI bridge";
    dc->user_creatable = dc->hotpluggable = true;
}

static const TypeInfo pcie_pci_bridge_type = {
    .name = "pcie-pci-bridge",
    .parent = TYPE_CONVENTIONAL_BRIDGE,
    .class_init = pcie_pci_bridge_class_init,
};
TYPE_REGISTER(pcie_pci_bridge_type)

/* ---- i82801b11-bridge ---- */

/* As the bridges above, but with neither hot-plug nor interrupts of any kind. */
static bool dmi_bridge_realize(PCIDevice *dev, Error **errp)
{
    int pos = pci_add_capability(dev, PCI_CAP_ID_SSVID, 0x50, 8);

    pci_set_word(dev->config + pos + PCI_SSVID_VENDOR_ID, 0);
    pci_set_word(dev->config + pos + PCI_SSVID_DEVICE_ID, 0);
    finish(dev);
    return true;
}

static void dmi_bridge_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;
    DeviceClass *dc = (DeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x244e;
    pc->revision = 0x92;
    pc->realize = dmi_bridge_realize;
    pc->unrealize = conventional_unrealize;
    dc->desc = "i82801b11 DMI to PCI bridge";
    dc->user_creatable = true;
}

static const TypeInfo dmi_bridge_type = {
    .name = "i82801b11-bridge",
    .parent = TYPE_PCI_BRIDGE,
    .class_init = dmi_bridge_class_init,
};
TYPE_REGISTER(dmi_bridge_type)

/* ---- what the first two are ---- */

static const Property conventional_props[] = {
    {.name = "msi", .type = &prop_enum, .offset = PROP_FIELD(ConventionalBridge, msi),
     .def = DEFAULT_ENUM, .def_int = ON_OFF_AUTO_AUTO, .arg = &qapi_enum_OnOffAuto,
     .check = check_msi},
    PROP_END,
};

static void conventional_class_init(ObjectClass *klass, const void *data)
{
    ((PCIDeviceClass *)klass)->unrealize = conventional_unrealize;
}

static const TypeInfo conventional_type = {
    .name = TYPE_CONVENTIONAL_BRIDGE,
    .parent = TYPE_PCI_BRIDGE,
    .abstract = true,
    .instance_size = sizeof(ConventionalBridge),
    .props = conventional_props,
    .class_init = conventional_class_init,
};
TYPE_REGISTER(conventional_type)
