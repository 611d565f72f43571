/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of -cpu: a model and changes to it. */
#include "kvm-cpu-request.h"

#include <string.h>

#include "hw/core/cpu.h"
#include "qapi/keyval.h"

/* ---- switches ---- */

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
           (!strcmp(key, "pmu") && flag(&r->no_pmu, on, true)) ||
           (!strcmp(key, "l3-cache") && flag(&r->no_l3, on, true)) ||
           (!strcmp(key, "kvm-pv-enforce-cpuid") && flag(&r->pv_enforce, on, false)) ||
           (!strcmp(key, "host-phys-bits") && flag(&r->host_phys_bits, on, false));
}

/* What is always as it is here, and can be asked for only so. */
static const struct {
    const char *name;
    bool on;
} fixed[] = {
    { "cpuid-0xb", true },        { "fill-mtrr-mask", true },  { "full-cpuid-auto-level", true },
    { "host-cache-info", true },  { "tcg-cpuid", true },       { "legacy-cache", false },
    { "lmce", false },            { "xen-vapic", false },      { "vmware-cpuid-freq", false },
    { "legacy-multi-node", false },
};

static bool check_fixed(const char *key, bool on, bool *known, Error **errp)
{
    *known = g_str_has_prefix(key, "hv-");
    if (*known && on) {
        error_set(errp, "-cpu: %s is not supported: there are no Hyper-V enlightenments", key);
        return false;
    }
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

static bool set_bool(KvmCpuRequest *r, const char *key, bool on, Error **errp)
{
    bool known;

    if (set_switch(r, key, on)) {
        return true;
    }
    if (!check_fixed(key, on, &known, errp)) {
        return false;
    }
    if (known) {
        return true;
    }
    if (!x86_feature_set(on ? &r->on : &r->off, key, true)) {
        error_set(errp, "Property '%s-x86_64-cpu.%s' not found", r->model->name, key);
        return false;
    }
    x86_feature_set(on ? &r->off : &r->on, key, false);
    return true;
}

/* ---- values ---- */

static bool get_number(const char *key, const char *value, uint64_t max, uint64_t *out,
                       Error **errp)
{
    if (!parse_uint64(value, out) || *value == '-') {
        error_set(errp, "Parameter '%s' expects uint64", key);
        return false;
    }
    if (*out > max) {
        error_set(errp, "parameter '%s' can be at most %" G_GUINT64_FORMAT, key, max);
        return false;
    }
    return true;
}

static bool set_phys_bits(KvmCpuRequest *r, uint64_t bits, Error **errp)
{
    if (bits && (bits < 32 || bits > 52)) {
        error_set(errp, "phys-bits should be between 32 and 52  (but is %u)", (unsigned)bits);
        return false;
    }
    r->phys_bits = bits;
    return true;
}

/* A key whose value is a number; *known says whether it is one. */
static bool set_number(KvmCpuRequest *r, const char *key, const char *value, bool *known,
                       Error **errp)
{
    const struct {
        const char *name;
        uint64_t max;
        uint32_t *field;
        bool *given;
    } numbers[] = {
        { "level", UINT32_MAX, &r->level, NULL },
        { "min-level", UINT32_MAX, &r->level, NULL },
        { "xlevel", UINT32_MAX, &r->xlevel, NULL },
        { "min-xlevel", UINT32_MAX, &r->xlevel, NULL },
        { "level-func7", 2, &r->level_func7, &r->has_level_func7 },
        { "family", 0xff + 0xf, &r->family, &r->has_family },
        { "model", 0xff, &r->model_number, &r->has_model },
        { "stepping", 0xf, &r->stepping, &r->has_stepping },
        { "guest-phys-bits", 52, &r->guest_phys_bits, NULL },
        { "host-phys-bits-limit", 255, &r->phys_bits_limit, NULL },
    };
    uint64_t n;

    *known = true;
    for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (strcmp(key, numbers[i].name)) {
            continue;
        }
        if (!get_number(key, value, numbers[i].max, &n, errp)) {
            return false;
        }
        *numbers[i].field = n;
        if (numbers[i].given) {
            *numbers[i].given = true;
        }
        return true;
    }
    if (!strcmp(key, "phys-bits")) {
        return get_number(key, value, UINT32_MAX, &n, errp) && set_phys_bits(r, n, errp);
    }
    if (!strcmp(key, "tsc-frequency") || !strcmp(key, "tsc-freq")) {
        /* A suffix counts in thousands here, unlike that of a size. */
        static const char suffixes[] = "kMG";
        const char *s = *value ? strchr(suffixes, value[strlen(value) - 1]) : NULL;
        g_autofree char *digits = g_strndup(value, strlen(value) - (s && *s));

        if (!get_number(key, digits, INT64_MAX / 1000000000, &n, errp)) {
            return false;
        }
        for (const char *p = suffixes; s && *s && p <= s; p++) {
            n *= 1000;
        }
        r->tsc_hz = n;
        return true;
    }
    *known = false;
    return true;
}

static bool set_text(KvmCpuRequest *r, const char *key, const char *value, bool *known,
                     Error **errp)
{
    *known = true;
    if (!strcmp(key, "vendor")) {
        if (strlen(value) != 12) {
            error_set(errp, "value of property 'vendor' must consist of exactly 12 characters");
            return false;
        }
        g_free(r->vendor);
        r->vendor = g_strdup(value);
        return true;
    }
    if (!strcmp(key, "model-id")) {
        g_free(r->model_id);
        r->model_id = g_strdup(value);
        return true;
    }
    if (!strcmp(key, "hv-spinlocks") || !strcmp(key, "hv-vendor-id") ||
        !strcmp(key, "hv-no-nonarch-coresharing") || !strcmp(key, "lbr-fmt") ||
        !strcmp(key, "ucode-rev") || !strcmp(key, "avx10-version") || !strcmp(key, "xlevel2")) {
        error_set(errp, "-cpu: %s is not supported", key);
        return false;
    }
    *known = false;
    return true;
}

static bool set_value(KvmCpuRequest *r, const char *key, const char *value, Error **errp)
{
    bool known, on;

    if (!set_number(r, key, value, &known, errp)) {
        return false;
    }
    if (known) {
        return true;
    }
    if (!set_text(r, key, value, &known, errp)) {
        return false;
    }
    if (known) {
        return true;
    }
    return parse_bool(key, value, &on, errp) && set_bool(r, key, on, errp);
}

/* "+x" and "-x" are the old form of "x=on" and "x=off"; "x" alone is "x=on". */
static bool parse_item(KvmCpuRequest *r, const char *text, Error **errp)
{
    g_autofree char *key = g_strdup(text);
    char *eq = strchr(key, '=');
    const char *value = "on";

    if (eq) {
        *eq = '\0';
        value = eq + 1;
    }
    g_strdelimit(key, "_", '-');
    if (!eq && (text[0] == '+' || text[0] == '-')) {
        return set_bool(r, key + 1, text[0] == '+', errp);
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

    *r = (KvmCpuRequest){ .check = true, .migratable = true };
    r->model = x86_cpu_model_find(name);
    if (!r->model) {
        error_set(errp, "unable to find CPU model '%s'", name);
        return false;
    }
    r->host_phys_bits = r->model->host;
    for (unsigned i = 0; cpu_model.features && i < cpu_model.features->len; i++) {
        const char *text = cpu_model.features->pdata[i];

        if (*text && !parse_item(r, text, errp)) {
            return false;
        }
    }
    return true;
}
