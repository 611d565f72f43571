/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for a person: prefixes, hints, sinks. */
#include "util/report.h"

static void print_all(void)
{
    Error *err = NULL;

    report_init("/usr/bin/prog");
    report_error("bare %d", 1);
    report_push_option("-device", "foo,x=1");
    report_error("option");
    report_push_file("rc.cfg", 4);
    report_warning("file");
    report_pop();
    report_push_option("-foo", NULL);
    report_info("no value");
    report_push_monitor();
    report_error("monitor");
    report_pop();
    report_pop();
    report_pop();
    report_plain("plain");
    report_set_guest_name("vm1");
    error_set(&err, "bad");
    error_append_hint(&err, "Use this\nor that\n");
    report_error_free(err);
    report_set_timestamps(true);
    report_error("late");
}

static void test_prefixes(void)
{
    if (g_test_subprocess()) {
        print_all();
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr("prog: bare 1\n"
                              "prog: -device foo,x=1: option\n"
                              "prog:rc.cfg:4: warning: file\n"
                              "prog: -foo: info: no value\n"
                              "monitor\n"
                              "plain\n"
                              "vm1 prog: bad\n"
                              "Use this\n"
                              "or that\n"
                              "*-*-*T*:*:*.*Z vm1 prog: late\n");
}

static void collect(const char *line, void *opaque)
{
    g_string_append_printf(opaque, "[%s]", line);
}

static void test_sink(void)
{
    g_autoptr(GString) s = g_string_new(NULL);
    Error *err = NULL;

    report_push_option("-x", "y");
    report_set_sink(collect, s);
    report_error("one");
    error_set(&err, "two");
    error_append_hint(&err, "three\n");
    report_warning_free(err);
    report_set_sink(NULL, NULL);
    report_pop();
    g_assert_cmpstr(s->str, ==, "[one][warning: two][three]");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/prefixes", test_prefixes);
    g_test_add_func("/report/sink", test_sink);
    return g_test_run();
}
