/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_SMBIOS_OPTIONS_H
#define SPINDLE_HW_I386_SMBIOS_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What -smbios said; NULL and false: nothing. */
typedef struct SmbiosOptions {
    struct {
        bool has_release, uefi;
        uint8_t major, minor;
        char *vendor, *version, *date;
    } t0;
    struct {
        uint8_t uuid[16]; /* as text reads */
        char *manufacturer, *product, *version, *serial, *sku, *family;
    } t1;
    struct {
        bool given;
        char *manufacturer, *product, *version, *serial, *asset, *location;
    } t2;
    struct {
        char *manufacturer, *version, *serial, *asset, *sku;
    } t3;
    struct {
        char *sock_pfx, *manufacturer, *version, *serial, *asset, *part;
        uint64_t max_speed, current_speed; /* MHz; 0: not given */
    } t4;
    GPtrArray *strings; /* of type 11 */
    struct {
        char *loc_pfx, *bank, *manufacturer, *serial, *asset, *part;
        uint64_t speed;
    } t17;
} SmbiosOptions;

extern SmbiosOptions smbios_options;

#endif
