/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_VIRTIO_INTERNAL_H
#define SPINDLE_VIRTIO_INTERNAL_H

#include "hw/core/irq.h"
#include "hw/virtio/virtio.h"
#include "util/event-notifier.h"

/* What the files of this folder share: the inside of a virtqueue, and the calls between the device
 * core and its transports. */

#define VIRTQUEUE_CACHE_LINE 128 /* two, as the prefetcher of common processors pairs them */

/* The main thread waits for the owners of queues. */
typedef struct QueueBarrier {
    unsigned pending; /* atomic */
} QueueBarrier;

/* One queue that is asked back; belongs to the waiting main thread. */
typedef struct QueueTake QueueTake;
typedef struct QueueStray QueueStray;
struct QueueTake {
    VirtQueue *vq;
    QueueBarrier *barrier;
    bool detach_only, final_look;
    QueueTake *next;
};

struct VirtQueue {
    /* Set up by the main thread or the owner, whoever has the queue in its hands. */
    VirtIODevice *vdev;
    unsigned index;
    AioContext *ctx; /* owner; atomic: see virtqueue-move.c */
    unsigned num;    /* entries */
    unsigned mask;   /* num - 1 if num is a power of two, else 0 */
    bool event_idx, notify_on_empty;
    uint8_t *desc, *avail, *used; /* host addresses; desc is NULL if the ring cannot be used */
    EventNotifier host;           /* guest kicked; fd -1: kicks come by the main thread */
    EventNotifier guest;          /* interrupt wanted; fd -1: the owner is the main thread */

    /* The owner's. */
    struct {
        AioFd *fd;
        bool attached; /* chains may be taken */
        bool polling;
        bool kick_wanted;
        bool flush_deferred;
        uint16_t last_avail, shadow_avail;
        bool overrun;        /* the guest has announced more chains than fit in the ring; ... */
        uint16_t overrun_at; /* ... the first one too many */
        uint16_t used_idx; /* published */
        uint16_t pushed;   /* elements behind used_idx that are not published */
        uint16_t signalled_used;
        bool signalled_used_valid;
        bool told; /* the guest wanted an interrupt for what was published last */
        unsigned inuse;   /* taken and not given back */
        unsigned busy;    /* requests that someone will call back */
        QueueTake *takes; /* whom to tell when the queue is idle */
        VirtQueueCounters counters;
        QueueStray *strays; /* which of the busy requests other threads have submitted */
    } o __attribute__((aligned(VIRTQUEUE_CACHE_LINE)));

    /* The main thread's. */
    struct {
        bool running;       /* given to ctx */
        bool start_pending; /* not given since the device was started */
        bool started;       /* given for the first time since then; the owner may look */
        unsigned num_default;
        uint64_t desc, avail, used; /* guest addresses; desc 0: not ready */
        uint16_t vector;
        AioFd *guest_fd; /* guest is watched by the main loop, or ... */
        MsiRoute *route; /* ... delivers a message by itself, or ... */
        LineRoute *line; /* ... raises INTx by itself */
        bool kicked;     /* kick_bh is to run it */
        bool moving;     /* between two owners */
    } m __attribute__((aligned(VIRTQUEUE_CACHE_LINE)));
};

/* ---- virtqueue.c ---- */

/* Publishes and interrupts. Runs in: the queue's context. */
void virtqueue_flush(VirtQueue *vq);
/* No kicks from here on, until they are wanted again: the ring is being watched. */
void virtqueue_mute(VirtQueue *vq);
/* Finds the host addresses of the ring; false if it isn't in RAM, then the device is broken.
 * Runs in: the queue's context, or the main thread while it has the queue. */
bool virtqueue_map(VirtQueue *vq);
/* All indices to zero. */
void virtqueue_reset_state(VirtQueue *vq);

/* ---- virtqueue-chain.c ---- */

/* Reads the chain at `head` into elem. False: the device has been marked broken, elem holds
 * nothing. Inside guest_ram_enter(); `view` belongs to that section. */
bool virtqueue_read_chain(VirtQueue *vq, unsigned head, VirtQueueElement *elem, GuestRamView *view);
/* The chain is done with: bounce buffers and unusually large storage go. */
void virtqueue_element_done(VirtIODevice *vdev, VirtQueueElement *elem);

/* ---- virtqueue-run.c. Runs in: main thread ---- */

/* Gives the queue to its context (vq->ctx is set). */
void virtqueue_give(VirtQueue *vq);
/* Takes queues back: all (only NULL) or one. Returns when none of them is busy; with `detach_only`,
 * when none takes chains any more. With final_look a kick that has arrived is served before. */
void virtio_take_queues(VirtIODevice *vdev, VirtQueue *only, bool detach_only, bool final_look);
/* Tells a waiting main thread that the queue is idle, if it is. Runs in: the queue's context. */
void virtqueue_idle_check(VirtQueue *vq);
/* A kick that did not come by an eventfd. Runs in: main thread. */
void virtqueue_run_in_place(VirtQueue *vq);
/* Begins to serve a queue that has come from another owner; stops to serve it. Runs in: the queue's
 * context. */
void virtqueue_attach(VirtQueue *vq);
void virtqueue_detach(VirtQueue *vq);

/* ---- virtqueue-move.c ---- */

/* Runs in: any thread. */
static inline AioContext *virtqueue_owner(const VirtQueue *vq)
{
    return __atomic_load_n(&vq->ctx, __ATOMIC_ACQUIRE);
}
/* A request that `ctx` submitted when it owned the queue has ended. Runs in: the queue's context.
 */
void virtqueue_stray_done(VirtQueue *vq, AioContext *ctx);
/* Waits until no queue is between two owners; until no change of owners is left unfinished.
 * Runs in: main thread. */
void virtio_wait_moves(VirtIODevice *vdev);
void virtio_wait_remaps(VirtIODevice *vdev);

/* Keeps what of the features the data path looks at. Runs in: as virtqueue_map(). */
void virtqueue_latch_features(VirtQueue *vq);

/* ---- virtio.c ---- */

/* All devices, in order of creation; borrowed. Runs in: main thread. */
GPtrArray *virtio_devices(void);

/* ---- virtio.c, for transports. Runs in: under the big lock ---- */

/* Runs fn in the main thread and waits for it; meanwhile a vCPU thread lets go of the big lock. */
void virtio_run_in_main(AioCallback *fn, void *opaque);

void virtio_reset(VirtIODevice *vdev);
void virtio_set_status(VirtIODevice *vdev, uint8_t status);
uint8_t virtio_get_status(const VirtIODevice *vdev);
/* Bus mastering or the like has changed. */
void virtio_update_running(VirtIODevice *vdev);
/* The driver's features, as far as they are offered; ignored after FEATURES_OK. */
void virtio_set_guest_features(VirtIODevice *vdev, uint64_t features);
void virtio_queue_set_num(VirtQueue *vq, unsigned num);
/* desc 0 takes the queue out of use. */
void virtio_queue_set_rings(VirtQueue *vq, uint64_t desc, uint64_t avail, uint64_t used);
/* As set_rings, for a legacy driver that gives one address. */
void virtio_queue_set_legacy_ring(VirtQueue *vq, uint64_t addr);
/* VIRTIO_F_RING_RESET. */
void virtio_queue_reset(VirtQueue *vq);
void virtio_queue_kick(VirtIODevice *vdev, unsigned index);
uint8_t virtio_read_isr(VirtIODevice *vdev, bool clear);
/* ISR bits that a queue or the configuration sets. Runs in: any thread. */
void virtio_set_isr(VirtIODevice *vdev, uint8_t bits);
/* Accesses to the device's configuration; one that crosses the end reads all ones. */
uint32_t virtio_config_read(VirtIODevice *vdev, uint64_t offset, unsigned size);
void virtio_config_write(VirtIODevice *vdev, uint64_t offset, uint32_t value, unsigned size);
/* Features as offered to a modern driver, and to a legacy one. */
uint64_t virtio_modern_features(const VirtIODevice *vdev);
uint32_t virtio_legacy_features(const VirtIODevice *vdev);

#endif
