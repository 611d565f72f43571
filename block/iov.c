/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small operations on scattered buffers. */
#include <string.h>

#include "node.h"

static bool buf_is_zero(const uint8_t *p, size_t n)
{
    /* A non-zero byte at either end is by far the commonest case. */
    if (n == 0) {
        return true;
    }
    if (p[0] || p[n - 1] || p[n / 2]) {
        return false;
    }
    return memcmp(p, p + 1, n - 1) == 0;
}

bool block_iov_is_zero(const struct iovec *iov, int niov)
{
    for (int i = 0; i < niov; i++) {
        if (!buf_is_zero(iov[i].iov_base, iov[i].iov_len)) {
            return false;
        }
    }
    return true;
}

void block_iov_zero(const struct iovec *iov, int niov, size_t from)
{
    for (int i = 0; i < niov; i++) {
        if (from >= iov[i].iov_len) {
            from -= iov[i].iov_len;
            continue;
        }
        memset((uint8_t *)iov[i].iov_base + from, 0, iov[i].iov_len - from);
        from = 0;
    }
}

static size_t iov_copy(const struct iovec *iov, int niov, size_t at, uint8_t *buf, size_t bytes,
                       bool to_iov)
{
    size_t done = 0;

    for (int i = 0; i < niov && done < bytes; i++) {
        size_t n;
        uint8_t *p;

        if (at >= iov[i].iov_len) {
            at -= iov[i].iov_len;
            continue;
        }
        p = (uint8_t *)iov[i].iov_base + at;
        n = MIN(iov[i].iov_len - at, bytes - done);
        if (to_iov) {
            memcpy(p, buf + done, n);
        } else {
            memcpy(buf + done, p, n);
        }
        done += n;
        at = 0;
    }
    return done;
}

size_t block_iov_to_buf(const struct iovec *iov, int niov, size_t from, void *buf, size_t bytes)
{
    return iov_copy(iov, niov, from, buf, bytes, false);
}

size_t block_iov_from_buf(const struct iovec *iov, int niov, size_t to, const void *buf,
                          size_t bytes)
{
    return iov_copy(iov, niov, to, (uint8_t *)buf, bytes, true);
}

int block_iov_slice(struct iovec *out, int max, const struct iovec *iov, int niov, size_t from,
                    size_t bytes, size_t *got)
{
    int n = 0;

    *got = 0;
    for (int i = 0; i < niov && n < max && *got < bytes; i++) {
        if (from >= iov[i].iov_len) {
            from -= iov[i].iov_len;
            continue;
        }
        out[n].iov_base = (uint8_t *)iov[i].iov_base + from;
        out[n].iov_len = MIN(iov[i].iov_len - from, bytes - *got);
        *got += out[n].iov_len;
        n++;
        from = 0;
    }
    return n;
}
