/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where guest RAM lies in the address space of this process.
 *
 * Anonymous memory gets huge pages where the host has them. What a guest's requests touch is spread
 * over all of its memory, so with small pages most copies begin with a walk of two page tables. A
 * huge page needs an address that is a multiple of its size, in the host as in the guest.
 */
#include "hw/core/hostmem.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)2 << 20)

/* Reserves more than is needed, and gives back what lies before and behind the aligned part. */
static void *map_aligned(const MemoryBackend *b, size_t align, int prot, int flags)
{
    size_t len = b->mapped, room = len + align;
    uint8_t *area, *host, *end;

    if (room < len) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    area = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        return MAP_FAILED;
    }
    host = (uint8_t *)(((uintptr_t)area + align - 1) & ~(align - 1));
    end = host + len;
    if (mmap(host, len, prot, flags | MAP_FIXED, b->fd, b->offset) == MAP_FAILED) {
        int err = errno;

        munmap(area, room);
        errno = err;
        return MAP_FAILED;
    }
    if (host > area) {
        munmap(area, host - area);
    }
    if (end < area + room) {
        munmap(end, area + room - end);
    }
    return host;
}

void *hostmem_map(const MemoryBackend *b)
{
    size_t page = sysconf(_SC_PAGESIZE);
    /* rom=off: a copy of one's own may be written though the file may not. */
    int prot = PROT_READ | (b->readonly && b->rom != ON_OFF_AUTO_OFF ? 0 : PROT_WRITE);
    int flags = (b->share ? MAP_SHARED : MAP_PRIVATE) | (b->fd < 0 ? MAP_ANONYMOUS : 0) |
                (b->reserve ? 0 : MAP_NORESERVE);

    if (b->fd < 0 && b->mapped >= HUGE_BYTES) {
        void *host = map_aligned(b, HUGE_BYTES, prot, flags);

        if (host != MAP_FAILED) {
            /* A hint: a host without huge pages refuses it, and nothing is lost by that. */
            madvise(host, b->mapped, MADV_HUGEPAGE);
        }
        return host;
    }
    /* Huge pages are aligned by themselves, and parts of one cannot be given back. */
    if (b->align > (b->huge_page ? b->huge_page : page)) {
        return map_aligned(b, b->align, prot, flags);
    }
    return mmap(NULL, b->mapped, prot, flags, b->fd, b->offset);
}
