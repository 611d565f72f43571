/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of virtio-blk (virtio 1.3 §5.2.6): from the chain to the block layer and back to the
 * status byte. Everything here happens in the context that owns the queue, so nothing is locked.
 */

#include "virtio-blk.h"

#include <linux/virtio_blk.h>

/* Requests are made in groups of this many, when a queue needs more than ever before. */
#define CHUNK_REQUESTS 32
/* Chains that are taken from the ring before the first of them is looked at. */
#define TAKE_AT_ONCE   16
/* A guest that busy-waits, and has no other queue with work here, goes on with what is done while
 * we work on the rest: it gets to see so much at a time. */
#define EARLY_CHAINS   4
/* Requests that are carried out on the spot, in this thread, keep it from everything else. So a
 * round of a queue ends when so much has been copied (some 20 us); and any round does after few
 * requests while others have little to do. */
#define SLICE_BYTES    (64 * 1024)
#define CROWDED_CHAINS 16
#define CROWDED_COPIES 3
#define SERIAL_BYTES   VIRTIO_BLK_ID_BYTES

struct VirtIOBlkChunk {
    VirtIOBlkChunk *next;
    VirtIOBlkReq reqs[CHUNK_REQUESTS];
} __attribute__((aligned(128)));

/* ---- the pool ---- */

static void pool_grow(VirtIOBlkQueue *q)
{
    VirtIOBlkChunk *c = aligned_alloc(_Alignof(VirtIOBlkChunk), sizeof(*c));

    g_assert(c);
    memset(c, 0, sizeof(*c));
    c->next = q->chunks;
    q->chunks = c;
    for (unsigned i = 0; i < CHUNK_REQUESTS; i++) {
        c->reqs[i].q = q;
        c->reqs[i].next = q->pool;
        q->pool = &c->reqs[i];
    }
}

static VirtIOBlkReq *req_get(VirtIOBlkQueue *q)
{
    VirtIOBlkReq *req;

    if (G_UNLIKELY(!q->pool)) {
        pool_grow(q);
    }
    req = q->pool;
    q->pool = req->next;
    req->next = NULL;
    return req;
}

static void req_put(VirtIOBlkReq *req)
{
    req->next = req->q->pool;
    req->blk.ahead = 0;
    req->q->pool = req;
}

void virtio_blk_queue_free(VirtIOBlkQueue *q)
{
    while (q->chunks) {
        VirtIOBlkChunk *c = q->chunks;

        q->chunks = c->next;
        for (unsigned i = 0; i < CHUNK_REQUESTS; i++) {
            virtqueue_element_release(&c->reqs[i].elem);
            g_free(c->reqs[i].merged);
        }
        free(c);
    }
    q->pool = NULL;
}

/* ---- the end of a request ---- */

static void req_complete(VirtIOBlkReq *req, uint8_t status)
{
    VirtQueueElement *elem = &req->elem;

    /* Give the status byte back to its segment. */
    elem->in[elem->n_in - 1].iov_len++;
    virtqueue_set_last_byte(elem, status);
    virtqueue_push(req->q->vq, elem, elem->in_bytes);
    req_put(req);
}

static void req_fail(VirtIOBlkReq *req, int ret)
{
    VirtIOBlkQueue *q = req->q;
    BlockBackend *blk = q->s->blk;
    bool is_read = req->op == BLK_OP_READ;
    BlockAction action = blk_error_action(blk, is_read, ret);

    switch (action) {
    case BLK_ACTION_STOP:
        req->next = NULL;
        *q->retry_tail = req;
        q->retry_tail = &req->next;
        break;
    case BLK_ACTION_IGNORE:
        req_complete(req, VIRTIO_BLK_S_OK);
        break;
    case BLK_ACTION_REPORT:
        blk_account_failed(blk, req->op);
        req_complete(req, VIRTIO_BLK_S_IOERR);
        break;
    }
    blk_error_apply(blk, action, is_read, ret);
}

/* The requests of a merged one fail or succeed together, and are answered one by one. */
static void req_finish(VirtIOBlkReq *req, int ret)
{
    VirtQueue *vq = req->q->vq;
    AioContext *ctx = req->blk.ctx;

    while (req) {
        VirtIOBlkReq *next = req->next;

        if (G_LIKELY(ret == 0)) {
            if (req->op == BLK_OP_READ || req->op == BLK_OP_WRITE) {
                counter_add(&virtqueue_counters(vq)->bytes, req->bytes);
            }
            req_complete(req, VIRTIO_BLK_S_OK);
        } else {
            req_fail(req, ret);
        }
        req = next;
    }
    virtqueue_idle(vq, ctx);
}

static void req_came_back(void *opaque)
{
    VirtIOBlkReq *req = opaque;

    req_finish(req, req->ret);
}

static void req_done(BlockRequest *blk, int ret)
{
    VirtIOBlkReq *req = (VirtIOBlkReq *)((char *)blk - offsetof(VirtIOBlkReq, blk));

    if (G_LIKELY(virtqueue_is_mine(req->q->vq))) {
        req_finish(req, ret);
    } else {
        req->ret = ret;
        virtqueue_post(req->q->vq, req_came_back, req);
    }
}

static void req_invalid(VirtIOBlkReq *req, BlockOp op)
{
    blk_account_invalid(req->q->s->blk, op);
    req_complete(req, VIRTIO_BLK_S_IOERR);
}

/* ---- the start of a request ---- */

void virtio_blk_start(VirtIOBlkReq *req, const struct iovec *iov, unsigned niov, uint64_t bytes)
{
    BlockRequest *blk = &req->blk;

    blk->op = req->op;
    blk->flags = req->flags;
    blk->offset = req->sector << BLK_SECTOR_BITS;
    blk->bytes = bytes;
    blk->iov = iov;
    blk->niov = niov;
    blk->stream = req->q;
    blk->lane = virtqueue_index(req->q->vq);
    blk->done = req_done;
    virtqueue_busy(req->q->vq);
    blk_submit(req->q->s->blk, blk);
}

static bool range_ok(VirtIOBlk *s, uint64_t sector, uint64_t bytes)
{
    /* Block sizes are powers of two. */
    uint64_t block = s->conf.logical_block_size - 1;
    uint64_t capacity = virtio_blk_capacity(s);
    uint64_t n = bytes >> BLK_SECTOR_BITS;

    return bytes <= BLK_MAX_REQUEST_BYTES && !(bytes & block) &&
           !(sector & (block >> BLK_SECTOR_BITS)) && sector <= capacity && n <= capacity - sector;
}

/* Checks and starts a request whose chain has been taken apart; also the second time, after the VM
 * was stopped: the disk may have become smaller. */
static void req_dispatch(VirtIOBlkReq *req, VirtIOBlkBatch *batch)
{
    VirtIOBlk *s = req->q->s;

    switch (req->op) {
    case BLK_OP_READ:
    case BLK_OP_WRITE:
        if (!range_ok(s, req->sector, req->bytes)) {
            req_invalid(req, req->op);
        } else {
            virtio_blk_batch_add(s, batch, req);
        }
        break;
    case BLK_OP_FLUSH:
        /* Writes that came before must be with the disk before it is flushed. */
        virtio_blk_batch_submit(s, batch);
        virtio_blk_start(req, NULL, 0, 0);
        break;
    default:
        if (!range_ok(s, req->sector, req->bytes)) {
            req_invalid(req, req->op);
        } else {
            virtio_blk_start(req, NULL, 0, req->bytes);
        }
        break;
    }
}

/* ---- taking a chain apart ---- */

static void handle_rw(VirtIOBlkReq *req, VirtIOBlkBatch *batch, bool is_write, uint64_t out_bytes)
{
    VirtQueueElement *elem = &req->elem;

    req->flags = 0;
    if (is_write) {
        req->op = BLK_OP_WRITE;
        req->data = elem->out;
        req->n_data = elem->n_out;
        req->bytes = out_bytes;
    } else {
        req->op = BLK_OP_READ;
        req->data = elem->in;
        /* A segment of which only the status byte was left is empty now. */
        req->n_data = elem->n_in - !elem->in[elem->n_in - 1].iov_len;
        req->bytes = elem->in_bytes - 1;
    }
    req_dispatch(req, batch);
}

static void handle_get_id(VirtIOBlkReq *req)
{
    const char *serial = req->q->s->conf.serial ? req->q->s->conf.serial : "";
    size_t len = strlen(serial) + 1;

    len = MIN(len, SERIAL_BYTES);
    len = MIN(len, req->elem.in_bytes - 1);
    virtqueue_copy_in(&req->elem, 0, serial, len);
    req_complete(req, VIRTIO_BLK_S_OK);
}

static bool handle_discard(VirtIOBlkReq *req, VirtIOBlkBatch *batch, uint32_t type,
                           uint64_t out_bytes)
{
    VirtIOBlk *s = req->q->s;
    bool zeroes = (type & ~VIRTIO_BLK_T_BARRIER) == VIRTIO_BLK_T_WRITE_ZEROES;
    struct virtio_blk_discard_write_zeroes seg;
    uint32_t flags, n;

    if (!(type & VIRTIO_BLK_T_OUT) || out_bytes > sizeof(seg)) {
        req_complete(req, VIRTIO_BLK_S_UNSUPP);
        return true;
    }
    if (virtqueue_copy_out(&req->elem, 0, &seg, sizeof(seg)) != sizeof(seg)) {
        virtio_error((VirtIODevice *)s, "virtio-blk discard/write_zeroes header too short");
        return false;
    }
    flags = GUINT32_FROM_LE(seg.flags);
    n = GUINT32_FROM_LE(seg.num_sectors);
    req->op = zeroes ? BLK_OP_WRITE_ZEROES : BLK_OP_DISCARD;
    req->flags = flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP ? BLK_REQ_UNMAP : 0;
    req->sector = GUINT64_FROM_LE(seg.sector);
    req->bytes = (uint64_t)n << BLK_SECTOR_BITS;
    if (flags & ~VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP) {
        if (zeroes) {
            blk_account_invalid(s->blk, req->op);
        }
        req_complete(req, VIRTIO_BLK_S_UNSUPP);
    } else if (n > (zeroes ? s->conf.max_write_zeroes_sectors : s->conf.max_discard_sectors) ||
               !range_ok(s, req->sector, req->bytes)) {
        req_invalid(req, req->op);
    } else if (!zeroes && flags) {
        req_complete(req, VIRTIO_BLK_S_UNSUPP);
    } else {
        req_dispatch(req, batch);
    }
    return true;
}

/* False: the ring is bad, and the request is still the caller's. */
static bool req_handle(VirtIOBlkReq *req, VirtIOBlkBatch *batch)
{
    VirtIODevice *vdev = (VirtIODevice *)req->q->s;
    VirtQueueElement *elem = &req->elem;
    struct virtio_blk_outhdr hdr;
    uint64_t out_bytes;
    uint32_t type;

    if (!elem->n_out || !elem->n_in) {
        virtio_error(vdev, "virtio-blk missing headers");
        return false;
    }
    if (!virtqueue_pull(elem, &hdr, sizeof(hdr))) {
        virtio_error(vdev, "virtio-blk request outhdr too short");
        return false;
    }
    out_bytes = elem->out_bytes;
    /* The last byte that the device may write is the status. */
    elem->in[elem->n_in - 1].iov_len--;

    type = GUINT32_FROM_LE(hdr.type);
    req->sector = GUINT64_FROM_LE(hdr.sector);
    switch (type & ~(VIRTIO_BLK_T_OUT | VIRTIO_BLK_T_BARRIER)) {
    case VIRTIO_BLK_T_IN:
        handle_rw(req, batch, type & VIRTIO_BLK_T_OUT, out_bytes);
        break;
    case VIRTIO_BLK_T_FLUSH:
        req->op = BLK_OP_FLUSH;
        req->flags = 0;
        req->sector = 0;
        req_dispatch(req, batch);
        break;
    case VIRTIO_BLK_T_SCSI_CMD:
        req_complete(req, VIRTIO_BLK_S_IOERR);
        break;
    case VIRTIO_BLK_T_GET_ID:
        handle_get_id(req);
        break;
    case VIRTIO_BLK_T_DISCARD & ~VIRTIO_BLK_T_OUT:
    case VIRTIO_BLK_T_WRITE_ZEROES & ~VIRTIO_BLK_T_OUT:
        return handle_discard(req, batch, type, out_bytes);
    default:
        req_complete(req, VIRTIO_BLK_S_UNSUPP);
        break;
    }
    return true;
}

/* Handles n requests whose chains have been taken; false if one is bad: nothing that comes after it
 * is done any more. */
static bool handle_taken(VirtIOBlkQueue *q, VirtIOBlkReq **reqs, unsigned n, VirtIOBlkBatch *batch)
{
    bool early = q->prompt && aio_alone() && !virtqueue_interrupts(q->vq);

    for (unsigned i = 0; i < n; i++) {
        if (early && i > 0 && i % EARLY_CHAINS == 0) {
            virtio_blk_batch_submit(q->s, batch);
            virtqueue_flush_early(q->vq);
        }
        if (G_UNLIKELY(!req_handle(reqs[i], batch))) {
            for (; i < n; i++) {
                virtqueue_discard(q->vq, &reqs[i]->elem);
                req_put(reqs[i]);
            }
            return false;
        }
    }
    return true;
}

/* Takes up to *budget chains; false if the ring is bad. *late: blk_copied() has reached `until`. */
static bool take_chains(VirtIOBlkQueue *q, VirtIOBlkBatch *batch, unsigned *budget, uint64_t until,
                        bool *late)
{
    VirtIOBlkReq *reqs[TAKE_AT_ONCE];
    VirtQueueElement *elems[TAKE_AT_ONCE];
    bool bad = false, good = true;

    while (*budget && good && !bad && !*late) {
        unsigned want = virtqueue_waiting(q->vq), got;

        want = MIN(want, TAKE_AT_ONCE);
        want = MIN(want, *budget);
        if (!want) {
            break;
        }
        for (unsigned i = 0; i < want; i++) {
            reqs[i] = req_get(q);
            elems[i] = &reqs[i]->elem;
        }
        got = virtqueue_pop_many(q->vq, elems, want, &bad);
        for (unsigned i = want; i > got; i--) {
            req_put(reqs[i - 1]);
        }
        *budget -= got;
        good = handle_taken(q, reqs, got, batch);
        if (q->copies) {
            virtio_blk_batch_submit(q->s, batch);
            *late = blk_copied() >= until;
        }
    }
    return good && !bad;
}

static unsigned round_budget(const VirtIOBlkQueue *q)
{
    if (aio_crowded()) {
        return q->copies ? CROWDED_COPIES : CROWDED_CHAINS;
    }
    return virtqueue_size(q->vq);
}

bool virtio_blk_handle_queue(VirtIODevice *vdev, VirtQueue *vq)
{
    VirtIOBlk *s = (VirtIOBlk *)vdev;
    VirtIOBlkQueue *q = &s->queues[virtqueue_index(vq)];
    VirtIOBlkBatch batch;
    unsigned size = round_budget(q), budget = size;
    /* While the queue is polled the guest does not kick anyway. */
    bool suppress = virtqueue_kick_wanted(vq);
    bool good, late = false;
    uint64_t start = blk_copied();

    batch.n = 0;
    aio_plug();
    do {
        if (suppress) {
            virtqueue_set_kick_wanted(vq, false);
        }
        good = take_chains(q, &batch, &budget, start + SLICE_BYTES, &late);
        if (suppress) {
            virtqueue_set_kick_wanted(vq, true);
        }
    } while (good && budget && !late && !virtqueue_empty(vq));
    virtio_blk_batch_submit(s, &batch);
    q->copies = blk_copied() != start;
    q->prompt = virtqueue_inuse(vq) == 0;
    if (good && (late || !budget) && !virtqueue_empty(vq)) {
        virtqueue_run_again(vq);
    }
    aio_unplug();
    return budget < size;
}

/* ---- requests that wait for the VM to be resumed ---- */

static VirtIOBlkReq *retry_take(VirtIOBlkQueue *q)
{
    VirtIOBlkReq *list = q->retry;

    q->retry = NULL;
    q->retry_tail = &q->retry;
    return list;
}

void virtio_blk_restart_queue(VirtIODevice *vdev, VirtQueue *vq)
{
    VirtIOBlk *s = (VirtIOBlk *)vdev;
    VirtIOBlkReq *req = retry_take(&s->queues[virtqueue_index(vq)]);
    VirtIOBlkBatch batch = {.n = 0};

    aio_plug();
    while (req) {
        VirtIOBlkReq *next = req->next;

        req->next = NULL;
        req_dispatch(req, &batch);
        req = next;
    }
    virtio_blk_batch_submit(s, &batch);
    aio_unplug();
}

void virtio_blk_drop_retries(VirtIOBlkQueue *q)
{
    VirtIOBlkReq *req = retry_take(q);

    while (req) {
        VirtIOBlkReq *next = req->next;

        virtqueue_discard(q->vq, &req->elem);
        req_put(req);
        req = next;
    }
}
