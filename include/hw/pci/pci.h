/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_PCI_PCI_H
#define SPINDLE_HW_PCI_PCI_H

#include "hw/core/device.h"
#include "hw/core/memory.h"

/*
 * PCI functions: configuration space, BARs, capabilities, INTx and MSI-X. Runs in: under the big
 * lock, unless said otherwise.
 */
typedef struct PCIDevice PCIDevice;
typedef struct PCIBus PCIBus;

#define TYPE_PCI_DEVICE "pci-device"
#define TYPE_PCI_BUS "PCI"
#define TYPE_PCIE_BUS "PCIE"
#define PCI_BAR_COUNT 6
#define PCI_DEVFN(slot, fn) ((((slot) & 0x1f) << 3) | ((fn) & 7))
#define PCI_SLOT_OF(devfn) (((devfn) >> 3) & 0x1f)
#define PCI_FUNC_OF(devfn) ((devfn) & 7)

typedef struct PCIDeviceClass {
    DeviceClass parent_class;
    uint16_t vendor_id, device_id;
    uint16_t subsystem_vendor_id, subsystem_id;
    uint32_t class_id; /* 0xCCSSPP */
    uint8_t revision;
    bool is_bridge;
    bool (*realize)(PCIDevice *dev, Error **errp);
    void (*unrealize)(PCIDevice *dev);
    /* Called before a write changes anything. May be NULL. */
    void (*config_write_begin)(PCIDevice *dev, unsigned offset, uint32_t value, unsigned size);
    /* Called after the default handling (which honours wmask and w1c); the old value is gone. */
    void (*config_written)(PCIDevice *dev, unsigned offset, unsigned size);
    /* Called before a read is answered. May be NULL. */
    void (*config_read)(PCIDevice *dev, unsigned offset, unsigned size);
    void (*reset)(PCIDevice *dev);
    /* Where the line of INTx leads, or whether the function is powered, has changed. May let go of
     * the big lock. May be NULL. */
    void (*intx_changed)(PCIDevice *dev);
} PCIDeviceClass;

typedef struct PCIBar {
    MmioRegion *region; /* NULL: no such BAR; owned by the device */
    uint64_t size;
    uint8_t type;       /* low bits of the register: I/O, 64-bit, prefetch */
} PCIBar;

typedef struct MsixState MsixState;

/* Bits of PCIDevice.pcie_flags; a subclass may use those from PCI_FLAG_USER on. */
enum {
    PCI_FLAG_LNKSTA_DLLLA,
    PCI_FLAG_EXTCAP_INIT,
    PCI_FLAG_ERR_UNC_MASK,
    PCI_FLAG_ARI_NEXTFN_1,
    PCI_FLAG_EXT_TAG,
    PCI_FLAG_USER = 16,
};

struct PCIDevice {
    DeviceState parent_obj;
    PCIBus *pbus;
    int32_t devfn_prop; /* "addr"; -1: first free, until it has a place */
    bool devfn_chosen;  /* devfn_prop was -1 */
    uint8_t devfn;
    bool hidden;        /* not powered: no configuration space, no BARs, no DMA */
    uint8_t *config;    /* 4096 bytes, config_size of which exist */
    uint8_t *wmask;     /* bits the guest may write */
    uint8_t *w1cmask;   /* bits a 1 clears */
    uint16_t exp_cap;   /* offset of the PCI Express capability; 0: none */
    uint8_t cap_used[32]; /* bytes that capabilities take, one bit each */
    uint16_t config_size; /* 256, or 4096 with is_express */
    PCIBar bars[PCI_BAR_COUNT];
    PCIBar rom;         /* expansion ROM */
    uint8_t *rom_data;
    MsixState *msix;    /* NULL: none */
    uint8_t irq_level;  /* INTx asserted by the function */
    bool irq_driven;    /* and let through to the bus */
    bool is_express;    /* has 4096 bytes of configuration space */
    bool multifunction;
    char *romfile;
    uint32_t romsize;
    int32_t rombar;
    uint32_t acpi_index;
    char *failover_pair_id;
    uint64_t max_bounce;
    uint64_t pcie_flags; /* x-pcie-* switches */
};

struct PCIBus {
    BusState parent_obj;
    PCIDevice *devices[256];
    PCIBus *parent;     /* of the bridge above; NULL: root */
    PCIDevice *bridge;  /* device whose secondary side this is; NULL: root */
    unsigned slot_first, slot_count; /* slots that may be used */
    uint32_t reserved_slots;
    unsigned irq_count[4]; /* functions that drive each pin of the bridge */
    bool is_port;       /* below a PCI Express port: one slot, whatever the number */
    /* Maps pin (0..3) of devfn to an input of the parent, and drives it. */
    void (*set_irq)(PCIBus *bus, PCIDevice *dev, int pin, bool level);
    /* Root buses: the line (see hw/core/irq.h) that the pin drives, if it is just that one now and
     * is level-triggered by nature; else -1. May be NULL. */
    int (*intx_gsi)(PCIBus *bus, PCIDevice *dev, int pin);
    void *opaque;
};

#define PCI_DEVICE(obj) OBJECT_CHECK(PCIDevice, obj, TYPE_PCI_DEVICE)
#define PCI_DEVICE_CLASS(dev) ((PCIDeviceClass *)((Object *)(dev))->klass)
#define PCI_BUS(obj) OBJECT_CHECK(PCIBus, obj, TYPE_PCI_BUS)

/* True if the function sits on a PCI Express bus but not directly on a root bus: behind a port. */
bool pci_behind_pcie_port(PCIDevice *dev);
bool pci_bus_is_express(PCIBus *bus);
bool pci_bus_is_root(PCIBus *bus);
int pci_bus_number(PCIBus *bus);

/* ---- building a function, from realize ---- */

/* Region becomes the device's. type: PCI_BASE_ADDRESS_* bits of linux/pci_regs.h. */
void pci_add_bar(PCIDevice *dev, int bar, MmioRegion *region, uint8_t type);
/* Adds a capability of `size` bytes (header included) and returns its offset; offset 0 lets it be
 * chosen: the first free one from 0x40. Each is put at the head of the list. Bytes after the header
 * are zero and not writable. */
int pci_add_capability(PCIDevice *dev, uint8_t id, int offset, int size);
/* PCIe endpoint capability at `offset` (with function level reset, which resets dev), power
 * management at `offset`. */
void pcie_endpoint_cap_init(PCIDevice *dev, int offset);
void pci_pm_cap_init(PCIDevice *dev, int offset);
/* From now on it has 4096 bytes of configuration space; pcie_endpoint_cap_init() does it, too. */
void pcie_set_express(PCIDevice *dev);
/* Extended capability in 0x100.. */
void pcie_add_ext_capability(PCIDevice *dev, uint16_t id, uint8_t version, int offset, int size);
void pci_set_byte(uint8_t *p, uint8_t v);
void pci_set_word(uint8_t *p, uint16_t v);
void pci_set_long(uint8_t *p, uint32_t v);
uint16_t pci_get_word(const uint8_t *p);
uint32_t pci_get_long(const uint8_t *p);

/* ---- configuration accesses, as a host bridge does them ---- */

uint32_t pci_config_read(PCIDevice *dev, unsigned offset, unsigned size);
void pci_config_write(PCIDevice *dev, unsigned offset, uint32_t value, unsigned size);
/* The function at bus number/devfn below root, or NULL (none, or not powered). */
PCIDevice *pci_find_device(PCIBus *root, int bus, int devfn);
/* As a host bridge decodes them: absent functions read all ones. offset < 4096. */
uint32_t pci_host_read(PCIBus *root, int bus, int devfn, unsigned offset, unsigned size);
void pci_host_write(PCIBus *root, int bus, int devfn, unsigned offset, uint32_t value,
                    unsigned size);
/* Makes what the BARs of dev, or of everything on the bus and below, decode follow the registers.
 */
void pci_update_bars(PCIDevice *dev);
void pci_bus_update_bars(PCIBus *bus);
/* Powers the functions of a bus up or down. */
void pci_bus_set_hidden(PCIBus *bus, bool hidden);
/* A bus for a bridge's secondary side, or (bridge NULL) a root bus below `parent`. */
PCIBus *pci_bus_new(const char *type, DeviceState *parent, PCIDevice *bridge, const char *name);
/* Root buses, in order of creation. */
GPtrArray *pci_root_buses(void);
/* "SCSI controller"; NULL: unknown. class_code is 0xCCSS. */
const char *pci_class_name(uint16_t class_code);
/* The text of info pci. Caller frees. */
char *pci_info_text(void);

bool pci_bus_master_enabled(PCIDevice *dev);
/* INTA level. */
void pci_set_intx(PCIDevice *dev, bool level);
/* Lets the level of the line through or holds it back, as command register and MSI-X say. */
void pci_update_intx(PCIDevice *dev);
/* Whether the command register, MSI-X and power let INTx through. */
bool pci_intx_enabled(PCIDevice *dev);
/* The line that the INTx of a function drives; -1: none, or more than one. */
int pci_intx_gsi(PCIDevice *dev);
/* Answers of intx_gsi() have changed for functions of this root bus and below. Last thing of what
 * the caller does: it may let go of the big lock. */
void pci_bus_intx_moved(PCIBus *bus);

/* ---- MSI-X ---- */

/* Table and PBA in BAR `bar` (made here); false if nvectors is not 1..2048. */
bool msix_init(PCIDevice *dev, unsigned nvectors, int bar, int cap_offset);
void msix_uninit(PCIDevice *dev);
bool msix_enabled(PCIDevice *dev);
unsigned msix_vector_count(PCIDevice *dev);
/* Sends vector v, or marks it pending if masked. Needs bus mastering, like any DMA. */
void msix_notify(PCIDevice *dev, unsigned v);
bool msix_masked(PCIDevice *dev, unsigned v); /* the vector, the function, or MSI-X off */
void msix_set_pending(PCIDevice *dev, unsigned v, bool pending);
void msix_message(PCIDevice *dev, unsigned v, uint64_t *addr, uint32_t *data);
void msix_reset(PCIDevice *dev);
/* Told when a vector becomes unmasked, masked, or its message changes (for irqfd routes), and when
 * MSI-X is enabled or disabled (v = UINT_MAX). */
typedef void MsixListener(PCIDevice *dev, unsigned v, void *opaque);
void msix_set_listener(PCIDevice *dev, MsixListener *fn, void *opaque);
/* While masked a vector's pending bit is taken from this function (used with irqfd). */
void msix_set_poll(PCIDevice *dev, bool (*pending)(PCIDevice *dev, unsigned v, void *opaque));

#endif
