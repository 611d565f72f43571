/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies and queue depths over the last seconds (-drive stats-intervals.N). */
#include "timed-stats.h"

#include <pthread.h>

#define NS_PER_SECOND INT64_C(1000000000)
#define WINDOWS       2

/* Two windows of the full length, half of it apart: the older one is shown, which is always at
 * least half full, and forgets all at once when its time is over. */
typedef struct Window {
    int64_t start, end; /* ns */
    uint64_t sum, count;
    int64_t min, max;
} Window;

typedef struct Interval {
    unsigned seconds;
    Window windows[BLK_LATENCY__MAX][WINDOWS];
} Interval;

struct BlkTimed {
    pthread_mutex_t lock; /* of what follows */
    unsigned n;
    Interval intervals[];
};

static void window_begin(Window *w, int64_t start, int64_t end)
{
    *w = (Window){ .start = start, .end = end };
}

/* Makes both windows hold `now`. */
static void windows_move(Window *w, int64_t length, int64_t now)
{
    for (int i = 0; i < WINDOWS; i++) {
        if (w[i].end == 0) {
            window_begin(&w[i], now, now + length - i * (length / WINDOWS));
        } else if (now >= w[i].end) {
            /* The grid stays, so that the windows remain half a length apart. */
            int64_t late = (now - w[i].end) % length;

            window_begin(&w[i], now - late, now - late + length);
        }
    }
}

static const Window *older(const Window *w)
{
    return w[0].end < w[1].end ? &w[0] : &w[1];
}

BlkTimed *blk_timed_new(const GArray *lengths)
{
    BlkTimed *t = g_malloc0(sizeof(*t) + lengths->len * sizeof(t->intervals[0]));

    pthread_mutex_init(&t->lock, NULL);
    t->n = lengths->len;
    for (unsigned i = 0; i < t->n; i++) {
        t->intervals[i].seconds = g_array_index(lengths, unsigned, i);
    }
    return t;
}

void blk_timed_free(BlkTimed *t)
{
    if (t) {
        pthread_mutex_destroy(&t->lock);
        g_free(t);
    }
}

void blk_timed_account(BlkTimed *t, BlkLatencyKind kind, int64_t ns, int64_t now)
{
    pthread_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->n; i++) {
        Window *windows = t->intervals[i].windows[kind];

        windows_move(windows, t->intervals[i].seconds * NS_PER_SECOND, now);
        for (int k = 0; k < WINDOWS; k++) {
            Window *w = &windows[k];

            w->min = w->count == 0 ? ns : MIN(w->min, ns);
            w->max = MAX(w->max, ns);
            w->sum += (uint64_t)ns;
            w->count++;
        }
    }
    pthread_mutex_unlock(&t->lock);
}

typedef struct Summary {
    int64_t min, max, avg;
    double depth;
} Summary;

static Summary summary(Interval *iv, BlkLatencyKind kind, int64_t now)
{
    Window *windows = iv->windows[kind];
    const Window *w;
    Summary s = { 0 };

    windows_move(windows, iv->seconds * NS_PER_SECOND, now);
    w = older(windows);
    if (w->count > 0) {
        s.min = w->min;
        s.max = w->max;
        s.avg = (int64_t)(w->sum / w->count);
        /* So many requests were with the disk, on average, as their time is longer than the
         * clock's. */
        s.depth = (double)w->sum / (double)MAX(now - w->start, 1);
    }
    return s;
}

void blk_timed_describe(BlkTimed *t, int64_t now, GPtrArray *list)
{
    pthread_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->n; i++) {
        Interval *iv = &t->intervals[i];
        BlockDeviceTimedStats *out = g_new0(BlockDeviceTimedStats, 1);
        Summary rd = summary(iv, BLK_LATENCY_READ, now);
        Summary wr = summary(iv, BLK_LATENCY_WRITE, now);
        Summary flush = summary(iv, BLK_LATENCY_FLUSH, now);

        out->interval_length = iv->seconds;
        out->min_rd_latency_ns = rd.min;
        out->max_rd_latency_ns = rd.max;
        out->avg_rd_latency_ns = rd.avg;
        out->avg_rd_queue_depth = rd.depth;
        out->min_wr_latency_ns = wr.min;
        out->max_wr_latency_ns = wr.max;
        out->avg_wr_latency_ns = wr.avg;
        out->avg_wr_queue_depth = wr.depth;
        out->min_flush_latency_ns = flush.min;
        out->max_flush_latency_ns = flush.max;
        out->avg_flush_latency_ns = flush.avg;
        g_ptr_array_add(list, out);
    }
    pthread_mutex_unlock(&t->lock);
}

bool blk_timed_take_options(Opts *opts, GArray **lengths, Error **errp)
{
    g_autoptr(GArray) found = g_array_new(false, false, sizeof(unsigned));

    for (unsigned i = 0;; i++) {
        g_autofree char *key = g_strdup_printf("stats-intervals.%u", i);
        g_autofree char *text = opts_take(opts, key);
        uint64_t n;
        unsigned seconds;

        if (!text) {
            break;
        }
        if (!parse_uint64(text, &n) || n == 0 || n > UINT32_MAX) {
            error_set(errp, "Invalid interval length: %s", text);
            return false;
        }
        seconds = (unsigned)n;
        g_array_append_val(found, seconds);
    }
    for (guint i = 0; i < opts->list->len; i++) {
        const Opt *o = g_ptr_array_index(opts->list, i);

        if (g_str_has_prefix(o->key, "stats-intervals.")) {
            error_set(errp, "Invalid option %s", o->key);
            return false;
        }
    }
    *lengths = found->len > 0 ? g_steal_pointer(&found) : NULL;
    return true;
}
