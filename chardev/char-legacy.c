/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The short form in which -serial, -monitor, -qmp and -qtest name a character device. */
#include "chardev/char.h"

#include <string.h>

#include "util/report.h"

/* "HOST:PORT[,opts]" of tcp:. The host may be empty or an IPv6 address in brackets. */
static bool parse_tcp(Opts *opts, const char *text)
{
    const char *comma = strchr(text, ',');
    const char *end = comma ?: text + strlen(text);
    const char *colon = NULL;
    g_autofree char *host = NULL;
    g_autofree char *port = NULL;

    if (*text == '[') {
        const char *close = memchr(text, ']', end - text);

        if (!close || close[1] != ':') {
            return false;
        }
        host = g_strndup(text + 1, close - text - 1);
        colon = close + 1;
    } else {
        colon = memchr(text, ':', end - text);
        if (!colon) {
            return false;
        }
        host = g_strndup(text, colon - text);
    }
    if (colon + 1 == end) {
        return false;
    }
    port = g_strndup(colon + 1, end - colon - 1);
    opts_set(opts, "backend", "socket");
    opts_set(opts, "host", host);
    opts_set(opts, "port", port);
    return true;
}

static bool parse_rest(Opts *opts, const char *text)
{
    g_autoptr(Opts) more = NULL;
    Error *err = NULL;

    more = opts_parse(text, NULL, NULL, &err);
    if (!more) {
        report_error_free(err);
        return false;
    }
    if (more->id) {
        report_error("Invalid parameter 'id'");
        return false;
    }
    for (guint i = 0; i < more->list->len; i++) {
        Opt *o = more->list->pdata[i];

        opts_set(opts, o->key, o->value);
    }
    return true;
}

Opts *chardev_parse_legacy(const char *label, const char *text)
{
    static const struct {
        const char *prefix, *backend;
    } with_path[] = { { "file:", "file" }, { "pipe:", "pipe" } };
    static const char *const plain[] = { "null", "pty", "stdio" };
    g_autoptr(Opts) opts = opts_new(label);
    const char *rest;

    for (guint i = 0; i < G_N_ELEMENTS(plain); i++) {
        if (g_str_equal(text, plain[i])) {
            opts_set(opts, "backend", text);
            return g_steal_pointer(&opts);
        }
    }
    for (guint i = 0; i < G_N_ELEMENTS(with_path); i++) {
        if (g_str_has_prefix(text, with_path[i].prefix)) {
            opts_set(opts, "backend", with_path[i].backend);
            opts_set(opts, "path", text + strlen(with_path[i].prefix));
            return g_steal_pointer(&opts);
        }
    }
    if (g_str_has_prefix(text, "unix:")) {
        g_autofree char *with_key = g_strconcat("path=", text + strlen("unix:"), NULL);

        opts_set(opts, "backend", "socket");
        return parse_rest(opts, with_key) ? g_steal_pointer(&opts) : NULL;
    }
    if (g_str_has_prefix(text, "tcp:")) {
        if (!parse_tcp(opts, text + strlen("tcp:"))) {
            return NULL;
        }
        rest = strchr(text, ',');
        return !rest || parse_rest(opts, rest + 1) ? g_steal_pointer(&opts) : NULL;
    }
    report_error("'%s' is not a valid char driver", text);
    return NULL;
}

Chardev *chardev_new_legacy(const char *label, const char *text, Error **errp)
{
    g_autoptr(Opts) opts = NULL;

    if (g_str_has_prefix(text, "chardev:")) {
        return chardev_find(text + strlen("chardev:"));
    }
    opts = chardev_parse_legacy(label, text);
    return opts ? chardev_new_opts(opts, errp) : NULL;
}
