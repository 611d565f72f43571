/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CORE_ISA_H
#define SPINDLE_HW_CORE_ISA_H

#include "hw/core/device.h"

/* The ISA bus: devices at fixed ports, with fixed interrupt lines. Runs in: under the big lock. */

#define TYPE_ISA_BUS "ISA"
#define TYPE_ISA_DEVICE "isa-device"
#define ISA_IRQ_COUNT 16

typedef struct ISADevice {
    DeviceState parent_obj;
} ISADevice;

/* Sources of gsi_set(), so that devices may share a line. 0..7 are the PCI interrupt routers. */
enum {
    GSI_SOURCE_SCI = 8,
    GSI_SOURCE_RTC,
    GSI_SOURCE_SERIAL, /* four of them */
    GSI_SOURCE_PIT = GSI_SOURCE_SERIAL + 4,
    GSI_SOURCE_TEST = 31, /* lines that a test drives itself */
};

#endif
