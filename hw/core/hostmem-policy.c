/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On which NUMA nodes of the host the memory of a guest is: -object memory-backend-*,host-nodes=,
 * policy=. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw/core/hostmem.h"
#include "qom/cpu-list.h"

#define HOST_NODES_MAX 128
#define BITS           (8 * sizeof(unsigned long))

static GArray **field_of(Object *obj, const Property *prop)
{
    return (GArray **)((char *)obj + prop->offset);
}

static bool nodes_set(Object *obj, const Property *prop, JsonNode *value, QapiForm form,
                      Error **errp)
{
    GArray *list = cpu_list_read(prop->name, value, form, errp);

    if (!list) {
        return false;
    }
    *field_of(obj, prop) = list;
    return true;
}

static JsonNode *nodes_get(Object *obj, const Property *prop, Error **errp)
{
    return cpu_list_json(*field_of(obj, prop));
}

static void nodes_release(Object *obj, const Property *prop)
{
    g_clear_pointer(field_of(obj, prop), g_array_unref);
}

const PropertyType prop_host_nodes = {
    .name = "int",
    .size = sizeof(GArray *),
    .set = nodes_set,
    .get = nodes_get,
    .release = nodes_release,
    .is_list = true,
};

static bool policy_check(const MemoryBackend *b, Error **errp)
{
    bool any = b->host_nodes && b->host_nodes->len;

    for (guint i = 0; any && i < b->host_nodes->len; i++) {
        unsigned node = g_array_index(b->host_nodes, uint16_t, i);

        if (node >= HOST_NODES_MAX) {
            error_set(errp, "Invalid host-nodes value: %u", node);
            return false;
        }
    }
    if (any && b->policy == HOST_MEM_POLICY_DEFAULT) {
        error_set(errp, "host-nodes must be empty for policy default, or you should explicitly "
                        "specify a policy other than default");
        return false;
    }
    if (!any && b->policy != HOST_MEM_POLICY_DEFAULT) {
        error_set(errp, "host-nodes must be set for policy %s",
                  qapi_enum_HostMemPolicy.values[b->policy]);
        return false;
    }
    return true;
}

bool hostmem_apply_policy(MemoryBackend *b, Error **errp)
{
    static const int modes[] = {
        [HOST_MEM_POLICY_PREFERRED] = MPOL_PREFERRED,
        [HOST_MEM_POLICY_BIND] = MPOL_BIND,
        [HOST_MEM_POLICY_INTERLEAVE] = MPOL_INTERLEAVE,
    };
    unsigned long mask[HOST_NODES_MAX / BITS] = { 0 };

    if (!policy_check(b, errp)) {
        return false;
    }
    if (b->policy == HOST_MEM_POLICY_DEFAULT) {
        return true;
    }
    for (guint i = 0; i < b->host_nodes->len; i++) {
        unsigned node = g_array_index(b->host_nodes, uint16_t, i);

        mask[node / BITS] |= 1ul << node % BITS;
    }
    if (syscall(SYS_mbind, b->host, b->mapped, modes[b->policy], mask, HOST_NODES_MAX + 1,
                MPOL_MF_STRICT | MPOL_MF_MOVE) != 0) {
        error_set_errno(errp, errno, "cannot bind memory to host NUMA nodes");
        return false;
    }
    return true;
}
