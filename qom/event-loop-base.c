/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tuning that every event loop has, whichever thread runs it. */
#include "event-loop-base.h"

#include "internal.h"

#include <inttypes.h>
#include <limits.h>

bool event_loop_check_range(Object *obj, const Property *prop, Error **errp)
{
    if (*(int64_t *)property_field(obj, prop) < 0) {
        error_set(errp, "%s value must be in range [0, %" PRId64 "]", prop->name, INT64_MAX);
        return false;
    }
    return true;
}

bool event_loop_check_pool(EventLoopBase *base, Error **errp)
{
    if (base->thread_pool_max < 1 || base->thread_pool_max > INT_MAX ||
        base->thread_pool_min > base->thread_pool_max) {
        error_set(errp, "bad thread-pool-min/thread-pool-max values");
        return false;
    }
    return true;
}

static bool check_pool_property(Object *obj, const Property *prop, Error **errp)
{
    EventLoopBase *base = OBJECT_CHECK(EventLoopBase, obj, TYPE_EVENT_LOOP_BASE);

    /* Until it is completed, the two bounds arrive one after the other. */
    return event_loop_check_range(obj, prop, errp) &&
           (!base->ctx || event_loop_check_pool(base, errp));
}

static void apply(EventLoopBase *base)
{
    aio_set_max_batch(base->ctx, base->aio_max_batch);
    aio_set_thread_pool(base->ctx, base->thread_pool_min, base->thread_pool_max);
}

static void changed(Object *obj, const Property *prop)
{
    EventLoopBase *base = OBJECT_CHECK(EventLoopBase, obj, TYPE_EVENT_LOOP_BASE);

    if (base->ctx) {
        apply(base);
    }
}

void event_loop_attach(EventLoopBase *base, AioContext *ctx)
{
    base->ctx = ctx;
    apply(base);
}

#define LOOP_PROP(n, field, checker)                                                               \
    { .name = (n), .type = &prop_object_int, .offset = PROP_FIELD(EventLoopBase, field),           \
      .flags = PROP_RUNTIME, .check = (checker), .changed = changed }

static const Property event_loop_props[] = {
    LOOP_PROP("aio-max-batch", aio_max_batch, event_loop_check_range),
    LOOP_PROP("thread-pool-min", thread_pool_min, check_pool_property),
    LOOP_PROP("thread-pool-max", thread_pool_max, check_pool_property),
    PROP_END,
};

static void event_loop_init(Object *obj)
{
    OBJECT_CHECK(EventLoopBase, obj, TYPE_EVENT_LOOP_BASE)->thread_pool_max = 64;
}

static const TypeInfo event_loop_info = {
    .name = TYPE_EVENT_LOOP_BASE,
    .parent = "object",
    .instance_size = sizeof(EventLoopBase),
    .abstract = true,
    .props = event_loop_props,
    .instance_init = event_loop_init,
};
TYPE_REGISTER(event_loop_info)
