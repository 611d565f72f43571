/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switches, numbers, sizes and identifiers as people type them. */
#include "scalar.h"

#include <errno.h>
#include <string.h>

#include "qapi/keyval.h"

bool id_wellformed(const char *id)
{
    if (!g_ascii_isalpha(id[0])) {
        return false;
    }
    for (const char *p = id; *p; p++) {
        if (!g_ascii_isalnum(*p) && *p != '-' && *p != '.' && *p != '_') {
            return false;
        }
    }
    return true;
}

void error_set_bad_id(Error **errp)
{
    error_set(errp, "Parameter 'id' expects an identifier");
    error_append_hint(errp, "Identifiers consist of letters, digits, '-', '.', '_', "
                            "starting with a letter.\n");
}

bool parse_bool(const char *name, const char *value, bool *out, Error **errp)
{
    static const char *const on[] = { "on", "yes", "true", "y", NULL };
    static const char *const off[] = { "off", "no", "false", "n", NULL };

    if (g_strv_contains(on, value)) {
        *out = true;
        return true;
    }
    if (g_strv_contains(off, value)) {
        *out = false;
        return true;
    }
    error_set(errp, "Parameter '%s' expects 'on' or 'off'", name);
    return false;
}

bool parse_int64(const char *value, int64_t *out)
{
    char *end;

    errno = 0;
    *out = g_ascii_strtoll(value, &end, 0);
    return errno == 0 && end != value && !*end;
}

int scalar_parse_uint64(const char *value, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = g_ascii_strtoull(value, &end, 0);
    if (end == value || *end) {
        return -EINVAL;
    }
    return errno ? -ERANGE : 0;
}

bool parse_uint64(const char *value, uint64_t *out)
{
    return scalar_parse_uint64(value, out) == 0;
}

/* Power of 1024 of a suffix, -1 if it is none. */
static int suffix_power(char c)
{
    static const char suffixes[] = "bkmgtpe";
    const char *p = c ? strchr(suffixes, g_ascii_tolower(c)) : NULL;

    return p ? (int)(p - suffixes) : -1;
}

int scalar_parse_size(const char *value, uint64_t *out)
{
    const char *p = value;
    bool negative = false, overflow = false, digits = false;
    uint64_t whole = 0;
    double fraction = 0, scale = 0.1, unit;
    int power = 0;

    while (g_ascii_isspace(*p)) {
        p++;
    }
    if (*p == '-' || *p == '+') {
        negative = *p == '-';
        p++;
    }
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        char *end;

        /* Hexadecimal takes no suffix: too many of them are digits. */
        if (!g_ascii_isxdigit(p[2])) {
            return -EINVAL;
        }
        errno = 0;
        whole = g_ascii_strtoull(p, &end, 16);
        if (*end) {
            return -EINVAL;
        }
        if (errno || negative) {
            return -ERANGE;
        }
        *out = whole;
        return 0;
    }
    for (; g_ascii_isdigit(*p); p++) {
        uint64_t digit = (uint64_t)(*p - '0');

        digits = true;
        overflow |= __builtin_mul_overflow(whole, 10, &whole) ||
                    __builtin_add_overflow(whole, digit, &whole);
    }
    if (*p == '.') {
        for (p++; g_ascii_isdigit(*p); p++) {
            digits = true;
            fraction += (*p - '0') * scale;
            scale /= 10;
        }
    }
    if (!digits) {
        return -EINVAL;
    }
    if (*p) {
        power = suffix_power(*p++);
        if (power < 0 || *p) {
            return -EINVAL;
        }
    }
    /* There is no half of a byte. */
    if (fraction > 0 && power == 0) {
        return -EINVAL;
    }
    if (overflow || negative) {
        return -ERANGE;
    }
    if (__builtin_mul_overflow(whole, UINT64_C(1) << (10 * power), &whole)) {
        return -ERANGE;
    }
    unit = (double)(UINT64_C(1) << (10 * power));
    if (__builtin_add_overflow(whole, (uint64_t)(fraction * unit + 0.5), &whole)) {
        return -ERANGE;
    }
    *out = whole;
    return 0;
}

bool parse_size(const char *value, uint64_t *out)
{
    return scalar_parse_size(value, out) == 0;
}
