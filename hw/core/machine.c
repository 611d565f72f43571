/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine's life: creation, RAM, processors, readiness, end. */
#include "hw/core/machine.h"

#include <inttypes.h>
#include <string.h>

#include "hw/core/cpu.h"
#include "hw/core/hostmem.h"
#include "hw/core/numa.h"
#include "util/biglock.h"
#include "util/stop-request.h"

#define DEFAULT_RAM_SIZE (128ULL << 20)

MachineState *current_machine;

typedef struct ReadyEntry {
    void (*fn)(void *opaque);
    void *opaque;
} ReadyEntry;

static GArray *ready_list;

/* ---- classes ---- */

static void class_visit(void (*fn)(MachineClass *mc, void *opaque), void *opaque)
{
    g_autoptr(GPtrArray) list = object_class_list(TYPE_MACHINE, false);

    for (guint i = 0; i < list->len; i++) {
        fn(list->pdata[i], opaque);
    }
}

typedef struct ClassSearch {
    const char *name;
    MachineClass *found;
} ClassSearch;

static void match_name(MachineClass *mc, void *opaque)
{
    ClassSearch *s = opaque;

    if (s->name ? g_strcmp0(mc->name, s->name) == 0 || g_strcmp0(mc->alias, s->name) == 0
                : mc->is_default) {
        s->found = mc;
    }
}

/* "+pve1" is how one distributor numbers its own changes, which this program has none of. */
static char *without_mark(const char *name)
{
    const char *plus = strrchr(name, '+');
    const char *digits = plus && g_str_has_prefix(plus, "+pve") ? plus + strlen("+pve") : NULL;

    if (!digits || !*digits || digits[strspn(digits, "0123456789")]) {
        return g_strdup(name);
    }
    return g_strndup(name, plus - name);
}

MachineClass *machine_class_find(const char *name)
{
    g_autofree char *plain = without_mark(name);
    ClassSearch s = {.name = plain};

    class_visit(match_name, &s);
    return s.found;
}

MachineClass *machine_class_default(void)
{
    ClassSearch s = {.name = NULL};

    class_visit(match_name, &s);
    return s.found;
}

/* Families in alphabetical order, in each the highest name first. */
static int compare_classes(gconstpointer a, gconstpointer b)
{
    const MachineClass *x = *(MachineClass *const *)a, *y = *(MachineClass *const *)b;
    size_t lx = strcspn(x->name, "0123456789"), ly = strcspn(y->name, "0123456789");
    bool same = lx == ly && !strncmp(x->name, y->name, lx);

    /* The digits of "q35" belong to the family. */
    if (!strchr(x->name, '-') != !strchr(y->name, '-')) {
        return strchr(x->name, '-') ? -1 : 1; /* those without versions last */
    }
    same = same || (g_str_has_prefix(x->name, "pc-q35-") && g_str_has_prefix(y->name, "pc-q35-"));
    return same ? strcmp(y->name, x->name) : strcmp(x->name, y->name);
}

static void list_line(MachineClass *mc, GString *s)
{

    if (mc->alias) {
        g_string_append_printf(s, "%-20s %s (alias of %s)\n", mc->alias, mc->desc, mc->name);
    }
    g_string_append_printf(s, "%-20s %s%s%s\n", mc->name, mc->desc,
                           mc->is_default ? " (default)" : "",
                           mc->deprecation ? " (deprecated)" : "");
}

char *machine_help_list(void)
{
    GString *s = g_string_new("Supported machines are:\n");

    g_autoptr(GPtrArray) list = object_class_list(TYPE_MACHINE, false);

    g_ptr_array_sort(list, compare_classes);
    for (guint i = 0; i < list->len; i++) {
        list_line(list->pdata[i], s);
    }
    return g_string_free(s, false);
}

char *machine_help(const MachineClass *mc)
{
    const ObjectClass *klass = &mc->parent_class;
    g_autofree char *props = object_class_property_help((ObjectClass *)klass);

    return g_strdup_printf("%s options:\n%s", object_class_name(klass), props);
}

/* ---- creation ---- */

static void set_compat(const char *type, const char *property, const char *value, void *opaque)
{
    global_property_add_compat(type, property, value);
}

MachineState *machine_new(MachineClass *mc)
{
    g_assert(!current_machine);
    MachineState *m = MACHINE(object_new(object_class_name(&mc->parent_class)));

    m->ram_size = mc->default_ram_size ? mc->default_ram_size : DEFAULT_RAM_SIZE;
    m->maxram_size = m->ram_size;
    m->kvm_shadow_mem = -1;
    m->smp = (SmpConfig){1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    m->defaults = true;
    m->boot_splash_time = m->boot_reboot_timeout = -1;
    /* The containers may have been asked for before there was a machine; then they are a plain
     * container of that name. */
    object_add_child(object_root(), "machine", &m->parent_obj, &error_abort);
    if (mc->compat) {
        mc->compat(mc, set_compat, NULL);
    }
    object_container("/machine/peripheral");
    object_container("/machine/peripheral-anon");
    object_container("/machine/unattached");
    main_system_bus();
    current_machine = m;
    return m;
}

/* ---- RAM ---- */

static bool find_backend(MachineState *m, Error **errp)
{
    const char *id = m->memory_backend;
    Object *obj = object_resolve_type(id, TYPE_MEMORY_BACKEND, NULL);

    if (!obj) {
        error_set(errp, "Memory backend '%s' not found", id);
        return false;
    }
    MemoryBackend *b = MEMORY_BACKEND(obj);

    if (m->ram_size_set && m->ram_size != b->size) {
        error_set(errp, "Machine memory size does not match the size of the memory backend");
        return false;
    }
    m->ram_size = b->size;
    m->maxram_size = MAX(m->maxram_size, m->ram_size);
    m->ram_backend = obj;
    object_use(obj);
    return true;
}

static bool make_backend(MachineState *m, const char *id, Error **errp)
{
    if (object_child(object_objects_root(), id)) {
        error_set(errp,
                  "object's id '%s' is reserved for the default RAM backend, it can't be used for "
                  "any other purposes", id);
        error_append_hint(
            errp,
            "Change the object's 'id' to something else or disable automatic creation "
            "of the default RAM backend by setting 'memory-backend=%s' with "
            "'-machine'.\n",
            id);
        return false;
    }
    g_autoptr(JsonObject) o = json_object_new();

    json_object_set_string_member(o, "qom-type", "memory-backend-ram");
    json_object_set_string_member(o, "id", id);
    json_object_set_int_member(o, "size", m->ram_size);
    json_object_set_boolean_member(o, "merge", m->mem_merge);
    json_object_set_boolean_member(o, "dump", m->dump_guest_core);
    if (!user_object_add(o, QAPI_JSON, errp)) {
        error_append_hint(errp, "-m asks for %" PRIu64 " bytes of memory.\n", m->ram_size);
        return false;
    }
    m->ram_backend = object_child(object_objects_root(), id);
    object_use(m->ram_backend);
    return true;
}

static bool machine_ram_init(MachineState *m, Error **errp)
{
    const MachineClass *mc = MACHINE_CLASS(m);

    if (!numa_complete(m, errp)) {
        return false;
    }
    if (numa_nodes()) {
        return true; /* each node has its own */
    }
    if (m->memory_backend) {
        return find_backend(m, errp);
    }
    /* A machine that maps no RAM of its own gets none, unless RAM was asked for. */
    if (!mc->default_ram_id || m->ram_size == 0 || (!mc->default_cpu_type && !m->ram_size_set)) {
        return true;
    }
    if (m->ram_size > INT64_MAX) {
        error_set(errp, "cannot set up guest memory '%s': Cannot allocate memory",
                  mc->default_ram_id);
        error_append_hint(errp, "-m asks for %" PRIu64 " bytes of memory.\n", m->ram_size);
        return false;
    }
    return make_backend(m, mc->default_ram_id, errp);
}

/* ---- processors ---- */

static bool machine_cpus_init(MachineState *m, Error **errp)
{
    const MachineClass *mc = MACHINE_CLASS(m);
    g_autofree char *type = NULL;

    if (cpu_model.name) {
        type = g_strdup_printf("%s-x86_64-cpu", cpu_model.name);
        ObjectClass *klass = object_class_by_name(type);

        if (!klass || !object_class_is(klass, TYPE_CPU) || klass->info->abstract) {
            error_set(errp, "unable to find CPU model '%s'", cpu_model.name);
            return false;
        }
    } else {
        type = g_strdup(mc->default_cpu_type);
    }
    if (!mc->default_cpu_type) {
        return true; /* the machine has no processors */
    }
    for (unsigned i = 0; i < m->smp.cpus; i++) {
        g_autoptr(Object) cpu = NULL;

        /* The kernel takes its time to make many. */
        if (stop_requested("making processors", errp)) {
            return false;
        }
        cpu = object_new(type);
        CPU(cpu)->index = i;
        if (!device_realize(DEVICE(cpu), NULL, errp)) {
            return false;
        }
    }
    return true;
}

bool machine_build(MachineState *m, Error **errp)
{
    MachineClass *mc = MACHINE_CLASS(m);

    ASSERT_BIG_LOCK();
    return machine_ram_init(m, errp) && machine_cpus_init(m, errp) &&
           (!mc->init || mc->init(m, errp));
}

/* ---- readiness and end ---- */

void machine_ready_register(void (*fn)(void *opaque), void *opaque)
{
    ReadyEntry e = {fn, opaque};

    if (!ready_list) {
        ready_list = g_array_new(false, false, sizeof(ReadyEntry));
    }
    g_array_append_val(ready_list, e);
}

void machine_ready(MachineState *m)
{
    ASSERT_BIG_LOCK();
    for (guint i = 0; ready_list && i < ready_list->len; i++) {
        ReadyEntry *e = &g_array_index(ready_list, ReadyEntry, i);

        e->fn(e->opaque);
    }
    device_reset_all();
}

static void collect_top(DeviceState *dev, void *opaque)
{
    g_ptr_array_add(opaque, object_ref((Object *)dev));
}

void machine_destroy(MachineState *m)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new();

    ASSERT_BIG_LOCK();
    /* The last made goes first: what others sit on was there before them. */
    device_for_each(NULL, collect_top, list);
    for (guint i = list->len; i-- > 0;) {
        device_unrealize(list->pdata[i]);
        object_unref(list->pdata[i]);
    }
    if (m->ram_backend) {
        object_unuse(m->ram_backend);
        m->ram_backend = NULL;
    }
    numa_cleanup();
}
