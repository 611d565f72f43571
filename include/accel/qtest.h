/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_ACCEL_QTEST_H
#define SPINDLE_ACCEL_QTEST_H

#include "chardev/char.h"

/*
 * The qtest server: a line-based protocol by which a test drives the machine in place of guest
 * code. It claims `c` for good. `log` is a file for a transcript, "none", or NULL for stderr. The
 * machine need not exist yet: requests are read by the main loop. Runs in: main thread, once.
 */
bool qtest_server_start(Chardev *c, const char *log, Error **errp);

#endif
