/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_FW_CFG_PATH_H
#define SPINDLE_HW_I386_FW_CFG_PATH_H

#include "hw/core/device.h"

/* "/scsi@3" for dev itself, nothing if it is only a part of the device above it. */
void fw_cfg_append_node(GString *s, DeviceState *dev);
/* "/disk@0,0": the unit behind a storage function. */
void fw_cfg_append_unit(GString *s, DeviceState *dev);

#endif
