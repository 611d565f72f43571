/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draining while contexts submit, parked requests, resizing and replacing nodes under load. */
#include <errno.h>

#include "block-fixture.h"

#define DEPTH 16

typedef struct Stream Stream;

typedef struct StreamReq {
    BlockRequest req;
    Stream *stream;
} StreamReq;

/* A stream of requests that keeps DEPTH of them going until it is told to stop. */
struct Stream {
    TestDev *dev;
    AioContext *ctx;
    StreamReq reqs[DEPTH];
    struct iovec iov[DEPTH];
    uint8_t *buf;
    unsigned going;
    int stop, ended; /* atomic */
    uint64_t completed; /* atomic */
};

static void stream_submit(Stream *s, int i);

static void stream_next(StreamReq *r)
{
    Stream *s = r->stream;

    s->going--;
    if (!__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST)) {
        stream_submit(s, (int)(r - s->reqs));
    } else if (s->going == 0) {
        __atomic_store_n(&s->ended, 1, __ATOMIC_SEQ_CST);
        aio_kick(aio_context_main());
    }
}

static void stream_resume(void *opaque)
{
    stream_next(opaque);
}

static void stream_done(BlockRequest *req, int ret)
{
    static __thread unsigned nesting;
    StreamReq *r = (StreamReq *)req;
    Stream *s = r->stream;

    g_assert_true(aio_in_context(s->ctx));
    /* -EIO: beyond the end of a disk that became smaller. */
    g_assert_true(ret == 0 || ret == -EIO);
    __atomic_add_fetch(&s->completed, 1, __ATOMIC_SEQ_CST);
    /* A request that is refused is done before blk_submit() returns. */
    if (nesting == 16) {
        aio_call(s->ctx, stream_resume, r);
        return;
    }
    nesting++;
    stream_next(r);
    nesting--;
}

static void stream_submit(Stream *s, int i)
{
    s->going++;
    s->iov[i] = (struct iovec){ s->buf + i * 4096, 4096 };
    s->reqs[i].stream = s;
    s->reqs[i].req = (BlockRequest){
        .op = i & 1 ? BLK_OP_READ : BLK_OP_WRITE,
        .offset = i * 4096,
        .bytes = 4096,
        .iov = &s->iov[i],
        .niov = 1,
        .done = stream_done,
    };
    blk_submit(s->dev->blk, &s->reqs[i].req);
}

static void stream_start(void *opaque)
{
    Stream *s = opaque;

    for (int i = 0; i < DEPTH; i++) {
        stream_submit(s, i);
    }
}

typedef struct Load {
    IOThreadCore *threads[2];
    Stream streams[2];
} Load;

static void load_start(Load *l, TestDev *d)
{
    for (int i = 0; i < 2; i++) {
        g_autofree char *id = g_strdup_printf("t%d", i);

        l->threads[i] = iothread_core_start(id, NULL, &error_abort);
        l->streams[i] = (Stream){
            .dev = d,
            .ctx = iothread_core_context(l->threads[i]),
            .buf = aligned_alloc(4096, DEPTH * 4096),
        };
        memset(l->streams[i].buf, 1, DEPTH * 4096);
        aio_call(l->streams[i].ctx, stream_start, &l->streams[i]);
    }
}

static void load_wait_progress(Load *l)
{
    for (int i = 0; i < 2; i++) {
        uint64_t from = __atomic_load_n(&l->streams[i].completed, __ATOMIC_SEQ_CST);

        while (__atomic_load_n(&l->streams[i].completed, __ATOMIC_SEQ_CST) < from + 2 * DEPTH) {
            g_usleep(100);
        }
    }
}

static void load_stop(Load *l)
{
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&l->streams[i].stop, 1, __ATOMIC_SEQ_CST);
    }
    for (int i = 0; i < 2; i++) {
        AIO_WAIT_WHILE(!__atomic_load_n(&l->streams[i].ended, __ATOMIC_SEQ_CST));
        iothread_core_stop(l->threads[i]);
        free(l->streams[i].buf);
    }
}

static uint64_t load_completed(Load *l)
{
    return __atomic_load_n(&l->streams[0].completed, __ATOMIC_SEQ_CST) +
           __atomic_load_n(&l->streams[1].completed, __ATOMIC_SEQ_CST);
}

static void with_load(const char *node, void (*fn)(Load *l, TestDev *d))
{
    Load l;
    TestDev *d;

    make_file("disk", 1024 * 1024);
    add_node(node);
    d = make_dev("d");
    load_start(&l, d);
    load_wait_progress(&l);
    fn(&l, d);
    load_stop(&l);
    g_assert_cmpint(blk_in_flight(d->blk), ==, 0);
    g_assert_cmpint(d->drained, ==, 0);
    test_dev_free(d);
    del_node("d");
}

static void drain_often(Load *l, TestDev *d)
{
    for (int i = 0; i < 200; i++) {
        uint64_t quiet;

        blk_drain_begin(d->blk);
        g_assert_cmpint(blk_in_flight(d->blk), ==, 0);
        g_assert_cmpint(d->drained, ==, 1);
        quiet = load_completed(l);
        if (i % 20 == 0) {
            g_usleep(1000);
            blk_drain_begin(d->blk);
            blk_drain_end(d->blk);
        }
        g_assert_cmpuint(load_completed(l), ==, quiet);
        g_assert_cmpint(blk_in_flight(d->blk), ==, 0);
        blk_drain_end(d->blk);
        if (i % 20 == 0) {
            load_wait_progress(l);
        }
    }
    for (int i = 0; i < 20; i++) {
        g_assert_cmpint(blk_flush_all(), ==, 0);
    }
}

static void test_drain(gconstpointer data)
{
    if (strstr(data, "io_uring") && !aio_has_uring(aio_context_main())) {
        g_test_skip("no io_uring");
        return;
    }
    with_load(data, drain_often);
}

static void resize_often(Load *l, TestDev *d)
{
    for (int i = 0; i < 100; i++) {
        g_assert_true(block_resize(NULL, "d", i & 1 ? 1024 * 1024 : 32 * 1024, &error_abort));
    }
    g_assert_cmpint(d->resized, ==, 100);
    load_wait_progress(l);
}

static void test_resize(void)
{
    with_load("raw,node-name=d,file.driver=file,file.filename=disk", resize_often);
}

static void replace_often(Load *l, TestDev *d)
{
    add_node("null-co,node-name=n,read-zeroes=on");
    for (int i = 0; i < 100; i++) {
        g_assert_true(blk_replace(d->blk, i & 1 ? "d" : "n", &error_abort));
        g_assert_cmpstr(blk_name(d->blk), ==, i & 1 ? "d" : "n");
    }
    load_wait_progress(l);
    del_node("n");
}

static void test_replace(void)
{
    with_load("raw,node-name=d,file.driver=file,file.filename=disk", replace_often);
}

/* A file that is opened for reading until somebody needs to write: the change of descriptors
 * happens while another disk reads. */
static void test_auto_read_only(void)
{
    Error *err = NULL;
    TestDev *reader, *writer;
    uint8_t buf[512] = { 5 };

    make_file("disk", 65536);
    add_node("file,node-name=f,filename=disk,auto-read-only=on");
    add_node("raw,node-name=r,file=f,read-only=on");
    add_node("raw,node-name=w,file=f");
    reader = try_dev("r", "r", true, &err);
    g_assert_nonnull(reader);
    for (int i = 0; i < 20; i++) {
        writer = try_dev("w", "w", true, &err);
        g_assert_nonnull(writer);
        buf[0] = (uint8_t)i;
        g_assert_cmpint(do_write(writer->blk, 0, buf, 512), ==, 0);
        test_dev_free(writer);
        g_assert_cmpint(do_read(reader->blk, 0, buf, 512), ==, 0);
        g_assert_cmpint(buf[0], ==, i);
    }
    test_dev_free(reader);
    del_node("r");
    del_node("w");
    del_node("f");
}

/* What is submitted during a drain goes on afterwards, in its own context and in order. */
static int parked_order[4], parked_n;

static void parked_done(BlockRequest *req, int ret)
{
    g_assert_cmpint(ret, ==, 0);
    g_assert_true(aio_in_main_thread());
    parked_order[parked_n++] = (int)(req->offset / 512);
}

static void test_parked(void)
{
    BlockRequest reqs[4];
    TestDev *d;

    add_node("null-co,node-name=d");
    d = make_dev("d");
    blk_drain_all_begin();
    blk_drain_begin(d->blk);
    for (int i = 0; i < 4; i++) {
        reqs[i] = (BlockRequest){
            .op = BLK_OP_DISCARD, .offset = i * 512, .bytes = 512, .done = parked_done
        };
        blk_submit(d->blk, &reqs[i]);
    }
    g_assert_cmpint(blk_in_flight(d->blk), ==, 0);
    blk_drain_end(d->blk);
    while (aio_poll(aio_context_main(), false)) {
    }
    g_assert_cmpint(parked_n, ==, 0);
    blk_drain_all_end();
    AIO_WAIT_WHILE(parked_n < 4);
    for (int i = 0; i < 4; i++) {
        g_assert_cmpint(parked_order[i], ==, i);
    }
    test_dev_free(d);
    del_node("d");
}

static void dec_later(void *opaque)
{
    blk_dec_in_flight(opaque);
}

/* Something that will become a request later holds a drain up. */
static void test_scheduled_retry(void)
{
    IOThreadCore *t = iothread_core_start("t0", NULL, &error_abort);
    TestDev *d;

    add_node("null-co,node-name=d");
    d = make_dev("d");
    for (int i = 0; i < 100; i++) {
        blk_inc_in_flight(d->blk);
        aio_call(iothread_core_context(t), dec_later, d->blk);
        blk_drain(d->blk);
        g_assert_cmpint(blk_in_flight(d->blk), ==, 0);
    }
    iothread_core_stop(t);
    test_dev_free(d);
    del_node("d");
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    g_test_add_data_func("/block/drain/null-co", "null-co,node-name=d,latency-ns=20000",
                         test_drain);
    g_test_add_data_func("/block/drain/null-aio", "null-aio,node-name=d", test_drain);
    g_test_add_data_func("/block/drain/threads",
                         "raw,node-name=d,file.driver=file,file.filename=disk", test_drain);
    g_test_add_data_func("/block/drain/native",
                         "raw,node-name=d,file.driver=file,file.filename=disk,file.aio=native,"
                         "cache.direct=on",
                         test_drain);
    g_test_add_data_func("/block/drain/io_uring",
                         "raw,node-name=d,file.driver=file,file.filename=disk,file.aio=io_uring",
                         test_drain);
    g_test_add_func("/block/resize-under-load", test_resize);
    g_test_add_func("/block/replace-under-load", test_replace);
    g_test_add_func("/block/auto-read-only", test_auto_read_only);
    g_test_add_func("/block/parked", test_parked);
    g_test_add_func("/block/scheduled-retry", test_scheduled_retry);
    return fixture_run();
}
