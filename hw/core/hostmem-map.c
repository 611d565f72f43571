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

#define HUGE_BYTES ((size_t)2 << 20)

/* Reserves more than is needed, and gives back what lies before and behind the aligned part. */
static void *map_aligned(size_t len, int prot, int flags)
{
    size_t room = len + HUGE_BYTES;
    uint8_t *area, *host, *end;

    if (room < len) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    area = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        return MAP_FAILED;
    }
    host = (uint8_t *)(((uintptr_t)area + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
    end = host + len;
    if (mmap(host, len, prot, flags | MAP_FIXED, -1, 0) == MAP_FAILED) {
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
    /* A hint: a host without huge pages refuses it, and nothing is lost by that. */
    madvise(host, len, MADV_HUGEPAGE);
    return host;
}

void *hostmem_map(const MemoryBackend *b)
{
    int prot = PROT_READ | (b->readonly ? 0 : PROT_WRITE);
    int flags = (b->share ? MAP_SHARED : MAP_PRIVATE) | (b->fd < 0 ? MAP_ANONYMOUS : 0) |
                (b->reserve ? 0 : MAP_NORESERVE);

    if (b->fd < 0 && b->mapped >= HUGE_BYTES) {
        return map_aligned(b->mapped, prot, flags);
    }
    return mmap(NULL, b->mapped, prot, flags, b->fd, b->offset);
}
