/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Displays, sound, network: only "none" of each is built. And the options of the interface that
 * this program does not have: they are refused by name, as they would be missed if they were
 * ignored.
 */
#include "cmdline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_display(const char *arg, Error **errp)
{
    g_autoptr(Opts) o = NULL;
    g_autofree char *type = NULL;

    if (g_str_equal(arg, "help") || g_str_equal(arg, "?")) {
        printf("Available display backend types:\nnone\n");
        exit(0);
    }
    o = opts_parse(arg, "type", NULL, errp);
    if (!o) {
        return false;
    }
    type = opts_take(o, "type");
    if (!type) {
        error_set(errp, "Parameter 'type' is missing");
        return false;
    }
    if (!g_str_equal(type, "none")) {
        error_set(errp, "Parameter 'type' does not accept value '%s'", type);
        return false;
    }
    if (o->list->len > 0) {
        error_set(errp, "Parameter '%s' is unexpected", ((Opt *)o->list->pdata[0])->key);
        return false;
    }
    return true;
}

static bool parse_nographic(const char *arg, Error **errp)
{
    config.nographic = true;
    return true;
}

static bool parse_vga(const char *arg, Error **errp)
{
    if (g_str_equal(arg, "help") || g_str_equal(arg, "?")) {
        printf("none                 no graphic card (default)\n");
        exit(0);
    }
    /* Judged when all has been read: the last one counts. */
    g_free(config.vga);
    config.vga = g_strdup(arg);
    return true;
}

/* Takes "none" alone, as the value of `key`. */
static bool only_none(const char *arg, const char *key, Error **errp)
{
    g_autoptr(Opts) o = opts_parse(arg, key, NULL, errp);
    g_autofree char *value = NULL;

    if (!o) {
        return false;
    }
    value = opts_take(o, key);
    if (!value) {
        error_set(errp, "Parameter '%s' is missing", key);
        return false;
    }
    if (!g_str_equal(value, "none")) {
        error_set(errp, "Parameter '%s' does not accept value '%s'", key, value);
        return false;
    }
    if (o->list->len > 0) {
        error_set(errp, "Parameter '%s' is unexpected", ((Opt *)o->list->pdata[0])->key);
        return false;
    }
    return true;
}

static bool parse_audio(const char *arg, Error **errp)
{
    if (g_str_equal(arg, "help") || g_str_equal(arg, "?")) {
        printf("Available audio drivers:\nnone\n");
        exit(0);
    }
    return only_none(arg, "driver", errp);
}

/* A sink for sound, of which there is none, since there is nothing to make it. */
static bool parse_audiodev(const char *arg, Error **errp)
{
    g_autoptr(JsonNode) json = NULL;
    JsonObject *obj;
    const char *driver;
    bool help = false;

    json = *arg == '{' ? json_parse(arg, errp) : keyval_parse(arg, "driver", &help, errp);
    if (!json) {
        return false;
    }
    if (help) {
        return parse_audio("help", errp);
    }
    obj = json_node_get_object(json);
    if (!json_object_has_member(obj, "id")) {
        error_set(errp, "Parameter 'id' is missing");
        return false;
    }
    driver = json_object_get_string_member_with_default(obj, "driver", NULL);
    if (!driver) {
        error_set(errp, "Parameter 'driver' is missing");
        return false;
    }
    if (!g_str_equal(driver, "none")) {
        error_set(errp, "Parameter 'driver' does not accept value '%s'", driver);
        return false;
    }
    if (json_object_get_size(obj) > 2) {
        error_set(errp, "Parameters besides 'id' and 'driver' are not supported");
        return false;
    }
    return true;
}

static bool parse_net(const char *arg, Error **errp)
{
    return only_none(arg, "type", errp);
}

static bool parse_refused(const char *arg, Error **errp)
{
    error_set(errp, "this option is not supported");
    return false;
}

static const CmdOption none_options[] = {
    { "display", true, parse_display, "-display none" },
    { "nographic", false, parse_nographic,
      "-nographic      puts the serial port or the text monitor on stdio" },
    { "vga", true, parse_vga, "-vga none" },
    { "audio", true, parse_audio, "-audio none" },
    { "audiodev", true, parse_audiodev, "-audiodev none,id=name" },
    { "net", true, parse_net, "-net none" },
    { "nic", true, parse_net, "-nic none" },
    { NULL, false, NULL, NULL },
};
static const CmdSection none_section = { 50, "Display, sound, network", none_options };
CMD_SECTION(none_section)

#define REFUSED(name, has_arg) { name, has_arg, parse_refused, NULL }

static const CmdOption refused_options[] = {
    REFUSED("acpitable", true),
    REFUSED("compat", true),
    REFUSED("d", true),
    REFUSED("D", true),
    REFUSED("debugcon", true),
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
    REFUSED("iscsi", true),
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
