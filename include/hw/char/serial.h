/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_CHAR_SERIAL_H
#define SPINDLE_HW_CHAR_SERIAL_H

#include <stdbool.h>

/* The serial ports of a PC: COM1 to COM4. Runs in: under the big lock. */
#define SERIAL_PORTS_MAX 4

/* Whether there is a port with that index (0: COM1). */
bool isa_serial_present(unsigned index);

#endif
