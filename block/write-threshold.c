/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An offset of a node at which management wants to know that the guest has come so far, so that it
 * can make thin storage larger in time (block-set-write-threshold).
 */
#include "write-threshold.h"

#include "util/biglock.h"

typedef struct Exceeded {
    char *node_name;
    uint64_t amount, threshold;
} Exceeded;

static void tell(void *opaque)
{
    Exceeded *e = opaque;

    qapi_event_send_BLOCK_WRITE_THRESHOLD(e->node_name, e->amount, e->threshold);
    g_free(e->node_name);
    g_free(e);
}

void block_write_threshold_check(BlockNode *node, const BlockRequest *req)
{
    uint64_t threshold = __atomic_load_n(&node->write_threshold, __ATOMIC_RELAXED);
    uint64_t end = (uint64_t)req->at_offset + (uint64_t)req->bytes;
    Exceeded *e;

    /* Whoever takes it away is the one who tells. */
    if (!threshold || end <= threshold ||
        !__atomic_compare_exchange_n(&node->write_threshold, &threshold, 0, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        return;
    }
    e = g_new(Exceeded, 1);
    e->node_name = g_strdup(node->name);
    e->amount = end - threshold;
    e->threshold = threshold;
    aio_call(aio_context_main(), tell, e);
}

bool qmp_block_set_write_threshold(const q_block_set_write_threshold_args *args, Error **errp)
{
    BlockNode *node = block_node_find(args->node_name);

    ASSERT_BIG_LOCK();
    if (!node) {
        error_set(errp, "Device '%s' not found", args->node_name);
        return false;
    }
    __atomic_store_n(&node->write_threshold, args->write_threshold, __ATOMIC_RELAXED);
    return true;
}
QMP_REGISTER(block_set_write_threshold)
