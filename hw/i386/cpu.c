/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64 processor models, and the APIC ids that follow from the topology. */
#include "hw/core/cpu.h"

#include <string.h>

#include "cpu-props.h"
#include "hw/core/machine.h"
#include "hw/i386/cpu-features.h"

/* Bits that n values take. */
static unsigned width(unsigned n)
{
    unsigned w = 0;

    while (n > 1U << w) {
        w++;
    }
    return w;
}

static bool (*base_realize)(DeviceState *dev, Error **errp);

/*
 * Without an accelerator that runs guest code features change nothing, but a name that no processor
 * has is refused all the same. They come as "+x", "-x", "x" or "x=value".
 */
static bool check_features(const char *type, Error **errp)
{
    static const char *const others[] = {
        "apic-id", "check", "cpuid-0xb", "enforce", "family", "fill-mtrr-mask",
        "full-cpuid-auto-level", "guest-phys-bits", "host-cache-info", "host-phys-bits",
        "host-phys-bits-limit", "kvm", "kvm-pv-enforce-cpuid", "l3-cache", "level", "level-func7",
        "migratable", "min-level", "min-xlevel", "model", "model-id", "phys-bits", "pmu",
        "stepping", "tcg-cpuid", "tsc-frequency", "vendor", "vmware-cpuid-freq", "xlevel",
    };

    for (guint i = 0; cpu_model.features && i < cpu_model.features->len; i++) {
        const char *text = cpu_model.features->pdata[i];
        bool sign = *text == '+' || *text == '-';
        g_autofree char *name =
            g_strdelimit(g_strndup(text + sign, strcspn(text + sign, "=")), "_", '-');
        const char *value = strchr(text, '=');
        X86FeatureWord word;
        unsigned bit, j;

        for (j = 0; j < G_N_ELEMENTS(others) && !g_str_equal(name, others[j]); j++) {
        }
        if (j == G_N_ELEMENTS(others) && !x86_feature_find(name, &word, &bit)) {
            error_set(errp, "can't apply global %s.%s=%s: Property '%s.%s' not found", type, name,
                      value ? value + 1 : *text == '-' ? "off" : "on", type, name);
            return false;
        }
    }
    return true;
}

static bool x86_cpu_realize(DeviceState *dev, Error **errp)
{
    CPUState *cpu = CPU(dev);
    const SmpConfig *smp = &current_machine->smp;
    unsigned i = cpu->index;
    const char *name = object_type_name((Object *)dev);

    if (g_str_has_prefix(name, "host-") && !accel_is("kvm")) {
        error_set(errp, "CPU model 'host' requires KVM or HVF");
        return false;
    }
    if (cpu->index == 0 && !accel_is("kvm") && !check_features(name, errp)) {
        return false;
    }
    cpu->thread_id = i % smp->threads;
    i /= smp->threads;
    cpu->core_id = i % smp->cores;
    i /= smp->cores;
    cpu->module_id = i % smp->modules;
    i /= smp->modules;
    cpu->die_id = i % smp->dies;
    cpu->socket_id = i / smp->dies;
    /* Each level has a field of its own in the id, wide enough for its count. */
    cpu->apic_id = cpu->socket_id << width(smp->dies) | cpu->die_id;
    cpu->apic_id = cpu->apic_id << width(smp->modules) | cpu->module_id;
    cpu->apic_id = cpu->apic_id << width(smp->cores) | cpu->core_id;
    cpu->apic_id = cpu->apic_id << width(smp->threads) | cpu->thread_id;
    return base_realize(dev, errp);
}

static JsonNode *model_get(Object *obj, const Property *prop, Error **errp)
{
    JsonNode *n = json_node_new(JSON_NODE_VALUE);

    json_node_set_int(n, *(uint32_t *)((char *)obj + prop->offset));
    return n;
}

static const PropertyType prop_id = {.name = "int", .size = sizeof(uint32_t), .get = model_get};

#define CPU_ID(n, f)                                                                               \
    { .name = (n), .type = &prop_id, .offset = offsetof(CPUState, f), .flags = PROP_READ_ONLY }

static const Property id_props[] = {
    CPU_ID("apic-id", apic_id),     CPU_ID("socket-id", socket_id), CPU_ID("die-id", die_id),
    CPU_ID("module-id", module_id), CPU_ID("core-id", core_id),     CPU_ID("thread-id", thread_id),
    PROP_END,
};

static void x86_cpu_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    if (!base_realize) {
        base_realize = dc->realize;
    }
    dc->realize = x86_cpu_realize;
}

static TypeInfo x86_cpu_type = {
    .name = "x86_64-cpu",
    .parent = TYPE_CPU,
    .abstract = true,
    .class_init = x86_cpu_class_init,
};
TYPE_REGISTER(x86_cpu_type)

/* One type for each model. */
static void __attribute__((constructor)) register_models(void)
{
    const GPtrArray *models = x86_cpu_models();

    x86_cpu_type.props = x86_cpu_props_with_features(id_props);
    for (unsigned i = 0; i < models->len; i++) {
        const X86CpuModel *m = models->pdata[i];
        g_autofree char *name = g_strdup_printf("%s-x86_64-cpu", m->name);
        TypeInfo *info = g_new0(TypeInfo, 1);

        info->name = g_intern_string(name);
        info->parent = "x86_64-cpu";
        info->class_data = m;
        info->props = m->host ? x86_cpu_host_props : NULL;
        type_register(info);
    }
}
