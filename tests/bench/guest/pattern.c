/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sector holds: its number, the generation, and 62 words that follow from both and from
 * their place. vqload.py knows the same pattern. */
#include "guest.h"

#define WORDS (SECTOR / 8)
#define STEP  0x9e3779b97f4a7c15ull

static u64 seed_of(u64 sector, u32 generation)
{
    u64 x = (sector + 1) * 0xbf58476d1ce4e5b9ull ^ (generation + 1ull) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void pattern_fill(u64 *buf, u64 sector, u32 generation)
{
    u64 seed = seed_of(sector, generation), t = 2 * STEP;
    buf[0] = sector;
    buf[1] = generation;
    for (int i = 2; i < WORDS; i++, t += STEP) {
        buf[i] = seed ^ t;
    }
}

bool pattern_check(const u64 *buf, u64 sector, u32 generation)
{
    u64 seed = seed_of(sector, generation), t = 2 * STEP;
    u64 wrong = (buf[0] ^ sector) | (buf[1] ^ generation);
    for (int i = 2; i < WORDS; i++, t += STEP) {
        wrong |= buf[i] ^ seed ^ t;
    }
    return !wrong;
}
