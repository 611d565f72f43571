/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Older names of -drive options, and the options that nothing here can honour. */
#include "drive-options.h"

static const struct {
    const char *alias, *name;
} aliases[] = {
    { "iops", "throttling.iops-total" },
    { "iops_rd", "throttling.iops-read" },
    { "iops_wr", "throttling.iops-write" },
    { "bps", "throttling.bps-total" },
    { "bps_rd", "throttling.bps-read" },
    { "bps_wr", "throttling.bps-write" },
    { "iops_max", "throttling.iops-total-max" },
    { "iops_rd_max", "throttling.iops-read-max" },
    { "iops_wr_max", "throttling.iops-write-max" },
    { "bps_max", "throttling.bps-total-max" },
    { "bps_rd_max", "throttling.bps-read-max" },
    { "bps_wr_max", "throttling.bps-write-max" },
    { "iops_size", "throttling.iops-size" },
    { "group", "throttling.group" },
    { "readonly", "read-only" },
};

bool drive_rename_aliases(Opts *opts, Error **errp)
{
    for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++) {
        g_autofree char *value = NULL;

        if (!opts_get(opts, aliases[i].alias)) {
            continue;
        }
        if (opts_get(opts, aliases[i].name)) {
            error_set(errp, "'%s' and its alias '%s' can't be used at the same time",
                      aliases[i].name, aliases[i].alias);
            return false;
        }
        value = opts_take(opts, aliases[i].alias);
        opts_set(opts, aliases[i].name, value);
    }
    return true;
}

/* What a user may ask for and this program cannot do is refused, unless the value means nothing. */
bool drive_refuse_unsupported(Opts *opts, Error **errp)
{
    bool snapshot, cor;

    if (!opts_take_bool(opts, "snapshot", false, &snapshot, errp) ||
        !opts_take_bool(opts, "copy-on-read", false, &cor, errp)) {
        return false;
    }
    if (snapshot || cor) {
        error_set(errp, "%s=on is not supported", snapshot ? "snapshot" : "copy-on-read");
        return false;
    }
    return true;
}
