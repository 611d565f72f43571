/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What clients ask about a file, when its server may not answer (network, FUSE): the answer is from
 * memory, and a thread of its own brings it up to date. The descriptor is closed there, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "chardev/fdset.h"
#include "file.h"
#include "util/offload.h"

/* How long a query waits for fresh answers, and a close for its end. */
#define PATIENCE_NS INT64_C(250000000)

struct FileFacts {
    unsigned refs; /* main thread: the node's, and the thread's */
    bool pending;
    FileNumbers now;
    /* Of the thread while it is pending. */
    int fd;
    FileNumbers next;
};

/* Threads that have not come back. Main thread. */
static unsigned unanswered;

void file_read_numbers(int fd, FileNumbers *n)
{
    struct stat st;
    struct fsxattr attr;

    n->allocated = fstat(fd, &st) < 0 ? -errno : (int64_t)st.st_blocks * 512;
    n->extent_size = ioctl(fd, FS_IOC_FSGETXATTR, &attr) == 0 ? attr.fsx_extsize : 0;
}

static void facts_unref(FileFacts *f)
{
    if (--f->refs == 0) {
        g_free(f);
    }
}

static void facts_fetch(void *opaque)
{
    FileFacts *f = opaque;

    file_read_numbers(f->fd, &f->next);
    stall_fd_set(f->fd, false);
    close(f->fd);
}

static void facts_done(void *opaque)
{
    FileFacts *f = opaque;

    f->now = f->next;
    f->pending = false;
    unanswered--;
    facts_unref(f);
}

void file_facts_init(FileState *s)
{
    s->facts = g_new0(FileFacts, 1);
    s->facts->refs = 1;
    s->facts->now.allocated = -EAGAIN;
}

void file_facts_free(FileState *s)
{
    if (s->facts) {
        facts_unref(g_steal_pointer(&s->facts));
    }
}

void file_numbers(FileState *s, FileNumbers *n)
{
    if (s->caps.local) {
        file_read_numbers(s->fd, n);
    } else {
        *n = s->facts->now;
    }
}

void file_refresh(BlockNode *node)
{
    FileState *s = node->opaque;
    FileFacts *f = s->facts;

    if (s->caps.local || f->pending) {
        return;
    }
    f->fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    if (f->fd < 0) {
        return;
    }
    stall_fd_set(f->fd, true);
    f->refs++;
    f->pending = true;
    unanswered++;
    if (!offload_start(facts_fetch, facts_done, f)) {
        stall_fd_set(f->fd, false);
        close(f->fd);
        f->pending = false;
        unanswered--;
        facts_unref(f);
    }
}

static bool is_answered(void *opaque)
{
    return unanswered <= *(unsigned *)opaque;
}

void block_refresh_facts(void)
{
    /* Those that were asked before and have not answered are not waited for again. */
    unsigned before = unanswered;

    for (GList *l = block_nodes(); l; l = l->next) {
        BlockNode *node = l->data;

        if (node->opened && node->drv->refresh) {
            node->drv->refresh(node);
        }
    }
    offload_wait(is_answered, &before, PATIENCE_NS);
}

/* ---- closing ---- */

typedef struct Closing {
    int fd;
    bool done, left;
} Closing;

static void close_there(void *opaque)
{
    int fd = ((Closing *)opaque)->fd;

    /* From here on the number may be another file's. */
    stall_fd_set(fd, false);
    close(fd);
}

static void close_done(void *opaque)
{
    Closing *c = opaque;

    c->done = true;
    if (c->left) {
        g_free(c);
    }
}

static bool is_closed(void *opaque)
{
    return ((Closing *)opaque)->done;
}

void file_close_fd(FileState *s, int fd)
{
    Closing *c;

    fdset_forget(fd);
    if (s->caps.local) {
        stall_fd_set(fd, false);
        close(fd);
        return;
    }
    /* A server is told of the end of a descriptor, and the caller of close() waits for that. */
    c = g_new0(Closing, 1);
    c->fd = fd;
    if (!offload_start(close_there, close_done, c)) {
        close(fd);
        g_free(c);
        return;
    }
    offload_wait(is_closed, c, PATIENCE_NS);
    if (c->done) {
        g_free(c);
    } else {
        c->left = true;
    }
}
