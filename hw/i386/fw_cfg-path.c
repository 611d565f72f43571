/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open Firmware names of devices, as firmware expects them in the boot order. */
#include <linux/pci_regs.h>

#include "fw_cfg-path.h"
#include "hw/pci/host.h"

static const char *pci_node_name(const PCIDevice *dev)
{
    static const struct {
        uint16_t code;
        const char *name;
    } names[] = {
        {0x0100, "scsi"}, {0x0101, "ide"},  {0x0102, "fdc"},        {0x0106, "ide"},
        {0x0108, "nvme"}, {0x0200, "ethernet"}, {0x0300, "display"}, {0x0604, "pci-bridge"},
        {0x0601, "isa"},
    };
    uint16_t code = pci_get_word(dev->config + PCI_CLASS_DEVICE);

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].code == code) {
            return names[i].name;
        }
    }
    return NULL;
}

void fw_cfg_append_node(GString *s, DeviceState *dev)
{
    if (object_is((Object *)dev, TYPE_PCI_HOST)) {
        g_string_append(s, "/pci@i0cf8");
        return;
    }
    if (!object_is((Object *)dev, TYPE_PCI_DEVICE)) {
        return; /* a part of the device above */
    }
    PCIDevice *pci = PCI_DEVICE(dev);

    if (!pci->config) {
        return;
    }
    const char *name = pci_node_name(pci);

    if (name) {
        g_string_append_printf(s, "/%s@%x", name, PCI_SLOT_OF(pci->devfn));
    } else {
        g_string_append_printf(s, "/pci%04x,%04x@%x", pci_get_word(pci->config + PCI_VENDOR_ID),
                               pci_get_word(pci->config + PCI_DEVICE_ID), PCI_SLOT_OF(pci->devfn));
    }
    if (PCI_FUNC_OF(pci->devfn)) {
        g_string_append_printf(s, ",%x", PCI_FUNC_OF(pci->devfn));
    }
}

void fw_cfg_append_unit(GString *s, DeviceState *dev)
{
    while (dev && !object_is((Object *)dev, TYPE_PCI_DEVICE)) {
        dev = dev->bus ? dev->bus->parent : NULL;
    }
    if (dev && PCI_DEVICE(dev)->config && PCI_DEVICE(dev)->config[PCI_CLASS_DEVICE + 1] == 0x01) {
        g_string_append(s, "/disk@0,0");
    }
}
