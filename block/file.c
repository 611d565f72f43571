/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drivers file and host_device: opening, sizes, permissions. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "chardev/fdset.h"
#include "file.h"
#include "util/offload.h"
#include "util/report.h"

static bool check_type(FileState *s, bool device, Error **errp)
{
    if (device && !s->caps.is_block && !s->caps.is_char) {
        error_set(errp, "'host_device' driver requires '%s' to be either a character or block "
                        "device", s->path);
        return false;
    }
    if (!device && !s->caps.is_regular) {
        error_set(errp, "'file' driver requires '%s' to be a regular file", s->path);
        return false;
    }
    return true;
}

static bool file_options(BlockNode *node, FileState *s, const BlockdevOptionsFile *o, Error **errp)
{
    if (!o->filename || !*o->filename) {
        error_set(errp, "The '%s' block driver requires a file name", node->drv->name);
        return false;
    }
    if (o->pr_manager) {
        error_set(errp, "No persistent reservation manager with id '%s'", o->pr_manager);
        return false;
    }
    /* drop-cache and x-check-cache-dropped speak about taking over a migrated image. This program
     * never holds one that another program writes to, so each value is honoured as it is. */
    s->aio = o->has_aio ? o->aio : BLOCKDEV_AIO_OPTIONS_THREADS;
    s->max_batch = o->has_aio_max_batch && o->aio_max_batch > 0
                       ? (int)MIN(o->aio_max_batch, INT_MAX)
                       : 0;
    if (s->aio == BLOCKDEV_AIO_OPTIONS_NATIVE && !s->direct) {
        error_set(errp, "aio=native was specified, but it requires cache.direct=on, which was not "
                        "specified.");
        return false;
    }
    if (s->aio == BLOCKDEV_AIO_OPTIONS_IO_URING && !aio_has_uring(aio_context_main())) {
        error_set(errp, "aio=io_uring was specified, but io_uring is not available to this "
                        "process");
        return false;
    }
    if (s->aio == BLOCKDEV_AIO_OPTIONS_NATIVE && !file_native_probe(aio_context_main(), errp)) {
        return false;
    }
    return true;
}

static void file_close_fds(FileState *s)
{
    if (s->lock_fd >= 0 && s->lock_fd != s->fd) {
        file_close_fd(s, s->lock_fd);
    }
    if (s->fd >= 0) {
        file_close_fd(s, s->fd);
    }
    s->fd = -1;
    s->lock_fd = -1;
}

static void file_start(BlockRequest *req)
{
    FileState *s = req->node->opaque;

    req->driver_flags |= FILE_REQ_HELD;
    if (s->direct && (req->at_op != BLK_OP_WRITE || (req->driver_flags & FILE_REQ_BOUNCE))) {
        file_submit_worker(req);
    } else {
        file_engine_submit(s, req);
    }
}

static bool file_open(BlockNode *node, const BlockdevOptions *opts, Error **errp)
{
    bool device = opts->driver == BLOCKDEV_DRIVER_HOST_DEVICE;
    const BlockdevOptionsFile *o = device ? &opts->u.host_device : &opts->u.file;
    FileState *s = node->opaque;
    OnOffAuto locking = o->has_locking ? o->locking : ON_OFF_AUTO_AUTO;
    bool is_fifo;

    s->fd = -1;
    s->lock_fd = -1;
    s->direct = node->cache_direct;
    if (!file_options(node, s, o, errp)) {
        return false;
    }
    s->path = g_strdup(o->filename);
    /* With auto-read-only, writing is asked for when somebody needs it. */
    s->rw = !node->read_only && !node->auto_read_only;
    s->fd = file_call_open(s, s->rw, &is_fifo, errp);
    if (is_fifo) {
        check_type(s, device, errp);
    }
    if (s->fd < 0) {
        goto fail;
    }
    s->lock_fd = s->fd;
    stall_fd_set(s->fd, true);
    if (!file_call_probe(s, errp) || !check_type(s, device, errp)) {
        goto fail;
    }
    s->locking = locking != ON_OFF_AUTO_OFF && s->can_lock;
    if (locking == ON_OFF_AUTO_ON && !s->locking) {
        error_set(errp, "File lock requested but the file system or the host does not support "
                        "locks of open file descriptions");
        goto fail;
    }
    stall_fd_set(s->fd, !s->caps.local);
    s->serialise = s->direct && s->caps.request_alignment > 1;
    range_lock_init(&s->ranges, file_start);
    slot_table_init(&s->shards, sizeof(FileShard));
    file_facts_init(s);
    return true;
fail:
    file_close_fds(s);
    g_free(s->path);
    return false;
}

static void file_close(BlockNode *node)
{
    FileState *s = node->opaque;

    file_map_drop(s);
    file_close_fds(s);
    file_facts_free(s);
    range_lock_free(&s->ranges);
    slot_table_free(&s->shards);
    g_free(s->path);
}

static int64_t file_length(BlockNode *node)
{
    return file_call_length(node->opaque);
}

static void file_limits(BlockNode *node, BlockLimits *l)
{
    FileState *s = node->opaque;

    l->request_alignment = s->caps.request_alignment;
    l->mem_alignment = s->caps.mem_alignment;
    l->max_iov = IOV_MAX;
    l->discard_alignment = s->caps.discard ? MAX(s->caps.logical, 1u) : 0;
}

static bool file_truncate(BlockNode *node, int64_t size, Error **errp)
{
    FileState *s = node->opaque;
    int ret;

    if (s->caps.is_block || s->caps.is_char) {
        int64_t now = file_size(s);

        /* A device has the size it has; the caller asks whether it has become large enough. */
        if (now < 0) {
            error_set_errno(errp, (int)-now, "Failed to inquire current file length");
            return false;
        }
        if (size > now) {
            error_set(errp, "Cannot grow device files");
            return false;
        }
        return true;
    }
    file_map_drop(s);
    ret = file_call_truncate(s, size);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not resize file");
        return false;
    }
    return true;
}

/* Puts fd in the place of s->fd while nobody uses that. */
static void swap_fd(BlockNode *node, FileState *s, int fd, bool rw)
{
    GPtrArray *drained = block_drained_begin(node);

    file_map_drop(s);
    if (s->fd != s->lock_fd) {
        file_close_fd(s, s->fd);
    }
    s->fd = fd;
    s->rw = rw;
    stall_fd_set(fd, !s->caps.local);
    block_drained_end(drained);
}

static bool file_set_perm(BlockNode *node, unsigned perm, unsigned shared, Error **errp)
{
    const unsigned writing = BLK_PERM_WRITE | BLK_PERM_WRITE_UNCHANGED | BLK_PERM_RESIZE;
    FileState *s = node->opaque;
    bool want_rw = node->auto_read_only && !node->read_only && (perm & writing);
    int fd = -1;
    bool is_fifo;

    if (want_rw && !s->rw) {
        fd = file_call_open(s, true, &is_fifo, errp);
        if (fd < 0) {
            return false;
        }
    }
    if (!file_call_lock_prepare(s, perm, shared, errp)) {
        if (fd >= 0) {
            file_close_fd(s, fd);
        }
        return false;
    }
    if (fd >= 0) {
        swap_fd(node, s, fd, true);
    } else if (!want_rw && s->fd != s->lock_fd) {
        swap_fd(node, s, s->lock_fd, false);
    }
    file_call_lock_commit(s, perm, shared);
    return true;
}

static int64_t file_allocated(BlockNode *node)
{
    FileNumbers n;

    file_numbers(node->opaque, &n);
    return n.allocated;
}

static void file_refresh_filename(BlockNode *node)
{
    FileState *s = node->opaque;

    node->filename = g_strdup(s->path);
}

static JsonNode *file_describe(BlockNode *node)
{
    FileState *s = node->opaque;
    JsonNode *json = json_node_new(JSON_NODE_OBJECT);
    JsonObject *obj = json_object_new();

    json_object_set_string_member(obj, "driver", node->drv->name);
    json_object_set_string_member(obj, "filename", s->path);
    json_node_take_object(json, obj);
    return json;
}

static ImageInfoSpecific *file_info(BlockNode *node)
{
    ImageInfoSpecific *info = g_new0(ImageInfoSpecific, 1);
    FileNumbers n;

    info->type = IMAGE_INFO_SPECIFIC_KIND_FILE;
    info->u.file.data = g_new0(ImageInfoSpecificFile, 1);
    file_numbers(node->opaque, &n);
    info->u.file.data->has_extent_size_hint = n.extent_size > 0;
    info->u.file.data->extent_size_hint = n.extent_size;
    return info;
}

static void file_probe_blocksizes(BlockNode *node, uint32_t *logical, uint32_t *physical)
{
    FileState *s = node->opaque;

    /* Any other device takes requests of every size (file-bounce.c), and a disk that showed the
     * host's sizes would change its geometry when it moves to another host. */
    if (s->caps.zoned) {
        *logical = s->caps.logical;
        *physical = s->caps.physical;
    }
}

static bool file_can_discard(BlockNode *node)
{
    FileState *s = node->opaque;

    return s->caps.discard && !file_flag(&s->no_punch);
}

static bool file_parse_filename(const char *filename, JsonObject *options, Error **errp)
{
    json_object_set_string_member(options, "filename",
                                  g_str_has_prefix(filename, "file:") ? filename + 5 : filename);
    return true;
}

static int file_probe_device(const char *filename)
{
    return 1;
}

static int host_device_probe_device(const char *filename)
{
    return file_call_is_device(filename) ? 100 : 0;
}

static const char *const file_options_list[] = {
    "filename",      "pr-manager", "locking",
    "aio",           "drop-cache", "x-check-cache-dropped",
    "aio-max-batch", NULL,
};

#define FILE_DRIVER(name_, protocol_, probe_)                                                      \
    {                                                                                              \
        .name = name_, .protocol = protocol_, .instance_size = sizeof(FileState),                  \
        .options = file_options_list, .open = file_open, .close = file_close,                      \
        .length = file_length, .limits = file_limits, .truncate = file_truncate,                   \
        .set_perm = file_set_perm, .refresh = file_refresh, .allocated = file_allocated,           \
        .refresh_filename = file_refresh_filename, .describe = file_describe,                      \
        .stats = file_stats, .info = file_info, .has_dirty_flag = true,                            \
        .probe_blocksizes = file_probe_blocksizes, .can_discard = file_can_discard,                \
        .parse_filename = file_parse_filename, .probe_device = probe_, .submit = file_submit,      \
    }

static const BlockDriver file_driver = FILE_DRIVER("file", "file", file_probe_device);
static const BlockDriver host_device_driver =
    FILE_DRIVER("host_device", "host_device", host_device_probe_device);
BLOCK_DRIVER_REGISTER(file_driver)
BLOCK_DRIVER_REGISTER(host_device_driver)
