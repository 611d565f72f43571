/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_CHARDEV_CHAR_INTERNAL_H
#define SPINDLE_CHARDEV_CHAR_INTERNAL_H

#include <pthread.h>

#include "chardev/char.h"

/* What the kinds of character devices share. */

/* Most bytes that wait for a peer who does not read; then the peer is dropped. */
#define CHARDEV_QUEUE_MAX (256u << 20)

typedef struct ChardevDriver {
    const char *name;
    size_t state_size; /* of c->state, zeroed */
    /* Opens it. May call chardev_stream_open() at once. Runs in: main thread. */
    bool (*open)(Chardev *c, Opts *opts, Error **errp);
    /* Installs and removes watches of the driver's own (a listening socket, a timer).
     * Runs in: the chardev's context. May be NULL. */
    void (*attach)(Chardev *c);
    void (*detach)(Chardev *c);
    /* The peer has gone; the stream is closed already. Runs in: the chardev's context. */
    void (*disconnected)(Chardev *c);
    /* Closes what the state holds; also after a failed open(). Runs in: main thread, when nothing
     * is attached. */
    void (*close)(Chardev *c);
    /* Frees what the state owns, with the last reference. Runs in: any thread. */
    void (*free)(Chardev *c);
    /* Cuts the connection, if the driver has one that can hang. Runs in: any thread. */
    void (*yank)(Chardev *c);
} ChardevDriver;

struct Chardev {
    char *id;
    const ChardevDriver *drv;
    void *state;
    int ref; /* atomic: calls on their way into the context hold one */

    /* Only used in the chardev's context. */
    ChardevHandlers handlers;
    void *opaque;
    bool attached; /* watches are in the context */
    AioFd *in, *out;
    bool in_paused;    /* can_receive() said 0 */
    bool opened_told;  /* the front end has seen OPENED and not yet CLOSED */

    bool claimed; /* main thread */
    struct Mux *mux;       /* this is a port of a shared chardev */
    struct Chardev *lower; /* then: the chardev that is shared */

    /* The lock orders chardev_write() of other threads with everything that changes the stream. */
    pthread_mutex_t lock;
    AioContext *ctx;
    bool open, removed;
    bool in_eof; /* open for writing only */
    bool is_socket, keep_fds;
    int in_fd, out_fd; /* -1: none; they may be equal */
    GByteArray *queue;
    size_t queue_head; /* bytes of the queue that were written */
    bool write_armed;
    int log_fd;
    char *filename;
    int *fds; /* received, not taken yet */
    unsigned n_fds;
};

void chardev_driver_register(const ChardevDriver *drv);
#define CHARDEV_REGISTER(drv)                                                                      \
    static void __attribute__((constructor)) chardev_register_##drv(void)                          \
    {                                                                                              \
        chardev_driver_register(&(drv));                                                           \
    }
const ChardevDriver *chardev_driver_find(const char *name);

Chardev *chardev_alloc(const char *id, const ChardevDriver *drv);
Chardev *chardev_ref(Chardev *c);
void chardev_unref(Chardev *c);
void chardev_set_filename(Chardev *c, char *filename); /* takes it over */
AioContext *chardev_context(Chardev *c);

/* ---- char-stream.c; runs in the chardev's context ---- */

enum {
    STREAM_SOCKET = 1,   /* both are one socket: descriptors may arrive with the data */
    STREAM_KEEP_FDS = 2, /* not closed with the stream (stdio) */
};
/* The peer is there. Descriptors of -1: that direction does not exist. */
void chardev_stream_open(Chardev *c, int in_fd, int out_fd, unsigned flags);
/* The peer is gone. Tells the front end, then the driver. */
void chardev_stream_close(Chardev *c);
void chardev_stream_attach(Chardev *c);
void chardev_stream_detach(Chardev *c);
/* Forgets and closes the descriptors without telling anybody. */
void chardev_stream_drop(Chardev *c);

/* ---- char-mux.c: ports of a shared chardev; runs in the main thread ---- */

/* Shares `base` under the name `id`. Returns the first port, which stands for all. */
Chardev *chardev_mux_new(const char *id, Chardev *base);
Chardev *chardev_mux_free_port(Chardev *port);
Chardev *chardev_mux_first_port(Chardev *port);
void chardev_mux_claim(Chardev *port, const ChardevHandlers *h, void *opaque);
void chardev_mux_release(Chardev *port);
/* The front end has room again. Runs in: any thread. Takes a reference to the port over. */
void chardev_mux_accept_input(void *port);
void chardev_mux_release_all(Chardev *port);
bool chardev_mux_in_use(Chardev *port);
/* Frees all ports; returns the chardev that was shared. */
Chardev *chardev_mux_delete(Chardev *port);

#endif
