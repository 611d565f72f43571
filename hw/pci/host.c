/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configuration mechanism #1 (ports) and ECAM (memory). */
#include "hw/pci/host.h"

#include "util/biglock.h"

#define PORT_INDEX 0xcf8
#define PORT_DATA  0xcfc
#define ENABLE     0x80000000U
#define ECAM_MAX   (256ULL << 20)

static uint64_t index_read(void *opaque, uint64_t offset, unsigned size)
{
    PCIHostState *h = opaque;

    /* A byte in its middle reads as the first one does. */
    return h->address;
}

static void index_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    PCIHostState *h = opaque;

    /* Only the whole register can be written: other ports live among its bytes. */
    if (offset == 0 && size == 4) {
        h->address = value;
    }
}

static const MmioOps index_ops = {.read = index_read, .write = index_write, .max_size = 4};

/* The low bits of the address count, too: clients write byte offsets there. */
static unsigned data_offset(const PCIHostState *h, uint64_t port)
{
    return (h->address & 0xff) | port;
}

static uint64_t data_read(void *opaque, uint64_t offset, unsigned size)
{
    PCIHostState *h = opaque;
    unsigned at = data_offset(h, offset);

    if (!(h->address & ENABLE)) {
        return UINT32_MAX;
    }
    /* An access does not reach into the next function's space. */
    return pci_host_read(h->bus, h->address >> 16 & 0xff, h->address >> 8 & 0xff, at,
                         MIN(size, 256 - at));
}

static void data_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    PCIHostState *h = opaque;
    unsigned at = data_offset(h, offset);

    if (h->address & ENABLE) {
        pci_host_write(h->bus, h->address >> 16 & 0xff, h->address >> 8 & 0xff, at, value,
                       MIN(size, 256 - at));
    }
}

static const MmioOps data_ops = {.read = data_read, .write = data_write, .max_size = 4};

static uint64_t ecam_read(void *opaque, uint64_t offset, unsigned size)
{
    PCIHostState *h = opaque;

    return pci_host_read(h->bus, offset >> 20 & 0xff, offset >> 12 & 0xff, offset & 0xfff, size);
}

static void ecam_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    PCIHostState *h = opaque;

    pci_host_write(h->bus, offset >> 20 & 0xff, offset >> 12 & 0xff, offset & 0xfff, value, size);
}

static const MmioOps ecam_ops = {.read = ecam_read, .write = ecam_write, .max_size = 4};

void pci_host_set_ecam(PCIHostState *h, uint64_t base, uint64_t size)
{
    ASSERT_BIG_LOCK();
    g_assert(size <= ECAM_MAX);
    if (h->ecam && (size == 0 || size != h->ecam_size)) {
        g_clear_pointer(&h->ecam, mmio_region_free);
    }
    if (size == 0) {
        return;
    }
    if (!h->ecam) {
        h->ecam = mmio_region_new("pcie-mmcfg-mmio", &ecam_ops, h, size);
        h->ecam_size = size;
    }
    mmio_region_map(h->ecam, guest_memory, base, 0);
}

static bool host_realize(DeviceState *dev, Error **errp)
{
    PCIHostState *h = PCI_HOST(dev);

    h->index = mmio_region_new("pci-conf-idx", &index_ops, h, 4);
    h->data = mmio_region_new("pci-conf-data", &data_ops, h, 4);
    mmio_region_map(h->index, guest_ports, PORT_INDEX, 0);
    mmio_region_map(h->data, guest_ports, PORT_DATA, 0);
    return true;
}

static void host_unrealize(DeviceState *dev)
{
    PCIHostState *h = PCI_HOST(dev);

    pci_host_set_ecam(h, 0, 0);
    g_clear_pointer(&h->index, mmio_region_free);
    g_clear_pointer(&h->data, mmio_region_free);
}

static void host_reset(DeviceState *dev)
{
    PCI_HOST(dev)->address = 0;
}

static void host_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = host_realize;
    dc->unrealize = host_unrealize;
    dc->reset = host_reset;
    dc->bus_type = "System";
    dc->category = "bridge";
}

static const TypeInfo host_type = {
    .name = TYPE_PCI_HOST,
    .parent = TYPE_DEVICE,
    .abstract = true,
    .instance_size = sizeof(PCIHostState),
    .class_init = host_class_init,
};
TYPE_REGISTER(host_type)
