/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Split virtqueues (virtio 1.3 §2.7): taking chains, giving them back, notifications. */

#include "virtio-internal.h"

#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "vring-access.h"

static inline unsigned ring_slot(const VirtQueue *vq, uint16_t idx)
{
    return vq->mask ? (idx & vq->mask) : idx % vq->num;
}

static inline uint8_t *avail_entry(const VirtQueue *vq, unsigned slot)
{
    return vq->avail + 4 + 2 * slot;
}

static inline uint8_t *used_entry(const VirtQueue *vq, unsigned slot)
{
    return vq->used + 4 + 8 * slot;
}

bool virtqueue_map(VirtQueue *vq)
{
    VirtIODevice *vdev = vq->vdev;
    unsigned event = vq->event_idx ? 2 : 0;
    const char *part;
    uint8_t *desc, *avail, *used;

    vq->desc = NULL;
    if (!vq->m.desc || !vq->num) {
        return false;
    }
    guest_ram_enter();
    part = "desc";
    desc = guest_ram_ptr(vq->m.desc, 16 * (uint64_t)vq->num, false, NULL);
    if (!desc) {
        goto fail;
    }
    part = "used";
    used = guest_ram_ptr(vq->m.used, 4 + 8 * (uint64_t)vq->num + event, true, NULL);
    if (!used) {
        goto fail;
    }
    part = "avail";
    avail = guest_ram_ptr(vq->m.avail, 4 + 2 * (uint64_t)vq->num + event, false, NULL);
    if (!avail) {
        goto fail;
    }
    guest_ram_leave();
    vq->desc = desc;
    vq->avail = avail;
    vq->used = used;
    vq->mask = (vq->num & (vq->num - 1)) ? 0 : vq->num - 1;
    return true;

fail:
    guest_ram_leave();
    virtio_error(vdev, "Cannot map %s", part);
    return false;
}

void virtqueue_reset_state(VirtQueue *vq)
{
    vq->o.last_avail = 0;
    vq->o.shadow_avail = 0;
    vq->o.used_idx = 0;
    vq->o.pushed = 0;
    vq->o.signalled_used = 0;
    vq->o.signalled_used_valid = false;
    vq->o.kick_wanted = true;
    vq->o.overrun = false;
    vq->o.inuse = 0;
}

/* ---- taking ---- */

bool virtqueue_empty(VirtQueue *vq)
{
    if (!vq->desc || virtio_is_broken(vq->vdev)) {
        return true;
    }
    if (vq->o.shadow_avail != vq->o.last_avail) {
        return false;
    }
    vq->o.shadow_avail = vring_load16(vq->avail + 2);
    /* More than fit in the ring cannot be there. What comes first is served, and found bad if it
     * is; that is the error then. */
    vq->o.overrun = (uint16_t)(vq->o.shadow_avail - vq->o.last_avail) > vq->num;
    vq->o.overrun_at = vq->o.last_avail + vq->num;
    return vq->o.shadow_avail == vq->o.last_avail;
}

unsigned virtqueue_waiting(VirtQueue *vq)
{
    return virtqueue_empty(vq) ? 0 : (uint16_t)(vq->o.shadow_avail - vq->o.last_avail);
}

static int pop_one(VirtQueue *vq, VirtQueueElement *elem, GuestRamView *view)
{
    VirtIODevice *vdev = vq->vdev;
    unsigned head;

    if (virtqueue_empty(vq)) {
        return 0;
    }
    /* The entry, and what it points to, were written before the index that announced it. */
    vring_rmb();
    if (vq->o.inuse >= vq->num || (vq->o.overrun && vq->o.last_avail == vq->o.overrun_at)) {
        virtio_error(vdev, "Virtqueue size exceeded");
        return -1;
    }
    head = vring_load16(avail_entry(vq, ring_slot(vq, vq->o.last_avail)));
    if (head >= vq->num) {
        virtio_error(vdev, "Guest says index %u is available", head);
        return -1;
    }
    vq->o.last_avail++;
    if (vq->event_idx && vq->o.kick_wanted) {
        vring_store16(used_entry(vq, vq->num), vq->o.last_avail);
    }
    if (!virtqueue_read_chain(vq, head, elem, view)) {
        return -1;
    }
    vq->o.inuse++;
    return 1;
}

int virtqueue_pop(VirtQueue *vq, VirtQueueElement *elem)
{
    GuestRamView view = {0};
    int r;

    guest_ram_enter();
    r = pop_one(vq, elem, &view);
    guest_ram_leave();
    return r;
}

/* The guest has just written the first buffer, and will read the last byte of the last one: both
 * lines are in the cache of its processor. They come here while other chains are read. */
static void prefetch_ends(const VirtQueueElement *elem)
{
    if (elem->n_out) {
        __builtin_prefetch(elem->out[0].iov_base);
    }
    if (elem->n_in) {
        const struct iovec *last = &elem->in[elem->n_in - 1];

        __builtin_prefetch((char *)last->iov_base + last->iov_len - 1, 1);
    }
}

unsigned virtqueue_pop_many(VirtQueue *vq, VirtQueueElement *const *elems, unsigned n, bool *bad)
{
    GuestRamView view = {0};
    unsigned got = 0;
    int r = 1;

    guest_ram_enter();
    while (got < n && (r = pop_one(vq, elems[got], &view)) > 0) {
        prefetch_ends(elems[got]);
        got++;
    }
    guest_ram_leave();
    *bad = r < 0;
    return got;
}

/* ---- giving back ---- */

static void virtqueue_deferred_flush(void *opaque)
{
    VirtQueue *vq = opaque;

    vq->o.flush_deferred = false;
    virtqueue_flush(vq);
    /* The last of a queue that is to change hands: from here on nothing of it is left in this
     * thread. */
    if (vq->o.takes) {
        virtqueue_idle_check(vq);
    }
}

static void flush_soon(VirtQueue *vq)
{
    if (!vq->o.flush_deferred) {
        vq->o.flush_deferred = true;
        aio_defer(virtqueue_deferred_flush, vq);
    }
}

void virtqueue_push(VirtQueue *vq, VirtQueueElement *elem, uint32_t len)
{
    g_assert(vq->o.inuse > 0);
    vq->o.inuse--;
    /* A broken device is silent until it is reset. */
    if (!virtio_is_broken(vq->vdev) && vq->desc) {
        uint8_t *e = used_entry(vq, ring_slot(vq, vq->o.used_idx + vq->o.pushed));

        if (guest_ram_tracked()) {
            const uint64_t *addr = elem->addr + (elem->in - elem->iov);

            for (unsigned i = 0; i < elem->n_in; i++) {
                guest_ram_dirty(addr[i], elem->in[i].iov_len);
            }
        }
        vring_store32(e, elem->head);
        vring_store32(e + 4, len);
        vq->o.pushed++;
    }
    virtqueue_element_done(vq->vdev, elem);
    flush_soon(vq);
}

void virtqueue_discard(VirtQueue *vq, VirtQueueElement *elem)
{
    g_assert(vq->o.inuse > 0);
    vq->o.inuse--;
    virtqueue_element_done(vq->vdev, elem);
}

/* Whether the guest wants to be interrupted for what was published since it was last told. */
static bool interrupt_wanted(VirtQueue *vq)
{
    uint16_t old, new, event;
    bool valid;

    /* The index must be visible before the guest's wish is read, or both sides could wait. */
    vring_mb();
    if (vq->notify_on_empty && !vq->o.inuse && virtqueue_empty(vq)) {
        return true;
    }
    if (!vq->event_idx) {
        return !(vring_load16(vq->avail) & VRING_AVAIL_F_NO_INTERRUPT);
    }
    valid = vq->o.signalled_used_valid;
    vq->o.signalled_used_valid = true;
    old = vq->o.signalled_used;
    new = vq->o.signalled_used = vq->o.used_idx;
    event = vring_load16(avail_entry(vq, vq->num));
    return !valid || vring_need_event(event, new, old);
}

static void interrupt(VirtQueue *vq)
{
    VirtIODevice *vdev = vq->vdev;

    counter_add(&vq->o.counters.notifications, 1);
    virtio_set_isr(vdev, 1);
    if (vq->guest.fd >= 0 && !aio_in_main_thread()) {
        event_notifier_set(&vq->guest);
    } else {
        vdev->transport->notify(vdev->transport_opaque, vq->m.vector);
    }
}

void virtqueue_flush(VirtQueue *vq)
{
    uint16_t old, new;

    if (!vq->o.pushed) {
        return;
    }
    if (virtio_is_broken(vq->vdev) || !vq->desc) {
        vq->o.pushed = 0;
        return;
    }
    old = vq->o.used_idx;
    new = old + vq->o.pushed;
    /* Entries before the index that announces them. */
    vring_wmb();
    vring_store16(vq->used + 2, new);
    vq->o.used_idx = new;
    vq->o.pushed = 0;
    if ((uint16_t)(new - vq->o.signalled_used) < (uint16_t)(new - old)) {
        /* The index has run past the place where the guest was last told. */
        vq->o.signalled_used_valid = false;
    }
    guest_ram_dirty(vq->m.used, 4 + 8 * (uint64_t)vq->num);
    vq->o.told = interrupt_wanted(vq);
    if (vq->o.told) {
        interrupt(vq);
    }
}

bool virtqueue_interrupts(const VirtQueue *vq)
{
    return vq->o.told;
}

unsigned virtqueue_inuse(const VirtQueue *vq)
{
    return vq->o.inuse;
}

void virtqueue_flush_early(VirtQueue *vq)
{
    if (!vq->o.told) {
        virtqueue_flush(vq);
    }
}

/* ---- kicks ---- */

void virtqueue_set_kick_wanted(VirtQueue *vq, bool on)
{
    vq->o.kick_wanted = on;
    if (!vq->desc || virtio_is_broken(vq->vdev)) {
        return;
    }
    if (vq->event_idx) {
        /* Off: the event index just stays behind. */
        if (on) {
            vring_store16(used_entry(vq, vq->num), vq->o.last_avail);
        }
    } else {
        vring_store16(vq->used, on ? 0 : VRING_USED_F_NO_NOTIFY);
    }
    if (on) {
        /* The wish must be visible before the caller looks at the ring for the last time. */
        vring_mb();
    }
}

void virtqueue_mute(VirtQueue *vq)
{
    virtqueue_set_kick_wanted(vq, false);
    if (vq->event_idx && vq->desc && !virtio_is_broken(vq->vdev)) {
        /* The wish for the very next chain still stands there; this is the one farthest away. */
        vring_store16(used_entry(vq, vq->num), vq->o.last_avail - 1);
    }
}

bool virtqueue_kick_wanted(const VirtQueue *vq)
{
    return vq->o.kick_wanted;
}

/* ---- facts ---- */

unsigned virtqueue_index(const VirtQueue *vq)
{
    return vq->index;
}

VirtQueueCounters *virtqueue_counters(VirtQueue *vq)
{
    return &vq->o.counters;
}

VirtIODevice *virtqueue_device(const VirtQueue *vq)
{
    return vq->vdev;
}

bool virtqueue_ready(const VirtQueue *vq)
{
    return vq->m.desc != 0;
}

unsigned virtqueue_size(const VirtQueue *vq)
{
    return vq->num;
}
