/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_FW_CFG_H
#define SPINDLE_HW_I386_FW_CFG_H

#include "hw/core/device.h"

/*
 * fw_cfg: items and named files that firmware reads (ports 0x510, 0x511, DMA at 0x514). Runs in:
 * under the big lock.
 */
#define TYPE_FW_CFG "fw_cfg_io"

enum {
    FW_CFG_SIGNATURE = 0x00,
    FW_CFG_ID = 0x01,
    FW_CFG_UUID = 0x02,
    FW_CFG_RAM_SIZE = 0x03,
    FW_CFG_NOGRAPHIC = 0x04,
    FW_CFG_NB_CPUS = 0x05,
    FW_CFG_KERNEL_ADDR = 0x07,
    FW_CFG_KERNEL_SIZE = 0x08,
    FW_CFG_INITRD_ADDR = 0x0a,
    FW_CFG_INITRD_SIZE = 0x0b,
    FW_CFG_BOOT_MENU = 0x0e,
    FW_CFG_MAX_CPUS = 0x0f,
    FW_CFG_KERNEL_ENTRY = 0x10,
    FW_CFG_KERNEL_DATA = 0x11,
    FW_CFG_INITRD_DATA = 0x12,
    FW_CFG_CMDLINE_ADDR = 0x13,
    FW_CFG_CMDLINE_SIZE = 0x14,
    FW_CFG_CMDLINE_DATA = 0x15,
    FW_CFG_SETUP_ADDR = 0x16,
    FW_CFG_SETUP_SIZE = 0x17,
    FW_CFG_SETUP_DATA = 0x18,
    FW_CFG_FILE_DIR = 0x19,
    FW_CFG_IRQ0_OVERRIDE = 0x8002,
};

typedef struct FwCfg FwCfg;

/* The machine's, or NULL. */
FwCfg *fw_cfg_find(void);
/* Sets an item (data is copied), replacing an earlier one. */
void fw_cfg_set_bytes(FwCfg *s, uint16_t key, const void *data, size_t len);
void fw_cfg_set_u16(FwCfg *s, uint16_t key, uint16_t v);
void fw_cfg_set_u32(FwCfg *s, uint16_t key, uint32_t v);
void fw_cfg_set_u64(FwCfg *s, uint16_t key, uint64_t v);
/* Sets a named file (at most 55 characters); false if there are too many. Names keep their keys
 * once the machine is ready. */
bool fw_cfg_set_file(FwCfg *s, const char *name, const void *data, size_t len, Error **errp);

#endif
