/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lock of the control plane. */
#include "util/biglock.h"

#include <glib.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool held;

void big_lock(void)
{
    g_assert(!held);
    pthread_mutex_lock(&lock);
    held = true;
}

void big_unlock(void)
{
    g_assert(held);
    held = false;
    pthread_mutex_unlock(&lock);
}

bool big_lock_held(void)
{
    return held;
}
