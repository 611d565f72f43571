/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_CHARDEV_CHAR_SOCKET_H
#define SPINDLE_CHARDEV_CHAR_SOCKET_H

#include "char-internal.h"

/* Addresses of socket chardevs. Runs in: any thread, but one at a time per address. */

typedef struct SockAddress {
    enum { SOCK_ADDR_UNIX, SOCK_ADDR_INET, SOCK_ADDR_FD } kind;
    char *path;
    bool abstract, tight;
    char *host, *port;
    uint64_t to;           /* highest port to try when listening; 0: only the one */
    bool ipv4, ipv6;       /* which families are allowed */
    bool family_given;
    int fd;
} SockAddress;

/* Takes path, fd, host, port, ... out of opts. */
bool sock_address_take(SockAddress *a, Opts *opts, bool server, Error **errp);
void sock_address_clear(SockAddress *a);

/* A listening socket, or -1. */
int sock_listen(SockAddress *a, Error **errp);
/* A connected socket, or -1. `*stop` set elsewhere makes it give up early; NULL: never. */
int sock_connect(const SockAddress *a, const bool *stop, Error **errp);

/* "unix:/x,server=on", "tcp:127.0.0.1:1234,server=on <-> 127.0.0.1:4321". Caller frees. */
char *sock_name_connected(int fd, bool server);
char *sock_name_disconnected(const SockAddress *a, int listen_fd, bool server);

#endif
