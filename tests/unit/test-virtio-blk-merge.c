/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which neighbouring requests become one. */
#include "../../hw/block/virtio-blk.h"

static unsigned count(const unsigned (*spec)[3], unsigned n, unsigned max_iov, uint64_t max_bytes)
{
    VirtIOBlkReq reqs[8] = {0};
    VirtIOBlkReq *list[8];

    for (unsigned i = 0; i < n; i++) {
        reqs[i].sector = spec[i][0];
        reqs[i].bytes = spec[i][1] * 512;
        reqs[i].n_data = spec[i][2];
        list[i] = &reqs[i];
    }
    return virtio_blk_merge_count(list, n, max_iov, max_bytes);
}

static void test_merge(void)
{
    /* sector, sectors, segments */
    const unsigned adjacent[][3] = {{0, 8, 1}, {8, 8, 2}, {16, 1, 1}, {17, 1, 4}};
    const unsigned gap[][3] = {{0, 8, 1}, {8, 8, 1}, {17, 1, 1}};
    const unsigned overlap[][3] = {{0, 8, 1}, {7, 8, 1}};
    const unsigned same[][3] = {{5, 1, 1}, {5, 1, 1}};

    g_assert_cmpuint(count(adjacent, 4, 1024, UINT64_MAX), ==, 4);
    g_assert_cmpuint(count(adjacent, 1, 1024, UINT64_MAX), ==, 1);
    g_assert_cmpuint(count(adjacent, 4, 8, UINT64_MAX), ==, 4);
    g_assert_cmpuint(count(adjacent, 4, 7, UINT64_MAX), ==, 3);
    g_assert_cmpuint(count(adjacent, 4, 2, UINT64_MAX), ==, 1);
    g_assert_cmpuint(count(adjacent, 4, 1024, 17 * 512), ==, 3);
    g_assert_cmpuint(count(adjacent, 4, 1024, 512), ==, 1);
    g_assert_cmpuint(count(gap, 3, 1024, UINT64_MAX), ==, 2);
    g_assert_cmpuint(count(overlap, 2, 1024, UINT64_MAX), ==, 1);
    g_assert_cmpuint(count(same, 2, 1024, UINT64_MAX), ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/virtio-blk/merge", test_merge);
    return g_test_run();
}
