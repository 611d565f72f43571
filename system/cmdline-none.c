/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Displays, sound, network: only "none" of each is built. */
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

/* Defaults of a block driver that is not built. Whoever uses that driver hears of it by name. */
static const CmdParam iscsi_params[] = {
    { "user", "string", "username for CHAP authentication to target" },
    { "password", "string", "password for CHAP authentication to target" },
    { "password-secret", "string",
      "ID of the secret providing password for CHAP authentication to target" },
    { "header-digest", "string", "HeaderDigest setting. {CRC32C|CRC32C-NONE|NONE-CRC32C|NONE}" },
    { "initiator-name", "string", "Initiator iqn name to use when connecting" },
    { "timeout", "number", "Request timeout in seconds (default 0 = no timeout)" },
    { NULL, NULL, NULL },
};

static bool group_iscsi_add(Opts *opts, Error **errp)
{
    opts_free(opts);
    return true;
}

static const CmdGroup iscsi_group = { "iscsi", NULL, iscsi_params, true, group_iscsi_add, NULL };
CMD_GROUP(iscsi_group)

static bool parse_iscsi(const char *arg, Error **errp)
{
    return cmd_group_parse(&iscsi_group, arg, NULL, errp);
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
    { "iscsi", true, parse_iscsi, NULL },
    { NULL, false, NULL, NULL },
};
static const CmdSection none_section = { 50, "Display, sound, network", none_options };
CMD_SECTION(none_section)
