/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_TIMED_STATS_H
#define BLOCK_TIMED_STATS_H

#include "block/block.h"
#include "qapi/keyval.h"
#include "qapi/qapi-block-core.h"

/*
 * Latencies and queue depths over the last seconds, for as many lengths of time as a user asks for
 * (-drive stats-intervals.N). Numbers are of the last completed half of the interval and what came
 * after it: between half of it and all of it.
 */
typedef struct BlkTimed BlkTimed;

/* lengths: of unsigned, seconds, each > 0. */
BlkTimed *blk_timed_new(const GArray *lengths);
void blk_timed_free(BlkTimed *t);
/* A request that took `ns` ended at `now` (block_clock()). Runs in: any thread. */
void blk_timed_account(BlkTimed *t, BlkLatencyKind kind, int64_t ns, int64_t now);
/* Adds one element for each length, in order. Runs in: any thread. */
void blk_timed_describe(BlkTimed *t, int64_t now, GPtrArray *list);
/* Takes stats-intervals.0, .1, ... out of opts. *lengths is NULL without any. */
bool blk_timed_take_options(Opts *opts, GArray **lengths, Error **errp);

#endif
