/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -object iothread: a thread with an event loop that serves virtqueues. */
#include "qom/iothread.h"

#include "qom/cpu-list.h"
#include "event-loop-base.h"
#include "internal.h"

#include <errno.h>

#define TYPE_IOTHREAD "iothread"
#define IOTHREAD_POLL_MAX_NS 32768

struct IOThread {
    EventLoopBase base;
    IOThreadCore *core; /* NULL until it is completed */
    int64_t poll_max_ns;
    int64_t poll_grow;
    int64_t poll_shrink;
    GArray *cpus; /* of uint16_t; NULL: wherever the process may run */
};

#define IOTHREAD(obj) OBJECT_CHECK(IOThread, obj, TYPE_IOTHREAD)

static void apply_polling(IOThread *t)
{
    aio_set_poll_params(t->base.ctx, t->poll_max_ns, t->poll_grow, t->poll_shrink);
}

static void polling_changed(Object *obj, const Property *prop)
{
    IOThread *t = IOTHREAD(obj);

    if (t->core) {
        apply_polling(t);
    }
}

static bool set_affinity(IOThread *t, const cpu_set_t *set, Error **errp)
{
    if (!iothread_core_set_affinity(t->core, set, NULL)) {
        error_set_errno(errp, EINVAL, "Setting CPU affinity failed");
        return false;
    }
    return true;
}

static bool iothread_complete(Object *obj, Error **errp)
{
    IOThread *t = IOTHREAD(obj);
    cpu_set_t set;

    if (!event_loop_check_pool(&t->base, errp)) {
        return false;
    }
    if (t->cpus && !cpu_list_to_set(t->cpus, &set, errp)) {
        return false;
    }
    t->core = iothread_core_start(obj->name, NULL, errp);
    if (!t->core) {
        return false;
    }
    if (t->cpus && !set_affinity(t, &set, errp)) {
        g_clear_pointer(&t->core, iothread_core_stop);
        return false;
    }
    event_loop_attach(&t->base, iothread_core_context(t->core));
    apply_polling(t);
    return true;
}

static void iothread_init(Object *obj)
{
    IOTHREAD(obj)->poll_max_ns = IOTHREAD_POLL_MAX_NS;
}

static void iothread_finalize(Object *obj)
{
    g_clear_pointer(&IOTHREAD(obj)->core, iothread_core_stop);
}

/* ---- cpu-affinity ---- */

static bool affinity_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                         Error **errp)
{
    GArray *list = cpu_list_read(prop->name, value, form, errp);

    if (!list) {
        return false;
    }
    *(GArray **)property_field(obj, prop) = list;
    return true;
}

static bool affinity_check(Object *obj, const Property *prop, Error **errp)
{
    IOThread *t = IOTHREAD(obj);
    cpu_set_t set;

    return cpu_list_to_set(t->cpus, &set, errp) &&
           (!t->core || set_affinity(t, &set, errp));
}

/* Of a running thread what is true now, whoever set it. */
static JsonNode *affinity_get(Object *obj, const Property *prop, Error **errp)
{
    IOThread *t = IOTHREAD(obj);
    cpu_set_t set;

    if (t->core && sched_getaffinity(iothread_core_tid(t->core), sizeof(set), &set) == 0) {
        g_autoptr(GArray) list = cpu_list_from_set(&set);
        return cpu_list_json(list);
    }
    return cpu_list_json(t->cpus);
}

static void affinity_release(Object *obj, const Property *prop)
{
    g_clear_pointer((GArray **)property_field(obj, prop), g_array_unref);
}

static const PropertyType prop_cpu_affinity = {
    .name = "int",
    .size = sizeof(GArray *),
    .set = affinity_set,
    .get = affinity_get,
    .release = affinity_release,
    .is_list = true,
};

#define POLL_PROP(n, field)                                                                        \
    { .name = (n), .type = &prop_object_int, .offset = PROP_FIELD(IOThread, field),                \
      .flags = PROP_RUNTIME, .check = event_loop_check_range, .changed = polling_changed }

static const Property iothread_props[] = {
    POLL_PROP("poll-max-ns", poll_max_ns),
    POLL_PROP("poll-grow", poll_grow),
    POLL_PROP("poll-shrink", poll_shrink),
    { .name = "cpu-affinity", .type = &prop_cpu_affinity, .offset = PROP_FIELD(IOThread, cpus),
      .flags = PROP_RUNTIME, .check = affinity_check },
    PROP_END,
};

static void iothread_class_init(ObjectClass *klass, const void *data)
{
    klass->complete = iothread_complete;
}

static const TypeInfo iothread_info = {
    .name = TYPE_IOTHREAD,
    .parent = TYPE_EVENT_LOOP_BASE,
    .instance_size = sizeof(IOThread),
    .props = iothread_props,
    .class_init = iothread_class_init,
    .instance_init = iothread_init,
    .instance_finalize = iothread_finalize,
    .user_creatable = true,
};
TYPE_REGISTER(iothread_info)

/* ---- for devices ---- */

IOThread *iothread_find(const char *id_or_path)
{
    Object *obj = id_or_path[0] ? object_resolve_type(id_or_path, TYPE_IOTHREAD, NULL) : NULL;

    /* One that is being completed has no thread yet. */
    return obj && IOTHREAD(obj)->core ? IOTHREAD(obj) : NULL;
}

IOThread *iothread_acquire(IOThread *t)
{
    object_use((Object *)t);
    return t;
}

void iothread_release(IOThread *t)
{
    object_unuse((Object *)t);
}

AioContext *iothread_context(IOThread *t)
{
    return t->base.ctx;
}

const char *iothread_id(IOThread *t)
{
    return ((Object *)t)->name;
}

pid_t iothread_tid(IOThread *t)
{
    return iothread_core_tid(t->core);
}
