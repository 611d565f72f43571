/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP: query-iothreads. */
#include "qapi/qapi-iothread.h"
#include "qom/iothread.h"

/* A number as the object itself shows it. */
static int64_t number_of(Object *obj, const char *name)
{
    g_autoptr(JsonNode) value = object_property_get(obj, name, &error_abort);
    return json_node_get_int(value);
}

static GSList *listers;

void iothread_add_lister(IOThreadLister *fn)
{
    listers = g_slist_append(listers, (void *)fn);
}

static void add_iothread(Object *obj, void *opaque)
{
    if (!object_is(obj, "iothread")) {
        return;
    }
    IOThread *t = OBJECT_CHECK(IOThread, obj, "iothread");
    IOThreadInfo *info = g_new0(IOThreadInfo, 1);

    info->id = g_strdup(iothread_id(t));
    info->thread_id = iothread_tid(t);
    info->poll_max_ns = number_of(obj, "poll-max-ns");
    info->poll_grow = number_of(obj, "poll-grow");
    info->poll_shrink = number_of(obj, "poll-shrink");
    info->aio_max_batch = number_of(obj, "aio-max-batch");
    info->serves = g_ptr_array_new();
    for (GSList *l = listers; l; l = l->next) {
        ((IOThreadLister *)l->data)(t, info->serves);
    }
    g_ptr_array_add(opaque, info);
}

GPtrArray *qmp_query_iothreads(Error **errp)
{
    GPtrArray *list = g_ptr_array_new();

    object_for_each_child(object_objects_root(), add_iothread, list);
    return list;
}
QMP_REGISTER(query_iothreads)
