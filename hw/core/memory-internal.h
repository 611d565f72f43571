/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_MEMORY_INTERNAL_H
#define SPINDLE_HW_CORE_MEMORY_INTERNAL_H

#include "hw/core/memory.h"

/* What the files of the memory map share. Runs in: under the big lock. */

struct MmioRegion {
    char *name;
    const MmioOps *ops; /* NULL: RAM */
    void *opaque;
    uint64_t size;
    uint8_t *host; /* RAM only */
    bool read_only;
    AddressSpace *as; /* NULL: not mapped */
    uint64_t base;
    int priority;
    uint64_t sequence; /* of the mapping; the later one of equals is seen */
    GArray *eventfds;  /* of Doorbell, relative to the region; NULL: none */
};

/* A piece of an address space in which one region is seen. */
typedef struct FlatRange {
    uint64_t start, last; /* inclusive: a range may end at 2^64 */
    MmioRegion *region;
} FlatRange;

struct AddressSpace {
    const char *name;
    uint64_t last;      /* highest address */
    uint8_t unassigned; /* what a byte reads as where nothing is */
    unsigned max_size;  /* widest access the bus can make */
    GPtrArray *regions; /* mapped, in no order */
    GArray *view;       /* of FlatRange, ascending; rebuilt by commits */
    GArray *doorbells;  /* of Doorbell that listeners were told of */
    bool dirty;
};

/* The range with addr, or NULL. */
const FlatRange *address_space_find(AddressSpace *as, uint64_t addr);
/* A write that only rings: returns whether an eventfd took it. */
bool mmio_region_ring(MmioRegion *r, uint64_t offset, uint64_t value, unsigned size);
/*
 * memcpy() between the program and guest RAM. The guest and other threads may write there at the
 * same time; what is read then is the guest's own problem, and no race for ThreadSanitizer to
 * report.
 */
void guest_ram_copy(void *dst, const void *src, size_t len);
/* Publishes the RAM that the view shows. Tells listeners what came and went through the callbacks.
 */
void guest_ram_publish(const GArray *view);
void guest_ram_tell(bool added, uint64_t addr, uint64_t size, void *host, bool read_only);
void guest_ram_tell_one(const MemoryListener *l, void *opaque);

#endif
