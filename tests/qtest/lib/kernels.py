# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels small enough to be written down: ELF files with a PVH entry point, and a Linux bzImage
header around whatever code is given. And what a test needs to run one on KVM."""
import os
import struct
import unittest

from .process import is_spindle, run_binary

EM_386, EM_ARM64, EM_X86_64 = 3, 183, 62
LOAD_ADDR = 0x100000
DEBUG_EXIT = 'isa-debug-exit,iobase=0x501,iosize=2'
# cli; hlt; jmp
HALT = b'\xfa\xf4\xeb\xfd'


def elf(code=HALT, bits=64, machine=None, note=True, data=1, paddr=LOAD_ADDR, memsz=None,
        filesz=None, phnum=None):
    """An ELF file with one segment; its entry point is where the segment is loaded."""
    filesz = len(code) if filesz is None else filesz
    memsz = max(4096, filesz) if memsz is None else memsz
    text = struct.pack('<III4sI', 4, 4, 18, b'Xen', paddr & 0xffffffff)
    segments = [(1, 0x1000, paddr, filesz, memsz)]
    if note:
        segments.append((4, 0x800, 0, len(text), len(text)))
    count = len(segments) if phnum is None else phnum
    machine = machine or (EM_X86_64 if bits == 64 else EM_386)
    ident = b'\x7fELF' + bytes([2 if bits == 64 else 1, data, 1]) + bytes(9)
    if bits == 64:
        head = ident + struct.pack('<HHIQQQIHHHHHH', 2, machine, 1, paddr, 64, 0, 0, 64, 56, count,
                                   0, 0, 0)
        table = b''.join(struct.pack('<IIQQQQQQ', t, 7, o, a, a, f, m, 4)
                         for t, o, a, f, m in segments)
    else:
        head = ident + struct.pack('<HHIIIIIHHHHHH', 2, machine, 1, paddr, 52, 0, 0, 52, 32, count,
                                   0, 0, 0)
        table = b''.join(struct.pack('<IIIIIIII', t, o, a, a, f, m, 7, 4)
                         for t, o, a, f, m in segments)
    image = bytearray(0x1000)
    image[:len(head) + len(table)] = head + table
    image[0x800:0x800 + len(text)] = text
    return bytes(image) + code


def bzimage(code=HALT, version=0x20f, magic=b'HdrS', xloadflags=1, init_size=0x10000, syssize=None,
            initrd_addr_max=0x7fffffff, pad=0x2000):
    """Boot protocol header with one setup sector; `code` is entered in 64-bit mode."""
    payload = bytearray(0x200) + code
    payload += bytes(max(0, pad - len(payload)))
    syssize = (len(payload) + 15) // 16 if syssize is None else syssize
    image = bytearray(1024)
    image[0x1f1] = 1
    struct.pack_into('<I', image, 0x1f4, syssize)
    image[0x200:0x202] = b'\xeb\x66'
    image[0x202:0x206] = magic
    struct.pack_into('<H', image, 0x206, version)
    image[0x211] = 1
    struct.pack_into('<I', image, 0x22c, initrd_addr_max)
    struct.pack_into('<IBBH', image, 0x230, 0x200000, 1, 21, xloadflags)
    struct.pack_into('<I', image, 0x238, 0x7ff)
    struct.pack_into('<QI', image, 0x258, 0x1000000, init_size)
    return bytes(image + payload)


def out_memory(ranges):
    """32-bit code that writes memory ranges (address, length) to COM1 and then ends the emulator
    through isa-debug-exit."""
    code = b'\xfc'
    for addr, length in ranges:
        # mov $addr, %esi; mov $length, %ecx; mov $0x3f8, %edx; rep outsb
        code += b'\xbe' + struct.pack('<I', addr) + b'\xb9' + struct.pack('<I', length) + \
            b'\xba' + struct.pack('<I', 0x3f8) + b'\xf3\x6e'
    return code + exit_code(0)


def cpuid_code(leaves, scratch=0x200000):
    """32-bit code that shows the registers eax, ebx, ecx, edx of CPUID leaves (leaf, subleaf)."""
    code = b''
    for i, (leaf, subleaf) in enumerate(leaves):
        at = [struct.pack('<I', scratch + 16 * i + 4 * r) for r in range(4)]
        code += b'\xb8' + struct.pack('<I', leaf) + b'\xb9' + struct.pack('<I', subleaf) + \
            b'\x0f\xa2\xa3' + at[0] + b'\x89\x1d' + at[1] + b'\x89\x0d' + at[2] + b'\x89\x15' + at[3]
    return code + out_memory([(scratch, 16 * len(leaves))])


def exit_code(value):
    """Code that ends the emulator with status 2 * value + 1."""
    # mov $0x501, %edx; mov $value, %al; out %al, (%dx); hlt
    return b'\xba' + struct.pack('<I', 0x501) + bytes([0xb0, value, 0xee]) + HALT


def require_kvm():
    if not is_spindle():
        raise unittest.SkipTest('about starting kernels without firmware')
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        raise unittest.SkipTest('there is no /dev/kvm that may be used')


def run_and_read(directory, code, *args, machine='q35', cpu='kvm64,check=off', binary=None,
                 warnings=False):
    """Starts a guest of that code; returns what it writes to COM1 before it ends."""
    kernel, out = os.path.join(directory, 'guest.elf'), os.path.join(directory, 'serial')
    with open(kernel, 'wb') as f:
        f.write(elf(code))
    done = run_binary(['-machine', machine, '-accel', 'kvm', '-display', 'none', '-nodefaults',
                       '-cpu', cpu, '-kernel', kernel, '-device', DEBUG_EXIT,
                       '-chardev', 'file,id=s0,path=' + out, '-device', 'isa-serial,chardev=s0',
                       *args], binary=binary)
    lines = [s for s in done.stderr.splitlines() if 'recommended cpus supported' not in s]
    if done.returncode != 1 or (lines and not warnings):
        raise AssertionError('status %d: %s' % (done.returncode, done.stderr))
    with open(out, 'rb') as f:
        return f.read()


def read_guest_memory(directory, ranges, *args, **kwargs):
    """Starts a guest that shows parts of its memory; returns them."""
    data = run_and_read(directory, out_memory(ranges), *args, **kwargs)
    parts = []
    for _, length in ranges:
        parts.append(data[:length])
        data = data[length:]
    return parts


def read_cpuid(directory, leaves, cpu, *args, **kwargs):
    """What CPUID says in a guest: {(leaf, subleaf): (eax, ebx, ecx, edx)}."""
    data = run_and_read(directory, cpuid_code(leaves), *args, cpu=cpu, warnings=True, **kwargs)
    return {leaf: struct.unpack_from('<IIII', data, 16 * i) for i, leaf in enumerate(leaves)}
