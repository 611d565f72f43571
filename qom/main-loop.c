/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -object main-loop: tuning of the main thread's event loop. */
#include "event-loop-base.h"

#define TYPE_MAIN_LOOP "main-loop"

static EventLoopBase *main_loop; /* the one that is in force */

static bool main_loop_complete(Object *obj, Error **errp)
{
    EventLoopBase *base = OBJECT_CHECK(EventLoopBase, obj, TYPE_EVENT_LOOP_BASE);

    if (main_loop) {
        error_set(errp, "only one main-loop instance allowed");
        return false;
    }
    if (!event_loop_check_pool(base, errp)) {
        return false;
    }
    main_loop = base;
    object_use(obj); /* the main loop does not end before the process does */
    event_loop_attach(base, aio_context_main());
    return true;
}

static void main_loop_unparent(Object *obj)
{
    if ((Object *)main_loop == obj) {
        main_loop = NULL;
        object_unuse(obj);
    }
}

static void main_loop_class_init(ObjectClass *klass, const void *data)
{
    klass->complete = main_loop_complete;
    klass->unparent = main_loop_unparent;
}

static const TypeInfo main_loop_info = {
    .name = TYPE_MAIN_LOOP,
    .parent = TYPE_EVENT_LOOP_BASE,
    .class_init = main_loop_class_init,
    .user_creatable = true,
};
TYPE_REGISTER(main_loop_info)
