/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Barriers of which one side is free: see the header. */
#include "util/asymmetric.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool asymmetric_works;

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void __attribute__((constructor)) asymmetric_init(void)
{
    asymmetric_works = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                       membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void asymmetric_heavy(void)
{
    if (!asymmetric_works) {
        asymmetric_full();
        return;
    }
    if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        /* A child of fork() may have to register for itself. The light side relies on this. */
        bool ok = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);

        g_assert(ok);
    }
}
