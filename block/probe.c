/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognising image formats by how they begin. */
#include <string.h>

#include "node.h"

typedef struct Magic {
    const char *format;
    unsigned offset;
    unsigned len;
    const char *bytes;
} Magic;

#define MAGIC(format, offset, bytes) { format, offset, sizeof(bytes) - 1, bytes }

static const Magic magics[] = {
    MAGIC("qcow", 0, "QFI\xfb\0\0\0\1"),
    MAGIC("qcow2", 0, "QFI\xfb"),
    MAGIC("qed", 0, "QED\0"),
    MAGIC("vmdk", 0, "KDMV"),
    MAGIC("vmdk", 0, "COWD"),
    MAGIC("vmdk", 0, "# Disk DescriptorFile"),
    MAGIC("vdi", 64, "\x7f\x10\xda\xbe"),
    MAGIC("vhdx", 0, "vhdxfile"),
    MAGIC("vpc", 0, "conectix"),
    MAGIC("luks", 0, "LUKS\xba\xbe"),
    MAGIC("parallels", 0, "WithoutFreeSpace"),
    MAGIC("parallels", 0, "WithouFreSpacExt"),
    MAGIC("bochs", 0, "Bochs Virtual HD Image"),
    MAGIC("cloop", 0, "#!/bin/sh\n#V2.0 Format"),
    MAGIC("dmg", 0, "koly"),
};

const char *block_probe_format(const uint8_t *buf, size_t len)
{
    for (size_t i = 0; i < G_N_ELEMENTS(magics); i++) {
        const Magic *m = &magics[i];

        if (m->offset + m->len <= len && memcmp(buf + m->offset, m->bytes, m->len) == 0) {
            return m->format;
        }
    }
    return NULL;
}
