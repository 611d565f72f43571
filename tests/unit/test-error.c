/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors: text, class, hint, hand-over. */
#include <errno.h>

#include "util/error.h"

static void test_format(void)
{
    g_autoptr(Error) err = NULL;

    error_set(&err, "Parameter '%s' expects %s", "x", "a number");
    g_assert_cmpstr(error_message(err), ==, "Parameter 'x' expects a number");
    g_assert_cmpint(error_class(err), ==, ERROR_CLASS_GENERIC_ERROR);
    g_assert_cmpstr(error_class_name(error_class(err)), ==, "GenericError");
    g_assert_null(error_hint(err));
}

static void test_errno(void)
{
    g_autoptr(Error) err = NULL;

    errno = EBADF;
    error_set_errno(&err, ENOENT, "Could not open '%s'", "/x");
    g_assert_cmpint(errno, ==, EBADF);
    g_assert_cmpstr(error_message(err), ==, "Could not open '/x': No such file or directory");
}

static void test_class(void)
{
    g_autoptr(Error) err = NULL;

    error_set_class(&err, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found", "d");
    g_assert_cmpstr(error_class_name(error_class(err)), ==, "DeviceNotFound");
    g_assert_cmpstr(error_message(err), ==, "Device 'd' not found");
}

static void test_decoration(void)
{
    g_autoptr(Error) err = NULL;
    g_autoptr(Error) copy = NULL;

    error_set(&err, "message");
    error_prepend(&err, "%s: ", "front");
    error_append_hint(&err, "Try %d\n", 1);
    error_append_hint(&err, "or %d\n", 2);
    copy = error_copy(err);
    g_assert_cmpstr(error_message(copy), ==, "front: message");
    g_assert_cmpstr(error_hint(copy), ==, "Try 1\nor 2\n");
}

static void test_nobody_wants_it(void)
{
    Error *err = NULL;

    error_set(NULL, "text");
    error_append_hint(NULL, "hint");
    error_prepend(NULL, "front");
    error_propagate(NULL, NULL);
    error_set(&err, "text");
    error_propagate(NULL, err);
}

static void test_propagate(void)
{
    g_autoptr(Error) first = NULL;
    Error *second = NULL;

    error_propagate(&first, NULL);
    g_assert_null(first);
    error_set(&second, "one");
    error_propagate(&first, second);
    g_assert_true(first == second);

    /* The first error stays; the later one is dropped. */
    second = NULL;
    error_set(&second, "two");
    error_propagate(&first, second);
    g_assert_cmpstr(error_message(first), ==, "one");
}

static void test_abort(void)
{
    if (g_test_subprocess()) {
        error_set(&error_abort, "must not happen");
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*must not happen*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/error/format", test_format);
    g_test_add_func("/error/errno", test_errno);
    g_test_add_func("/error/class", test_class);
    g_test_add_func("/error/decoration", test_decoration);
    g_test_add_func("/error/nobody-wants-it", test_nobody_wants_it);
    g_test_add_func("/error/propagate", test_propagate);
    g_test_add_func("/error/abort", test_abort);
    return g_test_run();
}
