/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What -machine can say, for all machines. */
#include <string.h>

#include "hw/core/machine.h"

/* RAM is a multiple of this many bytes: a memory slot of KVM takes whole pages. */
#define RAM_UNIT 8192

/* ---- "smp", "memory" and "boot", which are objects of their own ---- */

/* Keys get `name` and a dot in front, as messages show them. */
static Opts *flat_options(JsonNode *value, const char *name, Error **errp)
{
    if (!JSON_NODE_HOLDS_OBJECT(value)) {
        error_set(errp, "Invalid parameter type for '%s', expected: object", name);
        return NULL;
    }
    g_autoptr(Opts) opts = opts_new(NULL);
    JsonObjectIter it;
    const char *key;
    JsonNode *v;

    json_object_iter_init_ordered(&it, json_node_get_object(value));
    while (json_object_iter_next_ordered(&it, &key, &v)) {
        if (!JSON_NODE_HOLDS_VALUE(v)) {
            error_set(errp, "Invalid parameter type for '%s.%s', expected: string", name, key);
            return NULL;
        }
        GType t = json_node_get_value_type(v);
        g_autofree char *text = t == G_TYPE_STRING ? g_strdup(json_node_get_string(v))
                                : t == G_TYPE_BOOLEAN
                                    ? g_strdup(json_node_get_boolean(v) ? "on" : "off")
                                    : g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(v));

        g_autofree char *full = g_strdup_printf("%s.%s", name, key);

        opts_set(opts, full, text);
    }
    return g_steal_pointer(&opts);
}

static bool nothing_left(const Opts *opts, Error **errp)
{
    if (opts->list->len > 0) {
        const Opt *o = opts->list->pdata[0];

        error_set(errp, "Parameter '%s' is unexpected", o->key);
        return false;
    }
    return true;
}

static bool option_smp(MachineState *m, JsonNode *value, Error **errp)
{
    g_autoptr(Opts) full = flat_options(value, "smp", errp);
    g_autoptr(Opts) opts = opts_new(NULL);

    for (guint i = 0; full && i < full->list->len; i++) {
        const Opt *o = full->list->pdata[i];

        opts_set(opts, o->key + strlen("smp."), o->value);
    }
    return full && smp_parse(&m->smp, opts, MACHINE_CLASS(m), errp);
}

static bool option_memory(MachineState *m, JsonNode *value, Error **errp)
{
    g_autoptr(Opts) opts = flat_options(value, "memory", errp);
    uint64_t size, max, slots;

    if (!opts) {
        return false;
    }
    bool has_size = opts_get(opts, "memory.size") != NULL,
         has_slots = opts_get(opts, "memory.slots") != NULL,
         has_max = opts_get(opts, "memory.max-size") != NULL;

    if (!opts_take_size(opts, "memory.size", m->ram_size, &size, errp) ||
        !opts_take_size(opts, "memory.max-size", 0, &max, errp) ||
        !opts_take_uint(opts, "memory.slots", 0, &slots, errp) || !nothing_left(opts, errp)) {
        return false;
    }
    if (size <= UINT64_MAX - RAM_UNIT) {
        size = (size + RAM_UNIT - 1) / RAM_UNIT * RAM_UNIT;
    }
    if (has_slots && !has_max) {
        error_set(errp, "slots specified but no max-size");
        return false;
    }
    if (has_max && max < size) {
        error_set(errp,
                  "invalid value of maxmem: maximum memory size (0x%" G_GINT64_MODIFIER
                  "x) must be at least the initial memory size (0x%" G_GINT64_MODIFIER "x)",
                  max, size);
        return false;
    }
    if (slots || (has_max && max > size)) {
        error_set(errp, "memory hotplug (slots=, maxmem=) is not supported");
        return false;
    }
    m->ram_slots = 0;
    m->ram_size_zero = has_size && size == 0;
    if (size) {
        m->ram_size = size;
        m->maxram_size = size;
        m->ram_size_set |= has_size;
    }
    return true;
}

static bool boot_order_check(const char *order, const char *key, Error **errp)
{
    uint32_t seen = 0;

    for (const char *p = order; *p; p++) {
        if (*p < 'a' || *p > 'p') {
            error_set(errp, "Invalid boot device '%c'", *p);
            return false;
        }
        if (seen & 1U << (*p - 'a')) {
            error_set(errp, "Boot device '%c' was given twice", *p);
            return false;
        }
        seen |= 1U << (*p - 'a');
    }
    return true;
}

static bool option_boot(MachineState *m, JsonNode *value, Error **errp)
{
    g_autoptr(Opts) opts = flat_options(value, "boot", errp);

    if (!opts) {
        return false;
    }
    bool menu, strict;
    uint64_t splash_time, timeout;
    g_autofree char *order = opts_take(opts, "boot.order");
    g_autofree char *once = opts_take(opts, "boot.once");
    g_autofree char *splash = opts_take(opts, "boot.splash");
    bool has_splash = opts_get(opts, "boot.splash-time") != NULL;
    bool has_timeout = opts_get(opts, "boot.reboot-timeout") != NULL;

    if (!opts_take_bool(opts, "boot.menu", m->boot_menu, &menu, errp) ||
        !opts_take_bool(opts, "boot.strict", m->boot_strict, &strict, errp) ||
        !opts_take_uint(opts, "boot.splash-time", 0, &splash_time, errp) ||
        !opts_take_uint(opts, "boot.reboot-timeout", 0, &timeout, errp) ||
        (order && !boot_order_check(order, "order", errp)) ||
        (once && !boot_order_check(once, "once", errp))) {
        return false;
    }
    if (has_splash && splash_time > 0xffff) {
        error_set(errp, "splash-time is invalid, it should be a value between 0 and 65535");
        return false;
    }
    /* -1, the way to say "never", arrives wrapped. */
    if (has_timeout && timeout > 0xffff && timeout != UINT64_MAX) {
        error_set(errp, "reboot timeout is invalid,it should be a value between -1 and 65535");
        return false;
    }
    if (!nothing_left(opts, errp)) {
        return false;
    }
    m->boot_menu = menu;
    m->boot_strict = strict;
    m->boot_splash_time = has_splash ? (int64_t)splash_time : m->boot_splash_time;
    m->boot_reboot_timeout = has_timeout ? (int64_t)timeout : m->boot_reboot_timeout;
    if (splash) {
        g_free(m->boot_splash);
        m->boot_splash = g_steal_pointer(&splash);
    }
    if (order) {
        g_free(m->boot_order);
        m->boot_order = g_steal_pointer(&order);
    }
    if (once) {
        g_free(m->boot_once);
        m->boot_once = g_steal_pointer(&once);
    }
    return true;
}

static bool option_kernel_irqchip(MachineState *m, JsonNode *value, Error **errp)
{
    const char *s = JSON_NODE_HOLDS_VALUE(value) && json_node_get_value_type(value) == G_TYPE_STRING
                        ? json_node_get_string(value)
                        : NULL;
    int v = s ? qapi_enum_parse(&qapi_enum_OnOffSplit, s) : -1;

    if (v < 0) {
        error_set(errp, "Parameter 'kernel-irqchip' does not accept value '%s'", s ? s : "");
        return false;
    }
    m->kernel_irqchip = v;
    return true;
}

/* Of the accelerator; but clients know it as the machine's. */
static bool option_kvm_shadow_mem(MachineState *m, JsonNode *value, Error **errp)
{
    const char *s = JSON_NODE_HOLDS_VALUE(value) && json_node_get_value_type(value) == G_TYPE_STRING
                        ? json_node_get_string(value)
                        : "";

    if (!parse_int64(s, &m->kvm_shadow_mem)) {
        error_set(errp, "-machine kvm-shadow-mem=%s: Parameter 'kvm-shadow-mem' expects int64", s);
        return false;
    }
    return true;
}

bool machine_configure(MachineState *m, JsonObject *options, QapiForm form, Error **errp)
{
    static const struct {
        const char *name;
        bool (*set)(MachineState *m, JsonNode *value, Error **errp);
    } special[] = {
        {"smp", option_smp},
        {"memory", option_memory},
        {"boot", option_boot},
        {"kernel-irqchip", option_kernel_irqchip},
        {"kvm-shadow-mem", option_kvm_shadow_mem},
    };
    JsonObjectIter it;
    const char *key;
    JsonNode *value;

    json_object_iter_init_ordered(&it, options);
    while (json_object_iter_next_ordered(&it, &key, &value)) {
        if (g_str_equal(key, "type") || g_str_equal(key, "accel")) {
            continue;
        }
        g_autofree char *name = g_strdelimit(g_strdup(key), "_", '-');
        unsigned i;

        for (i = 0; i < G_N_ELEMENTS(special) && !g_str_equal(name, special[i].name); i++) {
        }
        if (i < G_N_ELEMENTS(special)) {
            if (!special[i].set(m, value, errp)) {
                return false;
            }
        } else if (!object_property_set(&m->parent_obj, name, value, form, errp)) {
            return false;
        }
    }
    return true;
}

/* ---- plain properties ---- */

/* Refuses what would be a promise without a device to keep it. */
static bool check_off(Object *obj, const Property *prop, Error **errp)
{
    if (*(bool *)((char *)obj + prop->offset)) {
        error_set(errp, "%s=on is not supported by machine '%s'", prop->name,
                  ((MachineClass *)obj->klass)->name);
        return false;
    }
    return true;
}

static const Property machine_props[] = {
    {.name = "kernel", .type = &prop_object_string, .offset = offsetof(MachineState, kernel),
     .description = "Linux kernel image file"},
    {.name = "initrd", .type = &prop_object_string, .offset = offsetof(MachineState, initrd),
     .description = "Linux initial ramdisk file"},
    {.name = "append", .type = &prop_object_string, .offset = offsetof(MachineState, append),
     .description = "Linux kernel command line"},
    {.name = "firmware", .type = &prop_object_string, .offset = offsetof(MachineState, firmware),
     .description = "Firmware image"},
    {.name = "memory-backend", .type = &prop_object_string,
     .offset = offsetof(MachineState, memory_backend),
     .description = "Set RAM backend; valid value is ID of a memory backend"},
    {.name = "dump-guest-core", .type = &prop_object_bool,
     .offset = offsetof(MachineState, dump_guest_core), .def = DEFAULT_BOOL, .def_int = true,
     .description = "Include guest memory in a core dump"},
    {.name = "mem-merge", .type = &prop_object_bool, .offset = offsetof(MachineState, mem_merge),
     .def = DEFAULT_BOOL, .def_int = true, .description = "Enable/disable memory merge support"},
    {.name = "graphics", .type = &prop_object_bool, .offset = offsetof(MachineState, graphics),
     .def = DEFAULT_BOOL, .def_int = true,
     .description = "Set on/off to enable/disable graphics emulation"},
    {.name = "usb", .type = &prop_object_bool, .offset = offsetof(MachineState, usb),
     .def = DEFAULT_BOOL, .def_int = false, .check = check_off,
     .description = "Set on/off to enable/disable usb"},
    {.name = "suppress-vmdesc", .type = &prop_object_bool,
     .offset = offsetof(MachineState, suppress_vmdesc), .def = DEFAULT_BOOL, .def_int = false,
     .check = check_off, .description = "Set on to disable self-describing migration"},
    PROP_END,
};

static void machine_finalize(Object *obj)
{
    MachineState *m = MACHINE(obj);

    g_free(m->accel);
    g_free(m->boot_order);
    g_free(m->boot_once);
}

static const TypeInfo machine_type = {
    .name = TYPE_MACHINE,
    .parent = "object",
    .abstract = true,
    .instance_size = sizeof(MachineState),
    .class_size = sizeof(MachineClass),
    .props = machine_props,
    .instance_finalize = machine_finalize,
};
TYPE_REGISTER(machine_type)
