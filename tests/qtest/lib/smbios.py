# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads SMBIOS entry points and tables (DSP0134)."""
import struct


def find_entries(segment, base=0xf0000):
    """(address, length) of the table as the 32-bit and the 64-bit entry point tell, checked."""
    old = new = None
    for at in range(0, len(segment) - 31, 16):
        if segment[at:at + 4] == b'_SM_':
            entry = segment[at:at + segment[at + 5]]
            assert sum(entry) & 255 == 0 and sum(entry[16:31]) & 255 == 0, 'checksum'
            assert entry[16:21] == b'_DMI_'
            length, addr, count = struct.unpack_from('<HIH', entry, 22)
            old = (addr, length, count)
        elif segment[at:at + 5] == b'_SM3_':
            entry = segment[at:at + segment[at + 6]]
            assert sum(entry) & 255 == 0, 'checksum'
            length, addr = struct.unpack_from('<IQ', entry, 12)
            new = (addr, length)
    return old, new


def structures(table):
    """List of (type, formatted part, strings)."""
    out, at = [], 0
    while at < len(table):
        kind, length = table[at], table[at + 1]
        body = table[at:at + length]
        end = table.index(b'\0\0', at + length)
        text = table[at + length:end]
        out.append((kind, body, [s.decode() for s in text.split(b'\0')] if text else []))
        at = end + 2
        if kind == 127:
            assert at == len(table)
            break
    return out


def text(structure, offset):
    """The string whose number is at that offset; None for none."""
    _, body, strings = structure
    return strings[body[offset] - 1] if body[offset] else None
