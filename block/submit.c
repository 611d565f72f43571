/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate between devices and the graph: counting what is in flight, parking what arrives while a
 * backend is drained, draining.
 *
 * The counts are per thread, so that submitting writes to no cache line that another thread writes
 * to. Whoever submits raises its count first and looks at `quiesce` then; whoever drains raises
 * `quiesce` first and sums the counts then. With a barrier between both steps of both sides at
 * least one side sees the other; that of the drain is the heavy one (util/asymmetric.h), so that a
 * request needs none. It is the same with lowering a count, `waiters` and waiting.
 */
#include <errno.h>

#include "backend.h"
#include "throttle.h"
#include "util/asymmetric.h"
#include "util/offload.h"
#include "util/biglock.h"

static unsigned drain_all_count;

static void blk_enter(BlkShard *sh)
{
    unsigned n = __atomic_load_n(&sh->in_flight, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&sh->in_flight, n, __ATOMIC_RELAXED);
    asymmetric_light();
}

static void blk_leave(BlockBackend *blk, BlkShard *sh)
{
    unsigned n = __atomic_load_n(&sh->in_flight, __ATOMIC_RELAXED) - 1;

    /* Whoever sees that nothing is in flight sees what the requests have done. */
    __atomic_store_n(&sh->in_flight, n, __ATOMIC_RELEASE);
    asymmetric_light();
    if (n == 0 && G_UNLIKELY(__atomic_load_n(&blk->waiters, __ATOMIC_RELAXED))) {
        aio_kick(aio_context_main());
    }
}

static void blk_request_done(BlockRequest *req, int ret)
{
    /* The submitter may free or reuse req in done(). The count drops after it, so that a drain also
     * waits for done(). */
    BlockBackend *blk = req->blk;
    BlkShard *sh = req->shard;

    blk_account_done(blk, sh, req, ret);
    req->done(req, ret);
    blk_leave(blk, sh);
}

static void blk_start(BlockBackend *blk, BlockRequest *req)
{
    BlockNode *root = blk->root;

    req->start_ns = block_clock();
    req->cont = blk_request_done;
    req->at_op = req->op;
    req->at_flags = req->flags;
    req->at_offset = req->offset;
    req->driver_flags = 0;
    req->skip = 0;
    if (G_UNLIKELY(!root)) {
        blk_request_done(req, -ENOMEDIUM);
        return;
    }
    if (req->op != BLK_OP_FLUSH) {
        int64_t length = block_node_length(root);

        if (G_UNLIKELY(req->offset < 0 || req->bytes < 0 || req->bytes > length ||
                       req->offset > length - req->bytes)) {
            blk_request_done(req, -EIO);
            return;
        }
        if (req->bytes == 0) {
            blk_request_done(req, 0);
            return;
        }
        if ((req->op == BLK_OP_WRITE || req->op == BLK_OP_WRITE_ZEROES) &&
            !__atomic_load_n(&blk->write_cache, __ATOMIC_RELAXED)) {
            req->at_flags |= BLK_REQ_FUA;
        }
        /* Limits of a disk are about what its guest reads and writes. */
        if (G_UNLIKELY(blk->throttle) && req->op != BLK_OP_DISCARD &&
            !throttle_member_pass(blk->throttle, req)) {
            return;
        }
    }
    block_node_submit(root, req);
}

/* Returns false if the drain has ended meanwhile. */
static bool blk_park(BlockBackend *blk, BlockRequest *req)
{
    bool parked = false;

    pthread_mutex_lock(&blk->park_lock);
    if (__atomic_load_n(&blk->quiesce, __ATOMIC_SEQ_CST)) {
        req->next = NULL;
        *blk->parked_tail = req;
        blk->parked_tail = &req->next;
        parked = true;
    }
    pthread_mutex_unlock(&blk->park_lock);
    return parked;
}

static void blk_submit_shard(BlockBackend *blk, BlkShard *sh, BlockRequest *req)
{
    for (;;) {
        blk_enter(sh);
        if (G_LIKELY(!__atomic_load_n(&blk->quiesce, __ATOMIC_ACQUIRE))) {
            break;
        }
        /* The count goes down before req becomes visible to others: from then on it is the
         * resumer's, and may even have completed. */
        blk_leave(blk, sh);
        if (blk_park(blk, req)) {
            return;
        }
    }
    blk_start(blk, req);
}

void blk_submit(BlockBackend *blk, BlockRequest *req)
{
    BlkShard *sh = slot_table_get(&blk->shards);

    req->blk = blk;
    req->shard = sh;
    req->ctx = aio_context_current();
    blk_submit_shard(blk, sh, req);
}

static void sum_in_flight(void *part, void *opaque)
{
    BlkShard *sh = part;
    unsigned *sum = opaque;

    *sum += __atomic_load_n(&sh->in_flight, __ATOMIC_SEQ_CST);
}

unsigned blk_in_flight(BlockBackend *blk)
{
    unsigned sum = __atomic_load_n(&blk->extra_in_flight, __ATOMIC_SEQ_CST);

    slot_table_foreach(&blk->shards, sum_in_flight, &sum);
    return sum;
}

void blk_inc_in_flight(BlockBackend *blk)
{
    __atomic_add_fetch(&blk->extra_in_flight, 1, __ATOMIC_SEQ_CST);
}

void blk_dec_in_flight(BlockBackend *blk)
{
    unsigned left = __atomic_sub_fetch(&blk->extra_in_flight, 1, __ATOMIC_SEQ_CST);

    g_assert(left != UINT_MAX);
    if (left == 0 && __atomic_load_n(&blk->waiters, __ATOMIC_SEQ_CST)) {
        aio_kick(aio_context_main());
    }
}

/* ---- draining ---- */

void blk_wait_idle(BlockBackend *blk)
{
    __atomic_add_fetch(&blk->waiters, 1, __ATOMIC_SEQ_CST);
    /* Also for `quiesce`, which the caller may have raised before. */
    asymmetric_heavy();
    stall_begin();
    AIO_WAIT_WHILE(blk_in_flight(blk) > 0);
    stall_end();
    __atomic_sub_fetch(&blk->waiters, 1, __ATOMIC_SEQ_CST);
}

static void hurry_nodes(BlockNode *node, GPtrArray *told)
{
    if (node->drv->hurry && !g_ptr_array_find(told, node, NULL)) {
        g_ptr_array_add(told, block_node_ref(node));
        node->drv->hurry(node, true);
    }
    for (guint i = 0; i < node->children->len; i++) {
        BlockChild *c = g_ptr_array_index(node->children, i);

        hurry_nodes(c->node, told);
    }
}

void blk_hurry_begin(BlockBackend *blk)
{
    ASSERT_BIG_LOCK();
    if (blk->hurry_depth++ > 0) {
        return;
    }
    if (blk->throttle) {
        throttle_member_release_all(blk->throttle, true);
    }
    /* Those that were told are told of the end, whatever becomes of the graph meanwhile. */
    blk->hurried = g_ptr_array_new_with_free_func((GDestroyNotify)block_node_unref);
    if (blk->root) {
        hurry_nodes(blk->root, blk->hurried);
    }
}

void blk_hurry_end(BlockBackend *blk)
{
    g_autoptr(GPtrArray) told = NULL;

    ASSERT_BIG_LOCK();
    g_assert(blk->hurry_depth > 0);
    if (--blk->hurry_depth > 0) {
        return;
    }
    if (blk->throttle) {
        throttle_member_release_all(blk->throttle, false);
    }
    told = g_steal_pointer(&blk->hurried);
    for (guint i = 0; told && i < told->len; i++) {
        BlockNode *node = g_ptr_array_index(told, i);

        node->drv->hurry(node, false);
    }
}

static void dev_drained_begin(BlockBackend *blk)
{
    if (blk->drain_depth++ == 0 && blk->dev_ops && blk->dev_ops->drained_begin) {
        blk->dev_ops->drained_begin(blk->dev_opaque);
    }
    blk_hurry_begin(blk);
}

static void dev_drained_end(BlockBackend *blk)
{
    blk_hurry_end(blk);
    g_assert(blk->drain_depth > 0);
    if (--blk->drain_depth == 0 && blk->dev_ops && blk->dev_ops->drained_end) {
        blk->dev_ops->drained_end(blk->dev_opaque);
    }
}

/* The device stops first, the gate closes then: a well-behaved device has nothing parked. */
static void drain_begin_nowait(BlockBackend *blk)
{
    dev_drained_begin(blk);
    __atomic_add_fetch(&blk->quiesce, 1, __ATOMIC_SEQ_CST);
}

void blk_drain_begin(BlockBackend *blk)
{
    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    drain_begin_nowait(blk);
    blk_wait_idle(blk);
}

typedef struct Resume {
    BlockBackend *blk;
    BlockRequest *list;
} Resume;

/* Runs in: the context that submitted the requests. */
static void blk_resume(void *opaque)
{
    Resume *r = opaque;
    BlockBackend *blk = r->blk;
    BlkShard *sh = slot_table_get(&blk->shards);

    for (BlockRequest *req = r->list, *next; req; req = next) {
        next = req->next;
        req->shard = sh;
        blk_submit_shard(blk, sh, req);
    }
    g_free(r);
    blk_dec_in_flight(blk);
}

static void blk_resume_parked(BlockBackend *blk, BlockRequest *list)
{
    /* One message per context; the order within a context is kept. */
    while (list) {
        AioContext *ctx = list->ctx;
        Resume *r = g_new(Resume, 1);
        BlockRequest **tail = &r->list;
        BlockRequest **other = &list;

        r->blk = blk;
        while (*other) {
            BlockRequest *req = *other;

            if (req->ctx == ctx) {
                *other = req->next;
                *tail = req;
                tail = &req->next;
            } else {
                other = &req->next;
            }
        }
        *tail = NULL;
        blk_inc_in_flight(blk);
        aio_call(ctx, blk_resume, r);
    }
}

void blk_drain_end(BlockBackend *blk)
{
    BlockRequest *list = NULL;
    unsigned old;

    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    /* Under the lock: a request that saw the drain either is on the list now, or will see that the
     * drain is over. */
    pthread_mutex_lock(&blk->park_lock);
    old = __atomic_fetch_sub(&blk->quiesce, 1, __ATOMIC_SEQ_CST);
    g_assert(old > 0);
    if (old == 1) {
        list = blk->parked;
        blk->parked = NULL;
        blk->parked_tail = &blk->parked;
    }
    pthread_mutex_unlock(&blk->park_lock);
    dev_drained_end(blk);
    blk_resume_parked(blk, list);
}

void blk_drain(BlockBackend *blk)
{
    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    /* The gate stays open: what the device still had to submit (a retry, say) has really ended
     * afterwards, and is not merely parked. */
    dev_drained_begin(blk);
    blk_wait_idle(blk);
    dev_drained_end(blk);
}

void blk_drain_new(BlockBackend *blk)
{
    blk->drain_depth = drain_all_count;
    blk->hurry_depth = drain_all_count;
    blk->quiesce = drain_all_count;
}

static GPtrArray *all_referenced(void)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func((GDestroyNotify)blk_unref);
    GPtrArray *all = blk_all();

    for (guint i = 0; i < all->len; i++) {
        g_ptr_array_add(copy, blk_ref(g_ptr_array_index(all, i)));
    }
    return copy;
}

void blk_drain_all_begin(void)
{
    /* Waiting runs callbacks, which may add or remove backends: what is added from here on begins
     * its life drained. */
    g_autoptr(GPtrArray) all = all_referenced();

    g_assert(aio_in_main_thread());
    ASSERT_BIG_LOCK();
    drain_all_count++;
    /* All gates close before the first wait, so that disks do not wait for each other in turn. */
    for (guint i = 0; i < all->len; i++) {
        drain_begin_nowait(g_ptr_array_index(all, i));
    }
    for (guint i = 0; i < all->len; i++) {
        blk_wait_idle(g_ptr_array_index(all, i));
    }
}

void blk_drain_all_end(void)
{
    g_autoptr(GPtrArray) all = all_referenced();

    g_assert(drain_all_count > 0);
    drain_all_count--;
    for (guint i = 0; i < all->len; i++) {
        blk_drain_end(g_ptr_array_index(all, i));
    }
}

static bool node_reaches(BlockNode *from, BlockNode *node)
{
    if (from == node) {
        return true;
    }
    for (guint i = 0; from && i < from->children->len; i++) {
        BlockChild *c = g_ptr_array_index(from->children, i);

        if (node_reaches(c->node, node)) {
            return true;
        }
    }
    return false;
}

GPtrArray *block_drained_begin(BlockNode *node)
{
    GPtrArray *drained = g_ptr_array_new_with_free_func((GDestroyNotify)blk_unref);
    GPtrArray *all = blk_all();

    for (guint i = 0; i < all->len; i++) {
        BlockBackend *blk = g_ptr_array_index(all, i);

        if (blk->root && node_reaches(blk->root, node)) {
            g_ptr_array_add(drained, blk_ref(blk));
        }
    }
    for (guint i = 0; i < drained->len; i++) {
        blk_drain_begin(g_ptr_array_index(drained, i));
    }
    return drained;
}

void block_drained_end(GPtrArray *drained)
{
    for (guint i = 0; i < drained->len; i++) {
        blk_drain_end(g_ptr_array_index(drained, i));
    }
    g_ptr_array_unref(drained);
}

/* Whether a flush of another node reaches this one anyway. */
static bool has_parent_node(BlockNode *node)
{
    for (GList *l = node->parents; l; l = l->next) {
        BlockChild *c = l->data;

        if (c->parent && !c->parent->read_only && !c->parent->no_flush) {
            return true;
        }
    }
    return false;
}

int blk_flush_all(void)
{
    g_autoptr(GPtrArray) roots =
        g_ptr_array_new_with_free_func((GDestroyNotify)block_node_unref);
    int result = 0;

    blk_drain_all_begin();
    for (GList *l = block_nodes(); l; l = l->next) {
        BlockNode *node = l->data;

        if (!node->read_only && !has_parent_node(node)) {
            g_ptr_array_add(roots, block_node_ref(node));
        }
    }
    for (guint i = 0; i < roots->len; i++) {
        int ret = block_node_request_sync(g_ptr_array_index(roots, i), BLK_OP_FLUSH, 0, NULL, 0);

        if (ret < 0 && result == 0) {
            result = ret;
        }
    }
    blk_drain_all_end();
    return result;
}
