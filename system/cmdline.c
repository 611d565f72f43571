/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the command line: finding each option and handing it to its parser. */
#include "cmdline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/version.h"
#include "util/report.h"

SystemConfig config;

static GPtrArray *sections; /* filled by constructors */
static CmdLocation current; /* borrowed strings */

void cmd_section_register(const CmdSection *s)
{
    if (!sections) {
        sections = g_ptr_array_new();
    }
    g_ptr_array_add(sections, (gpointer)s);
}

/* ---- locations ---- */

CmdLocation cmd_location_copy(void)
{
    CmdLocation copy = {
        .option = g_strdup(current.option),
        .value = g_strdup(current.value),
        .file = g_strdup(current.file),
        .line = current.line,
    };

    return copy;
}

void cmd_location_clear(CmdLocation *loc)
{
    g_clear_pointer(&loc->option, g_free);
    g_clear_pointer(&loc->value, g_free);
    g_clear_pointer(&loc->file, g_free);
}

void cmd_location_push(const CmdLocation *loc)
{
    if (loc->file) {
        report_push_file(loc->file, loc->line);
    } else {
        report_push_option(loc->option, loc->value);
    }
}

void cmd_location_enter_file(const char *file, int line)
{
    current.file = (char *)file;
    current.line = line;
}

/* ---- help ---- */

static gint compare_sections(gconstpointer a, gconstpointer b)
{
    const CmdSection *const *x = a, *const *y = b;

    return (*x)->order - (*y)->order;
}

void cmdline_print_version(void)
{
    printf("QEMU emulator version " INTERFACE_VERSION " (Spindle " SPINDLE_VERSION ")\n"
           "Spindle is an independent implementation of this interface, "
           "not a version of QEMU.\n");
}

void cmdline_print_help(void)
{
    cmdline_print_version();
    printf("usage: %s [options] [disk_image]\n\n"
           "'disk_image' stands for '-hda disk_image'\n",
           report_program_name());
    g_ptr_array_sort(sections, compare_sections);
    for (guint i = 0; i < sections->len; i++) {
        const CmdSection *s = sections->pdata[i];

        if (s->title) {
            printf("\n%s:\n", s->title);
        }
        for (const CmdOption *o = s->options; o->name; o++) {
            if (o->help) {
                printf("%s\n", o->help);
            }
        }
    }
}

void cmdline_exit_with(char *text)
{
    printf("%s", text);
    g_free(text);
    exit(0);
}

/* ---- reading ---- */

static const CmdOption *find_option(const char *arg)
{
    const char *name = arg + 1;

    if (*name == '-') {
        name++;
    }
    for (guint i = 0; i < sections->len; i++) {
        const CmdSection *s = sections->pdata[i];

        for (const CmdOption *o = s->options; o->name; o++) {
            if (g_str_equal(o->name, name)) {
                return o;
            }
        }
    }
    return NULL;
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0';
}

static void fail(const char *option, const char *text)
{
    report_push_option(option, NULL);
    report_error("%s", text);
    exit(1);
}

/* Options that do not exist are found before any that does is looked at. */
static void check_all(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const CmdOption *o;

        if (!is_option(argv[i])) {
            continue;
        }
        o = find_option(argv[i]);
        if (!o) {
            fail(argv[i], "invalid option");
        }
        if (o->has_arg && ++i >= argc) {
            fail(argv[i - 1], "requires an argument");
        }
    }
}

static void parse_one(char *option, char *value, const CmdOption *o, const char *arg)
{
    Error *err = NULL;

    current = (CmdLocation){ .option = option, .value = value };
    report_push_option(option, value);
    if (!o->parse(arg, &err)) {
        refusals_add_failure(err);
    }
    report_pop();
}

/* How messages look is settled before there are any. */
static bool is_early(const CmdOption *o)
{
    return g_str_equal(o->name, "msg") || g_str_equal(o->name, "name");
}

static void parse_pass(int argc, char **argv, bool early)
{
    /* A disk image on its own is an option with neither dash nor name. */
    const CmdOption *image = find_option("-hda");

    for (int i = 1; i < argc; i++) {
        char *option = argv[i], *value = NULL;
        const CmdOption *o;

        if (!is_option(option)) {
            if (!early && refusals_look_at(image)) {
                parse_one(option, NULL, image, option);
            }
            continue;
        }
        o = find_option(option);
        if (o->has_arg) {
            value = argv[++i];
        }
        if (is_early(o) == early && refusals_look_at(o)) {
            parse_one(option, value, o, value);
        }
    }
}

void cmdline_parse(int argc, char **argv)
{
    config.machine = json_object_new();
    check_all(argc, argv);
    parse_pass(argc, argv, true);
    parse_pass(argc, argv, false);
    refusals_report();
    current = (CmdLocation){ 0 };
}

/* ---- the machine's options ---- */

static void merge(JsonObject *into, JsonObject *from)
{
    JsonObjectIter iter;
    const char *key;
    JsonNode *node;

    json_object_iter_init_ordered(&iter, from);
    while (json_object_iter_next_ordered(&iter, &key, &node)) {
        if (JSON_NODE_HOLDS_OBJECT(node) && json_object_has_member(into, key) &&
            JSON_NODE_HOLDS_OBJECT(json_object_get_member(into, key))) {
            merge(json_object_get_object_member(into, key), json_node_get_object(node));
        } else {
            json_object_set_member(into, key, json_node_copy(node));
        }
    }
}

void config_machine_merge(JsonObject *from)
{
    merge(config.machine, from);
}

void config_machine_set(const char *key, const char *value)
{
    json_object_set_string_member(config.machine, key, value);
}

static void free_items(GPtrArray **items)
{
    g_clear_pointer(items, g_ptr_array_unref);
}

void cmdline_cleanup(void)
{
    free_items(&config.objects);
    free_items(&config.chardevs);
    free_items(&config.monitors);
    free_items(&config.blockdevs);
    free_items(&config.drives);
    free_items(&config.devices);
    free_items(&config.json_devices);
    free_items(&config.accels);
    free_items(&config.numa);
    free_items(&config.serials);
    free_items(&config.device_help);
    g_clear_pointer(&config.machine, json_object_unref);
    refusals_cleanup();
}
