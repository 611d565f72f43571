/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the PC machines share: options, I/O APIC, reset ports. */
#include "pc.h"

#include <linux/pci_regs.h>

#include "hw/core/runstate.h"
#include "hw/i386/boot.h"
#include "hw/i386/irqchip.h"

PCIDevice *pc_pci_device(PCIBus *bus, int devfn, bool multifunction, const char *type,
                         Object *parent, const char *name, Error **errp)
{
    g_autoptr(Object) obj = object_new(type);
    PCIDevice *dev = PCI_DEVICE(obj);

    dev->devfn_prop = devfn;
    dev->multifunction = multifunction;
    if (name && !object_add_child(parent, name, obj, errp)) {
        return NULL;
    }
    return device_realize(&dev->parent_obj, &bus->parent_obj, errp) ? dev : NULL;
}

/* ---- port 0xcf9 ---- */

static uint64_t reset_control_read(void *opaque, uint64_t offset, unsigned size)
{
    return *(uint8_t *)opaque;
}

static void reset_control_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    uint8_t *reg = opaque;

    if (value & 4) {
        request_reset(SHUTDOWN_CAUSE_GUEST_RESET);
        return;
    }
    *reg = value & 2; /* the kind of reset; the trigger reads as 0 */
}

static const MmioOps reset_control_ops = {
    .read = reset_control_read,
    .write = reset_control_write,
    .max_size = 1,
};

MmioRegion *pc_reset_control_new(uint8_t *value)
{
    MmioRegion *r = mmio_region_new("reset-control", &reset_control_ops, value, 1);

    /* It lies among the bytes of the configuration address. */
    mmio_region_map(r, guest_ports, 0xcf9, 1);
    return r;
}

/* ---- port 0x92 ---- */

typedef struct Port92 {
    ISADevice parent_obj;
    uint8_t value;
    MmioRegion *port;
} Port92;

static uint64_t port92_read(void *opaque, uint64_t offset, unsigned size)
{
    return ((Port92 *)opaque)->value;
}

static void port92_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    Port92 *s = opaque;
    bool reset = (value & 1) && !(s->value & 1);

    s->value = value;
    if (reset) {
        request_reset(SHUTDOWN_CAUSE_GUEST_RESET);
    }
}

static const MmioOps port92_ops = {.read = port92_read, .write = port92_write, .max_size = 1};

static bool port92_realize(DeviceState *dev, Error **errp)
{
    Port92 *s = (Port92 *)dev;

    s->port = mmio_region_new("port92", &port92_ops, s, 1);
    mmio_region_map(s->port, guest_ports, 0x92, 0);
    return true;
}

static void port92_unrealize(DeviceState *dev)
{
    g_clear_pointer(&((Port92 *)dev)->port, mmio_region_free);
}

static void port92_reset(DeviceState *dev)
{
    ((Port92 *)dev)->value &= ~1;
}

static void port92_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = port92_realize;
    dc->unrealize = port92_unrealize;
    dc->reset = port92_reset;
}

static const TypeInfo port92_type = {
    .name = "port92",
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(Port92),
    .class_init = port92_class_init,
};
TYPE_REGISTER(port92_type)

bool pc_basic_devices_init(MachineState *m, DeviceState *host, BusState *isa, Error **errp)
{
    static const char *const isa_devices[] = {"mc146818rtc", "port92", "i8042", "isa-i8259",
                                              "isa-pit"};
    enum { KERNEL_HAS = 3 }; /* from here on: only for an accelerator that lacks them */
    g_autoptr(Object) ioapic = object_new("ioapic");

    if (!object_add_child(&host->parent_obj, "ioapic", ioapic, errp) ||
        !device_realize(DEVICE(ioapic), main_system_bus(), errp)) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(isa_devices); i++) {
        g_autoptr(Object) dev = NULL;

        if ((!m->i8042 && g_str_equal(isa_devices[i], "i8042")) ||
            (m->pit == ON_OFF_AUTO_OFF && g_str_equal(isa_devices[i], "isa-pit")) ||
            (!irqchip_ops() && i >= KERNEL_HAS)) {
            continue;
        }
        dev = object_new(isa_devices[i]);
        if (!device_realize(DEVICE(dev), isa, errp)) {
            return false;
        }
    }
    return pc_boot_init(m, errp);
}

/* ---- options ---- */

static bool refuse_on(Object *obj, const Property *prop, Error **errp)
{
    if (*(bool *)((char *)obj + prop->offset)) {
        error_set(errp, "%s=on is not supported by machine '%s'", prop->name,
                  ((MachineClass *)obj->klass)->name);
        return false;
    }
    return true;
}

static bool refuse_auto_on(Object *obj, const Property *prop, Error **errp)
{
    if (*(OnOffAuto *)((char *)obj + prop->offset) == ON_OFF_AUTO_ON) {
        error_set(errp, "%s=on is not supported by machine '%s'", prop->name,
                  ((MachineClass *)obj->klass)->name);
        return false;
    }
    return true;
}

static bool refuse_auto_off(Object *obj, const Property *prop, Error **errp)
{
    if (*(OnOffAuto *)((char *)obj + prop->offset) == ON_OFF_AUTO_OFF) {
        error_set(errp, "%s=off is not supported by machine '%s'", prop->name,
                  ((MachineClass *)obj->klass)->name);
        return false;
    }
    return true;
}

#define PC_BOOL(n, f, dflt, chk, text)                                                             \
    { .name = (n), .type = &prop_object_bool, .offset = offsetof(MachineState, f),                 \
      .def = DEFAULT_BOOL, .def_int = (dflt), .check = (chk), .description = (text) }
#define PC_ON_OFF_AUTO(n, f, chk, text)                                                            \
    { .name = (n), .type = &prop_enum, .offset = offsetof(MachineState, f), .def = DEFAULT_ENUM,   \
      .def_int = ON_OFF_AUTO_AUTO, .arg = &qapi_enum_OnOffAuto, .check = (chk),                    \
      .description = (text) }

static const Property pc_props[] = {
    PC_ON_OFF_AUTO("acpi", acpi, NULL, "Enable ACPI"),
    PC_ON_OFF_AUTO("vmport", vmport, refuse_auto_on, "Enable vmport (pc & q35)"),
    PC_ON_OFF_AUTO("smm", smm, refuse_auto_on, "Enable SMM"),
    PC_ON_OFF_AUTO("pic", pic, refuse_auto_off, "Enable i8259 PIC"),
    PC_ON_OFF_AUTO("pit", pit, NULL, "Enable i8254 PIT"),
    PC_BOOL("hpet", hpet, false, refuse_on, "Enable/disable high precision event timer emulation"),
    PC_BOOL("i8042", i8042, true, NULL,
            "Enable/disable Intel 8042 PS/2 controller emulation"),
    PC_BOOL("sata", sata, true, NULL, "Enable/disable Serial ATA bus"),
    PC_BOOL("smbus", smbus, true, NULL, "Enable/disable system management bus"),
    {.name = "max-ram-below-4g", .type = &prop_size,
     .offset = offsetof(MachineState, max_ram_below_4g), .def = DEFAULT_UINT,
     .description = "Maximum ram below the 4G boundary (32bit boundary)"},
    PROP_END,
};

static void pc_class_init(ObjectClass *klass, const void *data)
{
    MachineClass *mc = (MachineClass *)klass;

    mc->has_acpi = true;
    mc->default_cpu_type = "qemu64-x86_64-cpu";
    mc->default_ram_id = "pc.ram";
    mc->default_if = "ide";
}

static const TypeInfo pc_type = {
    .name = TYPE_PC_MACHINE,
    .parent = TYPE_MACHINE,
    .abstract = true,
    .props = pc_props,
    .class_init = pc_class_init,
};
TYPE_REGISTER(pc_type)

/* ---- the empty machine ---- */

static void none_class_init(ObjectClass *klass, const void *data)
{
    MachineClass *mc = (MachineClass *)klass;

    mc->name = "none";
    mc->desc = "empty machine";
    mc->max_cpus = 1;
    mc->default_ram_id = "ram";
    mc->default_if = "ide";
}

static const TypeInfo none_type = {
    .name = "none-machine",
    .parent = TYPE_MACHINE,
    .class_init = none_class_init,
};
TYPE_REGISTER(none_type)
