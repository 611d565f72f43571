/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -global: values for properties of all devices of a type, before their own. */
#include "device-internal.h"

#include "qapi/keyval.h"
#include "util/report.h"

#include <string.h>

typedef struct GlobalProperty {
    char *driver, *property, *value;
    bool used;
} GlobalProperty;

static GPtrArray *globals; /* of GlobalProperty, in order */
static GPtrArray *compat;  /* the same, of the machine */

static void add(GPtrArray **list, const char *driver, const char *property, const char *value)
{
    GlobalProperty *g = g_new0(GlobalProperty, 1);

    if (!*list) {
        *list = g_ptr_array_new();
    }
    g->driver = g_strdup(driver);
    g->property = g_strdup(property);
    g->value = g_strdup(value);
    g_ptr_array_add(*list, g);
}

bool global_property_add(const char *driver, const char *property, const char *value, Error **errp)
{
    add(&globals, driver, property, value);
    return true;
}

void global_property_add_compat(const char *driver, const char *property, const char *value)
{
    add(&compat, driver, property, value);
}

/* "DRIVER.PROPERTY=VALUE"; neither name may be empty or contain what separates options. */
static bool parse_short_form(const char *text, char **driver, char **property, const char **value)
{
    const char *dot = strchr(text, '.');
    const char *eq = strchr(text, '=');

    if (!dot || !eq || dot == text || eq <= dot + 1 || memchr(text, ',', eq - text)) {
        return false;
    }
    *driver = g_strndup(text, dot - text);
    *property = g_strndup(dot + 1, eq - dot - 1);
    *value = eq + 1;
    return true;
}

bool global_property_parse(const char *text, Error **errp)
{
    g_autofree char *driver = NULL;
    g_autofree char *property = NULL;
    const char *rest;

    if (parse_short_form(text, &driver, &property, &rest)) {
        return global_property_add(driver, property, rest, errp);
    }

    g_autoptr(Opts) opts = opts_parse(text, NULL, NULL, errp);
    if (!opts) {
        return false;
    }
    driver = opts_take(opts, "driver");
    property = opts_take(opts, "property");
    g_autofree char *value = opts_take(opts, "value");
    if (!opts_all_taken(opts, errp)) {
        return false;
    }
    if (!driver || !property || !value) {
        error_set(errp, "options 'driver', 'property', and 'value' are required");
        return false;
    }
    return global_property_add(driver, property, value, errp);
}

void global_property_apply(DeviceState *dev)
{
    Object *obj = (Object *)dev;

    for (guint i = 0; compat && i < compat->len; i++) {
        const GlobalProperty *g = compat->pdata[i];
        Object *target;

        /* What derives from a type need not have what most of that type have. */
        if (object_is(obj, g->driver) && object_find_property(obj, g->property, &target)) {
            object_property_set_str(obj, g->property, g->value, &error_abort);
        }
    }
    for (guint i = 0; globals && i < globals->len; i++) {
        GlobalProperty *g = globals->pdata[i];
        Error *err = NULL;

        if (!object_is(obj, g->driver)) {
            continue;
        }
        g->used = true;
        if (!object_property_set_str(obj, g->property, g->value, &err)) {
            error_prepend(&err, "can't apply global %s.%s=%s: ", g->driver, g->property, g->value);
            if (dev->global_error) {
                error_free(err);
            } else {
                dev->global_error = err;
            }
        }
    }
}

typedef struct TakeState {
    Error *err;
} TakeState;

static void take_from_child(Object *child, void *opaque)
{
    TakeState *s = opaque;

    if (!s->err && object_is(child, TYPE_DEVICE)) {
        s->err = global_error_take(DEVICE(child));
    }
}

Error *global_error_take(DeviceState *dev)
{
    TakeState s = { g_steal_pointer(&dev->global_error) };

    if (!s.err) {
        object_for_each_child((Object *)dev, take_from_child, &s);
    }
    return s.err;
}

void global_property_check_used(void)
{
    for (guint i = 0; globals && i < globals->len; i++) {
        const GlobalProperty *g = globals->pdata[i];
        ObjectClass *klass = object_class_by_name(g->driver);

        if (g->used) {
            continue;
        }
        if (!klass || !object_class_is(klass, TYPE_DEVICE)) {
            report_warning("global %s.%s has invalid class name", g->driver, g->property);
        } else if (!((DeviceClass *)klass)->hotpluggable) {
            report_warning("global %s.%s=%s not used", g->driver, g->property, g->value);
        }
    }
}
