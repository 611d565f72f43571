/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_MEMORY_H
#define SPINDLE_HW_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/event-notifier.h"

/*
 * What the guest sees at its physical addresses and I/O ports.
 *
 * Control plane (mapping regions, device accesses): under the big lock. Data path: guest_ram_ptr()
 * and the guest_read/guest_write family read an immutable snapshot of the RAM map inside an RCU
 * read section and take no lock; addresses that are not RAM are refused there.
 */

/* ---- device registers ---- */

typedef struct MmioOps {
    /* size is 1, 2, 4 or 8; offset is relative to the region. Accesses wider than max_size are
     * split, narrower than min_size widened, by the caller. */
    uint64_t (*read)(void *opaque, uint64_t offset, unsigned size);
    void (*write)(void *opaque, uint64_t offset, uint64_t value, unsigned size);
    unsigned min_size, max_size; /* 0: 1 and 8 (ports: 4) */
} MmioOps;

typedef struct MmioRegion MmioRegion;
typedef struct AddressSpace AddressSpace;

extern AddressSpace *const guest_memory; /* physical memory */
extern AddressSpace *const guest_ports;  /* I/O ports */

/* Describes size bytes of registers, mapped nowhere yet. name is copied. */
MmioRegion *mmio_region_new(const char *name, const MmioOps *ops, void *opaque, uint64_t size);
void mmio_region_free(MmioRegion *r); /* unmaps it */
/* Puts it at `base`, or moves it there. Where regions overlap, the higher priority is seen, then
 * the one mapped later; RAM is at priority 0 and hides PCI (-1). */
void mmio_region_map(MmioRegion *r, AddressSpace *as, uint64_t base, int priority);
void mmio_region_unmap(MmioRegion *r);
bool mmio_region_mapped(const MmioRegion *r);
uint64_t mmio_region_base(const MmioRegion *r);
uint64_t mmio_region_size(const MmioRegion *r);
const char *mmio_region_name(const MmioRegion *r);
/* Direct access, as a mapped one would do, split and widened by the ops' rules. */
uint64_t mmio_region_read(MmioRegion *r, uint64_t offset, unsigned size);
void mmio_region_write(MmioRegion *r, uint64_t offset, uint64_t value, unsigned size);

/* An access at the address space, whatever is there. Unassigned: memory reads zeros, ports read all
 * ones, writes go nowhere. Accesses to registers are split so that each is naturally aligned and no
 * wider than the region allows. Returns false if some of it was unassigned. */
bool address_space_read(AddressSpace *as, uint64_t addr, void *buf, uint64_t len);
bool address_space_write(AddressSpace *as, uint64_t addr, const void *buf, uint64_t len);
uint64_t address_space_load(AddressSpace *as, uint64_t addr, unsigned size);
void address_space_store(AddressSpace *as, uint64_t addr, uint64_t value, unsigned size);

/* ---- doorbells: writes that only signal an eventfd ---- */

/* A write at [offset] of the region (size 0: of any width and value) sets n instead of calling the
 * region's ops. An accelerator that can (KVM) does it without leaving the guest. */
void mmio_region_add_eventfd(MmioRegion *r, uint64_t offset, unsigned size, EventNotifier *n);
void mmio_region_del_eventfd(MmioRegion *r, uint64_t offset, unsigned size, EventNotifier *n);
/* The same for a register that several doorbells share: only a write of `value`, of that size. */
void mmio_region_add_eventfd_match(MmioRegion *r, uint64_t offset, unsigned size, uint16_t value,
                                   EventNotifier *n);
void mmio_region_del_eventfd_match(MmioRegion *r, uint64_t offset, unsigned size, uint16_t value,
                                   EventNotifier *n);
/* Between begin and commit changes are only collected: one update of the accelerator for many. */
void address_space_batch_begin(void);
void address_space_batch_commit(void);

/* A doorbell where it is mapped. */
typedef struct Doorbell {
    uint64_t addr;
    unsigned size; /* 0: any */
    int match;     /* the value that rings; -1: any */
    EventNotifier *notifier;
} Doorbell;

/* Told of mapped doorbells and RAM. Calls come under the big lock. */
typedef struct MemoryListener {
    void (*eventfd_add)(void *opaque, AddressSpace *as, const Doorbell *d);
    void (*eventfd_del)(void *opaque, AddressSpace *as, const Doorbell *d);
    void (*ram_add)(void *opaque, uint64_t addr, uint64_t size, void *host, bool read_only);
    void (*ram_del)(void *opaque, uint64_t addr, uint64_t size, void *host);
} MemoryListener;
void memory_listener_add(const MemoryListener *l, void *opaque); /* is told of what exists */

/* ---- RAM ---- */

/* Adds size bytes at addr, backed by host memory that the caller keeps alive. Priority 0. */
bool guest_ram_add(const char *name, uint64_t addr, uint64_t size, void *host, bool read_only,
                   Error **errp);
void guest_ram_del(uint64_t addr);

/* Runs in: any thread, inside guest_ram_enter()..guest_ram_leave() (an RCU read section; cheap;
 * nests). Pointers are good until the RAM is deleted, which the control plane only does when no
 * request can hold one. */
void guest_ram_enter(void);
void guest_ram_leave(void);
/* Host address of [addr, addr+len) if all of it is one piece of RAM (writable if `write`), else
 * NULL; *avail, if not NULL, gets how many bytes from addr on are contiguous RAM (may be < len). */
void *guest_ram_ptr(uint64_t addr, uint64_t len, bool write, uint64_t *avail);
/* One writable piece of RAM, for who looks up many addresses within one read section. Start with an
 * empty one: { 0 }. */
typedef struct GuestRamView {
    uint64_t start, size;
    uint8_t *host;
} GuestRamView;
/* Makes *v the piece that holds addr; false if that is no writable RAM. */
bool guest_ram_view(GuestRamView *v, uint64_t addr);
/* As guest_ram_ptr(), within the piece; NULL where the address is in another one, or in none. */
static inline void *guest_ram_view_ptr(const GuestRamView *v, uint64_t addr, uint64_t len)
{
    uint64_t at = addr - v->start;

    return at < v->size && len <= v->size - at ? v->host + at : NULL;
}
/* Copies; false if any of it is not RAM (then nothing or a part was copied). */
bool guest_read(uint64_t addr, void *buf, size_t len);
bool guest_write(uint64_t addr, const void *buf, size_t len);
/* Tells dirty tracking that the device wrote there. Runs in: any thread. */
void guest_ram_dirty(uint64_t addr, uint64_t len);
/* Who tracks it (NULL: nobody). fn runs in any thread, inside a RAM read section or the big lock.
 */
typedef void GuestDirtyFn(uint64_t addr, uint64_t len);
extern GuestDirtyFn *guest_ram_dirty_fn; /* atomic */
/* Whether anybody does. Runs in: any thread. */
static inline bool guest_ram_tracked(void)
{
    return G_UNLIKELY(__atomic_load_n(&guest_ram_dirty_fn, __ATOMIC_ACQUIRE) != NULL);
}
void guest_ram_set_dirty_fn(GuestDirtyFn *fn);

#endif
