/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fw_cfg by I/O ports, with its DMA interface. */
#include "hw/i386/fw_cfg.h"

#include <string.h>

#include "fw_cfg-path.h"
#include "hw/core/machine.h"
#include "hw/core/memory.h"
#include "util/biglock.h"

#define PORT_BASE     0x510
#define PORT_DMA      0x514
#define FILE_FIRST    0x20
#define FILE_SLOTS    0x20
#define FILE_NAME_LEN 56
#define KEY_MASK      0x3fff /* bits 14 and 15: write, architecture-local */
#define KEY_LOCAL     0x8000

#define DMA_ERROR  1u
#define DMA_READ   2u
#define DMA_SKIP   4u
#define DMA_SELECT 8u
#define DMA_WRITE  16u

typedef struct FwCfgItem {
    uint8_t *data;
    uint32_t len;
} FwCfgItem;

typedef struct FwCfgFile {
    char name[FILE_NAME_LEN];
    uint16_t key;
} FwCfgFile;

struct FwCfg {
    DeviceState parent_obj;
    FwCfgItem items[2][FILE_FIRST + FILE_SLOTS]; /* [architecture-local] */
    FwCfgFile files[FILE_SLOTS];                 /* sorted by name */
    unsigned n_files;
    bool frozen; /* the guest may know the keys */
    uint16_t selected;
    uint32_t offset;
    uint64_t dma_addr;
    MmioRegion *ports, *dma_ports;
    bool dma_enabled;
};

#define FW_CFG(obj) OBJECT_CHECK(FwCfg, obj, TYPE_FW_CFG)

FwCfg *fw_cfg_find(void)
{
    Object *obj = object_resolve("/machine/fw_cfg", NULL);

    return obj && object_is(obj, TYPE_FW_CFG) ? FW_CFG(obj) : NULL;
}

/* ---- contents ---- */

static FwCfgItem *item_of(FwCfg *s, uint16_t key)
{
    unsigned index = key & KEY_MASK;

    return index < G_N_ELEMENTS(s->items[0]) ? &s->items[!!(key & KEY_LOCAL)][index] : NULL;
}

void fw_cfg_set_bytes(FwCfg *s, uint16_t key, const void *data, size_t len)
{
    FwCfgItem *it = item_of(s, key);

    g_assert(it && len <= UINT32_MAX);
    g_free(it->data);
    it->data = g_memdup2(data, len);
    it->len = len;
}

void fw_cfg_set_u16(FwCfg *s, uint16_t key, uint16_t v)
{
    v = GUINT16_TO_LE(v);
    fw_cfg_set_bytes(s, key, &v, sizeof(v));
}

void fw_cfg_set_u32(FwCfg *s, uint16_t key, uint32_t v)
{
    v = GUINT32_TO_LE(v);
    fw_cfg_set_bytes(s, key, &v, sizeof(v));
}

void fw_cfg_set_u64(FwCfg *s, uint16_t key, uint64_t v)
{
    v = GUINT64_TO_LE(v);
    fw_cfg_set_bytes(s, key, &v, sizeof(v));
}

static void put_be(uint8_t *p, uint32_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        p[i] = v >> (8 * (size - 1 - i));
    }
}

static void build_directory(FwCfg *s)
{
    size_t len = 4 + 64 * s->n_files;
    g_autofree uint8_t *dir = g_malloc0(len);

    put_be(dir, s->n_files, 4);
    for (unsigned i = 0; i < s->n_files; i++) {
        uint8_t *e = dir + 4 + 64 * i;

        put_be(e, item_of(s, s->files[i].key)->len, 4);
        put_be(e + 4, s->files[i].key, 2);
        memcpy(e + 8, s->files[i].name, FILE_NAME_LEN);
    }
    fw_cfg_set_bytes(s, FW_CFG_FILE_DIR, dir, len);
}

bool fw_cfg_set_file(FwCfg *s, const char *name, const void *data, size_t len, Error **errp)
{
    unsigned at;

    ASSERT_BIG_LOCK();
    if (strlen(name) >= FILE_NAME_LEN) {
        error_set(errp, "fw_cfg file name '%s' is too long", name);
        return false;
    }
    for (at = 0; at < s->n_files && strcmp(s->files[at].name, name) < 0; at++) {
    }
    if (at < s->n_files && g_str_equal(s->files[at].name, name)) {
        fw_cfg_set_bytes(s, s->files[at].key, data, len);
        build_directory(s);
        return true;
    }
    if (s->n_files == FILE_SLOTS) {
        error_set(errp, "too many fw_cfg files");
        return false;
    }
    /* Until the guest can have seen a key, keys follow the order of names. */
    if (!s->frozen) {
        for (unsigned i = s->n_files; i > at; i--) {
            s->items[0][FILE_FIRST + i] = s->items[0][FILE_FIRST + i - 1];
        }
        s->items[0][FILE_FIRST + at] = (FwCfgItem){0};
    }
    memmove(&s->files[at + 1], &s->files[at], (s->n_files - at) * sizeof(s->files[0]));
    memset(&s->files[at], 0, sizeof(s->files[at]));
    strcpy(s->files[at].name, name);
    s->files[at].key = FILE_FIRST + s->n_files++;
    for (unsigned i = 0; !s->frozen && i < s->n_files; i++) {
        s->files[i].key = FILE_FIRST + i;
    }
    fw_cfg_set_bytes(s, s->files[at].key, data, len);
    build_directory(s);
    return true;
}

/* ---- boot order ---- */

static void append_location(GString *s, DeviceState *dev)
{
    if (dev->bus && dev->bus->parent) {
        append_location(s, dev->bus->parent);
    }
    fw_cfg_append_node(s, dev);
}

/* Open Firmware paths of the devices with a bootindex, one a line, the end marked by a zero byte.
 */
static void build_bootorder(FwCfg *s)
{
    g_autoptr(GPtrArray) list = bootindex_list();
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < list->len; i++) {
        if (i > 0) {
            g_string_append_c(text, '\n');
        }
        append_location(text, list->pdata[i]);
        fw_cfg_append_unit(text, list->pdata[i]);
    }
    if (current_machine->boot_strict) {
        g_string_append(text, list->len ? "\nHALT" : "HALT");
    }
    fw_cfg_set_file(s, "bootorder", text->str, text->len ? text->len + 1 : 0, &error_abort);
}

/* ---- ports ---- */

static void select_item(FwCfg *s, uint16_t key)
{
    s->selected = key;
    s->offset = 0;
}

/* The selected item from the current offset on, or NULL at its end. */
static const uint8_t *selected_data(FwCfg *s, uint32_t *left)
{
    FwCfgItem *it = item_of(s, s->selected);

    *left = it && s->offset < it->len ? it->len - s->offset : 0;
    return *left ? it->data + s->offset : NULL;
}

static uint8_t read_byte(FwCfg *s)
{
    uint32_t left;
    const uint8_t *p = selected_data(s, &left);

    if (!p) {
        return 0;
    }
    s->offset++;
    return *p;
}

static uint64_t ports_read(void *opaque, uint64_t offset, unsigned size)
{
    return size == 1 ? read_byte(opaque) : 0;
}

static void ports_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    if (size == 2 && offset == 0) {
        select_item(opaque, value);
    }
}

static const MmioOps ports_ops = {.read = ports_read, .write = ports_write, .max_size = 2};

/* ---- DMA ---- */

static uint32_t dma_transfer(FwCfg *s, uint32_t control, uint32_t length, uint64_t addr)
{
    static const uint8_t zeros[4096];

    if (control & DMA_SELECT) {
        select_item(s, control >> 16);
    }
    if (control & DMA_WRITE) {
        return DMA_ERROR; /* nothing here is the guest's to change */
    }
    while (length > 0 && (control & (DMA_READ | DMA_SKIP))) {
        uint32_t left, n;
        const uint8_t *p = selected_data(s, &left);

        n = MIN(length, p ? left : sizeof(zeros));
        if ((control & DMA_READ) && !guest_write(addr, p ? p : zeros, n)) {
            return DMA_ERROR;
        }
        if (p) {
            s->offset += n;
        } else if (!(control & DMA_READ)) {
            break; /* skipping beyond the end changes nothing */
        }
        addr += n;
        length -= n;
    }
    return 0;
}

static void dma_run(FwCfg *s)
{
    uint64_t at = s->dma_addr;
    uint8_t desc[16];
    uint32_t control, length;
    uint64_t addr;

    s->dma_addr = 0;
    if (!guest_read(at, desc, sizeof(desc))) {
        return;
    }
    memcpy(&control, desc, 4);
    memcpy(&length, desc + 4, 4);
    memcpy(&addr, desc + 8, 8);
    control = dma_transfer(s, GUINT32_FROM_BE(control), GUINT32_FROM_BE(length),
                           GUINT64_FROM_BE(addr));
    control = GUINT32_TO_BE(control);
    guest_write(at, &control, sizeof(control));
}

static uint64_t dma_read(void *opaque, uint64_t offset, unsigned size)
{
    static const char signature[] = "QEMU CFG";
    uint64_t v = 0;

    for (unsigned i = 0; i < size; i++) {
        v |= (uint64_t)signature[offset + i] << (8 * i);
    }
    return v;
}

/* The register is big-endian: its upper half comes first, the lower half starts the transfer. */
static void dma_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    FwCfg *s = opaque;

    if (size != 4) {
        return;
    }
    uint32_t v = GUINT32_SWAP_LE_BE((uint32_t)value);

    if (offset == 0) {
        s->dma_addr = (uint64_t)v << 32;
    } else if (offset == 4) {
        s->dma_addr |= v;
        dma_run(s);
    }
}

static const MmioOps dma_ops = {.read = dma_read, .write = dma_write, .max_size = 4};

/* ---- device ---- */

static void fw_cfg_ready(void *opaque)
{
    FwCfg *s = opaque;

    build_bootorder(s);
    s->frozen = true;
}

static bool fw_cfg_realize(DeviceState *dev, Error **errp)
{
    FwCfg *s = FW_CFG(dev);

    fw_cfg_set_bytes(s, FW_CFG_SIGNATURE, "QEMU", 4);
    fw_cfg_set_u32(s, FW_CFG_ID, 1 | (s->dma_enabled ? 2 : 0));
    build_directory(s);
    s->ports = mmio_region_new("fwcfg", &ports_ops, s, 2);
    mmio_region_map(s->ports, guest_ports, PORT_BASE, 0);
    if (s->dma_enabled) {
        s->dma_ports = mmio_region_new("fwcfg.dma", &dma_ops, s, 8);
        mmio_region_map(s->dma_ports, guest_ports, PORT_DMA, 0);
    }
    machine_ready_register(fw_cfg_ready, s);
    return true;
}

static void fw_cfg_unrealize(DeviceState *dev)
{
    FwCfg *s = FW_CFG(dev);

    g_clear_pointer(&s->ports, mmio_region_free);
    g_clear_pointer(&s->dma_ports, mmio_region_free);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(s->items[0]); j++) {
            g_clear_pointer(&s->items[i][j].data, g_free);
            s->items[i][j].len = 0;
        }
    }
}

static void fw_cfg_reset(DeviceState *dev)
{
    FwCfg *s = FW_CFG(dev);

    select_item(s, 0);
    s->dma_addr = 0;
    /* Devices may have come, gone, or changed places in the order. */
    if (s->frozen) {
        build_bootorder(s);
    }
}

static const Property fw_cfg_props[] = {
    PROP_BOOL("dma_enabled", FwCfg, dma_enabled, true),
    PROP_END,
};

static void fw_cfg_class_init(ObjectClass *klass, const void *data)
{
    DeviceClass *dc = (DeviceClass *)klass;

    dc->realize = fw_cfg_realize;
    dc->unrealize = fw_cfg_unrealize;
    dc->reset = fw_cfg_reset;
    dc->bus_type = "System";
    dc->category = "misc";
}

static const TypeInfo fw_cfg_type = {
    .name = TYPE_FW_CFG,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(FwCfg),
    .props = fw_cfg_props,
    .class_init = fw_cfg_class_init,
};
TYPE_REGISTER(fw_cfg_type)
