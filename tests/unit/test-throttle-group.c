/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throttle groups in several threads: everybody progresses, requests end where they began, drains
 * and changes of limits set free. The clock is moved by the test. */
#include "block-fixture.h"
#include "qom/object.h"

#define S INT64_C(1000000000)

static void object_add(const char *text)
{
    g_autoptr(JsonNode) json = json_parse(text, &error_abort);

    user_object_add(json_node_get_object(json), QAPI_JSON, &error_abort);
}

static void object_del(const char *id)
{
    user_object_del(id, &error_abort);
}

static void set_limits(const char *text)
{
    g_autoptr(JsonNode) json = json_parse(text, &error_abort);

    object_property_set(object_resolve("/objects/tg", NULL), "limits", json, QAPI_JSON,
                        &error_abort);
}

static void step(int64_t ns)
{
    g_assert_true(aio_virtual_clock_set(aio_clock_ns(AIO_CLOCK_VIRTUAL) + ns));
}

/* Requests that one thread keeps in flight on one backend: each that ends is followed by another,
 * up to `left`. */
typedef struct Stream {
    BlockBackend *blk;
    AioContext *ctx;
    BlockOp op;
    int64_t bytes;
    int left; /* to be submitted; the context's own */
    int done; /* atomic */
    int failed; /* atomic */
    int in_flight; /* atomic */
} Stream;

typedef struct StreamReq {
    BlockRequest req;
    Stream *s;
    struct iovec iov;
    uint8_t buf[4096];
} StreamReq;

static void stream_submit(StreamReq *r);

static void stream_go_on(void *opaque)
{
    stream_submit(opaque);
    aio_virtual_clock_release();
}

static void stream_done(BlockRequest *req, int ret)
{
    StreamReq *r = (StreamReq *)req;
    Stream *s = r->s;

    g_assert_true(aio_in_context(s->ctx));
    __atomic_add_fetch(&s->done, 1, __ATOMIC_SEQ_CST);
    if (ret < 0) {
        __atomic_add_fetch(&s->failed, 1, __ATOMIC_SEQ_CST);
    }
    if (s->left > 0) {
        s->left--;
        /* Not from within: a disk without limits completes it at once, and so on. The clock waits
         * for it, so that nobody misses a turn. */
        aio_virtual_clock_hold();
        aio_call(s->ctx, stream_go_on, r);
    } else {
        g_free(r);
        __atomic_sub_fetch(&s->in_flight, 1, __ATOMIC_SEQ_CST);
        aio_kick(aio_context_main());
    }
}

static void stream_submit(StreamReq *r)
{
    r->iov = (struct iovec){ r->buf, (size_t)r->s->bytes };
    r->req = (BlockRequest){
        .op = r->s->op,
        .bytes = r->s->bytes,
        .iov = &r->iov,
        .niov = 1,
        .done = stream_done,
    };
    blk_submit(r->s->blk, &r->req);
}

static void stream_start_there(void *opaque)
{
    Stream *s = opaque;

    while (s->left > 0) {
        StreamReq *r = g_new0(StreamReq, 1);

        s->left--;
        r->s = s;
        __atomic_add_fetch(&s->in_flight, 1, __ATOMIC_SEQ_CST);
        stream_submit(r);
        if (s->in_flight >= 64) {
            break;
        }
    }
}

static void stream_start(Stream *s, BlockBackend *blk, AioContext *ctx, BlockOp op, int64_t bytes,
                         int count)
{
    *s = (Stream){ .blk = blk, .ctx = ctx, .op = op, .bytes = bytes, .left = count };
    aio_call_sync(ctx, stream_start_there, s);
}

static int done(Stream *s)
{
    return __atomic_load_n(&s->done, __ATOMIC_SEQ_CST);
}

static void stream_end(Stream *s)
{
    AIO_WAIT_WHILE(__atomic_load_n(&s->in_flight, __ATOMIC_SEQ_CST) > 0);
    g_assert_cmpint(s->failed, ==, 0);
}

#define THREADS 4

typedef struct Setup {
    IOThreadCore *t[THREADS];
    AioContext *ctx[THREADS + 1]; /* the last one is the main context */
    TestDev *dev[2];
} Setup;

static void setup(Setup *f, const char *limits)
{
    g_autofree char *object =
        g_strdup_printf("{'qom-type': 'throttle-group', 'id': 'tg', 'limits': %s}", limits);

    object_add(object);
    add_node("throttle,node-name=th0,throttle-group=tg,file.driver=null-co,file.size=1048576,"
             "file.read-zeroes=on");
    add_node("throttle,node-name=th1,throttle-group=tg,file.driver=null-co,file.size=1048576,"
             "file.read-zeroes=on");
    for (int i = 0; i < 2; i++) {
        f->dev[i] = make_dev(i ? "th1" : "th0");
    }
    for (int i = 0; i < THREADS; i++) {
        g_autofree char *id = g_strdup_printf("t%d", i);

        f->t[i] = iothread_core_start(id, NULL, &error_abort);
        f->ctx[i] = iothread_core_context(f->t[i]);
    }
    f->ctx[THREADS] = aio_context_main();
}

static void teardown(Setup *f)
{
    Error *err = NULL;

    expect_error(user_object_del("tg", &err), &err, "object 'tg' is in use, can not be deleted");
    for (int i = 0; i < 2; i++) {
        test_dev_free(f->dev[i]);
        del_node(i ? "th1" : "th0");
    }
    object_del("tg");
    for (int i = 0; i < THREADS; i++) {
        iothread_core_stop(f->t[i]);
    }
}

static void test_exact_rate_over_threads(void)
{
    Setup f;
    Stream s[THREADS + 1];
    int total = 0;

    setup(&f, "{'iops-total': 100}");
    for (int i = 0; i <= THREADS; i++) {
        stream_start(&s[i], f.dev[i % 2]->blk, f.ctx[i], i % 3 ? BLK_OP_READ : BLK_OP_WRITE, 512,
                     100000);
    }
    step(0);
    for (int i = 0; i <= THREADS; i++) {
        total += done(&s[i]);
    }
    g_assert_cmpint(total, ==, 11);
    for (int sec = 1; sec <= 10; sec++) {
        int now = 0;

        step(S);
        for (int i = 0; i <= THREADS; i++) {
            now += done(&s[i]);
        }
        g_assert_cmpint(now, ==, total + 100);
        total = now;
    }
    /* Nobody was left behind: 2 directions, and 2 or 3 threads in each line. */
    for (int i = 0; i <= THREADS; i++) {
        g_assert_cmpint(done(&s[i]), >=, total / 10);
        s[i].left = 0;
    }
    set_limits("{'iops-total': 0}");
    for (int i = 0; i <= THREADS; i++) {
        stream_end(&s[i]);
    }
    teardown(&f);
}

static void test_members_take_turns(void)
{
    Setup f;
    Stream s[THREADS + 1];

    /* One disk with four threads, another with one: each disk gets half. */
    setup(&f, "{'iops-write': 1000}");
    for (int i = 0; i <= THREADS; i++) {
        stream_start(&s[i], f.dev[i == THREADS]->blk, f.ctx[i], BLK_OP_WRITE, 4096, 100000);
    }
    step(10 * S);
    for (int i = 0; i < THREADS; i++) {
        /* What started at once, before there was a line, is not shared so evenly. */
        g_assert_cmpint(done(&s[i]), >=, 10000 / 8 - 130);
        g_assert_cmpint(done(&s[i]), <=, 10000 / 8 + 130);
    }
    g_assert_cmpint(done(&s[THREADS]), >=, 10000 / 2 - 130);
    g_assert_cmpint(done(&s[THREADS]), <=, 10000 / 2 + 130);
    for (int i = 0; i <= THREADS; i++) {
        s[i].left = 0;
    }
    set_limits("{'iops-write': 0}");
    for (int i = 0; i <= THREADS; i++) {
        stream_end(&s[i]);
    }
    teardown(&f);
}

static void test_drain_sets_free(void)
{
    Setup f;
    Stream a, b, c;

    setup(&f, "{'iops-total': 1}");
    stream_start(&a, f.dev[0]->blk, f.ctx[0], BLK_OP_WRITE, 512, 20);
    stream_start(&b, f.dev[0]->blk, f.ctx[1], BLK_OP_READ, 512, 20);
    stream_start(&c, f.dev[1]->blk, f.ctx[2], BLK_OP_READ, 512, 20);
    step(0);
    g_assert_cmpint(done(&a) + done(&b) + done(&c), ==, 1);
    /* The clock stands still, and yet it ends. What is drained passes, the other disk waits. */
    blk_drain_begin(f.dev[0]->blk);
    g_assert_cmpint(done(&a), ==, 20);
    g_assert_cmpint(done(&b), ==, 20);
    g_assert_cmpint(done(&c), <=, 1);
    blk_drain_end(f.dev[0]->blk);
    /* All that passed has been counted. */
    step(35 * S);
    g_assert_cmpint(done(&c), <=, 1);
    step(25 * S);
    g_assert_cmpint(done(&c), ==, 20);
    stream_end(&a);
    stream_end(&b);
    stream_end(&c);
    teardown(&f);
}

static void test_thread_of_the_alarm_goes(void)
{
    Setup f;
    Stream a, b;

    /* The next wake-up belongs to a thread whose requests are drained away, and which ends. */
    setup(&f, "{'iops-total': 1}");
    stream_start(&a, f.dev[0]->blk, f.ctx[0], BLK_OP_WRITE, 512, 3);
    stream_start(&b, f.dev[1]->blk, f.ctx[1], BLK_OP_WRITE, 512, 3);
    step(0);
    blk_drain_begin(f.dev[0]->blk);
    stream_end(&a);
    iothread_core_stop(f.t[0]);
    blk_drain_end(f.dev[0]->blk);
    step(10 * S);
    g_assert_cmpint(done(&b), ==, 3);
    stream_end(&b);
    f.t[0] = iothread_core_start("t0", NULL, &error_abort);
    teardown(&f);
}

static void test_limits_change_meanwhile(void)
{
    Setup f;
    Stream s[THREADS];
    int total = 0;

    setup(&f, "{}");
    for (int i = 0; i < THREADS; i++) {
        stream_start(&s[i], f.dev[i % 2]->blk, f.ctx[i], BLK_OP_WRITE, 4096, 20000);
    }
    for (int n = 0; n < 200; n++) {
        set_limits(n % 2 ? "{'iops-total': 0, 'bps-write': 1000000}"
                         : "{'iops-total': 5000, 'bps-write': 0}");
        step(n % 3 * S / 100);
        if (n % 7 == 0) {
            blk_drain_begin(f.dev[0]->blk);
            blk_drain_end(f.dev[0]->blk);
        }
        if (n % 11 == 0) {
            set_limits("{'iops-total': 0, 'bps-write': 0}");
        }
    }
    set_limits("{'iops-total': 0, 'bps-write': 0}");
    for (int i = 0; i < THREADS; i++) {
        stream_end(&s[i]);
        total += s[i].done;
    }
    g_assert_cmpint(total, ==, THREADS * 20000);
    teardown(&f);
}

static void test_both_directions_progress(void)
{
    Setup f;
    Stream a, b;

    /* One bucket for both; and a bucket that only one of them waits for. */
    setup(&f, "{'iops-total': 50, 'bps-read': 512}");
    stream_start(&a, f.dev[0]->blk, f.ctx[0], BLK_OP_WRITE, 512, 100000);
    stream_start(&b, f.dev[0]->blk, f.ctx[0], BLK_OP_READ, 512, 100000);
    step(20 * S);
    g_assert_cmpint(done(&b), ==, 21);
    g_assert_cmpint(done(&a) + done(&b), ==, 50 * 20 + 6);
    a.left = b.left = 0;
    set_limits("{'iops-total': 0, 'bps-read': 0}");
    stream_end(&a);
    stream_end(&b);
    teardown(&f);
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    aio_virtual_clock_set_manual();
    g_test_add_func("/throttle-group/exact-rate-over-threads", test_exact_rate_over_threads);
    g_test_add_func("/throttle-group/members-take-turns", test_members_take_turns);
    g_test_add_func("/throttle-group/both-directions-progress", test_both_directions_progress);
    g_test_add_func("/throttle-group/drain-sets-free", test_drain_sets_free);
    g_test_add_func("/throttle-group/thread-of-the-alarm-goes", test_thread_of_the_alarm_goes);
    g_test_add_func("/throttle-group/limits-change-meanwhile", test_limits_change_meanwhile);
    return fixture_run();
}
