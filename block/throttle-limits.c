/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits as users write and read them. */
#include "throttle-limits.h"

#include <inttypes.h>

/* Members of the schema's objects, and which limit they mean. */
#define EACH_LIMIT(X)                                                                              \
    X(iops_total, iops, THROTTLE_IOPS_TOTAL, "iops-total")                                         \
    X(iops_read, iops_rd, THROTTLE_IOPS_READ, "iops-read")                                         \
    X(iops_write, iops_wr, THROTTLE_IOPS_WRITE, "iops-write")                                      \
    X(bps_total, bps, THROTTLE_BPS_TOTAL, "bps-total")                                             \
    X(bps_read, bps_rd, THROTTLE_BPS_READ, "bps-read")                                             \
    X(bps_write, bps_wr, THROTTLE_BPS_WRITE, "bps-write")

uint64_t *throttle_config_field(ThrottleConfig *cfg, unsigned index)
{
    ThrottleLimit *l = &cfg->limit[index / THROTTLE_FIELD__MAX];

    if (index == THROTTLE_LIMITS_SIZE) {
        return &cfg->op_size;
    }
    switch (index % THROTTLE_FIELD__MAX) {
    case THROTTLE_FIELD_AVG:
        return &l->avg;
    case THROTTLE_FIELD_MAX:
        return &l->max;
    default:
        return &l->length;
    }
}

static bool check_length(int64_t length, const char *name, Error **errp)
{
    if (length > UINT32_MAX) {
        error_set(errp, "%s-max-length value must be in the range [0, %" PRIu32 "]", name,
                  UINT32_MAX);
        return false;
    }
    return true;
}

bool throttle_limits_to_config(const ThrottleLimits *limits, ThrottleConfig *cfg, Error **errp)
{
#define TAKE(member, shown, kind, name)                                                            \
    if (limits->has_##member##_max_length &&                                                       \
        !check_length(limits->member##_max_length, name, errp)) {                                  \
        return false;                                                                              \
    }                                                                                              \
    if (limits->has_##member) {                                                                    \
        cfg->limit[kind].avg = (uint64_t)limits->member;                                           \
    }                                                                                              \
    if (limits->has_##member##_max) {                                                              \
        cfg->limit[kind].max = (uint64_t)limits->member##_max;                                     \
    }                                                                                              \
    if (limits->has_##member##_max_length) {                                                       \
        cfg->limit[kind].length = (uint64_t)limits->member##_max_length;                           \
    }
    EACH_LIMIT(TAKE)
#undef TAKE
    if (limits->has_iops_size) {
        cfg->op_size = (uint64_t)limits->iops_size;
    }
    return true;
}

ThrottleLimits *throttle_limits_of_config(const ThrottleConfig *cfg)
{
    ThrottleLimits *limits = g_new0(ThrottleLimits, 1);

#define SHOW(member, shown, kind, name)                                                            \
    limits->has_##member = limits->has_##member##_max = limits->has_##member##_max_length = true;  \
    limits->member = (int64_t)cfg->limit[kind].avg;                                                \
    limits->member##_max = (int64_t)cfg->limit[kind].max;                                          \
    limits->member##_max_length = (int64_t)cfg->limit[kind].length;
    EACH_LIMIT(SHOW)
#undef SHOW
    limits->has_iops_size = true;
    limits->iops_size = (int64_t)cfg->op_size;
    return limits;
}

bool throttle_take_options(Opts *opts, ThrottleConfig *cfg, char **group, Error **errp)
{
    throttle_config_init(cfg);
#define OPTION(member, shown, kind, name)                                                          \
    if (!opts_take_uint(opts, "throttling." name, 0, &cfg->limit[kind].avg, errp) ||               \
        !opts_take_uint(opts, "throttling." name "-max", 0, &cfg->limit[kind].max, errp) ||        \
        !opts_take_uint(opts, "throttling." name "-max-length", 1, &cfg->limit[kind].length,       \
                        errp)) {                                                                   \
        return false;                                                                              \
    }
    EACH_LIMIT(OPTION)
#undef OPTION
    if (!opts_take_uint(opts, "throttling.iops-size", 0, &cfg->op_size, errp) ||
        !throttle_config_check(cfg, errp)) {
        return false;
    }
    *group = opts_take(opts, "throttling.group");
    return true;
}

void throttle_fill_info(BlockDeviceInfo *info, BlockBackend *blk)
{
    ThrottleGroup *g = blk->throttle ? throttle_member_group(blk->throttle) : NULL;
    ThrottleConfig cfg;

    if (!g) {
        return;
    }
    throttle_group_get_config(g, &cfg);
    info->group = g_strdup(throttle_group_name(g));
#define FILL(member, shown, kind, name)                                                            \
    info->shown = (int64_t)cfg.limit[kind].avg;                                                    \
    info->has_##shown##_max = info->has_##shown##_max_length = cfg.limit[kind].max > 0;            \
    info->shown##_max = (int64_t)cfg.limit[kind].max;                                              \
    info->shown##_max_length = (int64_t)cfg.limit[kind].length;
    EACH_LIMIT(FILL)
#undef FILL
    info->has_iops_size = cfg.op_size > 0;
    info->iops_size = (int64_t)cfg.op_size;
}

/* ---- block_set_io_throttle ---- */

static void config_of_args(ThrottleConfig *cfg, const BlockIOThrottle *a)
{
    throttle_config_init(cfg);
#define ARG(member, shown, kind, name)                                                             \
    cfg->limit[kind].avg = (uint64_t)a->shown;                                                     \
    if (a->has_##shown##_max) {                                                                    \
        cfg->limit[kind].max = (uint64_t)a->shown##_max;                                           \
    }                                                                                              \
    if (a->has_##shown##_max_length) {                                                             \
        cfg->limit[kind].length = (uint64_t)a->shown##_max_length;                                 \
    }
    EACH_LIMIT(ARG)
#undef ARG
    if (a->has_iops_size) {
        cfg->op_size = (uint64_t)a->iops_size;
    }
}

bool qmp_block_set_io_throttle(const BlockIOThrottle *args, Error **errp)
{
    BlockBackend *blk = blk_by_device_or_id(args->device, args->id, errp);
    ThrottleConfig cfg;

    if (!blk) {
        return false;
    }
    if (!blk->root) {
        error_set(errp, "Device has no medium");
        return false;
    }
    config_of_args(&cfg, args);
    if (!throttle_config_check(&cfg, errp)) {
        return false;
    }
    blk_set_limits(blk, &cfg, args->group, args->device ? args->device : args->id);
    return true;
}
QMP_REGISTER(block_set_io_throttle)
