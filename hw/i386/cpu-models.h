/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_CPU_MODELS_H
#define SPINDLE_HW_I386_CPU_MODELS_H

#include <stdbool.h>
#include <stddef.h>

/* The tables of processor models; cpu-features.c makes X86CpuModel of them. */

typedef struct X86ModelDef {
    const char *name;
    const char *base; /* an earlier one, whose features it has, too; NULL: none */
    const char *vendor;
    unsigned family, model, stepping, level, xlevel;
    const char *model_id;
    const char *changes; /* to the features of the base: "name" more, "-name" less */
    bool deprecated;
} X86ModelDef;

typedef struct X86ModelAlias {
    const char *name, *stands_for;
} X86ModelAlias;

/* Both end with an element without a name. */
extern const X86ModelDef x86_model_defs[];
extern const X86ModelAlias x86_model_aliases[];

#endif
