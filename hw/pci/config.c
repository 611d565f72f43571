/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Configuration space: reads, writes through the masks, BARs and the interrupt line that follow. */
#include <linux/pci_regs.h>
#include <string.h>

#include "hw/pci/bridge.h"
#include "pci-internal.h"
#include "util/biglock.h"

#define PRIORITY_BAR (-1) /* RAM and the chipset's own registers hide BARs */

void pci_set_byte(uint8_t *p, uint8_t v)
{
    *p = v;
}

void pci_set_word(uint8_t *p, uint16_t v)
{
    p[0] = v;
    p[1] = v >> 8;
}

void pci_set_long(uint8_t *p, uint32_t v)
{
    pci_set_word(p, v);
    pci_set_word(p + 2, v >> 16);
}

uint16_t pci_get_word(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

uint32_t pci_get_long(const uint8_t *p)
{
    return pci_get_word(p) | (uint32_t)pci_get_word(p + 2) << 16;
}

bool pci_bus_master_enabled(PCIDevice *dev)
{
    return !dev->hidden && (pci_get_word(dev->config + PCI_COMMAND) & PCI_COMMAND_MASTER);
}

/* ---- interrupt line ---- */

bool pci_intx_enabled(PCIDevice *dev)
{
    bool disabled = pci_get_word(dev->config + PCI_COMMAND) & PCI_COMMAND_INTX_DISABLE;

    return !disabled && !msix_enabled(dev) && !dev->hidden;
}

void pci_update_intx(PCIDevice *dev)
{
    bool drive = dev->irq_level && pci_intx_enabled(dev);

    if (dev->irq_level) {
        dev->config[PCI_STATUS] |= PCI_STATUS_INTERRUPT;
    } else {
        dev->config[PCI_STATUS] &= ~PCI_STATUS_INTERRUPT;
    }
    if (drive != dev->irq_driven) {
        dev->irq_driven = drive;
        dev->pbus->set_irq(dev->pbus, dev, dev->config[PCI_INTERRUPT_PIN] - 1, drive);
    }
}

void pci_set_intx(PCIDevice *dev, bool level)
{
    ASSERT_BIG_LOCK();
    if (dev->config[PCI_INTERRUPT_PIN] == 0) {
        return;
    }
    dev->irq_level = level;
    pci_update_intx(dev);
}

/* ---- BARs ---- */

static unsigned bar_register(int bar)
{
    return PCI_BASE_ADDRESS_0 + 4 * bar;
}

/* What the register says, or UINT64_MAX where the BAR decodes nothing. */
static uint64_t bar_decode(const PCIDevice *dev, const PCIBar *b, uint64_t reg)
{
    uint16_t cmd = pci_get_word(dev->config + PCI_COMMAND);
    bool io = b->type & PCI_BASE_ADDRESS_SPACE_IO;
    bool wide = !io && (b->type & PCI_BASE_ADDRESS_MEM_TYPE_64);
    uint64_t addr = reg & ~(b->size - 1), last = addr + (b->size - 1);

    if (dev->hidden || !(cmd & (io ? PCI_COMMAND_IO : PCI_COMMAND_MEMORY))) {
        return UINT64_MAX;
    }
    /* The top of the space is where the register is while its size is being probed. */
    if (addr == 0 || last < addr || last >= (io ? 0xffffULL : wide ? UINT64_MAX : 0xffffffffULL)) {
        return UINT64_MAX;
    }
    return pci_bridges_forward(dev->pbus, io, addr, b->size) ? addr : UINT64_MAX;
}

uint64_t pci_bar_address(const PCIDevice *dev, int bar)
{
    const PCIBar *b = &dev->bars[bar];
    const uint8_t *reg = dev->config + bar_register(bar);
    uint64_t v = pci_get_long(reg);

    if (!b->region) {
        return UINT64_MAX;
    }
    if (b->type & PCI_BASE_ADDRESS_SPACE_IO) {
        v &= 0xffff;
    } else if (b->type & PCI_BASE_ADDRESS_MEM_TYPE_64) {
        v |= (uint64_t)pci_get_long(reg + 4) << 32;
    }
    return bar_decode(dev, b, v);
}

static void bar_follow(PCIBar *b, uint64_t addr)
{
    if (addr == UINT64_MAX) {
        mmio_region_unmap(b->region);
    } else {
        mmio_region_map(b->region,
                        b->type & PCI_BASE_ADDRESS_SPACE_IO ? guest_ports : guest_memory, addr,
                        PRIORITY_BAR);
    }
}

void pci_update_bars(PCIDevice *dev)
{
    address_space_batch_begin();
    for (int i = 0; i < PCI_BAR_COUNT; i++) {
        if (dev->bars[i].region) {
            bar_follow(&dev->bars[i], pci_bar_address(dev, i));
        }
    }
    if (dev->rom.region) {
        uint32_t reg = pci_get_long(dev->config + PCI_ROM_ADDRESS);

        bar_follow(&dev->rom, reg & PCI_ROM_ADDRESS_ENABLE ? bar_decode(dev, &dev->rom, reg)
                                                            : UINT64_MAX);
    }
    address_space_batch_commit();
}

void pci_add_bar(PCIDevice *dev, int bar, MmioRegion *region, uint8_t type)
{
    uint64_t size = mmio_region_size(region);
    bool wide = !(type & PCI_BASE_ADDRESS_SPACE_IO) && (type & PCI_BASE_ADDRESS_MEM_TYPE_64);
    uint64_t mask = ~(size - 1);
    unsigned reg = bar_register(bar);

    g_assert(bar >= 0 && bar + wide < PCI_BAR_COUNT && (size & (size - 1)) == 0 && size >= 4);
    g_assert(!dev->bars[bar].region);
    dev->bars[bar] = (PCIBar){.region = region, .size = size, .type = type};
    pci_set_long(dev->config + reg, type);
    pci_set_long(dev->wmask + reg, mask);
    if (wide) {
        pci_set_long(dev->wmask + reg + 4, mask >> 32);
    }
}

/* ---- accesses ---- */

uint32_t pci_config_read(PCIDevice *dev, unsigned offset, unsigned size)
{
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(dev);
    uint32_t v = 0;

    ASSERT_BIG_LOCK();
    if (offset + size > dev->config_size) {
        return UINT32_MAX >> (32 - 8 * size);
    }
    if (pc->config_read) {
        pc->config_read(dev, offset, size);
    }
    for (unsigned i = 0; i < size; i++) {
        v |= (uint32_t)dev->config[offset + i] << (8 * i);
    }
    return v;
}

/* The bit that asks for a function level reset always reads as 0, so the value tells. */
static bool flr_requested(const PCIDevice *dev, unsigned offset, uint32_t value, unsigned size)
{
    unsigned at = dev->exp_cap + PCI_EXP_DEVCTL + 1; /* the byte with bit 15 */

    return (pci_get_long(dev->config + dev->exp_cap + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR) &&
           offset <= at && at < offset + size && (value >> (8 * (at - offset)) & 0x80);
}

void pci_config_write(PCIDevice *dev, unsigned offset, uint32_t value, unsigned size)
{
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(dev);

    ASSERT_BIG_LOCK();
    if (offset + size > dev->config_size) {
        return;
    }
    if (pc->config_write_begin) {
        pc->config_write_begin(dev, offset, value, size);
    }
    for (unsigned i = 0; i < size; i++) {
        uint8_t *c = &dev->config[offset + i], v = value >> (8 * i);

        *c = (*c & ~dev->wmask[offset + i]) | (v & dev->wmask[offset + i]);
        *c &= ~(v & dev->w1cmask[offset + i]);
    }
    if (range_touches(offset, size, PCI_COMMAND, 2) ||
        range_touches(offset, size, PCI_BASE_ADDRESS_0, 24) ||
        range_touches(offset, size, PCI_ROM_ADDRESS, 4)) {
        pci_update_bars(dev);
    }
    if (dev->exp_cap && flr_requested(dev, offset, value, size)) {
        device_reset(&dev->parent_obj);
        return;
    }
    msix_config_written(dev, offset, size);
    if (range_touches(offset, size, PCI_COMMAND, 2)) {
        pci_update_intx(dev);
    }
    if (pc->config_written) {
        pc->config_written(dev, offset, size);
    }
}
