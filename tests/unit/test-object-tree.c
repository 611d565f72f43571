/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of objects: names, paths, partial paths, lifetime; types and casts. */
#include "qom/object.h"

static unsigned finalized;

static void node_finalize(Object *obj)
{
    finalized++;
}

static const TypeInfo node_info = {
    .name = "node",
    .parent = "object",
    .instance_finalize = node_finalize,
};
TYPE_REGISTER(node_info)

static const TypeInfo leaf_info = {
    .name = "leaf",
    .parent = "node",
};
TYPE_REGISTER(leaf_info)

static Object *add(Object *parent, const char *name, const char *type)
{
    g_autoptr(Object) obj = object_new(type);
    object_add_child(parent, name, obj, &error_abort);
    return obj;
}

static void test_types(void)
{
    ObjectClass *leaf = object_class_by_name("leaf");
    g_autoptr(GPtrArray) list = object_class_list("node", false);

    g_assert_null(object_class_by_name("nosuch"));
    g_assert_true(object_class_is(leaf, "node"));
    g_assert_true(object_class_is(leaf, "object"));
    g_assert_false(object_class_is(object_class_by_name("node"), "leaf"));
    g_assert_cmpuint(list->len, ==, 2);
    g_assert_cmpstr(object_class_name(list->pdata[0]), ==, "leaf");
}

static void test_paths(void)
{
    Object *base = object_container("/paths");
    Object *a = add(base, "a", "node");
    Object *b = add(a, "b", "node");
    bool ambiguous;

    g_autofree char *path = object_path(b);
    g_assert_cmpstr(path, ==, "/paths/a/b");
    g_autofree char *root = object_path(object_root());
    g_assert_cmpstr(root, ==, "/");
    g_assert_true(object_resolve("/paths/a/b", NULL) == b);
    g_assert_true(object_resolve("b", NULL) == b);
    g_assert_true(object_resolve("a/b", NULL) == b);
    g_assert_true(object_resolve("paths/a", NULL) == a);
    g_assert_null(object_resolve("/paths/b", NULL));
    g_assert_null(object_resolve("zz", &ambiguous));
    g_assert_false(ambiguous);
    g_assert_null(object_resolve("", &ambiguous));
    g_assert_true(ambiguous);

    Object *leaf = add(base, "b", "leaf");
    g_assert_null(object_resolve("b", &ambiguous));
    g_assert_true(ambiguous);
    /* The type decides between two of the same name. */
    g_assert_true(object_resolve_type("b", "leaf", &ambiguous) == leaf);
    g_assert_false(ambiguous);

    finalized = 0;
    object_unparent(a);
    g_assert_cmpuint(finalized, ==, 2);
    g_assert_true(object_resolve("b", NULL) == leaf);
    object_unparent(leaf);
}

static void test_names(void)
{
    Object *base = object_container("/names");
    g_autoptr(Object) second = object_new("node");
    Error *err = NULL;

    g_assert_cmpstr(add(base, "device[*]", "node")->name, ==, "device[0]");
    Object *one = add(base, "device[*]", "node");
    g_assert_cmpstr(one->name, ==, "device[1]");
    object_unparent(object_child(base, "device[0]"));
    g_assert_cmpstr(add(base, "device[*]", "node")->name, ==, "device[0]");

    g_assert_false(object_add_child(base, "device[1]", second, &err));
    g_assert_cmpstr(error_message(err), ==,
                    "attempt to add duplicate property 'device[1]' to object (type 'container')");
    g_clear_pointer(&err, error_free);
    g_assert_false(object_add_child(base, "type", second, &err));
    error_free(err);
    g_assert_null(second->parent);
    g_assert_cmpint(second->ref, ==, 1);
}

static void remove_child(Object *child, void *opaque)
{
    (*(unsigned *)opaque)++;
    object_unparent(child);
}

static void test_remove_while_walking(void)
{
    Object *base = object_container("/walk");
    unsigned n = 0;

    add(base, "a", "node");
    add(base, "b", "node");
    add(base, "c", "node");
    object_for_each_child(base, remove_child, &n);
    g_assert_cmpuint(n, ==, 3);
    g_assert_null(object_child(base, "a"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/object-tree/types", test_types);
    g_test_add_func("/object-tree/paths", test_paths);
    g_test_add_func("/object-tree/names", test_names);
    g_test_add_func("/object-tree/remove-while-walking", test_remove_while_walking);
    return g_test_run();
}
