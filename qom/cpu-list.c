/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qom/cpu-list.h"

#include "property-number.h"
#include "qapi/keyval.h"

#include <errno.h>
#include <string.h>

/* "3" or "0-7". */
static bool read_range(const char *name, const char *text, GArray *out, Error **errp)
{
    g_autofree char *first_text = g_strdup(text);
    /* Not at the first character: that would be a sign. */
    char *dash = text[0] ? strchr(first_text + 1, '-') : NULL;
    uint64_t first, last;

    if (dash) {
        *dash = '\0';
    }
    if (strchr(first_text, '-') || !parse_uint64(first_text, &first)) {
        goto bad;
    }
    last = first;
    if (dash && (strchr(dash + 1, '-') || !parse_uint64(dash + 1, &last))) {
        goto bad;
    }
    if (last < first || (dash && last - first > UINT16_MAX)) {
        goto bad;
    }
    if (last > UINT16_MAX) {
        error_set(errp, "Parameter '%s' expects uint16", name);
        return false;
    }
    for (uint64_t n = first; n <= last; n++) {
        uint16_t cpu = n;
        g_array_append_val(out, cpu);
    }
    return true;

bad:
    error_set(errp, "Parameter '%s' expects a uint64 value or range", name);
    return false;
}

static bool read_number(const char *name, JsonNode *value, GArray *out, Error **errp)
{
    if (!JSON_NODE_HOLDS_VALUE(value) || json_node_get_value_type(value) != G_TYPE_INT64) {
        error_set(errp, "Parameter '%s' expects uint64", name);
        return false;
    }
    int64_t n = json_node_get_int(value);
    if (n < 0 || n > UINT16_MAX) {
        error_set(errp, "Parameter '%s' expects uint16", name);
        return false;
    }
    uint16_t cpu = n;
    g_array_append_val(out, cpu);
    return true;
}

GArray *cpu_list_read(const char *name, JsonNode *value, QapiForm form, Error **errp)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(uint16_t));

    if (form == QAPI_KEYVAL && node_text(value)) {
        return read_range(name, node_text(value), list, errp) ? g_steal_pointer(&list) : NULL;
    }
    if (!JSON_NODE_HOLDS_ARRAY(value)) {
        error_set(errp, "Invalid parameter type for '%s', expected: array", name);
        return NULL;
    }
    JsonArray *array = json_node_get_array(value);
    for (guint i = 0; i < json_array_get_length(array); i++) {
        JsonNode *element = json_array_get_element(array, i);
        bool ok;
        if (form == QAPI_KEYVAL && node_text(element)) {
            ok = read_range(name, node_text(element), list, errp);
        } else {
            g_autofree char *path = g_strdup_printf("%s[%u]", name, i);
            ok = read_number(path, element, list, errp);
        }
        if (!ok) {
            return NULL;
        }
    }
    return g_steal_pointer(&list);
}

JsonNode *cpu_list_json(const GArray *list)
{
    JsonArray *array = json_array_new();

    for (guint i = 0; list && i < list->len; i++) {
        json_array_add_int_element(array, g_array_index(list, uint16_t, i));
    }
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, array);
    return node;
}

bool cpu_list_to_set(const GArray *list, cpu_set_t *set, Error **errp)
{
    CPU_ZERO(set);
    if (!list->len) {
        error_set(errp, "CPU list is empty");
        return false;
    }
    for (guint i = 0; i < list->len; i++) {
        uint16_t cpu = g_array_index(list, uint16_t, i);
        if (cpu >= CPU_SETSIZE) {
            error_set_errno(errp, EINVAL, "Setting CPU affinity failed");
            return false;
        }
        CPU_SET(cpu, set);
    }
    return true;
}

GArray *cpu_list_from_set(const cpu_set_t *set)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(uint16_t));

    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, set)) {
            uint16_t n = cpu;
            g_array_append_val(list, n);
        }
    }
    return list;
}
