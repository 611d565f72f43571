/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_BOOT_H
#define SPINDLE_HW_I386_BOOT_H

#include "hw/core/machine.h"

/*
 * Starting a kernel without firmware: what is put into guest RAM, and with which registers the
 * first processor begins. Runs in: main thread, under the big lock.
 */
typedef enum {
    X86_BOOT_NONE,    /* at the reset vector, where firmware is */
    X86_BOOT_HALTED,  /* not at all: there is neither firmware nor a kernel */
    X86_BOOT_LINUX64, /* 64-bit entry of the Linux boot protocol: rsi -> boot_params */
    X86_BOOT_PVH,     /* 32-bit entry of the PVH protocol: ebx -> hvm_start_info */
} X86BootProtocol;

typedef struct X86BootState {
    X86BootProtocol protocol;
    uint64_t entry; /* guest physical, as the rest */
    uint64_t params;
    uint64_t gdt;
    uint16_t gdt_limit;
    uint64_t page_tables; /* LINUX64: identity map */
} X86BootState;

/* How the first processor starts; read by the accelerator at each reset. */
extern X86BootState x86_boot;

/* A piece of the guest's physical memory (e820 types). */
enum { BOOT_MEMORY_RAM = 1, BOOT_MEMORY_RESERVED = 2, BOOT_MEMORY_ACPI = 3 };
typedef struct BootMemory {
    uint64_t addr, size;
    uint32_t type;
} BootMemory;

/* Opens and checks -kernel, -initrd and -append, and decides where everything goes. `map` is the
 * memory map; `rsdp` is where the ACPI tables start (0: none). Errors name the option and the file.
 */
bool x86_load_kernel(MachineState *m, const BootMemory *map, unsigned n_map, uint64_t rsdp,
                     Error **errp);

/* Something that must be at a guest address after each reset. `data` is taken over. */
void x86_boot_blob(uint64_t addr, void *data, size_t size);
/* Puts all of it there: a guest that reboots has overwritten it. */
void x86_boot_place(void);

/* What firmware does, for a machine that has none: called by the machine's init after its devices
 * are built, and nothing if the machine has no kernel to load. */
bool pc_boot_init(MachineState *m, Error **errp);

#endif
