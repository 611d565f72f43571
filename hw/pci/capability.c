/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities: lists, and the contents that all functions share. */
#include <linux/pci_regs.h>
#include <string.h>

#include "pci-internal.h"

static bool cap_overlaps(const PCIDevice *dev, unsigned offset, unsigned size)
{
    unsigned at = dev->config[PCI_CAPABILITY_LIST];

    /* A capability's bytes are not all writable, as those after the last one are: what
     * pci_add_capability() took has a used mark in this map. */
    for (unsigned i = offset; i < offset + size; i++) {
        if (dev->cap_used[i / 8] & 1U << (i % 8)) {
            return true;
        }
    }
    return at == offset;
}

int pci_add_capability(PCIDevice *dev, uint8_t id, int offset, int size)
{
    unsigned room = (size + 3) & ~3U;

    if (offset == 0) {
        offset = PCI_STD_HEADER_SIZEOF;
        while (offset + room <= 256 && cap_overlaps(dev, offset, room)) {
            offset += 4;
        }
    }
    g_assert(offset >= PCI_STD_HEADER_SIZEOF && offset + size <= 256);
    g_assert(!cap_overlaps(dev, offset, size));
    for (int i = offset; i < offset + (int)room; i++) {
        dev->cap_used[i / 8] |= 1U << (i % 8);
    }
    memset(dev->config + offset, 0, size);
    memset(dev->wmask + offset, 0, size);
    dev->config[offset + PCI_CAP_LIST_ID] = id;
    dev->config[offset + PCI_CAP_LIST_NEXT] = dev->config[PCI_CAPABILITY_LIST];
    dev->config[PCI_CAPABILITY_LIST] = offset;
    dev->config[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
    return offset;
}

void pcie_set_express(PCIDevice *dev)
{
    dev->is_express = true;
    dev->config_size = PCI_CONFIG_MAX;
}

void pcie_endpoint_cap_init(PCIDevice *dev, int offset)
{
    int pos = pci_add_capability(dev, PCI_CAP_ID_EXP, offset, 0x3c);
    uint8_t *c = dev->config + pos, *w = dev->wmask + pos;

    pci_set_word(c + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
    pci_set_long(c + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER |
                                         PCI_EXP_DEVCAP_FLR);
    pci_set_long(c + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_ASPM_L0S | 1 << 4 | PCI_EXP_LNKCAP_SLS_2_5GB);
    pci_set_word(c + PCI_EXP_LNKSTA, 1 << 4 | PCI_EXP_LNKSTA_CLS_2_5GB);
    pci_set_long(c + PCI_EXP_DEVCAP2, 0x00300000); /* extended format and end-end prefixes */
    pci_set_word(w + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_CERE | PCI_EXP_DEVCTL_NFERE |
                                         PCI_EXP_DEVCTL_FERE | PCI_EXP_DEVCTL_URRE);
    pci_set_word(w + PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_CCC | PCI_EXP_LNKCTL_ES);
    pci_set_word(w + PCI_EXP_DEVCTL2, 0x8000);
    dev->exp_cap = pos;
    pcie_set_express(dev);
}

void pci_pm_cap_init(PCIDevice *dev, int offset)
{
    int pos = pci_add_capability(dev, PCI_CAP_ID_PM, offset, PCI_PM_SIZEOF);

    pci_set_word(dev->config + pos + PCI_PM_PMC, 3);
    pci_set_word(dev->wmask + pos + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
}

void pcie_add_ext_capability(PCIDevice *dev, uint16_t id, uint8_t version, int offset, int size)
{
    uint8_t *head = dev->config + PCI_CFG_SPACE_SIZE;

    g_assert(dev->is_express && offset >= PCI_CFG_SPACE_SIZE && offset + size <= PCI_CONFIG_MAX);
    if (offset > PCI_CFG_SPACE_SIZE) {
        unsigned at = PCI_CFG_SPACE_SIZE;

        while (PCI_EXT_CAP_NEXT(pci_get_long(dev->config + at))) {
            at = PCI_EXT_CAP_NEXT(pci_get_long(dev->config + at));
        }
        /* The list begins at 0x100: an empty head (id 0) may stand there. */
        uint32_t prev = pci_get_long(dev->config + at);

        pci_set_long(dev->config + at, (prev & 0xfffff) | (uint32_t)offset << 20);
    } else {
        g_assert(pci_get_long(head) == 0);
    }
    memset(dev->wmask + offset, 0, size);
    pci_set_long(dev->config + offset, id | (uint32_t)(version & 0xf) << 16);
}

/* ---- class names ---- */

const char *pci_class_name(uint16_t class_code)
{
    static const struct {
        uint16_t code;
        const char *name;
    } names[] = {
        {0x0001, "VGA controller"},      {0x0100, "SCSI controller"},
        {0x0101, "IDE controller"},      {0x0102, "Floppy controller"},
        {0x0103, "IPI controller"},      {0x0104, "RAID controller"},
        {0x0106, "SATA controller"},     {0x0107, "SAS controller"},
        {0x0180, "Storage controller"},  {0x0200, "Ethernet controller"},
        {0x0201, "Token Ring controller"}, {0x0202, "FDDI controller"},
        {0x0203, "ATM controller"},      {0x0280, "Network controller"},
        {0x0300, "VGA controller"},      {0x0301, "XGA controller"},
        {0x0302, "3D controller"},       {0x0380, "Display controller"},
        {0x0400, "Video controller"},    {0x0401, "Audio controller"},
        {0x0402, "Phone"},               {0x0403, "Audio controller"},
        {0x0480, "Multimedia controller"}, {0x0500, "RAM controller"},
        {0x0501, "Flash controller"},    {0x0580, "Memory controller"},
        {0x0600, "Host bridge"},         {0x0601, "ISA bridge"},
        {0x0602, "EISA bridge"},         {0x0603, "MC bridge"},
        {0x0604, "PCI bridge"},          {0x0605, "PCMCIA bridge"},
        {0x0606, "NUBUS bridge"},        {0x0607, "CARDBUS bridge"},
        {0x0608, "RACEWAY bridge"},      {0x0680, "Bridge"},
        {0x0700, "Serial port"},         {0x0701, "Parallel port"},
        {0x0800, "Interrupt controller"}, {0x0801, "DMA controller"},
        {0x0802, "Timer"},               {0x0803, "RTC"},
        {0x0900, "Keyboard"},            {0x0901, "Pen"},
        {0x0902, "Mouse"},               {0x0A00, "Dock station"},
        {0x0B00, "i386 cpu"},            {0x0c00, "Firewire controller"},
        {0x0c01, "Access bus controller"}, {0x0c02, "SSA controller"},
        {0x0c03, "USB controller"},      {0x0c04, "Fibre channel controller"},
        {0x0c05, "SMBus"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].code == class_code) {
            return names[i].name;
        }
    }
    return NULL;
}
