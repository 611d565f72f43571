/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The router between the interrupt pins of PCI and the lines of the interrupt controllers. */
#include "hw/core/irq.h"
#include "pc.h"

static void drive(PirqRouter *r, unsigned pirq, bool level)
{
    if (r->line[pirq] >= 0) {
        gsi_set(r->line[pirq], pirq, level);
    }
    if (r->to_ioapic) {
        gsi_set(16 + pirq, pirq, level);
    }
}

void pirq_set(PirqRouter *r, unsigned pirq, bool level)
{
    bool before = r->count[pirq] > 0;

    g_assert(pirq < G_N_ELEMENTS(r->count) && (level || before));
    r->count[pirq] += level ? 1 : -1;
    if (before != (r->count[pirq] > 0)) {
        drive(r, pirq, level);
    }
}

bool pirq_route(PirqRouter *r, unsigned pirq, int line)
{
    if (r->line[pirq] == line) {
        return false;
    }
    if (r->line[pirq] >= 0) {
        gsi_set(r->line[pirq], pirq, false);
    }
    r->line[pirq] = line;
    drive(r, pirq, r->count[pirq] > 0);
    return true;
}

int pirq_gsi(const PirqRouter *r, unsigned pirq)
{
    int line = r->line[pirq];

    if (r->to_ioapic) {
        return line < 0 ? 16 + (int)pirq : -1;
    }
    /* Timer, keyboard, cascade, clock and coprocessor have their lines to themselves. */
    return line < 3 || line == 8 || line == 13 ? -1 : line;
}
