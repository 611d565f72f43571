/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human monitor: disks. */
#include "hmp.h"

#include <string.h>

#include "block/block.h"
#include "qapi/keyval.h"
#include "qapi/qapi-block-throttle.h"

#define COMMAND(id, name_, args_, help_, fn_)                                                      \
    static const HmpCommand id = { name_, args_, help_, fn_ };                                     \
    HMP_REGISTER(id)

static void info_block(HmpOutput *out, const char *args)
{
    bool flags[256];
    g_autofree char *name = NULL;

    if (!hmp_take_flags(out, &args, "nv", flags)) {
        return;
    }
    name = hmp_take_optional(out, &args);
    if (!out->failed && hmp_end(out, args)) {
        hmp_take_text(out, block_info_text(flags['v'], flags['n'], name));
    }
}
COMMAND(info_block_cmd, "info block", "[-n] [-v] [device]",
        "show info of one block device or all block devices (-n: show named nodes; -v: show "
        "details)",
        info_block)

static void info_blockstats(HmpOutput *out, const char *args)
{
    hmp_take_text(out, block_stats_text());
}
COMMAND(info_blockstats_cmd, "info blockstats", NULL, "show block device statistics",
        info_blockstats)

static void info_block_jobs(HmpOutput *out, const char *args)
{
    hmp_printf(out, "No active jobs\n");
}
COMMAND(info_block_jobs_cmd, "info block-jobs", NULL,
        "show progress of ongoing block device operations", info_block_jobs)

/* Clients match on these messages, which come without "Error: ". */
static void print_bare(HmpOutput *out, Error *err)
{
    hmp_printf(out, "%s\n", error_message(err));
    error_free(err);
}

static void cmd_drive_add(HmpOutput *out, const char *args)
{
    /* The address is of no use for drives without a device, but it is part of the command. */
    g_autofree char *address = hmp_take_word(out, &args, "string");
    g_autofree char *text = address ? hmp_take_word(out, &args, "string") : NULL;
    Error *err = NULL;

    if (!text || !hmp_end(out, args)) {
        return;
    }
    if (drive_add(text, &err)) {
        hmp_printf(out, "OK\n");
    } else {
        print_bare(out, err);
    }
}
COMMAND(drive_add_cmd, "drive_add", "[[<domain>:]<bus>:]<slot> [if=type][,file=file][,...]",
        "add drive to PCI storage controller", cmd_drive_add)

static void cmd_drive_del(HmpOutput *out, const char *args)
{
    g_autofree char *id = hmp_take_word(out, &args, "block device name");
    Error *err = NULL;

    if (id && hmp_end(out, args) && !drive_del(id, &err)) {
        print_bare(out, err);
    }
}
COMMAND(drive_del_cmd, "drive_del", "device", "remove host block device", cmd_drive_del)

/* In MiB unless it has a suffix. */
static bool parse_resize(const char *text, int64_t *size)
{
    g_autofree char *with_unit = NULL;
    uint64_t bytes;

    if (!*text) {
        return false;
    }
    if (g_ascii_isdigit(text[strlen(text) - 1])) {
        with_unit = g_strconcat(text, "M", NULL);
        text = with_unit;
    }
    if (!parse_size(text, &bytes) || bytes > INT64_MAX) {
        return false;
    }
    *size = bytes;
    return true;
}

static void cmd_block_resize(HmpOutput *out, const char *args)
{
    g_autofree char *device = hmp_take_word(out, &args, "block device name");
    g_autofree char *text = NULL;
    Error *err = NULL;
    int64_t size;

    if (!device) {
        return;
    }
    text = hmp_take_optional(out, &args);
    if (!parse_resize(text ?: "", &size)) {
        hmp_usage(out, "invalid size");
        return;
    }
    if (hmp_end(out, args) && !block_resize(device, NULL, size, &err)) {
        hmp_error(out, err);
    }
}
COMMAND(block_resize_cmd, "block_resize", "device size", "resize a block image",
        cmd_block_resize)

static void cmd_block_set_io_throttle(HmpOutput *out, const char *args)
{
    g_autofree char *device = hmp_take_word(out, &args, "block device name");
    BlockIOThrottle limits = { .device = device };
    Error *err = NULL;

    if (!device || !hmp_take_number(out, &args, &limits.bps) ||
        !hmp_take_number(out, &args, &limits.bps_rd) ||
        !hmp_take_number(out, &args, &limits.bps_wr) ||
        !hmp_take_number(out, &args, &limits.iops) ||
        !hmp_take_number(out, &args, &limits.iops_rd) ||
        !hmp_take_number(out, &args, &limits.iops_wr) || !hmp_end(out, args)) {
        return;
    }
    if (qmp_block_set_io_throttle(&limits, &err)) {
        return;
    }
    if (error_class(err) == ERROR_CLASS_DEVICE_NOT_FOUND) {
        /* Not a -drive, so a device of the object tree. */
        g_clear_pointer(&err, error_free);
        limits.device = NULL;
        limits.id = device;
        qmp_block_set_io_throttle(&limits, &err);
    }
    if (err) {
        hmp_error(out, err);
    }
}
COMMAND(block_set_io_throttle_cmd, "block_set_io_throttle",
        "device bps bps_rd bps_wr iops iops_rd iops_wr",
        "change I/O throttle limits for a block drive", cmd_block_set_io_throttle)
