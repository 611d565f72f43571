/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qtest commands that access ports and memory as a processor would. */
#include <inttypes.h>
#include <string.h>

#include "hw/core/memory.h"
#include "qapi/keyval.h"
#include "qtest-internal.h"

/* One request moves at most this much; a client's typing error must not take all memory. */
#define QTEST_MAX_BYTES (256u << 20)

static unsigned width_of(const char *command)
{
    switch (command[strlen(command) - 1]) {
    case 'b':
        return 1;
    case 'w':
        return 2;
    case 'l':
        return 4;
    default:
        return 8;
    }
}

static bool qtest_out(char **args, GString *reply, Error **errp)
{
    unsigned size = width_of(args[0]);
    uint64_t port, value;

    if (!qtest_number(args[1], "port", &port, errp) ||
        !qtest_number(args[2], "value", &value, errp)) {
        return false;
    }
    if (port > 0xffff) {
        error_set(errp, "port 0x%" PRIx64 " is above 0xffff", port);
        return false;
    }
    address_space_store(guest_ports, port, value, size);
    g_string_append(reply, "OK");
    return true;
}

static bool qtest_in(char **args, GString *reply, Error **errp)
{
    uint64_t port;

    if (!qtest_number(args[1], "port", &port, errp)) {
        return false;
    }
    if (port > 0xffff) {
        error_set(errp, "port 0x%" PRIx64 " is above 0xffff", port);
        return false;
    }
    g_string_append_printf(reply, "OK 0x%04" PRIx64,
                           address_space_load(guest_ports, port, width_of(args[0])));
    return true;
}

static bool qtest_store(char **args, GString *reply, Error **errp)
{
    uint64_t addr, value;

    if (!qtest_number(args[1], "address", &addr, errp) ||
        !qtest_number(args[2], "value", &value, errp)) {
        return false;
    }
    address_space_store(guest_memory, addr, value, width_of(args[0]));
    g_string_append(reply, "OK");
    return true;
}

static bool qtest_load(char **args, GString *reply, Error **errp)
{
    uint64_t addr;

    if (!qtest_number(args[1], "address", &addr, errp)) {
        return false;
    }
    g_string_append_printf(reply, "OK 0x%016" PRIx64,
                           address_space_load(guest_memory, addr, width_of(args[0])));
    return true;
}

static bool range(char **args, uint64_t *addr, uint64_t *len, Error **errp)
{
    if (!qtest_number(args[1], "address", addr, errp) ||
        !qtest_number(args[2], "length", len, errp)) {
        return false;
    }
    if (*len > QTEST_MAX_BYTES) {
        error_set(errp, "length 0x%" PRIx64 " is above 0x%x", *len, QTEST_MAX_BYTES);
        return false;
    }
    return true;
}

static bool qtest_read(char **args, GString *reply, Error **errp)
{
    static const char digits[] = "0123456789abcdef";
    g_autofree uint8_t *buf = NULL;
    uint64_t addr, len;
    gsize at;

    if (!range(args, &addr, &len, errp)) {
        return false;
    }
    if (!len) {
        error_set(errp, "length 0 is not allowed");
        return false;
    }
    buf = g_malloc(len);
    address_space_read(guest_memory, addr, buf, len);
    g_string_append(reply, "OK 0x");
    at = reply->len;
    g_string_set_size(reply, at + 2 * len);
    for (uint64_t i = 0; i < len; i++) {
        reply->str[at + 2 * i] = digits[buf[i] >> 4];
        reply->str[at + 2 * i + 1] = digits[buf[i] & 15];
    }
    return true;
}

static bool qtest_write(char **args, GString *reply, Error **errp)
{
    g_autofree uint8_t *buf = NULL;
    const char *hex = args[3];
    uint64_t addr, len;
    size_t given;

    if (!range(args, &addr, &len, errp)) {
        return false;
    }
    if (strncmp(hex, "0x", 2) || strlen(hex) == 2) {
        error_set(errp, "invalid argument size");
        return false;
    }
    hex += 2;
    given = strlen(hex) / 2;
    buf = g_malloc0(len);
    for (uint64_t i = 0; i < len && i < given; i++) {
        int hi = g_ascii_xdigit_value(hex[2 * i]), lo = g_ascii_xdigit_value(hex[2 * i + 1]);

        if (hi < 0 || lo < 0) {
            error_set(errp, "'%.2s' is not a byte in hexadecimal", hex + 2 * i);
            return false;
        }
        buf[i] = hi << 4 | lo;
    }
    address_space_write(guest_memory, addr, buf, len);
    g_string_append(reply, "OK");
    return true;
}

static bool qtest_memset(char **args, GString *reply, Error **errp)
{
    g_autofree uint8_t *buf = NULL;
    uint64_t addr, len, value;

    if (!range(args, &addr, &len, errp) || !qtest_number(args[3], "value", &value, errp)) {
        return false;
    }
    buf = g_malloc(len);
    memset(buf, value, len);
    address_space_write(guest_memory, addr, buf, len);
    g_string_append(reply, "OK");
    return true;
}

static bool qtest_b64read(char **args, GString *reply, Error **errp)
{
    g_autofree uint8_t *buf = NULL;
    g_autofree char *text = NULL;
    uint64_t addr, len;

    if (!range(args, &addr, &len, errp)) {
        return false;
    }
    if (!len) {
        error_set(errp, "length 0 is not allowed");
        return false;
    }
    buf = g_malloc(len);
    address_space_read(guest_memory, addr, buf, len);
    text = g_base64_encode(buf, len);
    g_string_append_printf(reply, "OK %s", text);
    return true;
}

static bool qtest_b64write(char **args, GString *reply, Error **errp)
{
    g_autofree uint8_t *buf = NULL;
    uint64_t addr, len;
    gsize given;

    if (!range(args, &addr, &len, errp)) {
        return false;
    }
    buf = g_base64_decode(args[3], &given);
    if (given != len) {
        error_set(errp, "b64write: data length mismatch (told %" PRIu64 ", found %zu)", len, given);
        return false;
    }
    address_space_write(guest_memory, addr, buf, len);
    g_string_append(reply, "OK");
    return true;
}

const QtestCommand qtest_memory_commands[] = {
    {"outb", 2, qtest_out},        {"outw", 2, qtest_out},         {"outl", 2, qtest_out},
    {"inb", 1, qtest_in},          {"inw", 1, qtest_in},           {"inl", 1, qtest_in},
    {"writeb", 2, qtest_store},    {"writew", 2, qtest_store},     {"writel", 2, qtest_store},
    {"writeq", 2, qtest_store},    {"readb", 1, qtest_load},       {"readw", 1, qtest_load},
    {"readl", 1, qtest_load},      {"readq", 1, qtest_load},       {"read", 2, qtest_read},
    {"write", 3, qtest_write},     {"memset", 3, qtest_memset},    {"b64read", 2, qtest_b64read},
    {"b64write", 3, qtest_b64write}, {NULL, 0, NULL},
};
