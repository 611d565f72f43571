/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of descriptors handed over by the user, opened as "/dev/fdset/N". */
#include "chardev/fdset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "qapi/keyval.h"
#include "qapi/qapi-fd.h"

#define FDSET_PREFIX "/dev/fdset/"

typedef struct FdsetFd {
    int fd;
    char *opaque;
} FdsetFd;

typedef struct Fdset {
    int64_t id;
    GArray *fds;  /* of FdsetFd */
    GArray *dups; /* of int: opened by it and not closed yet */
} Fdset;

/* Changed in the main thread; closing alone happens elsewhere, too. */
static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;
static GPtrArray *sets; /* by id, ascending */

static Fdset *fdset_find(int64_t id, guint *pos)
{
    guint i;

    for (i = 0; sets && i < sets->len; i++) {
        Fdset *s = sets->pdata[i];

        if (s->id >= id) {
            *pos = i;
            return s->id == id ? s : NULL;
        }
    }
    *pos = i;
    return NULL;
}

static int64_t first_free_id(void)
{
    int64_t id = 0;

    for (guint i = 0; sets && i < sets->len; i++) {
        if (((Fdset *)sets->pdata[i])->id != id) {
            break;
        }
        id++;
    }
    return id;
}

static void clear_fd(gpointer p)
{
    FdsetFd *f = p;

    close(f->fd);
    g_free(f->opaque);
}

static void fdset_free(Fdset *s)
{
    g_array_unref(s->fds);
    g_array_unref(s->dups);
    g_free(s);
}

int64_t fdset_add(int64_t set_id, int fd, const char *opaque)
{
    FdsetFd entry = { fd, g_strdup(opaque) };
    Fdset *s;
    guint pos;

    pthread_mutex_lock(&sets_lock);
    if (set_id < 0) {
        set_id = first_free_id();
    }
    if (!sets) {
        sets = g_ptr_array_new();
    }
    s = fdset_find(set_id, &pos);
    if (!s) {
        s = g_new0(Fdset, 1);
        s->id = set_id;
        s->fds = g_array_new(false, false, sizeof(FdsetFd));
        g_array_set_clear_func(s->fds, clear_fd);
        s->dups = g_array_new(false, false, sizeof(int));
        g_ptr_array_insert(sets, pos, s);
    }
    g_array_append_val(s->fds, entry);
    pthread_mutex_unlock(&sets_lock);
    return set_id;
}

static void free_if_unused(Fdset *s)
{
    if (s->fds->len == 0 && s->dups->len == 0) {
        g_ptr_array_remove(sets, s);
        fdset_free(s);
    }
}

static bool remove_locked(int64_t set_id, const int64_t *fd)
{
    guint pos;
    Fdset *s = fdset_find(set_id, &pos);

    if (s && !fd) {
        g_array_set_size(s->fds, 0);
        free_if_unused(s);
        return true;
    }
    for (guint i = 0; s && i < s->fds->len; i++) {
        if (g_array_index(s->fds, FdsetFd, i).fd == *fd) {
            g_array_remove_index(s->fds, i);
            free_if_unused(s);
            return true;
        }
    }
    return false;
}

bool fdset_remove(int64_t set_id, const int64_t *fd, Error **errp)
{
    bool found;

    pthread_mutex_lock(&sets_lock);
    found = remove_locked(set_id, fd);
    pthread_mutex_unlock(&sets_lock);
    if (!found && fd) {
        error_set(errp, "File descriptor named 'fdset-id:%" PRId64 ", fd:%" PRId64 "' not found",
                  set_id, *fd);
    } else if (!found) {
        error_set(errp, "File descriptor named 'fdset-id:%" PRId64 "' not found", set_id);
    }
    return found;
}

GPtrArray *fdset_query(void)
{
    GPtrArray *list = g_ptr_array_new();

    pthread_mutex_lock(&sets_lock);
    for (guint i = sets ? sets->len : 0; i > 0; i--) {
        Fdset *s = sets->pdata[i - 1];
        FdsetInfo *info = g_new0(FdsetInfo, 1);

        info->fdset_id = s->id;
        info->fds = g_ptr_array_new();
        for (guint n = 0; n < s->fds->len; n++) {
            FdsetFd *f = &g_array_index(s->fds, FdsetFd, n);
            FdsetFdInfo *fd_info = g_new0(FdsetFdInfo, 1);

            fd_info->fd = f->fd;
            fd_info->opaque = g_strdup(f->opaque);
            g_ptr_array_add(info->fds, fd_info);
        }
        g_ptr_array_add(list, info);
    }
    pthread_mutex_unlock(&sets_lock);
    return list;
}

bool fdset_is_path(const char *path)
{
    return g_str_has_prefix(path, FDSET_PREFIX);
}

static int dup_locked(const char *path, int flags, Error **errp)
{
    /* The mode in which a descriptor was opened is not changed: others may have it, too. */
    const int match = O_ACCMODE | O_DIRECT;
    int64_t id;
    Fdset *s;
    guint pos;

    if (!parse_int64(path + strlen(FDSET_PREFIX), &id)) {
        error_set(errp, "Could not parse fdset %s", path);
        errno = EINVAL;
        return -1;
    }
    s = fdset_find(id, &pos);
    if (!s) {
        error_set(errp, "Failed to find fdset %s", path);
        errno = ENOENT;
        return -1;
    }
    for (guint i = 0; i < s->fds->len; i++) {
        int fd = g_array_index(s->fds, FdsetFd, i).fd;
        int have = fcntl(fd, F_GETFL);

        if (have >= 0 && (have & match) == (flags & match)) {
            int dup = fcntl(fd, F_DUPFD_CLOEXEC, 0);

            if (dup < 0) {
                error_set_errno(errp, errno, "Could not duplicate a descriptor of %s", path);
                return -1;
            }
            g_array_append_val(s->dups, dup);
            return dup;
        }
    }
    error_set(errp, "Failed to find file descriptor with matching flags=0x%x", flags & match);
    errno = EACCES;
    return -1;
}

int fdset_dup(const char *path, int flags, Error **errp)
{
    int fd, err;

    pthread_mutex_lock(&sets_lock);
    fd = dup_locked(path, flags, errp);
    err = errno;
    pthread_mutex_unlock(&sets_lock);
    errno = err;
    return fd;
}

int fdset_open(const char *path, int flags, int mode)
{
    return fdset_is_path(path) ? fdset_dup(path, flags, NULL)
                               : open(path, flags | O_CLOEXEC, mode);
}

static void forget_locked(int fd)
{
    for (guint i = 0; sets && i < sets->len; i++) {
        Fdset *s = sets->pdata[i];

        for (guint n = 0; n < s->dups->len; n++) {
            if (g_array_index(s->dups, int, n) == fd) {
                g_array_remove_index_fast(s->dups, n);
                free_if_unused(s);
                return;
            }
        }
    }
}

void fdset_forget(int fd)
{
    pthread_mutex_lock(&sets_lock);
    forget_locked(fd);
    pthread_mutex_unlock(&sets_lock);
}

void fdset_cleanup(void)
{
    pthread_mutex_lock(&sets_lock);
    for (guint i = 0; sets && i < sets->len; i++) {
        fdset_free(sets->pdata[i]);
    }
    g_clear_pointer(&sets, g_ptr_array_unref);
    pthread_mutex_unlock(&sets_lock);
}
