/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copying from mapped files whose pages go away. */
#include "util/copy-guard.h"

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static int make_file(size_t size)
{
    int fd = memfd_create("copy-guard", MFD_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    for (size_t i = 0; i < size; i += PAGE) {
        char page[PAGE];

        memset(page, 'a' + (int)(i / PAGE), PAGE);
        g_assert_cmpint(pwrite(fd, page, PAGE, (off_t)i), ==, PAGE);
    }
    return fd;
}

static void test_cut_short(void)
{
    int fd = make_file(2 * PAGE);
    char *map = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    char a[100], b[100];
    struct iovec iov[] = {{a, sizeof(a)}, {b, sizeof(b)}};

    g_assert_true(copy_guarded(iov, 2, map + PAGE - 100));
    g_assert_cmpint(a[99], ==, 'a');
    g_assert_cmpint(b[0], ==, 'b');
    /* Again and again: the signal must not stay blocked. */
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(ftruncate(fd, PAGE), ==, 0);
        g_assert_false(copy_guarded(iov, 2, map + PAGE - 100));
        g_assert_cmpint(ftruncate(fd, 2 * PAGE), ==, 0);
        g_assert_true(copy_guarded(iov, 2, map + PAGE - 100));
        g_assert_cmpint(b[0], ==, 0);
    }
    munmap(map, 2 * PAGE);
    close(fd);
}

static void test_out(void)
{
    int fd = make_file(2 * PAGE);
    char *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char a[100], b[100], c[200];
    struct iovec iov[] = {{a, sizeof(a)}, {b, sizeof(b)}};

    memset(a, 'x', sizeof(a));
    memset(b, 'y', sizeof(b));
    g_assert_true(copy_guarded_out(map + PAGE - 100, iov, 2));
    g_assert_cmpint(pread(fd, c, sizeof(c), PAGE - 100), ==, sizeof(c));
    g_assert_cmpmem(c, 100, a, 100);
    g_assert_cmpmem(c + 100, 100, b, 100);
    g_assert_cmpint(ftruncate(fd, PAGE), ==, 0);
    g_assert_false(copy_guarded_out(map + PAGE - 100, iov, 2));
    g_assert_true(copy_guarded_out(map + PAGE - 200, iov, 2));
    munmap(map, 2 * PAGE);
    close(fd);
}

/* Of any length, from anywhere to anywhere, every byte and no other. */
static void test_out_lengths(void)
{
    static const size_t lengths[] = {1, 63, 2047, 2048, 2049, 2111, 2112, 4096, 5000, 3 * PAGE};
    char file[5 * PAGE], before[5 * PAGE], source[4 * PAGE];

    for (size_t i = 0; i < sizeof(source); i++) {
        source[i] = (char)(i * 7 + i / 251);
    }
    memset(before, '.', sizeof(before));
    for (size_t n = 0; n < G_N_ELEMENTS(lengths); n++) {
        for (size_t to = 0; to < 130; to += 13) {
            size_t len = lengths[n], from = (to * 5) % 67;
            struct iovec iov[] = {{source + from, len}, {source, 100}};

            memset(file, '.', sizeof(file));
            g_assert_true(copy_guarded_out(file + to, iov, 2));
            g_assert_cmpmem(file, to, before, to);
            g_assert_cmpmem(file + to, len, source + from, len);
            g_assert_cmpmem(file + to + len, 100, source, 100);
            g_assert_cmpmem(file + to + len + 100, sizeof(file) - to - len - 100, before,
                            sizeof(file) - to - len - 100);
        }
    }
}

/* Outside of a copy it ends the process, as ever. */
static void test_elsewhere(void)
{
    if (g_test_subprocess()) {
        int fd = make_file(PAGE);
        volatile char *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
        char a;
        struct iovec iov = {&a, 1};

        g_assert_true(copy_guarded(&iov, 1, (const void *)map));
        g_assert_cmpint(ftruncate(fd, 0), ==, 0);
        a = map[0];
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/copy-guard/cut-short", test_cut_short);
    g_test_add_func("/copy-guard/out", test_out);
    g_test_add_func("/copy-guard/out-lengths", test_out_lengths);
    g_test_add_func("/copy-guard/elsewhere", test_elsewhere);
    return g_test_run();
}
