/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Driver throttle: a filter that keeps its requests within the limits of a throttle group. */
#include <errno.h>

#include "node.h"
#include "throttle.h"

typedef struct ThrottleNode {
    ThrottleMember *member;
} ThrottleNode;

static void throttle_go(void *opaque, BlockRequest *req)
{
    BlockNode *node = opaque;

    block_node_submit(node->file, req);
}

static ThrottleGroup *find_group(const char *name, Error **errp)
{
    ThrottleGroup *g = throttle_group_find(name);

    /* A group that belongs to drives alone cannot be named. */
    if (!g || !throttle_group_object(g)) {
        error_set(errp, "Throttle group '%s' does not exist", name);
        return NULL;
    }
    return g;
}

static bool throttle_open(BlockNode *node, const BlockdevOptions *opts, Error **errp)
{
    const BlockdevOptionsThrottle *o = &opts->u.throttle;
    ThrottleNode *s = node->opaque;
    ThrottleGroup *g = find_group(o->throttle_group, errp);
    BlockChild *c = g ? block_node_open_child(node, "file", o->file, errp) : NULL;

    if (!c) {
        return false;
    }
    node->file = c->node;
    s->member = throttle_member_new(g, throttle_go, node);
    return true;
}

static void throttle_close(BlockNode *node)
{
    ThrottleNode *s = node->opaque;

    throttle_member_free(s->member);
}

static void throttle_submit(BlockNode *node, BlockRequest *req)
{
    ThrottleNode *s = node->opaque;

    if (req->at_op == BLK_OP_FLUSH || throttle_member_pass(s->member, req)) {
        block_node_submit(node->file, req);
    }
}

static void throttle_hurry(BlockNode *node, bool on)
{
    ThrottleNode *s = node->opaque;

    throttle_member_release_all(s->member, on);
}

static int64_t throttle_length(BlockNode *node)
{
    return block_node_length(node->file);
}

static bool throttle_truncate(BlockNode *node, int64_t size, Error **errp)
{
    if (!node->file->drv->truncate) {
        error_set(errp, "Image format driver does not support resize");
        return false;
    }
    return node->file->drv->truncate(node->file, size, errp);
}

static int64_t throttle_allocated(BlockNode *node)
{
    return node->file->drv->allocated ? node->file->drv->allocated(node->file) : -ENOTSUP;
}

static JsonNode *throttle_describe(BlockNode *node)
{
    ThrottleNode *s = node->opaque;
    JsonNode *json = json_node_new(JSON_NODE_OBJECT);
    JsonObject *obj = json_object_new();

    json_object_set_string_member(obj, "throttle-group",
                                  throttle_group_name(throttle_member_group(s->member)));
    json_object_set_string_member(obj, "driver", "throttle");
    json_node_take_object(json, obj);
    return json;
}

static void throttle_refresh_filename(BlockNode *node)
{
    /* What is below cannot stand for it: only "json:{...}" names the group. */
}

static void throttle_probe_blocksizes(BlockNode *node, uint32_t *logical, uint32_t *physical)
{
    if (node->file->drv->probe_blocksizes) {
        node->file->drv->probe_blocksizes(node->file, logical, physical);
    }
}

static bool throttle_can_discard(BlockNode *node)
{
    return node->file->discard_unmap && node->file->drv->can_discard &&
           node->file->drv->can_discard(node->file);
}

static const char *const throttle_options[] = { "throttle-group", "file", NULL };

static const BlockDriver throttle_driver = {
    .name = "throttle",
    .is_format = true,
    .is_filter = true,
    .instance_size = sizeof(ThrottleNode),
    .options = throttle_options,
    .open = throttle_open,
    .close = throttle_close,
    .length = throttle_length,
    .truncate = throttle_truncate,
    .allocated = throttle_allocated,
    .refresh_filename = throttle_refresh_filename,
    .describe = throttle_describe,
    .probe_blocksizes = throttle_probe_blocksizes,
    .can_discard = throttle_can_discard,
    .hurry = throttle_hurry,
    .submit = throttle_submit,
};
BLOCK_DRIVER_REGISTER(throttle_driver)
