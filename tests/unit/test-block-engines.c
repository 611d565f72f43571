/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every engine does every operation, in three contexts at once, and the data is right. */
#include <sys/stat.h>

#include "block-fixture.h"

#define REGION (8 * 1024 * 1024)
#define BLOCK  4096

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = (uint64_t)seed << 40 ^ i * 0x9e3779b97f4a7c15u;

        memcpy(p + i, &v, 8);
    }
}

/* Writes and reads back with buffers in many pieces. */
static void scattered(BlockBackend *blk, int64_t base, unsigned seed)
{
    enum { PIECES = 37 };
    size_t bytes = PIECES * BLOCK;
    g_autofree struct iovec *iov = g_new(struct iovec, PIECES);
    uint8_t *a = aligned_alloc(BLOCK, bytes), *b = aligned_alloc(BLOCK, bytes);

    fill(a, bytes, seed);
    for (int i = 0; i < PIECES; i++) {
        iov[i] = (struct iovec){ a + i * BLOCK, BLOCK };
    }
    g_assert_cmpint(do_iov(blk, BLK_OP_WRITE, 0, base, iov, PIECES, (int64_t)bytes), ==, 0);
    /* Pieces in reverse order of memory. */
    for (int i = 0; i < PIECES; i++) {
        iov[i] = (struct iovec){ b + (PIECES - 1 - i) * BLOCK, BLOCK };
    }
    g_assert_cmpint(do_iov(blk, BLK_OP_READ, 0, base, iov, PIECES, (int64_t)bytes), ==, 0);
    for (int i = 0; i < PIECES; i++) {
        g_assert_cmpmem(a + i * BLOCK, BLOCK, b + (PIECES - 1 - i) * BLOCK, BLOCK);
    }
    free(a);
    free(b);
}

/* More pieces than the kernel takes in one call, some of them with odd lengths. */
static void very_scattered(BlockBackend *blk, int64_t base, unsigned seed)
{
    enum { PIECES = 3000 };
    size_t bytes = PIECES * 512;
    g_autofree struct iovec *iov = g_new(struct iovec, PIECES);
    g_autofree uint8_t *a = g_malloc(bytes), *b = g_malloc0(bytes);

    fill(a, bytes, seed);
    for (int i = 0; i < PIECES; i++) {
        /* 412 and 612 in turn. */
        size_t at = (size_t)i * 512 - (i & 1 ? 100 : 0);

        iov[i] = (struct iovec){ a + at, i & 1 ? 612 : 412 };
    }
    g_assert_cmpint(do_iov(blk, BLK_OP_WRITE, 0, base, iov, PIECES, (int64_t)bytes), ==, 0);
    g_assert_cmpint(do_read(blk, base, b, (int64_t)bytes), ==, 0);
    g_assert_cmpmem(a, bytes, b, bytes);
}

static void zeroes(BlockBackend *blk, int64_t base)
{
    uint8_t *a = aligned_alloc(BLOCK, 16 * BLOCK);
    const unsigned flags[] = { 0, BLK_REQ_UNMAP, BLK_REQ_FUA, BLK_REQ_UNMAP | BLK_REQ_FUA };

    for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
        memset(a, 0xaa, 16 * BLOCK);
        g_assert_cmpint(do_req(blk, BLK_OP_WRITE, BLK_REQ_FUA, base, a, 16 * BLOCK), ==, 0);
        g_assert_cmpint(do_req(blk, BLK_OP_WRITE_ZEROES, flags[i], base + BLOCK + 512, NULL,
                               5 * BLOCK + 1024), ==, 0);
        g_assert_cmpint(do_read(blk, base, a, 16 * BLOCK), ==, 0);
        g_assert_true(all_bytes(a, BLOCK + 512, 0xaa));
        g_assert_true(all_bytes(a + BLOCK + 512, 5 * BLOCK + 1024, 0));
        g_assert_true(all_bytes(a + 6 * BLOCK + 1536, 16 * BLOCK - 6 * BLOCK - 1536, 0xaa));
    }
    g_assert_cmpint(do_req(blk, BLK_OP_DISCARD, 0, base + 2 * BLOCK, NULL, 4 * BLOCK), ==, 0);
    g_assert_cmpint(do_read(blk, base, a, 16 * BLOCK), ==, 0);
    g_assert_true(all_bytes(a, BLOCK + 512, 0xaa));
    g_assert_true(all_bytes(a + 8 * BLOCK, 8 * BLOCK, 0xaa));
    free(a);
}

static void all_operations(Worker *w)
{
    BlockBackend *blk = ((TestDev *)w->opaque)->blk;
    int64_t base = (int64_t)w->index * REGION;

    for (unsigned round = 0; round < 4; round++) {
        scattered(blk, base + round * 1024 * 1024, round * 3 + (unsigned)w->index + 1);
        zeroes(blk, base + 512 * 1024);
        g_assert_cmpint(do_req(blk, BLK_OP_FLUSH, 0, 0, NULL, 0), ==, 0);
    }
    very_scattered(blk, base + 5 * 1024 * 1024, (unsigned)w->index + 77);
}

static void test_engine(gconstpointer data)
{
    const char *options = data;
    g_autofree char *text = g_strdup_printf("raw,node-name=d,discard=unmap,file.driver=file,"
                                            "file.filename=disk,%s", options);
    Error *err = NULL;
    TestDev *d;

    make_file("disk", 3 * REGION);
    if (!try_add(text, &err)) {
        g_test_skip(error_message(err));
        error_free(err);
        return;
    }
    d = make_dev("d");
    run_in_three(all_operations, d);
    g_assert_cmpint(blk_in_flight(d->blk), ==, 0);
    test_dev_free(d);
    del_node("d");
}

static void null_operations(Worker *w)
{
    BlockBackend *blk = ((TestDev *)w->opaque)->blk;
    uint8_t buf[BLOCK];

    for (int i = 0; i < 200; i++) {
        memset(buf, 1, sizeof(buf));
        g_assert_cmpint(do_read(blk, i * BLOCK, buf, BLOCK), ==, 0);
        g_assert_true(all_bytes(buf, BLOCK, 0));
        g_assert_cmpint(do_write(blk, i * BLOCK, buf, BLOCK), ==, 0);
        g_assert_cmpint(do_req(blk, BLK_OP_FLUSH, 0, 0, NULL, 0), ==, 0);
    }
}

static void test_null(gconstpointer data)
{
    g_autofree char *text = g_strdup_printf("%s,node-name=d,read-zeroes=on", (const char *)data);
    TestDev *d;

    add_node(text);
    d = make_dev("d");
    run_in_three(null_operations, d);
    test_dev_free(d);
    del_node("d");
}

/* With a latency, requests end in the order of their deadlines, and not before them. */
static void test_null_latency(void)
{
    TestDev *d;
    int64_t start;
    uint8_t buf[512];

    add_node("null-co,node-name=d,latency-ns=5000000");
    d = make_dev("d");
    start = aio_clock_ns(AIO_CLOCK_REALTIME);
    g_assert_cmpint(do_read(d->blk, 0, buf, 512), ==, 0);
    g_assert_cmpint(aio_clock_ns(AIO_CLOCK_REALTIME) - start, >=, 5000000);
    test_dev_free(d);
    del_node("d");
}

static void test_detect_zeroes(void)
{
    struct stat before, after;
    g_autofree uint8_t *buf = g_malloc(1024 * 1024);
    TestDev *d;

    make_file("disk", 4 * 1024 * 1024);
    add_node("raw,node-name=d,detect-zeroes=unmap,discard=unmap,file.driver=file,"
             "file.filename=disk");
    d = make_dev("d");
    memset(buf, 1, 1024 * 1024);
    g_assert_cmpint(do_write(d->blk, 0, buf, 1024 * 1024), ==, 0);
    g_assert_cmpint(do_req(d->blk, BLK_OP_FLUSH, 0, 0, NULL, 0), ==, 0);
    g_assert_cmpint(stat("disk", &before), ==, 0);
    memset(buf, 0, 1024 * 1024);
    g_assert_cmpint(do_write(d->blk, 0, buf, 1024 * 1024), ==, 0);
    g_assert_cmpint(stat("disk", &after), ==, 0);
    g_assert_cmpint(after.st_blocks, <, before.st_blocks);
    memset(buf, 1, 1024 * 1024);
    g_assert_cmpint(do_read(d->blk, 0, buf, 1024 * 1024), ==, 0);
    g_assert_true(all_bytes(buf, 1024 * 1024, 0));
    test_dev_free(d);
    del_node("d");
}

/* Without discard=unmap the file keeps its blocks. */
static void test_discard_ignored(void)
{
    struct stat before, after;
    g_autofree uint8_t *buf = g_malloc(1024 * 1024);
    TestDev *d;

    make_file("disk", 4 * 1024 * 1024);
    add_node("raw,node-name=d,file.driver=file,file.filename=disk");
    d = make_dev("d");
    memset(buf, 1, 1024 * 1024);
    g_assert_cmpint(do_write(d->blk, 0, buf, 1024 * 1024), ==, 0);
    g_assert_cmpint(do_req(d->blk, BLK_OP_FLUSH, 0, 0, NULL, 0), ==, 0);
    g_assert_cmpint(stat("disk", &before), ==, 0);
    g_assert_cmpint(do_req(d->blk, BLK_OP_DISCARD, 0, 0, NULL, 1024 * 1024), ==, 0);
    g_assert_cmpint(stat("disk", &after), ==, 0);
    g_assert_cmpint(after.st_blocks, ==, before.st_blocks);
    g_assert_cmpint(do_read(d->blk, 0, buf, 1024 * 1024), ==, 0);
    g_assert_true(all_bytes(buf, 1024 * 1024, 1));
    test_dev_free(d);
    del_node("d");
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    g_test_add_data_func("/block/engine/threads", "file.aio=threads", test_engine);
    g_test_add_data_func("/block/engine/threads-direct", "file.aio=threads,cache.direct=on",
                         test_engine);
    g_test_add_data_func("/block/engine/native", "file.aio=native,cache.direct=on", test_engine);
    g_test_add_data_func("/block/engine/native-batch-1",
                         "file.aio=native,cache.direct=on,file.aio-max-batch=1", test_engine);
    g_test_add_data_func("/block/engine/io_uring", "file.aio=io_uring", test_engine);
    g_test_add_data_func("/block/engine/io_uring-direct", "file.aio=io_uring,cache.direct=on",
                         test_engine);
    g_test_add_data_func("/block/engine/unsafe", "file.aio=threads,cache.no-flush=on", test_engine);
    g_test_add_data_func("/block/null-co", "null-co", test_null);
    g_test_add_data_func("/block/null-aio", "null-aio", test_null);
    g_test_add_data_func("/block/null-co-latency", "null-co,latency-ns=10000", test_null);
    g_test_add_func("/block/null-latency", test_null_latency);
    g_test_add_func("/block/detect-zeroes", test_detect_zeroes);
    g_test_add_func("/block/discard-ignored", test_discard_ignored);
    return fixture_run();
}
