/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -numa: nodes with processors and memory, and how far they are from each other. */
#include "hw/core/numa.h"

#include <inttypes.h>
#include <string.h>

#include "hw/core/hostmem.h"
#include "util/report.h"

#define DISTANCE_REMOTE      20
#define DISTANCE_UNREACHABLE 255

typedef struct NumaNode {
    bool present;
    Object *memdev;
    bool used; /* the machine holds on to it */
    uint64_t size;
} NumaNode;

static NumaNode nodes[NUMA_NODES_MAX];
static unsigned node_count; /* that are present */
static unsigned *cpu_node;  /* by index of the processor; NUMA_NO_NODE: not assigned */
static unsigned cpu_max;
static uint8_t distances[NUMA_NODES_MAX][NUMA_NODES_MAX];
static bool distances_given;

static void prepare(const MachineState *m)
{
    if (!cpu_node) {
        cpu_max = m->smp.max_cpus;
        cpu_node = g_new(unsigned, cpu_max);
        for (unsigned i = 0; i < cpu_max; i++) {
            cpu_node[i] = NUMA_NO_NODE;
        }
    }
}

static bool take_number(const Opts *o, const char *key, uint64_t dflt, uint64_t *out, Error **errp)
{
    const char *text = opts_get(o, key);

    *out = dflt;
    if (text && (!parse_uint64(text, out) || *text == '-')) {
        error_set(errp, "Parameter '%s' expects a number", key);
        return false;
    }
    return true;
}

static bool check_keys(const Opts *o, const char *const *known, Error **errp)
{
    for (guint i = 0; i < o->list->len; i++) {
        const char *key = ((Opt *)o->list->pdata[i])->key;

        if (!g_str_equal(key, "type") && !g_strv_contains(known, key)) {
            error_set(errp, "Parameter '%s' is unexpected", key);
            return false;
        }
    }
    return true;
}

/* ---- node ---- */

/* "3" or "0-3" */
static bool read_range(const char *text, uint64_t *first, uint64_t *last)
{
    g_auto(GStrv) ends = g_strsplit(text, "-", 2);

    return ends[0] && parse_uint64(ends[0], first) && *text != '-' &&
           (ends[1] ? parse_uint64(ends[1], last) && g_ascii_isdigit(*ends[1])
                    : (*last = *first, true)) &&
           *first <= *last;
}

static bool assign_cpu(uint64_t cpu, unsigned node, Error **errp)
{
    if (cpu >= cpu_max) {
        error_set(errp, "CPU index (%" PRIu64 ") should be smaller than maxcpus (%u)", cpu,
                  cpu_max);
        return false;
    }
    if (cpu_node[cpu] != NUMA_NO_NODE) {
        error_set(errp, "CPU is already assigned to node-id: %u", cpu_node[cpu]);
        return false;
    }
    cpu_node[cpu] = node;
    return true;
}

static bool node_cpus(const Opts *o, unsigned node, Error **errp)
{
    for (guint i = 0; i < o->list->len; i++) {
        const Opt *opt = o->list->pdata[i];
        uint64_t first, last;

        if (!g_str_equal(opt->key, "cpus")) {
            continue;
        }
        if (!read_range(opt->value, &first, &last)) {
            error_set(errp, "Parameter 'cpus' expects a uint64 value or range");
            return false;
        }
        for (uint64_t c = first; c <= last; c++) {
            if (!assign_cpu(c, node, errp)) {
                return false;
            }
        }
    }
    return true;
}

static bool add_node(const Opts *o, Error **errp)
{
    static const char *const keys[] = { "nodeid", "cpus", "mem", "memdev", "initiator", NULL };
    const char *memdev = opts_get(o, "memdev");
    uint64_t id;

    if (!check_keys(o, keys, errp) || !take_number(o, "nodeid", node_count, &id, errp)) {
        return false;
    }
    if (id >= NUMA_NODES_MAX) {
        error_set(errp, "Max number of NUMA nodes reached: %" PRIu64, id);
        return false;
    }
    if (nodes[id].present) {
        error_set(errp, "Duplicate NUMA nodeid: %" PRIu64, id);
        return false;
    }
    if (opts_get(o, "mem")) {
        error_set(errp, "Parameter -numa node,mem is not supported by this machine type");
        error_append_hint(errp, "Use -numa node,memdev instead\n");
        return false;
    }
    if (opts_get(o, "initiator")) {
        error_set(errp, "initiator= is not supported: there is no HMAT");
        return false;
    }
    if (memdev) {
        Object *obj = object_resolve_type(memdev, TYPE_MEMORY_BACKEND, NULL);

        if (!obj) {
            error_set(errp, "memdev=%s is ambiguous", memdev);
            return false;
        }
        nodes[id].memdev = obj;
        nodes[id].size = MEMORY_BACKEND(obj)->size;
    }
    nodes[id].present = true;
    node_count++;
    return node_cpus(o, id, errp);
}

/* ---- dist ---- */

static bool add_distance(const Opts *o, Error **errp)
{
    static const char *const keys[] = { "src", "dst", "val", NULL };
    uint64_t v[3];

    if (!check_keys(o, keys, errp)) {
        return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (!opts_get(o, keys[i])) {
            error_set(errp, "Parameter '%s' is missing", keys[i]);
            return false;
        }
        if (!take_number(o, keys[i], 0, &v[i], errp)) {
            return false;
        }
        if (i < 2 && v[i] >= NUMA_NODES_MAX) {
            error_set(errp, "Parameter '%s' expects an integer between 0 and %d", keys[i],
                      NUMA_NODES_MAX - 1);
            return false;
        }
    }
    if (!nodes[v[0]].present || !nodes[v[1]].present) {
        error_set(errp, "Source/Destination NUMA node is missing. Please use '-numa node' option "
                        "to declare it first.");
        return false;
    }
    if (v[2] < NUMA_DISTANCE_LOCAL || v[2] > DISTANCE_UNREACHABLE) {
        error_set(errp,
                  v[2] < NUMA_DISTANCE_LOCAL
                      ? "NUMA distance (%" PRIu64 ") is invalid, it shouldn't be less than 10."
                      : "NUMA distance (%" PRIu64 ") is invalid, it shouldn't be more than 255.",
                  v[2]);
        return false;
    }
    if (v[0] == v[1] && v[2] != NUMA_DISTANCE_LOCAL) {
        error_set(errp, "Local distance of node %" PRIu64 " should be 10.", v[0]);
        return false;
    }
    distances[v[0]][v[1]] = v[2];
    distances_given = true;
    return true;
}

/* ---- cpu ---- */

typedef struct CpuPlace {
    uint64_t socket, die, module, core, thread;
} CpuPlace;

static CpuPlace place_of(const SmpConfig *smp, unsigned i)
{
    CpuPlace p;

    p.thread = i % smp->threads, i /= smp->threads;
    p.core = i % smp->cores, i /= smp->cores;
    p.module = i % smp->modules, i /= smp->modules;
    p.die = i % smp->dies;
    p.socket = i / smp->dies;
    return p;
}

static bool add_cpus(const MachineState *m, const Opts *o, Error **errp)
{
    static const char *const keys[] = { "node-id",   "socket-id", "die-id",
                                        "module-id", "core-id",   "thread-id", NULL };
    uint64_t node, want[5];
    bool any = false;

    if (!check_keys(o, keys, errp)) {
        return false;
    }
    if (!opts_get(o, "node-id")) {
        error_set(errp, "Parameter 'node-id' is missing");
        return false;
    }
    if (!take_number(o, "node-id", 0, &node, errp)) {
        return false;
    }
    if (node >= NUMA_NODES_MAX || !nodes[node].present) {
        error_set(errp,
                  "Invalid node-id=%" PRIu64 ", NUMA node must be defined with "
                  "-numa node,nodeid=ID before it's used with -numa cpu,node-id=ID",
                  node);
        return false;
    }
    for (unsigned i = 0; i < 5; i++) {
        if (!take_number(o, keys[i + 1], UINT64_MAX, &want[i], errp)) {
            return false;
        }
    }
    for (unsigned i = 0; i < cpu_max; i++) {
        CpuPlace p = place_of(&m->smp, i);
        const uint64_t is[5] = { p.socket, p.die, p.module, p.core, p.thread };
        bool match = true;

        for (unsigned k = 0; k < 5; k++) {
            match &= want[k] == UINT64_MAX || want[k] == is[k];
        }
        if (!match) {
            continue;
        }
        any = true;
        if (cpu_node[i] != NUMA_NO_NODE && cpu_node[i] != node) {
            error_set(errp, "CPU is already assigned to node-id: %u", cpu_node[i]);
            return false;
        }
        cpu_node[i] = node;
    }
    if (!any) {
        error_set(errp, "no match found");
    }
    return any;
}

bool numa_option_add(const MachineState *m, const Opts *o, Error **errp)
{
    const char *type = opts_get(o, "type");

    if (!MACHINE_CLASS(m)->default_cpu_type) {
        error_set(errp, "NUMA is not supported by this machine-type");
        return false;
    }
    prepare(m);
    if (!type) {
        error_set(errp, "Parameter 'type' is missing");
        return false;
    }
    if (g_str_equal(type, "node")) {
        return add_node(o, errp);
    }
    if (g_str_equal(type, "dist")) {
        return add_distance(o, errp);
    }
    if (g_str_equal(type, "cpu")) {
        return add_cpus(m, o, errp);
    }
    if (g_str_equal(type, "hmat-lb") || g_str_equal(type, "hmat-cache")) {
        error_set(errp, "type=%s is not supported: there is no HMAT", type);
    } else {
        error_set(errp, "Parameter 'type' does not accept value '%s'", type);
    }
    return false;
}

/* ---- all of it ---- */

static bool complete_memory(MachineState *m, Error **errp)
{
    uint64_t total = 0;
    bool any = false;

    for (unsigned i = 0; i < node_count; i++) {
        total += nodes[i].size;
        any |= nodes[i].memdev != NULL;
    }
    if (any && m->memory_backend) {
        error_set(errp,
                  "'-machine memory-backend' and '-numa memdev' properties are mutually exclusive");
        return false;
    }
    if (total != m->ram_size) {
        error_set(errp,
                  "total memory for NUMA nodes (0x%" PRIx64 ") should equal RAM size (0x%" PRIx64
                  ")",
                  total, m->ram_size);
        return false;
    }
    for (unsigned i = 0; i < node_count; i++) {
        if (nodes[i].memdev && nodes[i].memdev->users) {
            error_set(errp, "memory backend '%s' is used by more than one node",
                      nodes[i].memdev->name);
            return false;
        }
        if (nodes[i].memdev) {
            object_use(nodes[i].memdev);
            nodes[i].used = true;
        }
    }
    return true;
}

/* Processors that no node claimed: a package stays together, packages are dealt out in turn. */
static void complete_cpus(const MachineState *m)
{
    g_autoptr(GString) missing = g_string_new(NULL);
    bool any = false;

    for (unsigned i = 0; i < cpu_max; i++) {
        any |= cpu_node[i] != NUMA_NO_NODE;
    }
    for (unsigned i = 0; i < cpu_max; i++) {
        if (cpu_node[i] == NUMA_NO_NODE) {
            cpu_node[i] = any ? 0 : place_of(&m->smp, i).socket % node_count;
            g_string_append_printf(missing, "%s%u", missing->len ? ", " : "", i);
        }
    }
    if (any && missing->len) {
        report_warning("CPU(s) not present in any NUMA nodes: CPU %s", missing->str);
        report_warning("All CPU(s) up to maxcpus should be described in NUMA config, ability to "
                       "start up with partial NUMA mappings is obsoleted and will be removed in "
                       "future");
    }
}

/* What was given in one direction holds for the other; all that is missing then is an error. */
static bool complete_distances(Error **errp)
{
    if (!distances_given) {
        return true;
    }
    for (unsigned a = 0; a < node_count; a++) {
        distances[a][a] = NUMA_DISTANCE_LOCAL;
        for (unsigned b = 0; b < a; b++) {
            if (!distances[a][b] && !distances[b][a]) {
                error_set(errp,
                          "The distance between node %u and %u is missing, at least one distance "
                          "value between each nodes should be provided.",
                          b, a);
                return false;
            }
            distances[a][b] = distances[a][b] ? distances[a][b] : distances[b][a];
            distances[b][a] = distances[b][a] ? distances[b][a] : distances[a][b];
        }
    }
    return true;
}

bool numa_complete(MachineState *m, Error **errp)
{
    if (!node_count) {
        return true;
    }
    for (unsigned i = 0; i < node_count; i++) {
        if (!nodes[i].present) {
            error_set(errp, "numa: Node ID missing: %u", i);
            return false;
        }
    }
    if (!complete_memory(m, errp) || !complete_distances(errp)) {
        return false;
    }
    complete_cpus(m);
    return true;
}

void numa_cleanup(void)
{
    for (unsigned i = 0; i < node_count; i++) {
        if (nodes[i].used) {
            object_unuse(nodes[i].memdev);
            nodes[i].memdev = NULL;
            nodes[i].used = false;
        }
    }
    g_clear_pointer(&cpu_node, g_free);
}

unsigned numa_nodes(void)
{
    return node_count;
}

Object *numa_memdev(unsigned node)
{
    return nodes[node].memdev;
}

uint64_t numa_size(unsigned node)
{
    return nodes[node].size;
}

unsigned numa_node_of_cpu(unsigned cpu)
{
    return node_count && cpu < cpu_max ? cpu_node[cpu] : NUMA_NO_NODE;
}

bool numa_has_distances(void)
{
    return distances_given;
}

uint8_t numa_distance(unsigned from, unsigned to)
{
    uint8_t d = distances[from][to];

    return d ? d : from == to ? NUMA_DISTANCE_LOCAL : DISTANCE_REMOTE;
}
