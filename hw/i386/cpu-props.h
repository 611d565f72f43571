/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_CPU_PROPS_H
#define SPINDLE_HW_I386_CPU_PROPS_H

#include "qom/object.h"

/* `others`, and a property for each feature, read-only. Never freed. Runs in: constructors. */
const Property *x86_cpu_props_with_features(const Property *others);
/* What models that follow the host have besides. */
extern const Property x86_cpu_host_props[];

#endif
