/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of the process does not wait for storage that does not answer. Once the end has been
 * asked for, the main thread has a second in which disks may be drained and flushed. If it is kept
 * by them then, the process ends from here: what the guest was told to be written has been given to
 * the kernel, and what is in flight was never acknowledged.
 */
#include "hw/core/runstate.h"
#include "util/offload.h"
#include "util/report.h"

#define PATIENCE_MS 1000
#define LOOK_MS     50

void (*runstate_exit_now_hook)(int status);

static int running; /* atomic */

static gpointer watch(gpointer opaque)
{
    unsigned kept = 0;

    g_usleep(PATIENCE_MS * 1000);
    /* Kept means: at two looks in a row. */
    while (kept < 2) {
        g_usleep(LOOK_MS * 1000);
        kept = stalled() ? kept + 1 : 0;
    }
    runstate_tell_shutdown();
    report_warning("storage does not answer: requests in flight are given up");
    /* The monitors' thread gets a moment to tell its clients. */
    g_usleep(LOOK_MS * 1000);
    runstate_exit_now_hook(runstate_exit_status());
    return NULL;
}

void exit_watchdog_start(void)
{
    GThread *thread;

    if (!runstate_exit_now_hook || __atomic_exchange_n(&running, 1, __ATOMIC_SEQ_CST)) {
        return;
    }
    thread = g_thread_try_new("exit", watch, NULL, NULL);
    if (thread) {
        g_thread_unref(thread);
    }
}
