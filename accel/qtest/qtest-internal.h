/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_ACCEL_QTEST_INTERNAL_H
#define SPINDLE_ACCEL_QTEST_INTERNAL_H

#include "util/error.h"

/*
 * What the files of accel/qtest/ share: a table of commands, looked up by name. A handler gets the
 * words of the line (args[0] is the command), appends its reply without the newline ("OK ..."), and
 * returns false with an error instead for a request that cannot be carried out.
 *
 * Runs in: main thread, under the big lock.
 */
#define QTEST_MAX_WORDS 8

typedef bool QtestFn(char **args, GString *reply, Error **errp);

typedef struct QtestCommand {
    const char *name;
    int n_args; /* beyond the name, at least */
    QtestFn *fn;
} QtestCommand;

extern const QtestCommand qtest_memory_commands[]; /* ended by a NULL name */
extern const QtestCommand qtest_machine_commands[];

/* Numbers in C notation, whole word. */
bool qtest_number(const char *text, const char *what, uint64_t *out, Error **errp);
/* Sends a line that answers nothing ("IRQ raise 5"). */
void qtest_send_async(const char *line);

#endif
