/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_VRING_ACCESS_H
#define SPINDLE_VRING_ACCESS_H

#include <stdint.h>

/*
 * Loads and stores of memory that the guest changes at the same time. Each one happens exactly once
 * and in one piece. The guest's side of such a race is no thread of this process, so race detectors
 * are kept out. Rings are little-endian, and so is this host; addresses may be odd.
 */
#ifndef __x86_64__
#error "the memory ordering below is that of x86-64"
#endif

#if defined(__SANITIZE_THREAD__)
#define VRING_NO_TSAN __attribute__((no_sanitize("thread")))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VRING_NO_TSAN __attribute__((no_sanitize("thread")))
#endif
#endif
#ifndef VRING_NO_TSAN
#define VRING_NO_TSAN
#endif

typedef struct __attribute__((packed, may_alias)) VringU16 {
    uint16_t v;
} VringU16;
typedef struct __attribute__((packed, may_alias)) VringU32 {
    uint32_t v;
} VringU32;
typedef struct __attribute__((packed, may_alias)) VringU64 {
    uint64_t v;
} VringU64;

VRING_NO_TSAN static inline uint16_t vring_load16(const void *p)
{
    return ((const volatile VringU16 *)p)->v;
}

VRING_NO_TSAN static inline uint64_t vring_load64(const void *p)
{
    return ((const volatile VringU64 *)p)->v;
}

VRING_NO_TSAN static inline void vring_store16(void *p, uint16_t v)
{
    ((volatile VringU16 *)p)->v = v;
}

VRING_NO_TSAN static inline void vring_store32(void *p, uint32_t v)
{
    ((volatile VringU32 *)p)->v = v;
}

/* Not memcpy, which detectors see. */
VRING_NO_TSAN static inline void vring_copy(void *dst, const void *src, size_t len)
{
    volatile uint8_t *d = dst;
    const volatile uint8_t *s = src;

    for (; len >= 8; len -= 8, d += 8, s += 8) {
        ((volatile VringU64 *)d)->v = ((const volatile VringU64 *)s)->v;
    }
    for (; len; len--) {
        *d++ = *s++;
    }
}

/* Loads after it do not move before loads before it; likewise stores. x86 keeps both orders, the
 * compiler has to be told. */
static inline void vring_rmb(void)
{
    __asm__ __volatile__("" ::: "memory");
}

static inline void vring_wmb(void)
{
    __asm__ __volatile__("" ::: "memory");
}

/* A store before it is visible to the guest before a load after it is done: the one order that x86
 * does not keep. */
static inline void vring_mb(void)
{
    __asm__ __volatile__("lock; orl $0, -4(%%rsp)" ::: "memory", "cc");
}

#endif
