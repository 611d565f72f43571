/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Permissions: each user of a node says what it needs and what it lets others do; a change is tried
 * as a whole and leaves nothing behind when it fails.
 */
#include "backend.h"
#include "util/biglock.h"

static const char *const perm_names[] = {
    "consistent read",
    "write",
    "write unchanged",
    "resize",
};

const char *block_perm_name(unsigned bit)
{
    return perm_names[bit];
}

char *block_perm_names(unsigned perm)
{
    GString *s = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(perm_names); i++) {
        if (perm & (1u << i)) {
            g_string_append_printf(s, "%s%s", s->len ? ", " : "", perm_names[i]);
        }
    }
    return g_string_free(s, FALSE);
}

static char *user_describe(BlockChild *c)
{
    if (c->blk) {
        return blk_describe(c->blk);
    }
    return g_strdup_printf("node '%s'", c->parent->name);
}

static bool check_conflicts(BlockNode *node, Error **errp)
{
    /* Newest first on the outside: the user that is being added is blamed for not sharing. */
    for (GList *l = node->parents; l; l = l->next) {
        BlockChild *a = l->data;

        for (GList *m = node->parents; m; m = m->next) {
            BlockChild *b = m->data;
            g_autofree char *who_a = NULL, *who_b = NULL, *perms = NULL;

            if (a == b || !(b->perm & ~a->shared)) {
                continue;
            }
            who_a = user_describe(a);
            who_b = user_describe(b);
            perms = block_perm_names(b->perm & ~a->shared);
            error_set(errp,
                      "Permission conflict on node '%s': permissions '%s' are both required by %s "
                      "(uses node '%s' as '%s' child) and unshared by %s (uses node '%s' as '%s' "
                      "child).",
                      node->name, perms, who_b, node->name, b->name, who_a, node->name, a->name);
            return false;
        }
    }
    return true;
}

static void node_perm(BlockNode *node, unsigned *perm, unsigned *shared)
{
    *perm = 0;
    *shared = BLK_PERM_ALL;
    for (GList *l = node->parents; l; l = l->next) {
        BlockChild *c = l->data;

        *perm |= c->perm;
        *shared &= c->shared;
    }
}

/* Phase one: spreads the needs downwards and checks them. `edges` collects what was changed. */
static bool spread(BlockNode *node, GPtrArray *edges, GPtrArray *nodes, Error **errp)
{
    unsigned perm, shared;

    if (!check_conflicts(node, errp)) {
        return false;
    }
    node_perm(node, &perm, &shared);
    if ((perm & (BLK_PERM_WRITE | BLK_PERM_WRITE_UNCHANGED)) && node->read_only) {
        error_set(errp, "Block node is read-only");
        return false;
    }
    for (guint i = 0; i < node->children->len; i++) {
        BlockChild *c = g_ptr_array_index(node->children, i);
        unsigned cperm = perm, cshared = shared;

        if (node->drv->child_perm) {
            node->drv->child_perm(node, (int)i, perm, shared, &cperm, &cshared);
        }
        if (node->force_share) {
            cshared = BLK_PERM_ALL;
        }
        if (!g_ptr_array_find(edges, c, NULL)) {
            c->old_perm = c->perm;
            c->old_shared = c->shared;
            g_ptr_array_add(edges, c);
        }
        c->perm = cperm;
        c->shared = cshared;
        if (!spread(c->node, edges, nodes, errp)) {
            return false;
        }
    }
    if (!g_ptr_array_find(nodes, node, NULL)) {
        g_ptr_array_add(nodes, node);
    }
    return true;
}

/* Phase two: tells the drivers, children first. */
static bool apply(GPtrArray *nodes, guint *applied, Error **errp)
{
    for (*applied = 0; *applied < nodes->len; (*applied)++) {
        BlockNode *node = g_ptr_array_index(nodes, *applied);
        unsigned perm, shared;

        node_perm(node, &perm, &shared);
        if (perm == node->perm && shared == node->shared) {
            continue;
        }
        if (node->drv->set_perm && !node->drv->set_perm(node, perm, shared, errp)) {
            return false;
        }
    }
    for (guint i = 0; i < nodes->len; i++) {
        BlockNode *node = g_ptr_array_index(nodes, i);

        node_perm(node, &node->perm, &node->shared);
    }
    return true;
}

bool block_node_refresh_perm(BlockNode *node, Error **errp)
{
    g_autoptr(GPtrArray) edges = g_ptr_array_new();
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    guint applied = 0;

    ASSERT_BIG_LOCK();
    if (spread(node, edges, nodes, errp) && apply(nodes, &applied, errp)) {
        return true;
    }
    for (guint i = 0; i < edges->len; i++) {
        BlockChild *c = g_ptr_array_index(edges, i);

        c->perm = c->old_perm;
        c->shared = c->old_shared;
    }
    /* Going back only gives up what was just taken, which cannot fail. */
    while (applied > 0) {
        BlockNode *n = g_ptr_array_index(nodes, --applied);

        if (n->drv->set_perm) {
            n->drv->set_perm(n, n->perm, n->shared, NULL);
        }
    }
    return false;
}

bool block_child_set_perm(BlockChild *child, unsigned perm, unsigned shared, Error **errp)
{
    unsigned old_perm = child->perm, old_shared = child->shared;

    child->perm = perm;
    child->shared = shared;
    if (!block_node_refresh_perm(child->node, errp)) {
        child->perm = old_perm;
        child->shared = old_shared;
        return false;
    }
    return true;
}
