/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_MONITOR_HMP_H
#define SPINDLE_MONITOR_HMP_H

#include "monitor/monitor.h"

/* What the files of the human monitor share. Runs in: main thread. */

struct HmpOutput {
    GString *text;
    const HmpCommand *cmd;
    const char *name;  /* in messages: "quit|q", "block" */
    char *typed;       /* for help: "quit", "info block" */
    bool failed;       /* the usage was explained already */
};

/* All commands, by name. Caller frees the array. */
GPtrArray *hmp_commands(void);
const HmpCommand *hmp_find(const char *name);

/*
 * Arguments. Each function advances *p past what it took, and explains the usage if that is not
 * what the command wants; then it returns NULL or false and the command returns.
 */
/* A word, or a "quoted string". `what`: "string", "block device name". Caller frees. */
char *hmp_take_word(HmpOutput *out, const char **p, const char *what);
/* As above, but NULL without a word about it if there is none. */
char *hmp_take_optional(HmpOutput *out, const char **p);
/* A number; with _int32 one of 32 bits without a sign. */
bool hmp_take_number(HmpOutput *out, const char **p, int64_t *value);
bool hmp_take_int32(HmpOutput *out, const char **p, uint32_t *value);
/* Flags such as -v: each character of `known` may occur; sets found[c]. */
bool hmp_take_flags(HmpOutput *out, const char **p, const char *known, bool found[256]);
/* Nothing may follow. */
bool hmp_end(HmpOutput *out, const char *p);
void hmp_usage(HmpOutput *out, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* Prints a text and frees it. */
void hmp_take_text(HmpOutput *out, char *text);


#endif
