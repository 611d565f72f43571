/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Neighbouring reads or writes of one round of one queue become one request to the block layer. */

#include "virtio-blk.h"

static uint64_t end_sector(const VirtIOBlkReq *req)
{
    return req->sector + (req->bytes >> BLK_SECTOR_BITS);
}

/* Sectors are mostly multiples of a power of two: the high bits of a product are what differs. */
static unsigned hash_sector(uint64_t sector)
{
    return (unsigned)(sector * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

/* As for the storage of chains: a pool does not keep unusually long lists. */
#define MERGED_KEEP_SEGMENTS 512

unsigned virtio_blk_merge_count(VirtIOBlkReq *const *reqs, unsigned n, unsigned max_iov,
                                uint64_t max_bytes)
{
    uint64_t niov = reqs[0]->n_data, bytes = reqs[0]->bytes;
    unsigned count = 1;

    while (count < n) {
        const VirtIOBlkReq *prev = reqs[count - 1], *req = reqs[count];

        if (end_sector(prev) != req->sector ||
            niov + req->n_data > max_iov || bytes + req->bytes > max_bytes) {
            break;
        }
        niov += req->n_data;
        bytes += req->bytes;
        count++;
    }
    return count;
}

/*
 * Whether any request begins where another one ends. Sorting takes longer than everything else that
 * is done to a request that cannot be merged, so it is asked first: the ends go into a hash table,
 * then the beginnings are looked up.
 */
static bool any_neighbours(VirtIOBlkReq *const *reqs, unsigned n)
{
    uint8_t slots[2 * VIRTIO_BLK_MAX_MERGE] = {0}; /* index + 1 of a request; 0: free */
    const unsigned mask = G_N_ELEMENTS(slots) - 1;

    for (unsigned i = 0; i < n; i++) {
        unsigned h = hash_sector(end_sector(reqs[i]));

        while (slots[h & mask]) {
            h++;
        }
        slots[h & mask] = (uint8_t)(i + 1);
    }
    for (unsigned i = 0; i < n; i++) {
        for (unsigned h = hash_sector(reqs[i]->sector); slots[h & mask]; h++) {
            if (end_sector(reqs[slots[h & mask] - 1]) == reqs[i]->sector) {
                return true;
            }
        }
    }
    return false;
}

/* Batches are short and mostly in order already. */
static void sort_by_sector(VirtIOBlkReq **reqs, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        VirtIOBlkReq *req = reqs[i];
        unsigned j = i;

        for (; j > 0 && reqs[j - 1]->sector > req->sector; j--) {
            reqs[j] = reqs[j - 1];
        }
        reqs[j] = req;
    }
}

static void submit_merged(VirtIOBlk *s, VirtIOBlkReq **reqs, unsigned count)
{
    VirtIOBlkReq *leader = reqs[0];
    unsigned niov = 0, pos = 0;
    uint64_t bytes = 0;

    if (count == 1) {
        virtio_blk_start(leader, leader->data, leader->n_data, leader->bytes);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        niov += reqs[i]->n_data;
        bytes += reqs[i]->bytes;
    }
    if (niov > leader->merged_cap || leader->merged_cap > MERGED_KEEP_SEGMENTS) {
        leader->merged_cap = MAX(64, niov);
        g_free(leader->merged);
        leader->merged = g_new(struct iovec, leader->merged_cap);
    }
    for (unsigned i = 0; i < count; i++) {
        memcpy(leader->merged + pos, reqs[i]->data, reqs[i]->n_data * sizeof(struct iovec));
        pos += reqs[i]->n_data;
        reqs[i]->next = i + 1 < count ? reqs[i + 1] : NULL;
    }
    blk_account_merged(s->blk, leader->op, count - 1);
    counter_add(&virtqueue_counters(leader->q->vq)->merged, count - 1);
    virtio_blk_start(leader, leader->merged, niov, bytes);
}

void virtio_blk_batch_submit(VirtIOBlk *s, VirtIOBlkBatch *batch)
{
    uint64_t max_bytes = BLK_MAX_REQUEST_BYTES;
    int64_t max_transfer;
    unsigned n = batch->n, max_iov;

    batch->n = 0;
    if (n == 1) {
        submit_merged(s, batch->reqs, 1);
        return;
    }
    if (n == 0) {
        return;
    }
    if (!any_neighbours(batch->reqs, n)) {
        for (unsigned i = 0; i < n; i++) {
            if (i + 1 < n) {
                batch->reqs[i]->blk.ahead =
                    (int64_t)(batch->reqs[i + 1]->sector - batch->reqs[i]->sector) *
                    BLK_SECTOR_SIZE;
            }
            submit_merged(s, batch->reqs + i, 1);
        }
        return;
    }
    max_iov = blk_max_iov(s->blk);
    max_iov = MAX(max_iov, 1);
    max_transfer = blk_max_transfer(s->blk);
    if (max_transfer > 0 && (uint64_t)max_transfer < max_bytes) {
        max_bytes = max_transfer;
    }
    sort_by_sector(batch->reqs, n);
    for (unsigned i = 0; i < n;) {
        unsigned count = virtio_blk_merge_count(batch->reqs + i, n - i, max_iov, max_bytes);

        submit_merged(s, batch->reqs + i, count);
        i += count;
    }
}

void virtio_blk_batch_add(VirtIOBlk *s, VirtIOBlkBatch *batch, VirtIOBlkReq *req)
{
    if (batch->n && (batch->n == VIRTIO_BLK_MAX_MERGE || batch->reqs[0]->op != req->op ||
                     !s->conf.request_merging)) {
        virtio_blk_batch_submit(s, batch);
    }
    batch->reqs[batch->n++] = req;
}
