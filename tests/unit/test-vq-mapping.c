/* SPDX-License-Identifier: GPL-2.0-or-later */
/* iothread-vq-mapping: decoding, the order of checks, the table, and what a failure holds. */
#include "hw/virtio/iothread-vq-mapping.h"
#include "util/biglock.h"

typedef struct Holder {
    Object parent_obj;
    GPtrArray *mapping;
} Holder;

static const Property holder_props[] = {
    PROP_IOTHREAD_VQ_MAPPING("iothread-vq-mapping", Holder, mapping, NULL),
    PROP_END,
};

static const TypeInfo holder_info = {
    .name = "test-holder",
    .parent = "object",
    .instance_size = sizeof(Holder),
    .props = holder_props,
};
TYPE_REGISTER(holder_info)

static bool set(Holder *h, const char *json, Error **errp)
{
    g_autoptr(JsonNode) value = json_parse(json, &error_abort);

    return object_property_set((Object *)h, "iothread-vq-mapping", value, QAPI_JSON, errp);
}

static AioContext *context_of(const char *id)
{
    return iothread_context(iothread_find(id));
}

static void thread_add(const char *id)
{
    g_autofree char *json = g_strdup_printf("{\"qom-type\":\"iothread\",\"id\":\"%s\"}", id);
    g_autoptr(JsonNode) options = json_parse(json, &error_abort);

    user_object_add(json_node_get_object(options), QAPI_JSON, &error_abort);
}

static void test_decode(void)
{
    static const char *const cases[][2] = {
        {"5", "Invalid parameter type for 'iothread-vq-mapping', expected: array"},
        {"\"t0\"", "Invalid parameter type for 'iothread-vq-mapping', expected: array"},
        {"null", "Invalid parameter type for 'iothread-vq-mapping', expected: array"},
        {"[1]", "Invalid parameter type for 'iothread-vq-mapping[0]', expected: object"},
        {"[{}]", "Parameter 'iothread-vq-mapping[0].iothread' is missing"},
        {"[{\"iothread\":1}]",
         "Invalid parameter type for 'iothread-vq-mapping[0].iothread', expected: string"},
        {"[{\"iothread\":\"t0\",\"foo\":1}]",
         "Parameter 'iothread-vq-mapping[0].foo' is unexpected"},
        {"[{\"iothread\":\"t0\"},{\"iothread\":\"t1\",\"bar\":[]}]",
         "Parameter 'iothread-vq-mapping[1].bar' is unexpected"},
        {"[{\"iothread\":\"t0\",\"vqs\":0}]",
         "Invalid parameter type for 'iothread-vq-mapping[0].vqs', expected: array"},
        {"[{\"iothread\":\"t0\",\"vqs\":[\"0\"]}]",
         "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint64"},
        {"[{\"iothread\":\"t0\",\"vqs\":[1.5]}]",
         "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint64"},
        {"[{\"iothread\":\"t0\",\"vqs\":[99999999999999999999]}]",
         "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint64"},
        {"[{\"iothread\":\"t0\",\"vqs\":[0]},{\"iothread\":\"t1\",\"vqs\":[1,2,65536]}]",
         "Parameter 'iothread-vq-mapping[1].vqs[2]' expects uint16"},
        {"[{\"iothread\":\"t0\",\"vqs\":[-1]}]",
         "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint16"},
    };
    Holder *h = (Holder *)object_new("test-holder");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Error) err = NULL;

        g_assert_false(set(h, cases[i][0], &err));
        g_assert_cmpstr(error_message(err), ==, cases[i][1]);
        g_assert_null(h->mapping);
    }
    object_unref((Object *)h);
}

static void test_round_trip(void)
{
    static const char *const cases[] = {
        "[]",
        "[{\"iothread\": \"t1\"}, {\"iothread\": \"t0\"}]",
        "[{\"iothread\": \"t2\", \"vqs\": [3, 0]}, {\"iothread\": \"t0\", \"vqs\": [2, 1]}]",
        "[{\"iothread\": \"x\", \"vqs\": []}]",
    };
    Holder *h = (Holder *)object_new("test-holder");

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(JsonNode) value = NULL;
        g_autofree char *text = NULL;

        g_assert_true(set(h, cases[i], NULL));
        value = object_property_get((Object *)h, "iothread-vq-mapping", &error_abort);
        text = json_write(value, false);
        g_assert_cmpstr(text, ==, cases[i]);
    }
    object_unref((Object *)h);
}

static void test_checks(void)
{
#define DUP   "duplicate IOThread name \"t0\" in iothread-vq-mapping"
#define MIXED "either all items in iothread-vq-mapping must have vqs or none of them must have it"
    static const char *const cases[][2] = {
        {"[{\"iothread\":\"nosuch\",\"vqs\":[9]}]", "IOThread \"nosuch\" object does not exist"},
        {"[{\"iothread\":\"\"}]", "IOThread \"\" object does not exist"},
        {"[{\"iothread\":\"t0\"},{\"iothread\":\"t0\"}]", DUP},
        {"[{\"iothread\":\"t0\"},{\"iothread\":\"t0\",\"vqs\":[1]},{\"iothread\":\"zz\"}]", DUP},
        {"[{\"iothread\":\"t0\",\"vqs\":[0]},{\"iothread\":\"t0\",\"vqs\":[99]}]", DUP},
        {"[{\"iothread\":\"t0\",\"vqs\":[0,1]},{\"iothread\":\"t1\"}]", MIXED},
        {"[{\"iothread\":\"t0\"},{\"iothread\":\"t1\",\"vqs\":[99]}]", MIXED},
        {"[{\"iothread\":\"t0\",\"vqs\":[]},{\"iothread\":\"t1\",\"vqs\":[0,1,2,3]}]", MIXED},
        {"[{\"iothread\":\"t0\",\"vqs\":[9,0,0]}]",
         "vq index 9 for IOThread \"t0\" must be less than num_queues 4 in iothread-vq-mapping"},
        {"[{\"iothread\":\"t0\",\"vqs\":[99]},{\"iothread\":\"zz\"}]",
         "vq index 99 for IOThread \"t0\" must be less than num_queues 4 in iothread-vq-mapping"},
        {"[{\"iothread\":\"t0\",\"vqs\":[0,0,9]}]",
         "cannot assign vq 0 to IOThread \"t0\" because it is already assigned"},
        {"[{\"iothread\":\"t0\",\"vqs\":[0,1]},{\"iothread\":\"t1\",\"vqs\":[1,2,3]}]",
         "cannot assign vq 1 to IOThread \"t1\" because it is already assigned"},
        {"[{\"iothread\":\"t0\",\"vqs\":[1]},{\"iothread\":\"t1\",\"vqs\":[3]}]",
         "missing vq 0 IOThread assignment in iothread-vq-mapping"},
        {"[{\"iothread\":\"t0\",\"vqs\":[0,1]},{\"iothread\":\"t1\",\"vqs\":[2]}]",
         "missing vq 3 IOThread assignment in iothread-vq-mapping"},
    };
    Holder *h = (Holder *)object_new("test-holder");

    thread_add("t0");
    thread_add("t1");
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Error) err = NULL;

        g_assert_true(set(h, cases[i][0], &error_abort));
        g_assert_null(iothread_vq_map_new(h->mapping, NULL, 4, &err));
        g_assert_cmpstr(error_message(err), ==, cases[i][1]);
    }
    object_unref((Object *)h);
    /* Nothing is held. */
    g_assert_true(user_object_del("t0", &error_abort));
    g_assert_true(user_object_del("t1", &error_abort));
}

static void assert_table(const char *json, unsigned n, const char *const *expected)
{
    Holder *h = (Holder *)object_new("test-holder");
    IOThreadVqMap *map;

    set(h, json, &error_abort);
    map = iothread_vq_map_new(h->mapping, NULL, n, &error_abort);
    for (unsigned i = 0; i < n; i++) {
        g_assert_true(iothread_vq_map_context(map, i) == context_of(expected[i]));
    }
    g_assert_false(user_object_del("t0", NULL)); /* in use */
    iothread_vq_map_free(map);
    object_unref((Object *)h);
}

static void test_tables(void)
{
    IOThreadVqMap *map;

    thread_add("t0");
    thread_add("t1");
    thread_add("t2");
    assert_table("[{\"iothread\":\"t1\"},{\"iothread\":\"t0\"}]", 5,
                 (const char *[]){"t1", "t0", "t1", "t0", "t1"});
    assert_table("[{\"iothread\":\"t0\"},{\"iothread\":\"t1\"},{\"iothread\":\"t2\"}]", 2,
                 (const char *[]){"t0", "t1"});
    assert_table("[{\"iothread\":\"t0\",\"vqs\":[3,0]},{\"iothread\":\"t1\",\"vqs\":[2,1]}]", 4,
                 (const char *[]){"t0", "t1", "t1", "t0"});
    assert_table("[{\"iothread\":\"t0\",\"vqs\":[]},{\"iothread\":\"t1\"}]", 4,
                 (const char *[]){"t0", "t1", "t0", "t1"});
    assert_table("[{\"iothread\":\"t0\"},{\"iothread\":\"/objects/t0\"}]", 2,
                 (const char *[]){"t0", "t0"});

    map = iothread_vq_map_new(NULL, NULL, 3, &error_abort);
    g_assert_true(iothread_vq_map_context(map, 2) == aio_context_main());
    iothread_vq_map_free(map);
    map = iothread_vq_map_new(NULL, iothread_find("t2"), 3, &error_abort);
    g_assert_true(iothread_vq_map_context(map, 2) == context_of("t2"));
    iothread_vq_map_free(map);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_true(user_object_del((const char *[]){"t0", "t1", "t2"}[i], &error_abort));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    aio_main_init(&error_abort);
    big_lock();
    g_test_add_func("/vq-mapping/decode", test_decode);
    g_test_add_func("/vq-mapping/round-trip", test_round_trip);
    g_test_add_func("/vq-mapping/checks", test_checks);
    g_test_add_func("/vq-mapping/tables", test_tables);
    return g_test_run();
}
