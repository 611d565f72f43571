/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks that keep programs from using an image against each other. Each program read-locks one byte
 * for every permission it uses (100 + permission) and one for every permission it does not leave to
 * others (200 + permission), then looks whether others have locked the opposite bytes.
 *
 * The locks belong to the open file description (OFD locks), so they also work between two nodes of
 * one process, and go away with the descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "file.h"

#define LOCK_PERM     100
#define LOCK_UNSHARED 200
#define N_PERMS       4

static int lock_byte(int fd, int cmd, short type, off_t byte, struct flock *result)
{
    struct flock fl = {
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = byte,
        .l_len = 1,
    };
    int ret;

    do {
        ret = fcntl(fd, cmd, &fl);
    } while (ret < 0 && errno == EINTR);
    if (ret < 0) {
        return -errno;
    }
    if (result) {
        *result = fl;
    }
    return 0;
}

bool file_lock_supported(int fd)
{
    struct flock fl;

    return lock_byte(fd, F_OFD_GETLK, F_WRLCK, LOCK_PERM, &fl) == 0;
}

/* Changes the locked bytes from `have` to `want`; only adds, or only removes. */
static bool change_bytes(int fd, off_t base, unsigned *have, unsigned want, bool add, Error **errp)
{
    for (unsigned i = 0; i < N_PERMS; i++) {
        unsigned bit = 1u << i;
        int ret = 0;

        if (add && (want & bit) && !(*have & bit)) {
            ret = lock_byte(fd, F_OFD_SETLK, F_RDLCK, base + i, NULL);
            if (ret < 0) {
                error_set_errno(errp, -ret, "Failed to lock byte %d", (int)base + (int)i);
                return false;
            }
            *have |= bit;
        } else if (!add && !(want & bit) && (*have & bit)) {
            lock_byte(fd, F_OFD_SETLK, F_UNLCK, base + i, NULL);
            *have &= ~bit;
        }
    }
    return true;
}

static bool check_others(FileState *s, unsigned perm, unsigned shared, Error **errp)
{
    for (unsigned i = 0; i < N_PERMS; i++) {
        struct flock fl;

        if ((perm & (1u << i)) &&
            (lock_byte(s->lock_fd, F_OFD_GETLK, F_WRLCK, LOCK_UNSHARED + i, &fl) < 0 ||
             fl.l_type != F_UNLCK)) {
            error_set(errp, "Failed to get \"%s\" lock", block_perm_name(i));
            return false;
        }
    }
    for (unsigned i = 0; i < N_PERMS; i++) {
        struct flock fl;

        if (!(shared & (1u << i)) &&
            (lock_byte(s->lock_fd, F_OFD_GETLK, F_WRLCK, LOCK_PERM + i, &fl) < 0 ||
             fl.l_type != F_UNLCK)) {
            error_set(errp, "Failed to get shared \"%s\" lock", block_perm_name(i));
            return false;
        }
    }
    return true;
}

bool file_lock_prepare(FileState *s, unsigned perm, unsigned shared, Error **errp)
{
    unsigned old_perm = s->locked_perm, old_unshared = s->locked_unshared;
    unsigned unshared = ~shared & BLK_PERM_ALL;

    if (!s->locking) {
        return true;
    }
    /* Nothing new is asked for: nothing can be in the way. */
    if (!(perm & ~old_perm) && !(unshared & ~old_unshared)) {
        return true;
    }
    if (change_bytes(s->lock_fd, LOCK_PERM, &s->locked_perm, perm, true, errp) &&
        change_bytes(s->lock_fd, LOCK_UNSHARED, &s->locked_unshared, unshared, true, errp)) {
        Error *err = NULL;

        if (check_others(s, perm, shared, &err)) {
            return true;
        }
        error_append_hint(&err, "Is another process using the image [%s]?\n", s->path);
        error_propagate(errp, err);
    }
    change_bytes(s->lock_fd, LOCK_PERM, &s->locked_perm, old_perm, false, NULL);
    change_bytes(s->lock_fd, LOCK_UNSHARED, &s->locked_unshared, old_unshared, false, NULL);
    return false;
}

void file_lock_commit(FileState *s, unsigned perm, unsigned shared)
{
    if (s->locking) {
        change_bytes(s->lock_fd, LOCK_PERM, &s->locked_perm, perm, false, NULL);
        change_bytes(s->lock_fd, LOCK_UNSHARED, &s->locked_unshared, ~shared & BLK_PERM_ALL, false,
                     NULL);
    }
}
