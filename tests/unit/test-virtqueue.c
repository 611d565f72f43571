/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Split rings: good chains of all shapes, bad ones, notifications both ways, wrap-around. */
#include "virtio-fixture.h"

#define EVENT_IDX (UINT64_C(1) << VIRTIO_RING_F_EVENT_IDX)
#define UNMAPPED  0x8000000000

static void kick(Echo *e)
{
    virtio_queue_kick((VirtIODevice *)e, 0);
    while (aio_poll(aio_context_main(), false)) {
    }
}

/* ---- bad rings ---- */

typedef struct BadRing {
    const char *name;
    const char *text; /* expected on stderr */
    void (*build)(void);
} BadRing;

static void bad_head(void)
{
    publish(64, 64);
}

static void bad_next(void)
{
    desc(0, DATA, 16, VRING_DESC_F_NEXT, 200);
    publish(64, 0);
}

static void bad_loop(void)
{
    desc(0, DATA, 16, VRING_DESC_F_NEXT, 1);
    desc(1, DATA, 16, VRING_DESC_F_NEXT, 0);
    publish(64, 0);
}

static void bad_self_loop(void)
{
    desc(5, DATA, 16, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 5);
    publish(64, 5);
}

static void bad_zero(void)
{
    desc(0, DATA, 0, 0, 0);
    publish(64, 0);
}

static void bad_order(void)
{
    desc(0, DATA, 16, VRING_DESC_F_WRITE | VRING_DESC_F_NEXT, 1);
    desc(1, DATA, 16, 0, 0);
    publish(64, 0);
}

static void bad_indirect_size(void)
{
    desc(0, DATA, 40, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_indirect_empty(void)
{
    desc(0, DATA, 0, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_indirect_unmapped(void)
{
    desc(0, UNMAPPED, 32, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_indirect_huge(void)
{
    desc(0, DATA, 0xfffffff0, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_indirect_past_ram(void)
{
    desc(0, RAM_BASE + RAM_SIZE - 16, 32, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_indirect_next(void)
{
    desc_at(DATA, 0, DATA + 0x1000, 16, VRING_DESC_F_NEXT, 2);
    desc(0, DATA, 32, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_indirect_loop(void)
{
    desc_at(DATA, 0, DATA + 0x1000, 16, VRING_DESC_F_NEXT, 1);
    desc_at(DATA, 1, DATA + 0x1000, 16, VRING_DESC_F_NEXT, 0);
    desc(0, DATA, 32, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_too_long(void)
{
    for (unsigned i = 0; i < 1100; i++) {
        desc_at(DATA, i, DATA + 0x10000, 1, VRING_DESC_F_NEXT, i + 1);
    }
    desc(0, DATA, 1100 * 16, VRING_DESC_F_INDIRECT, 0);
    publish(64, 0);
}

static void bad_bounce(void)
{
    desc(0, UNMAPPED, 8192, 0, 0);
    publish(64, 0);
}

static void bad_bounce_wrap(void)
{
    desc(0, UINT64_MAX - 255, 0x10000, VRING_DESC_F_WRITE, 0);
    publish(64, 0);
}

static void bad_index_jump(void)
{
    put16(AVAIL + 2, 65);
}

static void bad_index_jump_good_chains(void)
{
    desc(0, DATA, 1, VRING_DESC_F_WRITE, 0);
    put16(AVAIL + 2, 200);
}

static const BadRing bad_rings[] = {
    {"head", "Guest says index 64 is available", bad_head},
    {"next", "Desc next is 200", bad_next},
    {"loop", "Looped descriptor", bad_loop},
    {"self-loop", "Looped descriptor", bad_self_loop},
    {"zero", "virtio: zero sized buffers are not allowed", bad_zero},
    {"order", "Incorrect order for descriptors", bad_order},
    {"indirect-size", "Invalid size for indirect buffer table", bad_indirect_size},
    {"indirect-empty", "Invalid size for indirect buffer table", bad_indirect_empty},
    {"indirect-unmapped", "Cannot map indirect buffer", bad_indirect_unmapped},
    {"indirect-huge", "Cannot map indirect buffer", bad_indirect_huge},
    {"indirect-past-ram", "Cannot map indirect buffer", bad_indirect_past_ram},
    {"indirect-next", "Desc next is 2", bad_indirect_next},
    {"indirect-loop", "Looped descriptor", bad_indirect_loop},
    {"too-long", "virtio: too many write descriptors in indirect table", bad_too_long},
    {"bounce", "virtio: bogus descriptor or out of resources", bad_bounce},
    {"bounce-wrap", "virtio: bogus descriptor or out of resources", bad_bounce_wrap},
    {"index-jump", "virtio: zero sized buffers are not allowed", bad_index_jump},
    {"index-jump-good-chains", "Virtqueue size exceeded", bad_index_jump_good_chains},
};

static void test_bad_ring(gconstpointer data)
{
    const BadRing *bad = data;
    Echo *e = echo_new(NULL);
    VirtIODevice *vdev = (VirtIODevice *)e;

    echo_up(e, 64, 0);
    bad->build();
    kick(e);
    g_assert_nonnull(last_error);
    g_assert_true(g_str_has_suffix(last_error, bad->text));
    g_assert_true(virtio_is_broken(vdev));
    g_assert_cmphex(virtio_get_status(vdev), ==, 0x4f);
    g_assert_cmphex(virtio_read_isr(vdev, true), ==, 3);
    g_assert_cmpuint(e->notified, ==, 1);
    g_assert_cmpuint(get16(USED + 2), ==, 0);
    g_assert_cmpuint(vdev->bounce_bytes, ==, 0);
    g_assert_cmpuint(vdev->queues[0]->o.inuse, ==, 0);

    /* It is deaf until it is reset, and fine after that. */
    memset(ram, 0, RAM_SIZE);
    desc(0, DATA, 1, VRING_DESC_F_WRITE, 0);
    publish(64, 0);
    kick(e);
    g_assert_cmpuint(get16(USED + 2), ==, 0);
    virtio_reset(vdev);
    g_assert_false(virtio_is_broken(vdev));
    memset(ram, 0, RAM_SIZE);
    echo_up(e, 64, 0);
    desc(0, DATA, 1, VRING_DESC_F_WRITE, 0);
    publish(64, 0);
    kick(e);
    g_assert_cmpuint(get16(USED + 2), ==, 1);
    echo_free(e);
}

static void test_ring_not_in_ram(void)
{
    static const uint64_t addrs[][3] = {
        {UNMAPPED, AVAIL, USED},
        {DESC, UNMAPPED, USED},
        {DESC, AVAIL, UNMAPPED},
        {RAM_BASE + RAM_SIZE - 64, AVAIL, USED},
        {DESC, RAM_BASE + RAM_SIZE - 8, USED},
        {DESC, AVAIL, RAM_BASE + RAM_SIZE - 8},
        {UINT64_MAX - 15, AVAIL, USED},
    };
    static const char *const texts[] = {
        "Cannot map desc",  "Cannot map avail", "Cannot map used", "Cannot map desc",
        "Cannot map avail", "Cannot map used",  "Cannot map desc",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(addrs); i++) {
        Echo *e = echo_new(NULL);
        VirtIODevice *vdev = (VirtIODevice *)e;

        virtio_set_status(vdev, 11);
        virtio_queue_set_rings(vdev->queues[0], addrs[i][0], addrs[i][1], addrs[i][2]);
        g_assert_nonnull(last_error);
        g_assert_true(g_str_has_suffix(last_error, texts[i]));
        virtio_set_status(vdev, 15);
        kick(e);
        g_assert_cmpuint(e->handled, ==, 0);
        echo_free(e);
    }
}

/* ---- good chains ---- */

static void test_shapes(void)
{
    Echo *e = echo_new(NULL);
    uint8_t *in = host(DATA + 0x1000);

    echo_up(e, 64, 0);
    memset(host(DATA), 1, 100);

    /* several out, several in */
    desc(0, DATA, 10, VRING_DESC_F_NEXT, 7);
    desc(7, DATA + 10, 20, VRING_DESC_F_NEXT, 3);
    desc(3, DATA + 0x1000, 5, VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 4);
    desc(4, DATA + 0x1005, 5, VRING_DESC_F_WRITE, 0);
    publish(64, 0);
    kick(e);
    g_assert_cmpuint(get16(USED + 2), ==, 1);
    g_assert_cmpuint(in[0], ==, 30);
    g_assert_cmpuint(in[9], ==, 30);
    g_assert_cmpuint(in[10], ==, 0);
    g_assert_cmpuint(*(uint32_t *)host(USED + 4), ==, 0);
    g_assert_cmpuint(*(uint32_t *)host(USED + 8), ==, 10);

    /* indirect, also behind direct descriptors; flags that make no sense there are ignored */
    desc_at(DATA + 0x2000, 0, DATA, 3, VRING_DESC_F_NEXT, 1);
    desc_at(DATA + 0x2000, 1, DATA + 0x1000, 1, VRING_DESC_F_WRITE | VRING_DESC_F_INDIRECT, 0);
    desc(9, DATA + 0x2000, 32, VRING_DESC_F_INDIRECT | VRING_DESC_F_NEXT, 77);
    publish(64, 9);
    desc(10, DATA, 4, VRING_DESC_F_NEXT, 11);
    desc(11, DATA + 0x2000, 32, VRING_DESC_F_INDIRECT, 0);
    publish(64, 10);
    kick(e);
    g_assert_cmpuint(get16(USED + 2), ==, 3);
    g_assert_cmpuint(in[0], ==, 7);

    /* no RAM: reads zeros, writes nothing, completes */
    desc(0, UNMAPPED, 4000, VRING_DESC_F_NEXT, 1);
    desc(1, DATA + 0x1000, 1, VRING_DESC_F_WRITE, 0);
    publish(64, 0);
    desc(2, UNMAPPED, 64, VRING_DESC_F_WRITE, 0);
    publish(64, 2);
    /* half of it RAM */
    desc(5, RAM_BASE + RAM_SIZE - 8, 16, VRING_DESC_F_WRITE, 0);
    publish(64, 5);
    kick(e);
    g_assert_cmpuint(get16(USED + 2), ==, 6);
    g_assert_cmpuint(in[0], ==, 0);
    g_assert_null(last_error);
    g_assert_cmpuint(((VirtIODevice *)e)->bounce_bytes, ==, 0);
    echo_free(e);
}

static void test_sizes(void)
{
    static const unsigned sizes[] = {1, 2, 3, 7, 64, 100, 255, 256, 257, 1000, 1024};

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        unsigned num = sizes[i];
        Echo *e = echo_new(NULL);

        g_assert_cmpuint(virtqueue_size(echo_up(e, num, 0)), ==, num);
        for (unsigned n = 0; n < 3 * num + 5; n++) {
            unsigned head = n % num;

            desc(head, DATA + n % 100, 1, VRING_DESC_F_WRITE, 0);
            publish(num, head);
            kick(e);
            g_assert_cmpuint(get16(USED + 2), ==, n + 1);
            g_assert_cmpuint(*(uint32_t *)host(USED + 4 + 8 * (n % num)), ==, head);
        }
        echo_free(e);
    }
}

static void test_size_register(void)
{
    Echo *e = echo_new(NULL);
    VirtQueue *vq = ((VirtIODevice *)e)->queues[0];

    virtio_queue_set_num(vq, 0);
    g_assert_cmpuint(virtqueue_size(vq), ==, 256);
    virtio_queue_set_num(vq, 1025);
    g_assert_cmpuint(virtqueue_size(vq), ==, 256);
    virtio_queue_set_num(vq, 1000);
    g_assert_cmpuint(virtqueue_size(vq), ==, 1000);
    virtio_queue_reset(vq);
    g_assert_cmpuint(virtqueue_size(vq), ==, 256);
    echo_free(e);
}

/* More chains in flight than the ring has entries. */
static void test_size_exceeded(void)
{
    Echo *e = echo_new(NULL);
    VirtQueueElement elem[3] = {0};
    VirtQueue *vq = echo_up(e, 2, 0);

    desc(0, DATA, 1, VRING_DESC_F_WRITE, 0);
    publish(2, 0);
    publish(2, 0);
    publish(2, 0);
    g_assert_cmpint(virtqueue_pop(vq, &elem[0]), ==, 1);
    g_assert_cmpint(virtqueue_pop(vq, &elem[1]), ==, 1);
    g_assert_cmpint(virtqueue_pop(vq, &elem[2]), ==, -1);
    g_assert_true(g_str_has_suffix(last_error, "Virtqueue size exceeded"));
    for (unsigned i = 0; i < 2; i++) {
        virtqueue_discard(vq, &elem[i]);
        virtqueue_element_release(&elem[i]);
    }
    echo_free(e);
}

/* ---- notifications ---- */

static void add_one(void)
{
    desc(0, DATA, 1, VRING_DESC_F_WRITE, 0);
    publish(64, 0);
}

static void test_no_interrupt(void)
{
    Echo *e = echo_new(NULL);

    echo_up(e, 64, 0);
    put16(AVAIL, VRING_AVAIL_F_NO_INTERRUPT);
    add_one();
    kick(e);
    g_assert_cmpuint(e->notified, ==, 0);
    put16(AVAIL, 0);
    add_one();
    add_one();
    kick(e);
    g_assert_cmpuint(e->notified, ==, 1); /* one for the batch */
    g_assert_cmpuint(get16(USED), ==, 0);
    echo_free(e);
}

/* Answers are seen before the end of a batch by a guest that looks for them; one that wants to be
 * interrupted gets all of a batch with one interrupt. */
static void test_early(void)
{
    Echo *e = echo_new(NULL);

    echo_up(e, 64, 0);
    e->early = true;
    put16(AVAIL, VRING_AVAIL_F_NO_INTERRUPT);
    for (unsigned i = 0; i < 3; i++) {
        add_one();
    }
    kick(e);
    g_assert_cmpuint(e->used, ==, 3);
    g_assert_cmpuint(e->notified, ==, 0);

    put16(AVAIL, 0);
    add_one();
    kick(e);
    g_assert_cmpuint(e->notified, ==, 1);
    for (unsigned i = 0; i < 3; i++) {
        add_one();
    }
    kick(e);
    g_assert_cmpuint(e->used, ==, 4);
    g_assert_cmpuint(e->notified, ==, 2);
    g_assert_cmpuint(get16(USED + 2), ==, 7);
    echo_free(e);
}

/* Through the wrap of all 16-bit indices: an interrupt when, and only when, the index passes the
 * event; kicks are wanted at the index that comes next. */
static void test_event_idx(void)
{
    Echo *e = echo_new(NULL);
    const uint64_t used_event = AVAIL + 4 + 2 * 64, avail_event = USED + 4 + 8 * 64;
    uint32_t seed = 1;
    unsigned expected = 1;
    uint16_t used = 0;

    echo_up(e, 64, EVENT_IDX);
    g_assert_cmpuint(get16(avail_event), ==, 0);
    put16(used_event, 0x8000);
    add_one();
    kick(e);
    g_assert_cmpuint(e->notified, ==, 1); /* the first one always */
    used = 1;
    for (unsigned round = 0; round < 30000; round++) {
        unsigned n = (seed = seed * 1103515245 + 12345) >> 16 & 7;
        uint16_t event = used + (seed >> 20 & 15) - 4;

        put16(used_event, event);
        for (unsigned i = 0; i < n; i++) {
            add_one();
        }
        kick(e);
        expected += n && (uint16_t)(event - used) < n;
        used += n;
        g_assert_cmpuint(get16(USED + 2), ==, used);
        g_assert_cmpuint(get16(avail_event), ==, used);
        g_assert_cmpuint(e->notified, ==, expected);
    }
    echo_free(e);
}

static void test_kick_wanted(void)
{
    Echo *e = echo_new(NULL);
    VirtQueue *vq = echo_up(e, 64, 0);

    virtqueue_set_kick_wanted(vq, false);
    g_assert_cmpuint(get16(USED), ==, VRING_USED_F_NO_NOTIFY);
    virtqueue_set_kick_wanted(vq, true);
    g_assert_cmpuint(get16(USED), ==, 0);
    echo_free(e);
}

static void test_config_interrupt(void)
{
    Echo *e = echo_new(NULL);
    VirtIODevice *vdev = (VirtIODevice *)e;

    virtio_config_changed(vdev);
    kick(e);
    g_assert_cmpuint(e->notified, ==, 0); /* not before DRIVER_OK */
    echo_up(e, 64, 0);
    virtio_config_changed(vdev);
    virtio_config_changed(vdev);
    kick(e);
    g_assert_cmpuint(e->notified, ==, 1);
    g_assert_cmphex(virtio_read_isr(vdev, false), ==, 3);
    g_assert_cmphex(virtio_config_read(vdev, 0, 4), ==, 0x5a5a5a5a);
    g_assert_cmphex(virtio_config_read(vdev, 7, 1), ==, 0x5a);
    g_assert_cmphex(virtio_config_read(vdev, 7, 2), ==, 0xffff);
    g_assert_cmphex(virtio_config_read(vdev, 5, 4), ==, 0xffffffff);
    echo_free(e);
}

static void test_features(void)
{
    Echo *e = echo_new(NULL);
    VirtIODevice *vdev = (VirtIODevice *)e;

    g_assert_cmphex(virtio_modern_features(vdev), ==, UINT64_C(0x10130000000));
    g_assert_cmphex(virtio_legacy_features(vdev), ==, 0x79000000);
    virtio_set_guest_features(vdev, UINT64_MAX);
    g_assert_cmphex(vdev->guest_features, ==, vdev->host_features);
    virtio_set_status(vdev, 11);
    virtio_set_guest_features(vdev, 0);
    g_assert_cmphex(vdev->guest_features, ==, vdev->host_features);
    virtio_reset(vdev);
    g_assert_cmphex(vdev->guest_features, ==, 0);
    echo_free(e);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fixture_init();
    for (unsigned i = 0; i < G_N_ELEMENTS(bad_rings); i++) {
        g_autofree char *path = g_strdup_printf("/virtqueue/bad/%s", bad_rings[i].name);

        g_test_add_data_func(path, &bad_rings[i], test_bad_ring);
    }
    g_test_add_func("/virtqueue/not-in-ram", test_ring_not_in_ram);
    g_test_add_func("/virtqueue/shapes", test_shapes);
    g_test_add_func("/virtqueue/sizes", test_sizes);
    g_test_add_func("/virtqueue/size-register", test_size_register);
    g_test_add_func("/virtqueue/size-exceeded", test_size_exceeded);
    g_test_add_func("/virtqueue/no-interrupt", test_no_interrupt);
    g_test_add_func("/virtqueue/early", test_early);
    g_test_add_func("/virtqueue/event-idx", test_event_idx);
    g_test_add_func("/virtqueue/kick-wanted", test_kick_wanted);
    g_test_add_func("/virtio/config-interrupt", test_config_interrupt);
    g_test_add_func("/virtio/features", test_features);
    return g_test_run();
}
