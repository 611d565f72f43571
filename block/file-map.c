/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading and writing files of memory file systems through a mapping: a copy without a system call,
 * and without the kernel's search for the page.
 *
 * A hole that is read through a mapping is filled with a page, so only parts of the file all of
 * whose pages are there are treated so; which these are is found out piece by piece, and forgotten
 * where this process makes holes. (Where another process makes them, a copy fills them again: the
 * data is right, only the room is taken.) Mapped pages count as resident memory of this process, so
 * their number is bounded. A file that another process cuts short is noticed by copy_guarded(), and
 * dealt with by system calls from then on, which know what to say.
 *
 * The kernel does not see such writes. So the file's time of change is set here: once a second
 * while it is written, at each flush, and at the end.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "util/copy-guard.h"

#define PIECE_BITS 21
#define PIECE      (INT64_C(1) << PIECE_BITS)
/* Of pieces that are used through the mapping. */
#define PIECES_MAX 512
/* Nothing is mapped for the few reads of a probe. */
#define REQUESTS_BEFORE 256
/* A piece with holes is looked at again after so many requests: it may be filled by then. */
#define REQUESTS_AGAIN 64
#define TOUCH_NS INT64_C(1000000000)

enum { UNKNOWN = 0, WHOLE = 255 }; /* between: has holes, so many requests to go */

struct FileMap {
    uint8_t *base;
    int64_t size; /* bytes of it */
    bool writable;
    unsigned n_whole;  /* atomic */
    uint8_t piece[];   /* state of each; atomic */
};

/* To others the kernel says of every page that it is present. */
static bool may_ask(FileState *s)
{
    struct stat st;

    return s->rw || geteuid() == 0 || (fstat(s->fd, &st) == 0 && st.st_uid == geteuid());
}

static FileMap *map_new(FileState *s)
{
    int64_t size = file_size(s);
    FileMap *m;
    void *base;
    bool writable;

    if (size <= 0 || (uint64_t)size > SIZE_MAX / 2 || !may_ask(s)) {
        return NULL;
    }
    /* Where all memory is to be locked (-overcommit mem-lock=on), mapping would read all of it in:
     * not so while there is nothing to be read, and not once it is unlocked. */
    base = mmap(NULL, (size_t)size, PROT_NONE, MAP_SHARED, s->fd, 0);
    if (base == MAP_FAILED) {
        return NULL;
    }
    if (munlock(base, (size_t)size) < 0 || mprotect(base, (size_t)size, PROT_READ) < 0) {
        munmap(base, (size_t)size);
        return NULL;
    }
    /* A seal may forbid it. */
    writable = s->rw && mprotect(base, (size_t)size, PROT_READ | PROT_WRITE) == 0;
    madvise(base, (size_t)size, MADV_DONTFORK);
    madvise(base, (size_t)size, MADV_DONTDUMP);
    m = g_malloc0(sizeof(*m) + (size_t)((size + PIECE - 1) >> PIECE_BITS));
    m->base = base;
    m->size = size;
    m->writable = writable;
    return m;
}

static void map_free(FileMap *m)
{
    if (m) {
        munmap(m->base, (size_t)m->size);
        g_free(m);
    }
}

/* Several threads may come here at once; one of them wins. */
static FileMap *map_make(FileState *s)
{
    FileMap *m = map_new(s), *none = NULL;

    if (!m) {
        file_set_flag(&s->map_broken);
        return NULL;
    }
    if (!__atomic_compare_exchange_n(&s->map, &none, m, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        map_free(m);
        return none;
    }
    return m;
}

static size_t piece_len(const FileMap *m, int64_t start)
{
    return (size_t)(MIN(start + PIECE, m->size) - start);
}

/* A page that has been swapped out is not here either: reading it takes long anyway. Not SEEK_HOLE,
 * which would search the rest of the file for one. */
static bool all_present(const FileMap *m, int64_t start)
{
    unsigned char present[PIECE / 4096];
    size_t len = piece_len(m, start);

    if (mincore(m->base + start, len, present) < 0) {
        return false;
    }
    for (size_t i = 0; i < (len + 4095) / 4096; i++) {
        if (!(present[i] & 1)) {
            return false;
        }
    }
    return true;
}

static bool piece_whole(FileMap *m, int64_t i)
{
    uint8_t *p = &m->piece[i], state = __atomic_load_n(p, __ATOMIC_RELAXED);

    if (G_LIKELY(state == WHOLE)) {
        return true;
    }
    if (__atomic_load_n(&m->n_whole, __ATOMIC_RELAXED) >= PIECES_MAX) {
        return false;
    }
    if (state != UNKNOWN) {
        __atomic_store_n(p, state - 1, __ATOMIC_RELAXED);
        return false;
    }
    if (!all_present(m, i << PIECE_BITS)) {
        __atomic_store_n(p, REQUESTS_AGAIN, __ATOMIC_RELAXED);
        return false;
    }
    if (__atomic_exchange_n(p, WHOLE, __ATOMIC_RELAXED) != WHOLE) {
        __atomic_fetch_add(&m->n_whole, 1, __ATOMIC_RELAXED);
        /* Otherwise the first requests for each part wait for fault after fault, as they do where
         * the kernel cannot (before 5.14). */
        madvise(m->base + (i << PIECE_BITS), piece_len(m, i << PIECE_BITS), MADV_POPULATE_READ);
    }
    return true;
}

static bool copy(FileState *s, FileMap *m, const BlockRequest *req)
{
    int64_t next = req->at_offset + req->ahead;
    bool done;

    if (req->at_op == BLK_OP_READ) {
        /* What takes longest of a short copy is to get at its first byte. */
        if (next >= 0 && next < m->size) {
            __builtin_prefetch(m->base + next);
        }
        return copy_guarded(req->iov, req->niov, m->base + req->at_offset);
    }
    done = copy_guarded_out(m->base + req->at_offset, req->iov, req->niov);
    /* Afterwards, and even if only part of it was copied: so the time that is set is later. */
    if (!file_flag(&s->untimed)) {
        file_set_flag(&s->untimed);
    }
    return done;
}

bool file_map_copy(FileState *s, FileShard *sh, const BlockRequest *req)
{
    FileMap *m = __atomic_load_n(&s->map, __ATOMIC_ACQUIRE);
    int64_t end = req->at_offset + req->bytes;

    if (!s->caps.mappable || file_flag(&s->map_broken)) {
        return false;
    }
    if (G_UNLIKELY(!m)) {
        if (sh->before_map < REQUESTS_BEFORE) {
            sh->before_map++;
            return false;
        }
        m = map_make(s);
    }
    if (!m || end > m->size || (req->at_op != BLK_OP_READ && !m->writable)) {
        return false;
    }
    for (int64_t i = req->at_offset >> PIECE_BITS; i <= (end - 1) >> PIECE_BITS; i++) {
        if (!piece_whole(m, i)) {
            return false;
        }
    }
    if (G_UNLIKELY(!copy(s, m, req))) {
        file_set_flag(&s->map_broken);
        return false;
    }
    counter_add(&sh->mapped, 1);
    return true;
}

void file_map_forget(FileState *s, int64_t offset, int64_t bytes)
{
    FileMap *m = __atomic_load_n(&s->map, __ATOMIC_ACQUIRE);
    int64_t end = m ? MIN(offset + bytes, m->size) : 0;

    for (int64_t i = offset >> PIECE_BITS; i << PIECE_BITS < end; i++) {
        if (__atomic_exchange_n(&m->piece[i], UNKNOWN, __ATOMIC_RELAXED) == WHOLE) {
            __atomic_fetch_sub(&m->n_whole, 1, __ATOMIC_RELAXED);
        }
    }
}

void file_map_touch(FileState *s)
{
    const struct timespec times[] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};

    if (!file_flag(&s->untimed) || !__atomic_exchange_n(&s->untimed, 0, __ATOMIC_ACQ_REL)) {
        return;
    }
    /* Only its owner may set one time and leave the other. */
    if (futimens(s->fd, times) < 0 && futimens(s->fd, NULL) < 0) {
        file_set_flag(&s->map_broken); /* then the kernel has to see the writes */
    }
}

void file_map_touch_late(FileState *s, int64_t now_ns)
{
    int64_t last = __atomic_load_n(&s->touched_ns, __ATOMIC_RELAXED);

    if (file_flag(&s->untimed) && now_ns - last >= TOUCH_NS &&
        __atomic_compare_exchange_n(&s->touched_ns, &last, now_ns, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        file_map_touch(s);
    }
}

void file_map_drop(FileState *s)
{
    file_map_touch(s);
    map_free(s->map);
    s->map = NULL;
    s->map_broken = 0;
}
