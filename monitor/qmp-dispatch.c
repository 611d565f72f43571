/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main thread's part of QMP: running the queued commands of all monitors, one at a time. */
#include "qmp.h"

#include "hw/core/runstate.h"
#include "util/report.h"

/* How long a client waits, when storage does not answer, for what is bound to succeed. */
#define EARLY_REPLY_NS (450 * G_GINT64_CONSTANT(1000000))

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
        /* The replies of one client come in order, but for the last one. */
        if ((*mon)->busy) {
            qmp_read_ahead(*mon);
        }
        req = qmp_pop_request(*mon, (*mon)->busy ? qmp_is_the_end : nested ? qmp_may_nest : NULL,
                              session);
        if (req) {
            next_monitor = (next_monitor + i + 1) % qmp_monitors->len;
            return req;
        }
    }
    return NULL;
}

/* A command whose client is told of its success while storage keeps it, so that the client can go
 * on: it has only one connection, maybe. */
typedef struct EarlyReply {
    QmpMonitor *mon;
    unsigned session;
    JsonNode *reply;
    AioTimer *timer;
    bool sent;
} EarlyReply;

static EarlyReply *outermost; /* of the command that runs, and may wait while others do */

bool qmp_outer_is_told(void)
{
    return outermost && outermost->sent;
}

static void early_reply_send(void *opaque)
{
    EarlyReply *early = opaque;

    early->sent = true;
    early->mon->busy = false;
    qmp_send(early->mon, early->session, early->reply);
    qmp_request_done(early->mon);
    qmp_dispatch_kick();
}

static void early_reply_begin(EarlyReply *early, QmpMonitor *mon, unsigned session,
                              QmpRequest *req)
{
    outermost = early;
    early->mon = mon;
    early->session = session;
    early->reply = req->message ? qmp_early_reply(req->message) : NULL;
    if (early->reply) {
        early->timer =
            aio_timer_new(aio_context_main(), AIO_CLOCK_REALTIME, early_reply_send, early);
        aio_timer_set(early->timer, aio_clock_ns(AIO_CLOCK_REALTIME) + EARLY_REPLY_NS);
    }
}

/* Returns whether the client has its reply. */
static bool early_reply_end(EarlyReply *early)
{
    outermost = NULL;
    if (early->reply) {
        aio_timer_free(early->timer);
        json_node_unref(early->reply);
    }
    return early->sent;
}

/* A command waits, in a nested turn of the main loop, for something that may take for ever. What
 * only looks at things, changes limits, or ends the process, is not made to wait for it. */
static void dispatch_nested(void)
{
    QmpMonitor *mon;
    unsigned session;
    QmpRequest *req;
    bool was_busy;
    g_autoptr(JsonNode) reply = NULL;

    /* The start of the process is no command: clients wait for its outcome. */
    req = runstate_machine_ready() ? next_request(true, &mon, &session) : NULL;
    if (!req) {
        return;
    }
    was_busy = mon->busy;
    mon->busy = true;
    qmp_dispatch_kick();
    report_push_monitor();
    qmp_fd_arrived(mon, req->fd, session);
    req->fd = -1;
    reply = qmp_execute(mon, req->message, false);
    report_pop();
    mon->busy = was_busy;
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
    EarlyReply early = { 0 };
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
    early_reply_begin(&early, mon, session, req);
    if (req->error) {
        reply = qmp_error_reply(g_steal_pointer(&req->error), NULL);
    } else {
        reply = qmp_execute(mon, req->message, false);
    }
    /* What the command asked for (a reset, the end) happens before its reply, and its event does,
     * too. */
    runstate_main_loop_step();
    report_pop();
    if (!early_reply_end(&early)) {
        mon->busy = false;
        qmp_send(mon, session, reply);
        qmp_request_done(mon);
    }
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
