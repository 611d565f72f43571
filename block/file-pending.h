/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_FILE_PENDING_H
#define BLOCK_FILE_PENDING_H

#include "file.h"

/* Requests that wait for the end of a plugged section, oldest first; linked by `next`.
 * Runs in: the context that they belong to. */
typedef struct FilePending {
    BlockRequest *first, **tail;
    unsigned n;
} FilePending;

static inline void file_pending_init(FilePending *p)
{
    *p = (FilePending){NULL, &p->first, 0};
}

static inline void file_pending_add(FilePending *p, BlockRequest *req)
{
    req->next = NULL;
    *p->tail = req;
    p->tail = &req->next;
    p->n++;
}

/* There must be one. */
static inline BlockRequest *file_pending_take(FilePending *p)
{
    BlockRequest *req = p->first;

    p->first = req->next;
    if (!p->first) {
        p->tail = &p->first;
    }
    p->n--;
    return req;
}

#endif
