/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of -cpu: a model and changes to it. */
#include "kvm-cpu-request.h"

#include <string.h>

#include "hw/core/cpu.h"
#include "hw/i386/cpu-features.h"
#include "qapi/keyval.h"

static bool flag(bool *field, bool value, bool invert)
{
    *field = value != invert;
    return true;
}

/* The switches that are not features. False if `key` is none of them. */
static bool set_switch(KvmCpuRequest *r, const char *key, bool on)
{
    return (!strcmp(key, "check") && flag(&r->check, on, false)) ||
           (!strcmp(key, "enforce") && flag(&r->enforce, on, false)) ||
           (!strcmp(key, "kvm") && flag(&r->hide_kvm, on, true)) ||
           (!strcmp(key, "hypervisor") && flag(&r->hide_hypervisor, on, true)) ||
           (!strcmp(key, "migratable") && flag(&r->migratable, on, false)) ||
           (!strcmp(key, "pmu") && flag(&r->no_pmu, on, true));
}

/* What is always as it is here, and can be asked for only so. */
static bool check_fixed(const char *key, bool on, bool *known, Error **errp)
{
    static const struct {
        const char *name;
        bool on;
    } fixed[] = {
        { "host-phys-bits", true },
        { "host-cache-info", true },
        { "l3-cache", true },
        { "full-cpuid-auto-level", true },
    };

    *known = false;
    for (unsigned i = 0; i < G_N_ELEMENTS(fixed); i++) {
        if (strcmp(key, fixed[i].name)) {
            continue;
        }
        *known = true;
        if (on != fixed[i].on) {
            error_set(errp, "-cpu: %s=%s is not supported", key, on ? "on" : "off");
            return false;
        }
    }
    return true;
}

static bool set_feature(KvmCpuRequest *r, const char *key, bool on)
{
    g_autofree char *kvm_name = g_strdup_printf("kvm-%s", key);
    X86FeatureWord w;
    unsigned bit;

    if (!x86_feature_find(key, &w, &bit) && !x86_feature_find(kvm_name, &w, &bit)) {
        return false;
    }
    (on ? &r->on : &r->off)->word[w] |= 1u << bit;
    (on ? &r->off : &r->on)->word[w] &= ~(1u << bit);
    return true;
}

static bool set_bool(KvmCpuRequest *r, const char *key, bool on, Error **errp)
{
    bool known;

    if (set_switch(r, key, on)) {
        return true;
    }
    if (!check_fixed(key, on, &known, errp)) {
        return false;
    }
    if (!known && !set_feature(r, key, on)) {
        error_set(errp, "Property '%s-x86_64-cpu.%s' not found", r->model->name, key);
        return false;
    }
    return true;
}

static bool set_number(uint32_t *field, const char *key, const char *value, Error **errp)
{
    uint64_t n;

    if (!parse_uint64(value, &n) || n > UINT32_MAX) {
        error_set(errp, "Parameter '%s' expects uint32", key);
        return false;
    }
    *field = n;
    return true;
}

static bool set_phys_bits(KvmCpuRequest *r, const char *value, Error **errp)
{
    if (!set_number(&r->phys_bits, "phys-bits", value, errp)) {
        return false;
    }
    if (r->phys_bits && (r->phys_bits < 32 || r->phys_bits > 52)) {
        error_set(errp, "phys-bits should be between 32 and 52  (but is %u)", r->phys_bits);
        return false;
    }
    return true;
}

static bool set_value(KvmCpuRequest *r, const char *key, const char *value, Error **errp)
{
    bool on;

    if (!strcmp(key, "level")) {
        return set_number(&r->level, key, value, errp);
    }
    if (!strcmp(key, "xlevel")) {
        return set_number(&r->xlevel, key, value, errp);
    }
    if (!strcmp(key, "phys-bits")) {
        return set_phys_bits(r, value, errp);
    }
    return parse_bool(key, value, &on, errp) && set_bool(r, key, on, errp);
}

/* "+x" and "-x" are the old form of "x=on" and "x=off"; "x" alone is "x=on". */
static bool parse_item(KvmCpuRequest *r, const char *text, Error **errp)
{
    g_autofree char *key = g_strdup(text);
    char *eq = strchr(key, '=');
    const char *value = "on";

    if (text[0] == '+' || text[0] == '-') {
        return set_bool(r, key + 1, text[0] == '+', errp);
    }
    if (eq) {
        *eq = '\0';
        value = eq + 1;
    }
    if (!set_value(r, key, value, errp)) {
        error_prepend(errp, "can't apply global %s-x86_64-cpu.%s=%s: ", r->model->name, key, value);
        return false;
    }
    return true;
}

bool kvm_cpu_request_parse(KvmCpuRequest *r, Error **errp)
{
    const char *name = cpu_model.name ? cpu_model.name : "qemu64";

    *r = (KvmCpuRequest){ .check = true, .migratable = !strcmp(name, "host") };
    r->model = x86_cpu_model_find(name);
    if (!r->model) {
        error_set(errp, "unable to find CPU model '%s'", name);
        return false;
    }
    for (unsigned i = 0; cpu_model.features && i < cpu_model.features->len; i++) {
        if (!parse_item(r, cpu_model.features->pdata[i], errp)) {
            return false;
        }
    }
    return true;
}
