/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_MONITOR_QMP_H
#define SPINDLE_MONITOR_QMP_H

#include <pthread.h>

#include "monitor/monitor.h"
#include "qapi/qapi.h"

/*
 * QMP sessions. Two threads have a part in each: "IO mon_iothread" reads, parses, and answers what
 * is to be answered out of band; the main thread runs the other commands in order. What both use is
 * under the lock of the monitor, which is also held while replies are written, so that a reply
 * never gets into the session of the next client.
 */

typedef struct QmpRequest {
    JsonNode *message; /* or */
    Error *error;      /* what the parser said */
    int fd;            /* that came with it, or -1 */
} QmpRequest;

typedef struct QmpMonitor {
    Chardev *chr;
    bool pretty;

    /* The monitors' thread. */
    JsonStream *parser;
    GByteArray *input; /* read and not parsed yet */
    GQueue parsed;     /* of QmpRequest, to be handed over */

    pthread_mutex_t lock;
    GQueue requests;  /* of QmpRequest */
    bool suspended;   /* nothing is parsed until there is room */
    unsigned session; /* counts connections */
    unsigned running; /* the session whose command the main thread runs */
    bool busy;        /* main thread: a command of it runs, and waits if another one is run */
    bool negotiated, oob;

    /* The main thread. */
    int fd;              /* came with a command, and was not taken yet; or -1 */
    unsigned fd_session; /* of whom it is */
    GHashTable *named_fds; /* name -> descriptor; NULL: none */
} QmpMonitor;

/* How many commands may wait with oob; without, one at a time is read. */
#define QMP_QUEUE_MAX 8

/* The monitor whose command runs in this thread; NULL outside of commands. */
extern __thread QmpMonitor *qmp_current;

/* ---- qmp-session.c ---- */

/* All of them. Changed in the main thread; others hold the lock. */
extern GPtrArray *qmp_monitors;
extern pthread_mutex_t qmp_monitors_lock;

/* Sends to the client of that session, if it is still there. Runs in: any thread. */
void qmp_send(QmpMonitor *mon, unsigned session, JsonNode *message);
/* Which requests may run now. */
typedef bool QmpFilter(JsonNode *message);
/* Takes the oldest request, and makes the session read on if that makes room, if it passes the
 * filter (NULL: any). NULL: none. Runs in: main thread. */
QmpRequest *qmp_pop_request(QmpMonitor *mon, QmpFilter *filter, unsigned *session);
/* Reads one command although another one of that session runs. Runs in: main thread. */
void qmp_read_ahead(QmpMonitor *mon);
/* The command that was popped is done. Runs in: main thread. */
void qmp_request_done(QmpMonitor *mon);
void qmp_request_free(QmpRequest *req);
/* All QMP monitors, and their thread. Runs in: main thread. */
void qmp_cleanup(void);

/* ---- qmp-execute.c ---- */

/* Whether it is to be answered at once, out of band. */
bool qmp_is_oob(JsonNode *message);
/* Whether it may run while a command of another client waits. Runs in: main thread. */
bool qmp_may_nest(JsonNode *message);
/* Whether it may even run while one of the same client waits, since no reply matters after it.
 * Runs in: main thread. */
bool qmp_is_the_end(JsonNode *message);
/* The reply to a command that may be told before its end; NULL: it may not. */
JsonNode *qmp_early_reply(JsonNode *message);
/* Runs a command, or refuses it. Returns the reply. Runs in: main thread, or with `oob` any. */
JsonNode *qmp_execute(QmpMonitor *mon, JsonNode *message, bool oob);
JsonNode *qmp_error_reply(Error *err, JsonNode *id); /* takes err, borrows id (may be NULL) */

/* ---- qmp-dispatch.c ---- */

/* Whether the client of the command that waits was told already that it is done.
 * Runs in: main thread. */
bool qmp_outer_is_told(void);

/* Something was queued. Runs in: any thread. */
void qmp_dispatch_kick(void);
void qmp_dispatch_init(void);
void qmp_dispatch_cleanup(void);

/* ---- qmp-fd.c; main thread ---- */

void qmp_fd_init(void);
/* A descriptor that came with a command, which may take it; the one before it is closed. */
void qmp_fd_arrived(QmpMonitor *mon, int fd, unsigned session);
/* Closes what was not taken. */
void qmp_fd_cleanup(QmpMonitor *mon);

/* ---- events.c ---- */

void events_init(void);
void events_cleanup(void);

#endif
