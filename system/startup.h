/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_SYSTEM_STARTUP_H
#define SPINDLE_SYSTEM_STARTUP_H

#include "util/error.h"

/*
 * From the options to a running machine, and back. What fails is reported, with the option it is
 * about, and ends the process. Runs in: main thread.
 */

/* Help that needs nothing to be made; exits if any was asked for. */
void startup_help(void);
/* Everything up to the monitors: objects, character devices, disks, accelerator. */
void startup_backends(void);
/* The machine and its devices; lets it run unless -S was given. */
void startup_machine(void);
/* Flushes disks, takes everything down. */
void startup_undo(void);
/* Undoes what there is, and exits. */
void startup_exit(int status) __attribute__((noreturn));

/* ---- parts ---- */

/* startup-block.c */
void startup_block_nodes(const char *default_if);
void startup_drive_devices(void); /* of -drive if=virtio */

/* startup-accel.c */
void startup_accel(void);

/* Reports err, which is about what the location on top says, and exits. */
void startup_fail(Error *err) __attribute__((noreturn));

/* qmp-system.c: x-exit-preconfig has been called. */
extern bool startup_preconfig_over;

#endif
