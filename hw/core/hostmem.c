/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host memory for guest RAM: anonymous, or an anonymous file that other processes can map. */
#include "hw/core/hostmem.h"

#include <inttypes.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/stop-request.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- touching all pages before the guest does ---- */

typedef struct Populate {
    uint8_t *from;
    size_t len;
    int err;
} Populate;

/* So much takes a fraction of a second; then it is time to look whether anybody waits. */
#define POPULATE_STEP ((size_t)256 << 20)

static int populate_step(uint8_t *from, size_t len)
{
    if (madvise(from, len, MADV_POPULATE_WRITE) == 0) {
        return 0;
    }
    if (errno != EINVAL) {
        return errno;
    }
    /* Kernels before 5.14: write each page without changing it; the guest may run already. */
    for (size_t i = 0; i < len; i += 4096) {
        __atomic_fetch_or(&from[i], 0, __ATOMIC_RELAXED);
    }
    return 0;
}

static void *populate_run(void *opaque)
{
    Populate *p = opaque;

    for (size_t done = 0; done < p->len && !p->err; done += POPULATE_STEP) {
        p->err = stop_requested("", NULL)
                     ? EINTR
                     : populate_step(p->from + done, MIN(p->len - done, POPULATE_STEP));
    }
    return NULL;
}

static bool populate(MemoryBackend *b, Error **errp)
{
    size_t page = sysconf(_SC_PAGESIZE), pages = b->mapped / page;
    unsigned n = MIN(MAX(b->prealloc_threads, 1), pages);
    g_autofree Populate *parts = g_new0(Populate, n);
    g_autofree pthread_t *threads = g_new0(pthread_t, n);
    unsigned started;
    int err = 0;

    for (started = 0; started < n; started++) {
        size_t first = pages * started / n, last = pages * (started + 1) / n;
        Populate *p = &parts[started];

        p->from = b->host + first * page;
        p->len = (last - first) * page;
        /* The first part is this thread's own. */
        if (started > 0) {
            err = pthread_create(&threads[started], NULL, populate_run, p);
            if (err) {
                break;
            }
        }
    }
    if (!err) {
        populate_run(&parts[0]);
        err = parts[0].err;
    }
    for (unsigned i = 1; i < started; i++) {
        pthread_join(threads[i], NULL);
        err = err ? err : parts[i].err;
    }
    if (err) {
        error_set_errno(errp, err, "cannot preallocate memory for '%s'", b->parent_obj.name);
        return false;
    }
    return true;
}

/* ---- mapping ---- */

static void backend_unmap(MemoryBackend *b)
{
    if (b->host) {
        if (b->discard_data) {
            madvise(b->host, b->mapped, MADV_REMOVE);
        }
        munmap(b->host, b->mapped);
        b->host = NULL;
    }
    if (b->fd >= 0) {
        close(b->fd);
        b->fd = -1;
    }
}

static bool round_up_to_pages(MemoryBackend *b, Error **errp)
{
    size_t page = sysconf(_SC_PAGESIZE);

    if (b->size > SIZE_MAX - page + 1) {
        error_set(errp, "cannot set up guest memory '%s': Cannot allocate memory",
                  b->parent_obj.name ? b->parent_obj.name : object_type_name(&b->parent_obj));
        return false;
    }
    b->mapped = (b->size + page - 1) / page * page;
    return true;
}

/* A file of huge pages is mapped, and unmapped, in whole ones: who asks for others is mistaken. */
static bool check_huge_pages(MemoryBackend *b, Error **errp)
{
    struct statfs fs;

    if (fstatfs(b->fd, &fs) != 0 || fs.f_type != HUGETLBFS_MAGIC) {
        return true;
    }
    b->huge_page = fs.f_bsize;
    if (b->size < b->huge_page) {
        error_set(errp,
                  "memory size 0x%" PRIx64 " must be equal to or larger than page size 0x%zx",
                  b->size, b->huge_page);
        return false;
    }
    if (b->size % b->huge_page) {
        error_set(errp, "backend '%s' memory size must be multiple of %zu MiB",
                  object_type_name(&b->parent_obj), b->huge_page >> 20);
        return false;
    }
    return true;
}

static bool backend_complete(Object *obj, Error **errp)
{
    MemoryBackend *b = MEMORY_BACKEND(obj);
    MemoryBackendClass *mc = (MemoryBackendClass *)obj->klass;
    const char *name = obj->name ? obj->name : object_type_name(obj);
    void *host;

    if (!round_up_to_pages(b, errp) || (mc->open && !mc->open(b, errp))) {
        backend_unmap(b);
        return false;
    }
    host = hostmem_map(b);
    if (host == MAP_FAILED) {
        int err = errno;

        error_set_errno(errp, err, "cannot set up guest memory '%s'", name);
        if (err == ENOMEM && b->huge_page) {
            error_append_hint(errp,
                              "%zu huge pages of %zu kB are needed; /sys/kernel/mm/hugepages says "
                              "how many are free.\n",
                              b->mapped / b->huge_page, b->huge_page >> 10);
        }
        backend_unmap(b);
        return false;
    }
    b->host = host;
    /* Hints: a kernel without KSM refuses the first, and nothing is lost by it. */
    if (b->merge) {
        madvise(host, b->mapped, MADV_MERGEABLE);
    }
    if (!b->dump) {
        madvise(host, b->mapped, MADV_DONTDUMP);
    }
    madvise(host, b->mapped, MADV_DONTFORK);
    if (!hostmem_apply_policy(b, errp) || (b->prealloc && !populate(b, errp))) {
        backend_unmap(b);
        return false;
    }
    return true;
}

/* ---- properties ---- */

static bool check_size(Object *obj, const Property *prop, Error **errp)
{
    MemoryBackend *b = MEMORY_BACKEND(obj);

    if (b->host) {
        error_set(errp, "cannot change property %s of %s ", prop->name, object_type_name(obj));
        return false;
    }
    if (b->size == 0) {
        error_set(errp, "property '%s' of %s doesn't take value '0'", prop->name,
                  object_type_name(obj));
        return false;
    }
    return true;
}

static bool check_fixed(Object *obj, const Property *prop, Error **errp)
{
    if (MEMORY_BACKEND(obj)->host) {
        error_set(errp, "cannot change property '%s' of %s.", prop->name, object_type_name(obj));
        return false;
    }
    return true;
}

static bool check_prealloc(Object *obj, const Property *prop, Error **errp)
{
    MemoryBackend *b = MEMORY_BACKEND(obj);

    if (b->prealloc && !b->reserve) {
        error_set(errp, "'prealloc=on' and 'reserve=off' are incompatible");
        return false;
    }
    return !b->host || !b->prealloc || populate(b, errp);
}

static bool check_threads(Object *obj, const Property *prop, Error **errp)
{
    if (MEMORY_BACKEND(obj)->prealloc_threads == 0) {
        error_set(errp, "property '%s' of %s doesn't take value '0'", prop->name,
                  object_type_name(obj));
        return false;
    }
    return true;
}

static bool check_reserve(Object *obj, const Property *prop, Error **errp)
{
    MemoryBackend *b = MEMORY_BACKEND(obj);

    return check_fixed(obj, prop, errp) && (!b->prealloc || check_prealloc(obj, prop, errp));
}

static bool check_hugetlbsize(Object *obj, const Property *prop, Error **errp)
{
    if (MEMORY_BACKEND(obj)->hugetlbsize == 0) {
        error_set(errp, "Property '%s.%s' doesn't take value '0'", object_type_name(obj),
                  prop->name);
        return false;
    }
    return check_fixed(obj, prop, errp);
}

static void merge_changed(Object *obj, const Property *prop)
{
    MemoryBackend *b = MEMORY_BACKEND(obj);

    if (b->host) {
        madvise(b->host, b->mapped, b->merge ? MADV_MERGEABLE : MADV_UNMERGEABLE);
    }
}

static void dump_changed(Object *obj, const Property *prop)
{
    MemoryBackend *b = MEMORY_BACKEND(obj);

    if (b->host) {
        madvise(b->host, b->mapped, b->dump ? MADV_DODUMP : MADV_DONTDUMP);
    }
}

#define BACKEND_BOOL(n, field, dflt, text, ...)                                                    \
    { .name = (n), .type = &prop_object_bool, .offset = offsetof(MemoryBackend, field),            \
      .def = DEFAULT_BOOL, .def_int = (dflt), .description = (text), __VA_ARGS__ }

static const Property backend_props[] = {
    {.name = "size", .type = &prop_object_size, .offset = offsetof(MemoryBackend, size),
     .description = "Size of the memory region (ex: 500M)", .check = check_size,
     .flags = PROP_REQUIRED},
    BACKEND_BOOL("share", share, false, "Mark the memory as private to QEMU or shared",
                 .check = check_fixed),
    BACKEND_BOOL("reserve", reserve, true, "Reserve swap space (or huge pages) if applicable",
                 .check = check_reserve),
    BACKEND_BOOL("prealloc", prealloc, false, "Preallocate memory", .check = check_prealloc),
    BACKEND_BOOL("merge", merge, true, "Mark memory as mergeable", .changed = merge_changed),
    BACKEND_BOOL("dump", dump, true, "Set to 'off' to exclude from core dump",
                 .changed = dump_changed),
    {.name = "host-nodes", .type = &prop_host_nodes,
     .offset = offsetof(MemoryBackend, host_nodes), .check = check_fixed,
     .description = "Binds memory to the list of NUMA host nodes"},
    {.name = "policy", .type = &prop_enum, .offset = offsetof(MemoryBackend, policy),
     .def = DEFAULT_ENUM, .def_int = HOST_MEM_POLICY_DEFAULT, .arg = &qapi_enum_HostMemPolicy,
     .check = check_fixed, .description = "Set the NUMA policy"},
    /* How migration names the memory. There is none as yet, so that both values mean the same. */
    BACKEND_BOOL("x-use-canonical-path-for-ramblock-id", canonical_path, false, NULL, ),
    {.name = "prealloc-threads", .type = &prop_object_uint32,
     .offset = offsetof(MemoryBackend, prealloc_threads), .def = DEFAULT_UINT, .def_int = 1,
     .description = "Number of CPU threads to use for prealloc", .check = check_threads},
    PROP_END,
};

static void backend_instance_init(Object *obj)
{
    MEMORY_BACKEND(obj)->fd = -1;
}

static void backend_finalize(Object *obj)
{
    backend_unmap(MEMORY_BACKEND(obj));
}

static void backend_class_init(ObjectClass *klass, const void *data)
{
    klass->complete = backend_complete;
}

static const TypeInfo backend_type = {
    .name = TYPE_MEMORY_BACKEND,
    .parent = "object",
    .abstract = true,
    .instance_size = sizeof(MemoryBackend),
    .class_size = sizeof(MemoryBackendClass),
    .props = backend_props,
    .class_init = backend_class_init,
    .instance_init = backend_instance_init,
    .instance_finalize = backend_finalize,
};
TYPE_REGISTER(backend_type)

static const TypeInfo ram_type = {
    .name = "memory-backend-ram",
    .parent = TYPE_MEMORY_BACKEND,
    .user_creatable = true,
};
TYPE_REGISTER(ram_type)

/* ---- memory-backend-memfd ---- */

static bool memfd_open(MemoryBackend *b, Error **errp)
{
    unsigned flags = MFD_CLOEXEC | (b->seal ? MFD_ALLOW_SEALING : 0) |
                     (b->hugetlb ? MFD_HUGETLB : 0);

    if (b->hugetlb && b->hugetlbsize) {
        if (b->hugetlbsize & (b->hugetlbsize - 1)) {
            error_set(errp, "Hugepage size must be a power of 2");
            return false;
        }
        flags |= (unsigned)__builtin_ctzll(b->hugetlbsize) << 26; /* MFD_HUGE_SHIFT */
    }
    b->fd = memfd_create("memory-backend-memfd", flags);
    if (b->fd < 0) {
        error_set_errno(errp, errno, "failed to create memfd for '%s'", b->parent_obj.name);
        if (b->hugetlbsize) {
            error_append_hint(errp,
                              "hugetlbsize=%" PRIu64 ": /sys/kernel/mm/hugepages lists the sizes "
                              "that there are.\n",
                              b->hugetlbsize);
        }
        return false;
    }
    /* With huge pages only a multiple of them is accepted. */
    if (ftruncate(b->fd, b->hugetlb ? b->size : b->mapped) != 0) {
        error_set_errno(errp, errno, "failed to resize memfd to %" PRIu64, b->size);
        return false;
    }
    if (b->hugetlb && !check_huge_pages(b, errp)) {
        return false;
    }
    if (b->seal && fcntl(b->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
        error_set_errno(errp, errno, "failed to seal memfd for '%s'", b->parent_obj.name);
        return false;
    }
    return true;
}

static const Property memfd_props[] = {
    BACKEND_BOOL("hugetlb", hugetlb, false, "Use huge pages", .check = check_fixed),
    {.name = "hugetlbsize", .type = &prop_object_size,
     .offset = offsetof(MemoryBackend, hugetlbsize), .description = "Huge pages size (ex: 2M, 1G)",
     .check = check_hugetlbsize},
    BACKEND_BOOL("seal", seal, true, "Seal growing & shrinking", .check = check_fixed),
    PROP_END,
};

static void memfd_instance_init(Object *obj)
{
    /* The point of a memfd is to hand it to others. */
    MEMORY_BACKEND(obj)->share = true;
}

static void memfd_class_init(ObjectClass *klass, const void *data)
{
    ((MemoryBackendClass *)klass)->open = memfd_open;
}

static const TypeInfo memfd_type = {
    .name = "memory-backend-memfd",
    .parent = TYPE_MEMORY_BACKEND,
    .class_init = memfd_class_init,
    .instance_init = memfd_instance_init,
    .props = memfd_props,
    .user_creatable = true,
};
TYPE_REGISTER(memfd_type)

/* ---- memory-backend-file ---- */

static bool file_open(MemoryBackend *b, Error **errp)
{
    const char *name = b->parent_obj.name ? b->parent_obj.name : "memory-backend-file";
    struct stat st;

    if (!b->mem_path || !*b->mem_path) {
        error_set(errp, "mem-path property not set");
        return false;
    }
    if (b->rom == ON_OFF_AUTO_ON && !b->readonly) {
        error_set(errp, "property 'rom' = 'on' is not supported with 'readonly' = 'off'");
        return false;
    }
    if (b->rom == ON_OFF_AUTO_OFF && b->readonly && b->share) {
        error_set(errp, "property 'rom' = 'off' is incompatible with 'readonly' = 'on' and "
                        "'share' = 'on'");
        return false;
    }
    if (b->align % (size_t)sysconf(_SC_PAGESIZE)) {
        error_set(errp, "alignment 0x%" PRIx64 " must be multiples of page size 0x%lx", b->align,
                  sysconf(_SC_PAGESIZE));
        return false;
    }
    if (b->align & (b->align - 1)) {
        error_set(errp, "alignment 0x%" PRIx64 " must be a power of two", b->align);
        return false;
    }
    if (stat(b->mem_path, &st) == 0 && S_ISDIR(st.st_mode)) {
        g_autofree char *path = g_strdup_printf("%s/memory-XXXXXX", b->mem_path);

        b->fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);
        if (b->fd >= 0) {
            unlink(path);
        }
    } else {
        b->fd = open(b->mem_path, (b->readonly ? O_RDONLY : O_RDWR | O_CREAT) | O_CLOEXEC, 0644);
    }
    if (b->fd < 0 || fstat(b->fd, &st) != 0) {
        error_set_errno(errp, errno, "can't open backing store %s for guest RAM", b->mem_path);
        return false;
    }
    if (!check_huge_pages(b, errp)) {
        return false;
    }
    uint64_t want = b->offset + b->mapped;

    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size >= want) {
        return true;
    }
    if (st.st_size > 0 || b->readonly) {
        error_set(errp,
                  "%s backing store size 0x%" PRIx64 " is too small for 'size' option 0x%" PRIx64
                  " plus 'offset' option 0x%" PRIx64,
                  name, (uint64_t)st.st_size, b->size, b->offset);
        return false;
    }
    if (ftruncate(b->fd, want) != 0) {
        error_set_errno(errp, errno, "can't resize backing store %s", b->mem_path);
        return false;
    }
    return true;
}

static bool check_offset(Object *obj, const Property *prop, Error **errp)
{
    MemoryBackend *b = MEMORY_BACKEND(obj);

    if (b->offset & (sysconf(_SC_PAGESIZE) - 1) || b->offset > INT64_MAX) {
        error_set(errp, "property 'offset' of %s must be a multiple of the page size",
                  object_type_name(obj));
        return false;
    }
    return check_fixed(obj, prop, errp);
}

static const Property file_props[] = {
    {.name = "mem-path", .type = &prop_object_string, .offset = offsetof(MemoryBackend, mem_path),
     .check = check_fixed, .flags = PROP_REQUIRED},
    {.name = "offset", .type = &prop_object_size, .offset = offsetof(MemoryBackend, offset),
     .check = check_offset},
    {.name = "align", .type = &prop_object_size, .offset = offsetof(MemoryBackend, align),
     .check = check_fixed},
    BACKEND_BOOL("discard-data", discard_data, false, NULL, ),
    BACKEND_BOOL("readonly", readonly, false, NULL, .check = check_fixed),
    {.name = "rom", .type = &prop_enum, .offset = offsetof(MemoryBackend, rom),
     .def = DEFAULT_ENUM, .def_int = ON_OFF_AUTO_AUTO, .arg = &qapi_enum_OnOffAuto,
     .check = check_fixed, .description = "Whether to create Read Only Memory (ROM)"},
    PROP_END,
};

static void file_class_init(ObjectClass *klass, const void *data)
{
    ((MemoryBackendClass *)klass)->open = file_open;
}

static const TypeInfo file_type = {
    .name = "memory-backend-file",
    .parent = TYPE_MEMORY_BACKEND,
    .class_init = file_class_init,
    .props = file_props,
    .user_creatable = true,
};
TYPE_REGISTER(file_type)
