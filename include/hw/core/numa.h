/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_NUMA_H
#define SPINDLE_HW_CORE_NUMA_H

#include "hw/core/machine.h"

/* The guest's NUMA nodes (-numa). Runs in: main thread. */

#define NUMA_NODES_MAX      128
#define NUMA_DISTANCE_LOCAL 10
#define NUMA_NO_NODE        UINT_MAX

/* One -numa, in key=value form; the machine's topology is known. The text of an error is the one
 * that clients know. */
bool numa_option_add(const MachineState *m, const Opts *opts, Error **errp);
/* All have been given: nodes are complete, their memory is the machine's. Called before RAM is
 * made; takes the backends into use. */
bool numa_complete(MachineState *m, Error **errp);
void numa_cleanup(void);

unsigned numa_nodes(void); /* 0: the machine is not divided */
/* Where the memory of a node is; NULL: it has none. */
Object *numa_memdev(unsigned node);
uint64_t numa_size(unsigned node);
/* The node of a processor; NUMA_NO_NODE without nodes. */
unsigned numa_node_of_cpu(unsigned cpu_index);
/* Whether any distance was given: else there is nothing to tell. */
bool numa_has_distances(void);
uint8_t numa_distance(unsigned from, unsigned to);

#endif
