/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptor chains: each descriptor is copied once, checked, and its buffer translated to host
 * memory. Nothing here trusts the guest.
 */

#include "virtio-internal.h"

#include <linux/virtio_ring.h>

#include "vring-access.h"

/* What an element has room for at first: enough for most requests. */
#define CHAIN_FIRST_SEGMENTS 8
/* Chains with more segments give their storage back when they are done: what a guest can make a
 * pool of requests keep is bounded. */
#define CHAIN_KEEP_SEGMENTS 512
#define PAGE                4096

/* Buffers for addresses that are no RAM: what the device reads there is zero, what it writes is
 * dropped. */
typedef struct Bounce Bounce;
struct Bounce {
    Bounce *next;
    uint64_t size;
    uint8_t data[];
};

typedef struct Chain {
    VirtQueue *vq;
    unsigned n, n_out;
    uint64_t out_bytes, in_bytes;
    Bounce *bounce;
} Chain;

/* Where a chain is put together before its length is known. */
static __thread struct iovec scratch_iov[VIRTQUEUE_MAX_SIZE];
static __thread uint64_t scratch_addr[VIRTQUEUE_MAX_SIZE];

static void bounce_free(VirtIODevice *vdev, Bounce *b)
{
    while (b) {
        Bounce *next = b->next;

        __atomic_fetch_sub(&vdev->bounce_bytes, b->size, __ATOMIC_RELAXED);
        g_free(b);
        b = next;
    }
}

static void *bounce_get(Chain *c, uint64_t size)
{
    VirtIODevice *vdev = c->vq->vdev;
    Bounce *b;

    if (__atomic_add_fetch(&vdev->bounce_bytes, size, __ATOMIC_RELAXED) > vdev->bounce_limit) {
        __atomic_fetch_sub(&vdev->bounce_bytes, size, __ATOMIC_RELAXED);
        virtio_error(vdev, "virtio: bogus descriptor or out of resources");
        return NULL;
    }
    b = g_malloc0(sizeof(*b) + size);
    b->size = size;
    b->next = c->bounce;
    c->bounce = b;
    return b->data;
}

static bool chain_add(Chain *c, uint64_t addr, void *host, uint64_t len, bool write)
{
    if (c->n == VIRTQUEUE_MAX_SIZE) {
        virtio_error(c->vq->vdev, "virtio: too many write descriptors in indirect table");
        return false;
    }
    scratch_iov[c->n].iov_base = host;
    scratch_iov[c->n].iov_len = len;
    scratch_addr[c->n] = addr;
    c->n++;
    if (write) {
        c->in_bytes += len;
    } else {
        c->n_out = c->n;
        c->out_bytes += len;
    }
    return true;
}

/* One buffer may be several pieces of host memory. */
static bool chain_map(Chain *c, uint64_t addr, uint32_t len, bool write)
{
    if (!len) {
        virtio_error(c->vq->vdev, "virtio: zero sized buffers are not allowed");
        return false;
    }
    if (!write && c->n > c->n_out) {
        virtio_error(c->vq->vdev, "Incorrect order for descriptors");
        return false;
    }
    while (len) {
        uint64_t avail = 0, piece = len;
        void *host = guest_ram_ptr(addr, len, write, &avail);

        if (!host && avail) {
            piece = MIN(avail, len);
            host = guest_ram_ptr(addr, piece, write, NULL);
        }
        if (!host) {
            piece = MIN(PAGE - (addr & (PAGE - 1)), len);
            host = bounce_get(c, piece);
            if (!host) {
                return false;
            }
        }
        if (!chain_add(c, addr, host, piece, write)) {
            return false;
        }
        addr += piece;
        len -= piece;
    }
    return true;
}

/* A descriptor, read once. */
typedef struct Desc {
    uint64_t addr;
    uint32_t len;
    uint16_t flags, next;
} Desc;

static inline Desc desc_load(const uint8_t *table, unsigned i)
{
    const uint8_t *d = table + 16 * (uint64_t)i;
    uint64_t addr = vring_load64(d), rest = vring_load64(d + 8);

    return (Desc){addr, (uint32_t)rest, (uint16_t)(rest >> 32), (uint16_t)(rest >> 48)};
}

static bool chain_walk(Chain *c, unsigned head)
{
    VirtQueue *vq = c->vq;
    const uint8_t *table = vq->desc;
    unsigned max = vq->num, i = head, count = 0;
    bool indirect = false;

    for (;;) {
        const Desc d = desc_load(table, i);

        if ((d.flags & VRING_DESC_F_INDIRECT) && !indirect) {
            if (!d.len || d.len % 16) {
                virtio_error(vq->vdev, "Invalid size for indirect buffer table");
                return false;
            }
            table = guest_ram_ptr(d.addr, d.len, false, NULL);
            if (!table) {
                virtio_error(vq->vdev, "Cannot map indirect buffer");
                return false;
            }
            indirect = true;
            max = d.len / 16;
            count = 0;
            i = 0;
            continue;
        }
        if (!chain_map(c, d.addr, d.len, d.flags & VRING_DESC_F_WRITE)) {
            return false;
        }
        if (++count > max) {
            virtio_error(vq->vdev, "Looped descriptor");
            return false;
        }
        if (!(d.flags & VRING_DESC_F_NEXT)) {
            return true;
        }
        i = d.next;
        if (i >= max) {
            virtio_error(vq->vdev, "Desc next is %u", i);
            return false;
        }
    }
}

static void element_reserve(VirtQueueElement *elem, unsigned n)
{
    if (n > elem->cap) {
        elem->cap = 1u << g_bit_storage(n - 1);
        elem->cap = MAX(elem->cap, 8);
        g_free(elem->iov);
        elem->iov = g_malloc(elem->cap * (sizeof(*elem->iov) + sizeof(*elem->addr)));
        elem->addr = (uint64_t *)(elem->iov + elem->cap);
    }
}

/*
 * The common case, straight into elem: few segments, all in one piece of RAM, in a table of the
 * right size. Whatever is not so, good or bad, ends it; then everything is read anew by
 * chain_walk(), which alone decides what is an error.
 */
static bool read_simple(VirtQueue *vq, unsigned head, VirtQueueElement *elem, GuestRamView *view)
{
    const uint8_t *table = vq->desc;
    unsigned max = vq->num, i = head, n = 0, n_out = 0;
    uint64_t bytes = 0, out_bytes = 0;
    bool indirect = false;

    for (;;) {
        const Desc d = desc_load(table, i);
        void *host = guest_ram_view_ptr(view, d.addr, d.len);

        if (G_UNLIKELY(!host)) {
            if (!guest_ram_view(view, d.addr)) {
                return false;
            }
            host = guest_ram_view_ptr(view, d.addr, d.len);
        }
        if (G_UNLIKELY(!host || !d.len)) {
            return false;
        }
        if (d.flags & VRING_DESC_F_INDIRECT) {
            if (indirect || n || d.len % 16) {
                return false;
            }
            table = host;
            indirect = true;
            max = d.len / 16;
            i = 0;
            continue;
        }
        if (G_UNLIKELY(n == elem->cap || n == max)) {
            return false;
        }
        elem->iov[n] = (struct iovec){host, d.len};
        elem->addr[n] = d.addr;
        n++;
        bytes += d.len;
        if (!(d.flags & VRING_DESC_F_WRITE)) {
            if (G_UNLIKELY(n_out != n - 1)) {
                return false;
            }
            n_out = n;
            out_bytes = bytes;
        }
        if (!(d.flags & VRING_DESC_F_NEXT)) {
            break;
        }
        i = d.next;
        if (G_UNLIKELY(i >= max)) {
            return false;
        }
    }
    elem->head = head;
    elem->n_out = n_out;
    elem->n_in = n - n_out;
    elem->out = elem->iov;
    elem->in = elem->iov + n_out;
    elem->out_bytes = out_bytes;
    elem->in_bytes = bytes - out_bytes;
    elem->bounce = NULL;
    return true;
}

bool virtqueue_read_chain(VirtQueue *vq, unsigned head, VirtQueueElement *elem, GuestRamView *view)
{
    Chain c = {.vq = vq};

    element_reserve(elem, CHAIN_FIRST_SEGMENTS);
    if (G_LIKELY(read_simple(vq, head, elem, view))) {
        return true;
    }
    if (!chain_walk(&c, head)) {
        bounce_free(vq->vdev, c.bounce);
        return false;
    }
    element_reserve(elem, c.n);
    memcpy(elem->iov, scratch_iov, c.n * sizeof(*elem->iov));
    memcpy(elem->addr, scratch_addr, c.n * sizeof(*elem->addr));
    elem->head = head;
    elem->n_out = c.n_out;
    elem->n_in = c.n - c.n_out;
    elem->out = elem->iov;
    elem->in = elem->iov + c.n_out;
    elem->out_bytes = c.out_bytes;
    elem->in_bytes = c.in_bytes;
    elem->bounce = c.bounce;
    return true;
}

void virtqueue_element_done(VirtIODevice *vdev, VirtQueueElement *elem)
{
    if (G_UNLIKELY(elem->bounce)) {
        bounce_free(vdev, elem->bounce);
        elem->bounce = NULL;
    }
    if (G_UNLIKELY(elem->cap > CHAIN_KEEP_SEGMENTS)) {
        virtqueue_element_release(elem);
    }
}

void virtqueue_element_release(VirtQueueElement *elem)
{
    g_assert(!elem->bounce);
    g_free(elem->iov);
    elem->iov = elem->in = elem->out = NULL;
    elem->addr = NULL;
    elem->cap = 0;
}

/* ---- copies ---- */

static size_t copy_iov(const struct iovec *iov, unsigned n, size_t offset, void *buf, size_t len,
                       bool to_guest)
{
    size_t done = 0;

    for (unsigned i = 0; i < n && done < len; i++) {
        size_t part;

        if (offset >= iov[i].iov_len) {
            offset -= iov[i].iov_len;
            continue;
        }
        part = MIN(iov[i].iov_len - offset, len - done);
        if (to_guest) {
            vring_copy((uint8_t *)iov[i].iov_base + offset, (uint8_t *)buf + done, part);
        } else {
            vring_copy((uint8_t *)buf + done, (uint8_t *)iov[i].iov_base + offset, part);
        }
        done += part;
        offset = 0;
    }
    return done;
}

size_t virtqueue_copy_out(const VirtQueueElement *elem, size_t offset, void *buf, size_t len)
{
    return copy_iov(elem->out, elem->n_out, offset, buf, len, false);
}

size_t virtqueue_copy_in(const VirtQueueElement *elem, size_t offset, const void *buf, size_t len)
{
    return copy_iov(elem->in, elem->n_in, offset, (void *)buf, len, true);
}

static void strip(VirtQueueElement *elem, size_t len)
{
    while (len) {
        size_t part = MIN(len, elem->out[0].iov_len);

        elem->out[0].iov_base = (uint8_t *)elem->out[0].iov_base + part;
        elem->out[0].iov_len -= part;
        len -= part;
        if (!elem->out[0].iov_len) {
            elem->out++;
            elem->n_out--;
        }
    }
}

bool virtqueue_pull(VirtQueueElement *elem, void *buf, size_t len)
{
    if (elem->out_bytes < len) {
        return false;
    }
    elem->out_bytes -= len;
    /* Drivers put a header into a buffer of its own. */
    if (G_LIKELY(elem->out[0].iov_len == len)) {
        vring_copy(buf, elem->out[0].iov_base, len);
        elem->out++;
        elem->n_out--;
        return true;
    }
    copy_iov(elem->out, elem->n_out, 0, buf, len, false);
    strip(elem, len);
    return true;
}

void virtqueue_set_last_byte(const VirtQueueElement *elem, uint8_t value)
{
    const struct iovec *last = &elem->in[elem->n_in - 1];

    vring_copy((uint8_t *)last->iov_base + last->iov_len - 1, &value, 1);
}
