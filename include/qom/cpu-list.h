/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_QOM_CPU_LIST_H
#define SPINDLE_QOM_CPU_LIST_H

/* Lists of host CPU numbers: [0, 1] in JSON, "0-1" or "0" (repeatable) in key=value form. */

#include <sched.h>

#include "qom/object.h"

/* The value as an array of uint16_t; NULL with an error if it is none. `name` is the parameter's.
 */
GArray *cpu_list_read(const char *name, JsonNode *value, QapiForm form, Error **errp);
JsonNode *cpu_list_json(const GArray *list);
/* The numbers as a set for sched_setaffinity(); fails if the list is empty or names what no host
 * CPU can be. */
bool cpu_list_to_set(const GArray *list, cpu_set_t *set, Error **errp);
GArray *cpu_list_from_set(const cpu_set_t *set);

#endif
