#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles ASL by iasl and writes the result as a C array: asl-to-c.py IASL INPUT OUTPUT.

The array is named after the input: acpi-dsdt-pc.asl becomes acpi_dsdt_pc_aml_code.
"""
import os
import subprocess
import sys
import tempfile


def main():
    iasl, source, output = sys.argv[1:]
    stem = os.path.splitext(os.path.basename(source))[0]
    with tempfile.TemporaryDirectory() as d:
        prefix = os.path.join(d, "out")
        p = subprocess.run([iasl, "-vs", "-we", "-p", prefix, source], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if p.returncode:
            sys.exit(p.stdout)
        with open(prefix + ".aml", "rb") as f:
            code = f.read()
    with open(output, "w") as f:
        f.write(f"/* Made from {os.path.basename(source)}. */\n")
        f.write(f"static const unsigned char {stem.replace('-', '_')}_aml_code[] = {{\n")
        for i in range(0, len(code), 16):
            f.write("    " + " ".join(f"0x{b:02x}," for b in code[i:i + 16]) + "\n")
        f.write("};\n")


main()
