/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types that every schema has, and what works on enumerations. */
#include <string.h>

#include "qapi/qapi-type.h"

#define SCALAR(n, k, t)                                                                            \
    const QapiType qapi_builtin_##n = { .kind = k, .name = #n, .size = sizeof(t) }

SCALAR(int, QAPI_INT, int64_t);
SCALAR(int8, QAPI_INT, int8_t);
SCALAR(int16, QAPI_INT, int16_t);
SCALAR(int32, QAPI_INT, int32_t);
SCALAR(int64, QAPI_INT, int64_t);
SCALAR(uint8, QAPI_UINT, uint8_t);
SCALAR(uint16, QAPI_UINT, uint16_t);
SCALAR(uint32, QAPI_UINT, uint32_t);
SCALAR(uint64, QAPI_UINT, uint64_t);
SCALAR(size, QAPI_SIZE, uint64_t);
SCALAR(number, QAPI_NUMBER, double);
SCALAR(bool, QAPI_BOOL, bool);
const QapiType qapi_builtin_null = { .kind = QAPI_NULL, .name = "null" };
const QapiType qapi_builtin_str = { .kind = QAPI_STR, .name = "str", .size = sizeof(char *),
                                    .free = g_free };
const QapiType qapi_builtin_any = { .kind = QAPI_ANY, .name = "any", .size = sizeof(JsonNode *),
                                    .free = (GDestroyNotify)json_node_unref };
const QapiType qapi_builtin_empty = { .kind = QAPI_STRUCT, .name = "0" };

int qapi_enum_parse(const QapiEnum *e, const char *value)
{
    for (int i = 0; e->values[i]; i++) {
        if (!strcmp(e->values[i], value)) {
            return i;
        }
    }
    return -1;
}

const char *qapi_enum_name(const QapiEnum *e, int value)
{
    int n = 0;

    while (e->values[n]) {
        n++;
    }
    g_assert(value >= 0 && value < n);
    return e->values[value];
}
