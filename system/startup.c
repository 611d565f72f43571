/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making everything the command line asks for, in the order that clients rely on. */
#include "startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel/qtest.h"
#include "block/block.h"
#include "chardev/char.h"
#include "chardev/fdset.h"
#include "cmdline.h"
#include "hw/core/cpu.h"
#include "hw/core/machine.h"
#include "hw/core/numa.h"
#include "hw/core/runstate.h"
#include "hw/i386/smbios.h"
#include "monitor/monitor.h"
#include "process.h"
#include "util/biglock.h"
#include "util/report.h"

static bool monitors_made;

/* ---- failure and end ---- */

void startup_undo(void)
{
    runstate_final_stop();
    if (monitors_made) {
        monitor_cleanup();
    }
    if (current_machine) {
        machine_destroy(current_machine);
    }
    block_close_all();
    user_object_cleanup();
    chardev_cleanup();
    fdset_cleanup();
    process_signals_cleanup();
    process_cleanup();
    cmdline_cleanup();
}

void startup_exit(int status)
{
    startup_undo();
    exit(status);
}

void startup_fail(Error *err)
{
    if (process_signal_report()) {
        /* Not the option's fault: it was waiting for a peer. */
        error_free(err);
        startup_exit(0);
    }
    report_error_free(err);
    startup_exit(1);
}

/* ---- help ---- */

static MachineClass *selected_class(Error **errp)
{
    const char *name = json_object_get_string_member_with_default(config.machine, "type", NULL);
    MachineClass *mc = name && *name ? machine_class_find(name) : machine_class_default();

    if (!mc && name) {
        error_set(errp, "unsupported machine type: \"%s\"", name);
        error_append_hint(errp, "Use -machine help to list supported machines\n");
    } else if (!mc) {
        error_set(errp, "No machine specified, and there is no default");
        error_append_hint(errp, "Use -machine help to list supported machines\n");
    }
    return mc;
}

static void print_and_free(char *text)
{
    printf("%s", text);
    g_free(text);
}

static void help_devices(void)
{
    for (guint i = 0; config.device_help && i < config.device_help->len; i++) {
        CmdItem *item = config.device_help->pdata[i];
        const char *driver = opts_get(item->opts, "driver");
        Error *err = NULL;
        char *text = driver ? device_help(driver, &err) : device_help_list();

        if (text) {
            print_and_free(text);
        } else {
            cmd_location_push(&item->loc);
            report_error_free(err);
            report_pop();
        }
    }
}

static void help_cpus(void)
{
    g_autoptr(GPtrArray) list = object_class_list(TYPE_CPU, false);

    printf("Available CPUs:\n");
    for (guint i = 0; i < list->len; i++) {
        const char *name = object_class_name(list->pdata[i]);
        const char *suffix = strstr(name, "-x86_64-cpu");

        if (suffix) {
            printf("  %.*s\n", (int)(suffix - name), name);
        }
    }
}

void startup_help(void)
{
    const char *type = json_object_get_string_member_with_default(config.machine, "type", NULL);

    if (!config.cpu_help && !config.device_help && !config.machine_help && !config.accel_help) {
        return;
    }
    /* Some properties only exist in an object, which is then made for a moment. */
    aio_main_init(&error_abort);
    big_lock();
    if (config.cpu_help) {
        help_cpus();
    } else if (config.device_help) {
        help_devices();
    } else if (config.machine_help) {
        MachineClass *mc = type ? machine_class_find(type) : NULL;

        print_and_free(mc ? machine_help(mc) : machine_help_list());
    } else {
        print_and_free(accel_help_list());
    }
    exit(0);
}

/* ---- what exists before the machine ---- */

static void make_objects(void)
{
    for (guint i = 0; config.objects && i < config.objects->len; i++) {
        CmdItem *item = config.objects->pdata[i];
        Error *err = NULL;

        /* Without the location: what is wrong now is about values, not about the option. */
        if (!user_object_create(item->user, &err)) {
            startup_fail(err);
        }
    }
}

static Chardev *make_chardev(Opts *opts, Error **errp)
{
    Chardev *c = chardev_new_opts(opts, errp);

    if (c) {
        g_autofree char *name = chardev_filename(c);

        if (g_str_has_prefix(name, "pty:")) {
            printf("char device redirected to %s (label %s)\n", name + strlen("pty:"),
                   chardev_id(c));
            fflush(stdout);
        }
    }
    return c;
}

static void make_chardevs(void)
{
    for (guint i = 0; config.chardevs && i < config.chardevs->len; i++) {
        CmdItem *item = config.chardevs->pdata[i];
        Error *err = NULL;

        cmd_location_push(&item->loc);
        if (!make_chardev(item->opts, &err)) {
            startup_fail(err);
        }
        report_pop();
    }
}

static bool make_monitor(Opts *opts, Error **errp)
{
    g_autofree char *name = opts_take(opts, "chardev");
    g_autofree char *mode = opts_take(opts, "mode");
    bool has_pretty = opts_get(opts, "pretty") != NULL;
    bool pretty, control = g_strcmp0(mode, "control") == 0;
    Chardev *c;

    if (!opts_take_bool(opts, "pretty", false, &pretty, errp)) {
        return false;
    }
    if (!name) {
        error_set(errp, "Parameter 'chardev' is missing");
        return false;
    }
    if (mode && !control && !g_str_equal(mode, "readline")) {
        error_set(errp, "Parameter 'mode' does not accept value '%s'", mode);
        return false;
    }
    c = chardev_find(name);
    if (!c) {
        error_set(errp, "chardev \"%s\" not found", name);
        return false;
    }
    if (has_pretty && !control) {
        error_set(errp, "'pretty' is not compatible with HMP monitors");
        return false;
    }
    monitors_made = true;
    return control ? monitor_new_qmp(c, pretty, errp) : monitor_new_hmp(c, errp);
}

static void make_monitors(void)
{
    for (guint i = 0; config.monitors && i < config.monitors->len; i++) {
        CmdItem *item = config.monitors->pdata[i];
        Error *err = NULL;

        cmd_location_push(&item->loc);
        if (!make_monitor(item->opts, &err)) {
            startup_fail(err);
        }
        report_pop();
    }
}

static void configure_machine(MachineState *m)
{
    Error *err = NULL;

    if (!machine_configure(m, config.machine, QAPI_KEYVAL, &err)) {
        startup_fail(err);
    }
    m->defaults = !config.nodefaults;
    m->cpu_pm = config.cpu_pm;
    smbios_set_uuid(config.uuid);
    if (config.kernel) {
        g_free(m->kernel);
        m->kernel = g_strdup(config.kernel);
    }
    if (config.initrd) {
        g_free(m->initrd);
        m->initrd = g_strdup(config.initrd);
    }
    if (config.append) {
        g_free(m->append);
        m->append = g_strdup(config.append);
    }
    if (config.bios) {
        g_free(m->firmware);
        m->firmware = g_strdup(config.bios);
    }
    if (m->kernel && !MACHINE_CLASS(m)->default_cpu_type) {
        error_set(&err, "The -kernel parameter is not supported (use the generic 'loader' device "
                        "instead).");
        startup_fail(err);
    }
    if (!m->kernel && (m->append || m->initrd)) {
        error_set(&err, "%s only allowed with -kernel option", m->append ? "-append" : "-initrd");
        startup_fail(err);
    }
    if (config.cpu) {
        g_auto(GStrv) parts = g_strsplit(config.cpu, ",", -1);

        if (!parts[0] || !*parts[0]) {
            error_set(&err, "-cpu option cannot be empty");
            startup_fail(err);
        }
        cpu_model.name = g_strdup(parts[0]);
        cpu_model.features = g_ptr_array_new_with_free_func(g_free);
        for (int i = 1; parts[i]; i++) {
            g_ptr_array_add(cpu_model.features, g_strdup(parts[i]));
        }
    }
}

static void configure_numa(MachineState *m)
{
    for (guint i = 0; config.numa && i < config.numa->len; i++) {
        const CmdItem *item = config.numa->pdata[i];
        Error *err = NULL;

        cmd_location_push(&item->loc);
        if (!numa_option_add(m, item->opts, &err)) {
            startup_fail(err);
        }
        report_pop();
    }
}

static void start_qtest(void)
{
    Error *err = NULL;
    Chardev *c;

    if (!config.qtest) {
        return;
    }
    c = chardev_new_legacy("qtest", config.qtest, &err);
    if (!c) {
        if (err) {
            report_error_free(err);
            err = NULL;
        }
        error_set(&err, "Failed to initialize device for qtest: \"%s\"", config.qtest);
        startup_fail(err);
    }
    if (!qtest_server_start(c, config.qtest_log, &err)) {
        startup_fail(err);
    }
}

void startup_backends(void)
{
    Error *err = NULL;
    MachineClass *mc = selected_class(&err);

    if (!mc) {
        startup_fail(err);
    }
    if (mc->deprecation) {
        report_warning("Machine type '%s' is deprecated: %s", mc->name, mc->deprecation);
    }
    machine_new(mc);
    make_objects();
    make_chardevs();
    startup_block_nodes(mc->default_if);
    configure_machine(current_machine);
    startup_accel();
    configure_numa(current_machine);
    if (config.mem_lock && !process_lock_memory(config.mem_lock_on_fault, &err)) {
        startup_fail(err);
    }
    start_qtest();
    make_monitors();
}

/* ---- the machine ---- */

/* "mon:X": the port shares X with a text monitor. */
static Chardev *make_serial_chardev(const char *label, const char *text, Error **errp)
{
    g_autoptr(Opts) opts = NULL;
    Chardev *c;

    if (!g_str_has_prefix(text, "mon:")) {
        return chardev_new_legacy(label, text, errp);
    }
    opts = chardev_parse_legacy(label, text + strlen("mon:"));
    if (!opts) {
        return NULL;
    }
    opts_set(opts, "mux", "on");
    c = chardev_new_opts(opts, errp);
    monitors_made = true;
    return c && monitor_new_hmp(c, errp) ? chardev_find(label) : NULL;
}

static void make_serial(unsigned index, const char *text)
{
    g_autofree char *label = g_strdup_printf("serial%u", index);
    g_autofree char *number = g_strdup_printf("%u", index);
    g_autoptr(JsonObject) device = json_object_new();
    Error *err = NULL;
    Chardev *c;

    if (g_str_equal(text, "none")) {
        return;
    }
    c = make_serial_chardev(label, text, &err);
    if (!c) {
        if (err) {
            report_error_free(err);
            err = NULL;
        }
        error_set(&err, "could not connect serial device to character backend '%s'", text);
        startup_fail(err);
    }
    if (object_class_by_name("isa-serial") && bus_find_type("ISA")) {
        json_object_set_string_member(device, "driver", "isa-serial");
        json_object_set_string_member(device, "chardev", chardev_id(c));
        json_object_set_string_member(device, "index", number);
        if (!device_add(device, QAPI_KEYVAL, false, &err)) {
            startup_fail(err);
        }
    } else if (!g_str_equal(text, "null") && !g_str_has_prefix(text, "mon:")) {
        error_set(&err, "machine '%s' has no serial ports", MACHINE_CLASS(current_machine)->name);
        startup_fail(err);
    }
}

/* -nographic: what would be on a screen by default is on stdio. */
static void make_default_ports(void)
{
    bool serial = !config.serials && !config.nodefaults;
    bool monitor = !config.has_monitor && !config.nodefaults;

    if (!config.nographic) {
        return;
    }
    report_push_option("-nographic", NULL);
    if (serial && monitor) {
        make_serial(0, "mon:stdio");
    } else if (serial) {
        make_serial(0, "stdio");
    } else if (monitor) {
        Error *err = NULL;
        g_autoptr(Opts) opts = chardev_parse_legacy("compat_monitor0", "stdio");
        Chardev *c = make_chardev(opts, &err);

        monitors_made = true;
        if (!c || !monitor_new_hmp(c, &err)) {
            startup_fail(err);
        }
    }
    report_pop();
}

static void make_serials(void)
{
    for (guint i = 0; config.serials && i < config.serials->len; i++) {
        const CmdText *t = config.serials->pdata[i];

        cmd_location_push(&t->loc);
        make_serial(i, t->text);
        report_pop();
    }
    make_default_ports();
}

static void make_device(const CmdItem *item, JsonNode *options, QapiForm form)
{
    Error *err = NULL;

    cmd_location_push(&item->loc);
    if (!device_add(json_node_get_object(options), form, false, &err)) {
        startup_fail(err);
    }
    report_pop();
}

static void make_devices(void)
{
    for (guint i = 0; config.devices && i < config.devices->len; i++) {
        const CmdItem *item = config.devices->pdata[i];
        g_autoptr(JsonNode) options = opts_to_json(item->opts);

        make_device(item, options, QAPI_KEYVAL);
    }
    startup_drive_devices();
    for (guint i = 0; config.json_devices && i < config.json_devices->len; i++) {
        const CmdItem *item = config.json_devices->pdata[i];

        make_device(item, item->json, QAPI_JSON);
    }
}

void startup_machine(void)
{
    Error *err = NULL;

    if (!machine_build(current_machine, &err)) {
        startup_fail(err);
    }
    make_serials();
    make_devices();
    global_property_check_used();
    accel_cpus_start(current_machine);
    machine_ready(current_machine);
    runstate_set_machine_ready();
    chardev_mux_start();
    if (!config.paused && !vm_start(&err)) {
        startup_fail(err);
    }
}
