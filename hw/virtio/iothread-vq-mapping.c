/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The property iothread-vq-mapping, and the table of queues and IOThreads that it means. */

#include "hw/virtio/iothread-vq-mapping.h"

#include "qapi/qapi-virtio.h"

struct IOThreadVqMap {
    GPtrArray *threads; /* of IOThread; each is in use */
    unsigned num_queues;
    AioContext **queues; /* owner by queue */
};

/* ---- the property ---- */

static GPtrArray **mapping_field(Object *obj, const Property *prop)
{
    return (GPtrArray **)((char *)obj + prop->offset);
}

static bool mapping_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                        Error **errp)
{
    /* There is no form of it other than a JSON list. */
    if (!JSON_NODE_HOLDS_ARRAY(value)) {
        error_set(errp, "Invalid parameter type for '%s', expected: array", prop->name);
        return false;
    }
    return qapi_decode(&qapi_list_IOThreadVirtQueueMapping, value, QAPI_JSON, prop->name,
                       mapping_field(obj, prop), errp);
}

static JsonNode *mapping_get(Object *obj, const Property *prop, Error **errp)
{
    GPtrArray **list = mapping_field(obj, prop);
    JsonNode *empty;

    if (*list) {
        return qapi_encode(&qapi_list_IOThreadVirtQueueMapping, list);
    }
    empty = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(empty, json_array_new());
    return empty;
}

static char *mapping_print(Object *obj, const Property *prop)
{
    g_autoptr(JsonNode) value = mapping_get(obj, prop, NULL);

    return json_write(value, false);
}

static void mapping_release(Object *obj, const Property *prop)
{
    GPtrArray **list = mapping_field(obj, prop);

    if (*list) {
        qapi_release(&qapi_list_IOThreadVirtQueueMapping, list);
        *list = NULL;
    }
}

const PropertyType prop_iothread_vq_mapping = {
    .name = "IOThreadVirtQueueMappingList",
    .description = "IOThread virtqueue mapping list "
                   "[{\"iothread\":\"<id>\", \"vqs\":[1,2,3,...]},...]",
    .size = sizeof(GPtrArray *),
    .set = mapping_set,
    .get = mapping_get,
    .print = mapping_print,
    .release = mapping_release,
};

/* ---- the table ---- */

static bool has_vqs(const IOThreadVirtQueueMapping *m)
{
    return m->vqs && m->vqs->len > 0;
}

static bool assign_vqs(IOThreadVqMap *map, const IOThreadVirtQueueMapping *m, AioContext *ctx,
                       Error **errp)
{
    for (guint i = 0; i < m->vqs->len; i++) {
        uint16_t vq = g_array_index(m->vqs, uint16_t, i);

        if (vq >= map->num_queues) {
            error_set(errp,
                      "vq index %u for IOThread \"%s\" must be less than num_queues %u in "
                      "iothread-vq-mapping",
                      vq, m->iothread, map->num_queues);
            return false;
        }
        if (map->queues[vq]) {
            error_set(errp, "cannot assign vq %u to IOThread \"%s\" because it is already assigned",
                      vq, m->iothread);
            return false;
        }
        map->queues[vq] = ctx;
    }
    return true;
}

static bool name_seen(GPtrArray *list, guint upto, const char *name)
{
    for (guint i = 0; i < upto; i++) {
        if (g_str_equal(((IOThreadVirtQueueMapping *)list->pdata[i])->iothread, name)) {
            return true;
        }
    }
    return false;
}

/* The order of the checks is what users see of a list with several faults. */
static bool map_fill(IOThreadVqMap *map, GPtrArray *list, Error **errp)
{
    bool explicit = has_vqs(list->pdata[0]);

    for (guint i = 0; i < list->len; i++) {
        const IOThreadVirtQueueMapping *m = list->pdata[i];
        IOThread *t = iothread_find(m->iothread);

        if (!t) {
            error_set(errp, "IOThread \"%s\" object does not exist", m->iothread);
            return false;
        }
        if (name_seen(list, i, m->iothread)) {
            error_set(errp, "duplicate IOThread name \"%s\" in iothread-vq-mapping", m->iothread);
            return false;
        }
        if (has_vqs(m) != explicit) {
            error_set(errp, "either all items in iothread-vq-mapping must have vqs or none of "
                            "them must have it");
            return false;
        }
        g_ptr_array_add(map->threads, iothread_acquire(t));
        if (explicit) {
            if (!assign_vqs(map, m, iothread_context(t), errp)) {
                return false;
            }
        } else {
            for (unsigned vq = i; vq < map->num_queues; vq += list->len) {
                map->queues[vq] = iothread_context(t);
            }
        }
    }
    for (unsigned vq = 0; vq < map->num_queues; vq++) {
        if (!map->queues[vq]) {
            error_set(errp, "missing vq %u IOThread assignment in iothread-vq-mapping", vq);
            return false;
        }
    }
    return true;
}

IOThreadVqMap *iothread_vq_map_new(GPtrArray *list, IOThread *iothread, unsigned num_queues,
                                   Error **errp)
{
    IOThreadVqMap *map = g_new0(IOThreadVqMap, 1);

    map->threads = g_ptr_array_new_with_free_func((GDestroyNotify)iothread_release);
    map->num_queues = num_queues;
    map->queues = g_new0(AioContext *, num_queues);
    if (list && list->len) {
        if (!map_fill(map, list, errp)) {
            iothread_vq_map_free(map);
            return NULL;
        }
    } else {
        AioContext *ctx = aio_context_main();

        if (iothread) {
            g_ptr_array_add(map->threads, iothread_acquire(iothread));
            ctx = iothread_context(iothread);
        }
        for (unsigned vq = 0; vq < num_queues; vq++) {
            map->queues[vq] = ctx;
        }
    }
    return map;
}

void iothread_vq_map_free(IOThreadVqMap *map)
{
    if (map) {
        g_ptr_array_unref(map->threads);
        g_free(map->queues);
        g_free(map);
    }
}

AioContext *iothread_vq_map_context(const IOThreadVqMap *map, unsigned queue)
{
    return map->queues[queue];
}
