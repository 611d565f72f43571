/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of "info qtree". */
#include "device-internal.h"

static void print_bus(GString *text, BusState *bus, int indent);

static void print_properties(GString *text, DeviceState *dev, int indent)
{
    /* From the type itself to its ancestors. */
    for (const ObjectClass *k = ((Object *)dev)->klass; k; k = k->parent) {
        for (const Property *p = k->info->props; p && p->name; p++) {
            if ((p->flags & PROP_HIDDEN) || !p->type->print) {
                continue;
            }
            g_autofree char *value = p->type->print((Object *)dev, p);
            g_string_append_printf(text, "%*s%s = %s\n", indent, "", p->name,
                                   value ? value : "<null>");
        }
    }
}

static void print_device(GString *text, DeviceState *dev, int indent)
{
    const DeviceClass *dc = DEVICE_CLASS(dev);

    g_string_append_printf(text, "%*sdev: %s, id \"%s\"\n", indent, "",
                           object_type_name((Object *)dev), dev->id ? dev->id : "");
    indent += 2;
    print_properties(text, dev, indent);
    if (dc->print_state) {
        g_autofree char *state = dc->print_state(dev);
        g_auto(GStrv) lines = g_strsplit(state ? state : "", "\n", -1);
        for (guint i = 0; lines[i]; i++) {
            if (lines[i][0]) {
                g_string_append_printf(text, "%*s%s\n", indent, "", lines[i]);
            }
        }
    }
    for (guint i = dev->child_buses->len; i-- > 0;) {
        print_bus(text, dev->child_buses->pdata[i], indent);
    }
}

static void print_bus(GString *text, BusState *bus, int indent)
{
    g_string_append_printf(text, "%*sbus: %s\n", indent, "", bus->name);
    g_string_append_printf(text, "%*stype %s\n", indent + 2, "", object_type_name((Object *)bus));
    for (GList *l = bus->children; l; l = l->next) {
        print_device(text, l->data, indent + 2);
    }
}

char *device_tree_text(void)
{
    GString *text = g_string_new(NULL);

    print_bus(text, main_system_bus(), 0);
    return g_string_free(text, FALSE);
}
