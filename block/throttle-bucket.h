/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_THROTTLE_BUCKET_H
#define BLOCK_THROTTLE_BUCKET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/*
 * Limits, and the leaky buckets that enforce them. A request is poured into the buckets of its kind
 * when it starts; a bucket leaks at its average rate. What is fuller than its size lets nothing
 * pass until enough has leaked. Plain arithmetic: no lock, no clock.
 */
typedef enum {
    THROTTLE_BPS_TOTAL,
    THROTTLE_BPS_READ,
    THROTTLE_BPS_WRITE,
    THROTTLE_IOPS_TOTAL,
    THROTTLE_IOPS_READ,
    THROTTLE_IOPS_WRITE,
    THROTTLE__MAX,
} ThrottleKind;

typedef enum { THROTTLE_DIR_READ, THROTTLE_DIR_WRITE, THROTTLE_DIR__MAX } ThrottleDir;

/* No rate is higher; bytes or requests per second. */
#define THROTTLE_RATE_MAX INT64_C(1000000000000000)

typedef struct ThrottleLimit {
    uint64_t avg;    /* per second, in the long run; 0: no limit */
    uint64_t max;    /* per second, in a burst; 0: bursts of a tenth of a second at avg */
    uint64_t length; /* of a burst at max, in seconds */
} ThrottleLimit;

typedef struct ThrottleConfig {
    ThrottleLimit limit[THROTTLE__MAX];
    uint64_t op_size; /* bytes that count as one request; 0: requests count as they come */
} ThrottleConfig;

/* No limits. */
void throttle_config_init(ThrottleConfig *cfg);
bool throttle_config_enabled(const ThrottleConfig *cfg);
/* Negative numbers of users are given as they are, and refused as too large. */
bool throttle_config_check(const ThrottleConfig *cfg, Error **errp);

/* In billionths of a byte or request, so that leaking for any number of ns is exact. The largest
 * bucket, THROTTLE_RATE_MAX, has 80 bits. */
__extension__ typedef __int128 ThrottleLevel;

typedef struct ThrottleState {
    ThrottleConfig cfg;
    ThrottleLevel level[THROTTLE__MAX];
    ThrottleLevel burst[THROTTLE__MAX]; /* leaks at `max`; used if length > 1 */
    int64_t leaked_ns;                  /* up to when */
} ThrottleState;

/* Empty buckets of other sizes. cfg has been checked. */
void throttle_state_set(ThrottleState *s, const ThrottleConfig *cfg, int64_t now_ns);
/* How long (ns) a request must wait; 0: it may start. A clock that goes back leaks nothing. */
int64_t throttle_state_wait(ThrottleState *s, ThrottleDir dir, int64_t now_ns);
/* A request starts. */
void throttle_state_account(ThrottleState *s, ThrottleDir dir, int64_t bytes);

#endif
