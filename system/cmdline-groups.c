/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of key=value options: -set, -readconfig, and what management is told about them. */
#include "cmdline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qapi/qapi-misc.h"
#include "util/report.h"

static GPtrArray *groups; /* filled by constructors */

void cmd_group_register(const CmdGroup *g)
{
    if (!groups) {
        groups = g_ptr_array_new();
    }
    g_ptr_array_add(groups, (gpointer)g);
}

const CmdGroup *cmd_group_find(const char *name)
{
    for (guint i = 0; i < groups->len; i++) {
        const CmdGroup *g = groups->pdata[i];

        if (g_str_equal(g->name, name)) {
            return g;
        }
    }
    return NULL;
}

static void item_free(gpointer opaque)
{
    CmdItem *item = opaque;

    cmd_location_clear(&item->loc);
    g_clear_pointer(&item->opts, opts_free);
    g_clear_pointer(&item->json, json_node_unref);
    g_clear_pointer(&item->user, user_object_free);
    g_free(item);
}

CmdItem *cmd_item_add(GPtrArray **items, Opts *opts, JsonNode *json, UserObject *user)
{
    CmdItem *item = g_new0(CmdItem, 1);

    item->loc = cmd_location_copy();
    item->opts = opts;
    item->json = json;
    item->user = user;
    if (!*items) {
        *items = g_ptr_array_new_with_free_func(item_free);
    }
    g_ptr_array_add(*items, item);
    return item;
}

static CmdItem *find_item(GPtrArray *items, const char *id)
{
    for (guint i = 0; items && i < items->len; i++) {
        CmdItem *item = items->pdata[i];

        if (item->opts && g_strcmp0(item->opts->id, id) == 0) {
            return item;
        }
    }
    return NULL;
}

bool cmd_check_duplicate(GPtrArray *items, const char *id, const char *group, Error **errp)
{
    if (id && find_item(items, id)) {
        error_set(errp, "Duplicate ID '%s' for %s", id, group);
        return false;
    }
    return true;
}

static const CmdParam *find_param(const CmdGroup *g, const char *key)
{
    for (const CmdParam *p = g->params; p && p->name; p++) {
        if (g_str_equal(p->name, key)) {
            return p;
        }
    }
    return NULL;
}

static bool check_value(const CmdParam *p, const char *value, Error **errp)
{
    bool on;
    uint64_t n;

    if (g_str_equal(p->type, "boolean")) {
        return parse_bool(p->name, value, &on, errp);
    }
    if (g_str_equal(p->type, "number") && !parse_uint64(value, &n)) {
        error_set(errp, "Parameter '%s' expects a number", p->name);
        return false;
    }
    return true;
}

static bool check_params(const CmdGroup *g, const Opts *opts, Error **errp)
{
    for (guint i = 0; g->checked && i < opts->list->len; i++) {
        const Opt *o = opts->list->pdata[i];
        const CmdParam *p = find_param(g, o->key);

        if (!p) {
            error_set(errp, "Invalid parameter '%s'", o->key);
            return false;
        }
        if (!check_value(p, o->value, errp)) {
            return false;
        }
    }
    return true;
}

bool cmd_group_add(const CmdGroup *g, Opts *opts, Error **errp)
{
    if (!check_params(g, opts, errp)) {
        opts_free(opts);
        return false;
    }
    return g->add(opts, errp);
}

static gint compare_lines(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "help" among the parameters of an option that has no help of its own. */
static G_GNUC_NORETURN void show_params(const CmdGroup *g)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

    for (const CmdParam *p = g->params; p->name; p++) {
        const char *type = g_str_equal(p->type, "boolean") ? "<bool (on/off)>"
                           : g_str_equal(p->type, "string") ? "<str>"
                           : g_str_equal(p->type, "number") ? "<num>"
                                                            : "<size>";
        g_autofree char *left = g_strdup_printf("  %s=%s", p->name, type);

        g_ptr_array_add(lines, p->help ? g_strdup_printf("%-24s - %s", left, p->help)
                                       : g_strdup(left));
    }
    g_ptr_array_sort(lines, compare_lines);
    printf("%s options:\n", g->name);
    for (guint i = 0; i < lines->len; i++) {
        printf("%s\n", (char *)lines->pdata[i]);
    }
    exit(1); /* the machine does not start, and scripts must not take it for success */
}

bool cmd_group_parse(const CmdGroup *g, const char *arg, bool *help, Error **errp)
{
    size_t len = strcspn(arg, "=,");
    bool is_value = !help && g->implied && *arg && arg[len] != '=';
    /* Without help of its own, the word is what is implied: "-name help" is a name. */
    g_autofree char *full = is_value ? g_strdup_printf("%s=%s", g->implied, arg) : g_strdup(arg);
    bool wants_help = false;
    Opts *opts = opts_parse(full, g->implied, &wants_help, errp);

    if (!opts) {
        return false;
    }
    if (wants_help && !help && g->checked) {
        opts_free(opts);
        show_params(g);
    }
    if (wants_help && !help) {
        error_set(errp, "Invalid parameter 'help'");
        opts_free(opts);
        return false;
    }
    if (opts->id && g->merged) {
        error_set(errp, "Invalid parameter 'id'");
        opts_free(opts);
        return false;
    }
    if (wants_help) {
        *help = true;
        opts_free(opts);
        return true;
    }
    return cmd_group_add(g, opts, errp);
}

/* ---- -set ---- */

bool cmd_set(const char *arg, Error **errp)
{
    const char *dot1 = strchr(arg, '.');
    const char *dot2 = dot1 ? strchr(dot1 + 1, '.') : NULL;
    const char *equals = dot2 ? strchr(dot2, '=') : NULL;
    g_autofree char *group = NULL;
    g_autofree char *id = NULL;
    g_autofree char *key = NULL;
    const CmdGroup *g;
    const CmdParam *p;
    CmdItem *item;

    if (!equals) {
        error_set(errp, "can't parse: \"%s\"", arg);
        return false;
    }
    group = g_strndup(arg, dot1 - arg);
    id = g_strndup(dot1 + 1, dot2 - dot1 - 1);
    key = g_strndup(dot2 + 1, equals - dot2 - 1);
    g = cmd_group_find(group);
    if (!g) {
        error_set(errp, "There is no option group '%s'", group);
        return false;
    }
    if (!g->items) {
        error_set(errp, "-set is not supported with %s", group);
        return false;
    }
    item = find_item(*g->items, id);
    if (!item) {
        error_set(errp, "there is no %s \"%s\" defined", group, id);
        return false;
    }
    p = find_param(g, key);
    if (g->checked && !p) {
        error_set(errp, "Invalid parameter '%s'", key);
        return false;
    }
    if (p && !check_value(p, equals + 1, errp)) {
        return false;
    }
    opts_set(item->opts, key, equals + 1);
    return true;
}

/* ---- -readconfig ---- */

typedef struct ConfigReader {
    const char *path;
    const CmdGroup *group;
    Opts *opts; /* of the section being read; NULL: none */
    int last_line;
} ConfigReader;

static bool end_section(ConfigReader *r, Error **errp)
{
    Opts *opts = g_steal_pointer(&r->opts);
    bool ok;

    if (!opts) {
        return true;
    }
    if (!check_params(r->group, opts, errp)) {
        opts_free(opts);
        return false;
    }
    /* What is wrong about a whole section is said of its last line. On failure the location stays
     * in force, for the message. */
    cmd_location_enter_file(r->path, r->last_line);
    report_push_file(r->path, r->last_line);
    ok = r->group->add(opts, errp);
    if (ok) {
        report_pop();
    }
    cmd_location_enter_file(NULL, 0);
    return ok;
}

static bool begin_section(ConfigReader *r, char *line, Error **errp)
{
    g_autofree char *name = NULL;
    g_autofree char *id = NULL;
    char *end = strchr(line, ']');
    char *quote;

    if (!end) {
        error_set(errp, "parse error: %s", line);
        return false;
    }
    *end = '\0';
    quote = strchr(line + 1, '"');
    if (quote) {
        char *close = strchr(quote + 1, '"');

        if (!close) {
            error_set(errp, "parse error: %s", line);
            return false;
        }
        id = g_strndup(quote + 1, close - quote - 1);
        *quote = '\0';
    }
    name = g_strstrip(g_strdup(line + 1));
    r->group = cmd_group_find(name);
    if (!r->group) {
        error_set(errp, "There is no option group '%s'", name);
        return false;
    }
    if (id && !id_wellformed(id)) {
        error_set_bad_id(errp);
        return false;
    }
    r->opts = opts_new(id);
    return true;
}

/* key = "value", where the quotes belong to the form. */
static bool read_pair(ConfigReader *r, char *line, Error **errp)
{
    char *equals = strchr(line, '=');
    g_autofree char *key = NULL;
    char *open, *close;

    if (!r->opts) {
        error_set(errp, "no group defined");
        return false;
    }
    open = equals ? strchr(equals, '"') : NULL;
    close = open ? strrchr(open + 1, '"') : NULL;
    if (!close || close[1] != '\0') {
        error_set(errp, "parse error: %s", line);
        return false;
    }
    key = g_strstrip(g_strndup(line, equals - line));
    *close = '\0';
    if (g_str_equal(key, "id")) {
        error_set(errp, "Invalid parameter 'id'");
        return false;
    }
    opts_set(r->opts, key, open + 1);
    return true;
}

bool cmd_read_config(const char *path, Error **errp)
{
    ConfigReader r = { .path = path };
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    FILE *f = fopen(path, "re");
    bool ok = true;

    /* Not g_file_get_contents(): the file may be a pipe, and the message is ours. */
    if (!f) {
        error_set_errno(errp, errno, "Could not open '%s'", path);
        return false;
    }
    {
        GString *all = g_string_new(NULL);
        char buf[4096];
        size_t n;

        while ((n = fread(buf, 1, sizeof(buf), f)) > 0) {
            g_string_append_len(all, buf, n);
        }
        fclose(f);
        text = g_string_free(all, FALSE);
    }
    lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i] && ok; i++) {
        char *line = g_strstrip(lines[i]);

        if (*line == '\0' || *line == '#') {
            continue;
        }
        if (*line == '[') {
            ok = end_section(&r, errp) && begin_section(&r, line, errp);
        } else {
            ok = read_pair(&r, line, errp);
        }
        r.last_line = i + 1;
    }
    ok = ok && end_section(&r, errp);
    g_clear_pointer(&r.opts, opts_free);
    return ok;
}

/* ---- query-command-line-options ---- */

static CommandLineOptionInfo *describe(const CmdGroup *g)
{
    CommandLineOptionInfo *info = g_new0(CommandLineOptionInfo, 1);

    info->option = g_strdup(g->name);
    info->parameters =
        g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_CommandLineParameterInfo);
    for (const CmdParam *p = g->params; p && p->name; p++) {
        CommandLineParameterInfo *param = g_new0(CommandLineParameterInfo, 1);

        param->name = g_strdup(p->name);
        param->type = qapi_enum_parse(&qapi_enum_CommandLineParameterType, p->type);
        param->help = g_strdup(p->help);
        g_ptr_array_add(info->parameters, param);
    }
    return info;
}

GPtrArray *qmp_query_command_line_options(const q_query_command_line_options_args *args,
                                          Error **errp)
{
    g_autoptr(GPtrArray) list =
        g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_CommandLineOptionInfo);

    for (guint i = 0; i < groups->len; i++) {
        const CmdGroup *g = groups->pdata[i];

        if (!args->option || g_str_equal(args->option, g->name)) {
            g_ptr_array_add(list, describe(g));
        }
    }
    if (args->option && list->len == 0) {
        error_set(errp, "invalid option name: %s", args->option);
        return NULL;
    }
    return g_steal_pointer(&list);
}
QMP_REGISTER(query_command_line_options)
