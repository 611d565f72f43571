/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pcie-root-port: a root port with one slot. */
#include <linux/pci_regs.h>

#include "pci-internal.h"
#include "pcie-slot.h"

#define SSVID_OFFSET 0x40
#define MSIX_OFFSET  0x48
#define EXP_OFFSET   0x54
#define EXP_SIZE     0x3c
#define AER_OFFSET   0x100
#define AER_SIZE     0x48
#define ACS_OFFSET   (AER_OFFSET + AER_SIZE)
#define ACS_SIZE     8

/* Errors that are masked at reset: ACS violation and uncorrectable internal error. */
#define AER_UNCOR_MASK     0x02400000
#define AER_UNCOR_SEVERITY 0x00462030
#define AER_UNCOR_WRITABLE 0x03fff030
#define AER_COR_MASK       0x0000e000
#define AER_COR_WRITABLE   0x0000f1c1
#define AER_CAP            0x000002a0 /* ECRC generation and check, multiple header recording */
#define AER_CAP_WRITABLE   0x00000540

static const char *const speed_values[] = {"2_5", "5", "8", "16", "32", "64", NULL};
static const QapiEnum link_speed = {"PCIELinkSpeed", speed_values};
static const char *const width_values[] = {"1", "2", "4", "8", "12", "16", "32", NULL};
static const uint8_t width_lanes[] = {1, 2, 4, 8, 12, 16, 32};
static const QapiEnum link_width = {"PCIELinkWidth", width_values};

/* ---- chassis and slot numbers, by which a person finds the slot ---- */

static GHashTable *taken;

static gpointer chassis_key(const PCIESlot *s)
{
    return GUINT_TO_POINTER(((unsigned)s->chassis << 16 | s->slot) + 1);
}

static bool chassis_take(PCIESlot *s, Error **errp)
{
    if (!taken) {
        taken = g_hash_table_new(NULL, NULL);
    }
    if (!g_hash_table_add(taken, chassis_key(s))) {
        error_set(errp, "Can't add chassis slot, error -16");
        return false;
    }
    s->registered = true;
    return true;
}

static void chassis_give_back(PCIESlot *s)
{
    if (s->registered) {
        g_hash_table_remove(taken, chassis_key(s));
        s->registered = false;
    }
}

/* ---- capabilities ---- */

static void express_cap_init(PCIESlot *s, PCIDevice *dev)
{
    unsigned pos = pci_add_capability(dev, PCI_CAP_ID_EXP, EXP_OFFSET, EXP_SIZE);
    uint8_t *c = dev->config + pos, *w = dev->wmask + pos;
    unsigned speed = s->speed + 1;

    dev->exp_cap = pos;
    pcie_set_express(dev);
    pci_set_word(c + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ROOT_PORT << 4 | PCI_EXP_FLAGS_SLOT);
    pci_set_long(c + PCI_EXP_DEVCAP,
                 PCI_EXP_DEVCAP_RBER |
                     (dev->pcie_flags & 1U << PCI_FLAG_EXT_TAG ? PCI_EXP_DEVCAP_EXT_TAG : 0));
    pci_set_long(c + PCI_EXP_LNKCAP,
                 (uint32_t)s->port << 24 | PCI_EXP_LNKCAP_LBNC | PCI_EXP_LNKCAP_DLLLARC |
                     PCI_EXP_LNKCAP_ASPM_L0S | width_lanes[s->width] << 4 | speed);
    pci_set_long(c + PCI_EXP_DEVCAP2, 0x00300020); /* prefixes, ARI forwarding */
    pci_set_long(c + PCI_EXP_LNKCAP2, ((1U << speed) - 1) << 1);
    pci_set_word(c + PCI_EXP_LNKCTL2, speed);
    pci_set_word(w + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE |
                                         PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE);
    pci_set_word(w + PCI_EXP_RTCTL, PCI_EXP_RTCTL_SECEE | PCI_EXP_RTCTL_SENFEE |
                                        PCI_EXP_RTCTL_SEFEE);
    pci_set_word(w + PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_ARI | 0x8000);
}

static void aer_reset(PCIDevice *dev)
{
    uint8_t *c = dev->config + AER_OFFSET;
    bool mask = dev->pcie_flags & 1U << PCI_FLAG_ERR_UNC_MASK;

    pci_set_long(c + PCI_ERR_UNCOR_MASK, mask ? AER_UNCOR_MASK : 0);
    pci_set_long(c + PCI_ERR_UNCOR_SEVER, AER_UNCOR_SEVERITY);
    pci_set_long(c + PCI_ERR_COR_MASK, AER_COR_MASK);
    pci_set_long(c + PCI_ERR_CAP, AER_CAP);
    pci_set_long(c + PCI_ERR_ROOT_COMMAND, 0);
}

static void ext_caps_init(PCIESlot *s, PCIDevice *dev)
{
    uint8_t *w = dev->wmask + AER_OFFSET;

    pcie_add_ext_capability(dev, PCI_EXT_CAP_ID_ERR, 2, AER_OFFSET, AER_SIZE);
    pci_set_long(w + PCI_ERR_UNCOR_MASK, AER_UNCOR_WRITABLE);
    pci_set_long(w + PCI_ERR_UNCOR_SEVER, AER_UNCOR_WRITABLE);
    pci_set_long(w + PCI_ERR_COR_MASK, AER_COR_WRITABLE);
    pci_set_long(w + PCI_ERR_CAP, AER_CAP_WRITABLE);
    pci_set_long(w + PCI_ERR_ROOT_COMMAND, 7);
    aer_reset(dev);
    if (!s->disable_acs) {
        pcie_add_ext_capability(dev, PCI_EXT_CAP_ID_ACS, 1, ACS_OFFSET, ACS_SIZE);
        pci_set_word(dev->config + ACS_OFFSET + PCI_ACS_CAP,
                     PCI_ACS_SV | PCI_ACS_TB | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF | PCI_ACS_DT);
        pci_set_word(dev->wmask + ACS_OFFSET + PCI_ACS_CTRL,
                     PCI_ACS_SV | PCI_ACS_TB | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF | PCI_ACS_DT);
    }
}

/* ---- life ---- */

static bool root_port_realize(PCIDevice *dev, Error **errp)
{
    PCIESlot *s = PCIE_SLOT(dev);
    PCIBridge *b = PCI_BRIDGE(dev);

    if (!chassis_take(s, errp)) {
        return false;
    }
    dev->config[PCI_INTERRUPT_PIN] = 1;
    unsigned ssvid = pci_add_capability(dev, PCI_CAP_ID_SSVID, SSVID_OFFSET, 8);

    pci_set_word(dev->config + ssvid + PCI_SSVID_VENDOR_ID, PCI_DEVICE_CLASS(dev)->vendor_id);
    msix_init(dev, 1, 0, MSIX_OFFSET);
    express_cap_init(s, dev);
    pcie_slot_init(s);
    ext_caps_init(s, dev);
    if (!pci_bridge_add_reserve_cap(b, errp)) {
        chassis_give_back(s);
        return false;
    }
    pci_bridge_init(b, TYPE_PCIE_BUS, NULL);
    b->secondary->is_port = true;
    if (s->hotplug) {
        b->secondary->parent_obj.hotplug = &pcie_slot_hotplug_ops;
        if (pci_hotplug_bus_hook) {
            pci_hotplug_bus_hook(b->secondary);
        }
    }
    return true;
}

static void root_port_unrealize(PCIDevice *dev)
{
    pci_bridge_fini(PCI_BRIDGE(dev));
    chassis_give_back(PCIE_SLOT(dev));
}

static void root_port_reset(PCIDevice *dev)
{
    uint8_t *c = dev->config + dev->exp_cap;

    pci_set_word(c + PCI_EXP_RTCTL, 0);
    pci_set_word(c + PCI_EXP_LNKCTL2, PCIE_SLOT(dev)->speed + 1);
    aer_reset(dev);
    if (!PCIE_SLOT(dev)->disable_acs) {
        pci_set_word(dev->config + ACS_OFFSET + PCI_ACS_CTRL, 0);
    }
    pci_bridge_reset(dev);
    pcie_slot_reset(PCIE_SLOT(dev));
}

static void root_port_read(PCIDevice *dev, unsigned offset, unsigned size)
{
    if (range_touches(offset, size, dev->exp_cap + PCI_EXP_LNKSTA, 2)) {
        pcie_slot_update_link(PCIE_SLOT(dev));
    }
}

static void root_port_write_begin(PCIDevice *dev, unsigned offset, uint32_t value, unsigned size)
{
    pcie_slot_write_begin(PCIE_SLOT(dev), offset, value, size);
}

static void root_port_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    pci_bridge_config_written(dev, offset, size);
    pcie_slot_written(PCIE_SLOT(dev), offset, size);
}

static const Property slot_props[] = {
    PROP_UINT8("port", PCIESlot, port, 0),
    PROP_UINT8("chassis", PCIESlot, chassis, 0),
    PROP_UINT16("slot", PCIESlot, slot, 0),
    PROP_BOOL("hotplug", PCIESlot, hotplug, true),
    PROP_BOOL("power_controller_present", PCIESlot, power_controller, true),
    PROP_BOOL("disable-acs", PCIESlot, disable_acs, false),
    PROP_BOOL("x-do-not-expose-native-hotplug-cap", PCIESlot, hide_hotplug_cap, false),
    PROP_ENUM("x-speed", PCIESlot, speed, link_speed, 3),
    PROP_ENUM("x-width", PCIESlot, width, link_width, 6),
    PCI_BRIDGE_RESERVE_PROPS(PCIESlot, parent_obj),
    PROP_END,
};

static void slot_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->realize = root_port_realize;
    pc->unrealize = root_port_unrealize;
    pc->reset = root_port_reset;
    pc->config_read = root_port_read;
    pc->config_write_begin = root_port_write_begin;
    pc->config_written = root_port_written;
}

static const TypeInfo slot_type = {
    .name = TYPE_PCIE_SLOT,
    .parent = TYPE_PCI_BRIDGE,
    .abstract = true,
    .instance_size = sizeof(PCIESlot),
    .props = slot_props,
    .class_init = slot_class_init,
};
TYPE_REGISTER(slot_type)

static void root_port_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;
    DeviceClass *dc = (DeviceClass *)klass;

    pc->vendor_id = 0x1b36;
    pc->device_id = 0x000c;
    dc->desc = "PCI Express Root Port";
    dc->user_creatable = true;
    dc->hotpluggable = true;
}

static const TypeInfo root_port_type = {
    .name = "pcie-root-port",
    .parent = TYPE_PCIE_SLOT,
    .class_init = root_port_class_init,
};
TYPE_REGISTER(root_port_type)
