/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ACPI machine language. */
#include "acpi-aml.h"

#include <string.h>

#define OP_NAME     0x08
#define OP_BYTE     0x0a
#define OP_WORD     0x0b
#define OP_DWORD    0x0c
#define OP_QWORD    0x0e
#define OP_SCOPE    0x10
#define OP_METHOD   0x14
#define OP_EXTENDED 0x5b
#define OP_DEVICE   0x82
#define OP_IF       0xa0
#define OP_DUAL     0x2e /* name prefixes: two segments, several */
#define OP_MULTI    0x2f

#define SERIALIZED  0x08 /* flag of a method */
#define LENGTH_MAX  4    /* bytes of a package length */

void aml_byte(GByteArray *a, uint8_t opcode)
{
    g_byte_array_append(a, &opcode, 1);
}

static void little_endian(GByteArray *a, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        aml_byte(a, value >> (8 * i));
    }
}

void aml_int(GByteArray *a, uint64_t value)
{
    if (value <= 1) {
        aml_byte(a, value); /* ZeroOp, OneOp */
    } else if (value <= UINT8_MAX) {
        aml_byte(a, OP_BYTE);
        little_endian(a, value, 1);
    } else if (value <= UINT16_MAX) {
        aml_byte(a, OP_WORD);
        little_endian(a, value, 2);
    } else if (value <= UINT32_MAX) {
        aml_byte(a, OP_DWORD);
        little_endian(a, value, 4);
    } else {
        aml_byte(a, OP_QWORD);
        little_endian(a, value, 8);
    }
}

void aml_path(GByteArray *a, const char *path)
{
    unsigned segments;

    while (*path == '\\' || *path == '^') {
        aml_byte(a, *path++);
    }
    segments = (strlen(path) + 1) / 5;
    g_assert(segments >= 1 && strlen(path) == segments * 5 - 1);
    if (segments == 2) {
        aml_byte(a, OP_DUAL);
    } else if (segments > 2) {
        aml_byte(a, OP_MULTI);
        aml_byte(a, segments);
    }
    for (unsigned i = 0; i < segments; i++) {
        g_byte_array_append(a, (const uint8_t *)path + 5 * i, 4);
    }
}

/* Room for the length, which only the end will tell. */
static size_t open_package(GByteArray *a)
{
    size_t mark = a->len;

    little_endian(a, 0, LENGTH_MAX);
    return mark;
}

void aml_end(GByteArray *a, size_t mark)
{
    /* The length counts itself: always in its longest form, two bits of count and 4 + 3 * 8 of
     * length. */
    uint32_t len = a->len - mark;

    g_assert(len < 1u << 28);
    a->data[mark] = (LENGTH_MAX - 1) << 6 | (len & 0xf);
    a->data[mark + 1] = len >> 4;
    a->data[mark + 2] = len >> 12;
    a->data[mark + 3] = len >> 20;
}

size_t aml_scope(GByteArray *a, const char *path)
{
    size_t mark;

    aml_byte(a, OP_SCOPE);
    mark = open_package(a);
    aml_path(a, path);
    return mark;
}

size_t aml_device(GByteArray *a, const char *path)
{
    size_t mark;

    aml_byte(a, OP_EXTENDED);
    aml_byte(a, OP_DEVICE);
    mark = open_package(a);
    aml_path(a, path);
    return mark;
}

size_t aml_method(GByteArray *a, const char *path, unsigned args)
{
    size_t mark;

    aml_byte(a, OP_METHOD);
    mark = open_package(a);
    aml_path(a, path);
    aml_byte(a, args | SERIALIZED);
    return mark;
}

size_t aml_if(GByteArray *a)
{
    aml_byte(a, OP_IF);
    return open_package(a);
}

void aml_name_int(GByteArray *a, const char *path, uint64_t value)
{
    aml_byte(a, OP_NAME);
    aml_path(a, path);
    aml_int(a, value);
}
