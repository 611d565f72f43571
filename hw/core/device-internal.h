/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HW_CORE_DEVICE_INTERNAL_H
#define HW_CORE_DEVICE_INTERNAL_H

/* What the files about devices and buses share. */

#include "hw/core/device.h"

/* Puts dev on bus (which takes a reference), and takes it off again. */
void bus_attach(BusState *bus, DeviceState *dev);
void bus_detach(DeviceState *dev);
bool bus_is_full(const BusState *bus);
/* By what bus= says: the name of a bus, or a path of devices and buses from one. */
BusState *bus_find_path(const char *path, Error **errp);

/* Devices that are realized without a bus, oldest first. */
GQueue *device_orphans(void);

/* Applies -global to a new device; a failure is remembered in it. */
void global_property_apply(DeviceState *dev);
/* The first failure of those in dev and the devices below it; NULL if there is none. Owned by the
 * caller. */
Error *global_error_take(DeviceState *dev);

static inline BusClass *bus_class(BusState *bus)
{
    return (BusClass *)((Object *)bus)->klass;
}

#endif
