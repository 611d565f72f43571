/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON text: the dialect that is read, its errors, and what is written. */
#include <string.h>

#include "qapi/json.h"

static void assert_error(const char *text, const char *expected)
{
    g_autoptr(Error) err = NULL;
    g_autoptr(JsonNode) value = json_parse(text, &err);

    g_assert_null(value);
    g_assert_nonnull(err);
    g_assert_cmpstr(error_message(err), ==, expected);
}

static void assert_round_trip(const char *text, const char *expected)
{
    g_autoptr(JsonNode) value = json_parse(text, &error_abort);
    g_autofree char *written = json_write(value, false);
    g_autoptr(JsonNode) again = NULL;
    g_autofree char *rewritten = NULL;

    g_assert_cmpstr(written, ==, expected);
    again = json_parse(written, &error_abort);
    rewritten = json_write(again, false);
    g_assert_cmpstr(rewritten, ==, expected);
}

static void test_values(void)
{
    assert_round_trip(" {\"a\":1,\n'b' : [true,false , null]}\t\r\n",
                      "{\"a\": 1, \"b\": [true, false, null]}");
    assert_round_trip("{}", "{}");
    assert_round_trip("[[],{}]", "[[], {}]");
    assert_round_trip("'it\\'s \"so\"'", "\"it's \\\"so\\\"\"");
    assert_round_trip("\"it's\"", "\"it's\"");
}

static void test_numbers(void)
{
    assert_round_trip("[-0, 0, 12, -9223372036854775808, 9223372036854775807]",
                      "[0, 0, 12, -9223372036854775808, 9223372036854775807]");
    assert_round_trip("9223372036854775808", "9223372036854775808");
    assert_round_trip("18446744073709549568", "18446744073709549568");
    assert_round_trip("18446744073709551615", "18446744073709551615");
    assert_round_trip("18446744073709551616", "1.8446744073709556e+19");
    assert_round_trip("[1.5, 1e22, 1e-7, 0.1, 1E5, -2.50e-3]",
                      "[1.5, 1e+22, 9.9999999999999995e-08, 0.10000000000000001, 100000, "
                      "-0.0025000000000000001]");
    assert_error("01", "JSON parse error, stray '01'");
    assert_error("-", "JSON parse error, stray '-'");
    assert_error("-x", "JSON parse error, stray '-x'");
    assert_error("1.", "JSON parse error, stray '1.'");
    assert_error("[1.]", "JSON parse error, stray '1.]'");
    assert_error("1e", "JSON parse error, stray '1e'");
    assert_error("1e+", "JSON parse error, stray '1e+'");
    assert_error("+1", "JSON parse error, stray '+'");
    assert_error(".5", "JSON parse error, stray '.'");
    assert_error("{\"a\":0x4}", "JSON parse error, expected separator in dict");
    assert_error("1.5.5", "Expecting at most one JSON value");
    assert_error("1e999", "JSON parse error, number out of range '1e999'");
}

static void test_strings(void)
{
    assert_round_trip("\"\xc3\xa9\xf0\x9f\x98\x80\\u0001\x7f\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                      "\"\\u00E9\\uD83D\\uDE00\\u0001\\u007F\\\"\\\\/\\b\\f\\n\\r\\t\\u00E9\"");
    assert_round_trip("\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE00\"");
    assert_round_trip("\"a\\u0000b\"", "\"a\\u0000b\"");
    assert_error("\"\\ud83d\"", "JSON parse error, \\ud83d is not a valid Unicode character");
    assert_error("\"\\ud83d\\u0041\"",
                 "JSON parse error, \\ud83d is not a valid Unicode character");
    assert_error("\"\\ude00\"", "JSON parse error, \\ude00 is not a valid Unicode character");
    assert_error("\"\\u12\"", "JSON parse error, \\u12\" is not a valid Unicode character");
    assert_error("\"\\u\"", "JSON parse error, \\u\" is not a valid Unicode character");
    assert_error("\"\\u12g4\"", "JSON parse error, \\u12g4 is not a valid Unicode character");
    assert_error("\"\\uFFFF\"", "JSON parse error, \\uFFFF is not a valid Unicode character");
    assert_error("\"\\ud83f\\udffe\"",
                 "JSON parse error, \\ud83f\\udffe is not a valid Unicode character");
    assert_error("\"\\q\"", "JSON parse error, invalid escape sequence in string");
    assert_error("\"\xc3\"", "JSON parse error, invalid UTF-8 sequence in string");
    assert_error("\"\xed\xa0\x80\"", "JSON parse error, invalid UTF-8 sequence in string");
    assert_error("\"\xe0\x80\x80\"", "JSON parse error, invalid UTF-8 sequence in string");
    assert_error("\"\xf4\x90\x80\x80\"", "JSON parse error, invalid UTF-8 sequence in string");
    assert_error("{\"driver\":\"x", "JSON parse error, stray '\"x'");
    assert_error("{\"driver\":\"x\\", "JSON parse error, stray '\"x\\'");
    assert_error("\"a\x01\"", "JSON parse error, stray '\"a\x01'");
    assert_error("\"a\nb\"", "JSON parse error, stray '\"a\n'");
}

static void test_structure_errors(void)
{
    assert_error("", "Expecting a JSON value");
    assert_error(" \n", "Expecting a JSON value");
    assert_error("{\"a\":1}{}", "Expecting at most one JSON value");
    assert_error("{\"a\":1} x", "Expecting at most one JSON value");
    assert_error("{\"a\":1}}", "Expecting at most one JSON value");
    assert_error("{\"a\":1}@", "Expecting at most one JSON value");
    assert_error("{\"a\" \"b\"} @", "JSON parse error, missing : in object pair");
    assert_error("{", "JSON parse error, premature EOI");
    assert_error("{\"a\":1", "JSON parse error, premature EOI");
    assert_error("{\"a\":tru", "JSON parse error, invalid keyword 'tru'");
    assert_error("{\"a\":nope}", "JSON parse error, invalid keyword 'nope'");
    assert_error("{1:2}", "JSON parse error, key is not a string in object");
    assert_error("{[1]:2}", "JSON parse error, key is not a string in object");
    assert_error("{\"a\":1,\"a\":2}", "JSON parse error, duplicate key");
    assert_error("{\"a\":1,\"a\":nope}", "JSON parse error, invalid keyword 'nope'");
    assert_error("{\"a\":1 \"b\":2}", "JSON parse error, expected separator in dict");
    assert_error("{\"a\":1]", "JSON parse error, expected separator in dict");
    assert_error("[1 2]", "JSON parse error, expected separator in list");
    assert_error("{\"a\":1,}", "JSON parse error, expecting value");
    assert_error("[,]", "JSON parse error, expecting value");
    assert_error("}", "JSON parse error, expecting value");
    assert_error("{\"a\" # hi\n}", "JSON parse error, stray '#'");
    assert_error("{\"a\":%s}", "JSON parse error, stray '%'");
    assert_error("{\"a\":B}", "JSON parse error, stray 'B'");
}

static char *nested(int depth)
{
    GString *s = g_string_new(NULL);

    for (int i = 0; i < depth; i++) {
        g_string_append_c(s, '[');
    }
    for (int i = 0; i < depth; i++) {
        g_string_append_c(s, ']');
    }
    return g_string_free(s, FALSE);
}

static void test_depth(void)
{
    g_autofree char *deepest = nested(JSON_MAX_DEPTH);
    g_autofree char *too_deep = nested(JSON_MAX_DEPTH + 1);

    assert_round_trip(deepest, deepest);
    assert_error(too_deep, "JSON nesting depth limit exceeded");
}

static void test_pretty(void)
{
    g_autoptr(JsonNode) value = json_parse("[1,{'a':[],'b':{},'c':[{'d':1}]}]", &error_abort);
    g_autofree char *text = json_write(value, true);

    g_assert_cmpstr(text, ==,
                    "[\n"
                    "    1,\n"
                    "    {\n"
                    "        \"a\": [\n"
                    "        ],\n"
                    "        \"b\": {\n"
                    "        },\n"
                    "        \"c\": [\n"
                    "            {\n"
                    "                \"d\": 1\n"
                    "            }\n"
                    "        ]\n"
                    "    }\n"
                    "]");
}

static void test_write_broken_utf8(void)
{
    g_autoptr(JsonNode) value = json_node_init_string(json_node_alloc(), "a\xff\xc3z");
    g_autofree char *text = json_write(value, false);

    g_assert_cmpstr(text, ==, "\"a\\uFFFD\\uFFFDz\"");
}

/* ---- streams ---- */

static void note(JsonNode *value, Error *err, void *opaque)
{
    GString *log = opaque;

    if (value) {
        g_autofree char *text = json_write(value, false);

        g_string_append_printf(log, "%s|", text);
    } else {
        g_string_append_printf(log, "!%s|", error_message(err));
        error_free(err);
    }
}

/* In one piece, and byte by byte. */
static void assert_stream(const char *data, size_t len, const char *expected)
{
    for (int pass = 0; pass < 2; pass++) {
        g_autoptr(GString) log = g_string_new(NULL);
        JsonStream *s = json_stream_new(note, log);
        size_t step = pass == 0 ? len : 1;

        for (size_t i = 0; i < len; i += step) {
            json_stream_feed(s, data + i, step);
        }
        json_stream_end(s);
        json_stream_free(s);
        g_assert_cmpstr(log->str, ==, expected);
    }
}
#define ASSERT_STREAM(data, expected) assert_stream(data, sizeof(data) - 1, expected)

static void test_stream(void)
{
    ASSERT_STREAM("{}{'a':\n1}[2] 3 4", "{}|{\"a\": 1}|[2]|3|4|");
    ASSERT_STREAM("true1", "true|1|");
    ASSERT_STREAM("1a\n", "1|!JSON parse error, invalid keyword 'a'|");
    ASSERT_STREAM("{'a':", "!JSON parse error, premature EOI|");
}

static void test_resynchronisation(void)
{
    /* The byte that cannot occur in UTF-8 ends whatever was begun. */
    ASSERT_STREAM("[[[]\xff{}", "!JSON parse error, stray '\xff'|{}|");
    ASSERT_STREAM("{'a':1}\xff{'b':2}", "{\"a\": 1}|!JSON parse error, stray '\xff'|{\"b\": 2}|");
    ASSERT_STREAM("{'a':'\xff{}", "!JSON parse error, stray ''\xff'|{}|");
    /* After a stray byte, input is skipped up to a line's end or a bracket. */
    ASSERT_STREAM("@ 5 6\n7\n", "!JSON parse error, stray '@'|7|");
    ASSERT_STREAM("@\t5\n7\n", "!JSON parse error, stray '@'|7|");
    ASSERT_STREAM("{'a':@}\n{}", "!JSON parse error, stray '@'|!JSON parse error, expecting "
                                 "value|{}|");
    ASSERT_STREAM("aB\n{}", "!JSON parse error, invalid keyword 'a'|!JSON parse error, stray "
                            "'B'|{}|");
    /* One broken message, one error. */
    ASSERT_STREAM("{'a':1,nope,,'b'}\n{}", "!JSON parse error, invalid keyword 'nope'|{}|");
    ASSERT_STREAM("[1 2 3]{}", "!JSON parse error, expected separator in list|{}|");
    ASSERT_STREAM("\0{}", "!JSON parse error, stray ''|{}|");
}

/* Whatever comes, each message gives a value or an error, and values survive being written. */
static void check_random(JsonNode *value, Error *err, void *opaque)
{
    int *calls = opaque;

    (*calls)++;
    if (value) {
        g_autofree char *text = json_write(value, (*calls & 1) != 0);
        g_autoptr(JsonNode) again = json_parse(text, &error_abort);
        g_autofree char *rewritten = json_write(again, (*calls & 1) != 0);

        /* Written without a point, -0.0 comes back as the integer 0. */
        if (!strstr(text, "-0")) {
            g_assert_cmpstr(rewritten, ==, text);
        }
    } else {
        g_assert_nonnull(error_message(err));
        error_free(err);
    }
}

static void test_random(void)
{
    static const char pieces[] = "{}[]:,\"'\\u0a1e-+.truefalsn \n\t\xff\xc3\xa9xd83D";
    g_autoptr(GRand) rand = g_rand_new_with_seed(42);
    int calls = 0;

    for (int i = 0; i < 20000; i++) {
        JsonStream *s = json_stream_new(check_random, &calls);
        int n = g_rand_int_range(rand, 0, 60);

        for (int j = 0; j < n; j++) {
            char c = pieces[g_rand_int_range(rand, 0, sizeof(pieces) - 1)];

            json_stream_feed(s, &c, 1);
        }
        json_stream_end(s);
        json_stream_free(s);
    }
    g_assert_cmpint(calls, >, 20000);
}

typedef struct OneShot {
    JsonStream *stream;
    int calls;
} OneShot;

static void free_stream(JsonNode *value, Error *err, void *opaque)
{
    OneShot *one = opaque;

    error_free(err);
    one->calls++;
    json_stream_free(one->stream);
}

static void test_free_in_callback(void)
{
    OneShot a = { NULL, 0 }, b = { NULL, 0 };

    a.stream = json_stream_new(free_stream, &a);
    json_stream_feed(a.stream, "{} {} @ {", 9);
    g_assert_cmpint(a.calls, ==, 1);
    b.stream = json_stream_new(free_stream, &b);
    json_stream_feed(b.stream, "[", 1);
    json_stream_end(b.stream);
    g_assert_cmpint(b.calls, ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json/values", test_values);
    g_test_add_func("/json/numbers", test_numbers);
    g_test_add_func("/json/strings", test_strings);
    g_test_add_func("/json/structure-errors", test_structure_errors);
    g_test_add_func("/json/depth", test_depth);
    g_test_add_func("/json/pretty", test_pretty);
    g_test_add_func("/json/write-broken-utf8", test_write_broken_utf8);
    g_test_add_func("/json/stream", test_stream);
    g_test_add_func("/json/resynchronisation", test_resynchronisation);
    g_test_add_func("/json/random", test_random);
    g_test_add_func("/json/free-in-callback", test_free_in_callback);
    return g_test_run();
}
