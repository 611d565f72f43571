/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -object rng-builtin: random bytes from the host's kernel. */
#include "qom/rng.h"

#include <errno.h>
#include <sys/random.h>

bool rng_read(Object *rng, void *buf, size_t len, Error **errp)
{
    return OBJECT_CLASS_CHECK(RngBackendClass, rng, TYPE_RNG_BACKEND)->read(rng, buf, len, errp);
}

static bool builtin_read(Object *rng, void *buf, size_t len, Error **errp)
{
    char *p = buf;

    while (len) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno != EINTR) {
            error_set_errno(errp, errno, "getrandom failed");
            return false;
        }
        if (n > 0) {
            p += n;
            len -= n;
        }
    }
    return true;
}

static const TypeInfo rng_backend_info = {
    .name = TYPE_RNG_BACKEND,
    .parent = "object",
    .class_size = sizeof(RngBackendClass),
    .abstract = true,
};
TYPE_REGISTER(rng_backend_info)

static void builtin_class_init(ObjectClass *klass, const void *data)
{
    ((RngBackendClass *)klass)->read = builtin_read;
}

static const TypeInfo rng_builtin_info = {
    .name = "rng-builtin",
    .parent = TYPE_RNG_BACKEND,
    .class_init = builtin_class_init,
    .user_creatable = true,
};
TYPE_REGISTER(rng_builtin_info)
