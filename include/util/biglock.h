/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_BIGLOCK_H
#define SPINDLE_UTIL_BIGLOCK_H

#include <stdbool.h>

/*
 * The big lock protects the control plane: configuration space, object tree, graph edits, run
 * state. The main thread holds it except while it sleeps in its loop; a vCPU thread takes it for a
 * device access. IOThreads never take it.
 */
void big_lock(void);
void big_unlock(void);
bool big_lock_held(void);

/* A control-plane function states its rule by this; it is checked in every build. */
#define ASSERT_BIG_LOCK() g_assert(big_lock_held())

#endif
