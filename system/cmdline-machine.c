/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options about the machine: its type, accelerator, processors, memory, firmware, boot. */
#include "cmdline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/i386/rtc.h"
#include "hw/i386/smbios.h"
#include "util/report.h"

/* Values of a JSON form in the words of the key=value form, so that both can be mixed. */
static JsonNode *to_keyval(JsonNode *node)
{
    JsonNode *copy;

    if (JSON_NODE_HOLDS_OBJECT(node)) {
        JsonObject *obj = json_object_new();
        JsonObjectIter iter;
        const char *key;
        JsonNode *value;

        json_object_iter_init_ordered(&iter, json_node_get_object(node));
        while (json_object_iter_next_ordered(&iter, &key, &value)) {
            json_object_set_member(obj, key, to_keyval(value));
        }
        copy = json_node_new(JSON_NODE_OBJECT);
        json_node_take_object(copy, obj);
        return copy;
    }
    if (JSON_NODE_HOLDS_VALUE(node)) {
        GType type = json_node_get_value_type(node);
        g_autofree char *text = NULL;

        if (type == G_TYPE_BOOLEAN) {
            text = g_strdup(json_node_get_boolean(node) ? "on" : "off");
        } else if (type == G_TYPE_INT64) {
            text = g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
        }
        if (text) {
            copy = json_node_new(JSON_NODE_VALUE);
            json_node_set_string(copy, text);
            return copy;
        }
    }
    return json_node_copy(node);
}

static JsonNode *parse_object(const char *arg, const char *implied, bool *help, Error **errp)
{
    g_autoptr(JsonNode) json = NULL;

    *help = false;
    if (*arg != '{') {
        return keyval_parse(arg, implied, help, errp);
    }
    json = json_parse(arg, errp);
    return json ? to_keyval(json) : NULL;
}

static bool parse_machine(const char *arg, Error **errp)
{
    g_autoptr(JsonNode) json = NULL;
    bool help;

    json = parse_object(arg, "type", &help, errp);
    if (!json) {
        return false;
    }
    config.machine_help |= help;
    if (JSON_NODE_HOLDS_OBJECT(json)) {
        config_machine_merge(json_node_get_object(json));
    }
    return true;
}

static bool group_machine_add(Opts *opts, Error **errp)
{
    g_autoptr(JsonNode) flat = opts_to_json(opts);
    g_autoptr(JsonNode) nested = keyval_nest(json_node_get_object(flat), errp);

    opts_free(opts);
    if (!nested) {
        return false;
    }
    config_machine_merge(json_node_get_object(nested));
    return true;
}

static const CmdParam machine_params[] = {
    { "type", "string", "machine type" },
    { "accel", "string", "accelerators, in order of preference, separated by colons" },
    { "acpi", "string", NULL },
    { "dump-guest-core", "boolean", NULL },
    { "firmware", "string", NULL },
    { "graphics", "boolean", NULL },
    { "hpet", "boolean", NULL },
    { "kernel-irqchip", "string", NULL },
    { "mem-merge", "boolean", NULL },
    { "memory-backend", "string", NULL },
    { "usb", "boolean", NULL },
    { "vmport", "string", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup machine_group = { "machine", "type", machine_params, false,
                                        group_machine_add, NULL };
CMD_GROUP(machine_group)

static bool parse_accel(const char *arg, Error **errp)
{
    JsonNode *json;
    bool help;

    json = parse_object(arg, "accel", &help, errp);
    if (!json) {
        return false;
    }
    config.accel_help |= help || *arg == '\0';
    cmd_item_add(&config.accels, NULL, json, NULL);
    return true;
}

static bool group_accel_add(Opts *opts, Error **errp)
{
    cmd_item_add(&config.accels, NULL, opts_to_json(opts), NULL);
    opts_free(opts);
    return true;
}

static const CmdParam accel_params[] = {
    { "accel", "string", "accelerator" },
    { NULL, NULL, NULL },
};
static const CmdGroup accel_group = { "accel", "accel", accel_params, false, group_accel_add,
                                      NULL };
CMD_GROUP(accel_group)

static bool parse_enable_kvm(const char *arg, Error **errp)
{
    config_machine_set("accel", "kvm");
    return true;
}

static bool parse_cpu(const char *arg, Error **errp)
{
    if (g_str_equal(arg, "help") || g_str_equal(arg, "?")) {
        config.cpu_help = true;
    }
    g_free(config.cpu);
    config.cpu = g_strdup(arg);
    return true;
}

/* ---- objects of their own below the machine ---- */

static void machine_set_object(const char *key, JsonNode *value)
{
    g_autoptr(JsonObject) obj = json_object_new();

    json_object_set_member(obj, key, value);
    config_machine_merge(obj);
}

static bool parse_smp(const char *arg, Error **errp)
{
    JsonNode *json;
    bool help;

    json = parse_object(arg, "cpus", &help, errp);
    if (!json) {
        return false;
    }
    if (help) {
        static const char *const keys[] = {
            "books",   "clusters", "cores",   "cpus",    "dies",
            "drawers", "maxcpus",  "modules", "sockets", "threads"
        };

        json_node_unref(json);
        printf("smp-opts options:\n");
        for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
            printf("  %s=<num>\n", keys[i]);
        }
        exit(0);
    }
    machine_set_object("smp", json);
    return true;
}

static bool group_smp_add(Opts *opts, Error **errp)
{
    machine_set_object("smp", opts_to_json(opts));
    opts_free(opts);
    return true;
}

static const CmdParam smp_params[] = {
    { "cpus", "number", NULL },    { "sockets", "number", NULL }, { "dies", "number", NULL },
    { "clusters", "number", NULL }, { "modules", "number", NULL }, { "cores", "number", NULL },
    { "threads", "number", NULL },  { "maxcpus", "number", NULL }, { "drawers", "number", NULL },
    { "books", "number", NULL },    { NULL, NULL, NULL },
};
static const CmdGroup smp_group = { "smp-opts", "cpus", smp_params, false, group_smp_add, NULL };
CMD_GROUP(smp_group)

/*
 * Sizes of RAM are in MiB unless they have a suffix: a text that ends with a digit gets an "M". So
 * hexadecimal, which takes no suffix, is good for nothing here, and a size of the address space's
 * order is said to be none.
 */
static bool memory_size(const char *key, const char *text, bool mebi, char **out, Error **errp)
{
    g_autoptr(Opts) one = opts_new(NULL);
    uint64_t bytes;

    opts_set(one, key, text);
    if (!opts_take_size(one, key, 0, &bytes, errp)) {
        return false;
    }
    if (mebi && g_ascii_isdigit(text[strlen(text) - 1])) {
        g_autofree char *with_unit = g_strdup_printf("%sM", text);

        if (!parse_size(with_unit, &bytes)) {
            error_set(errp, "Parameter 'memory.%s' expects size", key);
            return false;
        }
    }
    *out = g_strdup_printf("%" PRIu64, bytes);
    return true;
}

static bool group_memory_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    g_autofree char *size = opts_take(o, "size");
    g_autofree char *maxmem = opts_take(o, "maxmem");
    g_autofree char *slots = opts_take(o, "slots");
    g_autoptr(JsonObject) obj = json_object_new();
    JsonNode *node;

    if (size) {
        g_autofree char *bytes = NULL;

        if (!memory_size("size", size, true, &bytes, errp)) {
            return false;
        }
        json_object_set_string_member(obj, "size", bytes);
    }
    if (maxmem) {
        g_autofree char *bytes = NULL;

        if (!memory_size("maxmem", maxmem, false, &bytes, errp)) {
            return false;
        }
        json_object_set_string_member(obj, "max-size", bytes);
    }
    if (slots) {
        json_object_set_string_member(obj, "slots", slots);
    }
    node = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(node, obj);
    machine_set_object("memory", node);
    return true;
}

static const CmdParam memory_params[] = {
    { "size", "size", NULL },
    { "slots", "number", NULL },
    { "maxmem", "size", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup memory_group = { "memory", "size", memory_params, true, group_memory_add,
                                       NULL, true };
CMD_GROUP(memory_group)

static bool parse_m(const char *arg, Error **errp)
{
    if (!*arg) {
        return true; /* as if it were not there: some scripts pass an empty variable */
    }
    return cmd_group_parse(&memory_group, arg, NULL, errp);
}

static bool parse_boot(const char *arg, Error **errp)
{
    JsonNode *json;
    bool help;

    json = parse_object(arg, "order", &help, errp);
    if (!json) {
        return false;
    }
    if (help) {
        static const char *const keys[] = {
            "menu=<bool (on/off)>", "once=<str>",   "order=<str>", "reboot-timeout=<num>",
            "splash-time=<num>",    "splash=<str>", "strict=<bool (on/off)>",
        };

        json_node_unref(json);
        printf("boot-opts options:\n");
        for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
            printf("  %s\n", keys[i]);
        }
        exit(0);
    }
    machine_set_object("boot", json);
    return true;
}

static bool group_boot_add(Opts *opts, Error **errp)
{
    machine_set_object("boot", opts_to_json(opts));
    opts_free(opts);
    return true;
}

static const CmdParam boot_params[] = {
    { "order", "string", NULL },        { "once", "string", NULL },
    { "menu", "boolean", NULL },        { "splash", "string", NULL },
    { "splash-time", "number", NULL },
    { "reboot-timeout", "string", NULL }, { "strict", "boolean", NULL },
    { NULL, NULL, NULL },
};
static const CmdGroup boot_group = { "boot-opts", "order", boot_params, false, group_boot_add,
                                     NULL };
CMD_GROUP(boot_group)

/* ---- files to start from ---- */

static bool set_string(char **field, const char *arg)
{
    g_free(*field);
    *field = g_strdup(arg);
    return true;
}

static bool parse_kernel(const char *arg, Error **errp)
{
    return set_string(&config.kernel, arg);
}

static bool parse_initrd(const char *arg, Error **errp)
{
    return set_string(&config.initrd, arg);
}

static bool parse_append(const char *arg, Error **errp)
{
    return set_string(&config.append, arg);
}

static bool parse_bios(const char *arg, Error **errp)
{
    return set_string(&config.bios, arg);
}

/* ---- clocks ---- */

static const CmdParam rtc_params[] = {
    { "base", "string", NULL },
    { "clock", "string", NULL },
    { "driftfix", "string", NULL },
    { NULL, NULL, NULL },
};

static bool rtc_base(const char *text, Error **errp)
{
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) t = NULL;
    int year, month, day, hour = 0, minute = 0, second = 0, n = 0, n_date = 0;

    if (g_str_equal(text, "utc") || g_str_equal(text, "localtime")) {
        rtc_set_base(*text == 'u' ? RTC_BASE_UTC : RTC_BASE_LOCALTIME, 0);
        return true;
    }
    if (sscanf(text, "%4d-%2d-%2d%nT%2d:%2d:%2d%n", &year, &month, &day, &n_date, &hour, &minute,
               &second, &n) >= 3 &&
        (!text[n_date] || (n && !text[n]))) {
        t = g_date_time_new(utc, year, month, day, hour, minute, second);
    }
    if (!t) {
        error_set(errp, "base=%s: invalid datetime format", text);
        error_append_hint(errp, "valid formats: '2006-06-17T16:01:21' or '2006-06-17'\n");
        return false;
    }
    rtc_set_base(RTC_BASE_DATE, g_date_time_to_unix(t));
    return true;
}

static bool group_rtc_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    const char *base = opts_get(o, "base"), *clock = opts_get(o, "clock");
    const char *fix = opts_get(o, "driftfix");

    if (base && !rtc_base(base, errp)) {
        return false;
    }
    if (clock && g_str_equal(clock, "host")) {
        rtc_set_clock(AIO_CLOCK_HOST);
    } else if (clock && g_str_equal(clock, "rt")) {
        rtc_set_clock(AIO_CLOCK_REALTIME);
    } else if (clock && g_str_equal(clock, "vm")) {
        rtc_set_clock(AIO_CLOCK_VIRTUAL);
    } else if (clock) {
        error_set(errp, "invalid option value '%s'", clock);
        return false;
    }
    if (fix && !g_str_equal(fix, "slew") && !g_str_equal(fix, "none")) {
        error_set(errp, "invalid option value '%s'", fix);
        return false;
    }
    if (fix) {
        rtc_set_slew(*fix == 's');
    }
    return true;
}

static const CmdGroup rtc_group = { "rtc", NULL, rtc_params, true, group_rtc_add, NULL, true };
CMD_GROUP(rtc_group)

static bool parse_rtc(const char *arg, Error **errp)
{
    return cmd_group_parse(&rtc_group, arg, NULL, errp);
}

/* ---- NUMA ---- */

/* Judged when the topology of the machine is known. */
static bool group_numa_add(Opts *opts, Error **errp)
{
    cmd_item_add(&config.numa, opts, NULL, NULL);
    return true;
}

static const CmdParam numa_params[] = {
    { "type", "string", "node, dist or cpu" },
    { NULL, NULL, NULL },
};
static const CmdGroup numa_group = { "numa", "type", numa_params, false, group_numa_add, NULL,
                                      true };
CMD_GROUP(numa_group)

static bool parse_numa(const char *arg, Error **errp)
{
    return cmd_group_parse(&numa_group, arg, NULL, errp);
}

/* ---- SMBIOS ---- */

static bool group_smbios_add(Opts *opts, Error **errp)
{
    const char *type = opts_get(opts, "type"), *uuid = opts_get(opts, "uuid");
    g_autofree char *lower = uuid && !g_strcmp0(type, "1") ? g_ascii_strdown(uuid, -1) : NULL;

    if (!smbios_option_add(opts, errp)) {
        return false;
    }
    if (lower) {
        /* Another way to say -uuid. */
        g_free(config.uuid);
        config.uuid = g_steal_pointer(&lower);
    }
    return true;
}

static const CmdParam smbios_params[] = {
    { "type", "number", "SMBIOS element type" },
    { NULL, NULL, NULL },
};
static const CmdGroup smbios_group = { "smbios", NULL, smbios_params, false, group_smbios_add,
                                       NULL };
CMD_GROUP(smbios_group)

static bool parse_smbios(const char *arg, Error **errp)
{
    return cmd_group_parse(&smbios_group, arg, NULL, errp);
}

static const CmdOption machine_options[] = {
    { "machine", true, parse_machine,
      "-machine [type=]name[,prop=value][,...]\n"
      "                selects the machine ('-machine help' for a list)" },
    { "M", true, parse_machine, "-M              as -machine" },
    { "accel", true, parse_accel,
      "-accel [accel=]accelerator[,prop=value][,...]\n"
      "                selects the accelerator ('-accel help' for a list)" },
    { "enable-kvm", false, parse_enable_kvm, "-enable-kvm     as -machine accel=kvm" },
    { "cpu", true, parse_cpu, "-cpu model      selects the processor model" },
    { "smp", true, parse_smp,
      "-smp [[cpus=]n][,maxcpus=n][,sockets=n][,dies=n][,clusters=n][,cores=n][,threads=n]\n"
      "                sets the number of processors and their topology" },
    { "m", true, parse_m, "-m [size=]MiB   sets the size of RAM" },
    { "boot", true, parse_boot,
      "-boot [order=drives][,once=drives][,menu=on|off][,splash=file]\n"
      "      [,splash-time=ms]\n"
      "      [,reboot-timeout=ms][,strict=on|off]\n"
      "                tells the firmware what to boot" },
    { "rtc", true, parse_rtc,
      "-rtc [base=utc|localtime|date][,clock=host|rt|vm][,driftfix=none|slew]\n"
      "                sets the guest's clock" },
    { "numa", true, parse_numa,
      "-numa node[,memdev=id][,cpus=first[-last]][,nodeid=n]\n"
      "-numa dist,src=n,dst=n,val=distance\n"
      "-numa cpu,node-id=n[,socket-id=n][,die-id=n][,core-id=n][,thread-id=n]\n"
      "                divides memory and processors into NUMA nodes" },
    { "smbios", true, parse_smbios,
      "-smbios type=0|1|2|3|4|11|17[,field=text][,...]\n"
      "                sets fields of SMBIOS tables" },
    { "bios", true, parse_bios, "-bios file      firmware" },
    { "kernel", true, parse_kernel, "-kernel file    Linux kernel to start" },
    { "initrd", true, parse_initrd, "-initrd file    its initial RAM disk" },
    { "append", true, parse_append, "-append text    its command line" },
    { NULL, false, NULL, NULL },
};
static const CmdSection machine_section = { 10, "Machine", machine_options };
CMD_SECTION(machine_section)
