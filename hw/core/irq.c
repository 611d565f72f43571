/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt lines (the OR of their sources) and messages. */
#include "hw/core/irq.h"

#include "hw/core/memory.h"
#include "util/biglock.h"

#define APIC_BASE 0xfee00000ULL
#define APIC_LAST 0xfeefffffULL

typedef struct GsiListenerEntry {
    GsiListener *fn;
    void *opaque;
} GsiListenerEntry;

static uint32_t gsi_sources[GSI_COUNT];
static GArray *gsi_listeners;

void gsi_set(unsigned gsi, unsigned source, bool level)
{
    ASSERT_BIG_LOCK();
    g_assert(gsi < GSI_COUNT && source < 32);
    uint32_t old = gsi_sources[gsi];

    gsi_sources[gsi] = level ? old | 1U << source : old & ~(1U << source);
    if (!old == !gsi_sources[gsi]) {
        return;
    }
    for (guint i = 0; gsi_listeners && i < gsi_listeners->len; i++) {
        GsiListenerEntry *l = &g_array_index(gsi_listeners, GsiListenerEntry, i);

        l->fn(l->opaque, gsi, level);
    }
}

bool gsi_level(unsigned gsi)
{
    g_assert(gsi < GSI_COUNT);
    return gsi_sources[gsi] != 0;
}

void gsi_listen(GsiListener *fn, void *opaque)
{
    GsiListenerEntry l = {fn, opaque};

    ASSERT_BIG_LOCK();
    if (!gsi_listeners) {
        gsi_listeners = g_array_new(false, false, sizeof(GsiListenerEntry));
    }
    g_array_append_val(gsi_listeners, l);
}

void gsi_unlisten(GsiListener *fn, void *opaque)
{
    ASSERT_BIG_LOCK();
    for (guint i = 0; gsi_listeners && i < gsi_listeners->len; i++) {
        GsiListenerEntry *l = &g_array_index(gsi_listeners, GsiListenerEntry, i);

        if (l->fn == fn && l->opaque == opaque) {
            g_array_remove_index(gsi_listeners, i);
            return;
        }
    }
}

/* ---- messages ---- */

static void (*msi_handler)(void *opaque, uint64_t addr, uint32_t data);
static void *msi_opaque;

void msi_set_handler(void (*fn)(void *opaque, uint64_t addr, uint32_t data), void *opaque)
{
    msi_handler = fn;
    msi_opaque = opaque;
}

void msi_send(uint64_t addr, uint32_t data)
{
    static bool sending;
    uint32_t le = GUINT32_TO_LE(data);

    ASSERT_BIG_LOCK();
    if (addr >= APIC_BASE && addr <= APIC_LAST) {
        if (msi_handler) {
            msi_handler(msi_opaque, addr, data);
        }
        return;
    }
    if (guest_write(addr, &le, sizeof(le))) {
        return;
    }
    /* A message aimed at a device's registers may make that device send another one: a guest could
     * build a ring of them. One step is as far as it goes. */
    if (sending) {
        return;
    }
    sending = true;
    address_space_write(guest_memory, addr, &le, sizeof(le));
    sending = false;
}

static const MsiRouteOps *route_ops;

void msi_set_route_ops(const MsiRouteOps *ops)
{
    route_ops = ops;
}

bool msi_routes_available(void)
{
    return route_ops != NULL;
}

MsiRoute *msi_route_add(EventNotifier *n, uint64_t addr, uint32_t data)
{
    return route_ops ? route_ops->add(n, addr, data) : NULL;
}

void msi_route_update(MsiRoute *r, uint64_t addr, uint32_t data)
{
    route_ops->update(r, addr, data);
}

void msi_route_del(MsiRoute *r)
{
    route_ops->del(r);
}

bool line_routes_available(void)
{
    return route_ops && route_ops->line_add;
}

LineRoute *line_route_add(EventNotifier *n, EventNotifier *ended, unsigned gsi)
{
    g_assert(gsi < GSI_COUNT);
    return line_routes_available() ? route_ops->line_add(n, ended, gsi) : NULL;
}

void line_route_del(LineRoute *r)
{
    route_ops->line_del(r);
}
