/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BLOCK_SLOT_H
#define BLOCK_SLOT_H

#include <glib.h>

/*
 * Something that exists once per thread and object. Each thread has a small number, its slot, which
 * is used again after the thread has ended; a table finds the thread's part without a lock.
 */
#define SLOT_LEAF  256
#define SLOT_LEAFS 256

typedef struct SlotTable {
    void **leafs[SLOT_LEAFS];
    size_t size; /* bytes of a part; each lies on cache lines of its own */
} SlotTable;

void slot_table_init(SlotTable *t, size_t size);
void slot_table_free(SlotTable *t);
/* The calling thread's part, zeroed when it is made. Runs in: any thread. */
void *slot_table_get(SlotTable *t);
/* Calls fn for each part. Runs in: any thread. */
void slot_table_foreach(SlotTable *t, void (*fn)(void *part, void *opaque), void *opaque);

/* Slot of the calling thread. */
unsigned slot_self(void);

#endif
