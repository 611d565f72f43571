/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collecting what can be done once for a whole batch. */
#include "util/aio.h"

#include "aio-internal.h"

typedef struct Deferred {
    AioCallback *fn;
    void *opaque;
} Deferred;

/* Per thread. Entries [head, n) have not been called yet. */
static __thread struct {
    unsigned depth;
    unsigned head;
    unsigned n;
    unsigned cap;
    Deferred *v;
} plug;

/* Holds plug.v, only to free it when the thread ends. */
static GPrivate cleanup = G_PRIVATE_INIT(g_free);

bool aio_defer_flush(void)
{
    bool progress = plug.head < plug.n;

    /* Functions called here may defer more, which joins the end of this same run. */
    plug.depth++;
    while (plug.head < plug.n) {
        Deferred d = plug.v[plug.head++];

        d.fn(d.opaque);
    }
    plug.head = plug.n = 0;
    plug.depth--;
    return progress;
}

void aio_plug(void)
{
    plug.depth++;
}

void aio_unplug(void)
{
    g_assert(plug.depth > 0);
    if (plug.depth == 1) {
        aio_defer_flush();
    }
    plug.depth--;
}

void aio_defer(AioCallback *fn, void *opaque)
{
    if (plug.depth == 0) {
        fn(opaque);
        return;
    }
    for (unsigned i = plug.n; i > plug.head; i--) {
        if (plug.v[i - 1].fn == fn && plug.v[i - 1].opaque == opaque) {
            return;
        }
    }
    if (plug.n == plug.cap) {
        plug.cap = plug.cap ? plug.cap * 2 : 16;
        plug.v = g_renew(Deferred, plug.v, plug.cap);
        g_private_set(&cleanup, plug.v);
    }
    plug.v[plug.n++] = (Deferred){fn, opaque};
}
