/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_SMBIOS_H
#define SPINDLE_HW_I386_SMBIOS_H

#include "hw/core/machine.h"
#include "qapi/keyval.h"

/*
 * SMBIOS tables (DMTF DSP0134): what the guest is told of its maker, serial numbers, UUID,
 * processors and memory. Runs in: main thread.
 */

/* Where a guest without firmware finds them: entry points in the segment that it searches. */
#define SMBIOS_ENTRY_ADDR 0x000f0000
#define SMBIOS_TABLE_ADDR 0x000f0040
#define SMBIOS_TABLE_END  0x00100000

/* One -smbios. The text of an error is the one that clients know. */
bool smbios_option_add(Opts *opts, Error **errp);
/* -uuid; NULL: none. */
void smbios_set_uuid(const char *text);
/* As its text reads; zeros if there is none. */
void smbios_uuid(uint8_t out[16]);

/* All structures, one after the other. Caller frees the array. */
GByteArray *smbios_build(const MachineState *m);
/* The 32-bit and the 64-bit entry point for a table at `addr`. */
void smbios_entry_21(const GByteArray *table, uint32_t addr, uint8_t out[31]);
void smbios_entry_30(const GByteArray *table, uint64_t addr, uint8_t out[24]);

/* Puts everything where a guest without firmware finds it, at each reset. False if it does not fit
 * there. */
bool smbios_place(const MachineState *m, Error **errp);

#endif
