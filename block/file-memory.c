/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a file is memory, or lies in the page cache. io_uring has no use for such a file when its
 * driver knows no RWF_NOWAIT (tmpfs, zram): it hands every request to a thread of the kernel, which
 * costs more than copying the data.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "file.h"

/* Block devices whose driver copies, or compresses, in the thread that submits. A loop device or a
 * device mapper target may lie on anything. */
static const char *const memory_drivers[] = { "zram", "ram", "pmem" };

static bool is_memory_name(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(memory_drivers); i++) {
        size_t len = strlen(memory_drivers[i]);

        if (strncmp(name, memory_drivers[i], len) == 0 && isdigit((unsigned char)name[len])) {
            return true;
        }
    }
    return false;
}

/* zram can move pages to a disk. */
static bool has_backing_device(const char *dir)
{
    g_autofree char *attr = g_build_filename(dir, "backing_dev", NULL);
    g_autofree char *text = NULL;

    return g_file_get_contents(attr, &text, NULL, NULL) && strcmp(g_strchomp(text), "none") != 0;
}

/* What has been written past the page cache is where it belongs. */
static bool has_no_cache(const char *dir)
{
    g_autofree char *attr = g_build_filename(dir, "queue", "write_cache", NULL);
    g_autofree char *text = NULL;

    return g_file_get_contents(attr, &text, NULL, NULL) &&
           strcmp(g_strchomp(text), "write through") == 0;
}

/*
 * Finds out about a device that copies. zram accepts buffers at other addresses than those of
 * pages, and then writes past their ends what it reads (seen with Linux 6.18); drivers of the same
 * make are not trusted to do better.
 */
static void probe_device(dev_t rdev, FileCaps *c, bool direct)
{
    g_autofree char *link = g_strdup_printf("/sys/dev/block/%u:%u", major(rdev), minor(rdev));
    g_autofree char *dir = realpath(link, NULL);
    g_autofree char *part = dir ? g_build_filename(dir, "partition", NULL) : NULL;
    g_autofree char *disk = NULL, *name = NULL;

    if (!dir) {
        return;
    }
    disk = g_file_test(part, G_FILE_TEST_EXISTS) ? g_path_get_dirname(dir) : g_strdup(dir);
    name = g_path_get_basename(disk);
    c->whole_pages = is_memory_name(name);
    c->in_memory = c->whole_pages && !has_backing_device(disk);
    c->flush_free = c->in_memory && direct && has_no_cache(disk);
}

static bool is_dax(int fd)
{
    bool dax = false;
#ifdef STATX_ATTR_DAX
    struct statx sx;

    dax = statx(fd, "", AT_EMPTY_PATH, 0, &sx) == 0 &&
          (sx.stx_attributes_mask & sx.stx_attributes & STATX_ATTR_DAX);
#endif
    return dax;
}

void file_probe_memory(FileState *s, const struct stat *st)
{
    FileCaps *c = &s->caps;
    uint8_t byte;
    struct iovec iov = { &byte, 1 };
    struct statfs fs;

    if (c->is_block) {
        probe_device(st->st_rdev, c, s->direct);
    } else if (S_ISREG(st->st_mode) && fstatfs(s->fd, &fs) == 0) {
        c->in_memory = fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
        c->flush_free = c->in_memory;
        c->mappable = c->in_memory;
    }
    if (!c->local || (s->direct && !is_dax(s->fd))) {
        return; /* such a read waits for the disk all the same */
    }
    c->nowait_read = preadv2(s->fd, &iov, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}
