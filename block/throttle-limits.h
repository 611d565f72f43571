/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_THROTTLE_LIMITS_H
#define BLOCK_THROTTLE_LIMITS_H

#include "backend.h"
#include "qapi/keyval.h"
#include "qapi/qapi-block-throttle.h"
#include "throttle.h"

/*
 * Limits in the forms that users know: an object with 19 members, properties, options of -drive and
 * arguments of block_set_io_throttle. The numbers of a ThrottleConfig can be reached by index.
 */
enum { THROTTLE_FIELD_AVG, THROTTLE_FIELD_MAX, THROTTLE_FIELD_LENGTH, THROTTLE_FIELD__MAX };
#define THROTTLE_LIMITS_INDEX(kind, field) ((kind) * THROTTLE_FIELD__MAX + (field))
#define THROTTLE_LIMITS_SIZE               (THROTTLE__MAX * THROTTLE_FIELD__MAX) /* op_size */
#define THROTTLE_LIMITS_MAX                (THROTTLE_LIMITS_SIZE + 1)

uint64_t *throttle_config_field(ThrottleConfig *cfg, unsigned index);
static inline bool throttle_limits_is_length(unsigned index)
{
    return index != THROTTLE_LIMITS_SIZE &&
           index % THROTTLE_FIELD__MAX == THROTTLE_FIELD_LENGTH;
}

/* Takes over the members that are given. */
bool throttle_limits_to_config(const ThrottleLimits *limits, ThrottleConfig *cfg, Error **errp);
/* All members. Caller frees. */
ThrottleLimits *throttle_limits_of_config(const ThrottleConfig *cfg);

/* Takes the options throttling.* out of opts and reads them; *group (caller frees) is NULL if none
 * is given. */
bool throttle_take_options(Opts *opts, ThrottleConfig *cfg, char **group, Error **errp);

/* Fills in what query-block shows of the limits of blk. */
void throttle_fill_info(BlockDeviceInfo *info, BlockBackend *blk);

/* Puts blk into a group with these limits, which the group takes on; group NULL: the group that it
 * is in, else `dflt`. Without limits it leaves its group. The config has been checked. Drains blk.
 * Runs in: main thread. */
void blk_set_limits(BlockBackend *blk, const ThrottleConfig *cfg, const char *group,
                    const char *dflt);
/* Puts blk into a group as it is, which is made if it does not exist. */
void blk_join_group(BlockBackend *blk, const char *group);

#endif
