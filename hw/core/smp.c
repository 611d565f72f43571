/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -smp: fills in what is left open of a CPU topology and checks the product. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "hw/core/machine.h"

enum { CPUS, DRAWERS, BOOKS, SOCKETS, DIES, CLUSTERS, MODULES, CORES, THREADS, MAXCPUS, N_KEYS };

static const char *const smp_keys[N_KEYS] = {
    "cpus",     "drawers", "books", "sockets", "dies",
    "clusters", "modules", "cores", "threads", "maxcpus",
};

typedef struct SmpInput {
    bool has[N_KEYS];
    int64_t v[N_KEYS];
} SmpInput;

static bool smp_read(SmpInput *in, Opts *opts, Error **errp)
{
    memset(in, 0, sizeof(*in));
    for (unsigned i = 0; opts && i < opts->list->len; i++) {
        Opt *o = opts->list->pdata[i];
        unsigned k;

        for (k = 0; k < N_KEYS && !g_str_equal(o->key, smp_keys[k]); k++) {
        }
        if (k == N_KEYS) {
            error_set(errp, "Parameter 'smp.%s' is unexpected", o->key);
            return false;
        }
        if (!parse_int64(o->value, &in->v[k])) {
            error_set(errp, "Parameter 'smp.%s' expects integer", o->key);
            return false;
        }
        in->has[k] = true;
    }
    return true;
}

static char *hierarchy_text(const SmpConfig *c)
{
    return g_strdup_printf("sockets (%u) * dies (%u) * modules (%u) * cores (%u) * threads (%u)",
                           c->sockets, c->dies, c->modules, c->cores, c->threads);
}

static uint64_t product(const SmpConfig *c)
{
    /* Each factor is at most UINT_MAX; saturate, so that a wrapped product cannot look right. */
    const unsigned f[] = {c->sockets, c->dies, c->modules, c->cores, c->threads};
    uint64_t p = 1;

    for (unsigned i = 0; i < G_N_ELEMENTS(f); i++) {
        if (f[i] && p > UINT64_MAX / f[i]) {
            return UINT64_MAX;
        }
        p *= f[i];
    }
    return p;
}

static bool smp_complete(SmpConfig *smp, const SmpInput *in, const MachineClass *mc, Error **errp)
{
    SmpConfig c = {
        .cpus = in->v[CPUS],       .max_cpus = in->v[MAXCPUS],
        .sockets = in->v[SOCKETS], .cores = in->v[CORES],
        .threads = in->v[THREADS], .drawers = 1,
        .books = 1,                .clusters = 1,
        .dies = in->has[DIES] ? in->v[DIES] : 1,
        .modules = in->has[MODULES] ? in->v[MODULES] : 1,
    };
    static const unsigned fixed[] = {CLUSTERS, BOOKS, DRAWERS};

    for (unsigned k = 0; k < N_KEYS; k++) {
        if (in->has[k] && in->v[k] == 0) {
            error_set(errp,
                      "Invalid CPU topology: CPU topology parameters must be greater than zero");
            return false;
        }
    }
    for (unsigned k = 0; k < N_KEYS; k++) {
        if (in->v[k] < 0 || in->v[k] > INT_MAX) {
            error_set(errp,
                      "Invalid SMP CPUs %" PRId64 ". The max CPUs supported by machine '%s' is %u",
                      in->v[k], mc->name, mc->max_cpus);
            return false;
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fixed); i++) {
        if (in->has[fixed[i]] && in->v[fixed[i]] > 1) {
            error_set(errp, "%s > 1 not supported by this machine's CPU topology",
                      smp_keys[fixed[i]]);
            return false;
        }
    }
    uint64_t inner = (uint64_t)c.dies * c.modules;

    if (!c.cpus && !c.max_cpus) {
        c.sockets = MAX(c.sockets, 1);
        c.cores = MAX(c.cores, 1);
        c.threads = MAX(c.threads, 1);
    } else {
        unsigned max = c.max_cpus ? c.max_cpus : c.cpus;

        /* What is open is filled with what the others leave, cores first. */
        if (!c.cores) {
            c.sockets = MAX(c.sockets, 1);
            c.threads = MAX(c.threads, 1);
            c.cores = max / MAX(inner * c.sockets * c.threads, 1);
        } else if (!c.sockets) {
            c.threads = MAX(c.threads, 1);
            c.sockets = max / MAX(inner * c.cores * c.threads, 1);
        }
        if (!c.threads) {
            c.threads = max / MAX(inner * c.sockets * c.cores, 1);
        }
    }
    uint64_t total = product(&c);

    if (!c.max_cpus) {
        c.max_cpus = c.cpus ? c.cpus : MIN(total, UINT_MAX);
    }
    if (!c.cpus) {
        c.cpus = c.max_cpus;
    }
    g_autofree char *text = hierarchy_text(&c);

    if (total != c.max_cpus) {
        error_set(errp,
                  "Invalid CPU topology: product of the hierarchy must match maxcpus: "
                  "%s != maxcpus (%u)", text, c.max_cpus);
        return false;
    }
    if (c.max_cpus < c.cpus) {
        error_set(errp,
                  "Invalid CPU topology: maxcpus must be equal to or greater than smp: "
                  "%s == maxcpus (%u) < smp_cpus (%u)", text, c.max_cpus, c.cpus);
        return false;
    }
    unsigned bad = c.cpus > mc->max_cpus ? c.cpus : c.max_cpus > mc->max_cpus ? c.max_cpus : 0;

    if (bad) {
        error_set(errp, "Invalid SMP CPUs %u. The max CPUs supported by machine '%s' is %u", bad,
                  mc->name, mc->max_cpus);
        return false;
    }
    *smp = c;
    return true;
}

bool smp_parse(SmpConfig *smp, Opts *opts, const MachineClass *mc, Error **errp)
{
    SmpInput in;

    return smp_read(&in, opts, errp) && smp_complete(smp, &in, mc, errp);
}
