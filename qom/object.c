/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances: birth, references, death, casts. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

void (*object_created_hook)(Object *obj);

/* Instances may hold per-thread state that wants cache lines of its own. */
#define INSTANCE_ALIGNMENT 64

static void run_instance_init(Object *obj, ObjectClass *klass)
{
    if (klass->parent) {
        run_instance_init(obj, klass->parent);
    }
    if (klass->info->instance_init) {
        klass->info->instance_init(obj);
    }
}

Object *object_new(const char *type)
{
    ObjectClass *klass = object_class_by_name(type);
    if (!klass) {
        g_error("no type '%s'", type);
    }
    g_assert(!klass->info->abstract);

    size_t size = object_class_instance_size(klass);
    void *mem = NULL;
    if (posix_memalign(&mem, INSTANCE_ALIGNMENT, size)) {
        g_error("out of memory");
    }
    memset(mem, 0, size);

    Object *obj = mem;
    obj->klass = klass;
    obj->ref = 1;
    object_init_properties(obj);
    run_instance_init(obj, klass);
    if (object_created_hook) {
        object_created_hook(obj);
    }
    return obj;
}

Object *object_ref(Object *obj)
{
    if (obj) {
        g_atomic_int_inc(&obj->ref);
    }
    return obj;
}

static void object_finalize(Object *obj)
{
    g_assert(!obj->parent);
    g_assert(!obj->users);

    /* Types first: their functions may still want their children. */
    for (ObjectClass *k = obj->klass; k; k = k->parent) {
        if (k->info->instance_finalize) {
            k->info->instance_finalize(obj);
        }
    }
    object_release_properties(obj);
    while (obj->dynamic && obj->dynamic->len) {
        Dynamic *d = obj->dynamic->pdata[obj->dynamic->len - 1];
        if (d->kind == DYNAMIC_CHILD) {
            object_unparent(d->target);
        } else {
            g_ptr_array_remove_index(obj->dynamic, obj->dynamic->len - 1);
        }
    }
    g_clear_pointer(&obj->dynamic, g_ptr_array_unref);
    free(obj);
}

void object_unref(Object *obj)
{
    if (obj && g_atomic_int_dec_and_test(&obj->ref)) {
        object_finalize(obj);
    }
}

const char *object_type_name(const Object *obj)
{
    return obj->klass->info->name;
}

bool object_is(const Object *obj, const char *type)
{
    return object_class_is(obj->klass, type);
}

Object *object_check(Object *obj, const char *type)
{
    g_assert(obj);
    if (!object_is(obj, type)) {
        g_error("object of type '%s' used as '%s'", object_type_name(obj), type);
    }
    return obj;
}

void object_use(Object *obj)
{
    object_ref(obj);
    obj->users++;
}

void object_unuse(Object *obj)
{
    g_assert(obj->users > 0);
    obj->users--;
    object_unref(obj);
}
