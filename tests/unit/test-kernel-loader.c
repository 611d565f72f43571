/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading a kernel without firmware: what is accepted, what is refused, where things go. */
#include "hw/i386/boot.h"

#include <asm/bootparam.h>
#include <elf.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "hw/core/memory.h"
#include "util/aio.h"
#include "util/biglock.h"

#define MIB (1ull << 20)

static const BootMemory map_small[] = {
    { 0, 0x9fc00, BOOT_MEMORY_RAM },
    { 0xe0000, 0x20000, BOOT_MEMORY_RESERVED },
    { MIB, 63 * MIB, BOOT_MEMORY_RAM },
};

static char *write_file(const void *data, size_t len)
{
    char *path = NULL;
    int fd = g_file_open_tmp("kernel-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, data, len), ==, (gssize)len);
    close(fd);
    return path;
}

static bool load(const char *kernel, const char *initrd, const char *append, Error **errp)
{
    MachineState m = {
        .kernel = (char *)kernel,
        .initrd = (char *)initrd,
        .append = (char *)append,
    };

    memset(&x86_boot, 0, sizeof(x86_boot));
    return x86_load_kernel(&m, map_small, G_N_ELEMENTS(map_small), 0xe0000, errp);
}

static void refused(const void *data, size_t len, const char *initrd, const char *text)
{
    g_autofree char *path = write_file(data, len);
    g_autoptr(Error) err = NULL;

    g_assert_false(load(path, initrd, "x", &err));
    if (!strstr(error_message(err), text)) {
        g_error("'%s' does not contain '%s'", error_message(err), text);
    }
    g_unlink(path);
}

/* ---- PVH ---- */

typedef struct PvhFile {
    Elf64_Ehdr eh;
    Elf64_Phdr ph[2];
    struct {
        uint32_t namesz, descsz, type;
        char name[4];
        uint32_t entry;
    } note;
    char code[16];
} PvhFile;

static PvhFile pvh_file(void)
{
    PvhFile f = {
        .eh = { .e_ident = ELFMAG, .e_machine = EM_X86_64, .e_phoff = offsetof(PvhFile, ph),
                .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2 },
        .ph = { { .p_type = PT_LOAD, .p_offset = offsetof(PvhFile, code), .p_paddr = 2 * MIB,
                  .p_filesz = 16, .p_memsz = 4096 },
                { .p_type = PT_NOTE, .p_offset = offsetof(PvhFile, note), .p_filesz = 20,
                  .p_memsz = 20, .p_align = 4 } },
        .note = { 4, 4, 18, "Xen", 2 * MIB + 8 },
    };

    f.eh.e_ident[EI_CLASS] = ELFCLASS64;
    f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
    memset(f.code, 0x90, sizeof(f.code));
    return f;
}

static void test_pvh(void)
{
    PvhFile f = pvh_file();
    g_autofree char *path = write_file(&f, sizeof(f));
    uint8_t byte = 0;
    uint32_t magic = 0;

    g_assert_true(load(path, NULL, "quiet", &error_abort));
    g_assert_cmpint(x86_boot.protocol, ==, X86_BOOT_PVH);
    g_assert_cmphex(x86_boot.entry, ==, 2 * MIB + 8);
    x86_boot_place();
    g_assert_true(guest_read(2 * MIB, &byte, 1));
    g_assert_cmphex(byte, ==, 0x90);
    g_assert_true(guest_read(x86_boot.params, &magic, 4));
    g_assert_cmphex(magic, ==, 0x336ec578);
    g_unlink(path);
}

static void test_pvh_refused(void)
{
    PvhFile f = pvh_file();

    refused(&f, 60, NULL, "damaged");
    f.eh.e_phoff = UINT64_MAX - 8;
    refused(&f, sizeof(f), NULL, "damaged");
    f = pvh_file();
    f.ph[0].p_filesz = UINT64_MAX;
    refused(&f, sizeof(f), NULL, "damaged");
    f = pvh_file();
    f.ph[0].p_paddr = UINT64_MAX - 2048;
    refused(&f, sizeof(f), NULL, "which -m does not give it");
    f = pvh_file();
    f.note.type = 1;
    refused(&f, sizeof(f), NULL, "without a PVH entry point");
    f = pvh_file();
    f.note.namesz = UINT32_MAX;
    refused(&f, sizeof(f), NULL, "without a PVH entry point");
    f = pvh_file();
    f.eh.e_machine = EM_AARCH64;
    refused(&f, sizeof(f), NULL, "another kind of processor");
    f = pvh_file();
    refused(&f, sizeof(f), "/nonexistent", "-initrd: could not open initrd file '/nonexistent'");
    refused("", 0, NULL, "is empty");
    refused("hello", 5, NULL, "neither a Linux bzImage nor an ELF file");
}

/* ---- Linux ---- */

#define BZ_SETUP (2 * 512)
#define BZ_SIZE  (BZ_SETUP + 8192)

static uint8_t *bz_image(void)
{
    uint8_t *b = g_malloc0(BZ_SIZE);
    struct setup_header *h = (struct setup_header *)(b + 0x1f1);

    h->setup_sects = 1;
    h->jump = 0xeb | (0x1f1 + sizeof(*h) - 0x202) << 8;
    memcpy(b + 0x202, "HdrS", 4);
    h->version = 0x020f;
    h->xloadflags = XLF_KERNEL_64 | XLF_CAN_BE_LOADED_ABOVE_4G;
    h->cmdline_size = 255;
    h->pref_address = 16 * MIB;
    h->init_size = MIB;
    h->relocatable_kernel = 1;
    h->kernel_alignment = 2 * MIB;
    h->initrd_addr_max = 0x7fffffff;
    h->syssize = 8192 / 16;
    b[BZ_SETUP + 0x200] = 0xf4;
    return b;
}

static void test_linux(void)
{
    g_autofree uint8_t *b = bz_image();
    g_autofree char *path = write_file(b, BZ_SIZE);
    g_autofree char *initrd = write_file(b, 5000);
    struct boot_params p;
    uint8_t byte = 0;

    g_assert_true(load(path, initrd, "console=ttyS0", &error_abort));
    g_assert_cmpint(x86_boot.protocol, ==, X86_BOOT_LINUX64);
    g_assert_cmphex(x86_boot.entry, ==, 16 * MIB + 0x200);
    x86_boot_place();
    g_assert_true(guest_read(x86_boot.entry, &byte, 1));
    g_assert_cmphex(byte, ==, 0xf4);
    g_assert_true(guest_read(x86_boot.params, &p, sizeof(p)));
    g_assert_cmpint(p.hdr.ramdisk_size, ==, 5000);
    g_assert_cmphex(p.hdr.ramdisk_image, ==, 64 * MIB - 8192);
    g_assert_cmphex(p.acpi_rsdp_addr, ==, 0xe0000);
    g_assert_cmpint(p.e820_entries, ==, G_N_ELEMENTS(map_small));
    g_unlink(path);
    g_unlink(initrd);
}

static void test_linux_refused(void)
{
    g_autofree uint8_t *b = bz_image();
    struct setup_header *h = (struct setup_header *)(b + 0x1f1);
    g_autofree char *big = g_malloc0(64 * MIB);
    g_autofree char *initrd = write_file(big, 64 * MIB);
    g_autofree char *path = write_file(b, BZ_SIZE);
    g_autofree char *text = g_strnfill(300, 'x');
    g_autoptr(Error) err = NULL;

    g_assert_false(load(path, NULL, text, &err));
    g_assert_nonnull(strstr(error_message(err), "-append: 300 bytes are more than the 255"));
    g_unlink(path);
    refused(b, BZ_SIZE, initrd, "do not fit into guest memory");
    refused(b, BZ_SIZE - 4096, NULL, "truncated");
    h->init_size = 1u << 30;
    refused(b, BZ_SIZE, NULL, "which -m does not give it");
    h->init_size = MIB;
    h->xloadflags = 0;
    refused(b, BZ_SIZE, NULL, "no 64-bit entry point");
    g_unlink(initrd);
}

int main(int argc, char **argv)
{
    g_autofree uint8_t *ram = g_malloc0(64 * MIB);
    int ret;

    g_test_init(&argc, &argv, NULL);
    g_assert_true(aio_main_init(&error_abort));
    big_lock();
    g_assert_true(guest_ram_add("ram", 0, 64 * MIB, ram, false, &error_abort));
    g_test_add_func("/kernel-loader/pvh", test_pvh);
    g_test_add_func("/kernel-loader/pvh-refused", test_pvh_refused);
    g_test_add_func("/kernel-loader/linux", test_linux);
    g_test_add_func("/kernel-loader/linux-refused", test_linux_refused);
    ret = g_test_run();
    guest_ram_del(0);
    return ret;
}
