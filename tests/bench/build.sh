#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the bare guest that generates load: build.sh OUTPUT
set -e
src=$(cd "$(dirname "$0")/guest" && pwd)
out=$1
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
cc=gcc
command -v $cc >/dev/null 2>&1 || cc=${CC:-cc}
# Nothing of a C library or of the host's start-up code: freestanding, no red zone (an exception
# would destroy it), general registers only.
flags="-m64 -O2 -std=gnu11 -ffreestanding -fno-pic -fno-pie -mcmodel=small -mno-red-zone
    -mgeneral-regs-only -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables
    -fno-strict-aliasing -Wall -Wextra -Werror"
$cc -c -m64 "$src/boot.S" -o "$t/boot.o"
for f in main setup virtio intx pattern load report; do
    # shellcheck disable=SC2086
    $cc -c $flags "$src/$f.c" -o "$t/$f.o"
done
ld -m elf_x86_64 -static -nostdlib -z noexecstack --no-warn-rwx-segments -T "$src/link.ld" \
    "$t"/*.o -o "$out"
