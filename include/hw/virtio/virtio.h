/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_VIRTIO_VIRTIO_H
#define SPINDLE_HW_VIRTIO_VIRTIO_H

#include <sys/uio.h>

#include "hw/core/device.h"
#include "hw/core/memory.h"
#include "util/aio.h"

/*
 * The virtio device core (virtio 1.3 §2): status, features, virtqueues. A device type (virtio-blk)
 * derives from VirtIODevice; a transport (virtio-pci) owns it and gives it a way to interrupt.
 *
 * Threads: a VirtQueue belongs to one AioContext at a time: to the main thread's while the device
 * is stopped, and to the one that the device chooses while it is started. "Runs in: the queue's
 * context" below. Everything else runs in the main thread under the big lock.
 */
typedef struct VirtIODevice VirtIODevice;
typedef struct VirtQueue VirtQueue;

#define TYPE_VIRTIO_DEVICE "virtio-device"
#define TYPE_VIRTIO_BUS    "virtio-bus"
#define VIRTIO_QUEUE_MAX   1024 /* queues of a device */
#define VIRTQUEUE_MAX_SIZE 1024 /* entries of a queue, and segments of a chain */
#define VIRTIO_NO_VECTOR   0xffff

/* A chain taken from the ring. `in` is what the device may write, `out` what it may read; host
 * addresses of guest RAM, or of a bounce buffer where the guest's address is no RAM. Zero it before
 * its first use; it may be used for one chain after another and keeps its storage meanwhile. */
typedef struct VirtQueueElement {
    uint16_t head; /* index for the used ring */
    uint16_t n_in, n_out;
    uint64_t in_bytes, out_bytes;
    struct iovec *in, *out; /* both point into iov[] */
    /* private */
    struct iovec *iov; /* n_out out entries, then n_in in entries */
    uint64_t *addr;    /* guest's addresses of iov[] */
    unsigned cap;      /* entries that iov[] and addr[] have room for */
    void *bounce;
} VirtQueueElement;

/* ---- queue, data path. Runs in: the queue's context ---- */

/* Takes the next available chain. Returns 1 if one was taken, 0 if there is none, -1 if the ring is
 * bad: then the device has been marked broken, and nothing else may be taken. */
int virtqueue_pop(VirtQueue *vq, VirtQueueElement *elem);
/* Takes up to n chains, and has what they are about on its way here. Returns how many; *bad: after
 * them the ring is bad, as above. */
unsigned virtqueue_pop_many(VirtQueue *vq, VirtQueueElement *const *elems, unsigned n, bool *bad);
/* Gives elem back with `len` bytes written. The guest sees it, and is interrupted if it wants to,
 * at the end of the plugged section (aio_unplug), once for all elements of the section. */
void virtqueue_push(VirtQueue *vq, VirtQueueElement *elem, uint32_t len);
/* Lets the guest see what has been given back so far; not if it wanted to be interrupted for what
 * it was last given to see. */
void virtqueue_flush_early(VirtQueue *vq);
/* Whether the guest wanted to be interrupted for what it was last given to see. */
bool virtqueue_interrupts(const VirtQueue *vq);
/* Number of elements taken and not given back. */
unsigned virtqueue_inuse(const VirtQueue *vq);
/* Forgets elem: the guest gets no answer for it. */
void virtqueue_discard(VirtQueue *vq, VirtQueueElement *elem);
/* Frees what elem kept. Runs in: any thread. */
void virtqueue_element_release(VirtQueueElement *elem);
/* Copies between a chain and host memory, each byte once: from out[] at `offset`, to in[] at
 * `offset`. Return the number of bytes copied, which is less than len where the chain ends.
 * Runs in: any thread. */
size_t virtqueue_copy_out(const VirtQueueElement *elem, size_t offset, void *buf, size_t len);
size_t virtqueue_copy_in(const VirtQueueElement *elem, size_t offset, const void *buf, size_t len);
/* Copies the first `len` bytes of out[] into buf and removes them from out[] and out_bytes; false
 * if there are not as many, then nothing is removed. Runs in: any thread. */
bool virtqueue_pull(VirtQueueElement *elem, void *buf, size_t len);
/* Sets the last byte that the device may write. */
void virtqueue_set_last_byte(const VirtQueueElement *elem, uint8_t value);
/* Nothing to take; true for a broken device. */
bool virtqueue_empty(VirtQueue *vq);
/* How many chains the guest has announced, as far as is known without asking again if any is. */
unsigned virtqueue_waiting(VirtQueue *vq);
/* Whether the guest is asked to kick. After turning it on look at the ring once more. */
void virtqueue_set_kick_wanted(VirtQueue *vq, bool on);
bool virtqueue_kick_wanted(const VirtQueue *vq);
/* Has handle_queue called again soon, after others had their turn. */
void virtqueue_run_again(VirtQueue *vq);
/*
 * A request was handed to someone who will call back; it was called back. `ctx`: where it was
 * handed over. The device does not stop while requests are busy. One that waits for the VM to be
 * resumed is not busy.
 */
void virtqueue_busy(VirtQueue *vq);
void virtqueue_idle(VirtQueue *vq, AioContext *ctx);
/* Whether the caller runs in the queue's context. A busy request may be called back in a context
 * that has meanwhile given the queue away; then it goes on by virtqueue_post().
 * Runs in: any context that has or had the queue. */
bool virtqueue_is_mine(const VirtQueue *vq);
/* Has fn called in the queue's context, wherever that is by then. For a request that is busy.
 * Runs in: any context that has or had the queue. */
void virtqueue_post(VirtQueue *vq, AioCallback *fn, void *opaque);

/* ---- queue, counters ---- */

/* What a queue has done since the device was made, across resets. Written in the queue's context,
 * to be read with counter_get(). */
typedef struct VirtQueueCounters {
    StatCounter requests;      /* chains taken */
    StatCounter batches;       /* rounds that took any */
    StatCounter polled;        /* of them, found by the busy-wait */
    StatCounter kicks;         /* that arrived */
    StatCounter notifications; /* interrupts asked for */
    /* The device's: */
    StatCounter bytes;  /* of data, moved by requests that succeeded */
    StatCounter merged; /* requests that travelled on with another one */
} VirtQueueCounters;
VirtQueueCounters *virtqueue_counters(VirtQueue *vq);

/* ---- queue, facts ---- */

unsigned virtqueue_index(const VirtQueue *vq);
VirtIODevice *virtqueue_device(const VirtQueue *vq);
VirtQueue *virtio_queue(VirtIODevice *vdev, unsigned index); /* NULL: no such queue */
bool virtqueue_ready(const VirtQueue *vq);                   /* the driver has given it addresses */
unsigned virtqueue_size(const VirtQueue *vq);

/* ---- device ---- */

/* What a feature bit is called; ended by an element without a name. */
typedef struct VirtIOBitName {
    unsigned bit;
    const char *name;
} VirtIOBitName;

typedef struct VirtIODeviceClass {
    DeviceClass parent_class;
    bool (*realize)(VirtIODevice *vdev, Error **errp);
    void (*unrealize)(VirtIODevice *vdev);
    /* `features` are those that the properties of the device core offer. */
    uint64_t (*get_features)(VirtIODevice *vdev, uint64_t features);
    void (*get_config)(VirtIODevice *vdev, uint8_t *config);
    void (*set_config)(VirtIODevice *vdev, const uint8_t *config);
    void (*status_changed)(VirtIODevice *vdev, uint8_t old_status);
    /* All queues are stopped. */
    void (*reset)(VirtIODevice *vdev);

    /* Who owns a queue while the device is started; NULL function: the main context. When the
     * answer changes: virtio_move_queues(). */
    AioContext *(*queue_context)(VirtIODevice *vdev, VirtQueue *vq);
    /* Handles available chains of vq, not more than about a ring's worth in one call; returns
     * whether it did anything. Runs in: the queue's context. */
    bool (*handle_queue)(VirtIODevice *vdev, VirtQueue *vq);
    /* The device was started, or the VM resumed, and the queue begins to be served: requests that
     * waited for that go on. Optional. Runs in: the queue's context. */
    void (*queue_started)(VirtIODevice *vdev, VirtQueue *vq);
    /* While on (nests) no request may be kept waiting for the sake of a limit: somebody waits for
     * requests to end. Optional. */
    void (*hurry)(VirtIODevice *vdev, bool on);
    /* The disk behind it, for statistics; NULL function: none. */
    struct BlockBackend *(*backend)(VirtIODevice *vdev);
    /* Names of the device's own feature bits, in the order in which they are listed; optional. */
    const struct VirtIOBitName *feature_names;
    /* The queue was reset by the driver: forget its requests, none of which is busy. */
    void (*queue_reset)(VirtIODevice *vdev, VirtQueue *vq);
} VirtIODeviceClass;

struct VirtIODevice {
    DeviceState parent_obj;
    const char *name;   /* "virtio-blk" */
    uint16_t device_id; /* virtio device type: 2 */
    uint8_t status;     /* atomic */
    uint8_t isr;        /* atomic; bit 0 queue, bit 1 configuration */
    bool broken;        /* atomic; ignored until reset */
    bool vm_running;
    bool started;       /* queues are served in their contexts */
    bool notifiers;     /* there are eventfds between guest and queues */
    bool start_on_kick; /* the driver kicked before DRIVER_OK */
    uint16_t queue_sel;
    uint64_t prop_features;  /* bits that are properties of the core */
    uint64_t host_features;  /* offered */
    uint64_t guest_features; /* atomic */
    uint32_t config_len;
    uint8_t *config;
    uint32_t generation;
    uint16_t config_vector;
    unsigned num_queues;
    VirtQueue **queues;
    uint64_t bounce_limit; /* bytes of bounce buffers at one time */
    uint64_t bounce_bytes; /* atomic; in use */
    /* given by the transport */
    const struct VirtIOTransportOps *transport;
    void *transport_opaque;
    /* private to the core */
    struct RunStateListener *vm_listener;
    AioBh *config_bh, *kick_bh;
    unsigned config_events; /* atomic */
    unsigned paused;        /* depth of drained sections */
    unsigned moving;        /* queues between two owners */
    unsigned remaps;        /* changes of owners that have not ended */
    bool changing, change_again;
    bool use_started, use_disabled_flag, disable_legacy_check;
};

#define VIRTIO_DEVICE(obj)       OBJECT_CHECK(VirtIODevice, obj, TYPE_VIRTIO_DEVICE)
#define VIRTIO_DEVICE_CLASS(dev) ((VirtIODeviceClass *)((Object *)(dev))->klass)

/* What a transport does for its device. Runs in: main thread. */
typedef struct VirtIOTransportOps {
    /* Interrupts for a vector (VIRTIO_NO_VECTOR: none, or the line). */
    void (*notify)(void *opaque, uint16_t vector);
    /* Eventfds between guest and queues, for all at once: the host notifiers of all queues, and
     * guest notifiers of those that do not belong to the main context. */
    bool (*start_notifiers)(void *opaque, Error **errp);
    void (*stop_notifiers)(void *opaque);
    bool (*has_notifiers)(void *opaque); /* ioeventfd=on */
    /* The guest notifier of one queue, while the others are started. */
    bool (*add_guest_notifier)(void *opaque, VirtQueue *vq, Error **errp);
    void (*del_guest_notifier)(void *opaque, VirtQueue *vq);
    /* A queue changes hands: called in its old owner, then, with `arrives`, in its new one.
     * Optional. */
    void (*queue_moves)(void *opaque, VirtQueue *vq, bool arrives);
    /* Whether the device may access memory now (bus mastering). */
    bool (*can_run)(void *opaque);
} VirtIOTransportOps;

/* From the device's realize: its configuration space and queues. */
void virtio_init(VirtIODevice *vdev, const char *name, uint16_t device_id, uint32_t config_len);
VirtQueue *virtio_add_queue(VirtIODevice *vdev, unsigned size);
/* The reverse; also stops the device. */
void virtio_cleanup(VirtIODevice *vdev);

bool virtio_has_feature(const VirtIODevice *vdev, unsigned bit); /* negotiated; any thread */
/* Marks the device broken: says why on stderr, sets NEEDS_RESET, raises the configuration
 * interrupt. Other devices go on. Runs in: any thread. */
void virtio_error(VirtIODevice *vdev, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* The configuration changed: generation, ISR, interrupt. Runs in: any thread (acts in the main
 * thread). */
void virtio_config_changed(VirtIODevice *vdev);
/* Runs in: any thread. */
static inline bool virtio_is_broken(const VirtIODevice *vdev)
{
    return __atomic_load_n(&vdev->broken, __ATOMIC_RELAXED);
}

/* From the first pause to the last resume no queue is served; requests that are busy go on. */
void virtio_pause(VirtIODevice *vdev);
void virtio_resume(VirtIODevice *vdev);
/*
 * The answers of queue_context have changed: queues whose owner is another one now are given to it,
 * the others go on undisturbed, and so do requests that are busy. Returns at once; `done` is called
 * (main thread, not before this returns) when each queue is with its new owner and no request that
 * an old one submitted is left. Fails, and then nothing has changed, if a queue is on its way
 * already or cannot get an eventfd. Runs in: main thread.
 */
bool virtio_move_queues(VirtIODevice *vdev, AioCallback *done, void *opaque, Error **errp);
/* Waits until no queue is on its way, so that they may be moved again, but not longer than that.
 * Runs in: main thread. */
void virtio_wait_arrived(VirtIODevice *vdev, int64_t timeout_ns);
/* Waits for the end of all that virtio_move_queues() began, but not longer than that.
 * Runs in: main thread. */
void virtio_wait_moved(VirtIODevice *vdev, int64_t timeout_ns);

#endif
