/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP commands about character devices. */
#include "char-internal.h"

#include <string.h>

#include "qapi/qapi-char.h"
#include "qapi/qapi-misc.h"

GPtrArray *qmp_query_chardev(Error **errp)
{
    GPtrArray *reply = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_ChardevInfo);
    g_autoptr(GPtrArray) list = chardev_list();

    for (guint i = 0; i < list->len; i++) {
        Chardev *c = list->pdata[i];
        ChardevInfo *info = g_new0(ChardevInfo, 1);

        info->label = g_strdup(c->id);
        info->filename = chardev_filename(c);
        info->frontend_open = c->mux ? chardev_mux_in_use(c) : c->claimed;
        g_ptr_array_add(reply, info);
    }
    return reply;
}
QMP_REGISTER(query_chardev)

GPtrArray *qmp_query_chardev_backends(Error **errp)
{
    GPtrArray *reply =
        g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_ChardevBackendInfo);
    g_autoptr(GPtrArray) names = chardev_backend_names();

    for (guint i = 0; i < names->len; i++) {
        ChardevBackendInfo *info = g_new0(ChardevBackendInfo, 1);

        info->name = g_strdup(names->pdata[i]);
        g_ptr_array_add(reply, info);
    }
    return reply;
}
QMP_REGISTER(query_chardev_backends)

/* ---- chardev-add: its nested form, flattened to the form that the command line has ---- */

static void set_bool(Opts *opts, const char *key, bool given, bool value)
{
    if (given) {
        opts_set(opts, key, value ? "on" : "off");
    }
}

static void set_str(Opts *opts, const char *key, const char *value)
{
    if (value) {
        opts_set(opts, key, value);
    }
}

static void set_int(Opts *opts, const char *key, bool given, int64_t value)
{
    if (given) {
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);

        opts_set(opts, key, text);
    }
}

static void set_socket_address(Opts *opts, const SocketAddressLegacy *addr)
{
    switch (addr->type) {
    case SOCKET_ADDRESS_TYPE_INET: {
        const InetSocketAddress *inet = addr->u.inet.data;

        set_str(opts, "host", inet->host);
        set_str(opts, "port", inet->port);
        set_int(opts, "to", inet->has_to, inet->to);
        set_bool(opts, "ipv4", inet->has_ipv4, inet->ipv4);
        set_bool(opts, "ipv6", inet->has_ipv6, inet->ipv6);
        set_bool(opts, "keep-alive", inet->has_keep_alive, inet->keep_alive);
        /* The rest stays for the socket driver to refuse by name. */
        set_bool(opts, "numeric", inet->has_numeric && inet->numeric, true);
        set_bool(opts, "mptcp", inet->has_mptcp && inet->mptcp, true);
        break;
    }
    case SOCKET_ADDRESS_TYPE_UNIX: {
        const UnixSocketAddress *un = addr->u.q_unix.data;

        set_str(opts, "path", un->path);
        set_bool(opts, "abstract", un->has_abstract, un->abstract);
        set_bool(opts, "tight", un->has_tight, un->tight);
        break;
    }
    case SOCKET_ADDRESS_TYPE_FD:
        set_str(opts, "fd", addr->u.fd.data->str);
        break;
    default:
        g_assert_not_reached();
    }
}

static void set_socket(Opts *opts, const ChardevSocket *s)
{
    set_socket_address(opts, s->addr);
    set_str(opts, "tls-creds", s->tls_creds);
    set_str(opts, "tls-authz", s->tls_authz);
    /* Over QMP a socket listens unless told otherwise, and does not make the monitor wait. */
    set_bool(opts, "server", true, !s->has_server || s->server);
    if (!s->has_server || s->server) {
        set_bool(opts, "wait", true, s->has_wait && s->wait);
    } else {
        set_bool(opts, "wait", s->has_wait, s->wait);
    }
    set_bool(opts, "nodelay", s->has_nodelay, s->nodelay);
    set_bool(opts, "telnet", s->has_telnet, s->telnet);
    set_bool(opts, "tn3270", s->has_tn3270, s->tn3270);
    set_bool(opts, "websocket", s->has_websocket, s->websocket);
    set_int(opts, "reconnect", s->has_reconnect, s->reconnect);
    set_int(opts, "reconnect-ms", s->has_reconnect_ms, s->reconnect_ms);
}

static void set_common(Opts *opts, const char *logfile, bool has_append, bool append)
{
    set_str(opts, "logfile", logfile);
    set_bool(opts, "logappend", has_append, append);
}

#define SET_COMMON(opts, data)                                                                     \
    set_common(opts, (data)->logfile, (data)->has_logappend, (data)->logappend)

static void set_backend(Opts *opts, const ChardevBackend *b)
{
    opts_set(opts, "backend", qapi_enum_name(&qapi_enum_ChardevBackendKind, b->type));
    switch (b->type) {
    case CHARDEV_BACKEND_KIND_FILE:
        set_str(opts, "path", b->u.file.data->out);
        set_str(opts, "input-path", b->u.file.data->in);
        set_bool(opts, "append", b->u.file.data->has_append, b->u.file.data->append);
        SET_COMMON(opts, b->u.file.data);
        break;
    case CHARDEV_BACKEND_KIND_PIPE:
        set_str(opts, "path", b->u.pipe.data->device);
        SET_COMMON(opts, b->u.pipe.data);
        break;
    case CHARDEV_BACKEND_KIND_SOCKET:
        set_socket(opts, b->u.socket.data);
        SET_COMMON(opts, b->u.socket.data);
        break;
    case CHARDEV_BACKEND_KIND_PTY:
        set_str(opts, "path", b->u.pty.data->path);
        SET_COMMON(opts, b->u.pty.data);
        break;
    case CHARDEV_BACKEND_KIND_NULL:
        SET_COMMON(opts, b->u.null.data);
        break;
    case CHARDEV_BACKEND_KIND_STDIO:
        set_bool(opts, "signal", b->u.stdio.data->has_signal, b->u.stdio.data->signal);
        SET_COMMON(opts, b->u.stdio.data);
        break;
    default:
        g_assert_not_reached();
    }
}

ChardevReturn *qmp_chardev_add(const q_chardev_add_args *args, Error **errp)
{
    g_autoptr(Opts) opts = opts_new(args->id);
    ChardevReturn *ret;
    Error *err = NULL;
    Chardev *c;

    if (chardev_find(args->id)) {
        error_set(errp, "Chardev with id '%s' already exists", args->id);
        return NULL;
    }
    set_backend(opts, args->backend);
    c = chardev_new_opts(opts, &err);
    if (!c) {
        error_prepend(&err, "Failed to add chardev '%s': ", args->id);
        error_propagate(errp, err);
        return NULL;
    }
    ret = g_new0(ChardevReturn, 1);
    if (args->backend->type == CHARDEV_BACKEND_KIND_PTY) {
        g_autofree char *name = chardev_filename(c);

        ret->pty = g_strdup(name + strlen("pty:"));
    }
    return ret;
}
QMP_REGISTER(chardev_add)

bool qmp_chardev_remove(const q_chardev_remove_args *args, Error **errp)
{
    Chardev *c = chardev_find(args->id);

    if (!c) {
        error_set(errp, "Chardev '%s' not found", args->id);
        return false;
    }
    return chardev_remove(c, errp);
}
QMP_REGISTER(chardev_remove)

/* ---- yank; runs in any thread, even while the main thread hangs ---- */

GPtrArray *qmp_query_yank(Error **errp)
{
    GPtrArray *reply = g_ptr_array_new_with_free_func((GDestroyNotify)qapi_free_YankInstance);
    g_autoptr(GPtrArray) list = chardev_list();

    for (guint i = 0; i < list->len; i++) {
        Chardev *c = list->pdata[i];

        if (c->drv->yank) {
            YankInstance *y = g_new0(YankInstance, 1);

            y->type = YANK_INSTANCE_TYPE_CHARDEV;
            y->u.chardev.id = g_strdup(c->id);
            g_ptr_array_add(reply, y);
        }
    }
    return reply;
}
QMP_REGISTER(query_yank)

static Chardev *find_yankable(GPtrArray *list, const YankInstance *y)
{
    for (guint i = 0; i < list->len; i++) {
        Chardev *c = list->pdata[i];

        if (y->type == YANK_INSTANCE_TYPE_CHARDEV && c->drv->yank &&
            g_str_equal(c->id, y->u.chardev.id)) {
            return c;
        }
    }
    return NULL;
}

bool qmp_yank(const q_yank_args *args, Error **errp)
{
    g_autoptr(GPtrArray) list = chardev_list();

    /* All or none. */
    for (guint i = 0; i < args->instances->len; i++) {
        if (!find_yankable(list, args->instances->pdata[i])) {
            error_set_class(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Instance not found");
            return false;
        }
    }
    for (guint i = 0; i < args->instances->len; i++) {
        Chardev *c = find_yankable(list, args->instances->pdata[i]);

        c->drv->yank(c);
    }
    return true;
}
QMP_REGISTER(yank)
