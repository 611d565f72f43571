/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PCI function as a device: realize, reset, properties. */
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>

#include "hw/pci/pci.h"
#include "pci-internal.h"

/* ---- "addr" ---- */

static bool addr_parse(const char *s, int32_t *out)
{
    unsigned long slot, fn = 0;
    char *end;

    if (!g_ascii_isxdigit(*s)) {
        return false;
    }
    errno = 0;
    slot = strtoul(s, &end, 16);
    if (*end == '.') {
        if (!g_ascii_isxdigit(end[1])) {
            return false;
        }
        fn = strtoul(end + 1, &end, 16);
    }
    if (*end || errno || slot > 31 || fn > 7) {
        return false;
    }
    *out = PCI_DEVFN(slot, fn);
    return true;
}

static bool addr_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                     Error **errp)
{
    int32_t *field = (int32_t *)((char *)obj + prop->offset);
    GType t = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_value_type(value) : G_TYPE_INVALID;

    if (t == G_TYPE_STRING) {
        const char *s = json_node_get_string(value);

        if (!addr_parse(s, field)) {
            error_set(errp, "Property '%s.%s' doesn't take value '%s'", object_type_name(obj),
                      prop->name, s);
            return false;
        }
        return true;
    }
    if (t != G_TYPE_INT64) {
        error_set(errp, "Invalid parameter type for '%s', expected int or str", prop->name);
        return false;
    }
    int64_t v = json_node_get_int(value);

    if (v < -1 || v > 255) {
        error_set(errp, "Parameter '%s' expects a value between -1 and 255", prop->name);
        return false;
    }
    *field = v;
    return true;
}

static JsonNode *addr_get(Object *obj, const Property *prop, Error **errp)
{
    JsonNode *n = json_node_new(JSON_NODE_VALUE);

    json_node_set_int(n, *(int32_t *)((char *)obj + prop->offset));
    return n;
}

static char *addr_print(Object *obj, const Property *prop)
{
    int32_t v = *(int32_t *)((char *)obj + prop->offset);

    return v < 0 ? g_strdup("<unset>") : g_strdup_printf("%02x.%x", PCI_SLOT_OF(v), PCI_FUNC_OF(v));
}

static void addr_default(Object *obj, const Property *prop)
{
    *(int32_t *)((char *)obj + prop->offset) = prop->def_int;
}

const PropertyType prop_pci_addr = {
    .name = "str",
    .description = "Slot and optional function number, example: 06.0 or 06",
    .size = sizeof(int32_t),
    .set = addr_set,
    .get = addr_get,
    .print = addr_print,
    .set_default = addr_default,
    .has_legacy = true,
};

/* ---- "busnr" ---- */

static JsonNode *busnr_get(Object *obj, const Property *prop, Error **errp)
{
    PCIDevice *dev = PCI_DEVICE(obj);
    JsonNode *n = json_node_new(JSON_NODE_VALUE);

    json_node_set_int(n, dev->pbus ? pci_bus_number(dev->pbus) : 0);
    return n;
}

static char *busnr_print(Object *obj, const Property *prop)
{
    PCIDevice *dev = PCI_DEVICE(obj);
    int n = dev->pbus ? pci_bus_number(dev->pbus) : 0;

    return g_strdup_printf("%d (0x%x)", n, n);
}

static const PropertyType prop_busnr = {.name = "busnr", .get = busnr_get, .print = busnr_print};

static const Property pci_props[] = {
    {.name = "addr", .type = &prop_pci_addr, .offset = PROP_FIELD(PCIDevice, devfn_prop),
     .def = DEFAULT_INT, .def_int = -1},
    PROP_STRING("romfile", PCIDevice, romfile),
    PROP_UINT32("romsize", PCIDevice, romsize, UINT32_MAX),
    PROP_INT32("rombar", PCIDevice, rombar, -1),
    PROP_BOOL("multifunction", PCIDevice, multifunction, false),
    PROP_BIT64("x-pcie-lnksta-dllla", PCIDevice, pcie_flags, PCI_FLAG_LNKSTA_DLLLA, true),
    PROP_BIT64("x-pcie-extcap-init", PCIDevice, pcie_flags, PCI_FLAG_EXTCAP_INIT, true),
    PROP_STRING("failover_pair_id", PCIDevice, failover_pair_id),
    PROP_UINT32("acpi-index", PCIDevice, acpi_index, 0),
    PROP_BIT64("x-pcie-err-unc-mask", PCIDevice, pcie_flags, PCI_FLAG_ERR_UNC_MASK, true),
    PROP_BIT64("x-pcie-ari-nextfn-1", PCIDevice, pcie_flags, PCI_FLAG_ARI_NEXTFN_1, false),
    {.name = "x-max-bounce-buffer-size", .type = &prop_size,
     .offset = PROP_FIELD(PCIDevice, max_bounce), .def = DEFAULT_UINT, .def_int = 4096,
     .description = "Maximum buffer size allocated for bounce buffers used for mapped access to "
                    "indirect DMA memory"},
    PROP_BIT64("x-pcie-ext-tag", PCIDevice, pcie_flags, PCI_FLAG_EXT_TAG, true),
    {.name = "busnr", .type = &prop_busnr, .flags = PROP_READ_ONLY},
    PROP_END,
};

/* ---- life ---- */

static void config_alloc(PCIDevice *dev)
{
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(dev);

    dev->config_size = 256;
    dev->is_express = false;
    dev->exp_cap = 0;
    memset(dev->cap_used, 0, sizeof(dev->cap_used));
    dev->config = g_malloc0(PCI_CONFIG_MAX);
    dev->wmask = g_malloc0(PCI_CONFIG_MAX);
    dev->w1cmask = g_malloc0(PCI_CONFIG_MAX);
    uint8_t *c = dev->config;

    pci_set_word(c + PCI_VENDOR_ID, pc->vendor_id);
    pci_set_word(c + PCI_DEVICE_ID, pc->device_id);
    c[PCI_REVISION_ID] = pc->revision;
    c[PCI_CLASS_PROG] = pc->class_id;
    pci_set_word(c + PCI_CLASS_DEVICE, pc->class_id >> 8);
    c[PCI_HEADER_TYPE] = (pc->is_bridge ? PCI_HEADER_TYPE_BRIDGE : 0) |
                         (dev->multifunction ? 0x80 : 0);
    if (!pc->is_bridge) {
        pci_set_word(c + PCI_SUBSYSTEM_VENDOR_ID,
                     pc->subsystem_vendor_id ? pc->subsystem_vendor_id : 0x1af4);
        pci_set_word(c + PCI_SUBSYSTEM_ID, pc->subsystem_id ? pc->subsystem_id : 0x1100);
    }
    dev->wmask[PCI_CACHE_LINE_SIZE] = 0xff;
    dev->wmask[PCI_INTERRUPT_LINE] = 0xff;
    pci_set_word(dev->wmask + PCI_COMMAND, PCI_COMMAND_IO | PCI_COMMAND_MEMORY |
                                               PCI_COMMAND_MASTER | PCI_COMMAND_SERR |
                                               PCI_COMMAND_INTX_DISABLE);
    pci_set_word(dev->w1cmask + PCI_STATUS,
                 PCI_STATUS_PARITY | PCI_STATUS_SIG_TARGET_ABORT | PCI_STATUS_REC_TARGET_ABORT |
                     PCI_STATUS_REC_MASTER_ABORT | PCI_STATUS_SIG_SYSTEM_ERROR |
                     PCI_STATUS_DETECTED_PARITY);
    /* What no capability claims is storage. */
    memset(dev->wmask + PCI_STD_HEADER_SIZEOF, 0xff, PCI_CONFIG_MAX - PCI_STD_HEADER_SIZEOF);
}

static void config_free(PCIDevice *dev)
{
    g_clear_pointer(&dev->config, g_free);
    g_clear_pointer(&dev->wmask, g_free);
    g_clear_pointer(&dev->w1cmask, g_free);
    for (int i = 0; i < PCI_BAR_COUNT; i++) {
        mmio_region_free(dev->bars[i].region);
        dev->bars[i] = (PCIBar){0};
    }
    pci_rom_fini(dev);
}

static bool pci_realize(DeviceState *d, Error **errp)
{
    PCIDevice *dev = PCI_DEVICE(d);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(dev);

    if (dev->romsize != UINT32_MAX && (dev->romsize & (dev->romsize - 1))) {
        error_set(errp, "ROM size %u is not a power of two", dev->romsize);
        return false;
    }
    config_alloc(dev);
    if (pc->realize && !pc->realize(dev, errp)) {
        goto fail;
    }
    if (dev->failover_pair_id) {
        error_set(errp, "failover primary device is not an Ethernet device");
        goto fail_realized;
    }
    if (!pci_rom_init(dev, errp)) {
        goto fail_realized;
    }
    return true;

fail_realized:
    if (pc->unrealize) {
        pc->unrealize(dev);
    }
fail:
    msix_uninit(dev);
    config_free(dev);
    return false;
}

static void pci_unrealize(DeviceState *d)
{
    PCIDevice *dev = PCI_DEVICE(d);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(dev);

    pci_set_intx(dev, false);
    address_space_batch_begin();
    if (pc->unrealize) {
        pc->unrealize(dev);
    }
    msix_uninit(dev);
    config_free(dev);
    address_space_batch_commit();
}

static void pci_reset(DeviceState *d)
{
    PCIDevice *dev = PCI_DEVICE(d);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(dev);

    if (!dev->config) {
        return;
    }
    dev->irq_level = 0;
    pci_update_intx(dev);
    pci_set_word(dev->config + PCI_COMMAND, 0);
    pci_set_word(dev->config + PCI_STATUS,
                 pci_get_word(dev->config + PCI_STATUS) & ~pci_get_word(dev->w1cmask + PCI_STATUS));
    dev->config[PCI_CACHE_LINE_SIZE] = 0;
    dev->config[PCI_INTERRUPT_LINE] = 0;
    for (int i = 0; i < PCI_BAR_COUNT; i++) {
        const PCIBar *b = &dev->bars[i];

        if (b->region) {
            pci_set_long(dev->config + PCI_BASE_ADDRESS_0 + 4 * i, b->type);
            if (!(b->type & PCI_BASE_ADDRESS_SPACE_IO) &&
                (b->type & PCI_BASE_ADDRESS_MEM_TYPE_64)) {
                pci_set_long(dev->config + PCI_BASE_ADDRESS_0 + 4 * i + 4, 0);
            }
        }
    }
    if (dev->rom.region) {
        pci_set_long(dev->config + PCI_ROM_ADDRESS, 0);
    }
    if (dev->exp_cap) {
        pci_set_word(dev->config + dev->exp_cap + PCI_EXP_DEVCTL, 0);
        pci_set_word(dev->config + dev->exp_cap + PCI_EXP_LNKCTL, 0);
        pci_set_word(dev->config + dev->exp_cap + PCI_EXP_DEVCTL2, 0);
    }
    if (dev->msix) {
        msix_reset(dev);
    }
    pci_update_bars(dev);
    if (pc->reset) {
        pc->reset(dev);
    }
}

/* ---- info qtree ---- */

static char *pci_print_state(DeviceState *d)
{
    PCIDevice *dev = PCI_DEVICE(d);

    if (!dev->config) {
        return NULL;
    }
    const uint8_t *c = dev->config;
    uint16_t cls = pci_get_word(c + PCI_CLASS_DEVICE);
    const char *name = pci_class_name(cls);
    g_autofree char *text = name ? g_strdup_printf("class %s", name)
                                 : g_strdup_printf("Class %04x", cls);
    GString *s = g_string_new(NULL);

    g_string_append_printf(
        s, "%s, addr %02x:%02x.%x, pci id %04x:%04x (sub %04x:%04x)\n", text,
        pci_bus_number(dev->pbus), PCI_SLOT_OF(dev->devfn), PCI_FUNC_OF(dev->devfn),
        pci_get_word(c + PCI_VENDOR_ID), pci_get_word(c + PCI_DEVICE_ID),
        pci_get_word(c + PCI_SUBSYSTEM_VENDOR_ID), pci_get_word(c + PCI_SUBSYSTEM_ID));
    for (int i = 0; i < PCI_BAR_COUNT; i++) {
        const PCIBar *b = &dev->bars[i];

        if (b->region) {
            uint64_t at = pci_bar_address(dev, i);

            g_string_append_printf(s, "bar %d: %s at 0x%" G_GINT64_MODIFIER "x [0x%"
                                   G_GINT64_MODIFIER "x]\n", i,
                                   b->type & PCI_BASE_ADDRESS_SPACE_IO ? "i/o" : "mem", at,
                                   at + b->size - 1);
        }
    }
    return g_string_free(s, false);
}

static void pci_finalize(Object *obj)
{
    PCIDevice *dev = PCI_DEVICE(obj);

    config_free(dev);
}

static void pci_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->bus_type = TYPE_PCI_BUS;
    dc->realize = pci_realize;
    dc->unrealize = pci_unrealize;
    dc->reset = pci_reset;
    dc->print_state = pci_print_state;
}

static const TypeInfo pci_type = {
    .name = TYPE_PCI_DEVICE,
    .parent = TYPE_DEVICE,
    .abstract = true,
    .instance_size = sizeof(PCIDevice),
    .class_size = sizeof(PCIDeviceClass),
    .props = pci_props,
    .class_init = pci_class_init,
    .instance_finalize = pci_finalize,
};
TYPE_REGISTER(pci_type)
