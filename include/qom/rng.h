/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QOM_RNG_H
#define SPINDLE_QOM_RNG_H

#include "qom/object.h"

/* Sources of random bytes for devices. Runs in: main thread. */

#define TYPE_RNG_BACKEND "rng-backend"

typedef struct RngBackendClass {
    ObjectClass parent_class;
    /* Fills all of buf, or fails. */
    bool (*read)(Object *rng, void *buf, size_t len, Error **errp);
} RngBackendClass;

/* Fills buf with len random bytes of an object of TYPE_RNG_BACKEND. */
bool rng_read(Object *rng, void *buf, size_t len, Error **errp);

#endif
