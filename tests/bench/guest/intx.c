/* SPDX-License-Identifier: GPL-2.0-or-later */
/* irq=2: the first processor takes the INTx of disks by the I/O APIC, level-triggered. Queues look
 * at their used rings after an interrupt only, so that one that is lost is a stall. */
#include "guest.h"

#define BASE_VECTOR 0x40
#define IOAPIC      0xfec00000ull
#define LEVEL       (1u << 15)
#define Q35_HOST    0x29c08086
#define PIIX_BDF    (1 << 3)
#define LPC_BDF     (31 << 3)
#define PIRQ_REG    0x60
#define PIRQ_E_REG  0x68
#define NO_INTX     (1u << 10) /* command register */
#define TOGGLE_MS   10

#define TOGGLE_ROUTES  1
#define TOGGLE_COMMAND 2

u64 spurious_interrupts;
u64 toggles;

/* boot.S */
void interrupts_on(void);
void interrupts_off(void);
void interrupt0(void);

static bool in_use, is_q35;
static u32 toggle;

static void ioapic_write(u32 reg, u32 value)
{
    *(volatile u32 *)IOAPIC = reg;
    *(volatile u32 *)(IOAPIC + 0x10) = value;
}

/* Where the router's inputs lead; `other` is a second way that works as well: on pc the other line,
 * on q35 the 8259s beside the I/O APIC. */
static void route(bool other)
{
    if (is_q35) {
        pci_write(LPC_BDF, PIRQ_E_REG, other ? 0x0b0a0b0a : 0x80808080);
    } else {
        pci_write(PIIX_BDF, PIRQ_REG, other ? 0x0a0b0a0b : 0x0b0a0b0a);
    }
}

/* INTA of a slot of bus 0. */
static u32 line_of(u32 bdf)
{
    u32 slot = bdf >> 3;
    is_q35 = pci_read(0, 0) == Q35_HOST;
    if (is_q35 && slot >= 25) {
        fail("irq=2: of a disk in a slot whose interrupt the guest does not know");
    }
    route(false);
    return is_q35 ? 16 + 4 + slot % 4 : slot & 1 ? 10 : 11;
}

static void gate(u32 vector, void (*entry)(void))
{
    extern u8 idt[];
    u64 at = (u64)entry;
    u16 *g = (u16 *)(idt + 16 * vector);
    g[0] = at;
    g[3] = at >> 16;
}

static void open_line(u32 line)
{
    u32 vector = BASE_VECTOR + line;
    gate(vector, interrupt0);
    ioapic_write(0x10 + 2 * line + 1, cpu_apic_ids[0] << 24);
    ioapic_write(0x10 + 2 * line, LEVEL | vector);
}

void intx_start(struct disk *d, u32 bdf)
{
    u32 line = line_of(bdf);
    outb(0x21, 0xff);
    outb(0xa1, 0xff);
    open_line(line);
    if (!is_q35) {
        open_line(line ^ 1);
    }
    pci_write(bdf, 4, pci_read(bdf, 4) & ~NO_INTX);
    d->line = line;
    d->bdf = bdf;
    in_use = true;
    toggle = option("toggle", 0);
}

static void toggle_command(void)
{
    for (u32 i = 0; i < disk_count; i++) {
        if (disks[i].interrupts == IRQ_INTX) {
            pci_write(disks[i].bdf, 4, (pci_read(disks[i].bdf, 4) ^ NO_INTX) & 0xffff);
        }
    }
}

void intx_tick(u64 now)
{
    static u64 next;
    if (!toggle || now < next) {
        return;
    }
    next = now + options.tsc_khz * TOGGLE_MS;
    toggles++;
    if (toggle & TOGGLE_ROUTES) {
        route(toggles & 1);
    }
    if (toggle & TOGGLE_COMMAND) {
        toggle_command();
        toggle_command();
    }
}

void intx_allow(void)
{
    if (in_use) {
        interrupts_on();
    }
}

void intx_forbid(void)
{
    if (in_use) {
        interrupts_off();
    }
}

/* At CPL 0, of the first processor. */
void interrupt(void);
void interrupt(void)
{
    bool any = false;
    for (u32 i = 0; i < disk_count; i++) {
        struct disk *d = &disks[i];
        if (d->interrupts == IRQ_INTX && ((d->isr ? *d->isr : inb(d->isr_port)) & 1)) {
            *(volatile u64 *)&d->taken += 1;
            any = true;
        }
    }
    spurious_interrupts += !any;
    end_of_interrupt();
}
