/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms: which bin a value falls into, and what is refused. */
#include "util/histogram.h"

static void test_bins(void)
{
    static const uint64_t bounds[] = {10, 50, 100};
    static const uint64_t values[] = {0, 9, 10, 49, 50, 99, 100, UINT64_MAX, 1};
    g_autoptr(Histogram) h = histogram_new(bounds, 3, &error_abort);
    uint64_t sum[4] = {0, 0, 0, 1000};

    g_assert_cmpint(histogram_n_bins(h), ==, 4);
    g_assert_cmpint(histogram_bounds(h)[2], ==, 100);
    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        histogram_add(h, values[i]);
    }
    histogram_sum(h, sum);
    g_assert_cmpint(sum[0], ==, 3);
    g_assert_cmpint(sum[1], ==, 2);
    g_assert_cmpint(sum[2], ==, 2);
    g_assert_cmpint(sum[3], ==, 1002); /* added to what was there */
}

static void test_no_boundaries(void)
{
    g_autoptr(Histogram) h = histogram_new(NULL, 0, &error_abort);
    uint64_t sum = 0;

    g_assert_cmpint(histogram_n_bins(h), ==, 1);
    histogram_add(h, 0);
    histogram_add(h, UINT64_MAX);
    histogram_sum(h, &sum);
    g_assert_cmpint(sum, ==, 2);
}

static void refuse(const uint64_t *bounds, unsigned n)
{
    g_autoptr(Error) err = NULL;

    g_assert_null(histogram_new(bounds, n, &err));
    g_assert_nonnull(err);
}

static void test_refused(void)
{
    refuse((uint64_t[]){0, 1}, 2);
    refuse((uint64_t[]){5, 5}, 2);
    refuse((uint64_t[]){5, 4}, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/histogram/bins", test_bins);
    g_test_add_func("/histogram/no-boundaries", test_no_boundaries);
    g_test_add_func("/histogram/refused", test_refused);
    return g_test_run();
}
