/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QAPI_KEYVAL_H
#define SPINDLE_QAPI_KEYVAL_H

#include "qapi/json.h"

/*
 * The key=value form of options. Two readers:
 *  - opts_parse(): flat, for the older options (-device, -drive, -chardev, ...); keys are kept as
 *    written, dots and all; repeated keys are kept, the last one counts.
 *  - keyval_parse(): nested, for -object, -blockdev, -machine, ...; "a.b.0=x" becomes
 *    {"a": {"b": ["x"]}}, all scalars are strings.
 * In both "," separates, ",," is a comma, and a first item without "=" is the value of
 * `implied_key` (may be NULL). "help" or "?" as an item of its own asks for help.
 */

typedef struct Opt {
    char *key;
    char *value;
} Opt;

typedef struct Opts {
    char *text;      /* as the user gave it */
    char *id;        /* value of the key "id", checked to be an identifier; NULL if none */
    GPtrArray *list; /* of Opt, in order; "id" is not in it */
} Opts;

/* A key without "=" means on ("no" in front: off) and brings a deprecation warning.
 * `help`, if not NULL, is set to whether help was asked for. */
Opts *opts_parse(const char *text, const char *implied_key, bool *help, Error **errp);
/* An empty list to be filled by opts_set(). `id` may be NULL. */
Opts *opts_new(const char *id);
void opts_free(Opts *opts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Opts, opts_free)
/* The last value of the key, or NULL. */
const char *opts_get(const Opts *opts, const char *key);
void opts_set(Opts *opts, const char *key, const char *value);
/* Removes all of the key; returns its last value (caller frees) or NULL. */
char *opts_take(Opts *opts, const char *key);
bool opts_take_bool(Opts *opts, const char *key, bool dflt, bool *out, Error **errp);
/* C notation: 10, 0x10, 010. */
bool opts_take_uint(Opts *opts, const char *key, uint64_t dflt, uint64_t *out, Error **errp);
/* With suffix: 4k, 1.5G, ... */
bool opts_take_size(Opts *opts, const char *key, uint64_t dflt, uint64_t *out, Error **errp);
/* Fails with "Invalid parameter 'KEY'" if anything is left. */
bool opts_all_taken(const Opts *opts, Error **errp);
/* A flat object of strings (id included if set). */
JsonNode *opts_to_json(const Opts *opts);

JsonNode *keyval_parse(const char *text, const char *implied_key, bool *help, Error **errp);
/* A nested object from an already flat one ("file.driver" -> {"file": {"driver": ...}}). */
JsonNode *keyval_nest(JsonObject *flat, Error **errp);
/* The reverse; members that are not strings are kept as they are. */
JsonNode *keyval_flatten(JsonObject *nested);

/* Letters, digits, '-', '.', '_', starting with a letter. */
bool id_wellformed(const char *id);
/* Sets "Parameter 'id' expects an identifier" with its hint. */
void error_set_bad_id(Error **errp);

/* "on"/"yes"/"true"/"y" and their opposites; error "Parameter 'NAME' expects 'on' or 'off'". */
bool parse_bool(const char *name, const char *value, bool *out, Error **errp);
/* 64-bit with C notation, whole string. Return false without an error text. */
bool parse_int64(const char *value, int64_t *out);
bool parse_uint64(const char *value, uint64_t *out); /* "-1" wraps as strtoull does; see callers */
/* With an optional suffix b,k,m,g,t,p,e of powers of 1024 and a fraction. */
bool parse_size(const char *value, uint64_t *out);

#endif
