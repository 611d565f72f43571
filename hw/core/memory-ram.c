/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest RAM as the data path sees it: an immutable, sorted table of the visible pieces of RAM,
 * replaced as a whole when the map changes. Readers hold an RCU read section and take no lock.
 */
#define _LGPL_SOURCE /* RCU read sections inline */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <urcu/urcu-memb.h>

#include "hw/core/memory.h"
#include "memory-internal.h"
#include "util/biglock.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RAM_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define RAM_TSAN 1
#endif

/*
 * The grace period rests on membarrier(2), which ThreadSanitizer cannot see: it is told of the
 * order between the end of a read section and the end of the grace period. By an address of its
 * own: a store to the map's would make it forget the readers that left before.
 */
#ifdef RAM_TSAN
static char ram_readers;
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define RAM_READER_LEFT()  __tsan_release(&ram_readers)
#define RAM_READERS_GONE() __tsan_acquire(&ram_readers)
#else
#define RAM_READER_LEFT()  ((void)0)
#define RAM_READERS_GONE() ((void)0)
#endif

void guest_ram_copy(void *dst, const void *src, size_t len)
{
#ifdef RAM_TSAN
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
#else
    memcpy(dst, src, len);
#endif
}

typedef struct RamRange {
    uint64_t start, last;
    uint8_t *host;
    bool read_only;
} RamRange;

typedef struct RamMap {
    unsigned count;
    RamRange ranges[];
} RamMap;

static RamMap *ram_map; /* published; NULL: no RAM */
static pthread_key_t reader_key;
static pthread_once_t reader_once = PTHREAD_ONCE_INIT;

static void reader_thread_exit(void *unused)
{
    if (URCU_TLS(urcu_memb_reader).registered) {
        urcu_memb_unregister_thread();
    }
}

static void reader_key_create(void)
{
    int err = pthread_key_create(&reader_key, reader_thread_exit);

    g_assert(err == 0);
}

static void __attribute__((noinline)) reader_register(void)
{
    pthread_once(&reader_once, reader_key_create);
    urcu_memb_register_thread();
    pthread_setspecific(reader_key, &reader_key);
}

void guest_ram_enter(void)
{
    /* Threads with an event loop are readers from their start; others become it here. */
    if (G_UNLIKELY(!URCU_TLS(urcu_memb_reader).registered)) {
        reader_register();
    }
    urcu_memb_read_lock();
}

void guest_ram_leave(void)
{
    RAM_READER_LEFT();
    urcu_memb_read_unlock();
}

static const RamRange *ram_find(const RamMap *map, uint64_t addr)
{
    unsigned lo = 0, hi = map ? map->count : 0;

    while (lo < hi) {
        unsigned mid = lo + (hi - lo) / 2;
        const RamRange *r = &map->ranges[mid];

        if (addr < r->start) {
            hi = mid;
        } else if (addr > r->last) {
            lo = mid + 1;
        } else {
            return r;
        }
    }
    return NULL;
}

void *guest_ram_ptr(uint64_t addr, uint64_t len, bool write, uint64_t *avail)
{
    const RamRange *r = ram_find(__atomic_load_n(&ram_map, __ATOMIC_ACQUIRE), addr);
    uint64_t left = r && !(write && r->read_only) ? r->last - addr + 1 : 0;

    if (avail) {
        *avail = left;
    }
    return left > 0 && len <= left ? r->host + (addr - r->start) : NULL;
}

bool guest_ram_view(GuestRamView *v, uint64_t addr)
{
    const RamRange *r = ram_find(__atomic_load_n(&ram_map, __ATOMIC_ACQUIRE), addr);

    if (!r || r->read_only) {
        return false;
    }
    *v = (GuestRamView){r->start, r->last - r->start + 1, r->host};
    return true;
}

bool guest_read(uint64_t addr, void *buf, size_t len)
{
    uint8_t *p = buf;
    bool ok = true;

    guest_ram_enter();
    while (len > 0) {
        uint64_t avail;
        void *host;

        host = guest_ram_ptr(addr, 0, false, &avail);
        if (!host) {
            ok = false;
            break;
        }
        size_t n = MIN(len, avail);

        guest_ram_copy(p, host, n);
        p += n;
        addr += n;
        len -= n;
    }
    guest_ram_leave();
    return ok;
}

bool guest_write(uint64_t addr, const void *buf, size_t len)
{
    const uint8_t *p = buf;
    bool ok = true;

    guest_ram_enter();
    while (len > 0) {
        uint64_t avail;
        void *host;

        host = guest_ram_ptr(addr, 0, true, &avail);
        if (!host) {
            ok = false;
            break;
        }
        size_t n = MIN(len, avail);

        guest_ram_copy(host, p, n);
        guest_ram_dirty(addr, n);
        p += n;
        addr += n;
        len -= n;
    }
    guest_ram_leave();
    return ok;
}

/* ---- control plane ---- */

GuestDirtyFn *guest_ram_dirty_fn;

void guest_ram_set_dirty_fn(GuestDirtyFn *fn)
{
    ASSERT_BIG_LOCK();
    __atomic_store_n(&guest_ram_dirty_fn, fn, __ATOMIC_RELEASE);
}

void guest_ram_dirty(uint64_t addr, uint64_t len)
{
    GuestDirtyFn *fn = __atomic_load_n(&guest_ram_dirty_fn, __ATOMIC_ACQUIRE);

    if (G_UNLIKELY(fn)) {
        fn(addr, len);
    }
}

static RamMap *ram_map_build(const GArray *view)
{
    RamMap *map = g_malloc0(sizeof(*map) + view->len * sizeof(RamRange));

    for (guint i = 0; i < view->len; i++) {
        const FlatRange *f = &g_array_index(view, FlatRange, i);

        if (!f->region->host) {
            continue;
        }
        RamRange *prev = map->count ? &map->ranges[map->count - 1] : NULL;
        uint8_t *host = f->region->host + (f->start - f->region->base);

        /* One block that was added in pieces is one piece for whoever maps a buffer across. */
        if (prev && prev->last + 1 == f->start && prev->read_only == f->region->read_only &&
            prev->host + (prev->last - prev->start + 1) == host) {
            prev->last = f->last;
            continue;
        }
        map->ranges[map->count++] = (RamRange){f->start, f->last, host, f->region->read_only};
    }
    return map;
}

static bool ram_range_in(const RamMap *map, const RamRange *r)
{
    for (unsigned i = 0; map && i < map->count; i++) {
        const RamRange *o = &map->ranges[i];

        if (o->start == r->start && o->last == r->last && o->host == r->host &&
            o->read_only == r->read_only) {
            return true;
        }
    }
    return false;
}

void guest_ram_publish(const GArray *view)
{
    ASSERT_BIG_LOCK();
    RamMap *now = ram_map_build(view), *old = ram_map;
    bool same = now->count == (old ? old->count : 0);

    for (unsigned i = 0; same && i < now->count; i++) {
        same = ram_range_in(old, &now->ranges[i]);
    }
    if (same) {
        g_free(now);
        return;
    }
    for (unsigned i = 0; old && i < old->count; i++) {
        RamRange *r = &old->ranges[i];

        if (!ram_range_in(now, r)) {
            guest_ram_tell(false, r->start, r->last - r->start + 1, r->host, r->read_only);
        }
    }
    __atomic_store_n(&ram_map, now, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < now->count; i++) {
        RamRange *r = &now->ranges[i];

        if (!ram_range_in(old, r)) {
            guest_ram_tell(true, r->start, r->last - r->start + 1, r->host, r->read_only);
        }
    }
    urcu_memb_synchronize_rcu();
    RAM_READERS_GONE();
    g_free(old);
}

void guest_ram_tell_one(const MemoryListener *l, void *opaque)
{
    for (unsigned i = 0; l->ram_add && ram_map && i < ram_map->count; i++) {
        RamRange *r = &ram_map->ranges[i];

        l->ram_add(opaque, r->start, r->last - r->start + 1, r->host, r->read_only);
    }
}

static GHashTable *ram_regions; /* address -> MmioRegion */

bool guest_ram_add(const char *name, uint64_t addr, uint64_t size, void *host, bool read_only,
                   Error **errp)
{
    ASSERT_BIG_LOCK();
    if (size == 0 || addr + (size - 1) < addr) {
        error_set(errp, "RAM '%s' does not fit at 0x%" PRIx64, name, addr);
        return false;
    }
    if (!ram_regions) {
        ram_regions = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    }
    if (g_hash_table_contains(ram_regions, &addr)) {
        error_set(errp, "RAM '%s': there is RAM at 0x%" PRIx64 " already", name, addr);
        return false;
    }
    MmioRegion *r = mmio_region_new(name, NULL, NULL, size);

    r->host = host;
    r->read_only = read_only;
    g_hash_table_insert(ram_regions, g_memdup2(&addr, sizeof(addr)), r);
    mmio_region_map(r, guest_memory, addr, 0);
    return true;
}

void guest_ram_del(uint64_t addr)
{
    ASSERT_BIG_LOCK();
    MmioRegion *r = ram_regions ? g_hash_table_lookup(ram_regions, &addr) : NULL;

    g_assert(r);
    g_hash_table_remove(ram_regions, &addr);
    mmio_region_free(r);
}
