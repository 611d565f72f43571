/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening and reading files of a kind that cannot keep the reader waiting. */
#include "util/regular-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int regular_file_open(const char *path, Error **errp)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        error_set(errp, "%s", strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        error_set(errp, "%s", S_ISDIR(st.st_mode) ? strerror(EISDIR) : "Not a regular file");
    } else {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

char *regular_file_read(const char *path, size_t *len, Error **errp)
{
    int fd = regular_file_open(path, errp);
    GByteArray *data;
    ssize_t n;

    if (fd < 0) {
        return NULL;
    }
    data = g_byte_array_new();
    do {
        uint8_t part[16384];

        n = read(fd, part, sizeof(part));
        if (n > 0) {
            g_byte_array_append(data, part, n);
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        error_set(errp, "%s", strerror(errno));
    }
    close(fd);
    if (n < 0) {
        g_byte_array_unref(data);
        return NULL;
    }
    *len = data->len;
    g_byte_array_append(data, (const uint8_t *)"", 1);
    return (char *)g_byte_array_free(data, false);
}
