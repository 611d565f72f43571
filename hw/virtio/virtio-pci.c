/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PCI function of a virtio device: identity, BARs, capabilities, reset. */

#include "virtio-pci-internal.h"

#include <linux/pci_regs.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci.h>

#include "util/report.h"

#define VENDOR_ID           0x1af4
#define MODERN_ID_BASE      0x1040
#define MODERN_SUBSYSTEM_ID 0x1100

#define BAR_LEGACY          0
#define BAR_MSIX            1
#define BAR_PIO_NOTIFY      2
#define BAR_MODERN          4

#define MSIX_MAX_VECTORS    2048
#define PCIE_CAP_OFFSET     0x40
#define PM_CAP_OFFSET       0x7c

/* ---- the backend ---- */

void virtio_pci_init_backend(VirtIOPCI *proxy, const char *type)
{
    g_autoptr(Object) backend = object_new(type);

    proxy->vdev = VIRTIO_DEVICE(backend);
    object_add_child((Object *)proxy, "virtio-backend", backend, &error_abort);
    object_alias_properties((Object *)proxy, backend, TYPE_VIRTIO_DEVICE);
}

void virtio_pci_set_modes(VirtIOPCI *proxy, bool legacy, bool modern)
{
    proxy->disable_legacy = legacy ? ON_OFF_AUTO_OFF : ON_OFF_AUTO_ON;
    proxy->disable_modern = !modern;
}

/* ---- reset ---- */

void virtio_pci_driver_reset(VirtIOPCI *proxy)
{
    VirtIODevice *vdev = proxy->vdev;

    virtio_reset(vdev);
    memset(proxy->queues, 0, vdev->num_queues * sizeof(*proxy->queues));
    pci_set_intx(PCI_DEVICE(proxy), false);
    proxy->intx_toggled = false;
}

static void virtio_pci_reset(PCIDevice *pdev)
{
    VirtIOPCI *proxy = VIRTIO_PCI(pdev);

    virtio_pci_driver_reset(proxy);
}

uint16_t virtio_pci_check_vector(VirtIOPCI *proxy, uint16_t vector)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);

    return pdev->msix && vector < msix_vector_count(pdev) ? vector : VIRTIO_NO_VECTOR;
}

/* ---- the window of the configuration access capability (virtio 1.3 §4.1.4.9) ---- */

/* The region that the window shows, or NULL; offset and length are checked. */
static MmioRegion *window_target(VirtIOPCI *proxy, uint32_t *offset, uint32_t *len)
{
    const uint8_t *cap = PCI_DEVICE(proxy)->config + proxy->window_cap;
    uint8_t bar = cap[offsetof(struct virtio_pci_cap, bar)];
    MmioRegion *r = bar == BAR_MODERN       ? proxy->modern_bar
                    : bar == BAR_PIO_NOTIFY ? proxy->pio_bar
                                            : NULL;

    *offset = pci_get_long(cap + offsetof(struct virtio_pci_cap, offset));
    *len = pci_get_long(cap + offsetof(struct virtio_pci_cap, length));
    if (!r || (*len != 1 && *len != 2 && *len != 4)) {
        return NULL;
    }
    *offset &= ~(*len - 1);
    return *offset < mmio_region_size(r) ? r : NULL;
}

static bool window_touched(const VirtIOPCI *proxy, unsigned offset, unsigned size)
{
    unsigned data = proxy->window_cap + offsetof(struct virtio_pci_cfg_cap, pci_cfg_data);

    return proxy->window_cap && offset < data + 4 && offset + size > data;
}

static uint8_t *window_data(VirtIOPCI *proxy)
{
    return PCI_DEVICE(proxy)->config + proxy->window_cap +
           offsetof(struct virtio_pci_cfg_cap, pci_cfg_data);
}

static void virtio_pci_config_read(PCIDevice *pdev, unsigned offset, unsigned size)
{
    VirtIOPCI *proxy = VIRTIO_PCI(pdev);
    uint32_t off, len;
    MmioRegion *r;

    if (offset < PCI_STATUS + 2 && offset + size > PCI_STATUS) {
        virtio_pci_intx_status(proxy);
    }
    if (window_touched(proxy, offset, size)) {
        r = window_target(proxy, &off, &len);
        if (r) {
            uint64_t value = mmio_region_read(r, off, len);

            memcpy(window_data(proxy), &value, len);
        }
    }
}

static void virtio_pci_config_written(PCIDevice *pdev, unsigned offset, unsigned size)
{
    VirtIOPCI *proxy = VIRTIO_PCI(pdev);
    VirtIODevice *vdev = proxy->vdev;
    uint32_t off, len;
    MmioRegion *r;

    if (offset < PCI_COMMAND + 2 && offset + size > PCI_COMMAND) {
        if (pci_bus_master_enabled(pdev)) {
            virtio_update_running(vdev);
        } else {
            virtio_set_status(vdev, virtio_get_status(vdev) & ~VIRTIO_CONFIG_S_DRIVER_OK);
        }
        virtio_pci_intx_command(proxy);
    }
    if (window_touched(proxy, offset, size)) {
        r = window_target(proxy, &off, &len);
        if (r) {
            uint64_t value = 0;

            memcpy(&value, window_data(proxy), len);
            mmio_region_write(r, off, value, len);
        }
    }
}

/* ---- building the function ---- */

static bool choose_modes(VirtIOPCI *proxy, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);

    if (proxy->disable_legacy == ON_OFF_AUTO_AUTO) {
        proxy->disable_legacy = pci_behind_pcie_port(pdev) ? ON_OFF_AUTO_ON : ON_OFF_AUTO_OFF;
    }
    proxy->legacy = proxy->disable_legacy == ON_OFF_AUTO_OFF;
    proxy->modern = !proxy->disable_modern;
    if (!proxy->legacy && !proxy->modern) {
        error_set(errp, "device cannot work as neither modern nor legacy mode is enabled");
        error_append_hint(errp, "Set either disable-modern or disable-legacy to off\n");
        return false;
    }
    return true;
}

static bool refuse(Error **errp, bool on, const char *what)
{
    if (on) {
        error_set(errp, "%s=on is not supported", what);
    }
    return on;
}

static bool offered(const VirtIOPCI *proxy, unsigned bit)
{
    return proxy->vdev->prop_features & (UINT64_C(1) << bit);
}

static bool check_supported(VirtIOPCI *proxy, Error **errp)
{
    if (offered(proxy, VIRTIO_F_ACCESS_PLATFORM) && proxy->legacy) {
        error_set(errp, "VIRTIO_F_IOMMU_PLATFORM was supported by neither legacy nor transitional "
                        "device");
        return false;
    }
    return !refuse(errp, offered(proxy, VIRTIO_F_ACCESS_PLATFORM), "iommu_platform") &&
           !refuse(errp, offered(proxy, VIRTIO_F_RING_PACKED), "packed") &&
           !refuse(errp, offered(proxy, VIRTIO_F_IN_ORDER), "in_order") &&
           !refuse(errp, proxy->ats, "ats") && !refuse(errp, proxy->aer, "aer");
}

static void build_ids(VirtIOPCI *proxy)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);
    VirtIOPCIClass *klass = VIRTIO_PCI_CLASS(proxy);
    uint8_t *config = pdev->config;
    uint16_t class_code = proxy->class_code ? proxy->class_code : klass->class_code;

    pci_set_word(config + PCI_VENDOR_ID, VENDOR_ID);
    pci_set_word(config + PCI_SUBSYSTEM_VENDOR_ID, VENDOR_ID);
    if (proxy->legacy || !proxy->modern) {
        pci_set_word(config + PCI_DEVICE_ID, klass->transitional_id);
        pci_set_word(config + PCI_SUBSYSTEM_ID, proxy->vdev->device_id);
        pci_set_byte(config + PCI_REVISION_ID, 0);
    } else {
        pci_set_word(config + PCI_DEVICE_ID, MODERN_ID_BASE + proxy->vdev->device_id);
        pci_set_word(config + PCI_SUBSYSTEM_ID, MODERN_SUBSYSTEM_ID);
        pci_set_byte(config + PCI_REVISION_ID, 1);
    }
    pci_set_byte(config + PCI_CLASS_PROG, 0);
    pci_set_word(config + PCI_CLASS_DEVICE, class_code);
    pci_set_byte(config + PCI_INTERRUPT_PIN, 1);
}

static void build_pcie(VirtIOPCI *proxy)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);
    uint8_t *cap = pdev->config + PCIE_CAP_OFFSET;
    uint8_t *wmask = pdev->wmask + PCIE_CAP_OFFSET;

    if (!pci_behind_pcie_port(pdev) || proxy->disable_pcie) {
        return;
    }
    pcie_endpoint_cap_init(pdev, PCIE_CAP_OFFSET);
    if (!proxy->flr_init) {
        pci_set_long(cap + PCI_EXP_DEVCAP,
                     pci_get_long(cap + PCI_EXP_DEVCAP) & ~PCI_EXP_DEVCAP_FLR);
    }
    if (!proxy->lnkctl_init) {
        pci_set_word(wmask + PCI_EXP_LNKCTL, 0);
    }
    pci_pm_cap_init(pdev, PM_CAP_OFFSET);
    if (!proxy->pm_init) {
        pci_set_word(pdev->wmask + PM_CAP_OFFSET + PCI_PM_CTRL, 0);
    }
    if (proxy->pm_no_soft_reset) {
        uint8_t *ctrl = pdev->config + PM_CAP_OFFSET + PCI_PM_CTRL;

        pci_set_word(ctrl, pci_get_word(ctrl) | PCI_PM_CTRL_NO_SOFT_RESET);
    }
}

static int add_cap(VirtIOPCI *proxy, uint8_t type, uint8_t bar, uint32_t offset, uint32_t length,
                   int size)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);
    int pos = pci_add_capability(pdev, PCI_CAP_ID_VNDR, 0, size);
    uint8_t *cap = pdev->config + pos;

    cap[offsetof(struct virtio_pci_cap, cap_len)] = size;
    cap[offsetof(struct virtio_pci_cap, cfg_type)] = type;
    cap[offsetof(struct virtio_pci_cap, bar)] = bar;
    pci_set_long(cap + offsetof(struct virtio_pci_cap, offset), offset);
    pci_set_long(cap + offsetof(struct virtio_pci_cap, length), length);
    return pos;
}

static void add_notify_cap(VirtIOPCI *proxy, uint8_t bar, uint32_t offset, uint32_t length,
                           uint32_t multiplier)
{
    int pos = add_cap(proxy, VIRTIO_PCI_CAP_NOTIFY_CFG, bar, offset, length,
                      sizeof(struct virtio_pci_notify_cap));

    pci_set_long(PCI_DEVICE(proxy)->config + pos +
                     offsetof(struct virtio_pci_notify_cap, notify_off_multiplier),
                 multiplier);
}

static void add_window_cap(VirtIOPCI *proxy)
{
    uint8_t *wmask;

    proxy->window_cap =
        add_cap(proxy, VIRTIO_PCI_CAP_PCI_CFG, 0, 0, 0, sizeof(struct virtio_pci_cfg_cap));
    wmask = PCI_DEVICE(proxy)->wmask + proxy->window_cap;
    wmask[offsetof(struct virtio_pci_cap, bar)] = 0xff;
    pci_set_long(wmask + offsetof(struct virtio_pci_cap, offset), UINT32_MAX);
    pci_set_long(wmask + offsetof(struct virtio_pci_cap, length), UINT32_MAX);
    pci_set_long(wmask + offsetof(struct virtio_pci_cfg_cap, pci_cfg_data), UINT32_MAX);
}

static void build_modern(VirtIOPCI *proxy)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);
    uint32_t notify_len = proxy->page_per_vq ? VIRTIO_QUEUE_MAX * 4096 : MODERN_PART;
    uint64_t size = proxy->page_per_vq ? 0x800000 : 0x4000;
    g_autofree char *name = g_strdup_printf("virtio-pci-%s", proxy->vdev->name);

    if (!proxy->modern) {
        return;
    }
    proxy->modern_bar = mmio_region_new(name, &virtio_pci_modern_ops, proxy, size);
    pci_add_bar(pdev, BAR_MODERN, proxy->modern_bar,
                PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64 |
                    PCI_BASE_ADDRESS_MEM_PREFETCH);
    add_cap(proxy, VIRTIO_PCI_CAP_COMMON_CFG, BAR_MODERN, MODERN_COMMON, MODERN_PART,
            sizeof(struct virtio_pci_cap));
    add_cap(proxy, VIRTIO_PCI_CAP_ISR_CFG, BAR_MODERN, MODERN_ISR, MODERN_PART,
            sizeof(struct virtio_pci_cap));
    add_cap(proxy, VIRTIO_PCI_CAP_DEVICE_CFG, BAR_MODERN, MODERN_DEVICE, MODERN_PART,
            sizeof(struct virtio_pci_cap));
    add_notify_cap(proxy, BAR_MODERN, MODERN_NOTIFY, notify_len, virtio_pci_notify_stride(proxy));
    if (proxy->modern_pio_notify) {
        proxy->pio_bar =
            mmio_region_new("virtio-pci-notify-pio", &virtio_pci_pio_notify_ops, proxy, 4);
        pci_add_bar(pdev, BAR_PIO_NOTIFY, proxy->pio_bar, PCI_BASE_ADDRESS_SPACE_IO);
        add_notify_cap(proxy, BAR_PIO_NOTIFY, 0, 4, 0);
    }
    add_window_cap(proxy);
}

static void build_legacy(VirtIOPCI *proxy)
{
    unsigned size = VIRTIO_PCI_CONFIG_OFF(true) + proxy->vdev->config_len;

    if (!proxy->legacy) {
        return;
    }
    size = 1u << g_bit_storage(size - 1);
    proxy->legacy_bar = mmio_region_new("virtio-pci", &virtio_pci_legacy_ops, proxy, size);
    pci_add_bar(PCI_DEVICE(proxy), BAR_LEGACY, proxy->legacy_bar, PCI_BASE_ADDRESS_SPACE_IO);
}

static void build_msix(VirtIOPCI *proxy)
{
    PCIDevice *pdev = PCI_DEVICE(proxy);

    if (!proxy->nvectors) {
        return;
    }
    if (proxy->nvectors > MSIX_MAX_VECTORS || !msix_init(pdev, proxy->nvectors, BAR_MSIX, 0)) {
        report_warning("unable to init msix vectors to %u", proxy->nvectors);
        proxy->nvectors = 0;
        return;
    }
    msix_set_listener(pdev, virtio_pci_msix_changed, proxy);
    msix_set_poll(pdev, virtio_pci_msix_pending);
}

static void virtio_pci_unrealize(PCIDevice *pdev)
{
    VirtIOPCI *proxy = VIRTIO_PCI(pdev);

    device_unrealize(DEVICE(proxy->vdev));
    if (pdev->msix) {
        msix_uninit(pdev);
    }
    proxy->window_cap = 0;
    proxy->legacy_bar = proxy->modern_bar = proxy->pio_bar = NULL;
    g_clear_pointer(&proxy->queues, g_free);
    g_clear_pointer(&proxy->bus, bus_free);
}

static bool virtio_pci_realize(PCIDevice *pdev, Error **errp)
{
    VirtIOPCI *proxy = VIRTIO_PCI(pdev);
    VirtIOPCIClass *klass = VIRTIO_PCI_CLASS(proxy);
    VirtIODevice *vdev = proxy->vdev;

    if (!choose_modes(proxy, errp) || (klass->setup && !klass->setup(proxy, errp))) {
        return false;
    }
    proxy->bus = bus_new(TYPE_VIRTIO_PCI_BUS, DEVICE(proxy), TYPE_VIRTIO_BUS);
    vdev->transport = &virtio_pci_transport_ops;
    vdev->transport_opaque = proxy;
    vdev->bounce_limit = pdev->max_bounce;
    if (proxy->modern) {
        vdev->prop_features |= UINT64_C(1) << VIRTIO_F_VERSION_1;
    }
    if (!device_realize(DEVICE(vdev), proxy->bus, errp)) {
        goto fail_bus;
    }
    if (!check_supported(proxy, errp)) {
        goto fail_backend;
    }
    proxy->queues = g_new0(VirtIOPCIQueue, vdev->num_queues);
    build_ids(proxy);
    build_pcie(proxy);
    build_modern(proxy);
    build_msix(proxy);
    build_legacy(proxy);
    return true;

fail_backend:
    device_unrealize(DEVICE(vdev));
fail_bus:
    g_clear_pointer(&proxy->bus, bus_free);
    return false;
}

static void virtio_pci_class_init(ObjectClass *klass, const void *data)
{
    PCIDeviceClass *pc = (PCIDeviceClass *)klass;

    pc->realize = virtio_pci_realize;
    pc->unrealize = virtio_pci_unrealize;
    pc->reset = virtio_pci_reset;
    pc->config_read = virtio_pci_config_read;
    pc->config_written = virtio_pci_config_written;
    pc->intx_changed = virtio_pci_intx_changed;
    pc->vendor_id = VENDOR_ID;
}

static const Property virtio_pci_props[] = {
    PROP_BOOL("virtio-pci-bus-master-bug-migration", VirtIOPCI, bus_master_bug_migration, false),
    PROP_BOOL("migrate-extra", VirtIOPCI, migrate_extra, true),
    PROP_BOOL("modern-pio-notify", VirtIOPCI, modern_pio_notify, false),
    PROP_BOOL("x-disable-pcie", VirtIOPCI, disable_pcie, false),
    PROP_BOOL("page-per-vq", VirtIOPCI, page_per_vq, false),
    PROP_BOOL("x-ignore-backend-features", VirtIOPCI, ignore_backend_features, false),
    PROP_BOOL("ats", VirtIOPCI, ats, false),
    PROP_BOOL("x-ats-page-aligned", VirtIOPCI, ats_page_aligned, true),
    PROP_BOOL("x-pcie-deverr-init", VirtIOPCI, deverr_init, true),
    PROP_BOOL("x-pcie-lnkctl-init", VirtIOPCI, lnkctl_init, true),
    PROP_BOOL("x-pcie-pm-init", VirtIOPCI, pm_init, true),
    PROP_BOOL("x-pcie-pm-no-soft-reset", VirtIOPCI, pm_no_soft_reset, false),
    PROP_BOOL("x-pcie-flr-init", VirtIOPCI, flr_init, true),
    PROP_BOOL("aer", VirtIOPCI, aer, false),
    PROP_END,
};

static const TypeInfo virtio_pci_info = {
    .name = TYPE_VIRTIO_PCI,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(VirtIOPCI),
    .class_size = sizeof(VirtIOPCIClass),
    .abstract = true,
    .props = virtio_pci_props,
    .class_init = virtio_pci_class_init,
};
TYPE_REGISTER(virtio_pci_info)
