/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_HISTOGRAM_H
#define SPINDLE_UTIL_HISTOGRAM_H

#include <stdint.h>

#include "util/error.h"

/*
 * Counts of values between boundaries b0 < b1 < ...: bin 0 counts [0, b0), bin i counts
 * [b(i-1), bi), the last one everything from the last boundary on. One thread writes, any thread
 * may read: whoever has several writers keeps a histogram for each and sums them up.
 */
typedef struct Histogram Histogram;

/* `bounds` must ascend strictly from above 0; otherwise NULL and an error. Without any, all values
 * are counted in one bin. Runs in: any thread. */
Histogram *histogram_new(const uint64_t *bounds, unsigned n_bounds, Error **errp);
void histogram_free(Histogram *h); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Histogram, histogram_free)

/* Number of bins: one more than boundaries. Runs in: any thread. */
unsigned histogram_n_bins(const Histogram *h);
/* Borrowed; histogram_n_bins() - 1 values. Runs in: any thread. */
const uint64_t *histogram_bounds(const Histogram *h);

/* Counts `value`. Runs in: the histogram's one writer. */
void histogram_add(Histogram *h, uint64_t value);
/* Adds the counts to sum[0 .. histogram_n_bins() - 1]. Runs in: any thread. */
void histogram_sum(const Histogram *h, uint64_t *sum);

#endif
