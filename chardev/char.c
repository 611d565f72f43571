/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Character devices: their names, their life, and who uses them. */
#include "char-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "chardev/fdset.h"
#include "util/report.h"

/* Constructors of drivers fill it; read-only afterwards. */
static GPtrArray *drivers;

/* Changed in the main thread only; the lock is for readers elsewhere (yank). */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static GPtrArray *all;

void chardev_driver_register(const ChardevDriver *drv)
{
    if (!drivers) {
        drivers = g_ptr_array_new();
    }
    g_ptr_array_add(drivers, (gpointer)drv);
}

const ChardevDriver *chardev_driver_find(const char *name)
{
    for (guint i = 0; i < drivers->len; i++) {
        const ChardevDriver *drv = drivers->pdata[i];

        if (g_str_equal(drv->name, name)) {
            return drv;
        }
    }
    return NULL;
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *chardev_backend_names(void)
{
    GPtrArray *names = g_ptr_array_new();

    for (guint i = 0; i < drivers->len; i++) {
        g_ptr_array_add(names, (gpointer)((const ChardevDriver *)drivers->pdata[i])->name);
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

Chardev *chardev_ref(Chardev *c)
{
    __atomic_add_fetch(&c->ref, 1, __ATOMIC_RELAXED);
    return c;
}

void chardev_unref(Chardev *c)
{
    if (__atomic_sub_fetch(&c->ref, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    if (c->drv->free) {
        c->drv->free(c);
    }
    if (c->log_fd >= 0) {
        fdset_forget(c->log_fd);
        close(c->log_fd);
    }
    g_byte_array_unref(c->queue);
    pthread_mutex_destroy(&c->lock);
    g_free(c->filename);
    g_free(c->state);
    g_free(c->id);
    g_free(c);
}

AioContext *chardev_context(Chardev *c)
{
    AioContext *ctx;

    pthread_mutex_lock(&c->lock);
    ctx = c->ctx;
    pthread_mutex_unlock(&c->lock);
    return ctx;
}

void chardev_set_filename(Chardev *c, char *filename)
{
    char *old;

    pthread_mutex_lock(&c->lock);
    old = c->filename;
    c->filename = filename;
    pthread_mutex_unlock(&c->lock);
    g_free(old);
}

char *chardev_filename(Chardev *c)
{
    char *copy;

    pthread_mutex_lock(&c->lock);
    copy = g_strdup(c->filename);
    pthread_mutex_unlock(&c->lock);
    return copy;
}

const char *chardev_id(const Chardev *c)
{
    return c->id;
}

bool chardev_is_open(Chardev *c)
{
    bool open;

    c = c->lower ?: c;
    pthread_mutex_lock(&c->lock);
    open = c->open;
    pthread_mutex_unlock(&c->lock);
    return open;
}

Chardev *chardev_find(const char *id)
{
    for (guint i = 0; all && i < all->len; i++) {
        Chardev *c = all->pdata[i];

        if (g_str_equal(c->id, id)) {
            return c->mux ? chardev_mux_free_port(c) : c;
        }
    }
    return NULL;
}

bool chardev_is_mux(const Chardev *c)
{
    return c->mux != NULL;
}

GPtrArray *chardev_list(void)
{
    GPtrArray *copy;

    pthread_mutex_lock(&list_lock);
    copy = g_ptr_array_new_with_free_func((GDestroyNotify)chardev_unref);
    for (guint i = 0; all && i < all->len; i++) {
        g_ptr_array_add(copy, chardev_ref(all->pdata[i]));
    }
    pthread_mutex_unlock(&list_lock);
    return copy;
}

static void attach(void *opaque)
{
    Chardev *c = opaque;

    c->attached = true;
    chardev_stream_attach(c);
    if (c->drv->attach) {
        c->drv->attach(c);
    }
}

static void detach(void *opaque)
{
    Chardev *c = opaque;

    if (c->drv->detach) {
        c->drv->detach(c);
    }
    chardev_stream_detach(c);
    c->attached = false;
}

static bool open_log(Chardev *c, Opts *opts, Error **errp)
{
    g_autofree char *path = opts_take(opts, "logfile");
    bool append;

    if (!opts_take_bool(opts, "logappend", false, &append, errp)) {
        return false;
    }
    if (!path) {
        return true;
    }
    if (fdset_is_path(path)) {
        c->log_fd = fdset_dup(path, O_WRONLY, errp);
        return c->log_fd >= 0;
    }
    c->log_fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
    if (c->log_fd < 0) {
        error_set_errno(errp, errno, "Could not create '%s'", path);
        return false;
    }
    return true;
}

Chardev *chardev_alloc(const char *id, const ChardevDriver *drv)
{
    Chardev *c = g_new0(Chardev, 1);

    c->id = g_strdup(id);
    c->drv = drv;
    c->state = g_malloc0(MAX(drv->state_size, 1));
    c->ref = 1;
    c->ctx = aio_context_main();
    c->in_fd = c->out_fd = c->log_fd = -1;
    c->queue = g_byte_array_new();
    c->filename = g_strdup(drv->name);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void detach_for_good(void *opaque)
{
    Chardev *c = opaque;

    c->removed = true;
    detach(c);
}

/* Takes everything down. The last reference may be elsewhere, in a call that is on its way. */
static void chardev_shut(Chardev *c)
{
    aio_call_sync(c->ctx, detach_for_good, c);
    chardev_stream_drop(c);
    if (c->drv->close) {
        c->drv->close(c);
    }
    chardev_unref(c);
}

static void list_add(Chardev *c)
{
    pthread_mutex_lock(&list_lock);
    if (!all) {
        all = g_ptr_array_new();
    }
    g_ptr_array_add(all, c);
    pthread_mutex_unlock(&list_lock);
}

static void list_remove(Chardev *c)
{
    pthread_mutex_lock(&list_lock);
    g_ptr_array_remove(all, c);
    pthread_mutex_unlock(&list_lock);
}

Chardev *chardev_new_opts(Opts *opts, Error **errp)
{
    g_autofree char *backend = opts_take(opts, "backend");
    g_autofree char *base_id = NULL;
    const ChardevDriver *drv;
    Chardev *c;
    bool mux;

    g_assert(aio_in_main_thread());
    if (!opts->id) {
        error_set(errp, "chardev: no id specified");
        return NULL;
    }
    if (!backend) {
        error_set(errp, "chardev: \"%s\" missing backend", opts->id);
        return NULL;
    }
    drv = chardev_driver_find(backend);
    if (!drv) {
        error_set(errp, "'%s' is not a valid char driver name", backend);
        return NULL;
    }
    if (!opts_take_bool(opts, "mux", false, &mux, errp)) {
        return NULL;
    }
    if (chardev_find(opts->id)) {
        error_set(errp, "Chardev with id '%s' already exists", opts->id);
        return NULL;
    }
    if (mux) {
        base_id = g_strconcat(opts->id, "-base", NULL);
        if (chardev_find(base_id)) {
            error_set(errp, "Chardev with id '%s' already exists", base_id);
            return NULL;
        }
    }
    c = chardev_alloc(base_id ?: opts->id, drv);
    if (!open_log(c, opts, errp)) {
        chardev_unref(c);
        return NULL;
    }
    if (!drv->open(c, opts, errp)) {
        chardev_stream_drop(c);
        if (drv->close) {
            drv->close(c);
        }
        chardev_unref(c);
        return NULL;
    }
    attach(c);
    if (!opts_all_taken(opts, errp)) {
        chardev_shut(c);
        return NULL;
    }
    list_add(c);
    if (mux) {
        c = chardev_mux_new(opts->id, c);
        list_add(c);
    }
    return c;
}

bool chardev_remove(Chardev *c, Error **errp)
{
    g_assert(aio_in_main_thread());
    if (c->mux ? chardev_mux_in_use(c) : c->claimed) {
        error_set(errp, "Chardev '%s' is busy", c->id);
        return false;
    }
    if (c->mux) {
        list_remove(chardev_mux_first_port(c));
        c = chardev_mux_delete(c);
    }
    list_remove(c);
    chardev_shut(c);
    return true;
}

void chardev_cleanup(void)
{
    while (all && all->len > 0) {
        Chardev *c = all->pdata[all->len - 1];

        chardev_flush(c, 500);
        if (c->mux) {
            chardev_mux_release_all(c);
        } else {
            chardev_release(c);
        }
        chardev_remove(c, &error_abort);
    }
}

typedef struct ClaimCall {
    Chardev *c;
    const ChardevHandlers *handlers;
    void *opaque;
} ClaimCall;

static void claim_in_context(void *opaque)
{
    ClaimCall *call = opaque;
    Chardev *c = call->c;

    c->handlers = *call->handlers;
    c->opaque = call->opaque;
    if (c->in) {
        aio_fd_want_read(c->in, true);
    }
    if (c->open) {
        c->opened_told = true;
        c->handlers.event(c->opaque, CHARDEV_OPENED);
    }
}

bool chardev_claim(Chardev *c, const ChardevHandlers *h, void *opaque, Error **errp)
{
    ClaimCall call = { c, h, opaque };

    g_assert(aio_in_main_thread());
    g_assert(h->can_receive && h->receive && h->event);
    if (c->claimed) {
        error_set(errp, "chardev '%s' is already in use", c->id);
        return false;
    }
    if (c->mux) {
        chardev_mux_claim(c, h, opaque);
        return true;
    }
    c->claimed = true;
    aio_call_sync(c->ctx, claim_in_context, &call);
    return true;
}

static void release_in_context(void *opaque)
{
    Chardev *c = opaque;

    memset(&c->handlers, 0, sizeof(c->handlers));
    c->opaque = NULL;
    c->opened_told = false;
    if (c->in) {
        aio_fd_want_read(c->in, false);
    }
}

void chardev_release(Chardev *c)
{
    g_assert(aio_in_main_thread());
    if (c->claimed && c->mux) {
        chardev_mux_release(c);
    } else if (c->claimed) {
        aio_call_sync(c->ctx, release_in_context, c);
        c->claimed = false;
    }
}

bool chardev_is_claimed(const Chardev *c)
{
    return c->claimed; /* of a shared one: this port */
}

void chardev_set_context(Chardev *c, AioContext *ctx)
{
    g_assert(aio_in_main_thread());
    if (c->ctx == ctx) {
        return;
    }
    g_assert(!c->mux); /* shared by front ends of the main thread */
    aio_call_sync(c->ctx, detach, c);
    pthread_mutex_lock(&c->lock);
    c->ctx = ctx;
    pthread_mutex_unlock(&c->lock);
    aio_call_sync(ctx, attach, c);
}
