/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_HOSTMEM_H
#define SPINDLE_HW_CORE_HOSTMEM_H

#include "qapi/qapi-qom.h"
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
    size_t huge_page; /* bytes of one, if the file consists of such; else 0 */
    char *mem_path;
    uint64_t offset, align, hugetlbsize;
    bool readonly, discard_data, seal, hugetlb, canonical_path;
    OnOffAuto rom;
    GArray *host_nodes; /* of uint16_t; NULL: none */
    HostMemPolicy policy;
    int fd; /* -1: anonymous */
} MemoryBackend;

/* hostmem-map.c: maps b->mapped bytes of b->fd or of anonymous memory; MAP_FAILED with errno. */
void *hostmem_map(const MemoryBackend *b);
/* hostmem-policy.c: binds the memory to nodes of the host, before a page of it is touched. */
bool hostmem_apply_policy(MemoryBackend *b, Error **errp);
extern const PropertyType prop_host_nodes;

typedef struct MemoryBackendClass {
    ObjectClass parent_class;
    /* Opens or makes what is to be mapped; sets b->fd, or leaves it at -1 for anonymous memory. */
    bool (*open)(MemoryBackend *b, Error **errp);
} MemoryBackendClass;

#define MEMORY_BACKEND(obj) OBJECT_CHECK(MemoryBackend, obj, TYPE_MEMORY_BACKEND)

#endif
