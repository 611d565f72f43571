/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for threads, and tables of what each thread keeps. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "slot.h"

#define CACHE_LINE 64

static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;
static GArray *free_slots;
static unsigned next_slot;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
/* Slot + 1; 0: none yet. */
static __thread unsigned my_slot;

static void slot_release(void *value)
{
    unsigned slot = GPOINTER_TO_UINT(value) - 1;

    pthread_mutex_lock(&slot_lock);
    if (!free_slots) {
        free_slots = g_array_new(FALSE, FALSE, sizeof(unsigned));
    }
    g_array_append_val(free_slots, slot);
    pthread_mutex_unlock(&slot_lock);
}

static void slot_exit_init(void)
{
    int ret = pthread_key_create(&exit_key, slot_release);

    g_assert(ret == 0);
}

static unsigned slot_new(void)
{
    unsigned slot;

    pthread_once(&exit_once, slot_exit_init);
    pthread_mutex_lock(&slot_lock);
    if (free_slots && free_slots->len) {
        slot = g_array_index(free_slots, unsigned, free_slots->len - 1);
        g_array_set_size(free_slots, free_slots->len - 1);
    } else {
        slot = next_slot++;
    }
    pthread_mutex_unlock(&slot_lock);
    g_assert(slot < SLOT_LEAF * SLOT_LEAFS);
    my_slot = slot + 1;
    pthread_setspecific(exit_key, GUINT_TO_POINTER(my_slot));
    return slot;
}

unsigned slot_self(void)
{
    return G_LIKELY(my_slot) ? my_slot - 1 : slot_new();
}

void slot_table_init(SlotTable *t, size_t size)
{
    memset(t, 0, sizeof(*t));
    t->size = (size + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
}

void slot_table_free(SlotTable *t)
{
    for (unsigned i = 0; i < SLOT_LEAFS; i++) {
        if (!t->leafs[i]) {
            continue;
        }
        for (unsigned j = 0; j < SLOT_LEAF; j++) {
            free(t->leafs[i][j]);
        }
        g_free(t->leafs[i]);
        t->leafs[i] = NULL;
    }
}

static void *slot_part_new(SlotTable *t, unsigned slot)
{
    void ***leafp = &t->leafs[slot / SLOT_LEAF];
    void **leaf;
    void *part;

    pthread_mutex_lock(&slot_lock);
    leaf = __atomic_load_n(leafp, __ATOMIC_ACQUIRE);
    if (!leaf) {
        leaf = g_new0(void *, SLOT_LEAF);
        __atomic_store_n(leafp, leaf, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&slot_lock);
    part = aligned_alloc(CACHE_LINE, t->size);
    g_assert(part);
    memset(part, 0, t->size);
    /* Sequentially consistent, like the counters inside: who has not seen the part has not seen
     * any later step of its owner either (see blk_submit). */
    __atomic_store_n(&leaf[slot % SLOT_LEAF], part, __ATOMIC_SEQ_CST);
    return part;
}

void *slot_table_get(SlotTable *t)
{
    unsigned slot = slot_self();
    void **leaf = __atomic_load_n(&t->leafs[slot / SLOT_LEAF], __ATOMIC_ACQUIRE);
    void *part = leaf ? __atomic_load_n(&leaf[slot % SLOT_LEAF], __ATOMIC_ACQUIRE) : NULL;

    return G_LIKELY(part) ? part : slot_part_new(t, slot);
}

void slot_table_foreach(SlotTable *t, void (*fn)(void *part, void *opaque), void *opaque)
{
    for (unsigned i = 0; i < SLOT_LEAFS; i++) {
        void **leaf = __atomic_load_n(&t->leafs[i], __ATOMIC_SEQ_CST);

        if (!leaf) {
            continue;
        }
        for (unsigned j = 0; j < SLOT_LEAF; j++) {
            void *part = __atomic_load_n(&leaf[j], __ATOMIC_SEQ_CST);

            if (part) {
                fn(part, opaque);
            }
        }
    }
}
