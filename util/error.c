/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors as values: creation, decoration and hand-over. */
#include "util/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct Error {
    ErrorClass cls;
    char *msg;
    GString *hint;
};

Error *error_abort;

static void error_print_and_abort(const Error *err)
{
    fprintf(stderr, "Unexpected error: %s\n", err->msg);
    if (err->hint) {
        fprintf(stderr, "%s", err->hint->str);
    }
    fflush(stderr);
    abort();
}

/* errno survives, so that a caller may report first and look at errno afterwards. */
static void G_GNUC_PRINTF(4, 0)
    error_setv(Error **errp, ErrorClass cls, int err_no, const char *fmt, va_list ap)
{
    int saved_errno = errno;
    Error *err;

    if (!errp) {
        return;
    }
    g_assert(*errp == NULL);

    err = g_new0(Error, 1);
    err->cls = cls;
    err->msg = g_strdup_vprintf(fmt, ap);
    if (err_no != 0) {
        g_autofree char *text = err->msg;

        err->msg = g_strdup_printf("%s: %s", text, g_strerror(err_no));
    }
    if (errp == &error_abort) {
        error_print_and_abort(err);
    }
    *errp = err;
    errno = saved_errno;
}

void error_set(Error **errp, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_setv(errp, ERROR_CLASS_GENERIC_ERROR, 0, fmt, ap);
    va_end(ap);
}

void error_set_class(Error **errp, ErrorClass cls, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_setv(errp, cls, 0, fmt, ap);
    va_end(ap);
}

void error_set_errno(Error **errp, int err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_setv(errp, ERROR_CLASS_GENERIC_ERROR, err, fmt, ap);
    va_end(ap);
}

void error_append_hint(Error **errp, const char *fmt, ...)
{
    va_list ap;

    if (!errp || !*errp) {
        return;
    }
    if (!(*errp)->hint) {
        (*errp)->hint = g_string_new(NULL);
    }
    va_start(ap, fmt);
    g_string_append_vprintf((*errp)->hint, fmt, ap);
    va_end(ap);
}

void error_prepend(Error **errp, const char *fmt, ...)
{
    g_autofree char *front = NULL;
    g_autofree char *old = NULL;
    va_list ap;

    if (!errp || !*errp) {
        return;
    }
    va_start(ap, fmt);
    front = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    old = (*errp)->msg;
    (*errp)->msg = g_strconcat(front, old, NULL);
}

void error_propagate(Error **errp, Error *err)
{
    if (!err) {
        return;
    }
    if (errp == &error_abort) {
        error_print_and_abort(err);
    }
    if (errp && !*errp) {
        *errp = err;
    } else {
        error_free(err);
    }
}

const char *error_message(const Error *err)
{
    return err->msg;
}

const char *error_hint(const Error *err)
{
    return err->hint ? err->hint->str : NULL;
}

ErrorClass error_class(const Error *err)
{
    return err->cls;
}

const char *error_class_name(ErrorClass cls)
{
    switch (cls) {
    case ERROR_CLASS_GENERIC_ERROR:
        return "GenericError";
    case ERROR_CLASS_COMMAND_NOT_FOUND:
        return "CommandNotFound";
    case ERROR_CLASS_DEVICE_NOT_ACTIVE:
        return "DeviceNotActive";
    case ERROR_CLASS_DEVICE_NOT_FOUND:
        return "DeviceNotFound";
    case ERROR_CLASS_KVM_MISSING_CAP:
        return "KVMMissingCap";
    }
    g_assert_not_reached();
}

Error *error_copy(const Error *err)
{
    Error *copy = g_new0(Error, 1);

    copy->cls = err->cls;
    copy->msg = g_strdup(err->msg);
    if (err->hint) {
        copy->hint = g_string_new_len(err->hint->str, err->hint->len);
    }
    return copy;
}

void error_free(Error *err)
{
    if (!err) {
        return;
    }
    g_free(err->msg);
    if (err->hint) {
        g_string_free(err->hint, TRUE);
    }
    g_free(err);
}
