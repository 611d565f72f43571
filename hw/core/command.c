/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request of a client (QMP, text monitor, qtest) at a time. */
#include "hw/core/runstate.h"


typedef struct Waiter {
    AioCallback *retry;
    void *opaque;
} Waiter;

static bool running;
static GArray *waiters; /* of Waiter, in order of arrival */

bool command_begin(AioCallback *retry, void *opaque)
{
    Waiter w = { retry, opaque };

    g_assert(aio_in_main_thread());
    if (!running) {
        running = true;
        return true;
    }
    if (!retry) {
        return false;
    }
    if (!waiters) {
        waiters = g_array_new(false, false, sizeof(Waiter));
    }
    for (guint i = 0; i < waiters->len; i++) {
        Waiter *have = &g_array_index(waiters, Waiter, i);

        if (have->retry == retry && have->opaque == opaque) {
            return false;
        }
    }
    g_array_append_val(waiters, w);
    return false;
}

void command_end(void)
{
    g_assert(running);
    running = false;
    for (guint i = 0; waiters && i < waiters->len; i++) {
        Waiter *w = &g_array_index(waiters, Waiter, i);

        aio_call(aio_context_main(), w->retry, w->opaque);
    }
    if (waiters) {
        g_array_set_size(waiters, 0);
    }
}
