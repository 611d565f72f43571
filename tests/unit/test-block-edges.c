/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends of files, sizes, limits of the host, read-only files. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "block-fixture.h"

static char *node_text(const char *options)
{
    return g_strconcat("raw,node-name=d,file.driver=file,file.filename=disk,", options, NULL);
}

static void test_odd_file(gconstpointer data)
{
    g_autofree char *text = node_text(data);
    uint8_t buf[1536];
    TestDev *d;

    make_file("disk", 1000);
    add_node(text);
    d = make_dev("d");
    g_assert_cmpint(blk_length(d->blk), ==, 1024);
    memset(buf, 1, sizeof(buf));
    g_assert_cmpint(do_read(d->blk, 0, buf, 1024), ==, 0);
    g_assert_true(all_bytes(buf, 1024, 0));
    g_assert_cmpint(do_read(d->blk, 512, buf, 1024), ==, -EIO);
    g_assert_cmpint(do_read(d->blk, -512, buf, 512), ==, -EIO);
    g_assert_cmpint(do_read(d->blk, INT64_MAX - 511, buf, 1024), ==, -EIO);
    memset(buf, 3, sizeof(buf));
    g_assert_cmpint(do_write(d->blk, 512, buf, 512), ==, 0);
    memset(buf, 1, sizeof(buf));
    g_assert_cmpint(do_read(d->blk, 0, buf, 1024), ==, 0);
    g_assert_true(all_bytes(buf, 512, 0));
    g_assert_true(all_bytes(buf + 512, 512, 3));
    test_dev_free(d);
    del_node("d");
}

/* What somebody cut off reads as zeroes, and comes back when it is written. */
static void test_cut_file(gconstpointer data)
{
    g_autofree char *text = node_text(data);
    uint8_t *buf = aligned_alloc(4096, 65536);
    TestDev *d;

    make_file("disk", 65536);
    add_node(text);
    d = make_dev("d");
    memset(buf, 7, 65536);
    g_assert_cmpint(do_write(d->blk, 0, buf, 65536), ==, 0);
    g_assert_cmpint(truncate("disk", 10000), ==, 0);
    g_assert_cmpint(do_read(d->blk, 0, buf, 65536), ==, 0);
    g_assert_true(all_bytes(buf, 10000, 7));
    g_assert_true(all_bytes(buf + 10000, 65536 - 10000, 0));
    memset(buf, 7, 65536);
    g_assert_cmpint(do_read(d->blk, 32768, buf, 4096), ==, 0);
    g_assert_true(all_bytes(buf, 4096, 0));
    memset(buf, 8, 65536);
    g_assert_cmpint(do_write(d->blk, 65536 - 512, buf, 512), ==, 0);
    g_assert_cmpint(do_read(d->blk, 65536 - 1024, buf, 1024), ==, 0);
    g_assert_true(all_bytes(buf, 512, 0));
    g_assert_true(all_bytes(buf + 512, 512, 8));
    test_dev_free(d);
    del_node("d");
    free(buf);
}

/* A write that the host takes only in part ends with its error; once there is room it works. */
static void test_no_room(gconstpointer data)
{
    g_autofree char *text = node_text(data);
    uint8_t *buf = aligned_alloc(4096, 65536);
    struct rlimit old, limit;
    TestDev *d;

    make_file("disk", 65536);
    add_node(text);
    d = make_dev("d");
    g_assert_cmpint(truncate("disk", 0), ==, 0);
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
    limit = old;
    limit.rlim_cur = 16384;
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    memset(buf, 9, 65536);
    g_assert_cmpint(do_write(d->blk, 0, buf, 65536), ==, -EFBIG);
    g_assert_cmpint(do_write(d->blk, 32768, buf, 4096), ==, -EFBIG);
    g_assert_cmpint(do_write(d->blk, 0, buf, 16384), ==, 0);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &old), ==, 0);
    g_assert_cmpint(do_write(d->blk, 0, buf, 65536), ==, 0);
    memset(buf, 0, 65536);
    g_assert_cmpint(do_read(d->blk, 0, buf, 65536), ==, 0);
    g_assert_true(all_bytes(buf, 65536, 9));
    test_dev_free(d);
    del_node("d");
    free(buf);
}

static void test_read_only(void)
{
    uint8_t buf[512] = { 1 };
    TestDev *d;

    make_file("disk", 65536);
    add_node("raw,node-name=d,read-only=on,discard=unmap,file.driver=file,file.filename=disk");
    d = make_dev("d");
    g_assert_true(blk_is_read_only(d->blk));
    g_assert_cmpint(do_write(d->blk, 0, buf, 512), ==, -EPERM);
    g_assert_cmpint(do_req(d->blk, BLK_OP_WRITE_ZEROES, 0, 0, NULL, 512), ==, -EPERM);
    g_assert_cmpint(do_req(d->blk, BLK_OP_DISCARD, 0, 0, NULL, 512), ==, -EPERM);
    g_assert_cmpint(do_read(d->blk, 0, buf, 512), ==, 0);
    g_assert_cmpint(do_req(d->blk, BLK_OP_FLUSH, 0, 0, NULL, 0), ==, 0);
    test_dev_free(d);
    del_node("d");
}

static void test_raw_part(void)
{
    uint8_t buf[4096];
    TestDev *part, *whole;
    Error *err = NULL;

    make_file("disk", 65536);
    add_node("file,node-name=f,filename=disk");
    add_node("raw,node-name=p,file=f,offset=1000,size=2048");
    add_node("raw,node-name=w,file=f");
    part = try_dev("p", "p", true, &err);
    whole = try_dev("w", "w", true, &err);
    g_assert_cmpint(blk_length(part->blk), ==, 2048);
    memset(buf, 4, sizeof(buf));
    g_assert_cmpint(do_write(part->blk, 0, buf, 2048), ==, 0);
    g_assert_cmpint(do_write(part->blk, 1536, buf, 1024), ==, -EIO);
    g_assert_cmpint(do_read(whole->blk, 0, buf, 4096), ==, 0);
    g_assert_true(all_bytes(buf, 1000, 0));
    g_assert_true(all_bytes(buf + 1000, 2048, 4));
    g_assert_true(all_bytes(buf + 3048, 4096 - 3048, 0));
    /* The part keeps the file from being resized. */
    expect_error(block_resize(NULL, "f", 1024 * 1024, &err), &err,
                 "Permission conflict on node 'f': permissions 'resize' are both required by an "
                 "unnamed block device (uses node 'f' as 'root' child) and unshared by node 'p' "
                 "(uses node 'f' as 'file' child).");
    test_dev_free(part);
    test_dev_free(whole);
    del_node("p");
    del_node("w");
    del_node("f");
}

static void test_resize(void)
{
    static const int64_t sizes[] = { 131072, 67109864, 33554432, 0, 65536 };
    uint8_t buf[512];
    Error *err = NULL;
    GStatBuf st;
    TestDev *d;

    make_file("disk", 65536);
    add_node("file,node-name=f,filename=disk");
    add_node("raw,node-name=d,file=f");
    d = make_dev("d");
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_assert_true(block_resize(NULL, "d", sizes[i], &err));
        g_assert_cmpint(d->resized, ==, i + 1);
        g_assert_cmpint(d->drained, ==, 0);
        g_assert_cmpint(blk_length(d->blk), ==, (sizes[i] + 511) & ~511);
        g_assert_cmpint(g_stat("disk", &st), ==, 0);
        g_assert_cmpint(st.st_size, ==, sizes[i]);
    }
    g_assert_cmpint(do_read(d->blk, 65024, buf, 512), ==, 0);
    g_assert_true(all_bytes(buf, 512, 0));
    /* The size of the file alone is not the device's business. */
    g_assert_true(block_resize(NULL, "f", 131072, &err));
    g_assert_cmpint(blk_length(d->blk), ==, 65536);
    g_assert_cmpint(d->resized, ==, G_N_ELEMENTS(sizes));

    expect_error(block_resize(NULL, "d", -1, &err), &err, "Parameter 'size' expects a >0 size");
    expect_error(block_resize(NULL, "d", INT64_MAX, &err), &err,
                 "offset(9223372036854775807) exceeds maximum(9223372035781033984)");
    expect_error(block_resize(NULL, "d", INT64_C(1) << 62, &err), &err,
                 "Could not resize file: File too large");
    expect_error(block_resize("d", NULL, 512, &err), &err,
                 "Cannot find device='d' nor node-name=''");
    add_node("null-co,node-name=n");
    expect_error(block_resize(NULL, "n", 512, &err), &err,
                 "Image format driver does not support resize");
    add_node("raw,node-name=r,read-only=on,file=n");
    expect_error(block_resize(NULL, "r", 512, &err), &err, "Image is read-only");
    del_node("r");
    del_node("n");
    test_dev_free(d);
    del_node("d");
    del_node("f");
}

/* A disk whose format was guessed does not become one of another format. */
static void test_probed_header(void)
{
    g_autoptr(Opts) opts = opts_parse("if=none,id=x,file=disk", NULL, NULL, &error_abort);
    uint8_t buf[1024] = { 'Q', 'F', 'I', 0xfb, 0, 0, 0, 3 };
    TestDev *d;

    make_file("disk", 65536);
    g_assert_nonnull(drive_new(opts, "none", &error_abort));
    d = make_dev("x");
    g_assert_cmpint(do_write(d->blk, 0, buf, 1024), ==, -EPERM);
    g_assert_cmpint(do_write(d->blk, 512, buf, 512), ==, 0);
    buf[0] = 'q';
    g_assert_cmpint(do_write(d->blk, 0, buf, 1024), ==, 0);
    memset(buf, 0, sizeof(buf));
    g_assert_cmpint(do_read(d->blk, 0, buf, 1024), ==, 0);
    g_assert_cmpint(buf[0], ==, 'q');
    test_dev_free(d);
    del_node("x");
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {
        "file.aio=threads", "file.aio=threads,cache.direct=on", "file.aio=native,cache.direct=on",
        "file.aio=io_uring", "file.aio=io_uring,cache.direct=on",
    };

    fixture_init(&argc, &argv);
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *odd = g_strconcat("/block/odd-file/", modes[i], NULL);
        g_autofree char *cut = g_strconcat("/block/cut-file/", modes[i], NULL);
        g_autofree char *room = g_strconcat("/block/no-room/", modes[i], NULL);

        if (strstr(modes[i], "io_uring") && !aio_has_uring(aio_context_main())) {
            continue;
        }
        g_test_add_data_func(odd, modes[i], test_odd_file);
        g_test_add_data_func(cut, modes[i], test_cut_file);
        g_test_add_data_func(room, modes[i], test_no_room);
    }
    g_test_add_func("/block/read-only", test_read_only);
    g_test_add_func("/block/raw-part", test_raw_part);
    g_test_add_func("/block/resize", test_resize);
    g_test_add_func("/block/probed-header", test_probed_header);
    return fixture_run();
}
