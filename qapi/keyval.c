/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nested key=value form. While keys are read, lists are objects whose keys are all numbers;
 * they are turned into arrays at the end, when all of them are known.
 */
#include "qapi/keyval.h"

#include <string.h>

/* Bytes of one part of a dotted key. */
#define KEY_PART_MAX 127

/* Length of the name or number at the start of a part of a key, 0 if it is neither. */
static size_t part_length(const char *s, bool first)
{
    size_t n = 0;

    if (!first && g_ascii_isdigit(s[0])) {
        while (g_ascii_isdigit(s[n])) {
            n++;
        }
        return n;
    }
    if (g_ascii_isalpha(s[0])) {
        while (g_ascii_isalnum(s[n]) || s[n] == '-' || s[n] == '_') {
            n++;
        }
    }
    return n;
}

static JsonObject *child_object(JsonObject *parent, const char *name)
{
    JsonNode *node = json_object_get_member(parent, name);
    JsonObject *child;

    if (node) {
        return JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    }
    child = json_object_new();
    json_object_set_object_member(parent, name, child);
    return child;
}

/* The object that the key's last part belongs into; *last is set to that part (caller frees). */
static JsonObject *descend(JsonObject *root, const char *key, size_t len, char **last,
                           Error **errp)
{
    JsonObject *object = root;
    const char *p = key;

    for (int depth = 1;; depth++) {
        size_t n = part_length(p, p == key);
        g_autofree char *part = NULL;

        if (n == 0 || (p + n < key + len && p[n] != '.')) {
            error_set(errp, "Invalid parameter '%.*s'", (int)len, key);
            return NULL;
        }
        if (n > KEY_PART_MAX) {
            error_set(errp, "Parameter '%.*s' is too long", (int)n, p);
            return NULL;
        }
        if (depth > JSON_MAX_DEPTH) {
            error_set(errp, "Parameter '%.*s.*' is nested too deeply", KEY_PART_MAX, key);
            return NULL;
        }
        part = g_strndup(p, n);
        p += n;
        if (p == key + len) {
            *last = g_steal_pointer(&part);
            return object;
        }
        object = child_object(object, part);
        if (!object) {
            error_set(errp, "Parameters '%.*s.*' used inconsistently", (int)(p - key), key);
            return NULL;
        }
        p++;
    }
}

static bool set_value(JsonObject *root, const char *key, size_t len, const char *value,
                      Error **errp)
{
    g_autofree char *last = NULL;
    JsonObject *object = descend(root, key, len, &last, errp);
    JsonNode *old;

    if (!object) {
        return false;
    }
    old = json_object_get_member(object, last);
    if (old && !JSON_NODE_HOLDS_VALUE(old)) {
        error_set(errp, "Parameters '%.*s.*' used inconsistently", (int)len, key);
        return false;
    }
    json_object_set_string_member(object, last, value);
    return true;
}

static bool is_index(const char *key)
{
    return g_ascii_isdigit(key[0]);
}

/* The elements of an object whose keys are numbers, in their order. */
static JsonNode *to_array(JsonObject *object, const char *path, Error **errp)
{
    guint n = json_object_get_size(object);
    g_autofree JsonNode **elements = g_new0(JsonNode *, n);
    g_autoptr(JsonArray) array = json_array_new();
    JsonObjectIter iter;
    const char *key;
    JsonNode *value;

    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &key, &value)) {
        guint64 i = g_ascii_strtoull(key, NULL, 10);

        /* One that is too high leaves a hole lower down. */
        if (i < n) {
            elements[i] = value;
        }
    }
    for (guint i = 0; i < n; i++) {
        if (!elements[i]) {
            error_set(errp, "Parameter '%s.%u' missing", path, i);
            return NULL;
        }
        json_array_add_element(array, json_node_ref(elements[i]));
    }
    return json_node_init_array(json_node_alloc(), array);
}

/* Turns objects with numbers for keys into arrays, below `object` and itself. */
static JsonNode *listify(JsonObject *object, const char *path, Error **errp)
{
    g_autoptr(JsonObject) result = json_object_new();
    unsigned names = 0, indices = 0;
    JsonObjectIter iter;
    const char *key;
    JsonNode *value;

    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &key, &value)) {
        if (is_index(key)) {
            indices++;
        } else {
            names++;
        }
        if (JSON_NODE_HOLDS_OBJECT(value)) {
            g_autofree char *sub = path[0] ? g_strdup_printf("%s.%s", path, key) : g_strdup(key);

            value = listify(json_node_get_object(value), sub, errp);
            if (!value) {
                return NULL;
            }
            json_object_set_member(result, key, value);
        } else {
            json_object_set_member(result, key, json_node_ref(value));
        }
    }
    if (indices && names) {
        error_set(errp, "Parameters '%s.*' used inconsistently", path);
        return NULL;
    }
    if (indices) {
        return to_array(result, path, errp);
    }
    return json_node_init_object(json_node_alloc(), result);
}

static bool is_help(const char *s, size_t len)
{
    return (len == 4 && !memcmp(s, "help", 4)) || (len == 1 && *s == '?');
}

/* One item of the text; *pp moves behind it and its comma. */
static bool parse_item(const char **pp, JsonObject *root, const char *implied_key, bool *help,
                       Error **errp)
{
    const char *p = *pp;
    size_t len = strcspn(p, "=,");
    g_autoptr(GString) value = g_string_new(NULL);
    const char *key = p;
    size_t key_len = len;

    if (p[len] != '=') {
        if (is_help(p, len)) {
            if (!help) {
                error_set(errp, "Help is not available for this option");
                return false;
            }
            *help = true;
            *pp = p + len + (p[len] == ',');
            return true;
        }
        if (!implied_key) {
            if (part_length(p, true) == 0) {
                error_set(errp, "Invalid parameter '%.*s'", (int)len, p);
            } else {
                error_set(errp, "Expected '=' after parameter '%.*s'", (int)len, p);
            }
            return false;
        }
        /* The value of an implied key cannot hold a comma. */
        g_string_append_len(value, p, (gssize)len);
        key = implied_key;
        key_len = strlen(implied_key);
        p += len;
    } else {
        for (p += len + 1; *p && !(p[0] == ',' && p[1] != ','); p++) {
            if (p[0] == ',') {
                p++;
            }
            g_string_append_c(value, *p);
        }
    }
    if (!set_value(root, key, key_len, value->str, errp)) {
        return false;
    }
    *pp = p + (*p == ',');
    return true;
}

JsonNode *keyval_parse(const char *text, const char *implied_key, bool *help, Error **errp)
{
    g_autoptr(JsonObject) root = json_object_new();
    const char *p = text;

    if (help) {
        *help = false;
    }
    while (*p) {
        if (!parse_item(&p, root, p == text ? implied_key : NULL, help, errp)) {
            return NULL;
        }
    }
    return listify(root, "", errp);
}

/* ---- flat objects ---- */

static void flatten_into(JsonObject *flat, JsonNode *node, const char *path)
{
    if (JSON_NODE_HOLDS_OBJECT(node) && json_object_get_size(json_node_get_object(node)) > 0) {
        JsonObjectIter iter;
        const char *key;
        JsonNode *value;

        json_object_iter_init_ordered(&iter, json_node_get_object(node));
        while (json_object_iter_next_ordered(&iter, &key, &value)) {
            g_autofree char *sub = path[0] ? g_strdup_printf("%s.%s", path, key) : g_strdup(key);

            flatten_into(flat, value, sub);
        }
    } else if (JSON_NODE_HOLDS_ARRAY(node) && json_array_get_length(json_node_get_array(node))) {
        JsonArray *array = json_node_get_array(node);

        for (guint i = 0; i < json_array_get_length(array); i++) {
            g_autofree char *sub = g_strdup_printf("%s.%u", path, i);

            flatten_into(flat, json_array_get_element(array, i), sub);
        }
    } else if (path[0]) {
        json_object_set_member(flat, path, json_node_ref(node));
    }
}

JsonNode *keyval_flatten(JsonObject *nested)
{
    g_autoptr(JsonObject) flat = json_object_new();
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), nested);

    flatten_into(flat, node, "");
    return json_node_init_object(json_node_alloc(), flat);
}

/* An empty object or array of our own, so that what the caller holds is not changed later. */
static JsonNode *own_leaf(JsonNode *leaf)
{
    JsonNode *node;

    if (!JSON_NODE_HOLDS_OBJECT(leaf)) {
        return json_node_ref(leaf);
    }
    node = json_node_alloc();
    json_node_take_object(json_node_init(node, JSON_NODE_OBJECT), json_object_new());
    return node;
}

JsonNode *keyval_nest(JsonObject *flat, Error **errp)
{
    g_autoptr(JsonNode) leaves = keyval_flatten(flat);
    g_autoptr(JsonObject) root = json_object_new();
    JsonObjectIter iter;
    const char *key;
    JsonNode *value;

    json_object_iter_init_ordered(&iter, json_node_get_object(leaves));
    while (json_object_iter_next_ordered(&iter, &key, &value)) {
        g_auto(GStrv) parts = g_strsplit(key, ".", -1);
        JsonObject *object = root;
        guint n = g_strv_length(parts);

        if (n == 0 || n > JSON_MAX_DEPTH) {
            error_set(errp, "Invalid parameter '%s'", key);
            return NULL;
        }
        for (guint i = 0; i < n; i++) {
            if (!parts[i][0]) {
                error_set(errp, "Invalid parameter '%s'", key);
                return NULL;
            }
            if (i + 1 < n) {
                object = child_object(object, parts[i]);
                if (!object) {
                    error_set(errp, "Cannot mix scalar and non-scalar keys");
                    return NULL;
                }
            }
        }
        if (json_object_has_member(object, parts[n - 1])) {
            error_set(errp, "Cannot mix scalar and non-scalar keys");
            return NULL;
        }
        json_object_set_member(object, parts[n - 1], own_leaf(value));
    }
    return listify(root, "", errp);
}
