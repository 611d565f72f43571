/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_ERROR_H
#define SPINDLE_UTIL_ERROR_H

#include <glib.h>
#include <stdbool.h>

/*
 * Errors as values. A fallible function takes `Error **errp` last and returns false (or NULL) when
 * it sets it. `errp` may be NULL (the caller does not want the text) or `&error_abort` (the caller
 * knows that it cannot fail; a failure aborts and prints the message).
 *
 * Runs in: any thread. An Error belongs to whoever holds the pointer; free it with error_free().
 */
typedef struct Error Error;

/* The classes that QMP clients can tell apart. */
typedef enum {
    ERROR_CLASS_GENERIC_ERROR,
    ERROR_CLASS_COMMAND_NOT_FOUND,
    ERROR_CLASS_DEVICE_NOT_ACTIVE,
    ERROR_CLASS_DEVICE_NOT_FOUND,
    ERROR_CLASS_KVM_MISSING_CAP,
} ErrorClass;

extern Error *error_abort;

/* Sets *errp to a new error of class GenericError. *errp must be NULL before. */
void error_set(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* As error_set(), with a class. */
void error_set_class(Error **errp, ErrorClass cls, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

/* As error_set(), with ": " and strerror(err) appended. `err` is a positive errno value. */
void error_set_errno(Error **errp, int err, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

/* Adds an explanation that is printed on the lines after the message, but never sent over QMP. */
void error_append_hint(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Puts text before the message of *errp. */
void error_prepend(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Hands `err` (may be NULL) to the caller's errp; drops it if the caller wants none. */
void error_propagate(Error **errp, Error *err);

const char *error_message(const Error *err);
const char *error_hint(const Error *err); /* NULL if there is none */
ErrorClass error_class(const Error *err);
const char *error_class_name(ErrorClass cls); /* "GenericError", ... */

Error *error_copy(const Error *err);
void error_free(Error *err); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Error, error_free)

#endif
