/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_IRQCHIP_H
#define SPINDLE_HW_I386_IRQCHIP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Interrupt controllers in user space, for an accelerator that emulates the local APICs only
 * (kernel-irqchip=split): the pair of 8259 and the I/O APIC. The machine makes them if the
 * accelerator has said so before it is built. Runs in: under the big lock, unless said otherwise.
 */

typedef struct IrqchipOps {
    /* The output of the first 8259 has risen. */
    void (*pic_raised)(void);
    /* What a pin of the I/O APIC is to send; not connected: it is masked. For the accelerator to
     * know which vectors end a level-triggered interrupt. */
    void (*ioapic_route)(unsigned pin, bool connected, uint64_t addr, uint32_t data);
} IrqchipOps;

/* NULL: the accelerator has controllers of its own, or none. */
void irqchip_set_ops(const IrqchipOps *ops);
const IrqchipOps *irqchip_ops(void);

/* Whether the 8259s want to interrupt. Runs in: any thread. */
bool i8259_pending(void);
/* What the processor's acknowledgement fetches: the vector. */
uint8_t i8259_acknowledge(void);
/* A local APIC has ended a level-triggered interrupt. */
void ioapic_end_of_interrupt(uint8_t vector);

#endif
