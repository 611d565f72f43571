/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human monitor: objects and devices. */
#include "hmp.h"

#include <string.h>

#include "hw/core/device.h"
#include "qapi/keyval.h"
#include "qapi/qapi-qom.h"

#define COMMAND(id, name_, args_, help_, fn_)                                                      \
    static const HmpCommand id = { name_, args_, help_, fn_ };                                     \
    HMP_REGISTER(id)

/* ---- the tree ---- */

static void cmd_qom_list(HmpOutput *out, const char *args)
{
    g_autofree char *path = hmp_take_optional(out, &args);
    g_autoptr(GPtrArray) list = NULL;
    q_qom_list_args a = { path };
    Error *err = NULL;

    if (out->failed || !hmp_end(out, args)) {
        return;
    }
    if (!path) {
        hmp_printf(out, "/\n");
        return;
    }
    list = qmp_qom_list(&a, &err);
    if (!list) {
        hmp_error(out, err);
        return;
    }
    g_ptr_array_set_free_func(list, (GDestroyNotify)qapi_free_ObjectPropertyInfo);
    for (guint i = 0; i < list->len; i++) {
        const ObjectPropertyInfo *info = list->pdata[i];

        hmp_printf(out, "%s (%s)\n", info->name, info->type);
    }
}
COMMAND(qom_list_cmd, "qom-list", "path", "list QOM properties", cmd_qom_list)

static void cmd_qom_get(HmpOutput *out, const char *args)
{
    g_autofree char *path = hmp_take_word(out, &args, "string");
    g_autofree char *property = path ? hmp_take_word(out, &args, "string") : NULL;
    g_autoptr(JsonNode) value = NULL;
    q_qom_get_args a = { path, property };
    Error *err = NULL;

    if (!property || !hmp_end(out, args)) {
        return;
    }
    value = qmp_qom_get(&a, &err);
    if (!value) {
        hmp_error(out, err);
        return;
    }
    hmp_take_text(out, json_write(value, true));
    hmp_printf(out, "\n");
}
COMMAND(qom_get_cmd, "qom-get", "path property", "print QOM property", cmd_qom_get)

static Object *resolve(const char *path, Error **errp)
{
    bool ambiguous = false;
    Object *obj = object_resolve(path, &ambiguous);

    if (!obj) {
        if (ambiguous) {
            error_set(errp, "Path '%s' is ambiguous", path);
        } else {
            error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", path);
        }
    }
    return obj;
}

static void cmd_qom_set(HmpOutput *out, const char *args)
{
    bool flags[256];
    g_autofree char *path = NULL;
    g_autofree char *property = NULL;
    g_autofree char *value = NULL;
    Error *err = NULL;
    Object *obj;
    bool ok;

    if (!hmp_take_flags(out, &args, "j", flags)) {
        return;
    }
    path = hmp_take_word(out, &args, "string");
    property = path ? hmp_take_word(out, &args, "string") : NULL;
    if (!property) {
        return;
    }
    value = g_strstrip(g_strdup(args)); /* all of the rest, blanks and all */
    if (!*value) {
        hmp_usage(out, "%s: string expected", out->name);
        return;
    }
    obj = resolve(path, &err);
    if (!obj) {
        ok = false;
    } else if (flags['j']) {
        g_autoptr(JsonNode) json = json_parse(value, &err);

        ok = json && object_property_set(obj, property, json, QAPI_JSON, &err);
    } else {
        ok = object_property_set_str(obj, property, value, &err);
    }
    if (!ok) {
        hmp_error(out, err);
    }
}
COMMAND(qom_set_cmd, "qom-set", "[-j] path property value",
        "set QOM property.\n\t\t\t-j: the value is specified in json format.", cmd_qom_set)

static void add_child(Object *child, void *opaque)
{
    g_ptr_array_add(opaque, child);
}

static gint compare_children(gconstpointer a, gconstpointer b)
{
    const Object *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static void print_tree(HmpOutput *out, Object *obj, int indent)
{
    g_autoptr(GPtrArray) children = g_ptr_array_new();

    hmp_printf(out, "%*s/%s (%s)\n", indent, "", obj->name ?: "", object_type_name(obj));
    object_for_each_child(obj, add_child, children);
    g_ptr_array_sort(children, compare_children);
    for (guint i = 0; i < children->len; i++) {
        print_tree(out, children->pdata[i], indent + 2);
    }
}

static void info_qom_tree(HmpOutput *out, const char *args)
{
    g_autofree char *path = hmp_take_optional(out, &args);
    bool ambiguous = false;
    Object *obj;

    if (out->failed || !hmp_end(out, args)) {
        return;
    }
    obj = object_resolve(path ?: "/machine", &ambiguous);
    if (!obj && path) {
        hmp_printf(out, ambiguous ? "Warning: Path '%s' is ambiguous.\n"
                                  : "Path '%s' could not be resolved.\n", path);
    } else if (obj) {
        print_tree(out, obj, 0);
    }
}
COMMAND(info_qom_tree_cmd, "info qom-tree", "[path]", "show QOM composition tree", info_qom_tree)

static void info_qtree(HmpOutput *out, const char *args)
{
    hmp_take_text(out, device_tree_text());
}
COMMAND(info_qtree_cmd, "info qtree", NULL, "show device tree", info_qtree)

/* ---- objects ---- */

static void cmd_object_add(HmpOutput *out, const char *args)
{
    g_autofree char *text = g_strchomp(g_strdup(args));
    g_autofree char *help = NULL;
    g_autoptr(UserObject) u = NULL;
    Error *err = NULL;

    if (!*text) {
        hmp_usage(out, "%s: string expected", out->name);
        return;
    }
    u = user_object_parse(text, false, &help, &err);
    if (help) {
        hmp_take_text(out, g_steal_pointer(&help));
    } else if (!u || !user_object_create(u, &err)) {
        hmp_error(out, err);
    }
}
COMMAND(object_add_cmd, "object_add", "[qom-type=]type,id=str[,prop=value][,...]",
        "create QOM object", cmd_object_add)

static void cmd_object_del(HmpOutput *out, const char *args)
{
    g_autofree char *id = hmp_take_word(out, &args, "string");
    Error *err = NULL;

    if (id && hmp_end(out, args) && !user_object_del(id, &err)) {
        hmp_error(out, err);
    }
}
COMMAND(object_del_cmd, "object_del", "id", "destroy QOM object", cmd_object_del)

/* ---- devices ---- */

static void print_device_help(HmpOutput *out, const Opts *opts)
{
    const char *driver = opts_get(opts, "driver");
    Error *err = NULL;
    char *text;

    if (!driver) {
        hmp_take_text(out, device_help_list());
        return;
    }
    text = device_help(driver, &err);
    if (text) {
        hmp_take_text(out, text);
    } else {
        hmp_printf(out, "%s\n", error_message(err));
        error_free(err);
    }
}

static void cmd_device_add(HmpOutput *out, const char *args)
{
    g_autofree char *text = hmp_take_optional(out, &args);
    g_autoptr(Opts) opts = NULL;
    g_autoptr(JsonNode) json = NULL;
    Error *err = NULL;
    bool help;

    if (out->failed || !hmp_end(out, args)) {
        return;
    }
    opts = opts_parse(text ?: "", "driver", &help, &err);
    if (!opts) {
        hmp_error(out, err);
        return;
    }
    if (help) {
        print_device_help(out, opts);
        return;
    }
    json = opts_to_json(opts);
    if (!device_add(json_node_get_object(json), QAPI_KEYVAL, true, &err)) {
        hmp_error(out, err);
    }
}
COMMAND(device_add_cmd, "device_add", "driver[,prop=value][,...]",
        "add device, like -device on the command line", cmd_device_add)

static void cmd_device_del(HmpOutput *out, const char *args)
{
    g_autofree char *id = hmp_take_word(out, &args, "string");
    Error *err = NULL;

    if (id && hmp_end(out, args) && !device_del(id, &err)) {
        hmp_error(out, err);
    }
}
COMMAND(device_del_cmd, "device_del", "device", "remove device", cmd_device_del)
