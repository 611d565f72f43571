/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Q35 memory controller hub, and the machine "q35" around it. */
#include <linux/pci_regs.h>
#include <string.h>

#include "ich9.h"
#include "pc.h"

#define MCH_EXT_TSEG  0x50
#define MCH_PCIEXBAR  0x60
#define MCH_PAM       0x90
#define MCH_SMRAM     0x9d
#define MCH_ESMRAMC   0x9e

#define PCIEXBAR_DEFAULT 0xb0000000ULL
#define PCIEXBAR_ENABLE  1
#define SMRAM_DEFAULT    0x02
#define SMRAM_OPEN       0x40
#define SMRAM_LOCK       0x10
#define ESMRAMC_DEFAULT  0x38

/* ---- function 0: configuration of the hub itself ---- */

typedef struct MCH {
    PCIDevice parent_obj;
    PCIHostState *host;
} MCH;

static void pciexbar_update(MCH *s)
{
    static const uint64_t sizes[4] = {256ULL << 20, 128ULL << 20, 64ULL << 20, 0};
    const uint8_t *reg = s->parent_obj.config + MCH_PCIEXBAR;
    uint64_t v = pci_get_long(reg) | (uint64_t)pci_get_long(reg + 4) << 32;
    uint64_t size = v & PCIEXBAR_ENABLE ? sizes[v >> 1 & 3] : 0;

    /* The base has 36 bits. */
    pci_host_set_ecam(s->host, size ? v & (0xfffffffffULL & ~(size - 1)) : 0, size);
}

static void mch_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    MCH *s = (MCH *)dev;

    if (offset < MCH_PAM + 7 && offset + size > MCH_PAM) {
        pc_pam_update(dev->config + MCH_PAM);
    }
    if (offset < MCH_PCIEXBAR + 8 && offset + size > MCH_PCIEXBAR) {
        pciexbar_update(s);
    }
    if (dev->config[MCH_SMRAM] & SMRAM_LOCK) {
        dev->config[MCH_SMRAM] &= ~SMRAM_OPEN;
        dev->wmask[MCH_SMRAM] = 0x20;
        dev->wmask[MCH_ESMRAMC] = 0;
    }
}

static void mch_reset(PCIDevice *dev)
{
    uint8_t *c = dev->config;

    pci_set_word(c + MCH_EXT_TSEG, 16); /* MiB */
    pci_set_long(c + MCH_PCIEXBAR, PCIEXBAR_DEFAULT);
    pci_set_long(c + MCH_PCIEXBAR + 4, 0);
    memset(c + MCH_PAM, 0, 7);
    c[MCH_SMRAM] = SMRAM_DEFAULT;
    c[MCH_ESMRAMC] = ESMRAMC_DEFAULT;
    dev->wmask[MCH_SMRAM] = 0xff;
    dev->wmask[MCH_ESMRAMC] = 0x81;
    pc_pam_update(c + MCH_PAM);
    pciexbar_update((MCH *)dev);
}

static bool mch_realize(PCIDevice *dev, Error **errp)
{
    ((MCH *)dev)->host = PCI_HOST(dev->parent_obj.bus->parent);
    mch_reset(dev);
    return true;
}

static void mch_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x29c0;
    pc->class_id = 0x060000;
    pc->realize = mch_realize;
    pc->config_written = mch_written;
    pc->reset = mch_reset;
    ((DeviceClass *)klass)->category = "bridge";
    ((DeviceClass *)klass)->desc = "Host bridge";
}

static const TypeInfo mch_type = {
    .name = "mch",
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(MCH),
    .class_init = mch_class_init,
};
TYPE_REGISTER(mch_type)

static const TypeInfo q35_host_type = {
    .name = "q35-pcihost",
    .parent = TYPE_PCI_HOST,
};
TYPE_REGISTER(q35_host_type)

/* ---- the machine ---- */

static bool q35_init(MachineState *m, Error **errp)
{
    static const PcRamSplit split = {.threshold = 0xb0000000, .below = 0x80000000};
    g_autoptr(Object) obj = object_new("q35-pcihost");
    PCIHostState *host = PCI_HOST(obj);
    BusState *isa;

    if (!pc_memory_init(m, &split, errp) || !pc_fw_cfg_init(m, errp) ||
        !object_add_child(&m->parent_obj, "q35", obj, errp)) {
        return false;
    }
    host->bus = pci_bus_new(TYPE_PCIE_BUS, &host->parent_obj, NULL, "pcie.0");
    if (!device_realize(&host->parent_obj, main_system_bus(), errp) ||
        !pc_pci_device(host->bus, PCI_DEVFN(0, 0), false, "mch", (Object *)host, "mch", errp)) {
        return false;
    }
    isa = ich9_init(m, host->bus, errp);
    return isa && pc_basic_devices_init(m, &host->parent_obj, isa, errp);
}

static void pc_q35_class_init(ObjectClass *klass, const void *data)
{
    MachineClass *mc = (MachineClass *)klass;

    mc->name = "pc-q35-10.0";
    mc->alias = "q35";
    mc->desc = "Standard PC (Q35 + ICH9, 2009)";
    mc->max_cpus = 4096;
    mc->init = q35_init;
}

static const TypeInfo pc_q35_type = {
    .name = "pc-q35-10.0-machine",
    .parent = TYPE_PC_MACHINE,
    .class_init = pc_q35_class_init,
};
TYPE_REGISTER(pc_q35_type)
