/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The human monitor on a character device: prompt, echo, a little line editing, history. */
#include "hmp.h"
#include "qmp.h"

#include <string.h>

#include "hw/core/runstate.h"
#include "monitor/version.h"

#define PROMPT       "(qemu) "
#define LINE_LEN_MAX 4096
#define HISTORY_MAX  64

/* Keys, as a terminal sends them. */
#define KEY_CTRL(c)   ((c)-0x40)
#define KEY_ESC       0x1b
#define KEY_BACKSPACE 0x7f

typedef struct Console {
    Chardev *chr;
    GString *line;
    GPtrArray *history;
    guint history_pos;
    enum { STATE_NORMAL, STATE_ESC, STATE_CSI } key_state;
    bool line_ready; /* entered, and not run yet: another command is running */
} Console;

static GPtrArray *consoles;

static void say(Console *con, const char *text)
{
    chardev_write(con->chr, text, strlen(text));
}

static void erase_line(Console *con)
{
    for (gsize i = 0; i < con->line->len; i++) {
        say(con, "\b \b");
    }
    g_string_truncate(con->line, 0);
}

static void remember(Console *con, const char *line)
{
    if (con->history->len > 0 &&
        g_str_equal(con->history->pdata[con->history->len - 1], line)) {
        return;
    }
    if (con->history->len == HISTORY_MAX) {
        g_ptr_array_remove_index(con->history, 0);
    }
    g_ptr_array_add(con->history, g_strdup(line));
}

static void show_history(Console *con, int step)
{
    if ((step < 0 && con->history_pos == 0) ||
        (step > 0 && con->history_pos >= con->history->len)) {
        return;
    }
    con->history_pos += step;
    erase_line(con);
    if (con->history_pos < con->history->len) {
        g_string_assign(con->line, con->history->pdata[con->history_pos]);
        say(con, con->line->str);
    }
}

static void run_entered_line(void *opaque)
{
    Console *con = opaque;
    g_autofree char *line = NULL;
    g_autofree char *text = NULL;

    if (!consoles || !g_ptr_array_find(consoles, con, NULL) || !con->line_ready ||
        !command_begin(run_entered_line, con)) {
        return;
    }
    line = g_strdup(con->line->str);
    g_string_truncate(con->line, 0);
    if (*g_strstrip(line)) {
        remember(con, line);
    }
    con->history_pos = con->history->len;
    text = hmp_run(line);
    runstate_main_loop_step();
    say(con, text);
    say(con, PROMPT);
    con->line_ready = false;
    command_end();
    chardev_accept_input(con->chr);
}

static void on_plain_key(Console *con, uint8_t key)
{
    switch (key) {
    case '\r':
    case '\n':
        say(con, "\r\n");
        con->line_ready = true;
        run_entered_line(con);
        break;
    case KEY_ESC:
        con->key_state = STATE_ESC;
        break;
    case '\b':
    case KEY_BACKSPACE:
        if (con->line->len > 0) {
            g_string_truncate(con->line, con->line->len - 1);
            say(con, "\b \b");
        }
        break;
    case KEY_CTRL('C'):
        say(con, "^C\r\n" PROMPT);
        g_string_truncate(con->line, 0);
        break;
    case KEY_CTRL('U'):
        erase_line(con);
        break;
    case KEY_CTRL('P'):
        show_history(con, -1);
        break;
    case KEY_CTRL('N'):
        show_history(con, 1);
        break;
    default:
        if (key >= ' ' && con->line->len < LINE_LEN_MAX) {
            char text[2] = { key, '\0' };

            g_string_append_c(con->line, key);
            say(con, text);
        }
        break;
    }
}

static void on_key(Console *con, uint8_t key)
{
    switch (con->key_state) {
    case STATE_NORMAL:
        on_plain_key(con, key);
        break;
    case STATE_ESC:
        con->key_state = key == '[' || key == 'O' ? STATE_CSI : STATE_NORMAL;
        break;
    case STATE_CSI:
        if (key >= '@') {
            con->key_state = STATE_NORMAL;
            if (key == 'A' || key == 'B') {
                show_history(con, key == 'A' ? -1 : 1);
            }
        }
        break;
    }
}

/* One at a time, as a line that has been entered stops the reading until it was run. */
static size_t console_can_receive(void *opaque)
{
    Console *con = opaque;

    return con->line_ready ? 0 : 1;
}

static void console_receive(void *opaque, const uint8_t *buf, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        on_key(opaque, buf[i]);
    }
}

static void console_event(void *opaque, ChardevEvent event)
{
    Console *con = opaque;

    if (event == CHARDEV_OPENED) {
        g_string_truncate(con->line, 0);
        con->line_ready = false;
        con->key_state = STATE_NORMAL;
        say(con, "QEMU " INTERFACE_VERSION
                 " monitor - type 'help' for more information\r\n" PROMPT);
    }
}

static const ChardevHandlers console_handlers = {
    .can_receive = console_can_receive,
    .receive = console_receive,
    .event = console_event,
};

static void console_free(gpointer opaque)
{
    Console *con = opaque;

    chardev_release(con->chr);
    chardev_flush(con->chr, 1000);
    g_string_free(con->line, TRUE);
    g_ptr_array_unref(con->history);
    g_free(con);
}

bool monitor_new_hmp(Chardev *c, Error **errp)
{
    Console *con;

    if (chardev_is_claimed(c)) {
        error_set(errp, "chardev '%s' is already in use", chardev_id(c));
        return false;
    }
    con = g_new0(Console, 1);
    con->chr = c;
    con->line = g_string_new(NULL);
    con->history = g_ptr_array_new_with_free_func(g_free);
    if (!consoles) {
        consoles = g_ptr_array_new_with_free_func(console_free);
    }
    g_ptr_array_add(consoles, con);
    return chardev_claim(c, &console_handlers, con, errp);
}

void monitor_cleanup(void)
{
    qmp_cleanup();
    g_clear_pointer(&consoles, g_ptr_array_unref);
}
