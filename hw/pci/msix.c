/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MSI-X (PCI 3.0 §6.8.2): table and pending bits in a BAR of their own, masking, delivery. */
#include <limits.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "hw/core/irq.h"
#include "pci-internal.h"
#include "util/biglock.h"

#define BAR_SIZE_MIN 0x1000U
#define PBA_OFFSET_MIN 0x800U

struct MsixState {
    PCIDevice *dev;
    unsigned count;
    unsigned cap;        /* offset of the capability */
    uint32_t pba_offset; /* in the BAR */
    uint8_t *table;
    uint8_t *pending;
    bool enabled, function_masked; /* as of the last look at the control word */
    MsixListener *listener;
    void *opaque;
    bool (*poll)(PCIDevice *dev, unsigned v, void *opaque);
};

static uint8_t *entry_of(MsixState *m, unsigned v)
{
    return m->table + v * PCI_MSIX_ENTRY_SIZE;
}

static bool entry_masked(MsixState *m, unsigned v)
{
    return entry_of(m, v)[PCI_MSIX_ENTRY_VECTOR_CTRL] & PCI_MSIX_ENTRY_CTRL_MASKBIT;
}

bool msix_enabled(PCIDevice *dev)
{
    return dev->msix && dev->msix->enabled;
}

unsigned msix_vector_count(PCIDevice *dev)
{
    return dev->msix ? dev->msix->count : 0;
}

bool msix_masked(PCIDevice *dev, unsigned v)
{
    MsixState *m = dev->msix;

    return !m || v >= m->count || !m->enabled || m->function_masked || entry_masked(m, v);
}

static bool is_pending(MsixState *m, unsigned v)
{
    return m->pending[v / 8] & 1U << (v % 8);
}

void msix_set_pending(PCIDevice *dev, unsigned v, bool pending)
{
    MsixState *m = dev->msix;

    if (!m || v >= m->count) {
        return;
    }
    if (pending) {
        m->pending[v / 8] |= 1U << (v % 8);
    } else {
        m->pending[v / 8] &= ~(1U << (v % 8));
    }
}

void msix_message(PCIDevice *dev, unsigned v, uint64_t *addr, uint32_t *data)
{
    const uint8_t *e = entry_of(dev->msix, v);

    *addr = pci_get_long(e + PCI_MSIX_ENTRY_LOWER_ADDR) |
            (uint64_t)pci_get_long(e + PCI_MSIX_ENTRY_UPPER_ADDR) << 32;
    *data = pci_get_long(e + PCI_MSIX_ENTRY_DATA);
}

void msix_notify(PCIDevice *dev, unsigned v)
{
    MsixState *m = dev->msix;
    uint64_t addr;
    uint32_t data;

    ASSERT_BIG_LOCK();
    if (!m || v >= m->count || !m->enabled) {
        return;
    }
    if (msix_masked(dev, v)) {
        msix_set_pending(dev, v, true);
        return;
    }
    if (pci_bus_master_enabled(dev)) {
        msix_message(dev, v, &addr, &data);
        msi_send(addr, data);
    }
}

static void tell(MsixState *m, unsigned v)
{
    if (m->listener) {
        m->listener(m->dev, v, m->opaque);
    }
}

/* What is due once a vector is not masked any more. */
static void unmasked(MsixState *m, unsigned v)
{
    if (is_pending(m, v)) {
        msix_set_pending(m->dev, v, false);
        msix_notify(m->dev, v);
    }
}

/* ---- the BAR ---- */

static void poll_pending(MsixState *m, unsigned first, unsigned last)
{
    for (unsigned v = first; m->poll && v < m->count && v <= last; v++) {
        if (msix_masked(m->dev, v) && m->poll(m->dev, v, m->opaque)) {
            msix_set_pending(m->dev, v, true);
        }
    }
}

static uint64_t msix_bar_read(void *opaque, uint64_t offset, unsigned size)
{
    MsixState *m = opaque;
    unsigned pba_len = (m->count + 63) / 64 * 8;
    uint64_t v = 0;

    if (offset >= m->pba_offset && offset < m->pba_offset + pba_len) {
        unsigned bit = (offset - m->pba_offset) * 8;

        poll_pending(m, bit, bit + size * 8 - 1);
    }
    for (unsigned i = 0; i < size; i++) {
        uint64_t at = offset + i;
        uint8_t b = at < m->count * PCI_MSIX_ENTRY_SIZE ? m->table[at]
                    : at >= m->pba_offset && at < m->pba_offset + pba_len
                        ? m->pending[at - m->pba_offset]
                        : 0;

        v |= (uint64_t)b << (8 * i);
    }
    return v;
}

static void msix_bar_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    MsixState *m = opaque;

    for (unsigned done = 0; done < size;) {
        uint64_t at = offset + done;
        unsigned v = at / PCI_MSIX_ENTRY_SIZE;

        if (v >= m->count) {
            return; /* pending bits are the device's to write */
        }
        bool was_masked = msix_masked(m->dev, v);
        unsigned n = MIN(size - done, PCI_MSIX_ENTRY_SIZE - at % PCI_MSIX_ENTRY_SIZE);

        for (unsigned i = 0; i < n; i++) {
            m->table[at + i] = value >> (8 * (done + i));
        }
        done += n;
        tell(m, v);
        if (was_masked && !msix_masked(m->dev, v)) {
            unmasked(m, v);
        }
    }
}

static const MmioOps msix_bar_ops = {
    .read = msix_bar_read,
    .write = msix_bar_write,
};

bool msix_init(PCIDevice *dev, unsigned nvectors, int bar, int cap_offset)
{
    if (nvectors < 1 || nvectors > PCI_MSIX_FLAGS_QSIZE + 1) {
        return false;
    }
    MsixState *m = g_new0(MsixState, 1);
    uint32_t size = BAR_SIZE_MIN, pba_len = (nvectors + 63) / 64 * 8;

    m->dev = dev;
    m->count = nvectors;
    m->pba_offset = MAX(PBA_OFFSET_MIN, nvectors * PCI_MSIX_ENTRY_SIZE);
    while (size < m->pba_offset + pba_len) {
        size <<= 1;
    }
    m->table = g_malloc0(nvectors * PCI_MSIX_ENTRY_SIZE);
    m->pending = g_malloc0(pba_len);
    m->cap = pci_add_capability(dev, PCI_CAP_ID_MSIX, cap_offset, PCI_CAP_MSIX_SIZEOF);
    uint8_t *c = dev->config + m->cap;

    pci_set_word(c + PCI_MSIX_FLAGS, nvectors - 1);
    pci_set_long(c + PCI_MSIX_TABLE, bar);
    pci_set_long(c + PCI_MSIX_PBA, m->pba_offset | bar);
    pci_set_word(dev->wmask + m->cap + PCI_MSIX_FLAGS,
                 PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
    dev->msix = m;
    pci_add_bar(dev, bar, mmio_region_new("msix", &msix_bar_ops, m, size),
                PCI_BASE_ADDRESS_SPACE_MEMORY);
    for (unsigned v = 0; v < nvectors; v++) {
        entry_of(m, v)[PCI_MSIX_ENTRY_VECTOR_CTRL] = PCI_MSIX_ENTRY_CTRL_MASKBIT;
    }
    return true;
}

void msix_uninit(PCIDevice *dev)
{
    MsixState *m = dev->msix;

    if (!m) {
        return;
    }
    for (unsigned i = 0; i < PCI_BAR_COUNT; i++) {
        if (dev->bars[i].region && dev->config &&
            i == (pci_get_long(dev->config + m->cap + PCI_MSIX_TABLE) & PCI_MSIX_TABLE_BIR)) {
            mmio_region_free(dev->bars[i].region);
            dev->bars[i] = (PCIBar){0};
        }
    }
    dev->msix = NULL;
    g_free(m->table);
    g_free(m->pending);
    g_free(m);
}

/* ---- control word ---- */

static void control_changed(MsixState *m)
{
    uint16_t ctl = pci_get_word(m->dev->config + m->cap + PCI_MSIX_FLAGS);
    bool enabled = ctl & PCI_MSIX_FLAGS_ENABLE, masked = ctl & PCI_MSIX_FLAGS_MASKALL;
    bool was_off = !m->enabled || m->function_masked, toggled = enabled != m->enabled;

    if (!toggled && masked == m->function_masked) {
        return;
    }
    m->enabled = enabled;
    m->function_masked = masked;
    if (toggled) {
        pci_update_intx(m->dev);
        tell(m, UINT_MAX);
    }
    if (was_off == (!enabled || masked)) {
        return;
    }
    for (unsigned v = 0; v < m->count; v++) {
        if (entry_masked(m, v)) {
            continue;
        }
        tell(m, v);
        if (was_off) {
            unmasked(m, v);
        }
    }
}

void msix_config_written(PCIDevice *dev, unsigned offset, unsigned size)
{
    if (dev->msix && range_touches(offset, size, dev->msix->cap + PCI_MSIX_FLAGS, 2)) {
        control_changed(dev->msix);
    }
}

void msix_reset(PCIDevice *dev)
{
    MsixState *m = dev->msix;
    uint8_t *ctl = dev->config + m->cap + PCI_MSIX_FLAGS;

    pci_set_word(ctl, pci_get_word(ctl) & ~(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL));
    memset(m->pending, 0, (m->count + 63) / 64 * 8);
    control_changed(m);
    memset(m->table, 0, m->count * PCI_MSIX_ENTRY_SIZE);
    for (unsigned v = 0; v < m->count; v++) {
        entry_of(m, v)[PCI_MSIX_ENTRY_VECTOR_CTRL] = PCI_MSIX_ENTRY_CTRL_MASKBIT;
    }
}

void msix_set_listener(PCIDevice *dev, MsixListener *fn, void *opaque)
{
    dev->msix->listener = fn;
    dev->msix->opaque = opaque;
}

void msix_set_poll(PCIDevice *dev, bool (*pending)(PCIDevice *dev, unsigned v, void *opaque))
{
    dev->msix->poll = pending;
}
