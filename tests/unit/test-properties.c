/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties: defaults, both forms of values, the texts of refusals, restoring, aliases, help. */
#include "qapi/json.h"
#include "qom/object.h"

#include <string.h>

typedef struct Sample {
    Object parent_obj;
    bool flag;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64, size, bits;
    int32_t i32;
    int64_t i64, object_int;
    uint32_t size32, blocksize;
    char *text;
    int level;
    Object *link;
    unsigned changes;
} Sample;

static const char *const level_values[] = { "low", "high", NULL };
static const QapiEnum level_enum = { .name = "Level", .values = level_values };

static bool refuse_13(Object *obj, const Property *prop, Error **errp)
{
    if (((Sample *)obj)->u32 == 13) {
        error_set(errp, "13 brings bad luck");
        return false;
    }
    return true;
}

static bool refuse_long(Object *obj, const Property *prop, Error **errp)
{
    if (strlen(((Sample *)obj)->text) > 4) {
        error_set(errp, "too long");
        return false;
    }
    return true;
}

static void count_change(Object *obj, const Property *prop)
{
    ((Sample *)obj)->changes++;
}

static const Property sample_props[] = {
    PROP_BOOL("flag", Sample, flag, true),
    PROP_UINT8("u8", Sample, u8, 8),
    PROP_UINT16("u16", Sample, u16, 65535),
    { .name = "u32", .type = &prop_uint32, .offset = PROP_FIELD(Sample, u32), .def = DEFAULT_UINT,
      .def_int = 5, .check = refuse_13, .changed = count_change },
    PROP_UINT64("u64", Sample, u64, UINT64_MAX),
    PROP_SIZE("size", Sample, size, 4096),
    PROP_SIZE32("size32", Sample, size32, 0),
    PROP_BLOCKSIZE("blocksize", Sample, blocksize),
    PROP_INT32("i32", Sample, i32, -1),
    PROP_INT64("i64", Sample, i64, 0),
    { .name = "object-int", .type = &prop_object_int, .offset = PROP_FIELD(Sample, object_int) },
    { .name = "text", .type = &prop_string, .offset = PROP_FIELD(Sample, text),
      .description = "Some text", .check = refuse_long },
    PROP_ENUM("level", Sample, level, level_enum, 1),
    PROP_BIT64("bit3", Sample, bits, 3, true),
    PROP_BIT64("bit40", Sample, bits, 40, false),
    PROP_LINK("link", Sample, link, "sample"),
    PROP_END,
};

static const TypeInfo sample_info = {
    .name = "sample",
    .parent = "object",
    .instance_size = sizeof(Sample),
    .props = sample_props,
};
TYPE_REGISTER(sample_info)

static const TypeInfo other_info = {
    .name = "other",
    .parent = "object",
};
TYPE_REGISTER(other_info)

static char *get_text(Object *obj, const char *name)
{
    g_autoptr(JsonNode) node = object_property_get(obj, name, &error_abort);
    return json_write(node, false);
}

static void assert_get(void *obj, const char *name, const char *json)
{
    g_autofree char *text = get_text(obj, name);
    g_assert_cmpstr(text, ==, json);
}

static void set_ok(void *obj, const char *name, const char *value)
{
    object_property_set_str(obj, name, value, &error_abort);
}

static void set_fails(void *obj, const char *name, const char *value, const char *message)
{
    Error *err = NULL;

    g_assert_false(object_property_set_str(obj, name, value, &err));
    g_assert_cmpstr(error_message(err), ==, message);
    error_free(err);
}

static void json_ok(void *obj, const char *name, const char *json)
{
    g_autoptr(JsonNode) node = json_parse(json, &error_abort);
    object_property_set(obj, name, node, QAPI_JSON, &error_abort);
}

static void json_fails(void *obj, const char *name, const char *json, const char *message)
{
    g_autoptr(JsonNode) node = json_parse(json, &error_abort);
    Error *err = NULL;

    g_assert_false(object_property_set(obj, name, node, QAPI_JSON, &err));
    g_assert_cmpstr(error_message(err), ==, message);
    error_free(err);
}

static void test_defaults(void)
{
    g_autoptr(Object) obj = object_new("sample");

    assert_get(obj, "type", "\"sample\"");
    assert_get(obj, "flag", "true");
    assert_get(obj, "u16", "65535");
    assert_get(obj, "i32", "-1");
    assert_get(obj, "size", "4096");
    assert_get(obj, "text", "\"\"");
    assert_get(obj, "level", "\"high\"");
    assert_get(obj, "bit3", "true");
    assert_get(obj, "bit40", "false");
    assert_get(obj, "link", "\"\"");
    g_assert_cmpuint(((Sample *)obj)->u64, ==, UINT64_MAX);
}

static void test_key_value(void)
{
    g_autoptr(Object) obj = object_new("sample");
    Sample *s = (Sample *)obj;

    set_ok(obj, "u16", "0x10");
    g_assert_cmpuint(s->u16, ==, 16);
    set_ok(obj, "u16", "010");
    g_assert_cmpuint(s->u16, ==, 8);
    set_ok(obj, "u16", " 4");
    g_assert_cmpuint(s->u16, ==, 4);
    set_ok(obj, "size", "4k");
    g_assert_cmpuint(s->size, ==, 4096);
    set_ok(obj, "size", "1.5M");
    g_assert_cmpuint(s->size, ==, 1536 * 1024);
    set_ok(obj, "i32", "-2");
    g_assert_cmpint(s->i32, ==, -2);
    set_ok(obj, "flag", "off");
    g_assert_false(s->flag);
    set_ok(obj, "bit40", "yes");
    set_ok(obj, "bit3", "no");
    g_assert_cmpuint(s->bits, ==, UINT64_C(1) << 40);
    set_ok(obj, "level", "low");
    g_assert_cmpint(s->level, ==, 0);

    set_fails(obj, "u16", "65536", "Parameter 'u16' expects uint16_t");
    set_fails(obj, "u16", "-1", "Parameter 'u16' expects uint16_t");
    set_fails(obj, "u16", "auto", "Parameter 'u16' expects integer");
    set_fails(obj, "u16", "", "Parameter 'u16' expects integer");
    set_fails(obj, "u16", "4k", "Parameter 'u16' expects integer");
    set_fails(obj, "u8", "256", "Parameter 'u8' expects uint8_t");
    set_fails(obj, "i32", "2147483648", "Parameter 'i32' expects int32_t");
    set_fails(obj, "i32", "abc", "Parameter 'i32' expects integer");
    set_fails(obj, "object-int", "1k", "Parameter 'object-int' expects an int64 value");
    set_fails(obj, "flag", "maybe", "Parameter 'flag' expects 'on' or 'off'");
    set_fails(obj, "flag", "1", "Parameter 'flag' expects 'on' or 'off'");
    set_fails(obj, "size", "4kB", "Parameter 'size' expects size");
    set_fails(obj, "size", "-512", "Parameter 'size' expects size");
    set_fails(obj, "size32", "4294967296",
              "Property sample.size32 doesn't take value 4294967296 (maximum: 4294967295)");
    set_fails(obj, "blocksize", "1000",
              "parameter blocksize must be a power of 2 between 512 and 2097152");
    set_fails(obj, "blocksize", "4M",
              "parameter blocksize must be a power of 2 between 512 and 2097152");
    set_fails(obj, "level", "foo", "Parameter 'level' does not accept value 'foo'");
    set_fails(obj, "nosuch", "1", "Property 'sample.nosuch' not found");
    set_fails(obj, "type", "x", "Property 'sample.type' is not writable");
    set_fails(obj, "legacy-link", "x", "Property 'sample.legacy-link' is not writable");
}

static void test_json(void)
{
    g_autoptr(Object) obj = object_new("sample");
    Sample *s = (Sample *)obj;

    json_ok(obj, "u64", "18446744073709551615");
    g_assert_cmpuint(s->u64, ==, UINT64_MAX);
    json_ok(obj, "u64", "9223372036854775808");
    g_assert_cmpuint(s->u64, ==, UINT64_C(1) << 63);
    json_ok(obj, "size", "-1");
    g_assert_cmpuint(s->size, ==, UINT64_MAX);
    json_ok(obj, "flag", "false");
    json_ok(obj, "i32", "-5");

    json_fails(obj, "u16", "\"4\"", "Parameter 'u16' expects uint64");
    json_fails(obj, "u16", "4.0", "Parameter 'u16' expects uint64");
    json_fails(obj, "u16", "true", "Parameter 'u16' expects uint64");
    json_fails(obj, "u16", "null", "Parameter 'u16' expects uint64");
    json_fails(obj, "u16", "[4]", "Parameter 'u16' expects uint64");
    json_fails(obj, "u16", "-1", "Parameter 'u16' expects uint16_t");
    json_fails(obj, "i32", "\"1\"", "Invalid parameter type for 'i32', expected: integer");
    json_fails(obj, "i64", "1.5", "Invalid parameter type for 'i64', expected: integer");
    json_fails(obj, "flag", "\"on\"", "Invalid parameter type for 'flag', expected: boolean");
    json_fails(obj, "flag", "1", "Invalid parameter type for 'flag', expected: boolean");
    json_fails(obj, "text", "5", "Invalid parameter type for 'text', expected: string");
    json_fails(obj, "level", "true", "Invalid parameter type for 'level', expected: string");
    json_fails(obj, "size", "\"4k\"", "Parameter 'size' expects uint64");
    json_fails(obj, "blocksize", "-1",
               "parameter blocksize must be a power of 2 between 512 and 2097152");
}

static void test_check_restores(void)
{
    g_autoptr(Object) obj = object_new("sample");
    Sample *s = (Sample *)obj;

    set_ok(obj, "u32", "7");
    g_assert_cmpuint(s->changes, ==, 1);
    set_fails(obj, "u32", "13", "13 brings bad luck");
    g_assert_cmpuint(s->u32, ==, 7);
    g_assert_cmpuint(s->changes, ==, 1);

    set_ok(obj, "text", "abc");
    set_fails(obj, "text", "abcde", "too long");
    g_assert_cmpstr(s->text, ==, "abc");
    set_ok(obj, "text", "abcd");
    g_assert_cmpstr(s->text, ==, "abcd");
}

static void test_links(void)
{
    Object *root = object_container("/test-links");
    g_autoptr(Object) obj = object_new("sample");
    g_autoptr(Object) target = object_new("sample");
    g_autoptr(Object) other = object_new("other");
    Error *err = NULL;

    object_add_child(root, "target", target, &error_abort);
    object_add_child(root, "wrong", other, &error_abort);

    set_ok(obj, "link", "target");
    assert_get(obj, "link", "\"/test-links/target\"");
    g_assert_cmpuint(target->users, ==, 1);
    set_ok(obj, "link", "/test-links/target");
    g_assert_cmpuint(target->users, ==, 1);
    g_assert_false(object_property_set_str(obj, "link", "zz", &err));
    g_assert_cmpstr(error_message(err), ==, "Device 'zz' not found");
    g_assert_cmpint(error_class(err), ==, ERROR_CLASS_DEVICE_NOT_FOUND);
    error_free(err);
    set_fails(obj, "link", "wrong", "Invalid parameter type for 'link', expected: sample");
    g_assert_cmpuint(target->users, ==, 1);
    set_ok(obj, "link", "");
    g_assert_cmpuint(target->users, ==, 0);
    set_ok(obj, "link", "target");
    g_clear_pointer(&obj, object_unref);
    g_assert_cmpuint(target->users, ==, 0);
    g_assert_cmpint(target->ref, ==, 2);
    object_unparent(target);
    object_unparent(other);
}

static void collect(Object *obj, const char *name, const char *type, const Property *prop,
                    void *opaque)
{
    g_string_append_printf(opaque, "%s:%s ", name, type);
}

static void test_aliases(void)
{
    g_autoptr(Object) proxy = object_new("other");
    g_autoptr(Object) target = object_new("sample");
    g_autoptr(GString) names = g_string_new(NULL);

    object_add_child(proxy, "backend", target, &error_abort);
    object_alias_properties(proxy, target, "sample");
    set_ok(proxy, "u16", "9");
    g_assert_cmpuint(((Sample *)target)->u16, ==, 9);
    assert_get(proxy, "u16", "9");
    set_fails(proxy, "backend", "x", "Property 'other.backend' is not writable");
    set_fails(proxy, "nosuch", "x", "Property 'other.nosuch' not found");
    /* The owner is named where the value is at fault. */
    set_fails(proxy, "size32", "8G",
              "Property sample.size32 doesn't take value 8589934592 (maximum: 4294967295)");

    object_for_each_property(proxy, collect, names);
    g_assert_true(g_str_has_prefix(names->str, "type:string backend:child<sample> flag:bool "));
    g_assert_nonnull(strstr(names->str, " link:link<sample> legacy-link:str "));
    g_assert_nonnull(strstr(names->str, " level:Level "));
}

static void test_help(void)
{
    g_autofree char *text = object_class_property_help(object_class_by_name("sample"));

    g_assert_cmpstr(text, ==,
                    "  bit3=<bool>            - on/off (default: on)\n"
                    "  bit40=<bool>           - on/off (default: off)\n"
                    "  blocksize=<size>       - A power of two between 512 B and 2 MiB "
                    "(default: 0)\n"
                    "  flag=<bool>            - on/off (default: on)\n"
                    "  i32=<int32>            -  (default: -1)\n"
                    "  i64=<int64>            -  (default: 0)\n"
                    "  level=<Level>          - low/high (default: high)\n"
                    "  link=<link<sample>>\n"
                    "  object-int=<int>\n"
                    "  size32=<size>          -  (default: 0)\n"
                    "  size=<size>            -  (default: 4096)\n"
                    "  text=<str>             - Some text\n"
                    "  u16=<uint16>           -  (default: 65535)\n"
                    "  u32=<uint32>           -  (default: 5)\n"
                    "  u64=<uint64>           -  (default: 18446744073709551615)\n"
                    "  u8=<uint8>             -  (default: 8)\n");
}

static void assert_print(Object *obj, const char *name, const char *expected)
{
    Object *target;
    const Property *prop = object_find_property(obj, name, &target);
    g_autofree char *text = prop->type->print(target, prop);
    g_assert_cmpstr(text, ==, expected);
}

static void test_print(void)
{
    g_autoptr(Object) obj = object_new("sample");

    assert_print(obj, "u16", "65535 (0xffff)");
    assert_print(obj, "i32", "-1 (0xffffffffffffffff)");
    assert_print(obj, "size", "4096 (4 KiB)");
    assert_print(obj, "flag", "true");
    assert_print(obj, "text", "\"\"");
    assert_print(obj, "level", "\"high\"");
    set_ok(obj, "size32", "4294967295");
    assert_print(obj, "size32", "4294967295 (4 GiB)");
    set_ok(obj, "size32", "512");
    assert_print(obj, "size32", "512 (512 B)");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/properties/defaults", test_defaults);
    g_test_add_func("/properties/key-value", test_key_value);
    g_test_add_func("/properties/json", test_json);
    g_test_add_func("/properties/check-restores", test_check_restores);
    g_test_add_func("/properties/links", test_links);
    g_test_add_func("/properties/aliases", test_aliases);
    g_test_add_func("/properties/help", test_help);
    g_test_add_func("/properties/print", test_print);
    return g_test_run();
}
