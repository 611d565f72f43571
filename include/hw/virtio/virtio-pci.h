/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_VIRTIO_VIRTIO_PCI_H
#define SPINDLE_HW_VIRTIO_VIRTIO_PCI_H

#include "hw/pci/pci.h"
#include "hw/virtio/virtio.h"
#include "qapi/qapi-common.h"

/*
 * virtio over PCI (virtio 1.3 §4.1): a PCI function that is the transport of one virtio device, its
 * child "virtio-backend", whose properties it shows as its own. A device type derives one or more
 * types from "virtio-pci". Runs in: under the big lock.
 */
typedef struct VirtIOPCI VirtIOPCI;
typedef struct VirtIOPCIIntx VirtIOPCIIntx;

#define TYPE_VIRTIO_PCI         "virtio-pci"
#define TYPE_VIRTIO_PCI_BUS     "virtio-pci-bus"
#define VIRTIO_PCI_VECTORS_AUTO UINT32_MAX

typedef struct VirtIOPCIClass {
    PCIDeviceClass parent_class;
    uint16_t transitional_id; /* PCI device id of a device that also speaks legacy */
    uint16_t class_code;      /* class and subclass, when the property is 0 */
    /* Before the device is realized: settles defaults that depend on the machine. */
    bool (*setup)(VirtIOPCI *proxy, Error **errp);
} VirtIOPCIClass;

/* What a driver has written of a queue and not yet put into force. */
typedef struct VirtIOPCIQueue {
    bool enabled;
    uint32_t desc[2], avail[2], used[2]; /* low, high */
} VirtIOPCIQueue;

struct VirtIOPCI {
    PCIDevice parent_obj;
    VirtIODevice *vdev;
    BusState *bus; /* "virtio-bus"; NULL: not realized */

    /* properties */
    uint32_t class_code;
    uint32_t nvectors;
    bool ioeventfd;
    OnOffAuto disable_legacy;
    bool disable_modern;
    bool bus_master_bug_migration, migrate_extra, modern_pio_notify, disable_pcie, page_per_vq;
    bool ignore_backend_features, ats, ats_page_aligned, aer;
    bool deverr_init, lnkctl_init, pm_init, pm_no_soft_reset, flr_init;

    /* state */
    bool legacy, modern;
    MmioRegion *legacy_bar, *modern_bar, *pio_bar;
    int window_cap; /* offset of the PCI configuration access capability; 0: none */
    uint32_t device_feature_sel, driver_feature_sel;
    uint32_t driver_features[2];
    VirtIOPCIQueue *queues;
    VirtIOPCIIntx *intx; /* queues raise INTx by themselves */
    bool intx_toggled;   /* the driver masks INTx by the command register */
};

#define VIRTIO_PCI(obj)       OBJECT_CHECK(VirtIOPCI, obj, TYPE_VIRTIO_PCI)
#define VIRTIO_PCI_CLASS(dev) ((VirtIOPCIClass *)((Object *)(dev))->klass)

/* From instance_init of a concrete type: makes the device. */
void virtio_pci_init_backend(VirtIOPCI *proxy, const char *type);
/* From instance_init of a type that has no properties for it. */
void virtio_pci_set_modes(VirtIOPCI *proxy, bool legacy, bool modern);
/* Properties disable-legacy and disable-modern, for types that have both modes. */
#define VIRTIO_PCI_MODE_PROPS                                                                      \
    PROP_ENUM("disable-legacy", VirtIOPCI, disable_legacy, qapi_enum_OnOffAuto, ON_OFF_AUTO_AUTO), \
        PROP_BOOL("disable-modern", VirtIOPCI, disable_modern, false)

#endif
