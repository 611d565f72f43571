/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_MONITOR_VERSION_H
#define SPINDLE_MONITOR_VERSION_H

/* The interface that is spoken, and this program. */
#define INTERFACE_VERSION_MAJOR 10
#define INTERFACE_VERSION_MINOR 0
#define INTERFACE_VERSION_MICRO 2
#define INTERFACE_VERSION       "10.0.2"
#define SPINDLE_VERSION         "0.1.0"
#define SPINDLE_PACKAGE         "spindle-" SPINDLE_VERSION

#endif
