/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of JSON text, whole and as a stream that comes in pieces. Whatever it accepts must be
 * written as text that it accepts again, with the same meaning.
 */
#include <string.h>

#include "qapi/json.h"

typedef struct Count {
    unsigned values;
    unsigned errors;
} Count;

static void on_value(JsonNode *value, Error *err, void *opaque)
{
    Count *count = opaque;

    if (value) {
        count->values++;
    } else {
        count->errors++;
        error_free(err);
    }
}

static void check_round_trip(JsonNode *value)
{
    g_autofree char *once = json_write(value, false);
    g_autoptr(JsonNode) again = json_parse(once, &error_abort);
    g_autofree char *twice = json_write(again, false);

    g_assert_cmpstr(once, ==, twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    Error *err = NULL;
    JsonNode *value = json_parse(text, &err);

    if (value) {
        check_round_trip(value);
        json_node_unref(value);
    } else {
        g_assert(err != NULL);
        error_free(err);
    }

    /* What a stream finds must not depend on where the pieces end. */
    Count whole = {0}, pieces = {0};
    JsonStream *stream = json_stream_new(on_value, &whole);
    json_stream_feed(stream, (const char *)data, size);
    json_stream_end(stream);
    json_stream_free(stream);

    stream = json_stream_new(on_value, &pieces);
    for (size_t i = 0; i < size; i++) {
        json_stream_feed(stream, (const char *)data + i, 1);
    }
    json_stream_end(stream);
    json_stream_free(stream);
    g_assert_cmpuint(whole.values, ==, pieces.values);
    g_assert_cmpuint(whole.errors, ==, pieces.errors);
    return 0;
}
