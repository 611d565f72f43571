/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machines of earlier versions, by which guests that were installed on one keep the devices they
 * know: what has changed since in disks, bridges and chipset is set back. What has changed in
 * processor models, firmware tables and migration is not.
 */
#include "pc.h"

#include <stdlib.h>

typedef struct PcVersion {
    const char *name;
    unsigned q35_max_cpus;
    bool deprecated, numa_mem;
} PcVersion;

static const PcVersion versions[] = {
    { "9.2", 4096, false, false },  { "9.1", 4096, false, false }, { "9.0", 4096, false, false },
    { "8.2", 1024, false, false },  { "8.1", 1024, false, false }, { "8.0", 288, false, false },
    { "7.2", 288, false, false },   { "7.1", 288, false, false },  { "7.0", 288, true, false },
    { "6.2", 288, true, false },    { "6.1", 288, true, false },   { "6.0", 288, true, false },
    { "5.2", 288, true, false },    { "5.1", 288, true, false },   { "5.0", 288, true, true },
    { "4.2", 288, true, true },     { "4.1", 288, true, true },    { "4.0.1", 288, true, true },
    { "4.0", 288, true, true },     { "3.1", 288, true, true },    { "3.0", 288, true, true },
    { "2.12", 288, true, true },    { "2.11", 288, true, true },   { "2.10", 288, true, true },
    { "2.9", 288, true, true },     { "2.8", 288, true, true },    { "2.7", 255, true, true },
    { "2.6", 255, true, true },     { "2.5", 255, true, true },    { "2.4", 255, true, true },
};

/* Defaults of machines up to and including a version. */
static const struct {
    const char *last, *type, *property, *value;
} changes[] = {
    { "9.1", "pci-device", "x-pcie-ext-tag", "false" },
    { "9.0", "virtio-pci", "x-pcie-pm-no-soft-reset", "off" },
    { "8.0", "pci-device", "x-pcie-ari-nextfn-1", "on" },
    { "7.2", "pci-device", "x-pcie-err-unc-mask", "off" },
    { "7.2", "ICH9-LPC", "noreboot", "true" },
    { "7.1", "virtio-device", "queue_reset", "false" },
    { "6.0", "ICH9-LPC", "acpi-pci-hotplug-with-bridge-support", "off" },
    { "5.2", "virtio-blk-device", "report-discard-granularity", "off" },
    { "5.1", "virtio-blk-device", "num-queues", "1" },
    { "5.1", "virtio-pci", "x-ats-page-aligned", "off" },
    { "5.1", "pvpanic", "events", "1" },
    { "5.0", "virtio-device", "x-disable-legacy-check", "true" },
    { "4.2", "virtio-blk-device", "queue-size", "128" },
    { "4.2", "virtio-blk-device", "seg-max-adjust", "off" },
    { "4.2", "virtio-blk-device", "x-enable-wce-if-config-wce", "off" },
    { "4.2", "virtio-device", "use-disabled-flag", "false" },
    { "4.1", "virtio-pci", "x-pcie-flr-init", "off" },
    { "4.0.1", "virtio-device", "use-started", "false" },
    { "3.1", "virtio-blk-device", "discard", "false" },
    { "3.1", "virtio-blk-device", "write-zeroes", "false" },
    { "3.1", "pcie-root-port", "x-speed", "2_5" },
    { "3.1", "pcie-root-port", "x-width", "1" },
    { "2.11", "virtio-blk-pci", "vectors", "2" },
    { "2.8", "pci-device", "x-pcie-extcap-init", "off" },
    { "2.8", "virtio-pci", "x-pcie-deverr-init", "off" },
    { "2.8", "virtio-pci", "x-pcie-lnkctl-init", "off" },
    { "2.8", "virtio-pci", "x-pcie-pm-init", "off" },
    { "2.7", "ioapic", "version", "0x11" },
    { "2.7", "virtio-pci", "page-per-vq", "on" },
    { "2.7", "virtio-pci", "x-ignore-backend-features", "on" },
    { "2.6", "virtio-blk-pci", "disable-legacy", "off" },
    { "2.6", "virtio-blk-pci", "disable-modern", "on" },
    { "2.4", "fw_cfg_io", "dma_enabled", "off" },
    { "2.4", "virtio-pci", "migrate-extra", "off" },
    { "2.4", "virtio-pci", "x-disable-pcie", "on" },
};

/* By number, part by part. */
static int version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        char *end_a, *end_b;
        long x = strtol(a, &end_a, 10), y = strtol(b, &end_b, 10);

        if (x != y) {
            return x < y ? -1 : 1;
        }
        a = *end_a == '.' ? end_a + 1 : end_a;
        b = *end_b == '.' ? end_b + 1 : end_b;
    }
    return 0;
}

static void set_back(const MachineClass *mc, CompatFn *fn, void *opaque)
{
    const PcVersion *v = mc->version;

    for (unsigned i = 0; i < G_N_ELEMENTS(changes); i++) {
        if (version_compare(v->name, changes[i].last) <= 0) {
            fn(changes[i].type, changes[i].property, changes[i].value, opaque);
        }
    }
}

static void version_class_init(ObjectClass *klass, const void *data)
{
    MachineClass *mc = (MachineClass *)klass;
    const PcVersion *v = data;
    bool q35 = g_str_has_prefix(object_class_name(klass), "pc-q35");

    g_autofree char *name = g_strdup_printf("%s-%s", q35 ? "pc-q35" : "pc-i440fx", v->name);

    mc->name = g_intern_string(name);
    mc->alias = NULL;
    mc->is_default = false;
    mc->version = v;
    mc->compat = set_back;
    mc->numa_mem_supported = v->numa_mem;
    if (q35) {
        mc->max_cpus = v->q35_max_cpus;
    }
    if (v->deprecated) {
        mc->deprecation = "machines more than 3 years old are subject to deletion after 6 years";
    }
}

static void version_register(const char *family, const PcVersion *v)
{
    g_autofree char *name = g_strdup_printf("%s-%s-machine", family, v->name);
    g_autofree char *parent = g_strdup_printf("%s-10.0-machine", family);
    TypeInfo *info = g_new0(TypeInfo, 1);

    info->name = g_intern_string(name);
    info->parent = g_intern_string(parent);
    info->class_init = version_class_init;
    info->class_data = v;
    type_register(info);
}

static void __attribute__((constructor)) register_versions(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(versions); i++) {
        version_register("pc-q35", &versions[i]);
        if (version_compare(versions[i].name, "4.0.1")) {
            version_register("pc-i440fx", &versions[i]);
        }
    }
}
