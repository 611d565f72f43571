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

static QmpRequest *next_request(bool nested, QmpMonitor **mon, unsigned *session)
{
    for (guint i = 0; i < qmp_monitors->len; i++) {
        QmpRequest *req;

        *mon = qmp_monitors->pdata[(next_monitor + i) % qmp_monitors->len];
        if ((*mon)->busy) {
            continue; /* its replies come in order */
        }
        req = qmp_pop_request(*mon, nested, session);
        if (req) {
            next_monitor = (next_monitor + i + 1) % qmp_monitors->len;
            return req;
        }
    }
    return NULL;
}

/* A command waits, in a nested turn of the main loop, for something that may take for ever. What
 * only looks at things, changes limits, or ends the process, is not made to wait for it. */
static void dispatch_nested(void)
{
    QmpMonitor *mon;
    unsigned session;
    QmpRequest *req;
    g_autoptr(JsonNode) reply = NULL;

    /* The start of the process is no command: clients wait for its outcome. */
    req = runstate_machine_ready() ? next_request(true, &mon, &session) : NULL;
    if (!req) {
        return;
    }
    mon->busy = true;
    qmp_dispatch_kick();
    report_push_monitor();
    qmp_fd_arrived(mon, req->fd, session);
    req->fd = -1;
    reply = qmp_execute(mon, req->message, false);
    report_pop();
    mon->busy = false;
    qmp_send(mon, session, reply);
    qmp_request_done(mon);
    qmp_request_free(req);
    qmp_dispatch_kick();
}

static void dispatch(void *opaque)
{
    QmpMonitor *mon;
    QmpRequest *req;
    unsigned session;
    g_autoptr(JsonNode) reply = NULL;

    if (!dispatch_bh) {
        return;
    }
    if (!command_begin(dispatch, NULL)) {
        dispatch_nested();
        return;
    }
    req = next_request(false, &mon, &session);
    if (!req) {
        command_end();
        return;
    }
    mon->busy = true;
    /* This turn may have been asked for by several requests at once. If this one has to wait, what
     * may run meanwhile must not wait for it. */
    qmp_dispatch_kick();
    report_push_monitor();
    qmp_fd_arrived(mon, req->fd, session);
    req->fd = -1;
    if (req->error) {
        reply = qmp_error_reply(g_steal_pointer(&req->error), NULL);
    } else {
        reply = qmp_execute(mon, req->message, false);
    }
    /* What the command asked for (a reset, the end) happens before its reply, and its event does,
     * too. */
    runstate_main_loop_step();
    report_pop();
    mon->busy = false;
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
