/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that make objects, devices, block nodes and drives. */
#include "cmdline.h"

#include "block/block.h"
#include "hw/core/device.h"
#include "qapi/qapi-block-core.h"

/* ---- -object ---- */

static bool parse_object(const char *arg, Error **errp)
{
    char *help = NULL;
    UserObject *u = user_object_parse(arg, true, &help, errp);

    if (help) {
        cmdline_exit_with(help);
    }
    if (!u) {
        return false;
    }
    cmd_item_add(&config.objects, NULL, NULL, u);
    return true;
}

static bool group_object_add(Opts *opts, Error **errp)
{
    g_autoptr(JsonNode) flat = opts_to_json(opts);
    g_autoptr(JsonNode) nested = keyval_nest(json_node_get_object(flat), errp);
    UserObject *u = nested ? user_object_parse_json(json_node_get_object(nested), QAPI_KEYVAL, errp)
                           : NULL;

    opts_free(opts);
    if (!u) {
        return false;
    }
    cmd_item_add(&config.objects, NULL, NULL, u);
    return true;
}

static const CmdParam object_params[] = {
    { "qom-type", "string", NULL },
    { "id", "string", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup object_group = { "object", "qom-type", object_params, false,
                                       group_object_add, NULL };
CMD_GROUP(object_group)

/* ---- -device ---- */

static bool group_device_add(Opts *opts, Error **errp)
{
    if (!cmd_check_duplicate(config.devices, opts->id, "device", errp)) {
        opts_free(opts);
        return false;
    }
    cmd_item_add(&config.devices, opts, NULL, NULL);
    return true;
}

static const CmdParam device_params[] = {
    { "driver", "string", NULL },
    { "id", "string", NULL },
    { "bus", "string", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup device_group = { "device", "driver", device_params, false, group_device_add,
                                       &config.devices };
CMD_GROUP(device_group)

static bool parse_device(const char *arg, Error **errp)
{
    bool help = false;
    Opts *opts;

    if (*arg == '{') {
        JsonNode *json = json_parse(arg, errp);

        if (!json) {
            return false;
        }
        cmd_item_add(&config.json_devices, NULL, json, NULL);
        return true;
    }
    opts = opts_parse(arg, "driver", &help, errp);
    if (!opts) {
        return false;
    }
    if (help) {
        cmd_item_add(&config.device_help, opts, NULL, NULL);
        return true;
    }
    return cmd_group_add(&device_group, opts, errp);
}

/* A scalar in the words of the key=value form; NULL if it is none. Caller frees. */
static char *scalar_text(JsonObject *obj, const char *key)
{
    JsonNode *node = json_object_get_member(obj, key);

    if (!node || !JSON_NODE_HOLDS_VALUE(node)) {
        return NULL;
    }
    switch (json_node_get_value_type(node)) {
    case G_TYPE_STRING:
        return json_node_dup_string(node);
    case G_TYPE_BOOLEAN:
        return g_strdup(json_node_get_boolean(node) ? "on" : "off");
    case G_TYPE_INT64:
        return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
    default:
        return NULL;
    }
}

static bool parse_global(const char *arg, Error **errp)
{
    g_autoptr(JsonNode) json = NULL;
    g_autofree char *driver = NULL;
    g_autofree char *property = NULL;
    g_autofree char *value = NULL;
    JsonObject *obj;

    if (*arg != '{') {
        return global_property_parse(arg, errp);
    }
    json = json_parse(arg, errp);
    if (!json) {
        return false;
    }
    obj = json_node_get_object(json);
    driver = scalar_text(obj, "driver");
    property = scalar_text(obj, "property");
    value = scalar_text(obj, "value");
    if (!driver || !property || !value) {
        error_set(errp, "options 'driver', 'property', and 'value' are required");
        return false;
    }
    if (json_object_get_size(obj) > 3) {
        error_set(errp, "only options 'driver', 'property', and 'value' are allowed");
        return false;
    }
    return global_property_add(driver, property, value, errp);
}

static bool group_global_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    const char *driver = opts_get(o, "driver"), *property = opts_get(o, "property"),
               *value = opts_get(o, "value");

    if (!driver || !property || !value) {
        error_set(errp, "options 'driver', 'property', and 'value' are required");
        return false;
    }
    return global_property_add(driver, property, value, errp);
}

static const CmdParam global_params[] = {
    { "driver", "string", NULL },
    { "property", "string", NULL },
    { "value", "string", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup global_group = { "global", NULL, global_params, true, group_global_add,
                                       NULL };
CMD_GROUP(global_group)

static bool parse_set(const char *arg, Error **errp)
{
    return cmd_set(arg, errp);
}

static bool parse_readconfig(const char *arg, Error **errp)
{
    return cmd_read_config(arg, errp);
}

/* ---- -blockdev ---- */

static bool parse_blockdev(const char *arg, Error **errp)
{
    g_autoptr(JsonNode) json = NULL;
    g_autoptr(BlockdevOptions) checked = NULL;
    QapiForm form = *arg == '{' ? QAPI_JSON : QAPI_KEYVAL;
    bool help = false;

    json = form == QAPI_JSON ? json_parse(arg, errp) : keyval_parse(arg, "driver", &help, errp);
    if (!json) {
        return false;
    }
    if (help) {
        error_set(errp, "Help is not available for this option");
        return false;
    }
    checked = qapi_decode_BlockdevOptions(json, form, errp);
    if (!checked) {
        return false;
    }
    cmd_item_add(&config.blockdevs, NULL, g_steal_pointer(&json), NULL)->keyval =
        form == QAPI_KEYVAL;
    return true;
}

/* ---- -drive and its short forms ---- */

static bool group_drive_add(Opts *opts, Error **errp)
{
    if (!cmd_check_duplicate(config.drives, opts->id, "drive", errp)) {
        opts_free(opts);
        return false;
    }
    if (g_strcmp0(opts_get(opts, "format"), "help") == 0 ||
        g_strcmp0(opts_get(opts, "format"), "?") == 0) {
        opts_free(opts);
        cmdline_exit_with(drive_format_help());
    }
    cmd_item_add(&config.drives, opts, NULL, NULL);
    return true;
}

static const CmdParam drive_params[] = {
    { "bus", "number", NULL },           { "unit", "number", NULL },
    { "if", "string", NULL },            { "index", "number", NULL },
    { "media", "string", NULL },         { "file", "string", NULL },
    { "format", "string", NULL },        { "id", "string", NULL },
    { "cache", "string", NULL },         { "aio", "string", NULL },
    { "werror", "string", NULL },        { "rerror", "string", NULL },
    { "read-only", "boolean", NULL },    { "auto-read-only", "boolean", NULL },
    { "discard", "string", NULL },       { "detect-zeroes", "string", NULL },
    { "node-name", "string", NULL },     { NULL, NULL, NULL },
};
static const CmdGroup drive_group = { "drive", NULL, drive_params, false, group_drive_add,
                                      &config.drives };
CMD_GROUP(drive_group)

static bool parse_drive(const char *arg, Error **errp)
{
    return cmd_group_parse(&drive_group, arg, NULL, errp);
}

static bool add_drive(const char *file, int index, const char *interface, const char *media,
                      Error **errp)
{
    Opts *opts = opts_new(NULL);

    if (index >= 0) {
        g_autofree char *text = g_strdup_printf("%d", index);

        opts_set(opts, "index", text);
    }
    if (interface) {
        opts_set(opts, "if", interface);
    }
    if (media) {
        opts_set(opts, "media", media);
    }
    opts_set(opts, "file", file);
    return group_drive_add(opts, errp);
}

static bool parse_hda(const char *arg, Error **errp)
{
    return add_drive(arg, 0, NULL, "disk", errp);
}

static bool parse_hdb(const char *arg, Error **errp)
{
    return add_drive(arg, 1, NULL, "disk", errp);
}

static bool parse_hdc(const char *arg, Error **errp)
{
    return add_drive(arg, 2, NULL, "disk", errp);
}

static bool parse_hdd(const char *arg, Error **errp)
{
    return add_drive(arg, 3, NULL, "disk", errp);
}

static bool parse_cdrom(const char *arg, Error **errp)
{
    return add_drive(arg, 2, NULL, "cdrom", errp);
}

static bool parse_fda(const char *arg, Error **errp)
{
    return add_drive(arg, 0, "floppy", NULL, errp);
}

static bool parse_fdb(const char *arg, Error **errp)
{
    return add_drive(arg, 1, "floppy", NULL, errp);
}

static bool parse_sd(const char *arg, Error **errp)
{
    return add_drive(arg, -1, "sd", NULL, errp);
}

static bool parse_pflash(const char *arg, Error **errp)
{
    return add_drive(arg, -1, "pflash", NULL, errp);
}

static bool parse_mtdblock(const char *arg, Error **errp)
{
    return add_drive(arg, -1, "mtd", NULL, errp);
}

static const CmdOption device_options[] = {
    { "object", true, parse_object,
      "-object type,id=name[,prop=value][,...]\n"
      "                makes an object ('-object help' for a list)" },
    { "device", true, parse_device,
      "-device driver[,id=name][,bus=name][,prop=value][,...]\n"
      "                adds a device ('-device help' for a list, '-device driver,help' for its\n"
      "                properties)" },
    { "global", true, parse_global,
      "-global driver.prop=value\n"
      "                changes the default of a property" },
    { "set", true, parse_set, "-set group.id.arg=value\n                changes an option" },
    { "readconfig", true, parse_readconfig, "-readconfig file\n                reads options" },
    { "blockdev", true, parse_blockdev,
      "-blockdev [driver=]driver[,node-name=name][,option=value][,...]\n"
      "                adds a block node" },
    { "drive", true, parse_drive,
      "-drive [file=file][,if=type][,id=name][,format=f][,cache=c][,aio=a][,...]\n"
      "                adds a drive ('-drive format=help' for formats)" },
    { "hda", true, parse_hda, "-hda file       as -drive file=file,index=0,media=disk" },
    { "hdb", true, parse_hdb, NULL },
    { "hdc", true, parse_hdc, NULL },
    { "hdd", true, parse_hdd, NULL },
    { "cdrom", true, parse_cdrom, NULL },
    { "fda", true, parse_fda, NULL },
    { "fdb", true, parse_fdb, NULL },
    { "sd", true, parse_sd, NULL },
    { "pflash", true, parse_pflash, NULL },
    { "mtdblock", true, parse_mtdblock, NULL },
    { NULL, false, NULL, NULL },
};
static const CmdSection device_section = { 20, "Devices and disks", device_options };
CMD_SECTION(device_section)
