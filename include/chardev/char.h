/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_CHARDEV_CHAR_H
#define SPINDLE_CHARDEV_CHAR_H

#include "qapi/keyval.h"
#include "util/aio.h"

/*
 * Character devices: byte streams that a user names (-chardev) and one front end uses (a monitor, a
 * serial port, the qtest socket).
 *
 * Creation and use: main thread, except that a front end may move its chardev to another AioContext
 * with chardev_set_context(); from then on handlers run there. chardev_write() may be called from
 * any thread and keeps whole calls together; what the peer does not take at once is queued.
 */
typedef struct Chardev Chardev;

/* After CLOSED no more bytes arrive until the next OPENED; what is written may still be taken (the
 * input of stdio has ended, its output has not). */
typedef enum { CHARDEV_OPENED, CHARDEV_CLOSED, CHARDEV_BREAK } ChardevEvent;

typedef struct ChardevHandlers {
    /* How many bytes receive() will take now; 0 stops reading until chardev_accept_input(). */
    size_t (*can_receive)(void *opaque);
    void (*receive)(void *opaque, const uint8_t *buf, size_t len);
    void (*event)(void *opaque, ChardevEvent event);
} ChardevHandlers;

/* -chardev: "socket,id=c0,path=/x,server=on,wait=off" already parsed; the backend name is the key
 * "backend". A listening socket that is to wait for its peer does so here. Takes what it knows out
 * of opts; "Invalid parameter 'x'" if something is left. */
Chardev *chardev_new_opts(Opts *opts, Error **errp);
/* What the short form of -serial, -monitor, -qmp, -qtest ("unix:PATH,server=on,wait=off",
 * "tcp:H:P", "stdio", "pty", "null", "file:PATH", "pipe:PATH") means as -chardev options with the
 * id `label`; NULL if malformed. An unknown kind is reported on stderr already ('x' is not a valid
 * char driver). */
Opts *chardev_parse_legacy(const char *label, const char *text);
/* Both in one, and "chardev:ID" for an existing one. The error has the text that a caller prints
 * before its own; it is not set if the form was malformed. */
Chardev *chardev_new_legacy(const char *label, const char *text, Error **errp);
/* Closes and forgets it: "Chardev 'x' is busy" while it has a front end. */
bool chardev_remove(Chardev *c, Error **errp);
Chardev *chardev_find(const char *id);
const char *chardev_id(const Chardev *c);
/* "unix:/x,server=on", "pty:/dev/pts/3", "disconnected:...": for query-chardev. Caller frees. Runs
 * in: any thread. */
char *chardev_filename(Chardev *c);
/* All, each with a reference that goes with the array. Runs in: any thread. */
GPtrArray *chardev_list(void);
/* Whether it has a front end. */
bool chardev_is_claimed(const Chardev *c);
/* For -chardev help, by name. Caller frees the array only. */
GPtrArray *chardev_backend_names(void);
/* stdio is refused from now on (-daemonize). */
void chardev_forbid_stdio(void);

/* Claims it; false if it has a front end already (chardev 'x' is already in use). If it is already
 * open the OPENED event follows at once. */
bool chardev_claim(Chardev *c, const ChardevHandlers *h, void *opaque, Error **errp);
/* After it has returned no handler runs any more. */
void chardev_release(Chardev *c);
void chardev_set_context(Chardev *c, AioContext *ctx);
/* Whether somebody is connected. Runs in: any thread. */
bool chardev_is_open(Chardev *c);
/* Goes on reading after can_receive() said 0. Runs in: any thread. */
void chardev_accept_input(Chardev *c);
/* Whether it is shared by several front ends (mux=on). Each gets a Chardev of its own from
 * chardev_find(). */
bool chardev_is_mux(const Chardev *c);
/* All front ends of the command line are there: those in focus are told that their chardev is open.
 */
void chardev_mux_start(void);
/* Called when the user types Ctrl-A X. Runs in: main thread. */
extern void (*chardev_quit_hook)(void);
/* Writes all of it, in order. Returns false if nobody is connected (the bytes are dropped).
 * Runs in: any thread. */
bool chardev_write(Chardev *c, const void *buf, size_t len);
/* Bytes that the peer has not taken yet: a device that has flow control waits until they are few.
 * Runs in: any thread. */
size_t chardev_queued(Chardev *c);
/* Blocks until the peer has taken what was written, at most timeout_ms. For the last words at exit.
 * Runs in: any thread. */
void chardev_flush(Chardev *c, int timeout_ms);
/* The file descriptor that was received last by SCM_RIGHTS (the first of them, if a message had
 * several, whose others are closed), or -1; the caller owns it. Runs in: any thread. */
int chardev_take_fd(Chardev *c);
/* Where fd=NAME is looked up while a client of a monitor asks for it: takes the descriptor, or sets
 * *fd to -1 and an error. Returns false if nobody asks, and NAME is a number. Runs in: main
 * thread. */
extern bool (*chardev_named_fd_hook)(const char *name, int *fd, Error **errp);
/* Disconnects the peer; a listening one goes on listening. Runs in: any thread. */
void chardev_disconnect(Chardev *c);
/* Closes all, unlinks sockets, restores the terminal. At exit, when front ends have let go. */
void chardev_cleanup(void);

#endif
