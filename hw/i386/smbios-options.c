/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of -smbios. */
#include "smbios-options.h"

#include <stdio.h>
#include <string.h>

#include "hw/i386/smbios.h"

SmbiosOptions smbios_options;

typedef struct SmbiosKey {
    unsigned type;
    const char *name;
    size_t offset; /* of a char * in SmbiosOptions */
} SmbiosKey;

#define KEY(t, text, field) { t, text, offsetof(SmbiosOptions, field) }

static const SmbiosKey text_keys[] = {
    KEY(0, "vendor", t0.vendor),
    KEY(0, "version", t0.version),
    KEY(0, "date", t0.date),
    KEY(1, "manufacturer", t1.manufacturer),
    KEY(1, "product", t1.product),
    KEY(1, "version", t1.version),
    KEY(1, "serial", t1.serial),
    KEY(1, "sku", t1.sku),
    KEY(1, "family", t1.family),
    KEY(2, "manufacturer", t2.manufacturer),
    KEY(2, "product", t2.product),
    KEY(2, "version", t2.version),
    KEY(2, "serial", t2.serial),
    KEY(2, "asset", t2.asset),
    KEY(2, "location", t2.location),
    KEY(3, "manufacturer", t3.manufacturer),
    KEY(3, "version", t3.version),
    KEY(3, "serial", t3.serial),
    KEY(3, "asset", t3.asset),
    KEY(3, "sku", t3.sku),
    KEY(4, "sock_pfx", t4.sock_pfx),
    KEY(4, "manufacturer", t4.manufacturer),
    KEY(4, "version", t4.version),
    KEY(4, "serial", t4.serial),
    KEY(4, "asset", t4.asset),
    KEY(4, "part", t4.part),
    KEY(17, "loc_pfx", t17.loc_pfx),
    KEY(17, "bank", t17.bank),
    KEY(17, "manufacturer", t17.manufacturer),
    KEY(17, "serial", t17.serial),
    KEY(17, "asset", t17.asset),
    KEY(17, "part", t17.part),
};

static bool type_known(uint64_t type)
{
    return type <= 4 || type == 11 || type == 17;
}

static void take_texts(uint64_t type, Opts *o)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(text_keys); i++) {
        char **field = (char **)((char *)&smbios_options + text_keys[i].offset);
        char *text = text_keys[i].type == type ? opts_take(o, text_keys[i].name) : NULL;

        if (text) {
            g_free(*field);
            *field = text;
        }
    }
}

static bool smbios_uuid_parse(const char *text, uint8_t out[16])
{
    unsigned n = 0;

    if (!g_uuid_string_is_valid(text)) {
        return false;
    }
    for (const char *p = text; *p && n < 16; p++) {
        if (*p != '-') {
            out[n++] = g_ascii_xdigit_value(p[0]) << 4 | g_ascii_xdigit_value(p[1]);
            p++;
        }
    }
    return true;
}

static bool take_bios(Opts *o, Error **errp)
{
    g_autofree char *release = opts_take(o, "release");
    unsigned major, minor;

    if (release) {
        if (sscanf(release, "%u.%u", &major, &minor) != 2 || major > 255 || minor > 255) {
            error_set(errp, "Invalid release");
            return false;
        }
        smbios_options.t0.has_release = true;
        smbios_options.t0.major = major;
        smbios_options.t0.minor = minor;
    }
    return opts_take_bool(o, "uefi", smbios_options.t0.uefi, &smbios_options.t0.uefi, errp);
}

static bool take_system(Opts *o, Error **errp)
{
    g_autofree char *uuid = opts_take(o, "uuid");

    if (uuid && !smbios_uuid_parse(uuid, smbios_options.t1.uuid)) {
        error_set(errp, "Invalid UUID");
        return false;
    }
    return true;
}

static bool take_processor(Opts *o, Error **errp)
{
    if (!opts_take_uint(o, "max-speed", smbios_options.t4.max_speed,
                        &smbios_options.t4.max_speed, errp) ||
        !opts_take_uint(o, "current-speed", smbios_options.t4.current_speed,
                        &smbios_options.t4.current_speed, errp)) {
        return false;
    }
    if (smbios_options.t4.max_speed > UINT16_MAX || smbios_options.t4.current_speed > UINT16_MAX) {
        error_set(errp, "SMBIOS CPU speed is too large (> %d)", UINT16_MAX);
        return false;
    }
    return true;
}

/* May be given more than once, even in one option. */
static void take_strings(Opts *o)
{
    for (guint i = 0; i < o->list->len;) {
        const Opt *opt = o->list->pdata[i];

        if (g_str_equal(opt->key, "value")) {
            if (!smbios_options.strings) {
                smbios_options.strings = g_ptr_array_new_with_free_func(g_free);
            }
            g_ptr_array_add(smbios_options.strings, g_strdup(opt->value));
            g_ptr_array_remove_index(o->list, i);
        } else {
            i++;
        }
    }
}

static bool take_memory(Opts *o, Error **errp)
{
    if (!opts_take_uint(o, "speed", smbios_options.t17.speed, &smbios_options.t17.speed, errp)) {
        return false;
    }
    if (smbios_options.t17.speed > UINT16_MAX) {
        error_set(errp, "speed is too large (> %d)", UINT16_MAX);
        return false;
    }
    return true;
}

bool smbios_option_add(Opts *opts, Error **errp)
{
    g_autoptr(Opts) o = opts;
    uint64_t type;
    bool ok = true;

    if (opts_get(o, "file")) {
        error_set(errp, "file= is not supported: name the fields by type=");
        return false;
    }
    if (!opts_get(o, "type")) {
        error_set(errp, "Must specify type= or file=");
        return false;
    }
    if (!opts_take_uint(o, "type", 0, &type, errp)) {
        return false;
    }
    if (!type_known(type)) {
        error_set(errp, "Don't know how to build fields for SMBIOS type %" G_GUINT64_FORMAT, type);
        return false;
    }
    take_texts(type, o);
    switch (type) {
    case 0:
        ok = take_bios(o, errp);
        break;
    case 1:
        ok = take_system(o, errp);
        break;
    case 2:
        smbios_options.t2.given = true;
        break;
    case 4:
        ok = take_processor(o, errp);
        break;
    case 11:
        take_strings(o);
        break;
    case 17:
        ok = take_memory(o, errp);
        break;
    default:
        break;
    }
    return ok && opts_all_taken(o, errp);
}

void smbios_set_uuid(const char *text)
{
    if (text) {
        g_assert(smbios_uuid_parse(text, smbios_options.t1.uuid));
    }
}

void smbios_uuid(uint8_t out[16])
{
    memcpy(out, smbios_options.t1.uuid, 16);
}
