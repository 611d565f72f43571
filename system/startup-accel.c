/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choosing the accelerator: the first of those that were asked for which works here. */
#include "startup.h"

#include <string.h>

#include "cmdline.h"
#include "hw/core/machine.h"
#include "util/report.h"

static bool any_failed;

/* Tries one; says why if it does not work. */
static bool try_accel(const char *name, JsonObject *options, QapiForm form)
{
    Error *err = NULL;

    if (!accel_setup(name, options, form, current_machine, &err)) {
        report_error_free(err);
        any_failed = true;
        return false;
    }
    if (any_failed) {
        report_error("falling back to %s", accel_title());
    }
    return true;
}

/* -accel X,prop=value -accel Y: each with its options. */
static bool try_options(void)
{
    for (guint i = 0; i < config.accels->len; i++) {
        const CmdItem *item = config.accels->pdata[i];
        g_autoptr(JsonNode) copy = json_node_copy(item->json);
        JsonObject *options = json_node_get_object(copy);
        g_autofree char *name =
            g_strdup(json_object_get_string_member_with_default(options, "accel", NULL));
        bool ok = false;

        cmd_location_push(&item->loc);
        if (name) {
            json_object_remove_member(options, "accel");
            ok = try_accel(name, options, QAPI_KEYVAL);
        } else {
            report_error("Parameter 'accel' is missing");
        }
        report_pop();
        if (ok) {
            return true;
        }
    }
    return false;
}

/* -machine accel=X:Y */
static bool try_names(const char *text)
{
    g_auto(GStrv) names = g_strsplit(text, ":", -1);

    for (int i = 0; names[i]; i++) {
        if (try_accel(names[i], NULL, QAPI_KEYVAL)) {
            return true;
        }
    }
    return false;
}

static bool try_default(void)
{
    /* A test that drives the machine needs nothing to run guest code. */
    const char *name = config.qtest ? "qtest" : "kvm";
    g_autofree char *list = NULL;

    if (try_accel(name, NULL, QAPI_KEYVAL)) {
        return true;
    }
    list = accel_help_list();
    report_info("Select one by -accel. %s", g_strchomp(list));
    return false;
}

void startup_accel(void)
{
    const char *names = json_object_get_string_member_with_default(config.machine, "accel", NULL);
    bool ok;

    if (names && config.accels) {
        Error *err = NULL;

        error_set(&err, "The -accel and \"-machine accel=\" options are incompatible");
        startup_fail(err);
    }
    if (names && !*names) {
        report_error("no accelerator found");
        startup_exit(1);
    }
    ok = config.accels ? try_options() : names ? try_names(names) : try_default();
    if (!ok) {
        startup_exit(1);
    }
}
