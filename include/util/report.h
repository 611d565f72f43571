/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_UTIL_REPORT_H
#define SPINDLE_UTIL_REPORT_H

#include "util/error.h"

/*
 * Messages for a person, on stderr: "PROGRAM: LOCATION: message". The location is whatever the
 * main thread is working on, a command-line option ("-device virtio-blk-pci") or a line of a
 * configuration file ("rc.cfg:4"), and is empty once the machine runs.
 */

/* Remembers the basename of argv[0]. Runs in: main thread, once. */
void report_init(const char *argv0);
const char *report_program_name(void);

/* Prefixes stderr lines with an ISO 8601 time (-msg timestamp=on). */
void report_set_timestamps(bool on);
/* Prefixes stderr lines with the guest's name (-msg guest-name=on); NULL turns it off. */
void report_set_guest_name(const char *name);

/*
 * A location is in force from push to pop; locations nest. The strings are copied. With a `value`
 * of NULL only the option is shown. Runs in: main thread.
 */
void report_push_option(const char *option, const char *value);
void report_push_file(const char *file, int line);
/* While a monitor command runs, messages carry neither program nor location. */
void report_push_monitor(void);
void report_pop(void);

/*
 * Runs in: any thread (another thread than the main one has no location). One line each, the
 * newline is added. report_warning() puts "warning: ", report_info() "info: " before the text.
 */
void report_error(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void report_warning(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void report_info(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* Prints the bare text, without program name or location. */
void report_plain(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

/* Prints message and hint of `err` and frees it. */
void report_error_free(Error *err);
void report_warning_free(Error *err);

/*
 * Where the lines go instead of stderr while set (a human monitor collecting the output of its
 * command); NULL restores stderr. Affects the calling thread only.
 */
typedef void ReportSink(const char *line, void *opaque);
void report_set_sink(ReportSink *sink, void *opaque);

#endif
