/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_BOOT_INT_H
#define SPINDLE_HW_I386_BOOT_INT_H

#include <glib.h>

#include "hw/i386/boot.h"
#include "util/biglock.h"

/* What the files that load a kernel share. */

/* Places in low memory; below the EBDA, above the real-mode interrupt vectors. */
#define BOOT_GDT          0x00000500
#define BOOT_START_INFO   0x00006000
#define BOOT_PARAMS       0x00007000
#define BOOT_MEMMAP       0x00008000
#define BOOT_PAGE_TABLES  0x00010000
#define BOOT_CMDLINE      0x00020000
#define BOOT_CMDLINE_SIZE 0x00010000

typedef struct BootContext {
    MachineState *m;
    const BootMemory *map;
    unsigned n_map;
    uint64_t rsdp;
    GMappedFile *kernel, *initrd; /* initrd: NULL if none */
    uint64_t initrd_addr;
    const char *cmdline;
} BootContext;

bool boot_is_ram(const BootContext *b, uint64_t addr, uint64_t size);
/* Chooses the highest place in RAM from `floor` on and below `limit`. */
bool boot_place_initrd(BootContext *b, uint64_t floor, uint64_t limit, Error **errp);
void boot_blob_file(uint64_t addr, GMappedFile *file, size_t offset, size_t size,
                    size_t zero_after);

/* boot-linux.c */
bool boot_is_bzimage(const BootContext *b);
bool boot_load_linux(BootContext *b, Error **errp);
/* boot-pvh.c */
bool boot_is_elf(const BootContext *b);
bool boot_load_pvh(BootContext *b, Error **errp);

#endif
