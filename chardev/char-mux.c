/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mux=on: one character device shared by several front ends (a serial port and a monitor on one
 * terminal). All may write; what is typed goes to the one in focus, and Ctrl-A C moves the focus.
 *
 * Each front end has a Chardev of its own, a port. They share the name; who asks for the chardev by
 * its name gets a port that is free. Runs in: main thread, where the chardev below stays.
 */
#include "char-internal.h"

#include <string.h>

#define MUX_PORTS 4
#define ESCAPE    0x01 /* Ctrl-A */

/* What a front end does not take at once is kept, so that keys for the multiplexer get through even
 * while, say, no guest reads the serial port. */
#define MUX_KEPT_MAX 4096

typedef struct Mux {
    Chardev *base;
    Chardev *ports[MUX_PORTS];
    bool told[MUX_PORTS]; /* has seen OPENED */
    GByteArray *kept[MUX_PORTS];
    int focus;            /* -1: no front end yet */
    bool escaped;         /* the escape character was typed */
} Mux;

static bool started;
static GPtrArray *muxes;

void (*chardev_quit_hook)(void);

static Mux *mux_of(const Chardev *port)
{
    return port->mux;
}

static int port_index(const Mux *m, const Chardev *port)
{
    for (int i = 0; i < MUX_PORTS; i++) {
        if (m->ports[i] == port) {
            return i;
        }
    }
    g_assert_not_reached();
}

static void tell_opened(Mux *m)
{
    Chardev *port = m->focus >= 0 ? m->ports[m->focus] : NULL;

    if (started && port && port->handlers.event && !m->told[m->focus] &&
        chardev_is_open(m->base)) {
        m->told[m->focus] = true;
        port->handlers.event(port->opaque, CHARDEV_OPENED);
    }
}

static void set_focus(Mux *m, int focus)
{
    m->focus = focus;
    if (focus >= 0) {
        tell_opened(m);
        chardev_accept_input(m->base); /* this one may have room */
    }
}

static void next_focus(Mux *m)
{
    for (int i = 1; i <= MUX_PORTS; i++) {
        int candidate = (MAX(m->focus, 0) + i) % MUX_PORTS;

        if (m->ports[candidate]->claimed) {
            set_focus(m, candidate);
            return;
        }
    }
    m->focus = -1;
}

/* ---- what comes from below ---- */

static void say(Mux *m, const char *text)
{
    chardev_write(m->base, text, strlen(text));
}

/* What follows the escape character. Returns whether it is input after all. */
static bool command_key(Mux *m, uint8_t key)
{
    Chardev *port = m->focus >= 0 ? m->ports[m->focus] : NULL;

    switch (key) {
    case ESCAPE:
        return true;
    case 'c':
        next_focus(m);
        break;
    case 'x':
        say(m, "Terminated\r\n");
        if (chardev_quit_hook) {
            chardev_quit_hook();
        }
        break;
    case 'b':
        if (port) {
            port->handlers.event(port->opaque, CHARDEV_BREAK);
        }
        break;
    case 'h':
    case '?':
        say(m, "\r\nC-a h    this help\r\nC-a x    end the emulator\r\n"
               "C-a b    send a break\r\nC-a c    switch between monitor and console\r\n"
               "C-a C-a  send C-a\r\n");
        break;
    default:
        break;
    }
    return false;
}

static void hand_on(Mux *m, int i)
{
    Chardev *port = m->ports[i];

    while (m->kept[i]->len > 0 && port->handlers.receive) {
        size_t n = port->handlers.can_receive(port->opaque);
        g_autofree uint8_t *piece = NULL;

        n = MIN(n, m->kept[i]->len);
        if (n == 0) {
            return;
        }
        /* Taken out first: receiving it may lead back here. */
        piece = g_memdup2(m->kept[i]->data, n);
        g_byte_array_remove_range(m->kept[i], 0, n);
        port->handlers.receive(port->opaque, piece, n);
    }
}

void chardev_mux_accept_input(void *opaque)
{
    Chardev *port = opaque;
    Mux *m;

    if (!aio_in_main_thread()) {
        aio_call(aio_context_main(), chardev_mux_accept_input, port);
        return;
    }
    m = mux_of(port);
    if (m) {
        hand_on(m, port_index(m, port));
        chardev_accept_input(m->base);
    }
    chardev_unref(port);
}

static size_t mux_can_receive(void *opaque)
{
    Mux *m = opaque;

    return m->focus < 0 ? 1 : MUX_KEPT_MAX - MIN(m->kept[m->focus]->len, MUX_KEPT_MAX);
}

static void mux_receive(void *opaque, const uint8_t *buf, size_t len)
{
    Mux *m = opaque;

    for (size_t i = 0; i < len; i++) {
        if (m->escaped) {
            m->escaped = false;
            if (!command_key(m, buf[i])) {
                continue;
            }
        } else if (buf[i] == ESCAPE) {
            m->escaped = true;
            continue;
        }
        if (m->focus >= 0) {
            g_byte_array_append(m->kept[m->focus], buf + i, 1);
            hand_on(m, m->focus);
        }
    }
}

static void mux_event(void *opaque, ChardevEvent event)
{
    Mux *m = opaque;

    if (event == CHARDEV_OPENED) {
        tell_opened(m);
        return;
    }
    for (int i = 0; i < MUX_PORTS; i++) {
        Chardev *port = m->ports[i];
        bool tell = event == CHARDEV_CLOSED ? m->told[i] : m->focus == i;

        if (event == CHARDEV_CLOSED) {
            m->told[i] = false;
            g_byte_array_set_size(m->kept[i], 0);
        }
        if (tell && port->handlers.event) {
            port->handlers.event(port->opaque, event);
        }
    }
}

static const ChardevHandlers mux_handlers = { mux_can_receive, mux_receive, mux_event };

/* ---- what front ends do ---- */

void chardev_mux_claim(Chardev *port, const ChardevHandlers *h, void *opaque)
{
    Mux *m = mux_of(port);

    port->handlers = *h;
    port->opaque = opaque;
    port->claimed = true;
    set_focus(m, port_index(m, port));
}

void chardev_mux_release(Chardev *port)
{
    Mux *m = mux_of(port);
    int i = port_index(m, port);

    memset(&port->handlers, 0, sizeof(port->handlers));
    port->opaque = NULL;
    port->claimed = false;
    m->told[i] = false;
    g_byte_array_set_size(m->kept[i], 0);
    if (m->focus == i) {
        next_focus(m);
    }
}

void chardev_mux_release_all(Chardev *port)
{
    Mux *m = mux_of(port);

    for (int i = 0; i < MUX_PORTS; i++) {
        chardev_mux_release(m->ports[i]);
    }
}

void chardev_mux_start(void)
{
    started = true;
    for (guint i = 0; muxes && i < muxes->len; i++) {
        tell_opened(muxes->pdata[i]);
    }
}

/* ---- life ---- */

static const ChardevDriver port_driver = { .name = "mux" };

Chardev *chardev_mux_new(const char *id, Chardev *base)
{
    Mux *m = g_new0(Mux, 1);

    m->base = base;
    m->focus = -1;
    for (int i = 0; i < MUX_PORTS; i++) {
        m->ports[i] = chardev_alloc(id, &port_driver);
        m->ports[i]->mux = m;
        m->ports[i]->lower = base;
        m->kept[i] = g_byte_array_new();
    }
    if (!muxes) {
        muxes = g_ptr_array_new();
    }
    g_ptr_array_add(muxes, m);
    chardev_claim(base, &mux_handlers, m, &error_abort);
    return m->ports[0];
}

Chardev *chardev_mux_free_port(Chardev *port)
{
    Mux *m = mux_of(port);

    for (int i = 0; i < MUX_PORTS; i++) {
        if (!m->ports[i]->claimed) {
            return m->ports[i];
        }
    }
    return m->ports[0];
}

Chardev *chardev_mux_first_port(Chardev *port)
{
    return mux_of(port)->ports[0];
}

bool chardev_mux_in_use(Chardev *port)
{
    Mux *m = mux_of(port);

    for (int i = 0; i < MUX_PORTS; i++) {
        if (m->ports[i]->claimed) {
            return true;
        }
    }
    return false;
}

Chardev *chardev_mux_delete(Chardev *port)
{
    Mux *m = mux_of(port);
    Chardev *base = m->base;

    chardev_release(base);
    for (int i = 0; i < MUX_PORTS; i++) {
        g_byte_array_unref(m->kept[i]);
        m->ports[i]->mux = NULL;
        chardev_unref(m->ports[i]);
    }
    g_ptr_array_remove(muxes, m);
    g_free(m);
    return base;
}
