/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QAPI_SCALAR_H
#define QAPI_SCALAR_H

#include <stdint.h>

/* As parse_uint64() and parse_size(), but 0, -EINVAL (no number) or -ERANGE. */
int scalar_parse_uint64(const char *value, uint64_t *out);
int scalar_parse_size(const char *value, uint64_t *out);

#endif
