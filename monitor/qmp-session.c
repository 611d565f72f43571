/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP sessions: greeting, reading and parsing, flow control, writing. */
#include "qmp.h"

#include <string.h>
#include <unistd.h>

#include "monitor/version.h"
#include "util/iothread.h"

/* How much is read ahead of the parser. */
#define INPUT_CHUNK 4096

GPtrArray *qmp_monitors;
pthread_mutex_t qmp_monitors_lock = PTHREAD_MUTEX_INITIALIZER;

static IOThreadCore *monitor_thread;

/* ---- writing ---- */

static char *to_wire(JsonNode *message, bool pretty)
{
    g_autofree char *text = json_write(message, pretty);
    GString *wire = g_string_sized_new(strlen(text) + 2);

    /* Some clients wait for CR LF, and only newlines between lines are bare ones in the text. */
    for (const char *p = text; *p; p++) {
        if (*p == '\n') {
            g_string_append_c(wire, '\r');
        }
        g_string_append_c(wire, *p);
    }
    g_string_append(wire, "\r\n");
    return g_string_free(wire, FALSE);
}

void qmp_send(QmpMonitor *mon, unsigned session, JsonNode *message)
{
    g_autofree char *wire = to_wire(message, mon->pretty);

    pthread_mutex_lock(&mon->lock);
    if (mon->session == session) {
        chardev_write(mon->chr, wire, strlen(wire));
    }
    pthread_mutex_unlock(&mon->lock);
}

static void send_greeting(QmpMonitor *mon, unsigned session)
{
    g_autofree char *text = g_strdup_printf(
        "{\"QMP\": {\"version\": {\"qemu\": {\"micro\": %d, \"minor\": %d, \"major\": %d}, "
        "\"package\": \"%s\"}, \"capabilities\": [\"oob\"]}}",
        INTERFACE_VERSION_MICRO, INTERFACE_VERSION_MINOR, INTERFACE_VERSION_MAJOR,
        SPINDLE_PACKAGE);
    JsonNode *greeting = json_parse(text, &error_abort);

    qmp_send(mon, session, greeting);
    json_node_unref(greeting);
}

/* ---- requests on their way to the main thread ---- */

void qmp_request_free(QmpRequest *req)
{
    g_clear_pointer(&req->message, json_node_unref);
    error_free(req->error);
    if (req->fd >= 0) {
        close(req->fd);
    }
    g_free(req);
}

static unsigned queue_limit(const QmpMonitor *mon)
{
    return mon->oob ? QMP_QUEUE_MAX : 1;
}

static void read_on(void *opaque);

static void resume_locked(QmpMonitor *mon)
{
    if (mon->suspended) {
        mon->suspended = false;
        aio_call(iothread_core_context(monitor_thread), read_on, mon);
    }
}

QmpRequest *qmp_pop_request(QmpMonitor *mon, QmpFilter *filter, unsigned *session)
{
    QmpRequest *req;

    pthread_mutex_lock(&mon->lock);
    req = g_queue_peek_head(&mon->requests);
    if (req && filter && !(req->message && filter(req->message))) {
        req = NULL;
    }
    if (req) {
        g_queue_pop_head(&mon->requests);
    }
    *session = mon->session;
    if (req) {
        mon->running = mon->session;
    }
    if (req && mon->oob) {
        resume_locked(mon);
    }
    pthread_mutex_unlock(&mon->lock);
    return req;
}

void qmp_read_ahead(QmpMonitor *mon)
{
    pthread_mutex_lock(&mon->lock);
    if (g_queue_is_empty(&mon->requests)) {
        resume_locked(mon);
    }
    pthread_mutex_unlock(&mon->lock);
}

void qmp_request_done(QmpMonitor *mon)
{
    pthread_mutex_lock(&mon->lock);
    if (mon->requests.length < queue_limit(mon)) {
        resume_locked(mon);
    }
    pthread_mutex_unlock(&mon->lock);
}

/* ---- reading; runs in the monitors' thread ---- */

static bool is_suspended(QmpMonitor *mon)
{
    bool suspended;

    pthread_mutex_lock(&mon->lock);
    suspended = mon->suspended;
    pthread_mutex_unlock(&mon->lock);
    return suspended;
}

static void on_message(JsonNode *value, Error *err, void *opaque)
{
    QmpMonitor *mon = opaque;
    QmpRequest *req;
    unsigned session;
    bool oob;

    pthread_mutex_lock(&mon->lock);
    oob = mon->oob;
    session = mon->session;
    pthread_mutex_unlock(&mon->lock);
    if (oob && value && qmp_is_oob(value)) {
        g_autoptr(JsonNode) reply = qmp_execute(mon, value, true);

        qmp_send(mon, session, reply);
        return;
    }
    req = g_new0(QmpRequest, 1);
    req->message = value ? json_node_ref(value) : NULL;
    req->error = err;
    req->fd = chardev_take_fd(mon->chr);
    g_queue_push_tail(&mon->parsed, req);
}

/* Called when the parser has let go of the message, so that the main thread has it for itself. */
static void hand_over(QmpMonitor *mon)
{
    QmpRequest *req;

    while ((req = g_queue_pop_head(&mon->parsed))) {
        pthread_mutex_lock(&mon->lock);
        g_queue_push_tail(&mon->requests, req);
        if (mon->requests.length >= queue_limit(mon)) {
            mon->suspended = true;
        }
        pthread_mutex_unlock(&mon->lock);
        qmp_dispatch_kick();
    }
}

/* Byte by byte, since a message that fills the queue may be followed by another one. */
static void parse_input(QmpMonitor *mon)
{
    guint pos = 0;

    while (pos < mon->input->len && mon->parser && !is_suspended(mon)) {
        json_stream_feed(mon->parser, (const char *)mon->input->data + pos, 1);
        pos++;
        hand_over(mon);
    }
    g_byte_array_remove_range(mon->input, 0, pos);
}

static size_t session_can_receive(void *opaque)
{
    QmpMonitor *mon = opaque;

    return mon->input->len == 0 && !is_suspended(mon) ? INPUT_CHUNK : 0;
}

static void read_on(void *opaque)
{
    QmpMonitor *mon = opaque;

    parse_input(mon);
    if (session_can_receive(mon) > 0) {
        chardev_accept_input(mon->chr);
    }
}

static void session_receive(void *opaque, const uint8_t *buf, size_t len)
{
    QmpMonitor *mon = opaque;

    g_byte_array_append(mon->input, buf, len);
    parse_input(mon);
}

static void drop_parser(QmpMonitor *mon)
{
    g_clear_pointer(&mon->parser, json_stream_free);
    g_byte_array_set_size(mon->input, 0);
}

static void drop_requests_locked(QmpMonitor *mon)
{
    QmpRequest *req;

    while ((req = g_queue_pop_head(&mon->requests))) {
        qmp_request_free(req);
    }
    mon->suspended = false;
}

static void session_event(void *opaque, ChardevEvent event)
{
    QmpMonitor *mon = opaque;
    unsigned session;

    switch (event) {
    case CHARDEV_OPENED:
        pthread_mutex_lock(&mon->lock);
        session = ++mon->session;
        mon->negotiated = mon->oob = false;
        drop_requests_locked(mon);
        pthread_mutex_unlock(&mon->lock);
        drop_parser(mon);
        mon->parser = json_stream_new(on_message, mon);
        send_greeting(mon, session);
        break;
    case CHARDEV_CLOSED:
        drop_parser(mon);
        if (!chardev_is_open(mon->chr)) {
            /* Nobody is there for the replies. (With stdio somebody may be.) */
            pthread_mutex_lock(&mon->lock);
            mon->session++;
            mon->negotiated = mon->oob = false;
            drop_requests_locked(mon);
            pthread_mutex_unlock(&mon->lock);
        }
        break;
    case CHARDEV_BREAK:
        break;
    }
}

static const ChardevHandlers session_handlers = {
    .can_receive = session_can_receive,
    .receive = session_receive,
    .event = session_event,
};

/* ---- life ---- */

static bool monitor_thread_start(Error **errp)
{
    if (monitor_thread) {
        return true;
    }
    monitor_thread = iothread_core_start("mon_iothread", NULL, errp);
    if (!monitor_thread) {
        return false;
    }
    qmp_monitors = g_ptr_array_new();
    qmp_dispatch_init();
    qmp_fd_init();
    events_init();
    return true;
}

bool monitor_new_qmp(Chardev *c, bool pretty, Error **errp)
{
    QmpMonitor *mon;

    if (chardev_is_claimed(c)) {
        error_set(errp, "chardev '%s' is already in use", chardev_id(c));
        return false;
    }
    if (chardev_is_mux(c)) {
        error_set(errp, "chardev '%s' is shared (mux=on), which a QMP monitor does not support",
                  chardev_id(c));
        return false;
    }
    if (!monitor_thread_start(errp)) {
        return false;
    }
    mon = g_new0(QmpMonitor, 1);
    mon->chr = c;
    mon->pretty = pretty;
    mon->input = g_byte_array_new();
    mon->fd = -1;
    g_queue_init(&mon->requests);
    g_queue_init(&mon->parsed);
    pthread_mutex_init(&mon->lock, NULL);
    pthread_mutex_lock(&qmp_monitors_lock);
    g_ptr_array_add(qmp_monitors, mon);
    pthread_mutex_unlock(&qmp_monitors_lock);
    /* All reading happens there, so that a blocked main loop does not keep oob commands waiting. */
    chardev_set_context(c, iothread_core_context(monitor_thread));
    return chardev_claim(c, &session_handlers, mon, errp);
}

static void monitor_free(QmpMonitor *mon)
{
    chardev_release(mon->chr);
    chardev_flush(mon->chr, 1000);
    chardev_set_context(mon->chr, aio_context_main());
    drop_parser(mon);
    pthread_mutex_lock(&mon->lock);
    drop_requests_locked(mon);
    pthread_mutex_unlock(&mon->lock);
    g_byte_array_unref(mon->input);
    qmp_fd_cleanup(mon);
    pthread_mutex_destroy(&mon->lock);
    g_free(mon);
}

void qmp_cleanup(void)
{
    g_autoptr(GPtrArray) list = NULL;

    if (!monitor_thread) {
        return;
    }
    events_cleanup();
    qmp_dispatch_cleanup();
    /* An event that another thread sends just now must not find a monitor that is gone. */
    pthread_mutex_lock(&qmp_monitors_lock);
    list = g_steal_pointer(&qmp_monitors);
    pthread_mutex_unlock(&qmp_monitors_lock);
    for (guint i = 0; i < list->len; i++) {
        monitor_free(list->pdata[i]);
    }
    iothread_core_stop(monitor_thread);
    monitor_thread = NULL;
}
