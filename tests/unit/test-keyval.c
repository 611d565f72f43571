/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options as key=value: flat, nested, and the scalars in them. */
#include <string.h>

#include "qapi/keyval.h"
#include "util/report.h"

/* ---- nested ---- */

static void assert_keyval(const char *text, const char *implied, const char *expected)
{
    g_autoptr(JsonNode) node = keyval_parse(text, implied, NULL, &error_abort);
    g_autofree char *json = json_write(node, false);

    g_assert_cmpstr(json, ==, expected);
}

static void assert_keyval_error(const char *text, const char *expected)
{
    g_autoptr(Error) err = NULL;
    g_autoptr(JsonNode) node = keyval_parse(text, "driver", NULL, &err);

    g_assert_null(node);
    g_assert_cmpstr(error_message(err), ==, expected);
}

static void test_nested(void)
{
    assert_keyval("", "driver", "{}");
    assert_keyval("raw", "driver", "{\"driver\": \"raw\"}");
    assert_keyval("raw,", "driver", "{\"driver\": \"raw\"}");
    assert_keyval("driver=raw,file.driver=file,file.cache.direct=on", "driver",
                  "{\"driver\": \"raw\", \"file\": {\"driver\": \"file\", \"cache\": "
                  "{\"direct\": \"on\"}}}");
    assert_keyval("a=x,,y,b=,c==", NULL, "{\"a\": \"x,y\", \"b\": \"\", \"c\": \"=\"}");
    assert_keyval("a=1,a=2", NULL, "{\"a\": \"2\"}");
    assert_keyval("l.1=b,l.0=a,m.0.k=v", NULL,
                  "{\"l\": [\"a\", \"b\"], \"m\": [{\"k\": \"v\"}]}");
    assert_keyval("help=1", NULL, "{\"help\": \"1\"}");
}

static void test_nested_errors(void)
{
    g_autofree char *many = g_strnfill(128, 'k');
    g_autofree char *too_long = g_strdup_printf("raw,%s=1", many);
    g_autofree char *expected = g_strdup_printf("Parameter '%s' is too long", many);
    g_autoptr(GString) deep = g_string_new("a");
    g_autoptr(Error) err = NULL;

    assert_keyval_error("raw,x", "Expected '=' after parameter 'x'");
    assert_keyval_error("raw,=5", "Invalid parameter ''");
    assert_keyval_error("raw,,x=1", "Invalid parameter ''");
    assert_keyval_error("raw,.x=5", "Invalid parameter '.x'");
    assert_keyval_error("raw,x.=5", "Invalid parameter 'x.'");
    assert_keyval_error("raw,x..y=5", "Invalid parameter 'x..y'");
    assert_keyval_error("raw,-x=5", "Invalid parameter '-x'");
    assert_keyval_error("raw,1=5", "Invalid parameter '1'");
    assert_keyval_error("raw,0.a=5", "Invalid parameter '0.a'");
    assert_keyval_error("raw,a%b=5", "Invalid parameter 'a%b'");
    assert_keyval_error("raw,file=a,file.driver=x", "Parameters 'file.*' used inconsistently");
    assert_keyval_error("raw,file.driver=x,file=a", "Parameters 'file.*' used inconsistently");
    assert_keyval_error("x.0=a,x.2=b", "Parameter 'x.1' missing");
    assert_keyval_error("x.99999999999999999999=b", "Parameter 'x.0' missing");
    assert_keyval_error("x.01=a", "Parameter 'x.0' missing");
    assert_keyval_error("x.0=a,x.b=b", "Parameters 'x.*' used inconsistently");
    assert_keyval_error("help", "Help is not available for this option");
    assert_keyval_error("raw,?", "Help is not available for this option");
    assert_keyval_error(too_long, expected);

    for (int i = 0; i < 100000; i++) {
        g_string_append(deep, ".a");
    }
    g_string_append(deep, "=1");
    g_assert_null(keyval_parse(deep->str, NULL, NULL, &err));
    g_assert_nonnull(strstr(error_message(err), "nested too deeply"));
}

static void test_nested_help(void)
{
    bool help;
    g_autoptr(JsonNode) a = keyval_parse("iothread,help", "qom-type", &help, &error_abort);
    g_autoptr(JsonNode) b = NULL;

    g_assert_true(help);
    g_assert_cmpstr(json_object_get_string_member(json_node_get_object(a), "qom-type"), ==,
                    "iothread");
    b = keyval_parse("iothread", "qom-type", &help, &error_abort);
    g_assert_false(help);
}

static void test_nest_and_flatten(void)
{
    g_autoptr(JsonNode) flat = json_parse("{'driver':'raw','file.driver':'file','file.n':5,"
                                          "'l.0':'a','l.1':true}", &error_abort);
    g_autoptr(JsonNode) nested = keyval_nest(json_node_get_object(flat), &error_abort);
    g_autofree char *text = json_write(nested, false);
    g_autoptr(JsonNode) again = keyval_flatten(json_node_get_object(nested));
    g_autofree char *flat_text = json_write(flat, false);
    g_autofree char *again_text = json_write(again, false);
    g_autoptr(JsonNode) mixed = json_parse("{'file':'x','file.driver':'y'}", &error_abort);
    g_autoptr(JsonNode) shared = json_parse("{'file':{},'file.driver':'y'}", &error_abort);
    g_autoptr(JsonNode) merged = NULL;
    g_autofree char *merged_text = NULL;
    g_autofree char *shared_text = NULL;
    g_autoptr(Error) err = NULL;

    g_assert_cmpstr(text, ==, "{\"driver\": \"raw\", \"file\": {\"driver\": \"file\", \"n\": 5}, "
                              "\"l\": [\"a\", true]}");
    g_assert_cmpstr(again_text, ==, flat_text);
    g_assert_null(keyval_nest(json_node_get_object(mixed), &err));
    g_assert_nonnull(err);

    /* What was given is left alone. */
    merged = keyval_nest(json_node_get_object(shared), &error_abort);
    merged_text = json_write(merged, false);
    shared_text = json_write(shared, false);
    g_assert_cmpstr(merged_text, ==, "{\"file\": {\"driver\": \"y\"}}");
    g_assert_cmpstr(shared_text, ==, "{\"file\": {}, \"file.driver\": \"y\"}");
}

/* ---- flat ---- */

static void collect(const char *line, void *opaque)
{
    g_string_append_printf(opaque, "%s\n", line);
}

static void test_flat(void)
{
    bool help;
    g_autoptr(Opts) o = opts_parse("virtio-blk-pci,id=a,drive=x,drive=y,serial=a,,b,x.y=1,id=b",
                                   "driver", &help, &error_abort);
    g_autofree char *drive = NULL;
    g_autoptr(JsonNode) json = opts_to_json(o);
    g_autofree char *text = json_write(json, false);
    g_autoptr(Error) err = NULL;

    g_assert_false(help);
    g_assert_cmpstr(o->id, ==, "a");
    g_assert_cmpstr(opts_get(o, "driver"), ==, "virtio-blk-pci");
    g_assert_cmpstr(opts_get(o, "serial"), ==, "a,b");
    g_assert_cmpstr(text, ==, "{\"driver\": \"virtio-blk-pci\", \"drive\": \"y\", \"serial\": "
                              "\"a,b\", \"x.y\": \"1\", \"id\": \"a\"}");
    drive = opts_take(o, "drive");
    g_assert_cmpstr(drive, ==, "y");
    g_assert_null(opts_get(o, "drive"));
    g_free(opts_take(o, "driver"));
    g_assert_false(opts_all_taken(o, &err));
    g_assert_cmpstr(error_message(err), ==, "Invalid parameter 'serial'");
}

static void test_flat_flags(void)
{
    g_autoptr(GString) said = g_string_new(NULL);
    g_autoptr(Opts) o = NULL;

    report_set_sink(collect, said);
    o = opts_parse("virtio-blk-pci,packed,noats", "driver", NULL, &error_abort);
    report_set_sink(NULL, NULL);
    g_assert_cmpstr(opts_get(o, "packed"), ==, "on");
    g_assert_cmpstr(opts_get(o, "ats"), ==, "off");
    g_assert_nonnull(strstr(said->str, "short-form boolean option 'packed' deprecated\n"
                                       "Please use packed=on instead\n"));
    g_assert_nonnull(strstr(said->str, "short-form boolean option 'noats' deprecated\n"
                                       "Please use ats=off instead\n"));
}

static void test_flat_help_and_id(void)
{
    bool help;
    g_autoptr(Opts) a = opts_parse("help", "driver", &help, &error_abort);
    g_autoptr(Opts) b = NULL;
    g_autoptr(Error) err = NULL;

    g_assert_true(help);
    g_assert_null(opts_get(a, "driver"));
    b = opts_parse("virtio-blk-pci,?", "driver", &help, &error_abort);
    g_assert_true(help);
    g_assert_null(opts_parse("x,id=0bad", "driver", NULL, &err));
    g_assert_cmpstr(error_message(err), ==, "Parameter 'id' expects an identifier");
    g_assert_cmpstr(error_hint(err), ==, "Identifiers consist of letters, digits, '-', '.', '_', "
                                         "starting with a letter.\n");
}

static void test_flat_scalars(void)
{
    g_autoptr(Opts) o = opts_parse("b=on,n=0x10,s=4k,bad=x,big=99999999999999999999,neg=-1", NULL,
                                   NULL, &error_abort);
    g_autoptr(Error) err = NULL;
    bool b;
    uint64_t n;

    g_assert_true(opts_take_bool(o, "b", false, &b, &error_abort) && b);
    g_assert_true(opts_take_bool(o, "b", false, &b, &error_abort) && !b);
    g_assert_true(opts_take_uint(o, "n", 7, &n, &error_abort) && n == 16);
    g_assert_true(opts_take_uint(o, "n", 7, &n, &error_abort) && n == 7);
    g_assert_true(opts_take_size(o, "s", 7, &n, &error_abort) && n == 4096);
    g_assert_false(opts_take_uint(o, "bad", 0, &n, &err));
    g_assert_cmpstr(error_message(err), ==, "Parameter 'bad' expects a number");
    g_clear_pointer(&err, error_free);
    g_assert_false(opts_take_uint(o, "big", 0, &n, &err));
    g_assert_cmpstr(error_message(err), ==,
                    "Value '99999999999999999999' is too large for parameter 'big'");
    g_clear_pointer(&err, error_free);
    g_assert_false(opts_take_size(o, "neg", 0, &n, &err));
    g_assert_cmpstr(error_message(err), ==, "Value '-1' is out of range for parameter 'neg'");
    g_clear_pointer(&err, error_free);
    opts_set(o, "bad", "1kB");
    g_assert_false(opts_take_size(o, "bad", 0, &n, &err));
    g_assert_cmpstr(error_message(err), ==,
                    "Parameter 'bad' expects a non-negative number below 2^64");
}

/* ---- scalars ---- */

static void test_sizes(void)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } cases[] = {
        { "0", true, 0 },          { "512", true, 512 },       { "010", true, 10 },
        { " 16", true, 16 },       { "4k", true, 4096 },       { "4K", true, 4096 },
        { "4.0k", true, 4096 },    { "1.5k", true, 1536 },     { ".5k", true, 512 },
        { "1.e", true, 1ull << 60 }, { "15E", true, 15ull << 60 }, { "1b", true, 1 },
        { "0x10", true, 16 },      { "18446744073709551615", true, UINT64_MAX },
        { "18446744073709551616", false, 0 }, { "16E", false, 0 }, { "1.5", false, 0 },
        { "1kB", false, 0 },       { "4 k", false, 0 },        { "", false, 0 },
        { "k", false, 0 },         { "-1", false, 0 },         { "0x10k", false, 0 },
        { "0x", false, 0 },        { "1e3", false, 0 },        { "1.5b", false, 0 },
        { ".", false, 0 },         { "15.9999999999999999999E", false, 0 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t v = 0;

        g_test_message("%s", cases[i].text);
        g_assert_cmpint(parse_size(cases[i].text, &v), ==, cases[i].ok);
        if (cases[i].ok) {
            g_assert_cmpuint(v, ==, cases[i].value);
        }
    }
}

static void test_integers(void)
{
    int64_t i;
    uint64_t u;

    g_assert_true(parse_int64("-0x1", &i) && i == -1);
    g_assert_true(parse_int64(" 5", &i) && i == 5);
    g_assert_true(parse_int64("010", &i) && i == 8);
    g_assert_true(parse_int64("9223372036854775807", &i) && i == INT64_MAX);
    g_assert_false(parse_int64("9223372036854775808", &i));
    g_assert_false(parse_int64("5 ", &i));
    g_assert_false(parse_int64("1k", &i));
    g_assert_false(parse_int64("", &i));
    g_assert_true(parse_uint64("-1", &u) && u == UINT64_MAX);
    g_assert_true(parse_uint64("18446744073709551615", &u) && u == UINT64_MAX);
    g_assert_false(parse_uint64("18446744073709551616", &u));
}

static void test_switches_and_ids(void)
{
    static const char *const on[] = { "on", "yes", "true", "y" };
    static const char *const off[] = { "off", "no", "false", "n" };
    g_autoptr(Error) err = NULL;
    bool b;

    for (int i = 0; i < 4; i++) {
        g_assert_true(parse_bool("x", on[i], &b, &error_abort) && b);
        g_assert_true(parse_bool("x", off[i], &b, &error_abort) && !b);
    }
    g_assert_false(parse_bool("packed", "ON", &b, &err));
    g_assert_cmpstr(error_message(err), ==, "Parameter 'packed' expects 'on' or 'off'");
    g_assert_true(id_wellformed("a.b-c_d9"));
    g_assert_false(id_wellformed(""));
    g_assert_false(id_wellformed("0a"));
    g_assert_false(id_wellformed("a/b"));
    g_assert_false(id_wellformed("a b"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    report_init(argv[0]);
    g_test_add_func("/keyval/nested", test_nested);
    g_test_add_func("/keyval/nested-errors", test_nested_errors);
    g_test_add_func("/keyval/nested-help", test_nested_help);
    g_test_add_func("/keyval/nest-and-flatten", test_nest_and_flatten);
    g_test_add_func("/opts/flat", test_flat);
    g_test_add_func("/opts/flags", test_flat_flags);
    g_test_add_func("/opts/help-and-id", test_flat_help_and_id);
    g_test_add_func("/opts/scalars", test_flat_scalars);
    g_test_add_func("/scalar/sizes", test_sizes);
    g_test_add_func("/scalar/integers", test_integers);
    g_test_add_func("/scalar/switches-and-ids", test_switches_and_ids);
    return g_test_run();
}
