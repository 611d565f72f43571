/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ICH9's SATA controller (AHCI 1.3, no drive on its ports) and SMBus controller (nobody on it).
 */
#include <linux/pci_regs.h>
#include <string.h>

#include "pc.h"

/* ---- ich9-ahci ---- */

#define AHCI_PORTS     6
#define AHCI_SIZE      0x1000
#define AHCI_IDP_SIZE  32
#define IDP_INDEX      0x10
#define IDP_DATA       0x14
#define HOST_CAP       0x00
#define HOST_CTL       0x04
#define HOST_PI        0x0c
#define HOST_VERSION   0x10
#define CAP_VALUE      0xc0141f05 /* 64-bit, NCQ, 32 slots, 6 ports */
#define CTL_RESET      1U
#define CTL_IE         2U
#define CTL_ENABLE     0x80000000U
#define PORT_FIRST     0x100
#define PORT_STRIDE    0x80
#define PORT_LIST_LO   0x00
#define PORT_LIST_HI   0x04
#define PORT_FIS_LO    0x08
#define PORT_FIS_HI    0x0c
#define PORT_IE        0x14
#define PORT_CMD       0x18
#define PORT_TFD       0x20
#define PORT_SIG       0x24
#define PORT_SCTL      0x2c
#define CMD_START      0x0001U
#define CMD_SPIN_UP    0x0002U
#define CMD_POWER      0x0004U
#define CMD_FIS        0x0010U
#define CMD_FIS_ON     0x4000U
#define CMD_LIST_ON    0x8000U
#define TFD_NO_DEVICE  0x7f
#define MSI_OFFSET     0x80
#define SATA_CAP       0xa8

typedef struct AHCI {
    PCIDevice parent_obj;
    uint32_t host_ctl, idp_index;
    uint32_t ports[AHCI_PORTS][PORT_STRIDE / 4];
    MmioRegion *idp;
    BusState *buses[AHCI_PORTS];
} AHCI;

static void ahci_ports_reset(AHCI *s)
{
    memset(s->ports, 0, sizeof(s->ports));
    for (unsigned i = 0; i < AHCI_PORTS; i++) {
        s->ports[i][PORT_CMD / 4] = CMD_SPIN_UP | CMD_POWER;
        s->ports[i][PORT_TFD / 4] = TFD_NO_DEVICE;
        s->ports[i][PORT_SIG / 4] = UINT32_MAX;
    }
}

static uint32_t ahci_reg_read(AHCI *s, uint32_t reg)
{
    switch (reg) {
    case HOST_CAP:
        return CAP_VALUE;
    case HOST_CTL:
        return s->host_ctl;
    case HOST_PI:
        return (1U << AHCI_PORTS) - 1;
    case HOST_VERSION:
        return 0x00010000;
    }
    if (reg >= PORT_FIRST && reg < PORT_FIRST + AHCI_PORTS * PORT_STRIDE) {
        return s->ports[(reg - PORT_FIRST) / PORT_STRIDE][(reg - PORT_FIRST) % PORT_STRIDE / 4];
    }
    return 0;
}

static void ahci_port_write(uint32_t *port, uint32_t reg, uint32_t v)
{
    switch (reg) {
    case PORT_LIST_LO:
    case PORT_FIS_LO:
        port[reg / 4] = v & (reg == PORT_LIST_LO ? ~0x3ffU : ~0xffU);
        break;
    case PORT_LIST_HI:
    case PORT_FIS_HI:
        port[reg / 4] = v;
        break;
    case PORT_IE:
        port[reg / 4] = v & 0xfdc000ff;
        break;
    case PORT_CMD:
        /* The engines run as soon as they are started; there is never anything for them. */
        v &= 0xf3fe001f & ~8U;
        port[reg / 4] = v | (v & CMD_START ? CMD_LIST_ON : 0) | (v & CMD_FIS ? CMD_FIS_ON : 0);
        break;
    case PORT_SCTL:
        port[reg / 4] = v & 0xfff;
        break;
    }
}

static void ahci_reg_write(AHCI *s, uint32_t reg, uint32_t v)
{
    if (reg == HOST_CTL) {
        if (v & CTL_RESET) {
            ahci_ports_reset(s);
            s->host_ctl = CTL_ENABLE;
        } else {
            s->host_ctl = (v & CTL_IE) | CTL_ENABLE;
        }
    } else if (reg >= PORT_FIRST && reg < PORT_FIRST + AHCI_PORTS * PORT_STRIDE) {
        ahci_port_write(s->ports[(reg - PORT_FIRST) / PORT_STRIDE],
                        (reg - PORT_FIRST) % PORT_STRIDE, v);
    }
}

static uint64_t ahci_read(void *opaque, uint64_t offset, unsigned size)
{
    return ahci_reg_read(opaque, offset & ~3U) >> (8 * (offset & 3));
}

static void ahci_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    if (size == 4) {
        ahci_reg_write(opaque, offset, value);
    }
}

static const MmioOps ahci_ops = {.read = ahci_read, .write = ahci_write, .max_size = 4};

static uint64_t idp_read(void *opaque, uint64_t offset, unsigned size)
{
    AHCI *s = opaque;

    return offset == IDP_INDEX  ? s->idp_index
           : offset == IDP_DATA ? ahci_reg_read(s, s->idp_index)
                                : 0;
}

static void idp_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    AHCI *s = opaque;

    if (offset == IDP_INDEX && size == 4) {
        s->idp_index = value & (AHCI_SIZE - 4);
    } else if (offset == IDP_DATA && size == 4) {
        ahci_reg_write(s, s->idp_index, value);
    }
}

static const MmioOps idp_ops = {.read = idp_read, .write = idp_write, .max_size = 4};

static void ahci_reset(PCIDevice *dev)
{
    AHCI *s = (AHCI *)dev;
    uint8_t *msi = dev->config + MSI_OFFSET;

    ahci_ports_reset(s);
    s->host_ctl = CTL_ENABLE;
    s->idp_index = 0;
    pci_set_word(msi + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT);
    memset(msi + PCI_MSI_ADDRESS_LO, 0, 10);
    dev->config[0x90] = 0x40; /* AHCI mode */
}

static bool ahci_realize(PCIDevice *dev, Error **errp)
{
    AHCI *s = (AHCI *)dev;

    dev->config[PCI_INTERRUPT_PIN] = 1;
    int sata = pci_add_capability(dev, 0x12 /* SATA */, SATA_CAP, 8);

    pci_set_word(dev->config + sata + 2, 0x10);
    pci_set_long(dev->config + sata + 4, 4 << 4 | 8); /* index/data pair: BAR 4, offset 0x10 */
    int msi = pci_add_capability(dev, PCI_CAP_ID_MSI, MSI_OFFSET, 14);

    pci_set_word(dev->config + msi + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT);
    pci_set_word(dev->wmask + msi + PCI_MSI_FLAGS, PCI_MSI_FLAGS_ENABLE);
    pci_set_long(dev->wmask + msi + PCI_MSI_ADDRESS_LO, 0xfffffffc);
    pci_set_long(dev->wmask + msi + PCI_MSI_ADDRESS_HI, UINT32_MAX);
    pci_set_word(dev->wmask + msi + PCI_MSI_DATA_64, 0xffff);
    pci_add_bar(dev, 4, mmio_region_new("ahci-idp", &idp_ops, s, AHCI_IDP_SIZE),
                PCI_BASE_ADDRESS_SPACE_IO);
    pci_add_bar(dev, 5, mmio_region_new("ahci", &ahci_ops, s, AHCI_SIZE), 0);
    for (unsigned i = 0; i < AHCI_PORTS; i++) {
        g_autofree char *name = g_strdup_printf("ide.%u", i);

        s->buses[i] = bus_new("IDE", &dev->parent_obj, name);
    }
    ahci_reset(dev);
    return true;
}

static void ahci_unrealize(PCIDevice *dev)
{
    for (unsigned i = 0; i < AHCI_PORTS; i++) {
        bus_free(((AHCI *)dev)->buses[i]);
    }
}

static void ahci_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x2922;
    pc->revision = 0x02;
    pc->class_id = 0x010601;
    pc->realize = ahci_realize;
    pc->unrealize = ahci_unrealize;
    pc->reset = ahci_reset;
    ((DeviceClass *)klass)->category = "storage";
}

static const TypeInfo ahci_type = {
    .name = "ich9-ahci",
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(AHCI),
    .class_init = ahci_class_init,
};
TYPE_REGISTER(ahci_type)

/* ---- ICH9-SMB ---- */

#define SMB_SIZE       64
#define SMB_STATUS     0
#define SMB_CONTROL    2
#define STATUS_DEV_ERR 0x04
#define STATUS_CLEAR   0xde
#define CONTROL_START  0x40

typedef struct SMB {
    PCIDevice parent_obj;
    uint8_t regs[SMB_SIZE];
} SMB;

static uint64_t smb_read(void *opaque, uint64_t offset, unsigned size)
{
    return offset < 8 ? ((SMB *)opaque)->regs[offset] : 0;
}

static void smb_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    SMB *s = opaque;

    if (offset >= 8) {
        return;
    }
    switch (offset) {
    case SMB_STATUS:
        s->regs[SMB_STATUS] &= ~(value & STATUS_CLEAR);
        break;
    case SMB_CONTROL:
        s->regs[SMB_CONTROL] = value & ~CONTROL_START;
        if (value & CONTROL_START) {
            /* Nobody acknowledges any address. */
            s->regs[SMB_STATUS] |= STATUS_DEV_ERR;
        }
        break;
    default:
        s->regs[offset] = value;
        break;
    }
}

static const MmioOps smb_ops = {.read = smb_read, .write = smb_write, .max_size = 1};

static void smb_reset(PCIDevice *dev)
{
    memset(((SMB *)dev)->regs, 0, SMB_SIZE);
    dev->config[0x40] = 0;
}

static bool smb_realize(PCIDevice *dev, Error **errp)
{
    dev->config[PCI_INTERRUPT_PIN] = 1;
    dev->wmask[0x40] = 0xf7;
    pci_add_bar(dev, 4, mmio_region_new("pm-smbus", &smb_ops, dev, SMB_SIZE),
                PCI_BASE_ADDRESS_SPACE_IO);
    return true;
}

static void smb_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x2930;
    pc->revision = 0x02;
    pc->class_id = 0x0c0500;
    pc->realize = smb_realize;
    pc->reset = smb_reset;
    ((DeviceClass *)klass)->category = "bridge";
    ((DeviceClass *)klass)->desc = "ICH9 SMBUS Bridge";
}

static const TypeInfo smb_type = {
    .name = "ICH9-SMB",
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(SMB),
    .class_init = smb_class_init,
};
TYPE_REGISTER(smb_type)
