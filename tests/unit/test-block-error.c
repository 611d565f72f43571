/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error policies, io-status, the event; counters. */
#include <errno.h>

#include "block-fixture.h"

static GString *events;
static int stops;

static void event_sink(const char *name, JsonNode *data)
{
    g_autofree char *text = json_write(data, false);

    g_string_append_printf(events, "%s %s|", name, text);
    json_node_unref(data);
}

static void stop_hook(void)
{
    g_string_append(events, "stop|");
    stops++;
}

static void run_main(void)
{
    while (aio_poll(aio_context_main(), false)) {
    }
}

static const struct {
    BlockOnError rerror, werror;
    bool is_read;
    int err;
    BlockAction action;
} policies[] = {
    { BLK_ON_ERROR_AUTO, BLK_ON_ERROR_AUTO, true, EIO, BLK_ACTION_REPORT },
    { BLK_ON_ERROR_AUTO, BLK_ON_ERROR_AUTO, true, ENOSPC, BLK_ACTION_REPORT },
    { BLK_ON_ERROR_AUTO, BLK_ON_ERROR_AUTO, false, EIO, BLK_ACTION_REPORT },
    { BLK_ON_ERROR_AUTO, BLK_ON_ERROR_AUTO, false, ENOSPC, BLK_ACTION_STOP },
    { BLK_ON_ERROR_REPORT, BLK_ON_ERROR_REPORT, false, ENOSPC, BLK_ACTION_REPORT },
    { BLK_ON_ERROR_IGNORE, BLK_ON_ERROR_IGNORE, true, EIO, BLK_ACTION_IGNORE },
    { BLK_ON_ERROR_IGNORE, BLK_ON_ERROR_IGNORE, false, ENOSPC, BLK_ACTION_IGNORE },
    { BLK_ON_ERROR_STOP, BLK_ON_ERROR_STOP, true, EIO, BLK_ACTION_STOP },
    { BLK_ON_ERROR_STOP, BLK_ON_ERROR_STOP, false, EIO, BLK_ACTION_STOP },
    { BLK_ON_ERROR_ENOSPC, BLK_ON_ERROR_ENOSPC, true, ENOSPC, BLK_ACTION_STOP },
    { BLK_ON_ERROR_ENOSPC, BLK_ON_ERROR_ENOSPC, true, EIO, BLK_ACTION_REPORT },
};

static void test_policies(void)
{
    TestDev *d;

    add_node("null-co,node-name=d");
    d = make_dev("d");
    for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
        blk_set_on_error(d->blk, policies[i].rerror, policies[i].werror);
        g_assert_cmpint(blk_error_action(d->blk, policies[i].is_read, -policies[i].err), ==,
                        policies[i].action);
    }
    test_dev_free(d);
    del_node("d");
}

/* What -drive says counts where the device leaves it open. */
static void test_drive_policy(void)
{
    g_autoptr(Opts) opts = opts_parse("if=none,id=x,driver=null-co,werror=stop,rerror=ignore",
                                      NULL, NULL, &error_abort);
    TestDev *d;

    drive_new(opts, "none", &error_abort);
    d = make_dev("x");
    blk_set_on_error(d->blk, BLK_ON_ERROR_AUTO, BLK_ON_ERROR_AUTO);
    g_assert_cmpint(blk_error_action(d->blk, true, -EIO), ==, BLK_ACTION_IGNORE);
    g_assert_cmpint(blk_error_action(d->blk, false, -EIO), ==, BLK_ACTION_STOP);
    blk_set_on_error(d->blk, BLK_ON_ERROR_REPORT, BLK_ON_ERROR_REPORT);
    g_assert_cmpint(blk_error_action(d->blk, true, -EIO), ==, BLK_ACTION_REPORT);
    g_assert_cmpint(blk_error_action(d->blk, false, -EIO), ==, BLK_ACTION_REPORT);
    test_dev_free(d);
    del_node("x");
}

static BlockInfo *query_first(GPtrArray **list)
{
    *list = qmp_query_block(&error_abort);
    g_assert_cmpint((*list)->len, ==, 1);
    return g_ptr_array_index(*list, 0);
}

static void check_event(const char *expected)
{
    g_autoptr(JsonNode) want = NULL, got = NULL;
    char *space = strchr(events->str, ' '), *end = strchr(events->str, '|');

    g_assert_true(g_str_has_prefix(events->str, "BLOCK_IO_ERROR "));
    *end = '\0';
    got = json_parse(space + 1, &error_abort);
    want = json_parse(expected, &error_abort);
    g_assert_true(json_node_equal(got, want));
}

static void apply_in_thread(void *opaque)
{
    blk_error_apply(opaque, BLK_ACTION_STOP, false, -ENOSPC);
}

static void test_event(void)
{
    IOThreadCore *t = iothread_core_start("t0", NULL, &error_abort);
    GPtrArray *list;
    BlockInfo *info;
    TestDev *d;

    events = g_string_new(NULL);
    qapi_event_set_sink(event_sink);
    blk_vm_stop_hook = stop_hook;
    add_node("null-co,node-name=d");
    d = make_dev("d");

    blk_set_on_error(d->blk, BLK_ON_ERROR_REPORT, BLK_ON_ERROR_REPORT);
    blk_error_apply(d->blk, BLK_ACTION_REPORT, true, -EIO);
    g_assert_cmpint(events->len, ==, 0);
    run_main();
    check_event("{'device': '', 'node-name': 'd', 'qom-path': '/machine/peripheral/v0', "
                "'reason': 'Input/output error', 'operation': 'read', 'action': 'report'}");
    info = query_first(&list);
    g_assert_false(info->has_io_status);
    g_ptr_array_unref(list);

    g_string_truncate(events, 0);
    blk_set_on_error(d->blk, BLK_ON_ERROR_AUTO, BLK_ON_ERROR_AUTO);
    info = query_first(&list);
    g_assert_true(info->has_io_status && info->io_status == BLOCK_DEVICE_IO_STATUS_OK);
    g_ptr_array_unref(list);
    aio_call(iothread_core_context(t), apply_in_thread, d->blk);
    AIO_WAIT_WHILE(stops == 0);
    g_assert_true(g_str_has_suffix(events->str, "|stop|"));
    check_event("{'device': '', 'node-name': 'd', 'qom-path': '/machine/peripheral/v0', "
                "'reason': 'No space left on device', 'operation': 'write', 'action': 'stop', "
                "'nospace': true}");
    info = query_first(&list);
    g_assert_cmpint(info->io_status, ==, BLOCK_DEVICE_IO_STATUS_NOSPACE);
    g_ptr_array_unref(list);
    /* A disk that is no -drive remembers its last failure. */
    blk_iostatus_reset_all();
    info = query_first(&list);
    g_assert_cmpint(info->io_status, ==, BLOCK_DEVICE_IO_STATUS_NOSPACE);
    g_ptr_array_unref(list);
    /* A failure that is reported after the machine has been started again does not stop it. */
    blk_error_apply(d->blk, BLK_ACTION_STOP, false, -ENOSPC);
    blk_error_forget_stops();
    run_main();
    g_assert_cmpint(stops, ==, 1);

    iothread_core_stop(t);
    test_dev_free(d);
    del_node("d");
    qapi_event_set_sink(NULL);
    blk_vm_stop_hook = NULL;
    g_string_free(events, TRUE);
}

static void some_requests(Worker *w)
{
    BlockBackend *blk = ((TestDev *)w->opaque)->blk;
    uint8_t buf[8192] = { 0 };

    for (int i = 0; i < 10; i++) {
        g_assert_cmpint(do_write(blk, (w->index * 10 + i) * 4096, buf, 4096), ==, 0);
        g_assert_cmpint(do_read(blk, 0, buf, 8192), ==, 0);
    }
    g_assert_cmpint(do_req(blk, BLK_OP_DISCARD, 0, 0, NULL, 512), ==, 0);
    g_assert_cmpint(do_req(blk, BLK_OP_FLUSH, 0, 0, NULL, 0), ==, 0);
    g_assert_cmpint(do_read(blk, INT64_C(1) << 40, buf, 512), ==, -EIO);
    blk_account_failed(blk, BLK_OP_READ);
    blk_account_invalid(blk, BLK_OP_WRITE);
    blk_account_merged(blk, BLK_OP_WRITE, 3);
}

static void test_counters(void)
{
    q_query_blockstats_args args = { 0 };
    GPtrArray *list;
    BlockDeviceStats *st;
    TestDev *d;

    make_file("disk", 1024 * 1024);
    add_node("file,node-name=f,filename=disk,discard=unmap");
    add_node("raw,node-name=d,file=f,offset=512,discard=unmap");
    d = make_dev("d");
    list = qmp_query_blockstats(&args, &error_abort);
    st = ((BlockStats *)g_ptr_array_index(list, 0))->stats;
    g_assert_false(st->has_idle_time_ns);
    g_assert_true(st->account_failed && st->account_invalid);
    g_ptr_array_unref(list);

    run_in_three(some_requests, d);
    list = qmp_query_blockstats(&args, &error_abort);
    g_assert_cmpint(list->len, ==, 1);
    {
        BlockStats *bs = g_ptr_array_index(list, 0);

        st = bs->stats;
        g_assert_cmpstr(bs->node_name, ==, "d");
        g_assert_cmpstr(bs->parent->node_name, ==, "f");
        g_assert_cmpint(bs->parent->stats->wr_highest_offset, ==, 30 * 4096 + 512);
        g_assert_cmpint(bs->parent->driver_specific->u.file.discard_nb_ok, ==, 3);
        g_assert_cmpint(bs->parent->driver_specific->u.file.discard_bytes_ok, ==, 3 * 512);
    }
    g_assert_cmpint(st->rd_operations, ==, 30);
    g_assert_cmpint(st->rd_bytes, ==, 30 * 8192);
    g_assert_cmpint(st->wr_operations, ==, 30 + 9);
    g_assert_cmpint(st->wr_bytes, ==, 30 * 4096);
    g_assert_cmpint(st->wr_merged, ==, 9);
    g_assert_cmpint(st->unmap_operations, ==, 3);
    g_assert_cmpint(st->unmap_bytes, ==, 3 * 512);
    g_assert_cmpint(st->flush_operations, ==, 3);
    g_assert_cmpint(st->failed_rd_operations, ==, 3);
    g_assert_cmpint(st->invalid_wr_operations, ==, 3);
    g_assert_cmpint(st->wr_highest_offset, ==, 30 * 4096);
    g_assert_cmpint(st->rd_total_time_ns, >, 0);
    g_assert_cmpint(st->wr_total_time_ns, >, 0);
    g_assert_true(st->has_idle_time_ns);
    g_ptr_array_unref(list);
    test_dev_free(d);
    del_node("d");
    del_node("f");
}

int main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    g_test_add_func("/block/error/policies", test_policies);
    g_test_add_func("/block/error/drive-policy", test_drive_policy);
    g_test_add_func("/block/error/event", test_event);
    g_test_add_func("/block/counters", test_counters);
    return fixture_run();
}
