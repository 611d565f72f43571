/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF images with a PVH entry point (the x86/HVM direct boot ABI of Xen). */
#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "boot-int.h"

#define NOTE_PHYS32_ENTRY 18
#define START_MAGIC       0x336ec578

typedef struct HvmStartInfo {
    uint32_t magic, version, flags, nr_modules;
    uint64_t modlist_paddr, cmdline_paddr, rsdp_paddr, memmap_paddr;
    uint32_t memmap_entries, reserved;
} HvmStartInfo;

typedef struct HvmModule {
    uint64_t paddr, size, cmdline_paddr, reserved;
} HvmModule;

typedef struct HvmMemmap {
    uint64_t addr, size;
    uint32_t type, reserved;
} HvmMemmap;

/* The program headers of a 32- or 64-bit file, in one form. */
typedef struct ElfSegment {
    uint32_t type;
    uint64_t offset, paddr, filesz, memsz, align;
} ElfSegment;

bool boot_is_elf(const BootContext *b)
{
    return g_mapped_file_get_length(b->kernel) >= SELFMAG &&
           !memcmp(g_mapped_file_get_contents(b->kernel), ELFMAG, SELFMAG);
}

static bool elf_segments(const BootContext *b, GArray *out, Error **errp)
{
    const char *image = g_mapped_file_get_contents(b->kernel);
    size_t size = g_mapped_file_get_length(b->kernel);
    bool is64;
    uint64_t phoff;
    unsigned phnum, phentsize, machine;

    if (size < sizeof(Elf32_Ehdr)) {
        goto bad;
    }
    is64 = image[EI_CLASS] == ELFCLASS64;
    if ((!is64 && image[EI_CLASS] != ELFCLASS32) || image[EI_DATA] != ELFDATA2LSB) {
        error_set(errp, "-kernel: '%s' is an ELF file for another kind of processor", b->m->kernel);
        return false;
    }
    if (is64) {
        Elf64_Ehdr h;

        if (size < sizeof(h)) {
            goto bad;
        }
        memcpy(&h, image, sizeof(h));
        phoff = h.e_phoff, phnum = h.e_phnum, phentsize = h.e_phentsize, machine = h.e_machine;
    } else {
        Elf32_Ehdr h;

        memcpy(&h, image, sizeof(h));
        phoff = h.e_phoff, phnum = h.e_phnum, phentsize = h.e_phentsize, machine = h.e_machine;
    }
    if (machine != EM_X86_64 && machine != EM_386) {
        error_set(errp, "-kernel: '%s' is an ELF file for another kind of processor", b->m->kernel);
        return false;
    }
    if (phentsize < (is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || phoff > size ||
        (uint64_t)phnum * phentsize > size - phoff) {
        goto bad;
    }
    for (unsigned i = 0; i < phnum; i++) {
        const char *p = image + phoff + (size_t)i * phentsize;
        ElfSegment s;

        if (is64) {
            Elf64_Phdr h;

            memcpy(&h, p, sizeof(h));
            s = (ElfSegment){ h.p_type, h.p_offset, h.p_paddr, h.p_filesz, h.p_memsz, h.p_align };
        } else {
            Elf32_Phdr h;

            memcpy(&h, p, sizeof(h));
            s = (ElfSegment){ h.p_type, h.p_offset, h.p_paddr, h.p_filesz, h.p_memsz, h.p_align };
        }
        if (s.offset > size || s.filesz > size - s.offset ||
            (s.type == PT_LOAD && s.filesz > s.memsz)) {
            goto bad;
        }
        g_array_append_val(out, s);
    }
    return true;

bad:
    error_set(errp, "-kernel: '%s' is a damaged ELF file", b->m->kernel);
    return false;
}

static bool note_find_entry(const char *p, uint64_t len, uint64_t align, uint64_t *entry)
{
    align = align == 8 ? 8 : 4;
    while (len >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr n; /* the same layout in both classes */
        uint64_t name, desc;

        memcpy(&n, p, sizeof(n));
        name = ((uint64_t)n.n_namesz + align - 1) & ~(align - 1);
        desc = ((uint64_t)n.n_descsz + align - 1) & ~(align - 1);
        p += sizeof(n), len -= sizeof(n);
        if (name > len || n.n_descsz > len - name) {
            return false;
        }
        if (n.n_type == NOTE_PHYS32_ENTRY && n.n_namesz == 4 && !memcmp(p, "Xen", 4) &&
            n.n_descsz >= 4) {
            uint32_t e32;

            memcpy(&e32, p + name, 4);
            *entry = e32;
            return true;
        }
        if (desc > len - name) {
            return false;
        }
        p += name + desc, len -= name + desc;
    }
    return false;
}

static void pvh_start_info(BootContext *b)
{
    HvmStartInfo *info = g_new0(HvmStartInfo, 1);
    HvmMemmap *map = g_new0(HvmMemmap, b->n_map);

    *info = (HvmStartInfo){
        .magic = START_MAGIC,
        .version = 1,
        .cmdline_paddr = BOOT_CMDLINE,
        .rsdp_paddr = b->rsdp,
        .memmap_paddr = BOOT_MEMMAP,
        .memmap_entries = b->n_map,
    };
    if (b->initrd) {
        HvmModule *mod = g_new0(HvmModule, 1);

        mod->paddr = b->initrd_addr;
        mod->size = g_mapped_file_get_length(b->initrd);
        info->nr_modules = 1;
        info->modlist_paddr = BOOT_START_INFO + sizeof(*info);
        x86_boot_blob(info->modlist_paddr, mod, sizeof(*mod));
    }
    for (unsigned i = 0; i < b->n_map; i++) {
        map[i] = (HvmMemmap){ b->map[i].addr, b->map[i].size, b->map[i].type, 0 };
    }
    x86_boot_blob(BOOT_START_INFO, info, sizeof(*info));
    x86_boot_blob(BOOT_MEMMAP, map, b->n_map * sizeof(*map));
}

bool boot_load_pvh(BootContext *b, Error **errp)
{
    const char *image = g_mapped_file_get_contents(b->kernel);
    g_autoptr(GArray) segments = g_array_new(FALSE, FALSE, sizeof(ElfSegment));
    uint64_t entry = 0, top = 0;
    size_t len = strlen(b->cmdline);
    bool found = false;

    if (!elf_segments(b, segments, errp)) {
        return false;
    }
    for (unsigned i = 0; i < segments->len && !found; i++) {
        ElfSegment *s = &g_array_index(segments, ElfSegment, i);

        found =
            s->type == PT_NOTE && note_find_entry(image + s->offset, s->filesz, s->align, &entry);
    }
    if (!found) {
        error_set(errp, "-kernel: '%s' is an ELF file without a PVH entry point", b->m->kernel);
        return false;
    }
    if (len >= BOOT_CMDLINE_SIZE) {
        error_set(errp, "-append: %zu bytes are more than %u", len, BOOT_CMDLINE_SIZE - 1);
        return false;
    }
    for (unsigned i = 0; i < segments->len; i++) {
        ElfSegment *s = &g_array_index(segments, ElfSegment, i);

        if (s->type != PT_LOAD || !s->memsz) {
            continue;
        }
        if (!boot_is_ram(b, s->paddr, s->memsz)) {
            error_set(errp,
                      "-kernel: '%s' needs %" PRIu64 " bytes of memory at 0x%" PRIx64
                      ", which -m does not give it",
                      b->m->kernel, s->memsz, s->paddr);
            return false;
        }
        boot_blob_file(s->paddr, b->kernel, s->offset, s->filesz, s->memsz - s->filesz);
        top = MAX(top, s->paddr + s->memsz);
    }
    if (!boot_place_initrd(b, top, 0x100000000ull, errp)) {
        return false;
    }
    x86_boot_blob(BOOT_CMDLINE, g_strdup(b->cmdline), len + 1);
    pvh_start_info(b);
    x86_boot.protocol = X86_BOOT_PVH;
    x86_boot.entry = entry;
    x86_boot.params = BOOT_START_INFO;
    return true;
}
