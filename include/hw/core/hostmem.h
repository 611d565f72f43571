/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_HOSTMEM_H
#define SPINDLE_HW_CORE_HOSTMEM_H

#include "qom/object.h"

/* Host memory for guest RAM (-object memory-backend-*). Runs in: main thread. */

#define TYPE_MEMORY_BACKEND "memory-backend"

typedef struct MemoryBackend {
    Object parent_obj;
    uint64_t size; /* bytes, as given */
    bool share, prealloc, merge, dump, reserve;
    uint32_t prealloc_threads;
    uint8_t *host; /* NULL before it is complete */
    size_t mapped; /* size rounded up to pages */
    char *mem_path;
    uint64_t offset, hugetlbsize;
    bool readonly, discard_data, seal, hugetlb;
    int fd; /* -1: anonymous */
} MemoryBackend;

typedef struct MemoryBackendClass {
    ObjectClass parent_class;
    /* Opens or makes what is to be mapped; sets b->fd, or leaves it at -1 for anonymous memory. */
    bool (*open)(MemoryBackend *b, Error **errp);
} MemoryBackendClass;

#define MEMORY_BACKEND(obj) OBJECT_CHECK(MemoryBackend, obj, TYPE_MEMORY_BACKEND)

#endif
