/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QAPI_JSON_UTF8_H
#define QAPI_JSON_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * UTF-8 as JSON text uses it here: U+0000 inside a string is written C0 80, so that strings stay C
 * strings; surrogates and noncharacters are refused.
 */

/* Length of the character at `s` (of at most `len` bytes, len > 0), 0 if it is not well-formed. */
int json_utf8_decode(const char *s, size_t len, uint32_t *cp);
/* Length written to `out` (4 bytes), 0 if the code point is not allowed. */
int json_utf8_encode(uint32_t cp, char *out);

#endif
