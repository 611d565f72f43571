/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls about a file whose server may not answer (network, FUSE), made by a thread of their own
 * while the main thread goes on serving clients. Files that have no server are asked directly, once
 * that is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chardev/fdset.h"
#include "file.h"
#include "util/offload.h"

/* ---- opening ---- */

typedef struct OpenJob {
    const char *path;
    int flags;
    bool is_fifo;
    int fd, error;
} OpenJob;

static void open_there(void *opaque)
{
    OpenJob *job = opaque;
    struct stat st;

    /* Opening a pipe could wait forever for its other end. */
    job->is_fifo = stat(job->path, &st) == 0 && S_ISFIFO(st.st_mode);
    if (job->is_fifo) {
        return;
    }
    do {
        job->fd = open(job->path, job->flags);
    } while (job->fd < 0 && errno == EINTR);
    job->error = errno;
    stall_fd_set(job->fd, true);
}

int file_call_open(FileState *s, bool rw, bool *is_fifo, Error **errp)
{
    OpenJob job = {
        .path = s->path,
        .flags = O_CLOEXEC | O_NOCTTY | (rw ? O_RDWR : O_RDONLY) | (s->direct ? O_DIRECT : 0),
        .fd = -1,
    };

    *is_fifo = false;
    if (fdset_is_path(s->path)) {
        return fdset_dup(s->path, job.flags, errp);
    }
    offload_call(open_there, &job);
    *is_fifo = job.is_fifo;
    if (job.fd < 0 && job.error == EINVAL && s->direct) {
        error_set(errp, "Could not open '%s': filesystem does not support O_DIRECT", s->path);
    } else if (job.fd < 0 && !job.is_fifo) {
        error_set_errno(errp, job.error, "Could not open '%s'", s->path);
    }
    return job.fd;
}

typedef struct DeviceJob {
    const char *path;
    bool is_device;
} DeviceJob;

static void is_device_there(void *opaque)
{
    DeviceJob *job = opaque;
    struct stat st;

    job->is_device = stat(job->path, &st) == 0 && (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode));
}

bool file_call_is_device(const char *path)
{
    DeviceJob job = { path, false };

    offload_call(is_device_there, &job);
    return job.is_device;
}

typedef struct ProbeJob {
    FileState *s;
    Error **errp;
    bool ok;
} ProbeJob;

static void probe_there(void *opaque)
{
    ProbeJob *job = opaque;

    job->ok = file_probe_caps(job->s, job->errp);
    job->s->can_lock = job->ok && file_lock_supported(job->s->fd);
}

bool file_call_probe(FileState *s, Error **errp)
{
    ProbeJob job = { s, errp, false };

    offload_call(probe_there, &job);
    return job.ok;
}

/* ---- length ---- */

/* By a descriptor of its own: the file's may be closed meanwhile, and its number be another's. */
typedef struct LengthJob {
    int fd;
    int64_t length;
    int ret; /* of ftruncate() */
} LengthJob;

static void job_close(LengthJob *job)
{
    stall_fd_set(job->fd, false);
    close(job->fd);
}

static void length_there(void *opaque)
{
    LengthJob *job = opaque;
    off_t end = lseek(job->fd, 0, SEEK_END);

    job->length = end < 0 ? -errno : (int64_t)end;
    job_close(job);
}

static int retry_truncate(int fd, int64_t length)
{
    int ret;

    do {
        ret = ftruncate(fd, length) < 0 ? -errno : 0;
    } while (ret == -EINTR);
    return ret;
}

static void truncate_there(void *opaque)
{
    LengthJob *job = opaque;

    job->ret = retry_truncate(job->fd, job->length);
    job_close(job);
}

static int length_job(FileState *s, LengthJob *job, void (*fn)(void *opaque))
{
    job->fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    if (job->fd < 0) {
        return -errno;
    }
    stall_fd_set(job->fd, true);
    offload_call(fn, job);
    return job->ret;
}

int64_t file_call_length(FileState *s)
{
    LengthJob job = { 0 };
    int ret;

    if (s->caps.local) {
        return file_size(s);
    }
    ret = length_job(s, &job, length_there);
    return ret < 0 ? ret : job.length;
}

int file_call_truncate(FileState *s, int64_t length)
{
    LengthJob job = { .length = length };

    return s->caps.local ? retry_truncate(s->fd, length) : length_job(s, &job, truncate_there);
}

/* ---- locks ---- */

typedef struct LockJob {
    FileState *s;
    unsigned perm, shared;
    Error **errp;
    bool ok;
} LockJob;

static void prepare_there(void *opaque)
{
    LockJob *job = opaque;

    job->ok = file_lock_prepare(job->s, job->perm, job->shared, job->errp);
}

static void commit_there(void *opaque)
{
    LockJob *job = opaque;

    file_lock_commit(job->s, job->perm, job->shared);
}

static void lock_job(LockJob *job, void (*fn)(void *opaque))
{
    if (job->s->caps.local || !job->s->locking) {
        fn(job);
    } else {
        offload_call(fn, job);
    }
}

bool file_call_lock_prepare(FileState *s, unsigned perm, unsigned shared, Error **errp)
{
    LockJob job = { s, perm, shared, errp, false };

    lock_job(&job, prepare_there);
    return job.ok;
}

void file_call_lock_commit(FileState *s, unsigned perm, unsigned shared)
{
    LockJob job = { s, perm, shared, NULL, false };

    lock_job(&job, commit_there);
}
