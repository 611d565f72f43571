/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory map: regions, where they are mapped, and the flat view that results from their
 * priorities. The view is rebuilt as a whole by each commit; maps are small and change rarely.
 */
#include "hw/core/memory.h"

#include "memory-internal.h"
#include "util/biglock.h"

typedef struct ListenerEntry {
    const MemoryListener *ops;
    void *opaque;
} ListenerEntry;

static AddressSpace memory_space = {
    .name = "memory",
    .last = UINT64_MAX,
    .unassigned = 0,
    .max_size = 8,
};
static AddressSpace port_space = {
    .name = "I/O",
    .last = 0xffff,
    .unassigned = 0xff,
    .max_size = 4,
};

AddressSpace *const guest_memory = &memory_space;
AddressSpace *const guest_ports = &port_space;

static unsigned batch_depth;
static uint64_t map_sequence;
static GArray *listeners; /* of ListenerEntry */

MmioRegion *mmio_region_new(const char *name, const MmioOps *ops, void *opaque, uint64_t size)
{
    MmioRegion *r = g_new0(MmioRegion, 1);

    g_assert(size > 0);
    r->name = g_strdup(name);
    r->ops = ops;
    r->opaque = opaque;
    r->size = size;
    return r;
}

void mmio_region_free(MmioRegion *r)
{
    if (!r) {
        return;
    }
    mmio_region_unmap(r);
    if (r->eventfds) {
        g_array_free(r->eventfds, true);
    }
    g_free(r->name);
    g_free(r);
}

bool mmio_region_mapped(const MmioRegion *r)
{
    return r->as != NULL;
}

uint64_t mmio_region_base(const MmioRegion *r)
{
    return r->base;
}

uint64_t mmio_region_size(const MmioRegion *r)
{
    return r->size;
}

const char *mmio_region_name(const MmioRegion *r)
{
    return r->name;
}

/* ---- the flat view ---- */

static int compare_visibility(const void *a, const void *b)
{
    const MmioRegion *ra = *(MmioRegion *const *)a, *rb = *(MmioRegion *const *)b;

    if (ra->priority != rb->priority) {
        return ra->priority > rb->priority ? -1 : 1;
    }
    return ra->sequence > rb->sequence ? -1 : 1;
}

/* Adds the parts of [start, last] that view does not cover yet. */
static void view_fill(GArray *view, MmioRegion *r, uint64_t start, uint64_t last)
{
    for (guint i = 0; i <= view->len; i++) {
        uint64_t gap_last = last;

        if (i < view->len) {
            FlatRange *f = &g_array_index(view, FlatRange, i);

            if (f->last < start) {
                continue;
            }
            if (f->start <= start) {
                if (f->last >= last) {
                    return;
                }
                start = f->last + 1;
                continue;
            }
            if (f->start <= last) {
                gap_last = f->start - 1;
            }
        }
        FlatRange n = {.start = start, .last = gap_last, .region = r};

        g_array_insert_val(view, i, n);
        if (gap_last == last) {
            return;
        }
        start = gap_last + 1;
    }
}

static GArray *view_build(AddressSpace *as)
{
    GArray *view = g_array_new(false, false, sizeof(FlatRange));

    if (!as->regions) {
        return view;
    }
    g_autofree MmioRegion **order = g_new(MmioRegion *, as->regions->len + 1);

    for (guint i = 0; i < as->regions->len; i++) {
        order[i] = as->regions->pdata[i];
    }
    qsort(order, as->regions->len, sizeof(order[0]), compare_visibility);
    for (guint i = 0; i < as->regions->len; i++) {
        MmioRegion *r = order[i];
        uint64_t last = r->base + (r->size - 1);

        if (r->base > as->last) {
            continue;
        }
        if (last < r->base || last > as->last) {
            last = as->last;
        }
        view_fill(view, r, r->base, last);
    }
    return view;
}

const FlatRange *address_space_find(AddressSpace *as, uint64_t addr)
{
    guint lo = 0, hi = as->view ? as->view->len : 0;

    while (lo < hi) {
        guint mid = lo + (hi - lo) / 2;
        const FlatRange *f = &g_array_index(as->view, FlatRange, mid);

        if (addr < f->start) {
            hi = mid;
        } else if (addr > f->last) {
            lo = mid + 1;
        } else {
            return f;
        }
    }
    return NULL;
}

/* ---- doorbells, as listeners see them ---- */

static int compare_mapped(const Doorbell *a, const Doorbell *b)
{
    if (a->addr != b->addr) {
        return a->addr < b->addr ? -1 : 1;
    }
    if (a->size != b->size) {
        return a->size < b->size ? -1 : 1;
    }
    if (a->match != b->match) {
        return a->match < b->match ? -1 : 1;
    }
    if (a->notifier != b->notifier) {
        return (uintptr_t)a->notifier < (uintptr_t)b->notifier ? -1 : 1;
    }
    return 0;
}

static int compare_mapped_sort(gconstpointer a, gconstpointer b)
{
    return compare_mapped(a, b);
}

static GArray *doorbells_build(AddressSpace *as)
{
    GArray *list = g_array_new(false, false, sizeof(Doorbell));

    for (guint i = 0; as->regions && i < as->regions->len; i++) {
        MmioRegion *r = as->regions->pdata[i];

        for (guint j = 0; r->eventfds && j < r->eventfds->len; j++) {
            Doorbell m = g_array_index(r->eventfds, Doorbell, j);

            m.addr += r->base;
            const FlatRange *f = address_space_find(as, m.addr);

            if (f && f->region == r) {
                g_array_append_val(list, m);
            }
        }
    }
    g_array_sort(list, compare_mapped_sort);
    return list;
}

static void doorbell_tell(AddressSpace *as, bool added, const Doorbell *m)
{
    for (guint i = 0; i < listeners->len; i++) {
        ListenerEntry *l = &g_array_index(listeners, ListenerEntry, i);

        if (added && l->ops->eventfd_add) {
            l->ops->eventfd_add(l->opaque, as, m);
        } else if (!added && l->ops->eventfd_del) {
            l->ops->eventfd_del(l->opaque, as, m);
        }
    }
}

/* What went is told before what came: two doorbells at one address are never registered at once. */
static void doorbells_update(AddressSpace *as)
{
    if (!listeners) {
        return;
    }
    GArray *now = doorbells_build(as), *old = as->doorbells;

    for (int added = 0; added <= 1; added++) {
        GArray *from = added ? now : old, *other = added ? old : now;
        guint j = 0;

        for (guint i = 0; from && i < from->len; i++) {
            const Doorbell *m = &g_array_index(from, Doorbell, i);
            bool common = false;

            while (other && j < other->len) {
                int c = compare_mapped(&g_array_index(other, Doorbell, j), m);

                if (c > 0) {
                    break;
                }
                j++;
                if (c == 0) {
                    common = true;
                    break;
                }
            }
            if (!common) {
                doorbell_tell(as, added, m);
            }
        }
    }
    as->doorbells = now;
    if (old) {
        g_array_free(old, true);
    }
}

static void commit(AddressSpace *as)
{
    if (!as->dirty) {
        return;
    }
    as->dirty = false;
    GArray *old = as->view;

    as->view = view_build(as);
    if (old) {
        g_array_free(old, true);
    }
    if (as == guest_memory) {
        guest_ram_publish(as->view);
    }
    doorbells_update(as);
}

void address_space_batch_begin(void)
{
    ASSERT_BIG_LOCK();
    batch_depth++;
}

void address_space_batch_commit(void)
{
    ASSERT_BIG_LOCK();
    g_assert(batch_depth > 0);
    if (--batch_depth == 0) {
        commit(guest_memory);
        commit(guest_ports);
    }
}

static void changed(AddressSpace *as)
{
    as->dirty = true;
    if (batch_depth == 0) {
        commit(as);
    }
}

void mmio_region_map(MmioRegion *r, AddressSpace *as, uint64_t base, int priority)
{
    ASSERT_BIG_LOCK();
    if (r->as == as && r->base == base && r->priority == priority) {
        return;
    }
    address_space_batch_begin();
    mmio_region_unmap(r);
    r->as = as;
    r->base = base;
    r->priority = priority;
    r->sequence = ++map_sequence;
    if (!as->regions) {
        as->regions = g_ptr_array_new();
    }
    g_ptr_array_add(as->regions, r);
    as->dirty = true;
    address_space_batch_commit();
}

void mmio_region_unmap(MmioRegion *r)
{
    AddressSpace *as = r->as;

    if (!as) {
        return;
    }
    ASSERT_BIG_LOCK();
    g_ptr_array_remove_fast(as->regions, r);
    r->as = NULL;
    /* A pending batch leaves the view as it was, but no access may reach a region that its owner is
     * about to free. */
    for (guint i = 0; batch_depth > 0 && as->view && i < as->view->len;) {
        if (g_array_index(as->view, FlatRange, i).region == r) {
            g_array_remove_index(as->view, i);
        } else {
            i++;
        }
    }
    changed(as);
}

static void doorbell_add(MmioRegion *r, const Doorbell *d)
{
    ASSERT_BIG_LOCK();
    g_assert(d->addr < r->size);
    if (!r->eventfds) {
        r->eventfds = g_array_new(false, false, sizeof(Doorbell));
    }
    g_array_append_vals(r->eventfds, d, 1);
    if (r->as) {
        changed(r->as);
    }
}

static void doorbell_del(MmioRegion *r, const Doorbell *d)
{
    ASSERT_BIG_LOCK();
    for (guint i = 0; r->eventfds && i < r->eventfds->len; i++) {
        if (compare_mapped(&g_array_index(r->eventfds, Doorbell, i), d) == 0) {
            g_array_remove_index_fast(r->eventfds, i);
            if (r->as) {
                changed(r->as);
            }
            return;
        }
    }
    g_assert_not_reached();
}

void mmio_region_add_eventfd(MmioRegion *r, uint64_t offset, unsigned size, EventNotifier *n)
{
    doorbell_add(r, &(Doorbell){offset, size, -1, n});
}

void mmio_region_del_eventfd(MmioRegion *r, uint64_t offset, unsigned size, EventNotifier *n)
{
    doorbell_del(r, &(Doorbell){offset, size, -1, n});
}

void mmio_region_add_eventfd_match(MmioRegion *r, uint64_t offset, unsigned size, uint16_t value,
                                   EventNotifier *n)
{
    doorbell_add(r, &(Doorbell){offset, size, value, n});
}

void mmio_region_del_eventfd_match(MmioRegion *r, uint64_t offset, unsigned size, uint16_t value,
                                   EventNotifier *n)
{
    doorbell_del(r, &(Doorbell){offset, size, value, n});
}

bool mmio_region_ring(MmioRegion *r, uint64_t offset, uint64_t value, unsigned size)
{
    if (!r->eventfds) {
        return false;
    }
    for (guint i = 0; i < r->eventfds->len; i++) {
        const Doorbell *d = &g_array_index(r->eventfds, Doorbell, i);

        if (d->addr == offset && (d->size == 0 || d->size == size) &&
            (d->match < 0 || (uint64_t)d->match == value)) {
            event_notifier_set(d->notifier);
            return true;
        }
    }
    return false;
}

void memory_listener_add(const MemoryListener *l, void *opaque)
{
    ASSERT_BIG_LOCK();
    g_assert(batch_depth == 0);
    if (!listeners) {
        listeners = g_array_new(false, false, sizeof(ListenerEntry));
    }
    ListenerEntry e = {l, opaque};
    AddressSpace *const spaces[] = {guest_memory, guest_ports};

    guest_ram_tell_one(l, opaque);
    for (unsigned i = 0; i < G_N_ELEMENTS(spaces); i++) {
        AddressSpace *as = spaces[i];

        if (!as->doorbells) {
            as->doorbells = doorbells_build(as);
        }
        for (guint j = 0; l->eventfd_add && j < as->doorbells->len; j++) {
            const Doorbell *m = &g_array_index(as->doorbells, Doorbell, j);

            l->eventfd_add(opaque, as, m);
        }
    }
    g_array_append_val(listeners, e);
}

void guest_ram_tell(bool added, uint64_t addr, uint64_t size, void *host, bool read_only)
{
    for (guint i = 0; listeners && i < listeners->len; i++) {
        ListenerEntry *l = &g_array_index(listeners, ListenerEntry, i);

        if (added && l->ops->ram_add) {
            l->ops->ram_add(l->opaque, addr, size, host, read_only);
        } else if (!added && l->ops->ram_del) {
            l->ops->ram_del(l->opaque, addr, size, host);
        }
    }
}
