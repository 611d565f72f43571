/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Block nodes and drives of the command line, and the disks that -drive brings along. */
#include "startup.h"

#include "block/block.h"
#include "cmdline.h"
#include "hw/core/device.h"
#include "util/report.h"

static GPtrArray *drive_infos; /* of DriveInfo, as in config.drives */

static void refuse_interface(const DriveInfo *info)
{
    Error *err = NULL;

    if (g_str_equal(info->interface, "none") || g_str_equal(info->interface, "virtio")) {
        return;
    }
    if (!blk_is_inserted(info->blk)) {
        report_pop(); /* as clients know it: without the option */
        error_set(&err, "Device needs media, but drive is empty");
    } else if (g_str_equal(info->interface, "ide")) {
        error_set(&err, "IDE disks (if=ide) are not supported");
        error_append_hint(&err, "Use if=virtio, or if=none and -device virtio-blk-pci.\n");
    } else {
        error_set(&err, "machine type does not support if=%s,bus=%d,unit=%d", info->interface,
                  MAX(info->bus, 0), MAX(info->unit, 0));
    }
    startup_fail(err);
}

void startup_block_nodes(const char *default_if)
{
    Error *err = NULL;

    for (guint i = 0; config.blockdevs && i < config.blockdevs->len; i++) {
        CmdItem *item = config.blockdevs->pdata[i];

        cmd_location_push(&item->loc);
        if (!blockdev_add_options(item->json, item->keyval ? QAPI_KEYVAL : QAPI_JSON, &err)) {
            startup_fail(err);
        }
        report_pop();
    }
    drive_infos = g_ptr_array_new();
    for (guint i = 0; config.drives && i < config.drives->len; i++) {
        CmdItem *item = config.drives->pdata[i];
        DriveInfo *info;

        cmd_location_push(&item->loc);
        info = drive_new(item->opts, default_if ?: "ide", &err);
        if (!info) {
            startup_fail(err);
        }
        refuse_interface(info);
        g_ptr_array_add(drive_infos, info);
        report_pop();
    }
}

void startup_drive_devices(void)
{
    for (guint i = 0; i < drive_infos->len; i++) {
        const DriveInfo *info = drive_infos->pdata[i];
        const CmdItem *item = config.drives->pdata[i];
        g_autoptr(JsonObject) device = json_object_new();
        Error *err = NULL;

        if (!g_str_equal(info->interface, "virtio")) {
            continue;
        }
        json_object_set_string_member(device, "driver", "virtio-blk-pci");
        json_object_set_string_member(device, "drive", info->id);
        cmd_location_push(&item->loc);
        if (!device_add(device, QAPI_KEYVAL, false, &err)) {
            startup_fail(err);
        }
        report_pop();
    }
    g_clear_pointer(&drive_infos, g_ptr_array_unref);
}
