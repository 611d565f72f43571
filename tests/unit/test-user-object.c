/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -object and object-del: both forms, both stages, IOThreads and what uses them. */
#include "qom/iothread.h"
#include "util/aio.h"
#include "util/biglock.h"

#include <sched.h>

/* Whether the refusal comes from the stage that reads, or the one that creates. */
typedef enum { READ, CREATE } Stage;

static void make(const char *text)
{
    char *help;
    g_autoptr(UserObject) u = user_object_parse(text, false, &help, &error_abort);
    user_object_create(u, &error_abort);
}

static void refused(const char *text, Stage stage, const char *message)
{
    char *help;
    Error *err = NULL;
    g_autoptr(UserObject) u = user_object_parse(text, false, &help, &err);

    g_assert_cmpint(!!u, ==, stage == CREATE);
    if (u) {
        g_assert_false(user_object_create(u, &err));
    }
    g_assert_cmpstr(error_message(err), ==, message);
    error_free(err);
}

static void del_refused(const char *id, const char *message)
{
    Error *err = NULL;

    g_assert_false(user_object_del(id, &err));
    g_assert_cmpstr(error_message(err), ==, message);
    error_free(err);
}

static void test_stages(void)
{
    const char *range = "poll-max-ns value must be in range [0, 9223372036854775807]";
    const char *pool = "bad thread-pool-min/thread-pool-max values";

    refused("iothread", READ, "Parameter 'id' is missing");
    refused("iothread,id=0t", READ, "Parameter 'id' expects an identifier");
    refused("nosuch,id=t0", READ, "Parameter 'qom-type' does not accept value 'nosuch'");
    refused("event-loop-base,id=t0", READ,
            "Parameter 'qom-type' does not accept value 'event-loop-base'");
    refused("foo=1,id=t0", READ, "Parameter 'qom-type' is missing");
    refused("iothread,id=t0,foo=1,poll-max-ns=-1", READ, "Invalid parameter 'foo'");
    refused("iothread,id=t0,foo=1,poll-max-ns=abc", READ,
            "Parameter 'poll-max-ns' expects an int64 value");
    refused("iothread,id=t0,poll-max-ns=9223372036854775808", READ,
            "Parameter 'poll-max-ns' expects an int64 value");
    refused("iothread,id=t0,poll-max-ns.x=5", READ, "Invalid parameter 'poll-max-ns.x'");
    refused("iothread,id=t0,poll-max-ns=-1", CREATE, range);
    refused("iothread,id=t0,poll-max-ns=-1,aio-max-batch=-1", CREATE,
            "aio-max-batch value must be in range [0, 9223372036854775807]");
    refused("iothread,id=t0,thread-pool-min=65", CREATE, pool);
    refused("iothread,id=t0,thread-pool-max=0", CREATE, pool);
    refused("iothread,id=t0,thread-pool-max=2147483648", CREATE, pool);
    refused("{'qom-type':'iothread','id':'t0','foo':1}", READ, "Parameter 'foo' is unexpected");
    refused("{'qom-type':'iothread','id':'t0','poll-max-ns':'1'}", READ,
            "Invalid parameter type for 'poll-max-ns', expected: integer");
    refused("{'qom-type':'iothread','id':5}", READ,
            "Invalid parameter type for 'id', expected: string");
    refused("{'id':'t0'}", READ, "Parameter 'qom-type' is missing");
    refused("{'qom-type':'iothread','id':'0t'}", CREATE, "Parameter 'id' expects an identifier");
    refused("{'qom-type':'iothread','id':'t0','poll-max-ns':-1}", CREATE, range);

    g_assert_null(object_child(object_objects_root(), "t0"));
}

static void test_iothread(void)
{
    make("iothread,id=t0,poll-max-ns=0x10,thread-pool-min=65,thread-pool-max=65");
    make("{'qom-type':'iothread','id':'t1'}");
    refused("iothread,id=t0", CREATE,
            "attempt to add duplicate property 't0' to object (type 'container')");

    IOThread *t = iothread_find("t0");
    g_assert_nonnull(t);
    g_assert_true(iothread_find("/objects/t0") == t);
    g_assert_true(iothread_find("objects/t0") == t);
    g_assert_null(iothread_find("t2"));
    g_assert_null(iothread_find(""));
    g_assert_cmpstr(iothread_id(t), ==, "t0");

    int min, max;
    aio_get_thread_pool(iothread_context(t), &min, &max);
    g_assert_cmpint(min, ==, 65);
    g_assert_cmpint(max, ==, 65);
    Object *obj = (Object *)t;
    object_property_set_str(obj, "thread-pool-min", "1", &error_abort);
    g_assert_false(object_property_set_str(obj, "thread-pool-max", "0", NULL));
    object_property_set_str(obj, "thread-pool-max", "2", &error_abort);
    aio_get_thread_pool(iothread_context(t), &min, &max);
    g_assert_cmpint(min, ==, 1);
    g_assert_cmpint(max, ==, 2);
    object_property_set_str(obj, "aio-max-batch", "7", &error_abort);
    g_assert_cmpint(aio_max_batch(iothread_context(t)), ==, 7);

    iothread_acquire(t);
    del_refused("t0", "object 't0' is in use, can not be deleted");
    iothread_release(t);
    del_refused("zz", "object 'zz' not found");
    g_assert_true(user_object_del("t0", &error_abort));
    g_assert_null(iothread_find("t0"));
    g_assert_true(user_object_del("t1", &error_abort));
}

static void assert_cpus(const char *id, bool first_only)
{
    cpu_set_t set;

    g_assert_cmpint(sched_getaffinity(iothread_tid(iothread_find(id)), sizeof(set), &set), ==, 0);
    g_assert_true(CPU_ISSET(0, &set));
    g_assert_cmpint(CPU_COUNT(&set) == 1, ==, first_only);
}

static void test_affinity(void)
{
    cpu_set_t mine;

    g_assert_cmpint(sched_getaffinity(0, sizeof(mine), &mine), ==, 0);
    if (!CPU_ISSET(0, &mine) || !CPU_ISSET(1, &mine)) {
        g_test_skip("needs CPUs 0 and 1");
        return;
    }
    make("iothread,id=t0,cpu-affinity=0");
    assert_cpus("t0", true);
    make("iothread,id=t1,cpu-affinity=0-1");
    assert_cpus("t1", false);
    make("iothread,id=t2,cpu-affinity=0,cpu-affinity=1");
    assert_cpus("t2", false);
    make("iothread,id=t3,cpu-affinity.0=0,cpu-affinity.1=1");
    assert_cpus("t3", false);
    make("{'qom-type':'iothread','id':'t4','cpu-affinity':[0,1]}");
    assert_cpus("t4", false);
    object_property_set_str((Object *)iothread_find("t4"), "cpu-affinity", "0", &error_abort);
    assert_cpus("t4", true);

    const char *bad = "Parameter 'cpu-affinity' expects a uint64 value or range";
    refused("iothread,id=t9,cpu-affinity=a", READ, bad);
    refused("iothread,id=t9,cpu-affinity=1-0", READ, bad);
    refused("iothread,id=t9,cpu-affinity=-1", READ, bad);
    refused("iothread,id=t9,cpu-affinity=", READ, bad);
    refused("iothread,id=t9,cpu-affinity=0-70000", READ, bad);
    refused("iothread,id=t9,cpu-affinity.1=0", READ, "Invalid parameter 'cpu-affinity.1'");
    refused("iothread,id=t9,cpu-affinity=2000", CREATE,
            "Setting CPU affinity failed: Invalid argument");
    refused("{'qom-type':'iothread','id':'t9','cpu-affinity':[]}", CREATE, "CPU list is empty");
    refused("{'qom-type':'iothread','id':'t9','cpu-affinity':0}", READ,
            "Invalid parameter type for 'cpu-affinity', expected: array");
    refused("{'qom-type':'iothread','id':'t9','cpu-affinity':['a']}", READ,
            "Parameter 'cpu-affinity[0]' expects uint64");
    refused("{'qom-type':'iothread','id':'t9','cpu-affinity':[70000]}", READ,
            "Parameter 'cpu-affinity[0]' expects uint16");
    user_object_cleanup();
    g_assert_null(iothread_find("t0"));
}

static void test_main_loop(void)
{
    refused("main-loop,id=m0,poll-max-ns=5", READ, "Invalid parameter 'poll-max-ns'");
    refused("main-loop,id=m0,thread-pool-max=0", CREATE,
            "bad thread-pool-min/thread-pool-max values");
    make("main-loop,id=m0,thread-pool-max=8,aio-max-batch=3");
    g_assert_cmpint(aio_max_batch(aio_context_main()), ==, 3);
    refused("main-loop,id=m1", CREATE, "only one main-loop instance allowed");
    del_refused("m0", "object 'm0' is in use, can not be deleted");
    user_object_cleanup();
}

static void test_help(void)
{
    char *help = NULL;

    g_assert_null(user_object_parse("help", true, &help, &error_abort));
    g_assert_true(g_str_has_prefix(help, "List of user creatable objects:\n  iothread\n"));
    g_clear_pointer(&help, g_free);
    g_assert_null(user_object_parse("iothread,id=x,help,poll-max-ns=x", true, &help, &error_abort));
    g_assert_true(g_str_has_prefix(help, "iothread options:\n  aio-max-batch=<int>\n"));
    g_clear_pointer(&help, g_free);

    Error *err = NULL;
    g_assert_null(user_object_parse("nosuch,help", true, &help, &err));
    g_assert_null(help);
    g_assert_cmpstr(error_message(err), ==, "Parameter 'qom-type' does not accept value 'nosuch'");
    error_free(err);
}

static void test_duplicate_on_command_line(void)
{
    char *help;
    Error *err = NULL;
    g_autoptr(UserObject) one = user_object_parse("iothread,id=dup", true, &help, &error_abort);

    g_assert_nonnull(one);
    g_assert_null(user_object_parse("iothread,id=dup", true, &help, &err));
    g_assert_cmpstr(error_message(err), ==, "Duplicate ID 'dup' for object");
    error_free(err);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    if (!big_lock_held()) {
        big_lock();
    }
    g_test_add_func("/user-object/stages", test_stages);
    g_test_add_func("/user-object/iothread", test_iothread);
    g_test_add_func("/user-object/affinity", test_affinity);
    g_test_add_func("/user-object/main-loop", test_main_loop);
    g_test_add_func("/user-object/help", test_help);
    g_test_add_func("/user-object/duplicate-on-command-line", test_duplicate_on_command_line);
    return g_test_run();
}
