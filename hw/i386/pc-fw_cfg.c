/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What PC machines tell their firmware. */
#include <string.h>

#include "hw/core/cpu.h"
#include "hw/core/datadir.h"
#include "hw/i386/smbios.h"
#include "pc.h"
#include "util/regular-file.h"
#include "util/report.h"

#define E820_RAM 1

typedef struct __attribute__((packed)) E820Entry {
    uint64_t addr, len;
    uint32_t type;
} E820Entry;

static unsigned e820_fill(E820Entry *e, const MachineState *m)
{
    unsigned n = 0;

    e[n++] = (E820Entry){0, GUINT64_TO_LE(pc_ram_below_4g), GUINT32_TO_LE(E820_RAM)};
    if (m->ram_size > pc_ram_below_4g) {
        e[n++] = (E820Entry){GUINT64_TO_LE(1ULL << 32),
                             GUINT64_TO_LE(m->ram_size - pc_ram_below_4g), GUINT32_TO_LE(E820_RAM)};
    }
    return n;
}

/* Firmware finds a place for the table, and puts its address into the entry point. */
static bool fw_cfg_smbios(FwCfg *s, const MachineState *m, Error **errp)
{
    g_autoptr(GByteArray) t = smbios_build(m);
    uint8_t uuid[16], anchor[31];

    smbios_uuid(uuid);
    fw_cfg_set_bytes(s, FW_CFG_UUID, uuid, sizeof(uuid));
    smbios_entry_21(t, 0, anchor);
    return fw_cfg_set_file(s, "etc/smbios/smbios-tables", t->data, t->len, errp) &&
           fw_cfg_set_file(s, "etc/smbios/smbios-anchor", anchor, sizeof(anchor), errp);
}

/* -boot splash=: the picture that firmware shows. A file that cannot be had is no reason not to
 * start. */
static void add_splash(FwCfg *s, const char *name)
{
    g_autofree char *path = datadir_find(name);
    size_t len;
    g_autofree char *data = path ? regular_file_read(path, &len, NULL) : NULL;

    if (!data) {
        report_warning("-boot splash=%s: failed to find file", name);
    } else if (len > 2 && !memcmp(data, "BM", 2)) {
        fw_cfg_set_file(s, "bootsplash.bmp", data, len, &error_abort);
    } else if (len > 2 && !memcmp(data, "\xff\xd8", 2)) {
        fw_cfg_set_file(s, "bootsplash.jpg", data, len, &error_abort);
    } else {
        report_warning("-boot splash=%s: neither a JPEG nor a BMP picture", name);
    }
}

bool pc_fw_cfg_init(MachineState *m, Error **errp)
{
    g_autoptr(Object) obj = object_new(TYPE_FW_CFG);
    FwCfg *s = (FwCfg *)obj;
    E820Entry e820[2];
    unsigned n = e820_fill(e820, m);
    uint32_t reboot = GUINT32_TO_LE((uint32_t)m->boot_reboot_timeout);
    /* Which sleep states there are: bit 7 says enabled, the low bits are the value for PM1 control.
     * S3 is not there. */
    static const uint8_t states[6] = {0x80, 0, 0, 0x01, 0x82, 0x80};

    if (!object_add_child(&m->parent_obj, "fw_cfg", obj, errp) ||
        !device_realize(DEVICE(obj), main_system_bus(), errp)) {
        return false;
    }
    fw_cfg_set_u64(s, FW_CFG_RAM_SIZE, m->ram_size);
    fw_cfg_set_u16(s, FW_CFG_NOGRAPHIC, !m->graphics);
    fw_cfg_set_u16(s, FW_CFG_NB_CPUS, m->smp.cpus);
    fw_cfg_set_u16(s, FW_CFG_MAX_CPUS, m->smp.max_cpus);
    fw_cfg_set_u16(s, FW_CFG_BOOT_MENU, m->boot_menu);
    fw_cfg_set_u32(s, FW_CFG_IRQ0_OVERRIDE, 1);
    if (m->boot_splash) {
        add_splash(s, m->boot_splash);
    }
    if (m->boot_splash_time >= 0) {
        uint16_t wait = GUINT16_TO_LE((uint16_t)m->boot_splash_time);

        fw_cfg_set_file(s, "etc/boot-menu-wait", &wait, sizeof(wait), &error_abort);
    }
    fw_cfg_set_file(s, "bootorder", NULL, 0, &error_abort);
    fw_cfg_set_file(s, "etc/boot-fail-wait", &reboot, sizeof(reboot), &error_abort);
    fw_cfg_set_file(s, "etc/e820", e820, n * sizeof(e820[0]), &error_abort);
    fw_cfg_set_file(s, "etc/system-states", states, sizeof(states), &error_abort);
    return fw_cfg_smbios(s, m, errp);
}
