/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_VIRTIO_IOTHREAD_VQ_MAPPING_H
#define SPINDLE_HW_VIRTIO_IOTHREAD_VQ_MAPPING_H

#include "qom/iothread.h"
#include "qom/object.h"

/*
 * Which IOThread serves which virtqueue: the property "iothread-vq-mapping" and the table made from
 * it. A table never changes; to change a mapping, make another table and move the queues.
 * Runs in: main thread.
 */

/* Property type of a GPtrArray * of IOThreadVirtQueueMapping (qapi-virtio); NULL: empty. `apply`
 * is the property's check(): it puts the mapping of a realized device into force, or fails. */
extern const PropertyType prop_iothread_vq_mapping;
#define PROP_IOTHREAD_VQ_MAPPING(n, state, field, apply)                                           \
    {                                                                                              \
        .name = (n), .type = &prop_iothread_vq_mapping, .offset = PROP_FIELD(state, field),        \
        .flags = PROP_RUNTIME, .check = (apply)                                                    \
    }

typedef struct IOThreadVqMap IOThreadVqMap;

/*
 * Checks the mapping and makes the table for num_queues queues. Without vqs in the list, queue i
 * goes to element i modulo the number of elements; with vqs, as listed. Takes a use of each
 * IOThread that is named. `list` NULL or empty: all queues go to `iothread`, or, if that is NULL,
 * to the main context. On failure nothing is held.
 */
IOThreadVqMap *iothread_vq_map_new(GPtrArray *list, IOThread *iothread, unsigned num_queues,
                                   Error **errp);
void iothread_vq_map_free(IOThreadVqMap *map);
/* The context that serves a queue. Runs in: any thread. */
AioContext *iothread_vq_map_context(const IOThreadVqMap *map, unsigned queue);

#endif
