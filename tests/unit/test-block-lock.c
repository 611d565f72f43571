/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks on image files: which bytes are locked when, and who is refused. Locks belong to open file
 * descriptions, so a second descriptor stands for another program. */
#include <errno.h>
#include <fcntl.h>

#include "block-fixture.h"

/* The bytes from 100 on, and from 200 on, that somebody else has locked: bit N is byte N. */
static unsigned locked_bytes(int base)
{
    int fd = open("disk", O_RDWR | O_CLOEXEC);
    unsigned bits = 0;

    g_assert_cmpint(fd, >=, 0);
    for (int i = 0; i < 8; i++) {
        struct flock fl = { .l_type = F_WRLCK, .l_start = base + i, .l_len = 1 };

        g_assert_cmpint(fcntl(fd, F_OFD_GETLK, &fl), ==, 0);
        bits |= fl.l_type == F_UNLCK ? 0 : 1u << i;
    }
    close(fd);
    return bits;
}

static void check_locks(unsigned perm, unsigned unshared)
{
    g_assert_cmphex(locked_bytes(100), ==, perm);
    g_assert_cmphex(locked_bytes(200), ==, unshared);
}

static int lock_as_other(int byte)
{
    int fd = open("disk", O_RDWR | O_CLOEXEC);
    struct flock fl = { .l_type = F_RDLCK, .l_start = byte, .l_len = 1 };

    g_assert_cmpint(fcntl(fd, F_OFD_SETLK, &fl), ==, 0);
    return fd;
}

static void test_bytes(void)
{
    TestDev *d;
    Error *err = NULL;

    make_file("disk", 65536);
    add_node("raw,node-name=d,file.driver=file,file.filename=disk");
    check_locks(0, 0);
    d = try_dev("d", "v", false, &err);
    check_locks(BLK_PERM_READ | BLK_PERM_WRITE, BLK_PERM_WRITE);
    test_dev_free(d);
    check_locks(0, 0);
    d = try_dev("d", "v", true, &err);
    check_locks(BLK_PERM_READ | BLK_PERM_WRITE, 0);
    test_dev_free(d);
    del_node("d");

    add_node("raw,node-name=d,read-only=on,file.driver=file,file.filename=disk");
    d = try_dev("d", "v", false, &err);
    check_locks(BLK_PERM_READ, BLK_PERM_WRITE);
    test_dev_free(d);
    del_node("d");

    add_node("raw,node-name=d,file.driver=file,file.filename=disk,file.locking=off");
    d = try_dev("d", "v", false, &err);
    check_locks(0, 0);
    test_dev_free(d);
    del_node("d");

    add_node("raw,node-name=d,offset=512,file.driver=file,file.filename=disk,file.locking=on");
    check_locks(0, BLK_PERM_RESIZE);
    del_node("d");
    check_locks(0, 0);
}

static void test_drive_bytes(void)
{
    g_autoptr(Opts) opts =
        opts_parse("if=none,id=x,format=raw,file=disk", NULL, NULL, &error_abort);
    TestDev *d;
    Error *err = NULL;

    make_file("disk", 65536);
    g_assert_nonnull(drive_new(opts, "none", &err));
    check_locks(BLK_PERM_READ, 0);
    d = try_dev("x", "v", false, &err);
    check_locks(BLK_PERM_READ | BLK_PERM_WRITE, BLK_PERM_WRITE);
    test_dev_free(d);
    check_locks(BLK_PERM_READ, 0);
    del_node("x");
    check_locks(0, 0);
}

static void expect_locked(bool share, const char *text)
{
    Error *err = NULL;
    TestDev *d = try_dev("d", "v", share, &err);

    g_assert_null(d);
    g_assert_cmpstr(error_message(err), ==, text);
    g_assert_cmpstr(error_hint(err), ==, "Is another process using the image [disk]?\n");
    error_free(err);
}

static void test_refused(void)
{
    Error *err = NULL;
    TestDev *d;
    int fd;

    make_file("disk", 65536);
    add_node("raw,node-name=d,file.driver=file,file.filename=disk");
    /* Somebody does not let others write. */
    fd = lock_as_other(201);
    expect_locked(false, "Failed to get \"write\" lock");
    expect_locked(true, "Failed to get \"write\" lock");
    g_assert_cmphex(locked_bytes(100), ==, 0);
    close(fd);
    /* Somebody writes. */
    fd = lock_as_other(101);
    expect_locked(false, "Failed to get shared \"write\" lock");
    d = try_dev("d", "v", true, &err);
    g_assert_nonnull(d);
    test_dev_free(d);
    close(fd);
    /* Nothing of the failures remains. */
    check_locks(0, 0);
    d = try_dev("d", "v", false, &err);
    g_assert_nonnull(d);
    test_dev_free(d);
    del_node("d");
}

static void test_two_nodes(void)
{
    Error *err = NULL;
    TestDev *a, *b;

    make_file("disk", 65536);
    add_node("raw,node-name=a,file.driver=file,file.filename=disk");
    add_node("raw,node-name=b,file.driver=file,file.filename=disk");
    a = try_dev("a", "a", false, &err);
    g_assert_nonnull(a);
    b = try_dev("b", "b", false, &err);
    g_assert_null(b);
    g_assert_cmpstr(error_message(err), ==, "Failed to get \"write\" lock");
    error_free(err);
    err = NULL;
    check_locks(BLK_PERM_READ | BLK_PERM_WRITE, BLK_PERM_WRITE);
    test_dev_free(a);
    b = try_dev("b", "b", false, &err);
    g_assert_nonnull(b);
    test_dev_free(b);
    del_node("a");
    del_node("b");
}

static void test_force_share(void)
{
    Error *err = NULL;
    TestDev *d;
    int fd;

    make_file("disk", 65536);
    fd = lock_as_other(101);
    add_node("raw,node-name=d,read-only=on,force-share=on,file.driver=file,file.filename=disk");
    d = try_dev("d", "v", false, &err);
    g_assert_nonnull(d);
    test_dev_free(d);
    del_node("d");
    close(fd);
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    g_test_add_func("/block/lock/bytes", test_bytes);
    g_test_add_func("/block/lock/drive", test_drive_bytes);
    g_test_add_func("/block/lock/refused", test_refused);
    g_test_add_func("/block/lock/two-nodes", test_two_nodes);
    g_test_add_func("/block/lock/force-share", test_force_share);
    return fixture_run();
}
