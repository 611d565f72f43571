/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QOM_EVENT_LOOP_BASE_H
#define QOM_EVENT_LOOP_BASE_H

/* What "iothread" and "main-loop" have in common. */

#include "qom/object.h"
#include "util/aio.h"

#define TYPE_EVENT_LOOP_BASE "event-loop-base"

typedef struct EventLoopBase {
    Object parent_obj;
    AioContext *ctx; /* NULL until it is completed; changes have effect from then on */
    int64_t aio_max_batch;
    int64_t thread_pool_min;
    int64_t thread_pool_max;
} EventLoopBase;

/* For a property of type prop_object_int: not negative. */
bool event_loop_check_range(Object *obj, const Property *prop, Error **errp);
/* Checks the bounds of the thread pool against each other, for complete(). */
bool event_loop_check_pool(EventLoopBase *base, Error **errp);
/* Gives it its context, and the context all its values. */
void event_loop_attach(EventLoopBase *base, AioContext *ctx);

#endif
