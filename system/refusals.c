/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is not supported: options that others have, and kinds of devices. They are refused by name,
 * as they would be missed if they were ignored; and all of them in one message, so that whoever
 * moves a whole configuration over sees at once what has to be dropped.
 */
#include "cmdline.h"

#include <stdlib.h>

#include "hw/core/device.h"
#include "util/report.h"

typedef struct Refusal {
    char *where, *why;
} Refusal;

static GPtrArray *refusals; /* of Refusal */
/* The first option that is wrong in another way. */
static Error *failure;
static CmdLocation failure_place;

static void refuse(const CmdLocation *loc, const char *why)
{
    Refusal *r = g_new(Refusal, 1);

    r->where = loc->file ? g_strdup_printf("%s:%d", loc->file, loc->line)
                         : g_strdup_printf("%s%s%s", loc->option, loc->value ? " " : "",
                                           loc->value ?: "");
    r->why = g_strdup(why);
    if (!refusals) {
        refusals = g_ptr_array_new();
    }
    g_ptr_array_add(refusals, r);
}

static bool parse_refused(const char *arg, Error **errp)
{
    CmdLocation here = cmd_location_copy();

    refuse(&here, "this option is not supported");
    cmd_location_clear(&here);
    return true;
}

/* ---- while the command line is read ---- */

void refusals_add_failure(Error *err)
{
    if (failure) {
        error_free(err);
        return;
    }
    failure = err;
    failure_place = cmd_location_copy();
}

bool refusals_look_at(const CmdOption *o)
{
    return !failure || g_str_equal(o->name, "device") || o->parse == parse_refused;
}

/* ---- when it has been read ---- */

static void refuse_device(const CmdItem *item, const char *driver)
{
    Error *err = NULL;

    if (driver && !device_check_driver(driver, &err)) {
        refuse(&item->loc, error_message(err));
        error_free(err);
    }
}

static void refuse_devices(void)
{
    for (guint i = 0; config.devices && i < config.devices->len; i++) {
        const CmdItem *item = config.devices->pdata[i];

        refuse_device(item, opts_get(item->opts, "driver"));
    }
    for (guint i = 0; config.json_devices && i < config.json_devices->len; i++) {
        const CmdItem *item = config.json_devices->pdata[i];
        JsonNode *driver = JSON_NODE_HOLDS_OBJECT(item->json)
                               ? json_object_get_member(json_node_get_object(item->json), "driver")
                               : NULL;

        if (driver && JSON_NODE_HOLDS_VALUE(driver) &&
            json_node_get_value_type(driver) == G_TYPE_STRING) {
            refuse_device(item, json_node_get_string(driver));
        }
    }
}

static void report_all(void)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < refusals->len; i++) {
        const Refusal *r = refusals->pdata[i];

        g_string_append_printf(text, "\n    %s: %s", r->where, r->why);
    }
    report_error("%u parts of the command line are not supported:%s", refusals->len, text->str);
    exit(1);
}

void refusals_report(void)
{
    guint options = refusals ? refusals->len : 0;

    refuse_devices();
    if (failure && refusals) {
        refuse(&failure_place, error_message(failure));
        report_all();
    }
    if (failure) {
        cmd_location_push(&failure_place);
        report_error_free(failure);
        exit(1);
    }
    if (!refusals || (!options && refusals->len == 1)) {
        /* A single device is refused when its turn comes, as clients expect. */
        return;
    }
    if (refusals->len == 1) {
        const Refusal *r = refusals->pdata[0];

        report_error("%s: %s", r->where, r->why);
        exit(1);
    }
    report_all();
}

void refusals_cleanup(void)
{
    for (guint i = 0; refusals && i < refusals->len; i++) {
        Refusal *r = refusals->pdata[i];

        g_free(r->where);
        g_free(r->why);
        g_free(r);
    }
    g_clear_pointer(&refusals, g_ptr_array_unref);
}

/* ---- the options ---- */

#define REFUSED(name, has_arg) { name, has_arg, parse_refused, NULL }

static const CmdOption refused_options[] = {
    REFUSED("acpitable", true),
    REFUSED("compat", true),
    REFUSED("d", true),
    REFUSED("D", true),
    REFUSED("dfilter", true),
    REFUSED("dtb", true),
    REFUSED("dump-vmstate", true),
    REFUSED("echr", true),
    REFUSED("enable-sync-profile", false),
    REFUSED("fsdev", true),
    REFUSED("full-screen", false),
    REFUSED("fw_cfg", true),
    REFUSED("gdb", true),
    REFUSED("icount", true),
    REFUSED("incoming", true),
    REFUSED("jitdump", false),
    REFUSED("k", true),
    REFUSED("loadvm", true),
    REFUSED("mem-path", true),
    REFUSED("mem-prealloc", false),
    REFUSED("netdev", true),
    REFUSED("no-fd-bootchk", false),
    REFUSED("old-param", false),
    REFUSED("only-migratable", false),
    REFUSED("option-rom", true),
    REFUSED("perfmap", false),
    REFUSED("plugin", true),
    REFUSED("prom-env", true),
    REFUSED("s", false),
    REFUSED("seed", true),
    REFUSED("semihosting", false),
    REFUSED("semihosting-config", true),
    REFUSED("shim", true),
    REFUSED("snapshot", false),
    REFUSED("spice", true),
    REFUSED("tb-size", true),
    REFUSED("tpmdev", true),
    REFUSED("usb", false),
    REFUSED("usbdevice", true),
    REFUSED("virtfs", true),
    REFUSED("vnc", true),
    REFUSED("win2k-hack", false),
    REFUSED("xen-attach", false),
    REFUSED("xen-domid", true),
    REFUSED("xen-domid-restrict", false),
    { NULL, false, NULL, NULL },
};
static const CmdSection refused_section = { 1000, NULL, refused_options };
CMD_SECTION(refused_section)
