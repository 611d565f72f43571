/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors that clients send along with QMP commands: sets of them, and names. */
#include <unistd.h>

#include "chardev/fdset.h"
#include "qapi/qapi-fd.h"
#include "qmp.h"

static bool named_fd(const char *name, int *fd, Error **errp);

void qmp_fd_init(void)
{
    chardev_named_fd_hook = named_fd;
}

void qmp_fd_arrived(QmpMonitor *mon, int fd, unsigned session)
{
    /* It may have come with an earlier command of the same client. */
    if (mon->fd >= 0 && (fd >= 0 || mon->fd_session != session)) {
        close(mon->fd);
        mon->fd = -1;
    }
    if (fd >= 0) {
        mon->fd = fd;
        mon->fd_session = session;
    }
}

void qmp_fd_cleanup(QmpMonitor *mon)
{
    qmp_fd_arrived(mon, -1, mon->fd_session + 1);
    g_clear_pointer(&mon->named_fds, g_hash_table_unref);
}

static int take_fd(Error **errp)
{
    int fd = qmp_current->fd;

    qmp_current->fd = -1;
    if (fd < 0) {
        error_set(errp, "No file descriptor supplied via SCM_RIGHTS");
    }
    return fd;
}

/* ---- sets ---- */

AddfdInfo *qmp_add_fd(const q_add_fd_args *args, Error **errp)
{
    int fd = take_fd(errp);
    AddfdInfo *info;

    if (fd < 0) {
        return NULL;
    }
    if (args->has_fdset_id && args->fdset_id < 0) {
        error_set(errp, "Parameter 'fdset-id' expects a non-negative value");
        close(fd);
        return NULL;
    }
    info = g_new0(AddfdInfo, 1);
    info->fdset_id = fdset_add(args->has_fdset_id ? args->fdset_id : -1, fd, args->opaque);
    info->fd = fd;
    return info;
}
QMP_REGISTER(add_fd)

bool qmp_remove_fd(const q_remove_fd_args *args, Error **errp)
{
    return fdset_remove(args->fdset_id, args->has_fd ? &args->fd : NULL, errp);
}
QMP_REGISTER(remove_fd)

GPtrArray *qmp_query_fdsets(Error **errp)
{
    return fdset_query();
}
QMP_REGISTER(query_fdsets)

/* ---- names ---- */

static void close_named(gpointer fd)
{
    close(GPOINTER_TO_INT(fd));
}

/* Takes it out of the table; -1: there is none of that name. */
static int steal_named(QmpMonitor *mon, const char *name)
{
    gpointer key, fd;

    if (!mon->named_fds ||
        !g_hash_table_steal_extended(mon->named_fds, name, &key, &fd)) {
        return -1;
    }
    g_free(key);
    return GPOINTER_TO_INT(fd);
}

/* What a chardev is to be made of. Without a client that asks, fd= is a number. */
static bool named_fd(const char *name, int *fd, Error **errp)
{
    if (!qmp_current) {
        return false;
    }
    *fd = steal_named(qmp_current, name);
    if (*fd < 0) {
        error_set(errp, "File descriptor named '%s' has not been found", name);
    }
    return true;
}

bool qmp_getfd(const q_getfd_args *args, Error **errp)
{
    QmpMonitor *mon = qmp_current;
    int fd = take_fd(errp);

    if (fd < 0) {
        return false;
    }
    if (g_ascii_isdigit(args->fdname[0])) {
        error_set(errp, "Parameter 'fdname' expects a name not starting with a digit");
        close(fd);
        return false;
    }
    if (!mon->named_fds) {
        mon->named_fds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, close_named);
    }
    g_hash_table_insert(mon->named_fds, g_strdup(args->fdname), GINT_TO_POINTER(fd));
    return true;
}
QMP_REGISTER(getfd)

bool qmp_closefd(const q_closefd_args *args, Error **errp)
{
    int fd = steal_named(qmp_current, args->fdname);

    if (fd < 0) {
        error_set(errp, "File descriptor named '%s' not found", args->fdname);
        return false;
    }
    close(fd);
    return true;
}
QMP_REGISTER(closefd)
