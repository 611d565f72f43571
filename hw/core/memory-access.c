/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accesses to the guest's address spaces: finding what is there, splitting, doorbells. */
#include "hw/core/memory.h"
#include "memory-internal.h"
#include "util/biglock.h"

static uint64_t size_mask(unsigned size)
{
    return size >= 8 ? UINT64_MAX : (1ULL << (size * 8)) - 1;
}

static uint64_t load_le(const uint8_t *p, unsigned size)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < size; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    return v;
}

static void store_le(uint8_t *p, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        p[i] = v >> (8 * i);
    }
}

static unsigned ops_max_size(const MmioRegion *r, unsigned dflt)
{
    return r->ops->max_size ? r->ops->max_size : dflt;
}

uint64_t mmio_region_read(MmioRegion *r, uint64_t offset, unsigned size)
{
    ASSERT_BIG_LOCK();
    if (!r->ops) {
        uint8_t buf[8];

        guest_ram_copy(buf, r->host + offset, size);
        return load_le(buf, size);
    }
    unsigned max = ops_max_size(r, 8), step = MAX(MIN(size, max), MAX(r->ops->min_size, 1));

    if (step >= size) {
        return r->ops->read(r->opaque, offset, step) & size_mask(size);
    }
    uint64_t v = 0;

    for (unsigned i = 0; i < size; i += step) {
        v |= (r->ops->read(r->opaque, offset + i, step) & size_mask(step)) << (8 * i);
    }
    return v;
}

void mmio_region_write(MmioRegion *r, uint64_t offset, uint64_t value, unsigned size)
{
    ASSERT_BIG_LOCK();
    if (!r->ops) {
        if (!r->read_only) {
            uint8_t buf[8];

            store_le(buf, value, size);
            guest_ram_copy(r->host + offset, buf, size);
        }
        return;
    }
    value &= size_mask(size);
    if (mmio_region_ring(r, offset, value, size)) {
        return;
    }
    unsigned max = ops_max_size(r, 8), step = MAX(MIN(size, max), MAX(r->ops->min_size, 1));

    if (step >= size) {
        r->ops->write(r->opaque, offset, value, step);
        return;
    }
    for (unsigned i = 0; i < size; i += step) {
        r->ops->write(r->opaque, offset + i, (value >> (8 * i)) & size_mask(step), step);
    }
}

/* How much of len may go in one access at offset: naturally aligned and no wider than allowed. */
static unsigned access_size(const AddressSpace *as, const MmioRegion *r, uint64_t offset,
                            uint64_t len)
{
    unsigned size = ops_max_size(r, as->max_size);

    size = MIN(size, as->max_size);
    while (size > len || (offset & (size - 1))) {
        size >>= 1;
    }
    return size;
}

/*
 * One step: what is at addr (NULL: nothing), where in it, and how many bytes of len are alike. The
 * range is looked up anew for each step, since an access may change the map.
 */
static MmioRegion *step_at(AddressSpace *as, uint64_t addr, uint64_t len, uint64_t *offset,
                           uint64_t *n)
{
    const FlatRange *f = address_space_find(as, addr);

    if (!f) {
        *n = 1;
        return NULL;
    }
    *offset = addr - f->region->base;
    if (f->region->host) {
        *n = f->last - addr < len ? f->last - addr + 1 : len;
    } else {
        /* An access goes to the device that has its first byte, even where another one (port 0xcf9
         * in the configuration address) has taken a byte in its middle. */
        *n = access_size(as, f->region, *offset, MIN(len, f->region->size - *offset));
    }
    return f->region;
}

bool address_space_read(AddressSpace *as, uint64_t addr, void *buf, uint64_t len)
{
    ASSERT_BIG_LOCK();
    uint8_t *p = buf;
    bool all = true;

    while (len > 0) {
        uint64_t offset = 0, n;
        MmioRegion *r = step_at(as, addr, len, &offset, &n);

        if (!r) {
            *p = addr <= as->last ? as->unassigned : 0;
            all = false;
        } else if (r->host) {
            guest_ram_copy(p, r->host + offset, n);
        } else {
            store_le(p, mmio_region_read(r, offset, n), n);
        }
        p += n;
        addr += n;
        len -= n;
    }
    return all;
}

bool address_space_write(AddressSpace *as, uint64_t addr, const void *buf, uint64_t len)
{
    ASSERT_BIG_LOCK();
    const uint8_t *p = buf;
    bool all = true;

    while (len > 0) {
        uint64_t offset = 0, n;
        MmioRegion *r = step_at(as, addr, len, &offset, &n);

        if (!r) {
            all = false;
        } else if (r->host) {
            if (!r->read_only) {
                guest_ram_copy(r->host + offset, p, n);
                guest_ram_dirty(addr, n);
            }
        } else {
            mmio_region_write(r, offset, load_le(p, n), n);
        }
        p += n;
        addr += n;
        len -= n;
    }
    return all;
}

uint64_t address_space_load(AddressSpace *as, uint64_t addr, unsigned size)
{
    uint8_t buf[8];

    g_assert(size <= sizeof(buf));
    address_space_read(as, addr, buf, size);
    return load_le(buf, size);
}

void address_space_store(AddressSpace *as, uint64_t addr, uint64_t value, unsigned size)
{
    uint8_t buf[8];

    g_assert(size <= sizeof(buf));
    store_le(buf, value, size);
    address_space_write(as, addr, buf, size);
}
