/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding, encoding and describing values of the schema. */
#include <string.h>

#include "qapi/qapi-block-core.h"
#include "qapi/qapi-char.h"
#include "qapi/qapi-common.h"
#include "qapi/qapi-control.h"
#include "qapi/qapi-misc.h"
#include "qapi/qapi-qdev.h"
#include "qapi/qapi-qom.h"
#include "qapi/qapi-run-state.h"
#include "qapi/qapi-virtio.h"

static void assert_decode_error(const QapiType *type, const char *json, QapiForm form,
                                const char *name, const char *expected)
{
    g_autoptr(JsonNode) node = json_parse(json, &error_abort);
    g_autofree void *out = g_malloc0(type->size);
    g_autoptr(Error) err = NULL;

    g_assert_false(qapi_decode(type, node, form, name, out, &err));
    g_assert_cmpstr(error_message(err), ==, expected);
    for (size_t i = 0; i < type->size; i++) {
        g_assert_cmpint(((char *)out)[i], ==, 0);
    }
}

static void assert_round_trip(const QapiType *type, const char *json)
{
    g_autoptr(JsonNode) node = json_parse(json, &error_abort);
    void *value = qapi_decode_new(type, node, QAPI_JSON, &error_abort);
    g_autoptr(JsonNode) encoded = qapi_encode(type, value);
    g_autofree char *given = json_write(node, false);
    g_autofree char *got = json_write(encoded, false);

    g_assert_cmpstr(got, ==, given);
    qapi_free(type, value);
}

static void test_round_trip(void)
{
    assert_round_trip(&qapi_type_BlockdevOptions,
                      "{'driver':'raw','node-name':'d','cache':{'direct':true},"
                      "'file':{'driver':'file','filename':'x','aio':'io_uring'},'offset':512}");
    assert_round_trip(&qapi_type_BlockdevOptions, "{'driver':'raw','file':'other'}");
    assert_round_trip(&qapi_type_ObjectOptions,
                      "{'qom-type':'iothread','id':'t','poll-max-ns':-1,'cpu-affinity':[0,65535]}");
    assert_round_trip(&qapi_type_ObjectOptions,
                      "{'qom-type':'memory-backend-ram','id':'m','host-nodes':[],"
                      "'policy':'bind','size':18446744073709551615}");
    assert_round_trip(&qapi_type_IOThreadVirtQueueMappings,
                      "{'iothread-vq-mapping':[{'iothread':'a','vqs':[3,0]},{'iothread':'b'}]}");
    assert_round_trip(&qapi_type_ObjectPropertyInfo,
                      "{'name':'n','type':'t','default-value':[1,{'a':null}]}");
}

static void test_absent_and_present(void)
{
    g_autoptr(JsonNode) node = json_parse("{'qom-type':'iothread','id':'t','poll-grow':0}",
                                          &error_abort);
    g_autoptr(ObjectOptions) o = qapi_decode_ObjectOptions(node, QAPI_JSON, &error_abort);

    g_assert_cmpint(o->qom_type, ==, OBJECT_TYPE_IOTHREAD);
    g_assert_true(o->u.iothread.has_poll_grow);
    g_assert_false(o->u.iothread.has_poll_max_ns);
    g_assert_null(o->u.iothread.cpu_affinity);
}

static void test_alternates(void)
{
    g_autoptr(JsonNode) text = json_parse("'x'", &error_abort);
    g_autoptr(JsonNode) null = json_parse("null", &error_abort);
    g_autoptr(StrOrNull) a = qapi_decode_StrOrNull(text, QAPI_JSON, &error_abort);
    g_autoptr(StrOrNull) b = qapi_decode_StrOrNull(null, QAPI_JSON, &error_abort);
    g_autoptr(JsonNode) back = qapi_encode_StrOrNull(b);

    g_assert_cmpint(a->type, ==, STR_OR_NULL_KIND_s);
    g_assert_cmpstr(a->u.s, ==, "x");
    g_assert_cmpint(b->type, ==, STR_OR_NULL_KIND_n);
    g_assert_true(JSON_NODE_HOLDS_NULL(back));
    assert_decode_error(&qapi_type_StrOrNull, "5", QAPI_JSON, "tls-creds",
                        "Invalid parameter type for 'tls-creds', expected: StrOrNull");
}

static void blockdev_error(const char *json, const char *expected)
{
    assert_decode_error(&qapi_type_BlockdevOptions, json, QAPI_JSON, NULL, expected);
}

static void test_json_errors(void)
{
    blockdev_error("{}", "Parameter 'driver' is missing");
    blockdev_error("[]", "Invalid parameter type for '<anonymous>', expected: object");
    blockdev_error("{'driver':5}", "Invalid parameter type for 'driver', expected: string");
    blockdev_error("{'driver':'nosuch'}", "Parameter 'driver' does not accept value 'nosuch'");
    blockdev_error("{'driver':'raw','file':{'driver':'nosuch'}}",
                   "Parameter 'driver' does not accept value 'nosuch'");
    blockdev_error("{'driver':'raw','file':{'driver':'file'}}",
                   "Parameter 'file.filename' is missing");
    blockdev_error("{'driver':'raw','file':{'driver':'file','filename':'x','foo':1}}",
                   "Parameter 'file.foo' is unexpected");
    blockdev_error("{'driver':'raw','file':5}",
                   "Invalid parameter type for 'file', expected: BlockdevRef");
    blockdev_error("{'driver':'raw','file':null}",
                   "Invalid parameter type for 'file', expected: BlockdevRef");
    blockdev_error("{'driver':'raw','file':{'driver':'file','filename':'x','aio':5}}",
                   "Invalid parameter type for 'file.aio', expected: string");
    blockdev_error("{'driver':'raw','file':{'driver':'file','filename':'x',"
                   "'cache':{'direct':'on'}}}",
                   "Invalid parameter type for 'file.cache.direct', expected: boolean");
    blockdev_error("{'driver':'raw','file':{'driver':'file','filename':'x',"
                   "'cache':{'direct':true,'z':1}}}",
                   "Parameter 'file.cache.z' is unexpected");
    blockdev_error("{'driver':'raw','offset':1.0,'file':'y'}",
                   "Invalid parameter type for 'offset', expected: integer");
    blockdev_error("{'driver':'null-co','size':null}",
                   "Invalid parameter type for 'size', expected: integer");
    blockdev_error("{'driver':'null-co','latency-ns':'1'}",
                   "Parameter 'latency-ns' expects uint64");
    blockdev_error("{'driver':'null-co','latency-ns':18446744073709551616}",
                   "Parameter 'latency-ns' expects uint64");
    blockdev_error("{'driver':'null-co','foo':1}", "Parameter 'foo' is unexpected");
    /* Large enough for uint64, but not for what the member is. */
    blockdev_error("{'driver':'null-co','size':18446744073709551615}",
                   "Invalid parameter type for 'size', expected: integer");
    /* A branch's members are known only with their own tag. */
    blockdev_error("{'driver':'null-co','filename':'x'}", "Parameter 'filename' is unexpected");
}

static void test_range_errors(void)
{
    const QapiType *t = &qapi_type_ObjectOptions;

    assert_decode_error(t, "{'qom-type':'memory-backend-ram','id':'m','size':1,"
                           "'prealloc-threads':-1}", QAPI_JSON, NULL,
                        "Parameter 'prealloc-threads' expects uint32_t");
    assert_decode_error(t, "{'qom-type':'memory-backend-ram','id':'m','size':1,"
                           "'prealloc-threads':4294967296}", QAPI_JSON, NULL,
                        "Parameter 'prealloc-threads' expects uint32_t");
    assert_decode_error(t, "{'qom-type':'memory-backend-ram','id':'m','size':1,"
                           "'host-nodes':['a']}", QAPI_JSON, NULL,
                        "Parameter 'host-nodes[0]' expects uint64");
    assert_decode_error(t, "{'qom-type':'memory-backend-ram','id':'m','size':1,"
                           "'host-nodes':[1,70000]}", QAPI_JSON, NULL,
                        "Parameter 'host-nodes[1]' expects uint16");
}

static void mapping_error(const char *json, const char *expected)
{
    const QapiType *list = qapi_type_IOThreadVirtQueueMappings.members[0].type;

    assert_decode_error(list, json, QAPI_JSON, "iothread-vq-mapping", expected);
}

static void test_list_errors(void)
{
    mapping_error("5", "Invalid parameter type for 'iothread-vq-mapping', expected: array");
    mapping_error("[5]", "Invalid parameter type for 'iothread-vq-mapping[0]', expected: object");
    mapping_error("[{}]", "Parameter 'iothread-vq-mapping[0].iothread' is missing");
    mapping_error("[{'iothread':5}]",
                  "Invalid parameter type for 'iothread-vq-mapping[0].iothread', expected: string");
    mapping_error("[{'iothread':'a'},{'iothread':'b','bar':1}]",
                  "Parameter 'iothread-vq-mapping[1].bar' is unexpected");
    mapping_error("[{'iothread':'a','vqs':5}]",
                  "Invalid parameter type for 'iothread-vq-mapping[0].vqs', expected: array");
    mapping_error("[{'iothread':'a','vqs':[0,1,'2']}]",
                  "Parameter 'iothread-vq-mapping[0].vqs[2]' expects uint64");
    mapping_error("[{'iothread':'a','vqs':[-1]}]",
                  "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint16");
    mapping_error("[{'iothread':'a','vqs':[65536]}]",
                  "Parameter 'iothread-vq-mapping[0].vqs[0]' expects uint16");
}

static void keyval_error(const char *json, const char *expected)
{
    assert_decode_error(&qapi_type_BlockdevOptions, json, QAPI_KEYVAL, NULL, expected);
}

static void test_keyval(void)
{
    g_autoptr(JsonNode) node = json_parse("{'driver':'raw','offset':'0x200','file':{'driver':"
                                          "'file','filename':'x','cache':{'direct':'yes'}}}",
                                          &error_abort);
    g_autoptr(BlockdevOptions) o = qapi_decode_BlockdevOptions(node, QAPI_KEYVAL, &error_abort);
    g_autoptr(JsonNode) ram = json_parse("{'qom-type':'memory-backend-ram','id':'m','size':'1.5G',"
                                         "'host-nodes':['1','3']}", &error_abort);
    g_autoptr(ObjectOptions) r = qapi_decode_ObjectOptions(ram, QAPI_KEYVAL, &error_abort);

    g_assert_cmpint(o->u.raw.offset, ==, 512);
    g_assert_true(o->u.raw.file->u.definition->cache->direct);
    g_assert_cmpuint(r->u.memory_backend_ram.size, ==, 3ull << 29);
    g_assert_cmpuint(g_array_index(r->u.memory_backend_ram.host_nodes, uint16_t, 1), ==, 3);

    keyval_error("{'driver':'null-co','size':'1k'}", "Parameter 'size' expects integer");
    keyval_error("{'driver':'null-co','latency-ns':'x'}",
                 "Parameter 'latency-ns' expects integer");
    keyval_error("{'driver':'null-co','read-zeroes':'1'}",
                 "Parameter 'read-zeroes' expects 'on' or 'off'");
    keyval_error("{'driver':'null-co','size':{'x':'5'}}", "Parameters 'size.*' are unexpected");
    keyval_error("{'driver':'file','filename':['1']}", "Parameters 'filename.*' are unexpected");
    keyval_error("{'driver':'file','filename':'x','cache':'on'}",
                 "Invalid parameter type for 'cache', expected: object");
    keyval_error("{'driver':'file','filename':'x','cache':{'direct':'maybe'}}",
                 "Parameter 'cache.direct' expects 'on' or 'off'");
    assert_decode_error(&qapi_type_ObjectOptions,
                        "{'qom-type':'memory-backend-ram','id':'m','size':'1','host-nodes':['x']}",
                        QAPI_KEYVAL, NULL, "Parameter 'host-nodes.0' expects integer");
    assert_decode_error(&qapi_type_ObjectOptions,
                        "{'qom-type':'memory-backend-ram','id':'m','size':'1kB'}", QAPI_KEYVAL,
                        NULL, "Parameter 'size' expects size");
}

static void test_enums(void)
{
    g_assert_cmpint(qapi_enum_parse(&qapi_enum_OnOffAuto, "off"), ==, ON_OFF_AUTO_OFF);
    g_assert_cmpint(qapi_enum_parse(&qapi_enum_OnOffAuto, "maybe"), ==, -1);
    g_assert_cmpstr(qapi_enum_name(&qapi_enum_RunState, RUN_STATE_IO_ERROR), ==, "io-error");
}

/* ---- commands and events ---- */

bool qmp_device_del(const q_device_del_args *args, Error **errp)
{
    g_assert_cmpstr(args->id, ==, "x");
    return true;
}
QMP_REGISTER(device_del)

bool qmp_device_add(JsonNode *args, Error **errp)
{
    g_assert_true(json_object_has_member(json_node_get_object(args), "serial"));
    return true;
}
QMP_REGISTER(device_add)

bool qmp_object_add(const ObjectOptions *args, Error **errp)
{
    error_set(errp, "no %s today", args->id);
    return false;
}
QMP_REGISTER(object_add)

bool qmp_blockdev_add(const BlockdevOptions *args, Error **errp)
{
    return true;
}
QMP_REGISTER(blockdev_add)

/* One list frees its elements by itself, the other does not: both are fine. */
GPtrArray *qmp_qom_list(const q_qom_list_args *args, Error **errp)
{
    GDestroyNotify free_info = (GDestroyNotify)qapi_free_ObjectPropertyInfo;
    bool plain = !strcmp(args->path, "/");
    GPtrArray *list = plain ? g_ptr_array_new() : g_ptr_array_new_with_free_func(free_info);
    ObjectPropertyInfo *info = g_new0(ObjectPropertyInfo, 1);

    info->name = g_strdup("type");
    info->type = g_strdup("string");
    g_ptr_array_add(list, info);
    return list;
}
QMP_REGISTER(qom_list)

char *qmp_human_monitor_command(const q_human_monitor_command_args *args, Error **errp)
{
    return g_strdup(args->command_line);
}
QMP_REGISTER(human_monitor_command)

GPtrArray *qmp_query_yank(Error **errp)
{
    return g_ptr_array_new();
}
QMP_REGISTER(query_yank)

static void assert_call(const char *name, const char *args, const char *result,
                        const char *error)
{
    const QmpCommand *cmd = qmp_find_command(name);
    g_autoptr(JsonNode) node = args ? json_parse(args, &error_abort) : NULL;
    g_autoptr(Error) err = NULL;
    g_autoptr(JsonNode) reply = NULL;
    g_autofree char *text = NULL;

    g_assert_nonnull(cmd);
    reply = cmd->call(node, &err);
    if (error) {
        g_assert_null(reply);
        g_assert_cmpstr(error_message(err), ==, error);
    } else {
        g_assert_null(err);
        text = json_write(reply, false);
        g_assert_cmpstr(text, ==, result);
    }
}

static void test_calls(void)
{
    assert_call("device_del", "{'id':'x'}", "{}", NULL);
    assert_call("device_del", NULL, NULL, "Parameter 'id' is missing");
    assert_call("device_del", "{'id':'x','y':1}", NULL, "Parameter 'y' is unexpected");
    assert_call("device_add", "{'driver':'d','serial':'s'}", "{}", NULL);
    assert_call("object-add", "{'qom-type':'main-loop','id':'m'}", NULL, "no m today");
    assert_call("qom-list", "{'path':'/'}", "[{\"name\": \"type\", \"type\": \"string\"}]", NULL);
    assert_call("qom-list", "{'path':'x'}", "[{\"name\": \"type\", \"type\": \"string\"}]", NULL);
    assert_call("human-monitor-command", "{'command-line':'a'}", "\"a\"", NULL);
    assert_call("query-yank", NULL, "[]", NULL);
    assert_call("query-yank", "{'x':1}", NULL, "Parameter 'x' is unexpected");
    assert_call("query-qmp-schema", "{'x':1}", NULL, "Parameter 'x' is unexpected");
    g_assert_null(qmp_find_command("query-uuid"));
}

static char *event_seen;

static void sink(const char *name, JsonNode *data)
{
    g_autofree char *text = data ? json_write(data, false) : g_strdup("-");

    g_free(event_seen);
    event_seen = g_strdup_printf("%s %s", name, text);
    if (data) {
        json_node_unref(data);
    }
}

static void test_events(void)
{
    qapi_event_send_STOP();
    qapi_event_set_sink(sink);
    qapi_event_send_STOP();
    g_assert_cmpstr(event_seen, ==, "STOP -");
    qapi_event_send_SHUTDOWN(false, SHUTDOWN_CAUSE_HOST_SIGNAL);
    g_assert_cmpstr(event_seen, ==, "SHUTDOWN {\"guest\": false, \"reason\": \"host-signal\"}");
    qapi_event_send_DEVICE_DELETED(NULL, "/p");
    g_assert_cmpstr(event_seen, ==, "DEVICE_DELETED {\"path\": \"/p\"}");
    qapi_event_set_sink(NULL);
    g_clear_pointer(&event_seen, g_free);
}

/* ---- the schema, as clients look things up in it ---- */

static JsonObject *schema_entry(const char *name)
{
    JsonArray *all = json_node_get_array(qapi_schema());
    JsonObject *found = NULL;

    for (guint i = 0; i < json_array_get_length(all); i++) {
        JsonObject *o = json_array_get_object_element(all, i);

        if (!strcmp(json_object_get_string_member(o, "name"), name)) {
            g_assert_null(found);
            found = o;
        }
    }
    return found;
}

/* The element of a list of objects in which `key` is `value`. */
static JsonObject *pick(JsonObject *o, const char *list, const char *key, const char *value)
{
    JsonArray *a = json_object_get_array_member(o, list);

    for (guint i = 0; i < json_array_get_length(a); i++) {
        JsonObject *e = json_array_get_object_element(a, i);

        if (!strcmp(json_object_get_string_member(e, key), value)) {
            return e;
        }
    }
    g_error("no %s %s in %s", key, value, list);
}

static JsonObject *type_in(JsonObject *o, const char *key)
{
    JsonObject *type = schema_entry(json_object_get_string_member(o, key));

    g_assert_nonnull(type);
    return type;
}

static bool has_string(JsonObject *o, const char *list, const char *value)
{
    JsonArray *a = json_object_get_array_member(o, list);

    for (guint i = 0; i < json_array_get_length(a); i++) {
        if (!strcmp(json_array_get_string_element(a, i), value)) {
            return true;
        }
    }
    return false;
}

static void test_schema_lookups(void)
{
    JsonObject *o, *m;

    o = schema_entry("device_add");
    g_assert_true(has_string(o, "features", "json-cli"));
    g_assert_true(has_string(o, "features", "json-cli-hotplug"));

    o = type_in(schema_entry("blockdev-add"), "arg-type");
    g_assert_cmpstr(json_object_get_string_member(o, "tag"), ==, "driver");
    m = pick(o, "members", "name", "driver");
    g_assert_false(json_object_has_member(m, "default"));
    m = pick(o, "members", "name", "node-name");
    g_assert_true(json_object_get_null_member(m, "default"));
    o = type_in(pick(o, "variants", "case", "file"), "type");
    o = type_in(pick(o, "members", "name", "aio"), "type");
    g_assert_cmpstr(json_object_get_string_member(o, "meta-type"), ==, "enum");
    g_assert_true(has_string(o, "values", "io_uring"));
    pick(o, "members", "name", "io_uring");

    o = type_in(schema_entry("object-add"), "arg-type");
    o = type_in(pick(o, "variants", "case", "iothread"), "type");
    o = type_in(pick(o, "members", "name", "thread-pool-max"), "type");
    g_assert_cmpstr(json_object_get_string_member(o, "meta-type"), ==, "builtin");
    g_assert_cmpstr(json_object_get_string_member(o, "json-type"), ==, "int");

    o = schema_entry("query-yank");
    g_assert_true(json_object_get_boolean_member(o, "allow-oob"));
    g_assert_cmpstr(json_object_get_string_member(o, "arg-type"), ==, "0");
    g_assert_cmpstr(json_object_get_string_member(type_in(o, "ret-type"), "meta-type"), ==,
                    "array");
    g_assert_cmpstr(json_object_get_string_member(schema_entry("SHUTDOWN"), "meta-type"), ==,
                    "event");
}

/* Every name that an entry uses has its own entry, once, and no name says what the type is. */
static void test_schema_closed(void)
{
    static const char *const keys[] = { "arg-type", "ret-type", "element-type" };
    static const char *const lists[] = { "members", "variants" };
    JsonArray *all = json_node_get_array(qapi_schema());

    g_assert_null(schema_entry("query-uuid"));
    g_assert_nonnull(schema_entry("[int]"));
    for (guint i = 0; i < json_array_get_length(all); i++) {
        JsonObject *o = json_array_get_object_element(all, i);

        for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
            if (json_object_has_member(o, keys[k])) {
                type_in(o, keys[k]);
            }
        }
        for (size_t k = 0; k < G_N_ELEMENTS(lists); k++) {
            JsonArray *a = json_object_has_member(o, lists[k])
                               ? json_object_get_array_member(o, lists[k])
                               : NULL;

            for (guint j = 0; a && j < json_array_get_length(a); j++) {
                JsonObject *e = json_array_get_object_element(a, j);

                if (json_object_has_member(e, "type")) {
                    type_in(e, "type");
                }
            }
        }
    }
}

/* The reply satisfies its own description. */
static void test_schema_decodes(void)
{
    JsonArray *all = json_node_get_array(qapi_schema());

    for (guint i = 0; i < json_array_get_length(all); i++) {
        g_autoptr(SchemaInfo) info = qapi_decode_SchemaInfo(json_array_get_element(all, i),
                                                            QAPI_JSON, &error_abort);

        g_assert_nonnull(info);
    }
}

static void test_command_list(void)
{
    g_autoptr(JsonNode) reply = qmp_find_command("query-commands")->call(NULL, &error_abort);
    JsonArray *list = json_node_get_array(reply);
    g_autoptr(GPtrArray) all = qmp_all_commands();

    g_assert_cmpuint(json_array_get_length(list), ==, all->len);
    for (guint i = 1; i < all->len; i++) {
        const QmpCommand *a = all->pdata[i - 1], *b = all->pdata[i];

        g_assert_cmpint(strcmp(a->name, b->name), <, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/qapi/round-trip", test_round_trip);
    g_test_add_func("/qapi/absent-and-present", test_absent_and_present);
    g_test_add_func("/qapi/alternates", test_alternates);
    g_test_add_func("/qapi/json-errors", test_json_errors);
    g_test_add_func("/qapi/range-errors", test_range_errors);
    g_test_add_func("/qapi/list-errors", test_list_errors);
    g_test_add_func("/qapi/keyval", test_keyval);
    g_test_add_func("/qapi/enums", test_enums);
    g_test_add_func("/qapi/calls", test_calls);
    g_test_add_func("/qapi/events", test_events);
    g_test_add_func("/qapi/command-list", test_command_list);
    g_test_add_func("/schema/lookups", test_schema_lookups);
    g_test_add_func("/schema/closed", test_schema_closed);
    g_test_add_func("/schema/decodes", test_schema_decodes);
    return g_test_run();
}
