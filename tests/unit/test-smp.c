/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -smp: what is filled in, and what is refused with which words. */
#include "hw/core/machine.h"

static const MachineClass mc = {.name = "m", .max_cpus = 64};

static bool parse(const char *text, SmpConfig *smp, Error **errp)
{
    g_autoptr(Opts) opts = opts_parse(text, "cpus", NULL, &error_abort);

    return smp_parse(smp, opts, &mc, errp);
}

static void test_filled_in(void)
{
    static const struct {
        const char *text;
        unsigned cpus, max, sockets, dies, cores, threads;
    } cases[] = {
        {"1", 1, 1, 1, 1, 1, 1},
        {"4", 4, 4, 1, 1, 4, 1},
        {"4,sockets=2", 4, 4, 2, 1, 2, 1},
        {"4,sockets=2,cores=1", 4, 4, 2, 1, 1, 2},
        {"8,threads=2", 8, 8, 1, 1, 4, 2},
        {"8,cores=4,maxcpus=16", 8, 16, 4, 1, 4, 1},
        {"sockets=2,cores=2,threads=2", 8, 8, 2, 1, 2, 2},
        {"maxcpus=4", 4, 4, 1, 1, 4, 1},
        {"4,dies=2", 4, 4, 1, 2, 2, 1},
        {"0x4", 4, 4, 1, 1, 4, 1},
        {"", 1, 1, 1, 1, 1, 1},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        SmpConfig s;

        g_assert_true(parse(cases[i].text, &s, &error_abort));
        g_assert_cmpuint(s.cpus, ==, cases[i].cpus);
        g_assert_cmpuint(s.max_cpus, ==, cases[i].max);
        g_assert_cmpuint(s.sockets, ==, cases[i].sockets);
        g_assert_cmpuint(s.dies, ==, cases[i].dies);
        g_assert_cmpuint(s.cores, ==, cases[i].cores);
        g_assert_cmpuint(s.threads, ==, cases[i].threads);
    }
}

static void test_refused(void)
{
    static const char zero[] =
        "Invalid CPU topology: CPU topology parameters must be greater than zero";
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "0", zero },
        { "4,dies=0", zero },
        { "abc", "Parameter 'smp.cpus' expects integer" },
        { "foo=1", "Parameter 'smp.foo' is unexpected" },
        { "65", "Invalid SMP CPUs 65. The max CPUs supported by machine 'm' is 64" },
        { "-1", "Invalid SMP CPUs -1. The max CPUs supported by machine 'm' is 64" },
        { "4,books=2", "books > 1 not supported by this machine's CPU topology" },
        { "2,sockets=3",
          "Invalid CPU topology: product of the hierarchy must match maxcpus: sockets (3) "
          "* dies (1) * modules (1) * cores (0) * threads (1) != maxcpus (2)" },
        { "4,maxcpus=2",
          "Invalid CPU topology: maxcpus must be equal to or greater than smp: sockets (1) "
          "* dies (1) * modules (1) * cores (2) * threads (1) == maxcpus (2) < smp_cpus (4)" },
        /* A product that wraps around 32 bits to the right value. */
        { "cpus=1,sockets=65536,cores=65536,threads=65536",
          "Invalid CPU topology: product of the hierarchy must match maxcpus: sockets (65536) * "
          "dies (1) "
          "* modules (1) * cores (65536) * threads (65536) != maxcpus (1)" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        SmpConfig s;
        Error *err = NULL;

        g_assert_false(parse(cases[i].text, &s, &err));
        g_assert_cmpstr(error_message(err), ==, cases[i].error);
        error_free(err);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/smp/filled-in", test_filled_in);
    g_test_add_func("/smp/refused", test_refused);
    return g_test_run();
}
