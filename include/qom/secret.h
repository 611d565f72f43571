/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QOM_SECRET_H
#define SPINDLE_QOM_SECRET_H

#include "qom/object.h"

/* Passwords and keys that options refer to by id. Runs in: main thread. */

#define TYPE_SECRET "secret"

/* A copy of what the object `id` keeps; the caller wipes and frees it. Fails if there is no such
 * object or it is no secret. */
bool secret_lookup(const char *id, guint8 **bytes, gsize *len, Error **errp);

#endif
