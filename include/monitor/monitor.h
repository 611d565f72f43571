/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_MONITOR_MONITOR_H
#define SPINDLE_MONITOR_MONITOR_H

#include "chardev/char.h"

/* Runs in: main thread. */

/* -mon, -qmp, -monitor: a monitor on a chardev. Several may exist. */
bool monitor_new_qmp(Chardev *c, bool pretty, Error **errp);
bool monitor_new_hmp(Chardev *c, Error **errp);
/* Runs a human monitor command and returns what it prints, lines ended by "\r\n" as genuine does
 * over human-monitor-command. Caller frees. */
char *hmp_run(const char *line);
/* Stops the monitors' own thread, flushes replies. At exit. */
void monitor_cleanup(void);

/* An HMP command registers itself: `fn` prints with hmp_printf(). "info X" is registered as name
 * "info X". */
typedef struct HmpOutput HmpOutput;
typedef struct HmpCommand {
    const char *name, *args, *help;
    void (*fn)(HmpOutput *out, const char *args);
} HmpCommand;
void hmp_register(const HmpCommand *cmd);
void hmp_printf(HmpOutput *out, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* Prints "Error: text" and frees err. */
void hmp_error(HmpOutput *out, Error *err);
#define HMP_REGISTER(cmd)                                                                          \
    static void __attribute__((constructor)) hmp_register_##cmd(void)                              \
    {                                                                                              \
        hmp_register(&(cmd));                                                                      \
    }

#endif
