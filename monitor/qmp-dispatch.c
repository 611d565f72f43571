/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main thread's part of QMP: running the queued commands of all monitors, one at a time. */
#include "qmp.h"

#include "hw/core/runstate.h"
#include "util/report.h"

static AioBh *dispatch_bh;
static guint next_monitor; /* whose turn it is, so that one client cannot starve another */

void qmp_dispatch_kick(void)
{
    aio_bh_schedule(dispatch_bh);
}

static QmpRequest *next_request(QmpMonitor **mon, unsigned *session)
{
    for (guint i = 0; i < qmp_monitors->len; i++) {
        QmpRequest *req;

        *mon = qmp_monitors->pdata[(next_monitor + i) % qmp_monitors->len];
        req = qmp_pop_request(*mon, session);
        if (req) {
            next_monitor = (next_monitor + i + 1) % qmp_monitors->len;
            return req;
        }
    }
    return NULL;
}

static void dispatch(void *opaque)
{
    QmpMonitor *mon;
    QmpRequest *req;
    unsigned session;
    g_autoptr(JsonNode) reply = NULL;

    if (!dispatch_bh || !command_begin(dispatch, NULL)) {
        return;
    }
    req = next_request(&mon, &session);
    if (!req) {
        command_end();
        return;
    }
    report_push_monitor();
    if (req->error) {
        reply = qmp_error_reply(g_steal_pointer(&req->error), NULL);
    } else {
        reply = qmp_execute(mon, req->message, false);
    }
    /* What the command asked for (a reset, the end) happens before its reply, and its event does,
     * too. */
    runstate_main_loop_step();
    report_pop();
    qmp_send(mon, session, reply);
    qmp_request_done(mon);
    qmp_request_free(req);
    command_end();
    /* One per turn of the main loop. */
    qmp_dispatch_kick();
}

void qmp_dispatch_init(void)
{
    dispatch_bh = aio_bh_new(aio_context_main(), dispatch, NULL);
}

void qmp_dispatch_cleanup(void)
{
    /* Requests may still arrive, but nothing looks at them. The bottom half stays, for their sake.
     */
    aio_bh_cancel(dispatch_bh);
}
