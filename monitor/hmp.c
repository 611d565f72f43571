/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The human monitor: its commands, and the reading of their arguments. */
#include "hmp.h"

#include <stdarg.h>
#include <string.h>

#include "hw/core/runstate.h"
#include "qapi/keyval.h"
#include "util/report.h"

static GPtrArray *commands; /* filled by constructors */

void hmp_register(const HmpCommand *cmd)
{
    if (!commands) {
        commands = g_ptr_array_new();
    }
    g_ptr_array_add(commands, (gpointer)cmd);
}

static gint compare_commands(gconstpointer a, gconstpointer b)
{
    const HmpCommand *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

GPtrArray *hmp_commands(void)
{
    GPtrArray *list = g_ptr_array_new();

    for (guint i = 0; i < commands->len; i++) {
        g_ptr_array_add(list, commands->pdata[i]);
    }
    g_ptr_array_sort(list, compare_commands);
    return list;
}

/* "quit|q" goes by each of its names. */
static bool has_name(const HmpCommand *cmd, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = cmd->name;; p++) {
        if (strncmp(p, name, len) == 0 && (p[len] == '|' || p[len] == '\0')) {
            return true;
        }
        p = strchr(p, '|');
        if (!p) {
            return false;
        }
    }
}

const HmpCommand *hmp_find(const char *name)
{
    for (guint i = 0; i < commands->len; i++) {
        if (has_name(commands->pdata[i], name)) {
            return commands->pdata[i];
        }
    }
    return NULL;
}

/* ---- output ---- */

static void put(HmpOutput *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            g_string_append_c(out->text, '\r');
        }
        g_string_append_c(out->text, *text);
    }
}

void hmp_printf(HmpOutput *out, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    put(out, text);
}

void hmp_take_text(HmpOutput *out, char *text)
{
    if (text) {
        put(out, text);
        g_free(text);
    }
}

void hmp_error(HmpOutput *out, Error *err)
{
    hmp_printf(out, "Error: %s\n", error_message(err));
    if (error_hint(err)) {
        const char *hint = error_hint(err);

        hmp_printf(out, "%s%s", hint, g_str_has_suffix(hint, "\n") ? "" : "\n");
    }
    error_free(err);
}

void hmp_usage(HmpOutput *out, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    out->failed = true;
    hmp_printf(out, "%s\nTry \"help %s\" for more information\n", text, out->typed);
}

/* ---- arguments ---- */

static const char *skip_blanks(const char *p)
{
    while (g_ascii_isspace(*p)) {
        p++;
    }
    return p;
}

/* In quotes, with \n, \r, \\, \' and \" inside. NULL if it does not end. */
static char *take_quoted(HmpOutput *out, const char **p)
{
    GString *word = g_string_new(NULL);
    const char *s = *p + 1;

    for (; *s && *s != '"'; s++) {
        if (*s == '\\') {
            s++;
            switch (*s) {
            case 'n':
                g_string_append_c(word, '\n');
                continue;
            case 'r':
                g_string_append_c(word, '\r');
                continue;
            case '\\':
            case '\'':
            case '"':
                break;
            default:
                hmp_printf(out, "unsupported escape code: '\\%c'\n", *s ? *s : ' ');
                g_string_free(word, TRUE);
                return NULL;
            }
        }
        g_string_append_c(word, *s);
    }
    if (*s != '"') {
        hmp_printf(out, "unterminated string\n");
        g_string_free(word, TRUE);
        return NULL;
    }
    *p = s + 1;
    return g_string_free(word, FALSE);
}

static char *take_word(HmpOutput *out, const char **p, bool *bad)
{
    const char *start = skip_blanks(*p);
    const char *end = start;

    *bad = false;
    if (*start == '"') {
        char *word = take_quoted(out, &start);

        *bad = !word;
        *p = start;
        return word;
    }
    while (*end && !g_ascii_isspace(*end)) {
        end++;
    }
    *p = end;
    return end == start ? NULL : g_strndup(start, end - start);
}

char *hmp_take_word(HmpOutput *out, const char **p, const char *what)
{
    bool bad;
    char *word = take_word(out, p, &bad);

    if (!word) {
        hmp_usage(out, "%s: %s expected", out->name, what);
    }
    return word;
}

char *hmp_take_optional(HmpOutput *out, const char **p)
{
    bool bad;
    char *word = take_word(out, p, &bad);

    if (bad) {
        hmp_usage(out, "%s: string expected", out->name);
    }
    return word;
}

bool hmp_take_number(HmpOutput *out, const char **args, int64_t *value)
{
    g_autofree char *word = hmp_take_optional(out, args);
    size_t good = 0;

    if (!word) {
        hmp_usage(out, "unexpected end of expression");
        return false;
    }
    if (parse_int64(word, value)) {
        return true;
    }
    /* Digits too many, or something else behind them. */
    while (g_ascii_isdigit(word[good]) || (good == 0 && word[good] == '-')) {
        good++;
    }
    if (word[good]) {
        hmp_usage(out, "invalid char '%c' in expression", word[good]);
    } else {
        hmp_usage(out, "number too large");
    }
    return false;
}

bool hmp_take_int32(HmpOutput *out, const char **args, uint32_t *value)
{
    int64_t number;

    if (!hmp_take_number(out, args, &number)) {
        return false;
    }
    if (number < 0 || number > UINT32_MAX) {
        hmp_usage(out, "'%s' has failed: integer is for 32-bit values", out->name);
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

bool hmp_take_flags(HmpOutput *out, const char **p, const char *known, bool found[256])
{
    memset(found, 0, 256 * sizeof(bool));
    for (;;) {
        const char *s = skip_blanks(*p);

        if (*s != '-' || s[1] == '\0' || g_ascii_isspace(s[1])) {
            return true;
        }
        if (!strchr(known, s[1]) || (s[2] != '\0' && !g_ascii_isspace(s[2]))) {
            hmp_usage(out, "%s: unsupported option -%c", out->name, s[1]);
            return false;
        }
        found[(unsigned char)s[1]] = true;
        *p = s + 2;
    }
}

bool hmp_end(HmpOutput *out, const char *p)
{
    if (*skip_blanks(p)) {
        hmp_usage(out, "%s: extraneous characters at the end of line", out->name);
        return false;
    }
    return true;
}

/* ---- running a line ---- */

static void sink(const char *line, void *opaque)
{
    hmp_printf(opaque, "%s\n", line);
}

static void run_line(HmpOutput *out, const char *line)
{
    const char *p = line;
    bool bad, is_info;
    g_autofree char *word = NULL;

    p = skip_blanks(p);
    if (!*p || *p == '#') {
        return;
    }
    {
        const char *end = p;

        while (*end && !g_ascii_isspace(*end)) {
            end++;
        }
        word = g_strndup(p, end - p);
        p = end;
    }
    is_info = g_str_equal(word, "info");
    if (is_info) {
        g_autofree char *sub = take_word(out, &p, &bad);

        if (sub) {
            char *full = g_strconcat("info ", sub, NULL);

            g_free(word);
            word = full;
        }
    }
    out->cmd = hmp_find(word);
    if (!out->cmd) {
        hmp_printf(out, "unknown command: '%s'\n", word);
        return;
    }
    out->typed = g_steal_pointer(&word);
    out->name = out->cmd->name;
    if (g_str_has_prefix(out->name, "info ")) {
        out->name += strlen("info ");
    }
    p = skip_blanks(p);
    if ((!out->cmd->args || !*out->cmd->args) && !hmp_end(out, p)) {
        return;
    }
    out->cmd->fn(out, p);
}

char *hmp_run(const char *line)
{
    HmpOutput out = { .text = g_string_new(NULL) };

    g_assert(aio_in_main_thread());
    report_push_monitor();
    report_set_sink(sink, &out);
    run_line(&out, line);
    report_set_sink(NULL, NULL);
    report_pop();
    g_free(out.typed);
    return g_string_free(out.text, FALSE);
}
