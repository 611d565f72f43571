/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories in which firmware and option ROMs are looked for. */
#include "hw/core/datadir.h"

#include <glib.h>
#include <stdio.h>
#include <unistd.h>

static GPtrArray *dirs;

void datadir_add(const char *path)
{
    if (!dirs) {
        dirs = g_ptr_array_new_with_free_func(g_free);
    }
    for (guint i = 0; i < dirs->len; i++) {
        if (g_str_equal(dirs->pdata[i], path)) {
            return;
        }
    }
    g_ptr_array_add(dirs, g_strdup(path));
}

void datadir_print(void)
{
    for (guint i = 0; dirs && i < dirs->len; i++) {
        printf("%s\n", (const char *)dirs->pdata[i]);
    }
}

char *datadir_find(const char *name)
{
    if (access(name, R_OK) == 0) {
        return g_strdup(name);
    }
    for (guint i = 0; dirs && i < dirs->len; i++) {
        g_autofree char *path = g_build_filename(dirs->pdata[i], name, NULL);

        if (access(path, R_OK) == 0) {
            return g_steal_pointer(&path);
        }
    }
    return NULL;
}
