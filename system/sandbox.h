/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_SYSTEM_SANDBOX_H
#define SPINDLE_SYSTEM_SANDBOX_H

#include <stdbool.h>

#include "util/error.h"

/* The filter of system calls (-sandbox). Runs in: main thread. */

typedef struct SandboxConfig {
    bool on;
    bool allow_obsolete;
    bool deny_elevation; /* of privileges: no change of user or group ids, no new session */
    bool deny_spawn;     /* no new process; threads are no processes */
    bool deny_resources; /* no change of priorities and schedulers */
} SandboxConfig;

/* Whether this build has the filter. */
bool sandbox_available(void);
/*
 * Installs it for all threads, present and future, for good. To be called twice: the second time
 * (`ready`), when the process has taken on the user it shall run as, the filter gets what that
 * would have failed with.
 */
bool sandbox_install(const SandboxConfig *c, bool ready, Error **errp);

#endif
