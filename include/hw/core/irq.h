/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_IRQ_H
#define SPINDLE_HW_CORE_IRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "util/event-notifier.h"

/* Interrupt lines and messages. Runs in: under the big lock, unless said otherwise. */

#define GSI_COUNT 24

/* Sets the level of a global interrupt line. Several sources may share one: the line is the OR,
 * each source (0..31) has its own level. */
void gsi_set(unsigned gsi, unsigned source, bool level);
bool gsi_level(unsigned gsi);
/* Told of every change of a line; more than one may listen (accelerator, qtest interception). */
typedef void GsiListener(void *opaque, unsigned gsi, bool level);
void gsi_listen(GsiListener *fn, void *opaque);
void gsi_unlisten(GsiListener *fn, void *opaque);

/* Performs an MSI: a 32-bit little-endian write of `data` to `addr`. To the APIC range
 * (0xfee00000..0xfeefffff) it is an interrupt, given to the accelerator; elsewhere it is a memory
 * write like any other. Runs in: under the big lock. */
void msi_send(uint64_t addr, uint32_t data);
/* The accelerator's way to deliver one. */
void msi_set_handler(void (*fn)(void *opaque, uint64_t addr, uint32_t data), void *opaque);

/*
 * Routes: an eventfd that delivers an MSI when set, from any thread. With KVM this is irqfd;
 * without (qtest) there is none and the device's owner watches the eventfd in the main loop itself.
 * Runs in: under the big lock.
 */
typedef struct MsiRoute MsiRoute;
typedef struct LineRoute LineRoute;
typedef struct MsiRouteOps {
    MsiRoute *(*add)(EventNotifier *n, uint64_t addr, uint32_t data); /* NULL: not possible */
    void (*update)(MsiRoute *r, uint64_t addr, uint32_t data);
    void (*del)(MsiRoute *r);
    LineRoute *(*line_add)(EventNotifier *n, EventNotifier *ended, unsigned gsi);
    void (*line_del)(LineRoute *r);
} MsiRouteOps;
void msi_set_route_ops(const MsiRouteOps *ops);
bool msi_routes_available(void);
MsiRoute *msi_route_add(EventNotifier *n, uint64_t addr, uint32_t data);
void msi_route_update(MsiRoute *r, uint64_t addr, uint32_t data);
void msi_route_del(MsiRoute *r);

/*
 * The same for a level-triggered line: `n`, set from any thread, raises it. At the guest's end of
 * interrupt it falls, and `ended` is set: whoever still has a reason for the interrupt sets `n`
 * again. Several routes may share a line, each hears of all ends; gsi_set() has a level of its own.
 * NULL: not possible. line_route_del() lets go of the line as well. Runs in: under the big lock.
 */
bool line_routes_available(void);
LineRoute *line_route_add(EventNotifier *n, EventNotifier *ended, unsigned gsi);
void line_route_del(LineRoute *r);

#endif
