/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux bzImage by its 64-bit boot protocol (Documentation/arch/x86/boot.rst of the kernel). */
#include <asm/bootparam.h>
#include <inttypes.h>
#include <string.h>

#include "boot-int.h"

#define HEADER_OFFSET 0x1f1
#define PROTOCOL_64   0x020c /* first with xloadflags */
#define ENTRY64       0x200
#define LOADER_TYPE   0xff /* no number assigned */

bool boot_is_bzimage(const BootContext *b)
{
    const char *image = g_mapped_file_get_contents(b->kernel);

    return g_mapped_file_get_length(b->kernel) > 0x1000 && !memcmp(image + 0x202, "HdrS", 4);
}

/* Identity map of the first 512 GiB needs too many pages; the kernel wants itself, the boot
 * parameters and the command line mapped: the first 4 GiB, by 2 MiB pages. */
static void boot_page_tables(void)
{
    uint64_t *t = g_malloc0(6 * 4096);

    t[0] = (BOOT_PAGE_TABLES + 0x1000) | 3;
    for (unsigned i = 0; i < 4; i++) {
        t[512 + i] = (BOOT_PAGE_TABLES + 0x2000 + i * 0x1000) | 3;
    }
    for (uint64_t i = 0; i < 2048; i++) {
        t[1024 + i] = i << 21 | 0x83;
    }
    x86_boot_blob(BOOT_PAGE_TABLES, t, 6 * 4096);
    x86_boot.page_tables = BOOT_PAGE_TABLES;
}

static bool boot_cmdline(BootContext *b, struct setup_header *hdr, Error **errp)
{
    size_t len = strlen(b->cmdline);

    if (len > hdr->cmdline_size || len >= BOOT_CMDLINE_SIZE) {
        error_set(errp, "-append: %zu bytes are more than the %u that '%s' takes", len,
                  MIN(hdr->cmdline_size, (unsigned)BOOT_CMDLINE_SIZE - 1), b->m->kernel);
        return false;
    }
    hdr->cmd_line_ptr = BOOT_CMDLINE;
    x86_boot_blob(BOOT_CMDLINE, g_strdup(b->cmdline), len + 1);
    return true;
}

bool boot_load_linux(BootContext *b, Error **errp)
{
    const uint8_t *image = (const uint8_t *)g_mapped_file_get_contents(b->kernel);
    size_t size = g_mapped_file_get_length(b->kernel), setup, payload;
    struct boot_params *params = g_new0(struct boot_params, 1);
    struct setup_header *hdr = &params->hdr;
    size_t hdr_len = MIN(sizeof(*hdr), (size_t)0x202 + image[0x201] - HEADER_OFFSET);
    uint64_t load, limit, need;

    memcpy(hdr, image + HEADER_OFFSET, hdr_len);
    if (hdr->version < PROTOCOL_64 || !(hdr->xloadflags & XLF_KERNEL_64)) {
        error_set(errp, "-kernel: '%s' has no 64-bit entry point (boot protocol %u.%02u)",
                  b->m->kernel, hdr->version >> 8, hdr->version & 0xff);
        goto fail;
    }
    setup = ((hdr->setup_sects ? hdr->setup_sects : 4) + 1) * 512;
    if (setup >= size) {
        error_set(errp, "-kernel: '%s' is truncated", b->m->kernel);
        goto fail;
    }
    payload = size - setup;
    if ((uint64_t)hdr->syssize * 16 > payload) {
        error_set(errp, "-kernel: '%s' is truncated", b->m->kernel);
        goto fail;
    }
    load = hdr->pref_address;
    need = MAX(hdr->init_size, payload);
    if (!boot_is_ram(b, load, need) && hdr->relocatable_kernel) {
        uint64_t align = MAX(hdr->kernel_alignment, 0x100000u);

        load = align;
    }
    if (!boot_is_ram(b, load, need)) {
        error_set(errp,
                  "-kernel: '%s' needs %" PRIu64 " bytes of memory at 0x%" PRIx64
                  ", which -m does not give it",
                  b->m->kernel, need, load);
        goto fail;
    }
    boot_blob_file(load, b->kernel, setup, payload, 0);

    if (!boot_cmdline(b, hdr, errp)) {
        goto fail;
    }
    limit = (uint64_t)hdr->initrd_addr_max + 1;
    if (hdr->xloadflags & XLF_CAN_BE_LOADED_ABOVE_4G) {
        limit = UINT64_MAX;
    }
    /* Below 4 GiB if it fits there: every kernel can read it then. */
    if (b->initrd) {
        uint64_t len = g_mapped_file_get_length(b->initrd);
        g_autoptr(Error) low = NULL;

        if (!boot_place_initrd(b, load + need, MIN(limit, 0x100000000ull), &low) &&
            !boot_place_initrd(b, load + need, limit, errp)) {
            goto fail;
        }
        hdr->ramdisk_image = b->initrd_addr;
        hdr->ramdisk_size = len;
        params->ext_ramdisk_image = b->initrd_addr >> 32;
        params->ext_ramdisk_size = len >> 32;
    }
    hdr->type_of_loader = LOADER_TYPE;
    hdr->loadflags |= LOADED_HIGH;
    hdr->loadflags &= ~CAN_USE_HEAP;
    hdr->code32_start = load;
    params->acpi_rsdp_addr = b->rsdp;
    params->e820_entries = MIN(b->n_map, G_N_ELEMENTS(params->e820_table));
    for (unsigned i = 0; i < params->e820_entries; i++) {
        params->e820_table[i].addr = b->map[i].addr;
        params->e820_table[i].size = b->map[i].size;
        params->e820_table[i].type = b->map[i].type;
    }
    x86_boot_blob(BOOT_PARAMS, params, sizeof(*params));
    x86_boot.protocol = X86_BOOT_LINUX64;
    x86_boot.entry = load + ENTRY64;
    x86_boot.params = BOOT_PARAMS;
    boot_page_tables();
    return true;

fail:
    g_free(params);
    return false;
}
