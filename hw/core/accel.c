/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accelerator in use. */
#include <string.h>

#include "hw/core/machine.h"

Object *current_accel;

static const TypeInfo accel_type = {
    .name = TYPE_ACCEL,
    .parent = "object",
    .abstract = true,
    .instance_size = sizeof(Object),
    .class_size = sizeof(AccelClass),
};
TYPE_REGISTER(accel_type)

bool accel_is(const char *name)
{
    return current_accel && g_str_equal(((AccelClass *)current_accel->klass)->name, name);
}

const char *accel_title(void)
{
    const AccelClass *ac = (AccelClass *)current_accel->klass;

    return ac->title ? ac->title : ac->name;
}

static bool set_options(Object *accel, JsonObject *options, QapiForm form, Error **errp)
{
    JsonObjectIter it;
    const char *key;
    JsonNode *value;

    if (!options) {
        return true;
    }
    json_object_iter_init_ordered(&it, options);
    while (json_object_iter_next_ordered(&it, &key, &value)) {
        if (!object_property_set(accel, key, value, form, errp)) {
            return false;
        }
    }
    return true;
}

bool accel_setup(const char *name, JsonObject *options, QapiForm form, MachineState *m,
                 Error **errp)
{
    g_autofree char *type = g_strdup_printf("%s-accel", name);
    ObjectClass *klass = object_class_by_name(type);

    if (!klass || !object_class_is(klass, TYPE_ACCEL) || klass->info->abstract) {
        error_set(errp, "invalid accelerator %s", name);
        return false;
    }
    g_autoptr(Object) accel = object_new(type);
    AccelClass *ac = (AccelClass *)klass;

    if (!set_options(accel, options, form, errp) || (ac->init && !ac->init(accel, m, errp))) {
        return false;
    }
    current_accel = g_steal_pointer(&accel);
    return true;
}

void accel_cpus_start(MachineState *m)
{
    AccelClass *ac = current_accel ? (AccelClass *)current_accel->klass : NULL;

    if (ac && ac->cpus_start) {
        ac->cpus_start(current_accel, m);
    }
}

static AccelClass *current_class(void)
{
    return current_accel ? (AccelClass *)current_accel->klass : NULL;
}

bool accel_cpu_create(CPUState *cpu, Error **errp)
{
    AccelClass *ac = current_class();

    return !ac || !ac->cpu_create || ac->cpu_create(cpu, errp);
}

void accel_cpu_destroy(CPUState *cpu)
{
    AccelClass *ac = current_class();

    if (ac && ac->cpu_destroy) {
        ac->cpu_destroy(cpu);
    }
}

/* Reasons for which processors stand; the first is that the machine has not been started. */
static unsigned pauses = 1;

void accel_cpus_pause(void)
{
    AccelClass *ac = current_class();

    pauses++;
    /* Each time: the main loop, which is polled while the first of several waits, may run the
     * others. */
    if (ac && ac->cpus_pause) {
        ac->cpus_pause();
    }
}

void accel_cpus_resume(void)
{
    AccelClass *ac = current_class();

    g_assert(pauses > 0);
    if (--pauses == 0 && ac && ac->cpus_resume) {
        ac->cpus_resume();
    }
}

char *accel_help_list(void)
{
    g_autoptr(GPtrArray) list = object_class_list(TYPE_ACCEL, false);
    GString *s = g_string_new("Accelerators supported in QEMU binary:\n");

    for (guint i = 0; i < list->len; i++) {
        g_string_append_printf(s, "%s\n", ((AccelClass *)list->pdata[i])->name);
    }
    return g_string_free(s, false);
}
