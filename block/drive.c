/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -drive: a backend with a name, its image, and where the machine shall connect it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "drive-options.h"
#include "throttle-limits.h"
#include "timed-stats.h"
#include "util/biglock.h"

typedef enum {
    IF_NONE,
    IF_IDE,
    IF_SCSI,
    IF_FLOPPY,
    IF_PFLASH,
    IF_MTD,
    IF_SD,
    IF_VIRTIO,
    IF_XEN,
    IF__MAX,
} DriveInterface;

static const char *const if_names[IF__MAX] = {
    "none", "ide", "scsi", "floppy", "pflash", "mtd", "sd", "virtio", "xen",
};
/* Units per bus; 0: one bus without limit. */
static const int if_max_units[IF__MAX] = { [IF_IDE] = 2, [IF_SCSI] = 7 };

static GPtrArray *drives;

GPtrArray *drive_list(void)
{
    if (!drives) {
        drives = g_ptr_array_new();
    }
    return drives;
}

DriveInfo *drive_find(const char *id)
{
    GPtrArray *all = drive_list();

    for (guint i = 0; i < all->len; i++) {
        DriveInfo *di = g_ptr_array_index(all, i);

        if (strcmp(di->id, id) == 0) {
            return di;
        }
    }
    return NULL;
}

DriveInfo *drive_of_blk(BlockBackend *blk)
{
    GPtrArray *all = drive_list();

    for (guint i = 0; i < all->len; i++) {
        DriveInfo *di = g_ptr_array_index(all, i);

        if (di->blk == blk) {
            return di;
        }
    }
    return NULL;
}

static void drive_free(DriveInfo *di)
{
    g_ptr_array_remove(drive_list(), di);
    if (di->blk) {
        g_clear_pointer(&di->blk->id, g_free);
        blk_unref(di->blk);
    }
    g_free(di->id);
    g_free(di->interface);
    g_free(di);
}

void drive_device_gone(BlockBackend *blk)
{
    DriveInfo *di = drive_of_blk(blk);

    if (di && di->auto_del) {
        drive_free(di);
    }
}

void drive_close_all(void)
{
    while (drive_list()->len) {
        DriveInfo *di = g_ptr_array_index(drive_list(), drive_list()->len - 1);

        if (di->blk) {
            blk_remove(di->blk);
        }
        drive_free(di);
    }
}

char *drive_format_help(void)
{
    GString *names = g_string_new(NULL);
    GList *sorted = NULL;
    char *text;

    for (GSList *l = block_drivers(); l; l = l->next) {
        const BlockDriver *drv = l->data;

        sorted = g_list_insert_sorted(sorted, (gpointer)drv->name, (GCompareFunc)strcmp);
    }
    for (GList *l = sorted; l; l = l->next) {
        g_string_append_printf(names, " %s", (char *)l->data);
    }
    g_list_free(sorted);
    text = g_strdup_printf("Supported formats:%s\nSupported formats (read-only):%s\n", names->str,
                           names->str);
    g_string_free(names, TRUE);
    return text;
}

/* ---- options ---- */

static bool parse_cache(Opts *opts, DriveImage *img, bool *writeback, Error **errp)
{
    static const struct {
        const char *mode;
        bool direct, writeback, no_flush;
    } modes[] = {
        { "none", true, true, false },           { "off", true, true, false },
        { "directsync", true, false, false },    { "writeback", false, true, false },
        { "unsafe", false, true, true },         { "writethrough", false, false, false },
    };
    g_autofree char *mode = opts_take(opts, "cache");
    bool direct = false, no_flush = false;

    *writeback = true;
    if (mode) {
        size_t i;

        for (i = 0; i < G_N_ELEMENTS(modes) && strcmp(modes[i].mode, mode) != 0; i++) {
        }
        if (i == G_N_ELEMENTS(modes)) {
            error_set(errp, "invalid cache option");
            return false;
        }
        direct = modes[i].direct;
        no_flush = modes[i].no_flush;
        *writeback = modes[i].writeback;
    }
    return opts_take_bool(opts, "cache.direct", direct, &img->cache_direct, errp) &&
           opts_take_bool(opts, "cache.no-flush", no_flush, &img->no_flush, errp) &&
           opts_take_bool(opts, "cache.writeback", *writeback, writeback, errp);
}

static bool parse_media(Opts *opts, bool *cdrom, Error **errp)
{
    g_autofree char *media = opts_take(opts, "media");

    *cdrom = media && strcmp(media, "cdrom") == 0;
    if (media && !*cdrom && strcmp(media, "disk") != 0) {
        error_set(errp, "'%s' invalid media", media);
        return false;
    }
    return true;
}

static bool parse_interface(Opts *opts, const char *dflt_if, DriveInterface *type, Error **errp)
{
    g_autofree char *name = opts_take(opts, "if");

    if (!name) {
        name = g_strdup(dflt_if ? dflt_if : "none");
    }
    for (int i = 0; i < IF__MAX; i++) {
        if (strcmp(if_names[i], name) == 0) {
            *type = (DriveInterface)i;
            return true;
        }
    }
    error_set(errp, "unsupported bus type '%s'", name);
    return false;
}

static bool parse_address(Opts *opts, DriveInfo *di, DriveInterface type, Error **errp)
{
    uint64_t bus, unit, index;
    bool has_unit = opts_get(opts, "unit"), has_bus = opts_get(opts, "bus");
    bool has_index = opts_get(opts, "index");
    int max = if_max_units[type];

    if (!opts_take_uint(opts, "bus", 0, &bus, errp) ||
        !opts_take_uint(opts, "unit", 0, &unit, errp) ||
        !opts_take_uint(opts, "index", 0, &index, errp)) {
        return false;
    }
    di->bus = (int)bus;
    di->unit = (int)unit;
    if (has_index) {
        if (has_bus || has_unit) {
            error_set(errp, "index cannot be used with bus and unit");
            return false;
        }
        di->bus = max ? (int)index / max : 0;
        di->unit = max ? (int)index % max : (int)index;
    } else if (!has_unit) {
        /* The first free place. */
        for (guint i = 0; i < drive_list()->len;) {
            DriveInfo *other = g_ptr_array_index(drive_list(), i++);

            if (strcmp(other->interface, if_names[type]) == 0 && other->bus == di->bus &&
                other->unit == di->unit) {
                di->unit++;
                if (max && di->unit >= max) {
                    di->unit -= max;
                    di->bus++;
                }
                i = 0;
            }
        }
    }
    if (max && di->unit >= max) {
        error_set(errp, "unit %d too big (max is %d)", di->unit, max - 1);
        return false;
    }
    di->index = max ? di->bus * max + di->unit : di->unit;
    for (guint i = 0; i < drive_list()->len; i++) {
        DriveInfo *other = g_ptr_array_index(drive_list(), i);

        if (strcmp(other->interface, if_names[type]) == 0 && other->bus == di->bus &&
            other->unit == di->unit) {
            error_set(errp, "drive with bus=%d, unit=%d (index=%d) exists", di->bus, di->unit,
                      di->index);
            return false;
        }
    }
    return true;
}

static bool parse_on_error(Opts *opts, const char *key, DriveInterface type, bool is_read,
                           BlockOnError *policy, Error **errp)
{
    static const char *const names[] = { "report", "ignore", "enospc", "stop" };
    g_autofree char *value = opts_take(opts, key);

    *policy = BLK_ON_ERROR_AUTO;
    if (!value) {
        return true;
    }
    if (type != IF_NONE && type != IF_IDE && type != IF_SCSI && type != IF_VIRTIO) {
        error_set(errp, "%s is not supported by this bus type", key);
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(names[i], value) == 0 && !(is_read && i == BLK_ON_ERROR_ENOSPC)) {
            *policy = (BlockOnError)i;
            return true;
        }
    }
    error_set(errp, "'%s' invalid %s error action", value, is_read ? "read" : "write");
    return false;
}

static bool parse_image(Opts *opts, DriveImage *img, bool cdrom, Error **errp)
{
    g_autofree char *driver = NULL, *discard = NULL, *zeroes = NULL;

    img->aio = opts_take(opts, "aio");
    if (img->aio && qapi_enum_parse(&qapi_enum_BlockdevAioOptions, img->aio) < 0) {
        error_set(errp, "invalid aio option");
        return false;
    }
    img->filename = opts_take(opts, "file");
    if (img->filename && !*img->filename) {
        g_clear_pointer(&img->filename, g_free);
    }
    img->format = opts_take(opts, "format");
    driver = opts_take(opts, "driver");
    if (img->format && driver) {
        error_set(errp, "Cannot specify both 'driver' and 'format'");
        return false;
    }
    if (driver) {
        img->format = g_steal_pointer(&driver);
    }
    if (img->format && !block_driver_find(img->format)) {
        error_set(errp, "Unknown driver '%s'", img->format);
        return false;
    }
    discard = opts_take(opts, "discard");
    img->discard_unmap = discard && (!strcmp(discard, "unmap") || !strcmp(discard, "on"));
    if (discard && !img->discard_unmap && strcmp(discard, "ignore") && strcmp(discard, "off")) {
        error_set(errp, "Invalid discard option");
        return false;
    }
    zeroes = opts_take(opts, "detect-zeroes");
    if (zeroes) {
        int i = qapi_enum_parse(&qapi_enum_BlockdevDetectZeroesOptions, zeroes);

        if (i < 0) {
            error_set(errp, "invalid parameter value: %s", zeroes);
            return false;
        }
        img->detect_zeroes = qapi_enum_name(&qapi_enum_BlockdevDetectZeroesOptions, i);
    }
    return opts_take_bool(opts, "read-only", false, &img->read_only, errp) &&
           opts_take_bool(opts, "auto-read-only", true, &img->auto_read_only, errp) &&
           ((img->read_only |= cdrom), true);
}

static char *auto_id(DriveInfo *di, DriveInterface type)
{
    if (if_max_units[type]) {
        return g_strdup_printf("%s%d%s%d", if_names[type], di->bus, di->is_cdrom ? "-cd" : "-hd",
                               di->unit);
    }
    return g_strdup_printf("%s%d", if_names[type], di->unit);
}

static bool make_backend(DriveInfo *di, DriveImage *img, Error **errp)
{
    BlockNode *node = NULL;
    bool ok = false;

    if (img->filename || img->format || img->options->list->len) {
        node = drive_open_image(img, errp);
        if (!node) {
            return false;
        }
    }
    if (block_node_find(di->id)) {
        error_set(errp, "Device name '%s' conflicts with an existing node name", di->id);
        goto out;
    }
    if (blk_by_id(di->id)) {
        error_set(errp, "Device with id '%s' already exists", di->id);
        goto out;
    }
    di->blk = blk_new();
    di->blk->id = g_strdup(di->id);
    if (node && !blk_insert(di->blk, node, BLK_PERM_READ, BLK_PERM_ALL, errp)) {
        goto out;
    }
    ok = true;
out:
    if (node) {
        block_node_unref(node);
    }
    return ok;
}

DriveInfo *drive_new(Opts *opts, const char *dflt_if, Error **errp)
{
    g_autofree DriveImage *img = g_new0(DriveImage, 1);
    bool writeback, acct_invalid, acct_failed, ok = false;
    g_autofree char *group = NULL;
    g_autoptr(GArray) intervals = NULL;
    BlockOnError rerror, werror;
    ThrottleConfig limits;
    DriveInterface type;
    DriveInfo *di;

    ASSERT_BIG_LOCK();
    di = g_new0(DriveInfo, 1);
    di->auto_del = true;
    img->options = opts;
    if (opts->id && drive_find(opts->id)) {
        error_set(errp, "Duplicate ID '%s' for drive", opts->id);
        goto out;
    }
    if (!drive_rename_aliases(opts, errp) || !parse_cache(opts, img, &writeback, errp) ||
        !parse_media(opts, &di->is_cdrom, errp) || !parse_interface(opts, dflt_if, &type, errp) ||
        !parse_address(opts, di, type, errp) ||
        !parse_on_error(opts, "werror", type, false, &werror, errp) ||
        !parse_on_error(opts, "rerror", type, true, &rerror, errp) ||
        !opts_take_bool(opts, "stats-account-invalid", true, &acct_invalid, errp) ||
        !opts_take_bool(opts, "stats-account-failed", true, &acct_failed, errp) ||
        !blk_timed_take_options(opts, &intervals, errp) ||
        !throttle_take_options(opts, &limits, &group, errp) ||
        !drive_refuse_unsupported(opts, errp) || !parse_image(opts, img, di->is_cdrom, errp)) {
        goto out;
    }
    di->interface = g_strdup(if_names[type]);
    di->id = opts->id ? g_strdup(opts->id) : auto_id(di, type);
    if (!make_backend(di, img, errp)) {
        goto out;
    }
    di->blk->write_cache = writeback;
    di->blk->cache_writeback = writeback;
    di->blk->drive_rerror = rerror;
    di->blk->drive_werror = werror;
    di->blk->drive_account_invalid = acct_invalid;
    di->blk->drive_account_failed = acct_failed;
    blk_account_config(di->blk, acct_invalid, acct_failed);
    di->blk->timed = intervals ? blk_timed_new(intervals) : NULL;
    blk_set_limits(di->blk, &limits, group, di->id);
    g_ptr_array_add(drive_list(), di);
    ok = true;
out:
    g_free(img->filename);
    g_free(img->format);
    g_free(img->aio);
    if (!ok) {
        drive_free(di);
        return NULL;
    }
    return di;
}

/* ---- human monitor ---- */

bool drive_add(const char *text, Error **errp)
{
    g_autoptr(Opts) opts = opts_parse(text, NULL, NULL, errp);
    DriveInfo *di = opts ? drive_new(opts, "none", errp) : NULL;

    if (!di) {
        return false;
    }
    for (int i = IF_NONE + 1; i < IF__MAX; i++) {
        if (strcmp(di->interface, if_names[i]) == 0) {
            error_set(errp, "Can't hot-add drive to type %d", i);
            drive_free(di);
            return false;
        }
    }
    return true;
}

bool drive_del(const char *id, Error **errp)
{
    BlockBackend *blk = blk_by_id(id);
    BlockNode *node;
    DriveInfo *di;

    ASSERT_BIG_LOCK();
    if (!blk) {
        node = block_node_find(id);
        if (node && node->monitor_owned) {
            q_blockdev_del_args args = { .node_name = (char *)id };

            return qmp_blockdev_del(&args, errp);
        }
        error_set(errp, "Device '%s' not found", id);
        return false;
    }
    di = drive_of_blk(blk);
    blk_ref(blk);
    if (blk_has_dev(blk)) {
        /* The device stays, without a medium; the drive goes with the device. Nothing can be
         * repaired any more that a stopped machine could wait for. */
        blk_remove(blk);
        blk_set_on_error(blk, BLK_ON_ERROR_REPORT, BLK_ON_ERROR_REPORT);
        g_clear_pointer(&blk->id, g_free);
    } else if (di) {
        blk_remove(blk);
        drive_free(di);
    }
    blk_unref(blk);
    return true;
}
