/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of latencies (block-latency-histogram-set): one for each kind of request, kept apart
 * by the submitter's queue and by thread, so that each count has one writer.
 *
 * What is configured is published by RCU. Without it a request costs the look at one pointer.
 */
#include <unistd.h>
#include <urcu/urcu-memb.h>

#include "backend.h"
#include "qapi/qapi-block-core.h"
#include "util/biglock.h"
#include "util/histogram.h"

/* The histograms of one thread, by queue; made when they are needed. */
typedef struct LatencyThread LatencyThread;
struct LatencyThread {
    pid_t tid;
    LatencyThread *next; /* earlier threads of the same slot, which have ended */
    Histogram *lanes[];  /* atomic */
};

typedef struct BlkLatency {
    GArray *bounds; /* of uint64_t, ns */
    unsigned lanes;
    SlotTable threads; /* of LatencyThread *, atomic */
} BlkLatency;

static pid_t my_tid(void)
{
    static __thread pid_t tid;

    if (!tid) {
        tid = gettid();
    }
    return tid;
}

static Histogram *histogram_of(const BlkLatency *l, Error **errp)
{
    return histogram_new((const uint64_t *)l->bounds->data, l->bounds->len, errp);
}

static void free_threads(void *part, void *opaque)
{
    BlkLatency *l = opaque;
    LatencyThread *t = *(LatencyThread **)part;

    while (t) {
        LatencyThread *next = t->next;

        for (unsigned i = 0; i < l->lanes; i++) {
            histogram_free(t->lanes[i]);
        }
        g_free(t);
        t = next;
    }
}

static void latency_free(BlkLatency *l)
{
    slot_table_foreach(&l->threads, free_threads, l);
    slot_table_free(&l->threads);
    g_array_unref(l->bounds);
    g_free(l);
}

/* Publishes `l`, and frees what was there when nobody looks at it any more. */
static void publish(BlockBackend *blk, BlkLatencyKind kind, BlkLatency *l)
{
    BlkLatency *old = __atomic_exchange_n(&blk->latency[kind], l, __ATOMIC_ACQ_REL);

    if (old) {
        urcu_memb_synchronize_rcu();
        latency_free(old);
    }
}

bool blk_set_latency_bounds(BlockBackend *blk, BlkLatencyKind kind, const GArray *bounds,
                            Error **errp)
{
    g_autoptr(Histogram) probe = NULL;
    BlkLatency *l;

    ASSERT_BIG_LOCK();
    l = g_new0(BlkLatency, 1);
    l->bounds = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_array_append_vals(l->bounds, bounds->data, bounds->len);
    l->lanes = MAX(blk->lanes, 1);
    slot_table_init(&l->threads, sizeof(LatencyThread *));
    probe = histogram_of(l, errp);
    if (!probe) {
        latency_free(l);
        return false;
    }
    publish(blk, kind, l);
    return true;
}

void blk_clear_latency_bounds(BlockBackend *blk)
{
    ASSERT_BIG_LOCK();
    for (int kind = 0; kind < BLK_LATENCY__MAX; kind++) {
        publish(blk, kind, NULL);
    }
}

void blk_set_lanes(BlockBackend *blk, unsigned n)
{
    ASSERT_BIG_LOCK();
    blk->lanes = n;
}

/* ---- counting. Runs in: the context that completes the request ---- */

static LatencyThread *my_thread(BlkLatency *l)
{
    LatencyThread **head = slot_table_get(&l->threads);
    LatencyThread *t = *head;

    if (G_UNLIKELY(!t || t->tid != my_tid())) {
        t = g_malloc0(sizeof(*t) + l->lanes * sizeof(t->lanes[0]));
        t->tid = my_tid();
        t->next = *head;
        __atomic_store_n(head, t, __ATOMIC_RELEASE);
    }
    return t;
}

void blk_latency_count(BlockBackend *blk, BlkLatencyKind kind, unsigned lane, uint64_t ns)
{
    BlkLatency *l;

    urcu_memb_read_lock();
    l = __atomic_load_n(&blk->latency[kind], __ATOMIC_ACQUIRE);
    if (l && lane < l->lanes) {
        LatencyThread *t = my_thread(l);

        if (G_UNLIKELY(!t->lanes[lane])) {
            __atomic_store_n(&t->lanes[lane], histogram_of(l, &error_abort), __ATOMIC_RELEASE);
        }
        histogram_add(t->lanes[lane], ns);
    }
    urcu_memb_read_unlock();
}

/* ---- reading. Runs in: main thread, which alone replaces what it reads ---- */

typedef struct Sum {
    const BlkLatency *l;
    int lane;
    pid_t tid;
    uint64_t *bins;
} Sum;

static void sum_threads(void *part, void *opaque)
{
    Sum *sum = opaque;
    LatencyThread *t = __atomic_load_n((LatencyThread **)part, __ATOMIC_ACQUIRE);

    for (; t; t = t->next) {
        if (sum->tid && t->tid != sum->tid) {
            continue;
        }
        for (unsigned i = 0; i < sum->l->lanes; i++) {
            const Histogram *h = __atomic_load_n(&t->lanes[i], __ATOMIC_ACQUIRE);

            if (h && (sum->lane < 0 || (unsigned)sum->lane == i)) {
                histogram_sum(h, sum->bins);
            }
        }
    }
}

BlockLatencyHistogramInfo *blk_latency_histogram(BlockBackend *blk, BlkLatencyKind kind, int lane,
                                                 pid_t tid)
{
    BlkLatency *l = blk->latency[kind];
    BlockLatencyHistogramInfo *info;
    Sum sum = {.l = l, .lane = lane, .tid = tid};

    ASSERT_BIG_LOCK();
    if (!l) {
        return NULL;
    }
    info = g_new0(BlockLatencyHistogramInfo, 1);
    info->boundaries = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_array_append_vals(info->boundaries, l->bounds->data, l->bounds->len);
    info->bins = g_array_new(FALSE, TRUE, sizeof(uint64_t));
    g_array_set_size(info->bins, l->bounds->len + 1);
    sum.bins = (uint64_t *)info->bins->data;
    slot_table_foreach(&l->threads, sum_threads, &sum);
    return info;
}

/* ---- QMP ---- */

bool qmp_block_latency_histogram_set(const q_block_latency_histogram_set_args *args, Error **errp)
{
    /* In the order in which clients see what has happened when a later one is refused. */
    const struct {
        BlkLatencyKind kind;
        const char *what;
        const GArray *bounds;
    } wanted[] = {
        {BLK_LATENCY_READ, "read", args->boundaries_read},
        {BLK_LATENCY_WRITE, "write", args->boundaries_write},
        {BLK_LATENCY_ZONE_APPEND, "append write", args->boundaries_zap},
        {BLK_LATENCY_FLUSH, "flush", args->boundaries_flush},
    };
    BlockBackend *blk = blk_by_device_or_id(NULL, args->id, errp);
    bool any = args->boundaries != NULL;

    if (!blk) {
        return false;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(wanted); i++) {
        const GArray *bounds = wanted[i].bounds ? wanted[i].bounds : args->boundaries;

        any |= bounds != NULL;
        if (bounds && !blk_set_latency_bounds(blk, wanted[i].kind, bounds, NULL)) {
            error_set(errp, "Device '%s' set %s boundaries fail", args->id, wanted[i].what);
            return false;
        }
    }
    if (!any) {
        blk_clear_latency_bounds(blk);
    }
    return true;
}
QMP_REGISTER(block_latency_histogram_set)
