/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expansion ROM: the file that romfile= names, behind the ROM base address register. */
#include <linux/pci_regs.h>
#include <string.h>

#include "hw/core/datadir.h"
#include "pci-internal.h"
#include "util/regular-file.h"

#define ROM_SIZE_MAX (16U << 20)

static uint64_t rom_read(void *opaque, uint64_t offset, unsigned size)
{
    PCIDevice *dev = opaque;
    uint64_t v = 0;

    for (unsigned i = 0; i < size; i++) {
        v |= (uint64_t)dev->rom_data[offset + i] << (8 * i);
    }
    return v;
}

static void rom_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
}

static const MmioOps rom_ops = {.read = rom_read, .write = rom_write};

bool pci_rom_init(PCIDevice *dev, Error **errp)
{
    g_autofree char *data = NULL;
    size_t len;

    if (!dev->romfile || !*dev->romfile) {
        return true;
    }
    g_autofree char *path = datadir_find(dev->romfile);

    if (!path) {
        error_set(errp, "failed to find romfile \"%s\"", dev->romfile);
        return false;
    }
    data = regular_file_read(path, &len, errp);
    if (!data) {
        error_prepend(errp, "failed to load romfile \"%s\": ", dev->romfile);
        return false;
    }
    if (len == 0) {
        error_set(errp, "romfile \"%s\" is empty", dev->romfile);
        return false;
    }
    if (len > ROM_SIZE_MAX) {
        error_set(errp, "romfile \"%s\" is too large", dev->romfile);
        return false;
    }
    uint32_t size = dev->romsize;

    if (size == UINT32_MAX) {
        for (size = 2048; size < len; size <<= 1) {
        }
    } else if (len > size) {
        error_set(errp, "romfile \"%s\" (%zu bytes) is too large for ROM size %u", dev->romfile,
                  (size_t)len, size);
        return false;
    }
    if (dev->rombar == 0) {
        return true; /* the guest is not to see it */
    }
    size = MAX(size, 2048);
    dev->rom_data = g_malloc0(size);
    memcpy(dev->rom_data, data, len);
    dev->rom = (PCIBar){
        .region = mmio_region_new("rom", &rom_ops, dev, size),
        .size = size,
    };
    pci_set_long(dev->wmask + PCI_ROM_ADDRESS, ~(size - 1) | PCI_ROM_ADDRESS_ENABLE);
    return true;
}

void pci_rom_fini(PCIDevice *dev)
{
    mmio_region_free(dev->rom.region);
    dev->rom = (PCIBar){0};
    g_clear_pointer(&dev->rom_data, g_free);
}
