/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef QAPI_JSON_LEXER_H
#define QAPI_JSON_LEXER_H

#include <glib.h>

/*
 * Cuts JSON text into tokens, byte by byte, so that text may arrive in pieces. After a token that
 * is no JSON, input is skipped up to a byte at which a new message may begin.
 */
typedef enum {
    JSON_TOKEN_BEGIN_OBJECT,
    JSON_TOKEN_END_OBJECT,
    JSON_TOKEN_BEGIN_ARRAY,
    JSON_TOKEN_END_ARRAY,
    JSON_TOKEN_COLON,
    JSON_TOKEN_COMMA,
    JSON_TOKEN_INTEGER,
    JSON_TOKEN_FLOAT,
    JSON_TOKEN_KEYWORD,
    JSON_TOKEN_STRING,  /* with its quotes, escapes as they came */
    JSON_TOKEN_STRAY,   /* what cannot be a token, up to the byte that spoiled it */
    JSON_TOKEN_TOO_BIG, /* longer than JSON_MAX_MESSAGE */
} JsonTokenType;

/* Bytes of all tokens of a message, and their number. */
#define JSON_MAX_MESSAGE ((size_t)64 << 20)
#define JSON_MAX_TOKENS ((size_t)2 << 20)

typedef void JsonTokenFn(JsonTokenType type, const GString *text, void *opaque);

typedef struct JsonLexer {
    int state;
    GString *text;
    JsonTokenFn *fn;
    void *opaque;
} JsonLexer;

void json_lexer_init(JsonLexer *lexer, JsonTokenFn *fn, void *opaque);
void json_lexer_feed(JsonLexer *lexer, const char *data, size_t len);
/* End of input: an unfinished token is stray, a number or keyword is complete. */
void json_lexer_end(JsonLexer *lexer);
void json_lexer_destroy(JsonLexer *lexer);

#endif
