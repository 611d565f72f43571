/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAM, firmware and the programmable attribute map of PC machines. */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "hw/core/datadir.h"
#include "hw/core/hostmem.h"
#include "hw/core/numa.h"
#include "pc.h"
#include "util/biglock.h"
#include "util/regular-file.h"

#define LOW_RAM_END    0xa0000ULL
#define PAM_BASE       0xc0000ULL
#define PAM_END        0x100000ULL
#define FOUR_GIB       (1ULL << 32)
#define FIRMWARE_MAX   (8ULL << 20)
#define FIRMWARE_UNIT  0x10000ULL
#define FIRMWARE_LOW   0x20000ULL /* of its end is also seen below 1 MiB */

enum { PAM_READ = 1, PAM_WRITE = 2 };

typedef struct PamSegment {
    uint64_t addr, size;
    MmioRegion *write_only; /* for RAM that takes writes and does not answer reads */
    unsigned mode;
    bool mapped_ram;
} PamSegment;

uint64_t pc_ram_below_4g;

static PamSegment segments[13];
static bool segments_ready;
static uint8_t *ram_host;
static uint64_t ram_bytes;
static uint8_t *firmware; /* FIRMWARE_LOW bytes of its end are at firmware_low; NULL: none */
static uint8_t *firmware_low;
static size_t firmware_low_len;

/* ---- attribute map ---- */

/* What is there when RAM does not answer: firmware, or nothing. */
static uint8_t *pam_rom(const PamSegment *s)
{
    uint64_t first = PAM_END - firmware_low_len;

    return firmware && s->addr >= first ? firmware_low + (s->addr - first) : NULL;
}

static uint64_t write_only_read(void *opaque, uint64_t offset, unsigned size)
{
    const uint8_t *rom = pam_rom(opaque);
    uint64_t v = 0;

    if (rom) {
        memcpy(&v, rom + offset, size);
    }
    return GUINT64_FROM_LE(v);
}

static void write_only_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    PamSegment *s = opaque;

    value = GUINT64_TO_LE(value);
    memcpy(ram_host + s->addr + offset, &value, size);
}

static const MmioOps write_only_ops = {.read = write_only_read, .write = write_only_write};

static void segment_unmap(PamSegment *s)
{
    if (s->mapped_ram) {
        guest_ram_del(s->addr);
        s->mapped_ram = false;
    }
    if (s->write_only) {
        mmio_region_unmap(s->write_only);
    }
}

static void segment_map(PamSegment *s, unsigned mode)
{
    uint8_t *host = mode & PAM_READ ? ram_host + s->addr : pam_rom(s);

    segment_unmap(s);
    s->mode = mode;
    if (s->addr + s->size > ram_bytes) {
        host = pam_rom(s); /* there is no RAM to show */
        mode = 0;
    }
    if (mode == PAM_WRITE) {
        if (!s->write_only) {
            s->write_only = mmio_region_new("pam", &write_only_ops, s, s->size);
        }
        mmio_region_map(s->write_only, guest_memory, s->addr, 0);
    } else if (host) {
        guest_ram_add("pam", s->addr, s->size, host, !(mode & PAM_WRITE), &error_abort);
        s->mapped_ram = true;
    }
}

void pc_pam_update(const uint8_t *regs)
{
    ASSERT_BIG_LOCK();
    address_space_batch_begin();
    for (unsigned i = 0; i < G_N_ELEMENTS(segments); i++) {
        /* Register 0 holds the 64 KiB below 1 MiB in its upper half; each of the others two
         * segments of 16 KiB from 0xc0000 up. */
        unsigned mode = i == 0 ? regs[0] >> 4 : i & 1 ? regs[(i + 1) / 2] : regs[i / 2] >> 4;
        PamSegment *s = &segments[i];

        if (!segments_ready) {
            s->addr = i == 0 ? 0xf0000 : PAM_BASE + (i - 1) * 0x4000;
            s->size = i == 0 ? 0x10000 : 0x4000;
        }
        mode &= PAM_READ | PAM_WRITE;
        if (!segments_ready || mode != s->mode) {
            segment_map(s, mode);
        }
    }
    segments_ready = true;
    address_space_batch_commit();
}

/* ---- firmware ---- */

static bool load_firmware(const char *path, Error **errp)
{
    g_autofree char *file = datadir_find(path);
    g_autofree char *data = NULL;
    size_t len;

    if (!file) {
        error_set(errp, "-bios: could not load PC BIOS '%s': there is no such file", path);
        return false;
    }
    data = regular_file_read(file, &len, errp);
    if (!data) {
        error_prepend(errp, "-bios: could not load PC BIOS '%s': ", path);
        return false;
    }
    if (len == 0 || len % FIRMWARE_UNIT || len > FIRMWARE_MAX) {
        error_set(errp,
                  "-bios: could not load PC BIOS '%s': its %zu bytes are no multiple of 64 KiB up "
                  "to 8 MiB",
                  path, len);
        return false;
    }
    /* Pages of its own: an accelerator maps it into the guest. */
    firmware = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert(firmware != MAP_FAILED);
    memcpy(firmware, data, len);
    firmware_low_len = MIN(len, FIRMWARE_LOW);
    firmware_low = firmware + len - firmware_low_len;
    return guest_ram_add("pc.bios", FOUR_GIB - len, len, firmware, true, errp);
}

/* ---- RAM ---- */

/* One piece of host memory; the pieces follow each other in the guest, with gaps for devices. */
typedef struct RamPiece {
    uint8_t *host;
    uint64_t size;
} RamPiece;

static GArray *pieces; /* of RamPiece */

static void piece_add(Object *backend)
{
    RamPiece p = { MEMORY_BACKEND(backend)->host, MEMORY_BACKEND(backend)->mapped };

    g_array_append_val(pieces, p);
    ram_bytes += p.size;
}

/* Maps bytes [from, to) of RAM to `addr`. */
static bool map_ram(const char *name, uint64_t addr, uint64_t from, uint64_t to, Error **errp)
{
    uint64_t start = 0;

    for (unsigned i = 0; i < pieces->len; i++) {
        const RamPiece *p = &g_array_index(pieces, RamPiece, i);
        uint64_t first = MAX(from, start), last = MIN(to, start + p->size);

        if (first < last && !guest_ram_add(name, addr + (first - from), last - first,
                                           p->host + (first - start), false, errp)) {
            return false;
        }
        start += p->size;
    }
    return true;
}

/* False if the machine has no RAM. */
static bool find_pieces(const MachineState *m)
{
    pieces = g_array_new(FALSE, FALSE, sizeof(RamPiece));
    if (m->ram_backend) {
        piece_add(m->ram_backend);
    }
    for (unsigned i = 0; i < numa_nodes(); i++) {
        if (numa_memdev(i)) {
            piece_add(numa_memdev(i));
        }
    }
    return pieces->len > 0;
}

bool pc_memory_init(MachineState *m, const PcRamSplit *split, Error **errp)
{
    static const uint8_t closed[7];
    uint64_t below = m->ram_size, limit = m->max_ram_below_4g;

    if (limit > FOUR_GIB) {
        error_set(errp,
                  "Machine option 'max-ram-below-4g=%" PRIu64
                  "' expects size less than or equal to 4G",
                  limit);
        return false;
    }
    if (m->firmware && !load_firmware(m->firmware, errp)) {
        return false;
    }
    if (find_pieces(m)) {
        const RamPiece *first = &g_array_index(pieces, RamPiece, 0);

        ram_host = first->host;
        if (pieces->len > 1 && first->size < PAM_END) {
            error_set(errp, "-numa: the first node with memory needs 1 MiB at least");
            return false;
        }
        below = ram_bytes;
        if (below >= split->threshold) {
            below = split->below;
        }
        if (limit && below > limit) {
            below = limit;
        }
        if (!map_ram("ram-low", 0, 0, MIN(below, LOW_RAM_END), errp) ||
            (below > PAM_END && !map_ram("ram-below-4g", PAM_END, PAM_END, below, errp)) ||
            (below < ram_bytes && !map_ram("ram-above-4g", FOUR_GIB, below, ram_bytes, errp))) {
            return false;
        }
    }
    pc_ram_below_4g = below;
    pc_pam_update(closed);
    return true;
}
