/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qtest commands about time, interrupt lines and the rest of the machine. */
#include <inttypes.h>
#include <string.h>

#include "hw/core/irq.h"
#include "hw/core/machine.h"
#include "qtest-internal.h"
#include "util/aio.h"

/* Source number of lines that a client drives by set_irq_in. */
#define QTEST_GSI_SOURCE 31

static bool intercepting;

static bool qtest_endianness(char **args, GString *reply, Error **errp)
{
    g_string_append(reply, "OK little");
    return true;
}

static bool qtest_clock_step(char **args, GString *reply, Error **errp)
{
    int64_t now = aio_clock_ns(AIO_CLOCK_VIRTUAL), to;
    uint64_t ns;

    if (args[1]) {
        if (!qtest_number(args[1], "time", &ns, errp)) {
            return false;
        }
        to = now + (int64_t)MIN(ns, (uint64_t)(INT64_MAX - now));
    } else {
        to = aio_virtual_clock_deadline();
        to = MAX(to, now);
    }
    aio_virtual_clock_set(to);
    if (aio_clock_ns(AIO_CLOCK_VIRTUAL) == now && to != now) {
        error_set(errp, "cannot advance clock to the requested time");
        return false;
    }
    g_string_append_printf(reply, "OK %" PRIi64, aio_clock_ns(AIO_CLOCK_VIRTUAL));
    return true;
}

static bool qtest_clock_set(char **args, GString *reply, Error **errp)
{
    uint64_t ns;

    if (!qtest_number(args[1], "time", &ns, errp)) {
        return false;
    }
    if (ns > INT64_MAX || !aio_virtual_clock_set(ns)) {
        error_set(errp, "cannot set the clock back");
        return false;
    }
    g_string_append_printf(reply, "OK %" PRIi64, aio_clock_ns(AIO_CLOCK_VIRTUAL));
    return true;
}

static void qtest_gsi_changed(void *opaque, unsigned gsi, bool level)
{
    g_autofree char *line = g_strdup_printf("IRQ %s %u", level ? "raise" : "lower", gsi);

    qtest_send_async(line);
}

/* The global lines are the inputs of the I/O APIC. */
static bool is_ioapic(const char *path, Error **errp)
{
    Object *obj = object_resolve(path, NULL);

    if ((obj && object_is(obj, "ioapic")) || !strcmp(path, "ioapic")) {
        return true;
    }
    error_set(errp, obj ? "Device '%s' has no interrupt lines to watch" : "Unknown device '%s'",
              path);
    return false;
}

static bool qtest_irq_intercept_in(char **args, GString *reply, Error **errp)
{
    if (!is_ioapic(args[1], errp)) {
        return false;
    }
    if (!intercepting) {
        intercepting = true;
        gsi_listen(qtest_gsi_changed, NULL);
    }
    g_string_append(reply, "OK");
    return true;
}

static bool qtest_irq_intercept_out(char **args, GString *reply, Error **errp)
{
    error_set(errp, "outputs of '%s' cannot be watched, only inputs of the ioapic", args[1]);
    return false;
}

static bool qtest_set_irq_in(char **args, GString *reply, Error **errp)
{
    uint64_t line, level;

    if (!is_ioapic(args[1], errp) || !qtest_number(args[3], "line", &line, errp) ||
        !qtest_number(args[4], "level", &level, errp)) {
        return false;
    }
    if (line >= GSI_COUNT) {
        error_set(errp, "line %" PRIu64 " is above %d", line, GSI_COUNT - 1);
        return false;
    }
    gsi_set(line, QTEST_GSI_SOURCE, level != 0);
    g_string_append(reply, "OK");
    return true;
}

static bool qtest_module_load(char **args, GString *reply, Error **errp)
{
    error_set(errp, "module '%s%s' does not exist", args[1], args[2]);
    return false;
}

const QtestCommand qtest_machine_commands[] = {
    {"endianness", 0, qtest_endianness},
    {"clock_step", 0, qtest_clock_step},
    {"clock_set", 1, qtest_clock_set},
    {"irq_intercept_in", 1, qtest_irq_intercept_in},
    {"irq_intercept_out", 1, qtest_irq_intercept_out},
    {"set_irq_in", 4, qtest_set_irq_in},
    {"module_load", 2, qtest_module_load},
    {NULL, 0, NULL},
};
