/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of types. Types register themselves before main(); their classes are made when somebody
 * first asks for them, so that the order of registration does not matter.
 */
#include "internal.h"

#include <pthread.h>
#include <string.h>

typedef struct TypeEntry {
    const TypeInfo *info;
    ObjectClass *klass;
    size_t instance_size;
    size_t class_size;
    bool resolving; /* to find a cycle of parents */
} TypeEntry;

static GHashTable *type_table;
/* Lookups come from any thread, and make classes. */
static pthread_mutex_t type_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static bool object_complete_nothing(Object *obj, Error **errp)
{
    return true;
}

static const Property object_props[] = {
    { .name = "type", .type = &prop_type_name, .flags = PROP_READ_ONLY | PROP_HIDDEN },
    PROP_END,
};

static void object_class_init(ObjectClass *klass, const void *data)
{
    klass->complete = object_complete_nothing;
}

static const TypeInfo object_info = {
    .name = "object",
    .instance_size = sizeof(Object),
    .class_size = sizeof(ObjectClass),
    .abstract = true,
    .props = object_props,
    .class_init = object_class_init,
};
TYPE_REGISTER(object_info)

static const TypeInfo container_info = {
    .name = "container",
    .parent = "object",
};
TYPE_REGISTER(container_info)

void type_register(const TypeInfo *info)
{
    g_assert(info->name);
    pthread_mutex_lock(&type_lock);
    if (!type_table) {
        type_table = g_hash_table_new(g_str_hash, g_str_equal);
    }
    if (g_hash_table_contains(type_table, info->name)) {
        g_error("type '%s' registered twice", info->name);
    }
    TypeEntry *e = g_new0(TypeEntry, 1);
    e->info = info;
    g_hash_table_insert(type_table, (gpointer)info->name, e);
    pthread_mutex_unlock(&type_lock);
}

static void check_properties(const TypeEntry *e)
{
    if (!e->info->props) {
        return;
    }
    for (const Property *p = e->info->props; p->name; p++) {
        g_assert(p->type);
        /* A row of the table that points outside of the instance is a slip in the table. */
        if (p->offset + p->type->size > e->instance_size) {
            g_error("property '%s.%s' lies outside of the instance", e->info->name, p->name);
        }
    }
}

/* Called with the lock held. */
static TypeEntry *entry_resolve(const char *name)
{
    TypeEntry *e = type_table ? g_hash_table_lookup(type_table, name) : NULL;

    if (!e || e->klass) {
        return e;
    }
    if (e->resolving) {
        g_error("type '%s' is its own ancestor", name);
    }
    e->resolving = true;

    TypeEntry *parent = NULL;
    if (e->info->parent) {
        parent = entry_resolve(e->info->parent);
        if (!parent) {
            g_error("type '%s' derives from unknown type '%s'", name, e->info->parent);
        }
    }
    e->instance_size = e->info->instance_size;
    e->class_size = e->info->class_size;
    if (parent) {
        e->instance_size = MAX(e->instance_size, parent->instance_size);
        e->class_size = MAX(e->class_size, parent->class_size);
    }
    check_properties(e);

    ObjectClass *klass = g_malloc0(e->class_size);
    if (parent) {
        memcpy(klass, parent->klass, parent->class_size);
    }
    klass->info = e->info;
    klass->parent = parent ? parent->klass : NULL;
    e->klass = klass;
    if (e->info->class_init) {
        e->info->class_init(klass, e->info->class_data);
    }
    e->resolving = false;
    return e;
}

static TypeEntry *entry_get(const char *name)
{
    pthread_mutex_lock(&type_lock);
    TypeEntry *e = entry_resolve(name);
    pthread_mutex_unlock(&type_lock);
    return e;
}

ObjectClass *object_class_by_name(const char *type)
{
    TypeEntry *e = entry_get(type);
    return e ? e->klass : NULL;
}

size_t object_class_instance_size(const ObjectClass *klass)
{
    return entry_get(klass->info->name)->instance_size;
}

const char *object_class_name(const ObjectClass *klass)
{
    return klass->info->name;
}

bool object_class_is(const ObjectClass *klass, const char *type)
{
    for (; klass; klass = klass->parent) {
        /* Most casts name the type by the literal it was registered with. */
        if (klass->info->name == type || !strcmp(klass->info->name, type)) {
            return true;
        }
    }
    return false;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void type_for_each(void (*fn)(ObjectClass *klass, void *opaque), void *opaque)
{
    pthread_mutex_lock(&type_lock);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    GHashTableIter it;
    gpointer key;
    g_hash_table_iter_init(&it, type_table);
    while (g_hash_table_iter_next(&it, &key, NULL)) {
        g_ptr_array_add(names, key);
    }
    pthread_mutex_unlock(&type_lock);

    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++) {
        fn(object_class_by_name(names->pdata[i]), opaque);
    }
}

typedef struct ListState {
    const char *type;
    bool include_abstract;
    GPtrArray *out;
} ListState;

static void list_one(ObjectClass *klass, void *opaque)
{
    ListState *s = opaque;
    if (object_class_is(klass, s->type) && (s->include_abstract || !klass->info->abstract)) {
        g_ptr_array_add(s->out, klass);
    }
}

GPtrArray *object_class_list(const char *type, bool include_abstract)
{
    ListState s = { type, include_abstract, g_ptr_array_new() };
    type_for_each(list_one, &s);
    return s.out;
}
