/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copying from or to a mapped file, whose pages can go away at any time: the kernel says so with
 * SIGBUS, in the thread that touched the page, and the copy is given up there. Any other SIGBUS
 * ends the process, as it would have without this.
 */
#include "util/copy-guard.h"

#include <emmintrin.h>
#include <glib.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;
static __thread sigjmp_buf way_out;
static __thread volatile sig_atomic_t copying;

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
    /* News of broken memory that nobody has touched may come at any time. */
    if (copying && info->si_code != BUS_MCEERR_AO) {
        copying = 0;
        /* The jump leaves the mask alone, and who called this may have blocked more than we asked
         * for, as race detectors do: a SIGBUS that is blocked would end the process. */
        pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(way_out, 1);
    }
    /* Back to what was there before; the access happens again when this returns. */
    sigaction(SIGBUS, &before, NULL);
    if (info->si_code <= 0 || info->si_code == BUS_MCEERR_AO) {
        raise(sig);
    }
}

static void install(void)
{
    struct sigaction sa = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

    sigemptyset(&sa.sa_mask);
    sigaction(SIGBUS, &sa, &before);
}

#if defined(__SANITIZE_THREAD__)
#define HIDDEN_COPY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HIDDEN_COPY 1
#endif
#endif

/* What guests do to memory at the same time is no race of ours, so race detectors do not see it. */
static inline void copy(void *dst, const void *src, size_t len)
{
#ifdef HIDDEN_COPY
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
#else
    memcpy(dst, src, len);
#endif
}

/* Less than this is copied as usual. */
#define STREAM_MIN 2048
#define LINE       64

/*
 * To memory that is much larger than the caches, so that what is written will not be there any more
 * when it is read: then reading each line into the cache before it is written, which stores do, is
 * half of the work. These stores do not, but are in no order with others: see stream_end().
 */
static inline void stream(char *dst, const char *src, size_t len)
{
#ifdef HIDDEN_COPY
    copy(dst, src, len);
#else
    size_t head = -(uintptr_t)dst % LINE;

    if (len < STREAM_MIN) {
        memcpy(dst, src, len);
        return;
    }
    memcpy(dst, src, head);
    dst += head;
    src += head;
    for (len -= head; len >= LINE; dst += LINE, src += LINE, len -= LINE) {
        const __m128i *s = (const __m128i *)src;
        __m128i a = _mm_loadu_si128(s), b = _mm_loadu_si128(s + 1), c = _mm_loadu_si128(s + 2),
                d = _mm_loadu_si128(s + 3);

        _mm_stream_si128((__m128i *)dst, a);
        _mm_stream_si128((__m128i *)dst + 1, b);
        _mm_stream_si128((__m128i *)dst + 2, c);
        _mm_stream_si128((__m128i *)dst + 3, d);
    }
    memcpy(dst, src, len);
#endif
}

/* What was streamed comes before what this thread stores from now on, such as the news of it. */
static inline void stream_end(void)
{
    _mm_sfence();
}

/* Apart, so that no variable lives across the jump. */
static void __attribute__((noinline)) copy_all(const struct iovec *iov, int niov, char *file,
                                               bool out)
{
    copying = 1;
    for (int i = 0; i < niov; i++) {
        if (out) {
            stream(file, iov[i].iov_base, iov[i].iov_len);
        } else {
            copy(iov[i].iov_base, file, iov[i].iov_len);
        }
        file += iov[i].iov_len;
    }
    if (out) {
        stream_end();
    }
    /* The copies are done before the guard goes. */
    __asm__ volatile("" ::: "memory");
    copying = 0;
}

static bool guarded(const struct iovec *iov, int niov, char *file, bool out)
{
    pthread_once(&once, install);
    if (sigsetjmp(way_out, 0)) {
        return false;
    }
    copy_all(iov, niov, file, out);
    return true;
}

bool copy_guarded(const struct iovec *iov, int niov, const void *src)
{
    return guarded(iov, niov, (char *)src, false);
}

bool copy_guarded_out(void *dst, const struct iovec *iov, int niov)
{
    return guarded(iov, niov, dst, true);
}
