/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of a whole disk, without a filter node: of -drive, and of block_set_io_throttle. */
#include "throttle-limits.h"
#include "util/biglock.h"

static void blk_go(void *opaque, BlockRequest *req)
{
    BlockBackend *blk = opaque;

    block_node_submit(blk->root, req);
}

/* Runs drained. */
static void swap_member(BlockBackend *blk, ThrottleMember *m)
{
    ThrottleMember *old = blk->throttle;

    if (blk->hurry_depth) {
        if (old) {
            throttle_member_release_all(old, false);
        }
        if (m) {
            throttle_member_release_all(m, true);
        }
    }
    blk->throttle = m;
    if (old) {
        throttle_member_free(old);
    }
}

void blk_leave_group(BlockBackend *blk)
{
    if (blk->throttle) {
        blk_drain_begin(blk);
        swap_member(blk, NULL);
        blk_drain_end(blk);
    }
}

void blk_join_group(BlockBackend *blk, const char *group)
{
    ThrottleGroup *g = throttle_group_find(group);

    ASSERT_BIG_LOCK();
    if (blk->throttle && throttle_member_group(blk->throttle) == g) {
        return;
    }
    if (g) {
        throttle_group_ref(g);
    } else {
        g = throttle_group_new(group);
    }
    blk_drain_begin(blk);
    swap_member(blk, throttle_member_new(g, blk_go, blk));
    blk_drain_end(blk);
    throttle_group_unref(g);
}

void blk_set_limits(BlockBackend *blk, const ThrottleConfig *cfg, const char *group,
                    const char *dflt)
{
    if (!throttle_config_enabled(cfg)) {
        blk_leave_group(blk);
        return;
    }
    if (group || !blk->throttle) {
        blk_join_group(blk, group ? group : dflt);
    }
    throttle_group_set_config(throttle_member_group(blk->throttle), cfg);
}
