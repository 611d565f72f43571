/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding out what a file or device can do, once, when it is opened. */
#include <errno.h>
#include <fcntl.h>
#include <linux/blkzoned.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file.h"

#define MAX_ALIGNMENT 65536
/* Not in every version of the kernel's headers. */
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xFF534D42
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xFE534D42
#endif

int64_t file_size(FileState *s)
{
    off_t end;

    if (s->caps.is_block) {
        uint64_t bytes;

        if (ioctl(s->fd, BLKGETSIZE64, &bytes) == 0) {
            return bytes > INT64_MAX ? -EFBIG : (int64_t)bytes;
        }
        return -errno;
    }
    if (s->caps.is_char) {
        /* /dev/null and the like have no size. */
        end = lseek(s->fd, 0, SEEK_END);
        return end < 0 ? 0 : (int64_t)end;
    }
    end = lseek(s->fd, 0, SEEK_END);
    return end < 0 ? -errno : (int64_t)end;
}

/* Whether a read of `len` bytes into buf works with O_DIRECT. */
static bool direct_read_works(int fd, void *buf, size_t len)
{
    ssize_t n;

    do {
        n = pread(fd, buf, len, 0);
    } while (n < 0 && errno == EINTR);
    /* Any other failure says nothing about alignment. */
    return n >= 0 || errno != EINVAL;
}

static void probe_alignment(FileState *s)
{
    FileCaps *c = &s->caps;
    struct statx sx;
    int sector = 0;
    uint8_t *buf;

#ifdef STATX_DIOALIGN
    if (statx(s->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) == 0 &&
        (sx.stx_mask & STATX_DIOALIGN) && sx.stx_dio_offset_align) {
        c->request_alignment = sx.stx_dio_offset_align;
        c->mem_alignment = MAX(sx.stx_dio_mem_align, 1u);
        return;
    }
#endif
    (void)sx;
    if (c->is_block && ioctl(s->fd, BLKSSZGET, &sector) == 0 && sector > 0) {
        c->request_alignment = (unsigned)sector;
    }
    buf = aligned_alloc(MAX_ALIGNMENT, MAX_ALIGNMENT * 2);
    if (!buf) {
        c->request_alignment = MAX(c->request_alignment, 4096u);
        c->mem_alignment = 4096;
        return;
    }
    if (!c->request_alignment) {
        c->request_alignment = BLK_SECTOR_SIZE;
        while (c->request_alignment < MAX_ALIGNMENT &&
               !direct_read_works(s->fd, buf, c->request_alignment)) {
            c->request_alignment *= 2;
        }
    }
    c->mem_alignment = BLK_SECTOR_SIZE;
    while (c->mem_alignment < MAX_ALIGNMENT &&
           !direct_read_works(s->fd, buf + c->mem_alignment, c->request_alignment)) {
        c->mem_alignment *= 2;
    }
    free(buf);
}

/* File systems whose calls a server, here or elsewhere, has to answer: it may never do so, and some
 * of them wait for it even if they are asked not to. */
static bool has_server(const struct statfs *fs)
{
    static const unsigned long magics[] = {
        FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
        SMB_SUPER_MAGIC,  CEPH_SUPER_MAGIC, V9FS_MAGIC,      AFS_FS_MAGIC,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(magics); i++) {
        if ((uint32_t)fs->f_type == magics[i]) {
            return true;
        }
    }
    return false;
}

bool file_probe_caps(FileState *s, Error **errp)
{
    FileCaps *c = &s->caps;
    struct statfs fs;
    struct stat st;

    memset(c, 0, sizeof(*c));
    c->request_alignment = 1;
    c->mem_alignment = 1;
    if (fstat(s->fd, &st) < 0) {
        error_set_errno(errp, errno, "Could not stat '%s'", s->path);
        return false;
    }
    c->is_block = S_ISBLK(st.st_mode);
    c->is_char = S_ISCHR(st.st_mode);
    c->is_regular = S_ISREG(st.st_mode);
    c->local = c->is_block || c->is_char;
    if (c->is_block) {
        int logical = 0;
        unsigned physical = 0, zone = 0;
        uint64_t granularity = 0;
        unsigned major = (unsigned)(st.st_rdev >> 8 & 0xfff), minor = (unsigned)(st.st_rdev & 0xff);
        g_autofree char *attr = NULL, *text = NULL;

        minor |= (unsigned)(st.st_rdev >> 12 & 0xfff00);
        if (ioctl(s->fd, BLKSSZGET, &logical) == 0 && logical > 0) {
            c->logical = (uint32_t)logical;
        }
        if (ioctl(s->fd, BLKPBSZGET, &physical) == 0) {
            c->physical = physical;
        }
        c->zoned = ioctl(s->fd, BLKGETZONESZ, &zone) == 0 && zone > 0;
        attr = g_strdup_printf("/sys/dev/block/%u:%u/queue/discard_max_bytes", major, minor);
        /* A partition has no queue of its own; then trying it will tell. */
        c->discard = true;
        if (g_file_get_contents(attr, &text, NULL, NULL)) {
            granularity = g_ascii_strtoull(text, NULL, 10);
            c->discard = granularity > 0;
        }
    } else {
        c->discard = c->is_regular;
        c->local |= fstatfs(s->fd, &fs) < 0 || !has_server(&fs);
    }
    file_probe_memory(s, &st);
    /* A memory file system copies, whatever the addresses are. */
    if (s->direct && !c->mappable) {
        c->request_alignment = 0;
        c->mem_alignment = 0;
        probe_alignment(s);
        if (c->whole_pages) {
            c->mem_alignment = MAX(c->mem_alignment, 4096u);
        }
    }
    return true;
}
