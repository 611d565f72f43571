/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arithmetic of limits: bursts, rounding, extreme values, what is refused. */
#include <inttypes.h>
#include <string.h>

#include "../../block/throttle-bucket.h"

#define S INT64_C(1000000000)

static ThrottleConfig config(ThrottleKind kind, uint64_t avg, uint64_t max, uint64_t length)
{
    ThrottleConfig cfg;

    throttle_config_init(&cfg);
    cfg.limit[kind] = (ThrottleLimit){ avg, max, length };
    return cfg;
}

/* How many requests of `bytes` start at once at `now`. */
static unsigned burst(ThrottleState *s, ThrottleDir dir, int64_t bytes, int64_t now)
{
    unsigned n = 0;

    while (n < 1000000 && throttle_state_wait(s, dir, now) == 0) {
        throttle_state_account(s, dir, bytes);
        n++;
    }
    return n;
}

/* How many start until `end`, each as soon as it may. */
static unsigned run_until(ThrottleState *s, ThrottleDir dir, int64_t bytes, int64_t *now,
                          int64_t end)
{
    unsigned n = 0;

    for (;;) {
        int64_t wait = throttle_state_wait(s, dir, *now);

        if (wait > end - *now) {
            *now = end;
            return n;
        }
        *now += wait;
        if (wait == 0) {
            throttle_state_account(s, dir, bytes);
            n++;
        } else {
            /* When it is over, nothing is left to wait for. */
            g_assert_cmpint(throttle_state_wait(s, dir, *now), ==, 0);
        }
    }
}

static void test_no_limit(void)
{
    ThrottleConfig cfg;
    ThrottleState s;

    throttle_config_init(&cfg);
    g_assert_false(throttle_config_enabled(&cfg));
    g_assert_true(throttle_config_check(&cfg, NULL));
    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_WRITE, INT32_MAX, 0), ==, 1000000);
}

static void test_average(void)
{
    static const struct {
        uint64_t iops;
        unsigned first; /* a tenth of a second's worth, and the one that fills the bucket */
    } rows[] = { { 1, 1 }, { 10, 2 }, { 100, 11 }, { 7, 1 }, { 1000, 101 }, { 99999, 10000 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ThrottleConfig cfg = config(THROTTLE_IOPS_TOTAL, rows[i].iops, 0, 1);
        ThrottleState s;
        int64_t now = 5;

        throttle_state_set(&s, &cfg, now);
        g_assert_cmpuint(burst(&s, THROTTLE_DIR_READ, 512, now), ==, rows[i].first);
        /* From then on exactly the rate, for any number of seconds. */
        for (int sec = 1; sec <= 50; sec++) {
            unsigned n = run_until(&s, THROTTLE_DIR_READ, 512, &now, 5 + sec * S);

            g_assert_cmpuint(n, >=, rows[i].iops - 1);
            g_assert_cmpuint(n, <=, rows[i].iops + 1);
        }
    }
}

static void test_exact_over_an_hour(void)
{
    ThrottleConfig cfg = config(THROTTLE_IOPS_WRITE, 3, 0, 1);
    ThrottleState s;
    int64_t now = 0;

    throttle_state_set(&s, &cfg, 0);
    /* 0.3 may be in the bucket when a request starts, and one waits for a third of a second: the
     * n-th starts when (n - 1) - 0.3 have leaked. */
    g_assert_cmpuint(run_until(&s, THROTTLE_DIR_WRITE, 512, &now, 3600 * S), ==, 3 * 3600 + 1);
    /* Reads are none of its business. */
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, now), ==, 0);
}

static void test_burst(void)
{
    ThrottleConfig cfg = config(THROTTLE_IOPS_TOTAL, 1, 50, 1);
    ThrottleState s;
    int64_t now = 0;

    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_WRITE, 512, 0), ==, 51);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_WRITE, 0), ==, S);

    /* Longer than a second: at no more than its rate, and then at the average. */
    cfg = config(THROTTLE_IOPS_TOTAL, 1, 50, 2);
    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_WRITE, 512, 0), ==, 6);
    g_assert_cmpuint(run_until(&s, THROTTLE_DIR_WRITE, 512, &now, S), ==, 50);
    g_assert_cmpuint(run_until(&s, THROTTLE_DIR_WRITE, 512, &now, 10 * S), ==, 101 + 10 - 56);
    g_assert_cmpuint(run_until(&s, THROTTLE_DIR_WRITE, 512, &now, 20 * S), ==, 10);
}

static void test_bytes_and_op_size(void)
{
    ThrottleConfig cfg = config(THROTTLE_BPS_READ, 40960, 0, 1);
    ThrottleState s;

    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_READ, 4096, 0), ==, 2);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, 0), ==, S / 10);
    cfg = config(THROTTLE_IOPS_TOTAL, 1, 50, 1);
    cfg.op_size = 4096;
    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_READ, 8192, 0), ==, 26);
    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_READ, 6144, 0), ==, 34);
    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_READ, 4096, 0), ==, 51);
    /* As large as numbers get: nothing is larger, so all count as one. */
    cfg.op_size = UINT64_MAX;
    throttle_state_set(&s, &cfg, 0);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_READ, INT32_MAX, 0), ==, 51);
}

static void test_both_limits_hold(void)
{
    ThrottleConfig cfg = config(THROTTLE_BPS_WRITE, 1000, 0, 1);
    ThrottleState s;

    cfg.limit[THROTTLE_IOPS_TOTAL] = (ThrottleLimit){ 10, 0, 1 };
    g_assert_true(throttle_config_check(&cfg, NULL));
    throttle_state_set(&s, &cfg, 0);
    throttle_state_account(&s, THROTTLE_DIR_WRITE, 2100);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_WRITE, 0), ==, 2 * S);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, 0), ==, 0);
    throttle_state_account(&s, THROTTLE_DIR_READ, 512);
    throttle_state_account(&s, THROTTLE_DIR_READ, 512);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, 0), ==, 2 * S / 10);
}

static void test_extremes(void)
{
    ThrottleConfig cfg = config(THROTTLE_BPS_TOTAL, 1, THROTTLE_RATE_MAX, 1);
    ThrottleState s;

    /* A full bucket of the largest size takes longer to leak than there is time. */
    g_assert_true(throttle_config_check(&cfg, NULL));
    throttle_state_set(&s, &cfg, INT64_MIN);
    for (int i = 0; i < 500000; i++) {
        throttle_state_account(&s, THROTTLE_DIR_READ, INT32_MAX);
    }
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, INT64_MIN), ==, INT64_MAX);
    /* All of time at the highest rate. */
    cfg = config(THROTTLE_IOPS_READ, THROTTLE_RATE_MAX, 0, 1);
    throttle_state_set(&s, &cfg, 0);
    throttle_state_account(&s, THROTTLE_DIR_READ, INT64_MAX);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, INT64_MAX), ==, 0);
    /* The largest request there is. */
    cfg = config(THROTTLE_BPS_READ, 1, 0, 1);
    throttle_state_set(&s, &cfg, 0);
    throttle_state_account(&s, THROTTLE_DIR_READ, INT64_MAX);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, 0), ==, INT64_MAX);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, INT64_MAX), ==, INT64_MAX);
    /* A clock that goes back leaks nothing, and nothing twice. */
    cfg = config(THROTTLE_IOPS_READ, 10, 0, 1);
    throttle_state_set(&s, &cfg, 5 * S);
    g_assert_cmpuint(burst(&s, THROTTLE_DIR_READ, 512, 5 * S), ==, 2);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, 4 * S), ==, S / 10);
    g_assert_cmpint(throttle_state_wait(&s, THROTTLE_DIR_READ, 5 * S + S / 10), ==, 0);
}

static void test_refused(void)
{
    static const char *const range = "bps/iops/max values must be within [0, 1000000000000000]";
    static const char *const conflict = "bps/iops/max total values and read/write values cannot "
                                        "be used at the same time";
    static const struct {
        ThrottleLimit total, read;
        uint64_t op_size;
        const char *text; /* NULL: accepted */
    } rows[] = {
        { { THROTTLE_RATE_MAX, 0, 1 }, { 0, 0, 1 }, 0, NULL },
        { { THROTTLE_RATE_MAX + 1, 0, 1 }, { 0, 0, 1 }, 0, range },
        { { UINT64_MAX, 0, 1 }, { 0, 0, 1 }, 0, range },
        { { INT64_MAX, 0, 1 }, { 0, 0, 1 }, 0, range },
        { { 1, (uint64_t)1 << 63, 1 }, { 0, 0, 1 }, 0, range },
        { { 1, 0, 1 }, { 1, 0, 1 }, 0, conflict },
        { { 0, 2, 1 }, { 0, 2, 1 }, 0, conflict },
        { { 1, 0, 1 }, { 0, 2, 1 }, 0,
          "bps_max/iops_max require corresponding bps/iops values" },
        { { 0, 2, 1 }, { 0, 0, 1 }, 0,
          "bps_max/iops_max require corresponding bps/iops values" },
        { { 2, 1, 1 }, { 0, 0, 1 }, 0, "bps_max/iops_max cannot be lower than bps/iops" },
        { { 2, 2, 1 }, { 0, 0, 1 }, 0, NULL },
        { { 1, 2, 0 }, { 0, 0, 1 }, 0, "the burst length cannot be 0" },
        { { 1, 0, 2 }, { 0, 0, 1 }, 0, "burst length set without burst rate" },
        { { 1, THROTTLE_RATE_MAX, 1 }, { 0, 0, 1 }, 0, NULL },
        { { 1, THROTTLE_RATE_MAX, 2 }, { 0, 0, 1 }, 0,
          "burst length too high for this burst rate" },
        { { 1, 2, UINT64_MAX }, { 0, 0, 1 }, 0, "burst length too high for this burst rate" },
        { { 0, 0, 1 }, { 0, 0, 1 }, 1, "iops size requires an iops value to be set" },
        { { 0, 0, 1 }, { 5, 0, 1 }, UINT64_MAX, NULL },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        ThrottleConfig cfg;
        Error *err = NULL;

        throttle_config_init(&cfg);
        cfg.limit[THROTTLE_IOPS_TOTAL] = rows[i].total;
        cfg.limit[THROTTLE_IOPS_READ] = rows[i].read;
        cfg.op_size = rows[i].op_size;
        g_assert_cmpint(throttle_config_check(&cfg, &err), ==, !rows[i].text);
        g_assert_cmpstr(err ? error_message(err) : NULL, ==, rows[i].text);
        error_free(err);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/throttle-bucket/no-limit", test_no_limit);
    g_test_add_func("/throttle-bucket/average", test_average);
    g_test_add_func("/throttle-bucket/exact-over-an-hour", test_exact_over_an_hour);
    g_test_add_func("/throttle-bucket/burst", test_burst);
    g_test_add_func("/throttle-bucket/bytes-and-op-size", test_bytes_and_op_size);
    g_test_add_func("/throttle-bucket/both-limits-hold", test_both_limits_hold);
    g_test_add_func("/throttle-bucket/extremes", test_extremes);
    g_test_add_func("/throttle-bucket/refused", test_refused);
    return g_test_run();
}
