/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_CPU_H
#define SPINDLE_HW_CORE_CPU_H

#include <sys/types.h>

#include "hw/core/device.h"

/*
 * A virtual processor, as an object of the machine. How it runs is the accelerator's business;
 * under qtest it does not. Runs in: main thread, under the big lock, unless said otherwise.
 */
#define TYPE_CPU "cpu"

typedef struct CPUState {
    DeviceState parent_obj;
    unsigned index;    /* 0.. */
    uint32_t apic_id;
    unsigned socket_id, die_id, module_id, core_id, thread_id; /* place in the -smp topology */
    pid_t host_tid;    /* of the thread that runs it; the process itself if none does */
    void *accel;       /* the accelerator's */
} CPUState;

#define CPU(obj) OBJECT_CHECK(CPUState, obj, TYPE_CPU)

unsigned cpu_count(void);
CPUState *cpu_get(unsigned index);

/* What -cpu said: the model, and "+x", "-x", "x=on" in order. Set before the machine is built. */
typedef struct CpuModel {
    char *name;          /* "host", "qemu64", ... */
    GPtrArray *features; /* of char *, as given */
} CpuModel;
extern CpuModel cpu_model;

#endif
