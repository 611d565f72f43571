/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slot registers of a root port, and native hot-plug by them. */
#include "pcie-slot.h"

#include <linux/pci_regs.h>

#include "pci-internal.h"
#include "util/aio.h"

/* How long the guest may take to answer the attention button (PCI Express §6.7.1.5: 5 s in which a
 * second press cancels the first). */
#define ATTENTION_NS (5 * G_GINT64_CONSTANT(1000000000))

#define SLOT_EVENTS                                                                                \
    (PCI_EXP_SLTSTA_ABP | PCI_EXP_SLTSTA_PFD | PCI_EXP_SLTSTA_MRLSC | PCI_EXP_SLTSTA_PDC |         \
     PCI_EXP_SLTSTA_CC)
#define POWER_OFF (PCI_EXP_SLTCTL_PCC)
#define INDICATOR_BLINKS 0x200 /* of PCI_EXP_SLTCTL_PIC */
#define INDICATOR_ON     0x100
#define INDICATOR_OFF    0x300

static PCIDevice *slot_dev(PCIESlot *s)
{
    return &s->parent_obj.parent_obj;
}

static uint8_t *slot_reg(PCIESlot *s, unsigned reg)
{
    return slot_dev(s)->config + slot_dev(s)->exp_cap + reg;
}

static uint16_t slot_ctl(PCIESlot *s)
{
    return pci_get_word(slot_reg(s, PCI_EXP_SLTCTL));
}

static uint16_t slot_sta(PCIESlot *s)
{
    return pci_get_word(slot_reg(s, PCI_EXP_SLTSTA));
}

static void slot_set_sta(PCIESlot *s, uint16_t clear, uint16_t set)
{
    pci_set_word(slot_reg(s, PCI_EXP_SLTSTA), (slot_sta(s) & ~clear) | set);
}

static bool slot_powered(PCIESlot *s)
{
    return !s->power_controller || !(slot_ctl(s) & POWER_OFF);
}

/* Both the controller and the indicator say off: the guest has let go of the slot. */
static bool ctl_is_off(uint16_t ctl)
{
    return (ctl & PCI_EXP_SLTCTL_PIC) == INDICATOR_OFF && (ctl & POWER_OFF);
}

static PCIESlot *slot_of(BusState *bus)
{
    return PCIE_SLOT(PCI_BUS(bus)->bridge);
}

/* ---- telling the guest ---- */

static void update_irq(PCIESlot *s)
{
    uint16_t ctl = slot_ctl(s), sta = slot_sta(s);
    PCIDevice *dev = slot_dev(s);
    /* Enable bits stand where the status bits stand, except that of a completed command. */
    bool now = (ctl & PCI_EXP_SLTCTL_HPIE) && (sta & ctl & SLOT_EVENTS);

    if (msix_enabled(dev)) {
        if (now && !s->irq_asserted) {
            msix_notify(dev, 0);
        }
    } else {
        pci_set_intx(dev, now);
    }
    s->irq_asserted = now;
}

static void slot_event(PCIESlot *s, uint16_t events)
{
    slot_set_sta(s, 0, events);
    update_irq(s);
}

void pcie_slot_update_link(PCIESlot *s)
{
    PCIDevice *below = s->parent_obj.secondary ? s->parent_obj.secondary->devices[0] : NULL;
    uint32_t cap = pci_get_long(slot_reg(s, PCI_EXP_LNKCAP));
    unsigned speed = cap & PCI_EXP_LNKCAP_SLS, width = (cap & PCI_EXP_LNKCAP_MLW) >> 4;
    uint16_t sta = 0;

    if (below && below->config && below->exp_cap) {
        uint32_t other = pci_get_long(below->config + below->exp_cap + PCI_EXP_LNKCAP);

        speed = MIN(speed, other & PCI_EXP_LNKCAP_SLS);
        width = MIN(width, (other & PCI_EXP_LNKCAP_MLW) >> 4);
    }
    if ((slot_sta(s) & PCI_EXP_SLTSTA_PDS) &&
        (slot_dev(s)->pcie_flags & 1U << PCI_FLAG_LNKSTA_DLLLA)) {
        sta = PCI_EXP_LNKSTA_DLLLA;
    }
    pci_set_word(slot_reg(s, PCI_EXP_LNKSTA), sta | speed | width << 4);
}

/* ---- registers ---- */

void pcie_slot_init(PCIESlot *s)
{
    PCIDevice *dev = slot_dev(s);
    uint8_t *w = dev->wmask + dev->exp_cap;
    uint32_t cap = (uint32_t)s->slot << 19 | PCI_EXP_SLTCAP_EIP | PCI_EXP_SLTCAP_PIP |
                   PCI_EXP_SLTCAP_AIP | PCI_EXP_SLTCAP_ABP;

    if (s->power_controller) {
        cap |= PCI_EXP_SLTCAP_PCP;
    }
    if (s->hotplug) {
        cap |= PCI_EXP_SLTCAP_HPS | (s->hide_hotplug_cap ? 0 : PCI_EXP_SLTCAP_HPC);
    }
    pci_set_long(slot_reg(s, PCI_EXP_SLTCAP), cap);
    pci_set_word(w + PCI_EXP_SLTCTL,
                 PCI_EXP_SLTCTL_PIC | PCI_EXP_SLTCTL_AIC | PCI_EXP_SLTCTL_HPIE |
                     PCI_EXP_SLTCTL_CCIE | PCI_EXP_SLTCTL_PDCE | PCI_EXP_SLTCTL_ABPE |
                     (s->power_controller ? POWER_OFF : 0));
    pci_set_word(dev->w1cmask + dev->exp_cap + PCI_EXP_SLTSTA, SLOT_EVENTS);
}

static bool slot_populated(PCIESlot *s)
{
    PCIBus *bus = s->parent_obj.secondary;

    return bus && bus->parent_obj.children != NULL;
}

void pcie_slot_reset(PCIESlot *s)
{
    bool off = s->power_controller && !slot_populated(s);

    pci_set_word(slot_reg(s, PCI_EXP_SLTCTL),
                 PCI_EXP_SLTCTL_PIC | PCI_EXP_SLTCTL_AIC | (off ? POWER_OFF : 0));
    slot_set_sta(s, SLOT_EVENTS | PCI_EXP_SLTSTA_EIS, 0);
    if (!slot_populated(s)) {
        slot_set_sta(s, PCI_EXP_SLTSTA_PDS, 0);
    }
    update_irq(s);
    if (s->parent_obj.secondary) {
        pci_bus_set_hidden(s->parent_obj.secondary, false);
    }
}

void pcie_slot_write_begin(PCIESlot *s, unsigned offset, uint32_t value, unsigned size)
{
    unsigned base = slot_dev(s)->exp_cap;

    s->old_ctl = slot_ctl(s);
    s->old_sta = slot_sta(s);
    s->written_sta = 0;
    for (unsigned i = 0; i < size; i++) {
        unsigned at = offset + i;

        if (at == base + PCI_EXP_SLTSTA) {
            s->written_sta = value >> (8 * i) & 0xff;
        }
        /* The interlock control toggles the lock and always reads as 0. */
        if (at == base + PCI_EXP_SLTCTL + 1 &&
            (value >> (8 * i) << 8 & PCI_EXP_SLTCTL_EIC)) {
            slot_set_sta(s, slot_sta(s) & PCI_EXP_SLTSTA_EIS,
                         ~slot_sta(s) & PCI_EXP_SLTSTA_EIS);
        }
    }
}

/* The guest turned the power off: what sat in the slot goes. */
static void slot_eject(PCIESlot *s)
{
    BusState *bus = &s->parent_obj.secondary->parent_obj;
    g_autoptr(GPtrArray) gone = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);

    /* Unplugging may wait for I/O, and the list change meanwhile. */
    for (GList *l = bus->children; l; l = l->next) {
        g_ptr_array_add(gone, object_ref(l->data));
    }
    device_unplug_by_guest(g_steal_pointer(&gone));
    slot_set_sta(s, PCI_EXP_SLTSTA_PDS, PCI_EXP_SLTSTA_PDC);
}

/* The indicator blinks while a guest is about to do what it was asked for, and goes back to what it
 * was when that is called off (PCI Express §6.7.1.5). */
static bool called_off(uint16_t old, uint16_t now)
{
    return (old & PCI_EXP_SLTCTL_PIC) == INDICATOR_BLINKS &&
           (now & PCI_EXP_SLTCTL_PIC) == INDICATOR_ON && !(now & POWER_OFF);
}

static void slot_keeps(PCIESlot *s)
{
    for (GList *l = s->parent_obj.secondary->parent_obj.children; l; l = l->next) {
        device_unplug_refused(l->data);
    }
}

void pcie_slot_written(PCIESlot *s, unsigned offset, unsigned size)
{
    PCIDevice *dev = slot_dev(s);

    if (range_touches(offset, size, dev->exp_cap + PCI_EXP_SLTSTA, 1)) {
        /* Clearing events that were not there would also lose those that came since the guest last
         * looked: such a write clears nothing. */
        if (s->written_sta & SLOT_EVENTS & ~s->old_sta) {
            slot_set_sta(s, 0, s->old_sta & SLOT_EVENTS);
        }
        update_irq(s);
    }
    if (!range_touches(offset, size, dev->exp_cap + PCI_EXP_SLTCTL, 2)) {
        return;
    }
    if (ctl_is_off(slot_ctl(s)) && !ctl_is_off(s->old_ctl) && (slot_sta(s) & PCI_EXP_SLTSTA_PDS)) {
        slot_eject(s);
    } else if (called_off(s->old_ctl, slot_ctl(s))) {
        slot_keeps(s);
    }
    pci_bus_set_hidden(s->parent_obj.secondary, !slot_powered(s));
    slot_event(s, PCI_EXP_SLTSTA_CC);
}

/* ---- plugging ---- */

void pcie_slot_power_on(PCIBus *bus)
{
    if (bus->bridge && object_is((Object *)bus->bridge, TYPE_PCIE_SLOT)) {
        PCIESlot *s = PCIE_SLOT(bus->bridge);

        pci_set_word(slot_reg(s, PCI_EXP_SLTCTL), slot_ctl(s) & ~POWER_OFF);
        pci_bus_set_hidden(bus, false);
    }
}

void pcie_slot_reset_empty(PCIBus *bus)
{
    if (bus->bridge && object_is((Object *)bus->bridge, TYPE_PCIE_SLOT) &&
        !bus->parent_obj.children) {
        pcie_slot_reset(PCIE_SLOT(bus->bridge));
    }
}

static bool native_plug(BusState *bus, DeviceState *dev, Error **errp)
{
    PCIESlot *s = slot_of(bus);

    if (!dev->hotplugged) {
        slot_set_sta(s, 0, PCI_EXP_SLTSTA_PDS);
        return true;
    }
    pci_bus_set_hidden(PCI_BUS(bus), !slot_powered(s));
    /* Other functions are seen with function 0. */
    if (PCI_FUNC_OF(PCI_DEVICE(dev)->devfn) == 0) {
        slot_set_sta(s, 0, PCI_EXP_SLTSTA_PDS);
        slot_event(s, PCI_EXP_SLTSTA_PDC | PCI_EXP_SLTSTA_ABP);
    }
    return true;
}

static bool native_unplug_request(BusState *bus, DeviceState *dev, Error **errp)
{
    PCIESlot *s = slot_of(bus);
    uint16_t ctl = slot_ctl(s);

    if ((ctl & PCI_EXP_SLTCTL_PIC) == INDICATOR_BLINKS) {
        error_set(errp, "Hot-unplug failed: guest is busy (power indicator blinking)");
        return false;
    }
    /* A function the guest cannot see needs nobody's consent. */
    if (ctl_is_off(ctl) ||
        (PCI_FUNC_OF(PCI_DEVICE(dev)->devfn) != 0 && !PCI_BUS(bus)->devices[0])) {
        if (PCI_FUNC_OF(PCI_DEVICE(dev)->devfn) != 0) {
            device_unplug(dev);
            return true;
        }
        slot_eject(s);
        return true;
    }
    dev->unplug_deadline_ns = aio_clock_ns(AIO_CLOCK_VIRTUAL) + ATTENTION_NS;
    slot_event(s, PCI_EXP_SLTSTA_ABP);
    return true;
}

const HotplugOps pcie_slot_hotplug_ops = {
    .plug = native_plug,
    .unplug_request = native_unplug_request,
};
