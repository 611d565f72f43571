/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SPINDLE_HW_I386_ACPI_AML_H
#define SPINDLE_HW_I386_ACPI_AML_H

#include <glib.h>
#include <stdint.h>

/*
 * ACPI machine language, as far as tables need it that depend on the configuration (ACPI 6.5
 * chapter 20). Everything is appended to a byte array. Runs in: any thread.
 */

/* Opens a scope, device or method at a path ("\\_SB.PCI0", "S08_"); close it by aml_end() with the
 * returned mark. Segments of a path have four characters each. */
size_t aml_scope(GByteArray *a, const char *path);
size_t aml_device(GByteArray *a, const char *path);
size_t aml_method(GByteArray *a, const char *path, unsigned args);
void aml_end(GByteArray *a, size_t mark);

void aml_name_int(GByteArray *a, const char *path, uint64_t value);
void aml_int(GByteArray *a, uint64_t value);
void aml_path(GByteArray *a, const char *path);
/* Opcodes: arguments follow as further calls. */
void aml_byte(GByteArray *a, uint8_t opcode);

#define AML_STORE  0x70 /* value, target */
#define AML_AND    0x7b /* a, b, target (0: none) */
#define AML_ARG0   0x68
#define AML_ARG1   0x69
#define AML_NOTIFY 0x86 /* object, value */

/* If (the expression that follows); close with aml_end(). */
size_t aml_if(GByteArray *a);

#endif
