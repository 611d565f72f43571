/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_DATADIR_H
#define SPINDLE_HW_CORE_DATADIR_H

/* Where firmware and option ROMs are looked for (-L). Runs in: main thread. */

/* Adds a directory, to be searched after those added before. */
void datadir_add(const char *path);
/* Prints the directories, one a line (-L help). */
void datadir_print(void);
/* `name` itself if there is such a file, else the first directory's file of that name; NULL if
 * there is none. Caller frees. */
char *datadir_find(const char *name);

#endif
