/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Characters of JSON strings. */
#include "json-utf8.h"

#include <stdbool.h>

static bool codepoint_allowed(uint32_t cp)
{
    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff)) {
        return false;
    }
    /* Noncharacters: the last two of each plane, and a block in the Arabic presentation forms. */
    return (cp & 0xfffe) != 0xfffe && !(cp >= 0xfdd0 && cp <= 0xfdef);
}

int json_utf8_decode(const char *s, size_t len, uint32_t *cp)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *p = (const unsigned char *)s;
    uint32_t value;
    int n;

    if (p[0] < 0x80) {
        *cp = p[0];
        return 1;
    }
    if (p[0] >= 0xc0 && p[0] < 0xe0) {
        n = 2;
    } else if (p[0] >= 0xe0 && p[0] < 0xf0) {
        n = 3;
    } else if (p[0] >= 0xf0 && p[0] < 0xf8) {
        n = 4;
    } else {
        return 0;
    }
    if (len < (size_t)n) {
        return 0;
    }
    value = p[0] & (0x7f >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        value = value << 6 | (p[i] & 0x3f);
    }
    if (value < least[n] && !(n == 2 && value == 0)) {
        return 0;
    }
    if (!codepoint_allowed(value)) {
        return 0;
    }
    *cp = value;
    return n;
}

int json_utf8_encode(uint32_t cp, char *out)
{
    if (!codepoint_allowed(cp)) {
        return 0;
    }
    if (cp > 0 && cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}
