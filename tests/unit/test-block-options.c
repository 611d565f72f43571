/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of nodes, names, permissions, removal: what is accepted and how the rest is refused. */
#include "block-fixture.h"

static const struct {
    const char *options;
    const char *error; /* NULL: accepted */
} cases[] = {
    { "file,node-name=f,filename=nosuch", "Could not open 'nosuch': No such file or directory" },
    { "raw,node-name=d,file.driver=file,file.filename=nosuch",
      "Could not open 'nosuch': No such file or directory" },
    { "nosuch,node-name=d", "Parameter 'driver' does not accept value 'nosuch'" },
    { "qcow2,node-name=d,file=x", "Parameter 'driver' does not accept value 'qcow2'" },
    { "node-name=d", "Parameter 'driver' is missing" },
    { "null-co", "'node-name' must be specified for the root node" },
    { "null-co,node-name=0d", "Invalid node-name: '0d'" },
    { "null-co,node-name=#x", "Invalid node-name: '#x'" },
    { "null-co,node-name=", "Invalid node-name: ''" },
    { "null-co,node-name=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", "Node name too long" },
    { "null-co,node-name=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn", NULL },
    { "file,node-name=f", "Parameter 'filename' is missing" },
    { "file,node-name=f,filename=", "The 'file' block driver requires a file name" },
    { "file,node-name=f,filename=disk,foo=1", "Parameter 'foo' is unexpected" },
    { "raw,node-name=d", "Parameter 'file' is missing" },
    { "raw,node-name=d,file=zz", "Cannot find device='zz' nor node-name='zz'" },
    { "raw,node-name=d,file=d", "Cannot find device='d' nor node-name='d'" },
    { "raw,node-name=d,file.driver=raw,file.file=d", "Cannot find device='d' nor node-name='d'" },
    { "raw,node-name=d,file.driver=null-co,file.node-name=d",
      "Duplicate nodes with node-name='d'" },
    { "file,node-name=f,filename=/tmp", "Could not open '/tmp': Is a directory" },
    { "file,node-name=f,filename=/dev/null",
      "'file' driver requires '/dev/null' to be a regular file" },
    { "file,node-name=f,filename=pipe", "'file' driver requires 'pipe' to be a regular file" },
    { "host_device,node-name=f,filename=disk",
      "'host_device' driver requires 'disk' to be either a character or block device" },
    { "file,node-name=f,filename=disk,aio=native",
      "aio=native was specified, but it requires cache.direct=on, which was not specified." },
    { "file,node-name=f,filename=disk,aio=threads", NULL },
    { "file,node-name=f,filename=disk,aio=foo", "Parameter 'aio' does not accept value 'foo'" },
    { "file,node-name=f,filename=disk,cache.direct=foo",
      "Parameter 'cache.direct' expects 'on' or 'off'" },
    { "file,node-name=f,filename=disk,cache=none",
      "Invalid parameter type for 'cache', expected: object" },
    { "file,node-name=f,filename=disk,locking=on", NULL },
    { "file,node-name=f,filename=disk,locking=bad",
      "Parameter 'locking' does not accept value 'bad'" },
    { "file,node-name=f,filename=disk,discard=bad",
      "Parameter 'discard' does not accept value 'bad'" },
    { "file,node-name=f,filename=disk,detect-zeroes=unmap",
      "setting detect-zeroes to unmap is not allowed without setting discard operation to "
      "unmap" },
    { "file,node-name=f,filename=disk,detect-zeroes=unmap,discard=unmap", NULL },
    { "file,node-name=f,filename=disk,detect-zeroes=x",
      "Parameter 'detect-zeroes' does not accept value 'x'" },
    { "file,node-name=f,filename=disk,auto-read-only=on", NULL },
    { "file,node-name=f,filename=disk,aio-max-batch=4", NULL },
    { "file,node-name=f,filename=disk,aio-max-batch=-4", NULL },
    { "file,node-name=f,filename=disk,force-share=on",
      "force-share=on can only be used with read-only images" },
    { "file,node-name=f,filename=disk,pr-manager=x",
      "No persistent reservation manager with id 'x'" },
    { "raw,node-name=d,size=1048576,offset=512,file.driver=file,file.filename=disk",
      "The sum of offset (512) and size (1048576) has to be smaller or equal to the  actual size "
      "of the containing file (1048576)" },
    { "raw,node-name=d,size=1000,file.driver=file,file.filename=disk",
      "Specified size is not multiple of 512" },
    { "raw,node-name=d,size=104857600,file.driver=file,file.filename=disk",
      "The sum of offset (0) and size (104857600) has to be smaller or equal to the  actual size "
      "of the containing file (1048576)" },
    { "raw,node-name=d,offset=104857600,file.driver=file,file.filename=disk",
      "Offset (104857600) cannot be greater than size of the containing file (1048576)" },
    { "null-co,node-name=d,size=1M", "Parameter 'size' expects integer" },
    { "null-co,node-name=d,size=-1", "Value '-1' is out of range for parameter 'size'" },
    { "null-co,node-name=d,size=9223372036854775807",
      "Could not refresh total sector count: File too large" },
    { "null-co,node-name=d,size=1048576,latency-ns=1000", NULL },
    { "null-aio,node-name=d", NULL },
    { "file,node-name=f,filename=file:disk",
      "Could not open 'file:disk': No such file or directory" },
    { "null-co,node-name=d,active=off",
      "Parameter 'active': nodes that are created inactive are not supported" },
};

static unsigned count_fds(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned n = 0;

    while (g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

static unsigned count_nodes(void)
{
    g_autofree char *text = block_info_text(false, true, NULL);
    unsigned n = 0;

    for (char *p = text; (p = strstr(p, "Cache mode")); p++) {
        n++;
    }
    return n;
}

/* Each case leaves as many nodes and descriptors behind as there were. */
static void test_cases(void)
{
    unsigned fds = 0;

    make_file("disk", 1024 * 1024);
    g_assert_cmpint(system("mkfifo pipe"), ==, 0);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
            Error *err = NULL;
            bool ok = try_add(cases[i].options, &err);

            if (cases[i].error) {
                expect_error(ok, &err, cases[i].error);
            } else {
                const char *name = strstr(cases[i].options, "node-name=") + 10;
                g_autofree char *node = g_strndup(name, strcspn(name, ","));

                g_assert_true(ok);
                del_node(node);
            }
            g_assert_cmpint(count_nodes(), ==, 0);
        }
        if (round == 0) {
            fds = count_fds();
        }
    }
    g_assert_cmpint(count_fds(), ==, fds);
}

static void expect_dev_error(const char *drive, const char *path, bool share, const char *text)
{
    Error *err = NULL;
    TestDev *d = try_dev(drive, path, share, &err);

    expect_error(d != NULL, &err, text);
}

static void test_conflicts(void)
{
    Error *err = NULL;
    TestDev *a, *b;

    make_file("disk", 1024 * 1024);
    add_node("file,node-name=f,filename=disk");
    add_node("raw,node-name=d,file=f");
    a = try_dev("d", "A", false, &err);
    expect_dev_error("d", "B", false,
                     "Permission conflict on node 'd': permissions 'write' are both required by "
                     "block device 'A' (uses node 'd' as 'root' child) and unshared by block "
                     "device 'B' (uses node 'd' as 'root' child).");
    expect_dev_error("d", "B", true,
                     "Permission conflict on node 'd': permissions 'write' are both required by "
                     "block device 'B' (uses node 'd' as 'root' child) and unshared by block "
                     "device 'A' (uses node 'd' as 'root' child).");
    expect_dev_error("f", "B", false,
                     "Permission conflict on node 'f': permissions 'write' are both required by "
                     "node 'd' (uses node 'f' as 'file' child) and unshared by block device 'B' "
                     "(uses node 'f' as 'root' child).");
    test_dev_free(a);
    a = try_dev("d", "A", true, &err);
    expect_dev_error("d", "B", false,
                     "Permission conflict on node 'd': permissions 'write' are both required by "
                     "block device 'A' (uses node 'd' as 'root' child) and unshared by block "
                     "device 'B' (uses node 'd' as 'root' child).");
    b = try_dev("d", "B", true, &err);
    g_assert_nonnull(b);
    test_dev_free(b);
    test_dev_free(a);
    a = try_dev("f", "A", false, &err);
    expect_dev_error("d", "B", false,
                     "Permission conflict on node 'f': permissions 'write' are both required by "
                     "node 'd' (uses node 'f' as 'file' child) and unshared by block device 'A' "
                     "(uses node 'f' as 'root' child).");
    test_dev_free(a);
    /* All that failed has left nothing in the way. */
    a = try_dev("d", "A", false, &err);
    g_assert_nonnull(a);
    test_dev_free(a);
    expect_dev_error("zz", "A", false, "Property 'virtio-blk-device.drive' can't find value 'zz'");
    del_node("d");
    del_node("f");

    add_node("file,node-name=f,filename=disk,read-only=on");
    add_node("raw,node-name=d,file=f");
    expect_dev_error("d", "A", false, "Block node is read-only");
    del_node("d");
    add_node("raw,node-name=d,file=f,read-only=on");
    a = try_dev("d", "A", false, &err);
    b = try_dev("d", "B", false, &err);
    g_assert_true(a && b);
    test_dev_free(a);
    test_dev_free(b);
    del_node("d");
    del_node("f");
}

static bool del(const char *name, Error **errp)
{
    q_blockdev_del_args args = { .node_name = (char *)name };

    return qmp_blockdev_del(&args, errp);
}

static void test_delete(void)
{
    Error *err = NULL;
    TestDev *a;

    make_file("disk", 1024 * 1024);
    add_node("file,node-name=f,filename=disk");
    add_node("raw,node-name=d,file=f");
    add_node("raw,node-name=e,file.driver=null-co,file.node-name=n");
    a = make_dev("d");
    expect_error(del("d", &err), &err, "Node d is in use");
    expect_error(del("f", &err), &err, "Block device f is in use");
    expect_error(del("n", &err), &err, "Node n is not owned by the monitor");
    expect_error(del("zz", &err), &err, "Failed to find node with node-name='zz'");
    test_dev_free(a);
    g_assert_true(del("d", &err));
    g_assert_true(del("f", &err));
    g_assert_true(del("e", &err));
    expect_error(del("n", &err), &err, "Failed to find node with node-name='n'");
    g_assert_cmpint(count_nodes(), ==, 0);
}

static void test_replace(void)
{
    Error *err = NULL;
    TestDev *a, *b;

    add_node("null-co,node-name=n0");
    add_node("null-co,node-name=n1,size=1024");
    a = try_dev("n0", "A", false, &err);
    b = try_dev("n1", "B", false, &err);
    expect_error(blk_replace(a->blk, "zz", &err), &err,
                 "Cannot find device='' nor node-name='zz'");
    expect_error(blk_replace(a->blk, "n1", &err), &err,
                 "Permission conflict on node 'n1': permissions 'write' are both required by "
                 "block device 'B' (uses node 'n1' as 'root' child) and unshared by block device "
                 "'A' (uses node 'n1' as 'root' child).");
    g_assert_cmpstr(blk_name(a->blk), ==, "n0");
    test_dev_free(b);
    g_assert_true(blk_replace(a->blk, "n1", &err));
    g_assert_cmpint(blk_length(a->blk), ==, 1024);
    g_assert_cmpint(a->resized, ==, 1);
    test_dev_free(a);
    del_node("n0");
    del_node("n1");
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    g_test_add_func("/block/options/cases", test_cases);
    g_test_add_func("/block/options/conflicts", test_conflicts);
    g_test_add_func("/block/options/delete", test_delete);
    g_test_add_func("/block/options/replace", test_replace);
    return fixture_run();
}
