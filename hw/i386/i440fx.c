/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The i440FX host bridge, and the machine "pc" around it. */
#include <linux/pci_regs.h>
#include <string.h>

#include "pc.h"
#include "piix.h"

#define I440FX_PAM   0x59
#define I440FX_SMRAM 0x72
#define SMRAM_DEFAULT 0x02
#define SMRAM_OPEN    0x40
#define SMRAM_LOCK    0x10

/* ---- function 0: configuration of the bridge itself ---- */

static void i440fx_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    if (offset < I440FX_PAM + 7 && offset + size > I440FX_PAM) {
        pc_pam_update(dev->config + I440FX_PAM);
    }
    if (dev->config[I440FX_SMRAM] & SMRAM_LOCK) {
        /* Locked until the next reset, with system management memory closed. */
        dev->config[I440FX_SMRAM] &= ~SMRAM_OPEN;
        dev->wmask[I440FX_SMRAM] = 0x20;
    }
}

static void i440fx_reset(PCIDevice *dev)
{
    memset(dev->config + I440FX_PAM, 0, 7);
    dev->config[I440FX_SMRAM] = SMRAM_DEFAULT;
    dev->wmask[I440FX_SMRAM] = 0xff;
    pc_pam_update(dev->config + I440FX_PAM);
}

static bool i440fx_realize(PCIDevice *dev, Error **errp)
{
    dev->config[I440FX_SMRAM] = SMRAM_DEFAULT;
    /* Row boundary 7: all RAM, in units of 8 MiB. */
    dev->config[0x57] = MIN(current_machine->ram_size >> 23, 255);
    return true;
}

static void i440fx_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->vendor_id = 0x8086;
    pc->device_id = 0x1237;
    pc->revision = 0x02;
    pc->class_id = 0x060000;
    pc->realize = i440fx_realize;
    pc->config_written = i440fx_written;
    pc->reset = i440fx_reset;
    ((DeviceClass *)klass)->category = "bridge";
    ((DeviceClass *)klass)->desc = "Host bridge";
}

static const TypeInfo i440fx_type = {
    .name = "i440FX",
    .parent = TYPE_PCI_DEVICE,
    .class_init = i440fx_class_init,
};
TYPE_REGISTER(i440fx_type)

static const TypeInfo i440fx_host_type = {
    .name = "i440FX-pcihost",
    .parent = TYPE_PCI_HOST,
};
TYPE_REGISTER(i440fx_host_type)

/* ---- the machine ---- */

static bool pc_init(MachineState *m, Error **errp)
{
    static const PcRamSplit split = {.threshold = 0xe0000000, .below = 0xc0000000};
    g_autoptr(Object) obj = object_new("i440FX-pcihost");
    PCIHostState *host = PCI_HOST(obj);
    BusState *isa;

    if (!pc_memory_init(m, &split, errp) || !pc_fw_cfg_init(m, errp) ||
        !object_add_child(&m->parent_obj, "i440fx", obj, errp)) {
        return false;
    }
    host->bus = pci_bus_new(TYPE_PCI_BUS, &host->parent_obj, NULL, "pci.0");
    if (!device_realize(&host->parent_obj, main_system_bus(), errp) ||
        !pc_pci_device(host->bus, PCI_DEVFN(0, 0), false, "i440FX", NULL, NULL, errp)) {
        return false;
    }
    isa = piix_init(m, host->bus, errp);
    return isa && pc_basic_devices_init(m, &host->parent_obj, isa, errp);
}

static void pc_i440fx_class_init(ObjectClass *klass, const void *data)
{
    MachineClass *mc = (MachineClass *)klass;

    mc->name = "pc-i440fx-10.0";
    mc->alias = "pc";
    mc->desc = "Standard PC (i440FX + PIIX, 1996)";
    mc->is_default = true;
    mc->max_cpus = 255;
    mc->init = pc_init;
}

static const TypeInfo pc_i440fx_type = {
    .name = "pc-i440fx-10.0-machine",
    .parent = TYPE_PC_MACHINE,
    .class_init = pc_i440fx_class_init,
};
TYPE_REGISTER(pc_i440fx_type)
