/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flat key=value form. */
#include <errno.h>
#include <string.h>

#include "qapi/keyval.h"
#include "scalar.h"
#include "util/report.h"

static void opt_free(gpointer data)
{
    Opt *opt = data;

    g_free(opt->key);
    g_free(opt->value);
    g_free(opt);
}

Opts *opts_new(const char *id)
{
    Opts *opts = g_new0(Opts, 1);

    opts->text = g_strdup("");
    opts->id = g_strdup(id);
    opts->list = g_ptr_array_new_with_free_func(opt_free);
    return opts;
}

void opts_free(Opts *opts)
{
    if (opts) {
        g_free(opts->text);
        g_free(opts->id);
        g_ptr_array_unref(opts->list);
        g_free(opts);
    }
}

static void add(Opts *opts, const char *key, const char *value)
{
    Opt *opt = g_new(Opt, 1);

    opt->key = g_strdup(key);
    opt->value = g_strdup(value);
    g_ptr_array_add(opts->list, opt);
}

/* The text up to the next single comma, with ",," made ","; *p moves to the comma or the end. */
static char *take_value(const char **p)
{
    GString *value = g_string_new(NULL);

    while (**p) {
        if (**p == ',') {
            if ((*p)[1] != ',') {
                break;
            }
            (*p)++;
        }
        g_string_append_c(value, **p);
        (*p)++;
    }
    return g_string_free(value, FALSE);
}

static bool is_help(const char *word)
{
    return !strcmp(word, "help") || !strcmp(word, "?");
}

/* A key without a value. */
static void add_flag(Opts *opts, const char *word)
{
    bool off = g_str_has_prefix(word, "no");

    report_warning("short-form boolean option '%s' deprecated", word);
    report_plain("Please use %s=%s instead", off ? word + 2 : word, off ? "off" : "on");
    add(opts, off ? word + 2 : word, off ? "off" : "on");
}

Opts *opts_parse(const char *text, const char *implied_key, bool *help, Error **errp)
{
    g_autoptr(Opts) opts = opts_new(NULL);
    bool has_id = false;
    const char *p = text;

    g_free(opts->text);
    opts->text = g_strdup(text);
    if (help) {
        *help = false;
    }
    while (*p) {
        size_t len = strcspn(p, "=,");
        g_autofree char *key = NULL;
        g_autofree char *value = NULL;

        if (p[len] == '=') {
            key = g_strndup(p, len);
            p += len + 1;
            value = take_value(&p);
        } else if (p == text && implied_key) {
            value = take_value(&p);
            if (help && is_help(value)) {
                *help = true;
                g_clear_pointer(&value, g_free);
            } else {
                key = g_strdup(implied_key);
            }
        } else {
            g_autofree char *word = take_value(&p);

            if (help && is_help(word)) {
                *help = true;
            } else {
                add_flag(opts, word);
            }
        }
        if (key && !strcmp(key, "id")) {
            /* Of several, the first counts. */
            if (!has_id) {
                opts->id = g_steal_pointer(&value);
                has_id = true;
            }
        } else if (key) {
            add(opts, key, value);
        }
        if (*p == ',') {
            p++;
        }
    }
    if (has_id && !id_wellformed(opts->id)) {
        error_set_bad_id(errp);
        return NULL;
    }
    return g_steal_pointer(&opts);
}

const char *opts_get(const Opts *opts, const char *key)
{
    for (guint i = opts->list->len; i > 0; i--) {
        const Opt *opt = opts->list->pdata[i - 1];

        if (!strcmp(opt->key, key)) {
            return opt->value;
        }
    }
    return NULL;
}

void opts_set(Opts *opts, const char *key, const char *value)
{
    add(opts, key, value);
}

char *opts_take(Opts *opts, const char *key)
{
    char *value = g_strdup(opts_get(opts, key));

    for (guint i = opts->list->len; i > 0; i--) {
        const Opt *opt = opts->list->pdata[i - 1];

        if (!strcmp(opt->key, key)) {
            g_ptr_array_remove_index(opts->list, i - 1);
        }
    }
    return value;
}

bool opts_take_bool(Opts *opts, const char *key, bool dflt, bool *out, Error **errp)
{
    g_autofree char *value = opts_take(opts, key);

    *out = dflt;
    return !value || parse_bool(key, value, out, errp);
}

bool opts_take_uint(Opts *opts, const char *key, uint64_t dflt, uint64_t *out, Error **errp)
{
    g_autofree char *value = opts_take(opts, key);

    *out = dflt;
    if (!value) {
        return true;
    }
    switch (scalar_parse_uint64(value, out)) {
    case 0:
        return true;
    case -ERANGE:
        error_set(errp, "Value '%s' is too large for parameter '%s'", value, key);
        return false;
    default:
        error_set(errp, "Parameter '%s' expects a number", key);
        return false;
    }
}

bool opts_take_size(Opts *opts, const char *key, uint64_t dflt, uint64_t *out, Error **errp)
{
    g_autofree char *value = opts_take(opts, key);

    *out = dflt;
    if (!value) {
        return true;
    }
    switch (scalar_parse_size(value, out)) {
    case 0:
        return true;
    case -ERANGE:
        error_set(errp, "Value '%s' is out of range for parameter '%s'", value, key);
        return false;
    default:
        error_set(errp, "Parameter '%s' expects a non-negative number below 2^64", key);
        error_append_hint(errp, "Optional suffix k, M, G, T, P or E means kilo-, mega-, giga-, "
                                "tera-, peta-\nand exabytes, respectively.\n");
        return false;
    }
}

bool opts_all_taken(const Opts *opts, Error **errp)
{
    if (opts->list->len) {
        const Opt *opt = opts->list->pdata[0];

        error_set(errp, "Invalid parameter '%s'", opt->key);
        return false;
    }
    return true;
}

JsonNode *opts_to_json(const Opts *opts)
{
    JsonObject *object = json_object_new();
    JsonNode *node = json_node_init_object(json_node_alloc(), object);

    json_object_unref(object);
    for (guint i = 0; i < opts->list->len; i++) {
        const Opt *opt = opts->list->pdata[i];

        json_object_set_string_member(object, opt->key, opt->value);
    }
    if (opts->id) {
        json_object_set_string_member(object, "id", opts->id);
    }
    return node;
}
