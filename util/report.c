/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for a person: where they go and what stands before them. */
#include "util/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef enum { LOCATION_TEXT, LOCATION_FILE, LOCATION_MONITOR } LocationKind;

typedef struct Location Location;
struct Location {
    LocationKind kind;
    char *text; /* as printed */
    Location *outer;
};

/*
 * Per thread: the main thread is the only one that pushes, so the others have none, and a message
 * from an IOThread never carries the option that the main thread happens to be working on.
 */
static __thread Location *location;
static __thread ReportSink *sink_fn;
static __thread void *sink_opaque;

static char *program_name;
static gint timestamps;
static pthread_mutex_t guest_name_lock = PTHREAD_MUTEX_INITIALIZER;
static char *guest_name;

void report_init(const char *argv0)
{
    g_free(program_name);
    program_name = g_path_get_basename(argv0);
}

const char *report_program_name(void)
{
    return program_name ? program_name : "spindle";
}

void report_set_timestamps(bool on)
{
    g_atomic_int_set(&timestamps, on);
}

void report_set_guest_name(const char *name)
{
    pthread_mutex_lock(&guest_name_lock);
    g_free(guest_name);
    guest_name = g_strdup(name);
    pthread_mutex_unlock(&guest_name_lock);
}

static void push(LocationKind kind, char *text)
{
    Location *l = g_new0(Location, 1);

    l->kind = kind;
    l->text = text;
    l->outer = location;
    location = l;
}

void report_push_option(const char *option, const char *value)
{
    push(LOCATION_TEXT, value ? g_strdup_printf("%s %s", option, value) : g_strdup(option));
}

void report_push_file(const char *file, int line)
{
    push(LOCATION_FILE, line > 0 ? g_strdup_printf("%s:%d", file, line) : g_strdup(file));
}

void report_push_monitor(void)
{
    push(LOCATION_MONITOR, NULL);
}

void report_pop(void)
{
    Location *l = location;

    g_assert(l != NULL);
    location = l->outer;
    g_free(l->text);
    g_free(l);
}

static void append_timestamp(GString *s)
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    g_string_append_printf(s, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ ", tm.tm_year + 1900,
                           tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                           now.tv_nsec / 1000);
}

static void append_guest_name(GString *s)
{
    pthread_mutex_lock(&guest_name_lock);
    if (guest_name) {
        g_string_append_printf(s, "%s ", guest_name);
    }
    pthread_mutex_unlock(&guest_name_lock);
}

static void append_location(GString *s)
{
    const Location *l = location;

    if (l && l->kind == LOCATION_MONITOR) {
        return;
    }
    g_string_append_printf(s, "%s:", report_program_name());
    if (l) {
        /* A file position joins the program's name without a space, as compilers print it. */
        g_string_append_printf(s, l->kind == LOCATION_FILE ? "%s:" : " %s:", l->text);
    }
    g_string_append_c(s, ' ');
}

static void emit(const char *line)
{
    if (sink_fn) {
        sink_fn(line, sink_opaque);
        return;
    }

    /* One write for the whole line: lines of several threads must not mix. */
    g_autofree char *text = g_strconcat(line, "\n", NULL);

    fwrite(text, 1, strlen(text), stderr);
}

static void G_GNUC_PRINTF(2, 0) reportv(const char *kind, const char *fmt, va_list ap)
{
    int saved_errno = errno;
    g_autoptr(GString) s = g_string_new(NULL);

    if (!sink_fn) {
        if (g_atomic_int_get(&timestamps)) {
            append_timestamp(s);
        }
        append_guest_name(s);
        append_location(s);
    }
    g_string_append(s, kind);
    g_string_append_vprintf(s, fmt, ap);
    emit(s->str);
    errno = saved_errno;
}

void report_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    reportv("", fmt, ap);
    va_end(ap);
}

void report_warning(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    reportv("warning: ", fmt, ap);
    va_end(ap);
}

void report_info(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    reportv("info: ", fmt, ap);
    va_end(ap);
}

void report_plain(const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    emit(text);
}

static void emit_hint(const Error *err)
{
    const char *hint = error_hint(err);
    g_auto(GStrv) lines = NULL;

    if (!hint) {
        return;
    }
    lines = g_strsplit(hint, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        if (lines[i + 1] == NULL && *lines[i] == '\0') {
            break; /* the hint ended with its own newline */
        }
        emit(lines[i]);
    }
}

void report_error_free(Error *err)
{
    report_error("%s", error_message(err));
    emit_hint(err);
    error_free(err);
}

void report_warning_free(Error *err)
{
    report_warning("%s", error_message(err));
    emit_hint(err);
    error_free(err);
}

void report_set_sink(ReportSink *sink, void *opaque)
{
    sink_fn = sink;
    sink_opaque = opaque;
}
