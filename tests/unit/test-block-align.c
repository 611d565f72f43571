/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes that are smaller than the blocks of an O_DIRECT file: neighbours are never lost. */
#include <stdio.h>

#include "block-fixture.h"

#define SECTORS 3072

static uint8_t pattern(int64_t sector, unsigned round)
{
    return (uint8_t)(sector * 7 + round * 31 + 1);
}

/* Each context writes every third sector, many requests at a time: all of them share blocks with
 * requests of other contexts. */
static void interleaved(Worker *w)
{
    enum { DEPTH = 32 };
    BlockBackend *blk = ((TestDev *)w->opaque)->blk;
    TestReq reqs[DEPTH] = { 0 };
    struct iovec iov[DEPTH];
    uint8_t *buf = aligned_alloc(4096, DEPTH * 512);

    for (unsigned round = 0; round < 2; round++) {
        for (int64_t s = w->index; s < SECTORS; s += 3 * DEPTH) {
            for (int i = 0; i < DEPTH; i++) {
                int64_t sector = s + 3 * i;

                reqs[i] = (TestReq){ .ctx = aio_context_current() };
                if (sector >= SECTORS) {
                    reqs[i].done = true;
                    continue;
                }
                memset(buf + i * 512, pattern(sector, round), 512);
                iov[i] = (struct iovec){ buf + i * 512, 512 };
                reqs[i].req = (BlockRequest){
                    .op = BLK_OP_WRITE,
                    .offset = sector * 512,
                    .bytes = 512,
                    .iov = &iov[i],
                    .niov = 1,
                    .done = test_req_done,
                };
                blk_submit(blk, &reqs[i].req);
            }
            for (int i = 0; i < DEPTH; i++) {
                AIO_WAIT_WHILE(!reqs[i].done);
                g_assert_cmpint(reqs[i].ret, ==, 0);
            }
        }
    }
    free(buf);
}

static void check_interleaved(BlockBackend *blk)
{
    uint8_t buf[512];

    for (int64_t s = 0; s < SECTORS; s++) {
        g_assert_cmpint(do_read(blk, s * 512, buf, 512), ==, 0);
        g_assert_true(all_bytes(buf, 512, pattern(s, 1)));
    }
}

/* Sectors that lie across the blocks of the file, whatever its block size is. */
static void test_shifted(gconstpointer data)
{
    g_autofree char *text = g_strdup_printf("raw,node-name=d,offset=100,file.driver=file,"
                                            "file.filename=disk,file.cache.direct=on,file.aio=%s",
                                            (const char *)data);
    Error *err = NULL;
    TestDev *d;

    make_file("disk", SECTORS * 512 + 512);
    if (!try_add(text, &err)) {
        g_test_skip(error_message(err));
        error_free(err);
        return;
    }
    d = make_dev("d");
    run_in_three(interleaved, d);
    check_interleaved(d->blk);
    test_dev_free(d);
    del_node("d");
}

/* One context writes whole blocks, through a second disk on the same file, while others write parts
 * of blocks next to them. */
typedef struct Mixed {
    TestDev *whole, *parts;
} Mixed;

static void mixed(Worker *w)
{
    Mixed *m = w->opaque;
    uint8_t *buf = aligned_alloc(4096, 4096);

    for (int i = 0; i < 400; i++) {
        int64_t at = (int64_t)(i % 16) * 8192;

        if (w->index == 0) {
            memset(buf, 0x11, 4096);
            g_assert_cmpint(do_write(m->whole->blk, at, buf, 4096), ==, 0);
        } else {
            /* Begins 100 bytes into the last block before the next 4096, in the file's terms. */
            memset(buf, 0x22, 512);
            g_assert_cmpint(do_write(m->parts->blk, at + 4096, buf, 512), ==, 0);
        }
    }
    free(buf);
}

static void test_whole_and_parts(void)
{
    Mixed m;
    Error *err = NULL;
    uint8_t *buf = aligned_alloc(4096, 8192);

    make_file("disk", 256 * 1024);
    if (!try_add("file,node-name=f,filename=disk,cache.direct=on,aio=io_uring", &err) &&
        (error_free(err), err = NULL,
         !try_add("file,node-name=f,filename=disk,cache.direct=on", &err))) {
        g_test_skip(error_message(err));
        error_free(err);
        free(buf);
        return;
    }
    add_node("raw,node-name=a,file=f");
    add_node("raw,node-name=b,file=f,offset=100");
    m.whole = try_dev("a", "a", true, &err);
    m.parts = try_dev("b", "b", true, &err);
    g_assert_true(m.whole && m.parts);
    run_in_three(mixed, &m);
    for (int i = 0; i < 16; i++) {
        g_assert_cmpint(do_read(m.whole->blk, i * 8192, buf, 8192), ==, 0);
        g_assert_true(all_bytes(buf, 4096, 0x11));
        g_assert_true(all_bytes(buf + 4096, 100, 0));
        g_assert_true(all_bytes(buf + 4196, 512, 0x22));
        g_assert_true(all_bytes(buf + 4708, 8192 - 4708, 0));
    }
    test_dev_free(m.whole);
    test_dev_free(m.parts);
    del_node("a");
    del_node("b");
    del_node("f");
    free(buf);
}

/* The file does not become longer than the disk. */
static void test_tail(void)
{
    uint8_t *buf = aligned_alloc(4096, 8192);
    Error *err = NULL;
    TestDev *d;
    GStatBuf st;

    make_file("disk", 64 * 1024 + 300);
    if (!try_add("raw,node-name=d,offset=100,file.driver=file,file.filename=disk,"
                 "file.cache.direct=on", &err)) {
        g_test_skip(error_message(err));
        error_free(err);
        free(buf);
        return;
    }
    d = make_dev("d");
    /* 65836 bytes are 129 sectors of file; from byte 100 on, 129 sectors again, rounded up. */
    g_assert_cmpint(blk_length(d->blk), ==, 129 * 512);
    memset(buf, 0x5a, 8192);
    g_assert_cmpint(do_write(d->blk, 128 * 512 - 512, buf, 512), ==, 0);
    g_assert_cmpint(do_write(d->blk, 127 * 512, buf, 512), ==, 0);
    g_assert_cmpint(g_stat("disk", &st), ==, 0);
    g_assert_cmpint(st.st_size, <=, 129 * 512);
    memset(buf, 0, 8192);
    g_assert_cmpint(do_read(d->blk, 127 * 512, buf, 1024), ==, 0);
    g_assert_true(all_bytes(buf, 512, 0x5a));
    test_dev_free(d);
    del_node("d");
    free(buf);
}

static char *run_command(const char *cmd)
{
    g_autofree char *out = NULL;
    int status = -1;

    if (!g_spawn_command_line_sync(cmd, &out, NULL, &status, NULL) || status != 0) {
        return NULL;
    }
    return g_strdup(g_strstrip(out));
}

/* A device with blocks of 4 KiB under a disk with sectors of 512 bytes. */
static void test_4k_device(gconstpointer data)
{
    g_autofree char *dev = NULL, *text = NULL, *detach = NULL, *undo = NULL;
    uint32_t logical, physical;
    TestDev *d;

    if (strcmp(data, "io_uring") == 0 && !aio_has_uring(aio_context_main())) {
        g_test_skip("no io_uring");
        return;
    }
    make_file("loop", 4 * 1024 * 1024);
    dev = run_command("losetup --sector-size 4096 --show -f loop");
    if (!dev) {
        g_test_skip("no loop device with 4 KiB sectors can be made here");
        return;
    }
    detach = g_strdup_printf("losetup -d %s", dev);
    text = g_strdup_printf("host_device,node-name=d,filename=%s,cache.direct=on,discard=unmap,"
                           "aio=%s", dev, (const char *)data);
    add_node(text);
    /* It goes away for good when it is closed, even if this test fails. */
    undo = run_command(detach);
    d = make_dev("d");
    g_assert_cmpint(blk_request_alignment(d->blk), ==, 4096);
    blk_probe_blocksizes(d->blk, &logical, &physical);
    g_assert_true(logical == 0 && physical == 0);
    run_in_three(interleaved, d);
    check_interleaved(d->blk);
    /* Zeroes and discards that are not whole blocks. */
    g_assert_cmpint(do_req(d->blk, BLK_OP_WRITE_ZEROES, 0, 512 * 3, NULL, 512 * 30), ==, 0);
    g_assert_cmpint(do_req(d->blk, BLK_OP_DISCARD, 0, 512 * 101, NULL, 512 * 3), ==, 0);
    for (int64_t s = 0; s < 200; s++) {
        uint8_t buf[512];

        g_assert_cmpint(do_read(d->blk, s * 512, buf, 512), ==, 0);
        g_assert_true(all_bytes(buf, 512, s >= 3 && s < 33 ? 0 : pattern(s, 1)));
    }
    test_dev_free(d);
    del_node("d");
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    g_test_add_data_func("/block/align/shifted/threads", "threads", test_shifted);
    g_test_add_data_func("/block/align/shifted/native", "native", test_shifted);
    g_test_add_data_func("/block/align/shifted/io_uring", "io_uring", test_shifted);
    g_test_add_func("/block/align/whole-and-parts", test_whole_and_parts);
    g_test_add_func("/block/align/tail", test_tail);
    g_test_add_data_func("/block/align/4k-device/threads", "threads", test_4k_device);
    g_test_add_data_func("/block/align/4k-device/native", "native", test_4k_device);
    g_test_add_data_func("/block/align/4k-device/io_uring", "io_uring", test_4k_device);
    return fixture_run();
}
