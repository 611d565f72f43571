/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The qtest server: lines come in, each is carried out in the main thread and answered in order. A
 * line does not start while a monitor command is being carried out (command_begin): the bytes wait.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "accel/qtest.h"
#include "hw/core/machine.h"
#include "hw/core/runstate.h"
#include "qapi/keyval.h"
#include "qtest-internal.h"
#include "util/biglock.h"

/* A line is at most this long (a write of 256 MiB in hexadecimal). */
#define QTEST_MAX_LINE ((512u << 20) + 256)
#define QTEST_CHUNK    (1u << 20)

static struct {
    Chardev *chr;
    GString *in;
    FILE *log;
    int64_t log_start_ns;
    bool waiting; /* for a command elsewhere to end */
} qtest;

static void qtest_log(char direction, const char *text)
{
    if (qtest.log) {
        double s = (aio_clock_ns(AIO_CLOCK_REALTIME) - qtest.log_start_ns) / 1e9;

        fprintf(qtest.log, "[%c +%.6f] %s\n", direction, s, text);
    }
}

static void qtest_send(GString *line)
{
    qtest_log('S', line->str);
    g_string_append_c(line, '\n');
    chardev_write(qtest.chr, line->str, line->len);
}

void qtest_send_async(const char *text)
{
    g_autoptr(GString) line = g_string_new(text);

    qtest_send(line);
}

bool qtest_number(const char *text, const char *what, uint64_t *out, Error **errp)
{
    if (!text || !parse_uint64(text, out)) {
        error_set(errp, "%s '%s' is not a number", what, text ? text : "");
        return false;
    }
    return true;
}

static const QtestCommand *find_command(const char *name)
{
    static const QtestCommand *const tables[] = {qtest_memory_commands, qtest_machine_commands};

    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const QtestCommand *c = tables[i]; c->name; c++) {
            /* With another accelerator time is not the client's. */
            if (!strcmp(c->name, name) && (strncmp(name, "clock_", 6) || accel_is("qtest"))) {
                return c;
            }
        }
    }
    return NULL;
}

static void qtest_line(char *text)
{
    g_autoptr(GString) reply = g_string_new(NULL);
    g_autoptr(Error) err = NULL;
    char *args[QTEST_MAX_WORDS + 1] = {NULL};
    const QtestCommand *cmd;
    int n = 0;

    ASSERT_BIG_LOCK();
    qtest_log('R', text);
    for (char *save = NULL, *w = strtok_r(text, " \r", &save); w && n < QTEST_MAX_WORDS;
         w = strtok_r(NULL, " \r", &save)) {
        args[n++] = w;
    }
    cmd = n ? find_command(args[0]) : NULL;
    if (!cmd) {
        g_string_printf(reply, "FAIL Unknown command '%s'", n ? args[0] : "");
    } else if (n - 1 < cmd->n_args) {
        g_string_printf(reply, "ERR %s needs %d arguments", cmd->name, cmd->n_args);
    } else if (!cmd->fn(args, reply, &err)) {
        bool plain = g_str_has_prefix(cmd->name, "clock") || g_str_has_prefix(cmd->name, "irq") ||
                     g_str_has_prefix(cmd->name, "module");

        g_string_printf(reply, "%s %s", plain ? "FAIL" : "ERR", error_message(err));
    }
    qtest_send(reply);
}

static void qtest_retry(void *opaque);

static void qtest_process(void)
{
    size_t done = 0;
    char *nl;

    while ((nl = memchr(qtest.in->str + done, '\n', qtest.in->len - done))) {
        if (qtest.waiting) {
            break;
        }
        if (!command_begin(qtest_retry, NULL)) {
            qtest.waiting = true;
            break;
        }
        /* The handler may poll the main loop and so get here again with more input: what this line
         * is must not lie in the buffer any more. */
        g_autofree char *line = g_strndup(qtest.in->str + done, nl - (qtest.in->str + done));

        done = nl + 1 - qtest.in->str;
        if (done == qtest.in->len) {
            g_string_truncate(qtest.in, 0);
            done = 0;
        }
        qtest_line(line);
        command_end();
    }
    g_string_erase(qtest.in, 0, done);
}

static void qtest_retry(void *opaque)
{
    qtest.waiting = false;
    qtest_process();
    chardev_accept_input(qtest.chr);
}

static size_t qtest_can_receive(void *opaque)
{
    return qtest.waiting && qtest.in->len >= QTEST_CHUNK ? 0 : QTEST_CHUNK;
}

static void qtest_receive(void *opaque, const uint8_t *buf, size_t len)
{
    g_assert(aio_in_main_thread());
    g_string_append_len(qtest.in, (const char *)buf, len);
    qtest_process();
    if (qtest.in->len > QTEST_MAX_LINE) {
        g_string_truncate(qtest.in, 0);
        qtest_send_async("ERR line too long");
        chardev_disconnect(qtest.chr);
    }
}

static void qtest_event(void *opaque, ChardevEvent event)
{
    if (event != CHARDEV_BREAK) {
        g_string_truncate(qtest.in, 0);
        qtest_log(event == CHARDEV_OPENED ? 'I' : 'I',
                  event == CHARDEV_OPENED ? "OPENED" : "CLOSED");
    }
}

static const ChardevHandlers qtest_handlers = {
    .can_receive = qtest_can_receive,
    .receive = qtest_receive,
    .event = qtest_event,
};

bool qtest_server_start(Chardev *c, const char *log, Error **errp)
{
    g_assert(aio_in_main_thread());
    if (!log) {
        qtest.log = stderr;
    } else if (strcmp(log, "none")) {
        qtest.log = fopen(log, "w+e");
        if (!qtest.log) {
            error_set_errno(errp, errno, "-qtest-log: could not open '%s'", log);
            return false;
        }
        setvbuf(qtest.log, NULL, _IOLBF, 0);
    }
    qtest.log_start_ns = aio_clock_ns(AIO_CLOCK_REALTIME);
    qtest.in = g_string_new(NULL);
    qtest.chr = c;
    return chardev_claim(c, &qtest_handlers, NULL, errp);
}
