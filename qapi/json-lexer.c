/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON text to tokens. */
#include "json-lexer.h"

#include <stdbool.h>
#include <string.h>

typedef enum {
    LEX_START,
    LEX_STRING_DOUBLE,
    LEX_STRING_DOUBLE_ESCAPE,
    LEX_STRING_SINGLE,
    LEX_STRING_SINGLE_ESCAPE,
    LEX_MINUS,
    LEX_ZERO,
    LEX_DIGITS,
    LEX_POINT,
    LEX_FRACTION,
    LEX_EXPONENT,
    LEX_EXPONENT_SIGN,
    LEX_EXPONENT_DIGITS,
    LEX_KEYWORD,
    LEX_RECOVERY,
} LexState;

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes that never occur in UTF-8: clients send them to get out of a message they lost. */
static bool is_reset(unsigned char c)
{
    return c >= 0xfe;
}

static void emit(JsonLexer *lexer, JsonTokenType type, LexState next)
{
    lexer->fn(type, lexer->text, lexer->opaque);
    g_string_truncate(lexer->text, 0);
    lexer->state = next;
}

static void take(JsonLexer *lexer, unsigned char c, LexState next)
{
    g_string_append_c(lexer->text, (char)c);
    lexer->state = next;
}

static void take_last(JsonLexer *lexer, unsigned char c, JsonTokenType type)
{
    g_string_append_c(lexer->text, (char)c);
    emit(lexer, type, type == JSON_TOKEN_STRAY ? LEX_RECOVERY : LEX_START);
}

static void lex_start(JsonLexer *lexer, unsigned char c)
{
    static const char punctuation[] = "{}[]:,";

    switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        lexer->state = LEX_START;
        return;
    case '"':
        take(lexer, c, LEX_STRING_DOUBLE);
        return;
    case '\'':
        take(lexer, c, LEX_STRING_SINGLE);
        return;
    case '-':
        take(lexer, c, LEX_MINUS);
        return;
    case '0':
        take(lexer, c, LEX_ZERO);
        return;
    }
    if (is_digit(c)) {
        take(lexer, c, LEX_DIGITS);
        return;
    }
    if (c >= 'a' && c <= 'z') {
        take(lexer, c, LEX_KEYWORD);
        return;
    }
    for (int i = 0; punctuation[i]; i++) {
        if (c == punctuation[i]) {
            take_last(lexer, c, (JsonTokenType)(JSON_TOKEN_BEGIN_OBJECT + i));
            return;
        }
    }
    take_last(lexer, c, JSON_TOKEN_STRAY);
}

static void lex_string(JsonLexer *lexer, unsigned char c)
{
    char quote = lexer->state == LEX_STRING_DOUBLE ? '"' : '\'';

    if (c < 0x20 || is_reset(c)) {
        take_last(lexer, c, JSON_TOKEN_STRAY);
    } else if (c == quote) {
        take_last(lexer, c, JSON_TOKEN_STRING);
    } else if (c == '\\') {
        take(lexer, c, lexer->state + 1);
    } else {
        take(lexer, c, lexer->state);
    }
}

/* One byte of a number. Returns false if the byte is not part of it (then it is not consumed). */
static bool lex_number(JsonLexer *lexer, unsigned char c)
{
    JsonTokenType type = lexer->state >= LEX_FRACTION ? JSON_TOKEN_FLOAT : JSON_TOKEN_INTEGER;

    switch (lexer->state) {
    case LEX_MINUS:
        if (c == '0') {
            take(lexer, c, LEX_ZERO);
        } else if (is_digit(c)) {
            take(lexer, c, LEX_DIGITS);
        } else {
            take_last(lexer, c, JSON_TOKEN_STRAY);
        }
        return true;
    case LEX_POINT:
    case LEX_EXPONENT:
    case LEX_EXPONENT_SIGN:
        if (is_digit(c)) {
            take(lexer, c, lexer->state == LEX_POINT ? LEX_FRACTION : LEX_EXPONENT_DIGITS);
        } else if (lexer->state == LEX_EXPONENT && (c == '+' || c == '-')) {
            take(lexer, c, LEX_EXPONENT_SIGN);
        } else {
            take_last(lexer, c, JSON_TOKEN_STRAY);
        }
        return true;
    case LEX_ZERO:
        if (is_digit(c)) {
            take_last(lexer, c, JSON_TOKEN_STRAY);
            return true;
        }
        break;
    default:
        if (is_digit(c)) {
            take(lexer, c, lexer->state);
            return true;
        }
    }
    if (c == '.' && type == JSON_TOKEN_INTEGER) {
        take(lexer, c, LEX_POINT);
        return true;
    }
    if ((c == 'e' || c == 'E') && lexer->state != LEX_EXPONENT_DIGITS) {
        take(lexer, c, LEX_EXPONENT);
        return true;
    }
    emit(lexer, type, LEX_START);
    return false;
}

static void lex_byte(JsonLexer *lexer, unsigned char c)
{
    switch (lexer->state) {
    case LEX_START:
        break;
    case LEX_STRING_DOUBLE:
    case LEX_STRING_SINGLE:
        lex_string(lexer, c);
        return;
    case LEX_STRING_DOUBLE_ESCAPE:
    case LEX_STRING_SINGLE_ESCAPE:
        if (c < 0x20 || is_reset(c)) {
            take_last(lexer, c, JSON_TOKEN_STRAY);
        } else {
            take(lexer, c, lexer->state - 1);
        }
        return;
    case LEX_KEYWORD:
        if (c >= 'a' && c <= 'z') {
            take(lexer, c, LEX_KEYWORD);
            return;
        }
        emit(lexer, JSON_TOKEN_KEYWORD, LEX_START);
        break;
    case LEX_RECOVERY:
        if ((c < 0x20 && c != '\t') || is_reset(c) || (c < 0x80 && strchr("{}[]:,", c))) {
            break;
        }
        return;
    default:
        if (lex_number(lexer, c)) {
            return;
        }
    }
    lex_start(lexer, c);
}

void json_lexer_init(JsonLexer *lexer, JsonTokenFn *fn, void *opaque)
{
    *lexer = (JsonLexer){ .state = LEX_START, .text = g_string_new(NULL), .fn = fn,
                          .opaque = opaque };
}

void json_lexer_feed(JsonLexer *lexer, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        lex_byte(lexer, (unsigned char)data[i]);
        if (lexer->text->len > JSON_MAX_MESSAGE) {
            emit(lexer, JSON_TOKEN_TOO_BIG, LEX_RECOVERY);
        }
    }
}

void json_lexer_end(JsonLexer *lexer)
{
    switch (lexer->state) {
    case LEX_START:
        break;
    case LEX_RECOVERY:
        lexer->state = LEX_START;
        break;
    case LEX_KEYWORD:
        emit(lexer, JSON_TOKEN_KEYWORD, LEX_START);
        break;
    case LEX_ZERO:
    case LEX_DIGITS:
        emit(lexer, JSON_TOKEN_INTEGER, LEX_START);
        break;
    case LEX_FRACTION:
    case LEX_EXPONENT_DIGITS:
        emit(lexer, JSON_TOKEN_FLOAT, LEX_START);
        break;
    default:
        emit(lexer, JSON_TOKEN_STRAY, LEX_START);
    }
}

void json_lexer_destroy(JsonLexer *lexer)
{
    g_string_free(lexer->text, TRUE);
}
