/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a kernel, its initrd and what describes the machine to it into guest RAM, at start and again
 * at each reset. The formats are in boot-linux.c and boot-pvh.c. */
#include "hw/i386/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot-int.h"
#include "hw/core/memory.h"
#include "util/regular-file.h"

X86BootState x86_boot;

typedef struct BootBlob {
    uint64_t addr;
    void *data;
    GMappedFile *file; /* instead of data: bytes [offset, offset+size) of it */
    size_t offset, size;
    size_t zero_after; /* bytes of zeros that follow (.bss) */
} BootBlob;

static GArray *blobs; /* of BootBlob */

void x86_boot_place(void)
{
    ASSERT_BIG_LOCK();
    for (unsigned i = 0; blobs && i < blobs->len; i++) {
        BootBlob *b = &g_array_index(blobs, BootBlob, i);
        const char *src = b->file ? g_mapped_file_get_contents(b->file) + b->offset : b->data;

        if (b->size) {
            guest_write(b->addr, src, b->size);
        }
        if (b->zero_after) {
            void *p;

            guest_ram_enter();
            p = guest_ram_ptr(b->addr + b->size, b->zero_after, true, NULL);
            if (p) {
                memset(p, 0, b->zero_after);
            }
            guest_ram_leave();
        }
    }
}

static void boot_blob_add(BootBlob b)
{
    if (!blobs) {
        blobs = g_array_new(FALSE, FALSE, sizeof(BootBlob));
    }
    g_array_append_val(blobs, b);
}

void x86_boot_blob(uint64_t addr, void *data, size_t size)
{
    boot_blob_add((BootBlob){ .addr = addr, .data = data, .size = size });
}

void boot_blob_file(uint64_t addr, GMappedFile *file, size_t offset, size_t size, size_t zero_after)
{
    boot_blob_add((BootBlob){ .addr = addr,
                              .file = g_mapped_file_ref(file),
                              .offset = offset,
                              .size = size,
                              .zero_after = zero_after });
}

/* True if [addr, addr+size) lies in one RAM entry of the map. */
bool boot_is_ram(const BootContext *b, uint64_t addr, uint64_t size)
{
    for (unsigned i = 0; i < b->n_map; i++) {
        const BootMemory *e = &b->map[i];

        if (e->type == BOOT_MEMORY_RAM && addr >= e->addr && addr - e->addr <= e->size &&
            size <= e->size - (addr - e->addr)) {
            return true;
        }
    }
    return false;
}

bool boot_place_initrd(BootContext *b, uint64_t floor, uint64_t limit, Error **errp)
{
    uint64_t best = 0;
    size_t size;

    if (!b->initrd) {
        return true;
    }
    size = g_mapped_file_get_length(b->initrd);
    for (unsigned i = 0; i < b->n_map; i++) {
        const BootMemory *e = &b->map[i];
        uint64_t end = MIN(e->addr + e->size, limit), start;

        if (e->type != BOOT_MEMORY_RAM || end < e->addr || end - e->addr < size) {
            continue;
        }
        start = (end - size) & ~(uint64_t)0xfff;
        if (start >= e->addr && start >= floor && start > best) {
            best = start;
        }
    }
    if (!best) {
        g_autofree char *where =
            limit == UINT64_MAX
                ? g_strdup("")
                : g_strdup_printf(" below 0x%" PRIx64 ", the kernel looks no further", limit);

        error_set(errp, "-initrd %s: %zu bytes do not fit into guest memory%s", b->m->initrd, size,
                  where);
        return false;
    }
    b->initrd_addr = best;
    boot_blob_file(best, b->initrd, 0, size, 0);
    return true;
}

static GMappedFile *boot_map_file(const char *option, const char *what, const char *path,
                                  Error **errp)
{
    int fd = regular_file_open(path, errp);
    g_autoptr(GError) err = NULL;
    GMappedFile *f;

    if (fd < 0) {
        error_prepend(errp, "%s: could not open %s file '%s': ", option, what, path);
        return NULL;
    }
    f = g_mapped_file_new_from_fd(fd, FALSE, &err);
    close(fd);
    if (!f) {
        error_set(errp, "%s: could not load %s '%s': %s", option, what, path, err->message);
        return NULL;
    }
    if (!g_mapped_file_get_length(f)) {
        error_set(errp, "%s: '%s' is empty", option, path);
        g_mapped_file_unref(f);
        return NULL;
    }
    return f;
}

/* Flat code and data segments at the selectors both protocols name. */
static void boot_gdt(void)
{
    static const uint64_t linux64[] = { 0, 0, 0x00af9b000000ffffull, 0x00cf93000000ffffull };
    static const uint64_t pvh[] = { 0, 0, 0x00cf9b000000ffffull, 0x00cf93000000ffffull };
    bool l64 = x86_boot.protocol == X86_BOOT_LINUX64;

    x86_boot.gdt = BOOT_GDT;
    x86_boot.gdt_limit = sizeof(pvh) - 1;
    x86_boot_blob(BOOT_GDT, g_memdup2(l64 ? linux64 : pvh, sizeof(pvh)), sizeof(pvh));
}

bool x86_load_kernel(MachineState *m, const BootMemory *map, unsigned n_map, uint64_t rsdp,
                     Error **errp)
{
    BootContext b = { .m = m, .map = map, .n_map = n_map, .rsdp = rsdp };
    bool ok = false;

    ASSERT_BIG_LOCK();
    b.kernel = boot_map_file("-kernel", "kernel", m->kernel, errp);
    if (!b.kernel) {
        goto out;
    }
    if (m->initrd) {
        b.initrd = boot_map_file("-initrd", "initrd", m->initrd, errp);
        if (!b.initrd) {
            goto out;
        }
    }
    b.cmdline = m->append ? m->append : "";
    if (boot_is_elf(&b)) {
        ok = boot_load_pvh(&b, errp);
    } else if (boot_is_bzimage(&b)) {
        ok = boot_load_linux(&b, errp);
    } else {
        error_set(errp, "-kernel: '%s' is neither a Linux bzImage nor an ELF file", m->kernel);
    }
    if (ok) {
        boot_gdt();
    }
out:
    g_clear_pointer(&b.kernel, g_mapped_file_unref);
    g_clear_pointer(&b.initrd, g_mapped_file_unref);
    return ok;
}
