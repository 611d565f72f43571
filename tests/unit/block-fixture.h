/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_BLOCK_FIXTURE_H
#define TESTS_UNIT_BLOCK_FIXTURE_H

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block/block.h"
#include "qapi/qapi-block-core.h"
#include "qapi/keyval.h"
#include "util/biglock.h"
#include "util/iothread.h"
#include "util/report.h"

/* What the tests of the block layer share: a directory, nodes, backends, requests. */

static char *fixture_dir;

static inline void fixture_init(int *argc, char ***argv)
{
    g_test_init(argc, argv, NULL);
    report_init("test");
    big_lock();
    g_assert_true(aio_main_init(NULL));
    fixture_dir = g_dir_make_tmp("spindle-block-XXXXXX", NULL);
    g_assert_nonnull(fixture_dir);
    g_assert_cmpint(g_chdir(fixture_dir), ==, 0);
}

static inline int fixture_run(void)
{
    int ret = g_test_run();
    g_autofree char *cmd = g_strdup_printf("rm -rf '%s'", fixture_dir);

    block_close_all();
    g_assert_cmpint(system(cmd), ==, 0);
    return ret;
}

static inline void make_file(const char *name, off_t size)
{
    g_assert_true(g_file_set_contents(name, "", 0, NULL));
    g_assert_cmpint(truncate(name, size), ==, 0);
}

/* -blockdev in its key=value form. */
static inline bool try_add(const char *text, Error **errp)
{
    g_autoptr(JsonNode) json = keyval_parse(text, "driver", NULL, errp);

    return json && blockdev_add_options(json, QAPI_KEYVAL, errp);
}

static inline void add_node(const char *text)
{
    Error *err = NULL;

    if (!try_add(text, &err)) {
        g_error("%s: %s", text, error_message(err));
    }
}

/* Of a call that was given `err`, which is NULL again afterwards. */
static inline void expect_error(bool ok, Error **err, const char *text)
{
    g_assert_false(ok);
    g_assert_nonnull(*err);
    g_assert_cmpstr(error_message(*err), ==, text);
    g_clear_pointer(err, error_free);
}

/* ---- a device ---- */

typedef struct TestDev {
    BlockBackend *blk;
    const char *path;
    int resized, drained;
} TestDev;

static inline void test_dev_resized(void *opaque)
{
    ((TestDev *)opaque)->resized++;
}

static inline void test_dev_drained_begin(void *opaque)
{
    ((TestDev *)opaque)->drained++;
}

static inline void test_dev_drained_end(void *opaque)
{
    ((TestDev *)opaque)->drained--;
}

static inline char *test_dev_path(void *opaque)
{
    return g_strdup(((TestDev *)opaque)->path);
}

static const BlkDevOps test_dev_ops = {
    .resized = test_dev_resized,
    .drained_begin = test_dev_drained_begin,
    .drained_end = test_dev_drained_end,
    .dev_path = test_dev_path,
};

static inline void test_dev_free(TestDev *d)
{
    blk_detach_dev(d->blk);
    blk_unref(d->blk);
    g_free(d);
}

/* As a disk device asks for its permissions. */
static inline TestDev *try_dev(const char *drive, const char *path, bool share, Error **errp)
{
    TestDev *d = g_new0(TestDev, 1);
    unsigned perm = BLK_PERM_READ;
    unsigned shared = BLK_PERM_READ | BLK_PERM_WRITE_UNCHANGED | BLK_PERM_RESIZE;

    d->path = path;
    d->blk = blk_for_device(drive, "virtio-blk-device", errp);
    if (!d->blk) {
        g_free(d);
        return NULL;
    }
    blk_attach_dev(d->blk, &test_dev_ops, d);
    perm |= blk_is_read_only(d->blk) ? 0 : BLK_PERM_WRITE;
    shared |= share ? BLK_PERM_WRITE : 0;
    if (!blk_set_perm(d->blk, perm, shared, errp)) {
        test_dev_free(d);
        return NULL;
    }
    return d;
}

static inline TestDev *make_dev(const char *drive)
{
    Error *err = NULL;
    TestDev *d = try_dev(drive, "/machine/peripheral/v0", true, &err);

    if (!d) {
        g_error("%s: %s", drive, error_message(err));
    }
    return d;
}

static inline void del_node(const char *name)
{
    Error *err = NULL;

    if (!drive_del(name, &err)) {
        g_error("%s: %s", name, error_message(err));
    }
}

/* ---- one request, waited for in the context that submits it ---- */

typedef struct TestReq {
    BlockRequest req;
    AioContext *ctx;
    int ret;
    bool done;
} TestReq;

static inline void test_req_done(BlockRequest *req, int ret)
{
    TestReq *t = (TestReq *)req;

    g_assert_true(aio_in_context(t->ctx));
    g_assert_false(t->done);
    t->ret = ret;
    t->done = true;
}

static inline int do_iov(BlockBackend *blk, BlockOp op, unsigned flags, int64_t offset,
                         const struct iovec *iov, int niov, int64_t bytes)
{
    TestReq t = {
        .req = {
            .op = op,
            .flags = flags,
            .offset = offset,
            .bytes = bytes,
            .iov = iov,
            .niov = niov,
            .done = test_req_done,
        },
        .ctx = aio_context_current(),
    };

    blk_submit(blk, &t.req);
    AIO_WAIT_WHILE(!t.done);
    return t.ret;
}

static inline int do_req(BlockBackend *blk, BlockOp op, unsigned flags, int64_t offset, void *buf,
                         int64_t bytes)
{
    struct iovec iov = { buf, (size_t)bytes };

    return do_iov(blk, op, flags, offset, &iov, buf ? 1 : 0, bytes);
}

static inline int do_read(BlockBackend *blk, int64_t offset, void *buf, int64_t bytes)
{
    return do_req(blk, BLK_OP_READ, 0, offset, buf, bytes);
}

static inline int do_write(BlockBackend *blk, int64_t offset, void *buf, int64_t bytes)
{
    return do_req(blk, BLK_OP_WRITE, 0, offset, buf, bytes);
}

static inline bool all_bytes(const uint8_t *p, size_t n, uint8_t v)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != v) {
            return false;
        }
    }
    return true;
}

/* ---- the same function in the main context and two IOThreads at once ---- */

typedef struct Worker {
    int index; /* 0: main */
    void (*fn)(struct Worker *w);
    void *opaque;
    int running; /* atomic */
} Worker;

static inline void worker_run(void *opaque)
{
    Worker *w = opaque;

    w->fn(w);
    __atomic_store_n(&w->running, 0, __ATOMIC_SEQ_CST);
    aio_kick(aio_context_main());
}

static inline void run_in_three(void (*fn)(Worker *w), void *opaque)
{
    IOThreadCore *t[2];
    Worker w[3];

    for (int i = 0; i < 3; i++) {
        w[i] = (Worker){ i, fn, opaque, 1 };
    }
    for (int i = 0; i < 2; i++) {
        g_autofree char *id = g_strdup_printf("t%d", i);

        t[i] = iothread_core_start(id, NULL, &error_abort);
        aio_call(iothread_core_context(t[i]), worker_run, &w[i + 1]);
    }
    worker_run(&w[0]);
    for (int i = 1; i < 3; i++) {
        AIO_WAIT_WHILE(__atomic_load_n(&w[i].running, __ATOMIC_SEQ_CST));
    }
    for (int i = 0; i < 2; i++) {
        iothread_core_stop(t[i]);
    }
}

#endif
