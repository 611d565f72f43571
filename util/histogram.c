/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of values between boundaries. */
#include "util/histogram.h"

struct Histogram {
    unsigned n_bounds;
    uint64_t *bounds;
    uint64_t *bins; /* n_bounds + 1; written by one thread, read by all */
};

Histogram *histogram_new(const uint64_t *bounds, unsigned n_bounds, Error **errp)
{
    uint64_t prev = 0;
    Histogram *h;

    for (unsigned i = 0; i < n_bounds; i++) {
        if (bounds[i] <= prev) {
            error_set(errp,
                      "Histogram boundaries must ascend from above 0, but %" G_GUINT64_FORMAT
                      " follows %" G_GUINT64_FORMAT,
                      bounds[i], prev);
            return NULL;
        }
        prev = bounds[i];
    }
    h = g_new0(Histogram, 1);
    h->n_bounds = n_bounds;
    h->bounds = n_bounds ? g_memdup2(bounds, n_bounds * sizeof(*bounds)) : NULL;
    h->bins = g_new0(uint64_t, n_bounds + 1);
    return h;
}

void histogram_free(Histogram *h)
{
    if (h) {
        g_free(h->bounds);
        g_free(h->bins);
        g_free(h);
    }
}

unsigned histogram_n_bins(const Histogram *h)
{
    return h->n_bounds + 1;
}

const uint64_t *histogram_bounds(const Histogram *h)
{
    return h->bounds;
}

void histogram_add(Histogram *h, uint64_t value)
{
    unsigned low = 0, high = h->n_bounds;

    /* The number of boundaries at or below the value is the bin. */
    while (low < high) {
        unsigned mid = low + (high - low) / 2;

        if (h->bounds[mid] <= value) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    /* Only this thread writes, so no read-modify-write is needed, only an undivided store. */
    __atomic_store_n(&h->bins[low], h->bins[low] + 1, __ATOMIC_RELAXED);
}

void histogram_sum(const Histogram *h, uint64_t *sum)
{
    for (unsigned i = 0; i <= h->n_bounds; i++) {
        sum[i] += __atomic_load_n(&h->bins[i], __ATOMIC_RELAXED);
    }
}
