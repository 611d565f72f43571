/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON values to text: pure ASCII, in the spacing that clients of the monitor are used to. */
#include "qapi/json.h"

#include <math.h>
#include <string.h>

#include "json-utf8.h"

static void write_string(GString *out, const char *s)
{
    const char *end = s + strlen(s);

    g_string_append_c(out, '"');
    while (s < end) {
        uint32_t cp;
        int n = json_utf8_decode(s, end - s, &cp);

        if (n == 0) {
            cp = 0xfffd;
            n = 1;
        }
        s += n;
        switch (cp) {
        case '"':
            g_string_append(out, "\\\"");
            break;
        case '\\':
            g_string_append(out, "\\\\");
            break;
        case '\b':
            g_string_append(out, "\\b");
            break;
        case '\f':
            g_string_append(out, "\\f");
            break;
        case '\n':
            g_string_append(out, "\\n");
            break;
        case '\r':
            g_string_append(out, "\\r");
            break;
        case '\t':
            g_string_append(out, "\\t");
            break;
        default:
            if (cp >= 0x10000) {
                g_string_append_printf(out, "\\u%04X\\u%04X", 0xd800 + ((cp - 0x10000) >> 10),
                                       0xdc00 + ((cp - 0x10000) & 0x3ff));
            } else if (cp < 0x20 || cp >= 0x7f) {
                g_string_append_printf(out, "\\u%04X", cp);
            } else {
                g_string_append_c(out, (char)cp);
            }
        }
    }
    g_string_append_c(out, '"');
}

static void write_double(GString *out, double d)
{
    char buf[G_ASCII_DTOSTR_BUF_SIZE];

    if (!isfinite(d)) {
        g_string_append(out, "null");
    } else if (d >= 0x1p63 && d <= 0x1p64) {
        /* How integers above INT64_MAX are kept. */
        g_string_append_printf(out, "%" G_GUINT64_FORMAT, d < 0x1p64 ? (uint64_t)d : UINT64_MAX);
    } else {
        g_string_append(out, g_ascii_formatd(buf, sizeof(buf), "%.17g", d));
    }
}

static void write_break(GString *out, bool pretty, int depth)
{
    if (pretty) {
        g_string_append_c(out, '\n');
        for (int i = 0; i < depth; i++) {
            g_string_append(out, "    ");
        }
    }
}

static void write_separator(GString *out, bool pretty, bool first, int depth)
{
    if (!first) {
        g_string_append(out, pretty ? "," : ", ");
    }
    write_break(out, pretty, depth);
}

static void write_value(GString *out, JsonNode *node, bool pretty, int depth)
{
    switch (json_node_get_node_type(node)) {
    case JSON_NODE_OBJECT: {
        JsonObjectIter iter;
        const char *name;
        JsonNode *member;
        bool first = true;

        g_string_append_c(out, '{');
        json_object_iter_init_ordered(&iter, json_node_get_object(node));
        while (json_object_iter_next_ordered(&iter, &name, &member)) {
            write_separator(out, pretty, first, depth + 1);
            first = false;
            write_string(out, name);
            g_string_append(out, ": ");
            write_value(out, member, pretty, depth + 1);
        }
        write_break(out, pretty, depth);
        g_string_append_c(out, '}');
        break;
    }
    case JSON_NODE_ARRAY: {
        JsonArray *array = json_node_get_array(node);
        guint n = json_array_get_length(array);

        g_string_append_c(out, '[');
        for (guint i = 0; i < n; i++) {
            write_separator(out, pretty, i == 0, depth + 1);
            write_value(out, json_array_get_element(array, i), pretty, depth + 1);
        }
        write_break(out, pretty, depth);
        g_string_append_c(out, ']');
        break;
    }
    case JSON_NODE_NULL:
        g_string_append(out, "null");
        break;
    case JSON_NODE_VALUE:
        switch (json_node_get_value_type(node)) {
        case G_TYPE_BOOLEAN:
            g_string_append(out, json_node_get_boolean(node) ? "true" : "false");
            break;
        case G_TYPE_INT64:
            g_string_append_printf(out, "%" G_GINT64_FORMAT, json_node_get_int(node));
            break;
        case G_TYPE_DOUBLE:
            write_double(out, json_node_get_double(node));
            break;
        default: {
            const char *s = json_node_get_string(node);

            write_string(out, s ? s : "");
        }
        }
        break;
    }
}

char *json_write(JsonNode *value, bool pretty)
{
    GString *out = g_string_new(NULL);

    write_value(out, value, pretty, 0);
    return g_string_free(out, FALSE);
}
