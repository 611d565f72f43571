/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QAPI_JSON_H
#define SPINDLE_QAPI_JSON_H

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/*
 * Reading and writing JSON in the dialect that clients of the monitor use: strings may also stand
 * in single quotes, duplicate keys are refused, and errors have the texts clients match on. Values
 * are json-glib nodes. Integers that fit in int64 are integer nodes; larger ones up to 2^64-1 are
 * double nodes from 2^63 to 2^64, rounded, which readers of uint64 accept (2^64 as 2^64-1).
 *
 * Runs in: any thread.
 */

/* How deep arrays and objects may nest. */
#define JSON_MAX_DEPTH 1024

/* Exactly one value, blanks around it allowed. Caller frees with json_node_unref(). */
JsonNode *json_parse(const char *text, Error **errp);

/* A stream of values, as it arrives. */
typedef struct JsonStream JsonStream;
/* Called with a value (borrowed), or with NULL and an error (owned by the callee) after which the
 * stream has resynchronised. */
typedef void JsonStreamFn(JsonNode *value, Error *err, void *opaque);
JsonStream *json_stream_new(JsonStreamFn *fn, void *opaque);
void json_stream_feed(JsonStream *s, const char *data, size_t len);
/* End of input: an unfinished value is an error. */
void json_stream_end(JsonStream *s);
/* The callback may call it too: it is not called again then. */
void json_stream_free(JsonStream *s);

/* One line with ", " and ": " between things, or, if pretty, indented by 4 blanks with "\n" between
 * lines. Caller frees. */
char *json_write(JsonNode *value, bool pretty);

#endif
