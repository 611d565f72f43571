/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot order: which device has which number. Runs in: main thread, under the big lock. */
#include "device-internal.h"

typedef struct BootEntry {
    Object *owner; /* borrowed: it releases its number before it goes */
    int32_t index;
} BootEntry;

static GArray *entries; /* of BootEntry, sorted by index */

static guint entry_of(Object *owner)
{
    guint i = 0;

    while (entries && i < entries->len && g_array_index(entries, BootEntry, i).owner != owner) {
        i++;
    }
    return i;
}

int32_t bootindex_of(Object *owner)
{
    guint i = entry_of(owner);
    return entries && i < entries->len ? g_array_index(entries, BootEntry, i).index : -1;
}

void bootindex_release(Object *owner)
{
    guint i = entry_of(owner);

    if (entries && i < entries->len) {
        g_array_remove_index(entries, i);
    }
}

bool bootindex_claim(Object *owner, int32_t index, Error **errp)
{
    guint at = 0;

    if (!entries) {
        entries = g_array_new(FALSE, FALSE, sizeof(BootEntry));
    }
    if (index >= 0) {
        for (guint i = 0; i < entries->len; i++) {
            const BootEntry *e = &g_array_index(entries, BootEntry, i);
            if (e->index == index && e->owner != owner) {
                error_set(errp, "The bootindex %d has already been used", index);
                return false;
            }
        }
    }
    bootindex_release(owner);
    if (index < 0) {
        return true;
    }
    while (at < entries->len && g_array_index(entries, BootEntry, at).index < index) {
        at++;
    }
    BootEntry e = { owner, index };
    g_array_insert_val(entries, at, e);
    return true;
}

GPtrArray *bootindex_list(void)
{
    GPtrArray *list = g_ptr_array_new();

    for (guint i = 0; entries && i < entries->len; i++) {
        g_ptr_array_add(list, g_array_index(entries, BootEntry, i).owner);
    }
    return list;
}

/* ---- the property ---- */

bool bootindex_check(Object *obj, const Property *prop, Error **errp)
{
    return bootindex_claim(obj, *(int32_t *)((char *)obj + prop->offset), errp);
}

static bool bootindex_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                          Error **errp)
{
    return prop_int32.set(obj, prop, value, form, errp);
}

static JsonNode *bootindex_get(Object *obj, const Property *prop, Error **errp)
{
    return prop_int32.get(obj, prop, errp);
}

static void bootindex_set_default(Object *obj, const Property *prop)
{
    *(int32_t *)((char *)obj + prop->offset) = -1;
}

const PropertyType prop_bootindex = {
    .name = "int32",
    .size = sizeof(int32_t),
    .set = bootindex_set,
    .get = bootindex_get,
    .set_default = bootindex_set_default,
};
