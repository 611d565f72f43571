/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of objects: children, paths and looking them up. */
#include "internal.h"

#include <string.h>

Object *object_root(void)
{
    static Object *root;

    if (!root) {
        root = object_new("container");
    }
    return root;
}

Object *object_container(const char *path)
{
    g_assert(path[0] == '/');
    g_auto(GStrv) parts = g_strsplit(path + 1, "/", -1);
    Object *obj = object_root();

    for (guint i = 0; parts[i]; i++) {
        if (!parts[i][0]) {
            continue;
        }
        Object *next = object_child(obj, parts[i]);
        if (!next) {
            next = object_new("container");
            object_add_child(obj, parts[i], next, &error_abort);
            object_unref(next);
        }
        obj = next;
    }
    return obj;
}

Object *object_objects_root(void)
{
    return object_container("/objects");
}

/* N of "stem[N]" as it is written here, without leading zeros; false if the name is another one. */
static bool name_number(const char *name, const char *stem, size_t stem_len, guint64 *n)
{
    const char *digits = name + stem_len + 1;
    char *end;

    if (strncmp(name, stem, stem_len) || name[stem_len] != '[' || !g_ascii_isdigit(*digits) ||
        (digits[0] == '0' && digits[1] != ']')) {
        return false;
    }
    *n = g_ascii_strtoull(digits, &end, 10);
    return !strcmp(end, "]");
}

/*
 * "device[*]" becomes "device[N]" with the first free N. Looks at each sibling once: a machine may
 * have thousands of them, and gets them one by one.
 */
static char *unique_name(Object *parent, const char *pattern)
{
    size_t stem_len = strlen(pattern) - strlen("[*]");
    guint len = parent->dynamic ? parent->dynamic->len : 0;
    /* Of len + 1 numbers one is free. */
    g_autofree bool *taken = g_new0(bool, len + 1);
    guint free_one = 0;

    for (guint i = 0; i < len; i++) {
        const Dynamic *d = parent->dynamic->pdata[i];
        guint64 n;

        if (name_number(d->name, pattern, stem_len, &n) && n <= len) {
            taken[n] = true;
        }
    }
    while (taken[free_one]) {
        free_one++;
    }
    return g_strdup_printf("%.*s[%u]", (int)stem_len, pattern, free_one);
}

bool object_add_child(Object *parent, const char *name, Object *child, Error **errp)
{
    g_assert(!child->parent);
    g_autofree char *unique = NULL;

    if (g_str_has_suffix(name, "[*]")) {
        unique = unique_name(parent, name);
        name = unique;
    } else if (object_dynamic(parent, name) || class_property(parent->klass, name)) {
        error_set(errp, "attempt to add duplicate property '%s' to object (type '%s')", name,
                  object_type_name(parent));
        return false;
    }

    Dynamic *d = g_new0(Dynamic, 1);
    d->kind = DYNAMIC_CHILD;
    d->name = g_strdup(name);
    d->target = object_ref(child);
    if (!parent->dynamic) {
        parent->dynamic = g_ptr_array_new_with_free_func((GDestroyNotify)dynamic_free);
    }
    g_ptr_array_add(parent->dynamic, d);
    child->parent = parent;
    child->name = d->name;
    return true;
}

void object_unparent(Object *child)
{
    Object *parent = child->parent;

    if (!parent) {
        return;
    }
    if (child->klass->unparent) {
        child->klass->unparent(child);
        /* unparent() may have led here a second time, by way of a bus or bridge. */
        if (!child->parent) {
            return;
        }
    }
    child->parent = NULL;
    child->name = NULL;
    for (guint i = 0; i < parent->dynamic->len; i++) {
        Dynamic *d = parent->dynamic->pdata[i];
        if (d->kind == DYNAMIC_CHILD && d->target == child) {
            g_ptr_array_remove_index(parent->dynamic, i);
            return;
        }
    }
    g_assert_not_reached();
}

Object *object_child(Object *parent, const char *name)
{
    Dynamic *d = object_dynamic(parent, name);
    return d && d->kind == DYNAMIC_CHILD ? d->target : NULL;
}

char *object_path(const Object *obj)
{
    g_autofree char *path = g_strdup("");

    for (; obj != object_root(); obj = obj->parent) {
        if (!obj->parent) {
            return NULL;
        }
        char *longer = g_strdup_printf("/%s%s", obj->name, path);
        g_free(path);
        path = longer;
    }
    return path[0] ? g_steal_pointer(&path) : g_strdup("/");
}

void object_for_each_child(Object *parent, void (*fn)(Object *child, void *opaque), void *opaque)
{
    if (!parent->dynamic) {
        return;
    }
    /* fn may remove its child, or add others. */
    g_autoptr(GPtrArray) children = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
    for (guint i = 0; i < parent->dynamic->len; i++) {
        Dynamic *d = parent->dynamic->pdata[i];
        if (d->kind == DYNAMIC_CHILD) {
            g_ptr_array_add(children, object_ref(d->target));
        }
    }
    for (guint i = 0; i < children->len; i++) {
        fn(children->pdata[i], opaque);
    }
}

/* ---- paths ---- */

/* One step down: a child, or what a link points to. */
static Object *resolve_part(Object *obj, const char *name)
{
    Object *child = object_child(obj, name);
    if (child) {
        return child;
    }
    Object *target;
    const Property *prop = object_find_property(obj, name, &target);
    if (prop && prop->type == &prop_link) {
        return *(Object **)property_field(target, prop);
    }
    return NULL;
}

static Object *resolve_from(Object *obj, char **parts, const char *type)
{
    for (; *parts && obj; parts++) {
        if ((*parts)[0]) {
            obj = resolve_part(obj, *parts);
        }
    }
    return obj && object_is(obj, type) ? obj : NULL;
}

/* Tries the parts from each object of the tree; stops when a second match is found. */
static Object *resolve_partial(Object *start, char **parts, const char *type, bool *ambiguous)
{
    Object *found = resolve_from(start, parts, type);

    for (guint i = 0; start->dynamic && i < start->dynamic->len; i++) {
        Dynamic *d = start->dynamic->pdata[i];
        if (d->kind != DYNAMIC_CHILD) {
            continue;
        }
        Object *other = resolve_partial(d->target, parts, type, ambiguous);
        if (*ambiguous) {
            return NULL;
        }
        if (other && found && other != found) {
            *ambiguous = true;
            return NULL;
        }
        found = found ? found : other;
    }
    return found;
}

Object *object_resolve_type(const char *path, const char *type, bool *ambiguous)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    bool dummy;
    bool *amb = ambiguous ? ambiguous : &dummy;

    *amb = false;
    if (path[0] == '/') {
        return resolve_from(object_root(), parts + 1, type);
    }
    return resolve_partial(object_root(), parts, type, amb);
}

Object *object_resolve(const char *path, bool *ambiguous)
{
    return object_resolve_type(path, "object", ambiguous);
}
