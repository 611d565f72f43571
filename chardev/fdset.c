/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of descriptors handed over by the user, opened as "/dev/fdset/N". */
#include "chardev/fdset.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "qapi/keyval.h"

#define FDSET_PREFIX "/dev/fdset/"

typedef struct FdsetFd {
    int fd;
    char *opaque;
} FdsetFd;

typedef struct Fdset {
    int64_t id;
    GArray *fds; /* of FdsetFd */
} Fdset;

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

int64_t fdset_add(int64_t set_id, int fd, const char *opaque, Error **errp)
{
    FdsetFd entry = { fd, g_strdup(opaque) };
    Fdset *s;
    guint pos;

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
        g_ptr_array_insert(sets, pos, s);
    }
    g_array_append_val(s->fds, entry);
    return set_id;
}

int fdset_open(const char *path, int flags, int mode)
{
    int64_t id;
    Fdset *s;
    guint pos;

    if (!g_str_has_prefix(path, FDSET_PREFIX)) {
        return open(path, flags | O_CLOEXEC, mode);
    }
    if (!parse_int64(path + strlen(FDSET_PREFIX), &id) || !(s = fdset_find(id, &pos))) {
        errno = ENOENT;
        return -1;
    }
    for (guint i = 0; i < s->fds->len; i++) {
        int fd = g_array_index(s->fds, FdsetFd, i).fd;
        int have = fcntl(fd, F_GETFL);

        if (have >= 0 && (have & O_ACCMODE) == (flags & O_ACCMODE)) {
            return fcntl(fd, F_DUPFD_CLOEXEC, 0);
        }
    }
    errno = EACCES;
    return -1;
}

static void fdset_free(Fdset *s)
{
    for (guint i = 0; i < s->fds->len; i++) {
        close(g_array_index(s->fds, FdsetFd, i).fd);
        g_free(g_array_index(s->fds, FdsetFd, i).opaque);
    }
    g_array_unref(s->fds);
    g_free(s);
}

void fdset_cleanup(void)
{
    for (guint i = 0; sets && i < sets->len; i++) {
        fdset_free(sets->pdata[i]);
    }
    g_clear_pointer(&sets, g_ptr_array_unref);
}
