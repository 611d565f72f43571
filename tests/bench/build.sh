#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the bare guest that generates load: build.sh OUTPUT
set -e
cd "$(dirname "$0")"
out=$1
t=$(mktemp -d)
gcc -c -m64 -DTSSADDR=0x101000 boot.S -o $t/boot.o
gcc -c -m64 -O2 -ffreestanding -fno-pic -mcmodel=small -mno-red-zone -mgeneral-regs-only -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables -Wall vqload.c -o $t/v.o
ld -m elf_x86_64 -static -nostdlib -z noexecstack -T link.ld $t/boot.o $t/v.o -o "$out"
rm -rf $t
