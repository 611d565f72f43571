/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of -device help and -device X,help. */
#include "device-internal.h"

#include <string.h>

static const struct {
    const char *category, *title;
} categories[] = {
    { "bridge", "Controller/Bridge/Hub" }, { "usb", "USB" },
    { "storage", "Storage" },              { "network", "Network" },
    { "input", "Input" },                  { "display", "Display" },
    { "sound", "Sound" },                  { "misc", "Misc" },
    { "cpu", "CPU" },                      { "watchdog", "Watchdog" },
    { NULL, "Uncategorized" },
};

static bool in_category(const DeviceClass *dc, guint n)
{
    if (categories[n].category) {
        return dc->category && !strcmp(dc->category, categories[n].category);
    }
    for (guint i = 0; i < n; i++) {
        if (in_category(dc, i)) {
            return false;
        }
    }
    return true;
}

static int compare_class_names(gconstpointer a, gconstpointer b)
{
    return g_ascii_strcasecmp(object_class_name(*(ObjectClass *const *)a),
                              object_class_name(*(ObjectClass *const *)b));
}

static void append_device(GString *text, ObjectClass *klass)
{
    const DeviceClass *dc = (DeviceClass *)klass;
    const char *name = object_class_name(klass);

    g_string_append_printf(text, "name \"%s\"", name);
    if (dc->bus_type) {
        g_string_append_printf(text, ", bus %s", dc->bus_type);
    }
    /* An inherited alias belongs to the parent. */
    if (dc->alias && !g_strcmp0(device_resolve_alias(dc->alias), name)) {
        g_string_append_printf(text, ", alias \"%s\"", dc->alias);
    }
    if (dc->desc) {
        g_string_append_printf(text, ", desc \"%s\"", dc->desc);
    }
    g_string_append_c(text, '\n');
}

char *device_help_list(void)
{
    g_autoptr(GPtrArray) classes = object_class_list(TYPE_DEVICE, false);
    GString *text = g_string_new(NULL);

    g_ptr_array_sort(classes, compare_class_names);
    for (guint n = 0; n < G_N_ELEMENTS(categories); n++) {
        bool titled = false;
        for (guint i = 0; i < classes->len; i++) {
            const DeviceClass *dc = classes->pdata[i];
            if (!dc->user_creatable || !in_category(dc, n)) {
                continue;
            }
            if (!titled) {
                g_string_append_printf(text, "%s%s devices:\n", text->len ? "\n" : "",
                                       categories[n].title);
                titled = true;
            }
            append_device(text, classes->pdata[i]);
        }
    }
    return g_string_free(text, FALSE);
}

char *device_help(const char *driver, Error **errp)
{
    ObjectClass *klass = object_class_by_name(driver);

    if (!klass) {
        const char *type = device_resolve_alias(driver);
        if (!type) {
            error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", driver);
            return NULL;
        }
        klass = object_class_by_name(type);
    }
    if (!object_class_is(klass, TYPE_DEVICE) || klass->info->abstract) {
        error_set(errp, "Parameter 'typename' expects a non-abstract device type");
        return NULL;
    }
    g_autofree char *lines = object_class_property_help(klass);
    const char *name = object_class_name(klass);
    if (!lines[0]) {
        return g_strdup_printf("There are no options for %s.\n", name);
    }
    return g_strdup_printf("%s options:\n%s", name, lines);
}
