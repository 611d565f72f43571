/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of a backend. Each thread has its own; only it writes to them, so plain additions do.
 * They are read by the main thread, hence the atomic (but unordered) loads and stores.
 */
#include "backend.h"
#include "timed-stats.h"

static __thread int64_t now_ns;
static __thread bool refreshed;

static void clock_drop(void *opaque)
{
    now_ns = 0;
    refreshed = false;
}

int64_t block_clock_fresh(void)
{
    int64_t now = aio_clock_ns(AIO_CLOCK_REALTIME);

    if (now_ns == 0) {
        now_ns = now;
        aio_defer(clock_drop, NULL);
    } else {
        now_ns = now;
    }
    return now;
}

/* The clock is read once per batch: requests that are taken from a ring together start together. */
int64_t block_clock(void)
{
    return now_ns ? now_ns : block_clock_fresh();
}

#define GET(x)    __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define ADD(x, n) __atomic_store_n(&(x), GET(x) + (n), __ATOMIC_RELAXED)
#define SET(x, n) __atomic_store_n(&(x), (n), __ATOMIC_RELAXED)

static BlkAcct acct_of(BlockOp op)
{
    static const BlkAcct acct[BLK_OP__MAX] = {
        [BLK_OP_READ] = BLK_ACCT_READ,
        [BLK_OP_WRITE] = BLK_ACCT_WRITE,
        [BLK_OP_FLUSH] = BLK_ACCT_FLUSH,
        [BLK_OP_DISCARD] = BLK_ACCT_UNMAP,
        [BLK_OP_WRITE_ZEROES] = BLK_ACCT_WRITE,
    };

    return acct[op];
}

static const BlkLatencyKind kinds[] = {
    [BLK_ACCT_READ] = BLK_LATENCY_READ,
    [BLK_ACCT_WRITE] = BLK_LATENCY_WRITE,
    [BLK_ACCT_FLUSH] = BLK_LATENCY_FLUSH,
};

static void count_timed(BlockBackend *blk, BlkAcct a, BlockRequest *req, int64_t now)
{
    if (a != BLK_ACCT_UNMAP) {
        blk_timed_account(blk->timed, kinds[a], now - req->start_ns, now);
    }
}

static void count_latency(BlockBackend *blk, BlkAcct a, BlockRequest *req, int64_t now)
{
    if (a != BLK_ACCT_UNMAP && G_UNLIKELY(GET(blk->latency[kinds[a]]))) {
        blk_latency_count(blk, kinds[a], req->lane, now - req->start_ns);
    }
}

void blk_account_done(BlockBackend *blk, BlkShard *sh, BlockRequest *req, int ret)
{
    BlkAcct a = acct_of(req->op);
    int64_t now = block_clock();

    /* Started and ended within one batch: the shared reading would hide that it took time. Once per
     * batch is enough for requests that take none; drivers that work in place read the clock. */
    if (now == req->start_ns && !refreshed) {
        now = block_clock_fresh();
        refreshed = now_ns != 0;
    }
    count_latency(blk, a, req, now);
    if (G_UNLIKELY(blk->timed) && (ret >= 0 || GET(blk->account_failed))) {
        count_timed(blk, a, req, now);
    }
    if (G_LIKELY(ret >= 0)) {
        ADD(sh->ops[a], 1);
        ADD(sh->bytes[a], req->op == BLK_OP_FLUSH ? 0 : (uint64_t)req->bytes);
        ADD(sh->time_ns[a], (uint64_t)(now - req->start_ns));
        SET(sh->last_access_ns, now);
        if (a == BLK_ACCT_WRITE && req->offset + req->bytes > GET(sh->wr_highest)) {
            SET(sh->wr_highest, req->offset + req->bytes);
        }
    } else if (GET(blk->account_failed)) {
        ADD(sh->time_ns[a], (uint64_t)(now - req->start_ns));
        SET(sh->last_access_ns, now);
    }
}

void blk_account_failed(BlockBackend *blk, BlockOp op)
{
    BlkShard *sh = slot_table_get(&blk->shards);

    ADD(sh->failed[acct_of(op)], 1);
}

void blk_account_invalid(BlockBackend *blk, BlockOp op)
{
    BlkShard *sh = slot_table_get(&blk->shards);

    ADD(sh->invalid[acct_of(op)], 1);
    if (GET(blk->account_invalid)) {
        SET(sh->last_access_ns, block_clock());
    }
}

void blk_account_merged(BlockBackend *blk, BlockOp op, unsigned n)
{
    BlkShard *sh = slot_table_get(&blk->shards);
    BlkAcct a = acct_of(op);

    ADD(sh->merged[a], n);
    ADD(sh->ops[a], n);
}

void blk_account_config(BlockBackend *blk, bool account_invalid, bool account_failed)
{
    SET(blk->account_invalid, account_invalid && blk->drive_account_invalid);
    SET(blk->account_failed, account_failed && blk->drive_account_failed);
}

static void sum_shard(void *part, void *opaque)
{
    BlkShard *sh = part, *sum = opaque;
    int64_t last_access_ns = GET(sh->last_access_ns), wr_highest = GET(sh->wr_highest);

    for (int a = 0; a < BLK_ACCT__MAX; a++) {
        sum->ops[a] += GET(sh->ops[a]);
        sum->bytes[a] += GET(sh->bytes[a]);
        sum->time_ns[a] += GET(sh->time_ns[a]);
        sum->failed[a] += GET(sh->failed[a]);
        sum->invalid[a] += GET(sh->invalid[a]);
        sum->merged[a] += GET(sh->merged[a]);
    }
    sum->last_access_ns = MAX(sum->last_access_ns, last_access_ns);
    sum->wr_highest = MAX(sum->wr_highest, wr_highest);
}

void blk_account_sum(BlockBackend *blk, BlkShard *sum)
{
    *sum = (BlkShard){ 0 };
    slot_table_foreach(&blk->shards, sum_shard, sum);
}

int64_t block_node_wr_highest(BlockNode *node)
{
    int64_t highest = node->wr_highest;

    for (GList *l = node->parents; l; l = l->next) {
        BlockChild *c = l->data;
        int64_t h;

        if (c->blk) {
            BlkShard sum;

            blk_account_sum(c->blk, &sum);
            h = sum.wr_highest;
        } else {
            h = block_node_wr_highest(c->parent);
            if (h && c->parent->drv->child_offset) {
                h += c->parent->drv->child_offset(c->parent);
            }
        }
        highest = MAX(highest, h);
    }
    return highest;
}
