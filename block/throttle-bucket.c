/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic of limits: leaky buckets with bursts. */
#include "throttle-bucket.h"

#include <inttypes.h>
#include <string.h>

#define NANO INT64_C(1000000000)

/* The two buckets that a request of a direction goes into, for bytes and for requests. */
static const ThrottleKind kinds_of[THROTTLE_DIR__MAX][4] = {
    [THROTTLE_DIR_READ] = { THROTTLE_BPS_TOTAL, THROTTLE_IOPS_TOTAL, THROTTLE_BPS_READ,
                            THROTTLE_IOPS_READ },
    [THROTTLE_DIR_WRITE] = { THROTTLE_BPS_TOTAL, THROTTLE_IOPS_TOTAL, THROTTLE_BPS_WRITE,
                             THROTTLE_IOPS_WRITE },
};

void throttle_config_init(ThrottleConfig *cfg)
{
    memset(cfg, 0, sizeof(*cfg));
    for (int i = 0; i < THROTTLE__MAX; i++) {
        cfg->limit[i].length = 1;
    }
}

bool throttle_config_enabled(const ThrottleConfig *cfg)
{
    for (int i = 0; i < THROTTLE__MAX; i++) {
        if (cfg->limit[i].avg) {
            return true;
        }
    }
    return false;
}

static bool conflicting(const ThrottleConfig *cfg)
{
    for (int i = 0; i < THROTTLE__MAX; i += 3) {
        const ThrottleLimit *total = &cfg->limit[i], *rd = total + 1, *wr = total + 2;

        if ((total->avg && (rd->avg || wr->avg)) || (total->max && (rd->max || wr->max))) {
            return true;
        }
    }
    return false;
}

static bool check_limit(const ThrottleLimit *l, Error **errp)
{
    const uint64_t most = THROTTLE_RATE_MAX;

    if (l->avg > most || l->max > most) {
        error_set(errp, "bps/iops/max values must be within [0, %" PRIi64 "]", THROTTLE_RATE_MAX);
        return false;
    }
    if (!l->length) {
        error_set(errp, "the burst length cannot be 0");
        return false;
    }
    if (l->length > 1 && !l->max) {
        error_set(errp, "burst length set without burst rate");
        return false;
    }
    if (l->max && l->length > most / l->max) {
        error_set(errp, "burst length too high for this burst rate");
        return false;
    }
    if (l->max && !l->avg) {
        error_set(errp, "bps_max/iops_max require corresponding bps/iops values");
        return false;
    }
    if (l->max && l->max < l->avg) {
        error_set(errp, "bps_max/iops_max cannot be lower than bps/iops");
        return false;
    }
    return true;
}

bool throttle_config_check(const ThrottleConfig *cfg, Error **errp)
{
    if (conflicting(cfg)) {
        error_set(errp, "bps/iops/max total values and read/write values cannot be used at the "
                        "same time");
        return false;
    }
    if (cfg->op_size && !cfg->limit[THROTTLE_IOPS_TOTAL].avg &&
        !cfg->limit[THROTTLE_IOPS_READ].avg && !cfg->limit[THROTTLE_IOPS_WRITE].avg) {
        error_set(errp, "iops size requires an iops value to be set");
        return false;
    }
    for (int i = 0; i < THROTTLE__MAX; i++) {
        if (!check_limit(&cfg->limit[i], errp)) {
            return false;
        }
    }
    return true;
}

void throttle_state_set(ThrottleState *s, const ThrottleConfig *cfg, int64_t now_ns)
{
    memset(s, 0, sizeof(*s));
    s->cfg = *cfg;
    s->leaked_ns = now_ns;
}

static void leak_level(ThrottleLevel *level, uint64_t rate, int64_t ns)
{
    ThrottleLevel out = (ThrottleLevel)rate * ns;

    *level = *level > out ? *level - out : 0;
}

static void leak(ThrottleState *s, int64_t now_ns)
{
    int64_t ns = now_ns - s->leaked_ns;

    if (now_ns <= s->leaked_ns) {
        return;
    }
    s->leaked_ns = now_ns;
    for (int i = 0; i < THROTTLE__MAX; i++) {
        const ThrottleLimit *l = &s->cfg.limit[i];

        if (l->avg) {
            leak_level(&s->level[i], l->avg, ns);
            leak_level(&s->burst[i], l->max, ns);
        }
    }
}

/* Time until `excess` has leaked, rounded up: when it is over, nothing is left of it. */
static int64_t time_to_leak(ThrottleLevel excess, uint64_t rate)
{
    ThrottleLevel ns;

    if (excess <= 0) {
        return 0;
    }
    ns = (excess + (ThrottleLevel)rate - 1) / (ThrottleLevel)rate;
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static int64_t wait_of(const ThrottleState *s, ThrottleKind kind)
{
    const ThrottleLimit *l = &s->cfg.limit[kind];
    ThrottleLevel size;
    int64_t ns;

    if (!l->avg) {
        return 0;
    }
    if (!l->max) {
        return time_to_leak(s->level[kind] - (ThrottleLevel)l->avg * (NANO / 10), l->avg);
    }
    size = (ThrottleLevel)l->max * (ThrottleLevel)l->length * NANO;
    ns = time_to_leak(s->level[kind] - size, l->avg);
    if (ns == 0 && l->length > 1) {
        /* In the burst: no faster than its rate. */
        ns = time_to_leak(s->burst[kind] - (ThrottleLevel)l->max * (NANO / 10), l->max);
    }
    return ns;
}

int64_t throttle_state_wait(ThrottleState *s, ThrottleDir dir, int64_t now_ns)
{
    int64_t longest = 0;

    leak(s, now_ns);
    for (int i = 0; i < 4; i++) {
        int64_t wait = wait_of(s, kinds_of[dir][i]);

        longest = MAX(longest, wait);
    }
    return longest;
}

void throttle_state_account(ThrottleState *s, ThrottleDir dir, int64_t bytes)
{
    ThrottleLevel size = (ThrottleLevel)bytes * NANO, units = NANO;

    if (s->cfg.op_size && (uint64_t)bytes > s->cfg.op_size) {
        units = size / (ThrottleLevel)s->cfg.op_size;
    }
    for (int i = 0; i < 4; i++) {
        ThrottleKind kind = kinds_of[dir][i];
        ThrottleLevel n = i % 2 ? units : size;

        if (s->cfg.limit[kind].avg) {
            s->level[kind] += n;
            s->burst[kind] += n;
        }
    }
}
