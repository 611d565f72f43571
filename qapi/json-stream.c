/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens to JSON values. Tokens are collected until brackets balance (or cannot any more), then
 * parsed in one go: one broken message gives one error.
 */
#include "qapi/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "json-lexer.h"
#include "json-utf8.h"

typedef struct Token {
    JsonTokenType type;
    size_t offset; /* into JsonStream.text */
    size_t len;
} Token;

struct JsonStream {
    JsonLexer lexer;
    JsonStreamFn *fn;
    void *opaque;
    int braces, brackets;
    int busy;  /* calls of feed or end on the stack */
    bool dead; /* freed by its own callback: ignores the rest, goes when busy is 0 */
    GString *text;  /* of the tokens, each ended by NUL */
    GArray *tokens; /* of Token */
};

typedef struct Parser {
    const JsonStream *s;
    unsigned next;
} Parser;

static const Token *peek(const Parser *p)
{
    return p->next < p->s->tokens->len ? &g_array_index(p->s->tokens, Token, p->next) : NULL;
}

static const Token *next(Parser *p)
{
    const Token *t = peek(p);

    p->next++;
    return t;
}

static bool parse_hex4(const char *s, const char *end, uint32_t *out)
{
    *out = 0;
    if (end - s < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if (!g_ascii_isxdigit(s[i])) {
            return false;
        }
        *out = *out << 4 | (uint32_t)g_ascii_xdigit_value(s[i]);
    }
    return true;
}

/* The character of an escape of the form \uXXXX (a pair, for a surrogate); *ps is at the backslash,
 * and moves behind the escape. `end` is the closing quote. */
static bool parse_unicode_escape(const char **ps, const char *end, GString *out, Error **errp)
{
    const char *begin = *ps;
    const char *s = begin + 2;
    uint32_t cp, low;
    char utf8[4];
    int n;

    if (!parse_hex4(s, end, &cp)) {
        int shown = 0;

        /* The text goes up to the byte that is no digit, which may be the quote. */
        while (shown < 4 && s + shown <= end) {
            shown++;
        }
        error_set(errp, "JSON parse error, %.*s is not a valid Unicode character", 2 + shown,
                  begin);
        return false;
    }
    s += 4;
    if (cp >= 0xd800 && cp <= 0xdbff && end - s >= 6 && s[0] == '\\' && s[1] == 'u' &&
        parse_hex4(s + 2, end, &low) && low >= 0xdc00 && low <= 0xdfff) {
        cp = 0x10000 + ((cp & 0x3ff) << 10 | (low & 0x3ff));
        s += 6;
    }
    n = json_utf8_encode(cp, utf8);
    if (n == 0) {
        error_set(errp, "JSON parse error, %.*s is not a valid Unicode character", (int)(s - begin),
                  begin);
        return false;
    }
    g_string_append_len(out, utf8, n);
    *ps = s;
    return true;
}

static char *parse_string(const char *s, size_t len, Error **errp)
{
    static const char escapes[] = "\"\"''\\\\//b\bf\fn\nr\rt\t";
    const char *end = s + len - 1;
    GString *out = g_string_sized_new(len);

    s++;
    while (s < end) {
        uint32_t cp;
        int n;

        if (*s == '\\') {
            const char *e = escapes;

            if (s[1] == 'u') {
                if (!parse_unicode_escape(&s, end, out, errp)) {
                    goto fail;
                }
                continue;
            }
            while (*e && *e != s[1]) {
                e += 2;
            }
            if (!*e) {
                error_set(errp, "JSON parse error, invalid escape sequence in string");
                goto fail;
            }
            g_string_append_c(out, e[1]);
            s += 2;
            continue;
        }
        n = json_utf8_decode(s, end - s, &cp);
        if (n == 0) {
            error_set(errp, "JSON parse error, invalid UTF-8 sequence in string");
            goto fail;
        }
        g_string_append_len(out, s, n);
        s += n;
    }
    return g_string_free(out, FALSE);

fail:
    g_string_free(out, TRUE);
    return NULL;
}

static JsonNode *parse_number(const char *s, bool integer, Error **errp)
{
    double d = g_ascii_strtod(s, NULL);

    if (integer) {
        gint64 i;

        errno = 0;
        i = g_ascii_strtoll(s, NULL, 10);
        if (errno == 0) {
            return json_node_init_int(json_node_alloc(), i);
        }
        /* As a double, 2^64-1 is 2^64, and stands for the former: the latter moves out of the way,
         * so that a reader can tell that it is too large. */
        errno = 0;
        g_ascii_strtoull(s, NULL, 10);
        if (errno && d == 0x1p64) {
            d = 0x1.0000000000001p64;
        }
    }
    if (!isfinite(d)) {
        error_set(errp, "JSON parse error, number out of range '%s'", s);
        return NULL;
    }
    return json_node_init_double(json_node_alloc(), d);
}

static JsonNode *parse_value(Parser *p, Error **errp);

static bool parse_pair(Parser *p, JsonObject *object, Error **errp)
{
    JsonNode *key = parse_value(p, errp);
    JsonNode *value;
    const Token *t;
    bool ok = false;

    if (!key) {
        return false;
    }
    if (!JSON_NODE_HOLDS_VALUE(key) || json_node_get_value_type(key) != G_TYPE_STRING) {
        error_set(errp, "JSON parse error, key is not a string in object");
        goto out;
    }
    t = next(p);
    if (!t) {
        error_set(errp, "JSON parse error, premature EOI");
        goto out;
    }
    if (t->type != JSON_TOKEN_COLON) {
        error_set(errp, "JSON parse error, missing : in object pair");
        goto out;
    }
    value = parse_value(p, errp);
    if (!value) {
        goto out;
    }
    if (json_object_has_member(object, json_node_get_string(key))) {
        error_set(errp, "JSON parse error, duplicate key");
        json_node_unref(value);
        goto out;
    }
    json_object_set_member(object, json_node_get_string(key), value);
    ok = true;

out:
    json_node_unref(key);
    return ok;
}

/* What is between the brackets of an object (if `object` is set) or array, and the closing one. */
static bool parse_elements(Parser *p, JsonObject *object, JsonArray *array, Error **errp)
{
    JsonTokenType closing = object ? JSON_TOKEN_END_OBJECT : JSON_TOKEN_END_ARRAY;
    const Token *t = peek(p);

    if (t && t->type == closing) {
        next(p);
        return true;
    }
    for (;;) {
        if (object) {
            if (!parse_pair(p, object, errp)) {
                return false;
            }
        } else {
            JsonNode *element = parse_value(p, errp);

            if (!element) {
                return false;
            }
            json_array_add_element(array, element);
        }
        t = next(p);
        if (!t) {
            error_set(errp, "JSON parse error, premature EOI");
            return false;
        }
        if (t->type == closing) {
            return true;
        }
        if (t->type != JSON_TOKEN_COMMA) {
            error_set(errp, "JSON parse error, expected separator in %s", object ? "dict" : "list");
            return false;
        }
    }
}

static JsonNode *parse_value(Parser *p, Error **errp)
{
    const Token *t = next(p);
    const char *text;

    if (!t) {
        error_set(errp, "JSON parse error, premature EOI");
        return NULL;
    }
    text = p->s->text->str + t->offset;
    switch (t->type) {
    case JSON_TOKEN_BEGIN_OBJECT: {
        g_autoptr(JsonObject) object = json_object_new();

        return parse_elements(p, object, NULL, errp)
                   ? json_node_init_object(json_node_alloc(), object)
                   : NULL;
    }
    case JSON_TOKEN_BEGIN_ARRAY: {
        g_autoptr(JsonArray) array = json_array_new();

        return parse_elements(p, NULL, array, errp)
                   ? json_node_init_array(json_node_alloc(), array)
                   : NULL;
    }
    case JSON_TOKEN_STRING: {
        g_autofree char *s = parse_string(text, t->len, errp);

        return s ? json_node_init_string(json_node_alloc(), s) : NULL;
    }
    case JSON_TOKEN_INTEGER:
    case JSON_TOKEN_FLOAT:
        return parse_number(text, t->type == JSON_TOKEN_INTEGER, errp);
    case JSON_TOKEN_KEYWORD:
        if (!strcmp(text, "true") || !strcmp(text, "false")) {
            return json_node_init_boolean(json_node_alloc(), text[0] == 't');
        }
        if (!strcmp(text, "null")) {
            return json_node_init_null(json_node_alloc());
        }
        error_set(errp, "JSON parse error, invalid keyword '%s'", text);
        return NULL;
    default:
        error_set(errp, "JSON parse error, expecting value");
        return NULL;
    }
}

static void reset(JsonStream *s)
{
    s->braces = 0;
    s->brackets = 0;
    g_string_truncate(s->text, 0);
    g_array_set_size(s->tokens, 0);
}

static void deliver_error(JsonStream *s, Error *err)
{
    reset(s);
    s->fn(NULL, err, s->opaque);
}

static void deliver(JsonStream *s)
{
    Parser p = { .s = s };
    Error *err = NULL;
    JsonNode *value = parse_value(&p, &err);

    reset(s);
    s->fn(value, err, s->opaque);
    if (value) {
        json_node_unref(value);
    }
}

static void stream_token(JsonTokenType type, const GString *text, void *opaque)
{
    JsonStream *s = opaque;
    Token t = { .type = type, .offset = s->text->len, .len = text->len };
    Error *err = NULL;

    if (s->dead) {
        return;
    }
    switch (type) {
    case JSON_TOKEN_BEGIN_OBJECT:
        s->braces++;
        break;
    case JSON_TOKEN_END_OBJECT:
        s->braces--;
        break;
    case JSON_TOKEN_BEGIN_ARRAY:
        s->brackets++;
        break;
    case JSON_TOKEN_END_ARRAY:
        s->brackets--;
        break;
    case JSON_TOKEN_STRAY:
        error_set(&err, "JSON parse error, stray '%s'", text->str);
        break;
    default:
        break;
    }
    if (!err) {
        if (type == JSON_TOKEN_TOO_BIG || s->text->len + text->len > JSON_MAX_MESSAGE) {
            error_set(&err, "JSON token size limit exceeded");
        } else if (s->tokens->len >= JSON_MAX_TOKENS) {
            error_set(&err, "JSON token count limit exceeded");
        } else if (s->braces + s->brackets > JSON_MAX_DEPTH) {
            error_set(&err, "JSON nesting depth limit exceeded");
        }
    }
    if (err) {
        deliver_error(s, err);
        return;
    }
    g_string_append_len(s->text, text->str, text->len);
    g_string_append_c(s->text, '\0');
    g_array_append_val(s->tokens, t);
    if (s->braces < 0 || s->brackets < 0 || (s->braces == 0 && s->brackets == 0)) {
        deliver(s);
    }
}

JsonStream *json_stream_new(JsonStreamFn *fn, void *opaque)
{
    JsonStream *s = g_new0(JsonStream, 1);

    json_lexer_init(&s->lexer, stream_token, s);
    s->fn = fn;
    s->opaque = opaque;
    s->text = g_string_new(NULL);
    s->tokens = g_array_new(FALSE, FALSE, sizeof(Token));
    return s;
}

void json_stream_free(JsonStream *s)
{
    if (!s) {
        return;
    }
    if (s->busy) {
        s->dead = true;
        return;
    }
    json_lexer_destroy(&s->lexer);
    g_string_free(s->text, TRUE);
    g_array_unref(s->tokens);
    g_free(s);
}

static void leave(JsonStream *s)
{
    s->busy--;
    if (s->dead) {
        json_stream_free(s);
    }
}

void json_stream_feed(JsonStream *s, const char *data, size_t len)
{
    s->busy++;
    json_lexer_feed(&s->lexer, data, len);
    leave(s);
}

void json_stream_end(JsonStream *s)
{
    s->busy++;
    json_lexer_end(&s->lexer);
    if (s->tokens->len && !s->dead) {
        deliver(s);
    }
    leave(s);
}

/* ---- one value ---- */

typedef struct OneValue {
    JsonNode *value;
    Error *err;
} OneValue;

static void one_value(JsonNode *value, Error *err, void *opaque)
{
    OneValue *one = opaque;

    if (one->err) {
        error_free(err);
        return;
    }
    if (one->value) {
        error_free(err);
        json_node_unref(one->value);
        one->value = NULL;
        error_set(&one->err, "Expecting at most one JSON value");
        return;
    }
    one->err = err;
    one->value = value ? json_node_ref(value) : NULL;
}

JsonNode *json_parse(const char *text, Error **errp)
{
    OneValue one = { 0 };
    JsonStream *s = json_stream_new(one_value, &one);

    json_stream_feed(s, text, strlen(text));
    json_stream_end(s);
    json_stream_free(s);
    if (one.err) {
        error_propagate(errp, one.err);
        return NULL;
    }
    if (!one.value) {
        error_set(errp, "Expecting a JSON value");
    }
    return one.value;
}
