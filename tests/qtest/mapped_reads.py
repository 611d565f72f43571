#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files on a memory file system are read through a mapping, where that fills no hole; and what others
do to the file meanwhile is noticed."""
import os

from lib import OK, main, pattern
from lib.mapped import MIB, PIECE, SIZE, MappedCase


class MappedReads(MappedCase):
    def test_whole_file(self):
        disk = self.start()
        self.sweep(disk, self.data, rounds=4)
        before = self.mapped()
        self.assertGreater(before, 0)
        self.sweep(disk, self.data)
        self.assertEqual(self.mapped() - before, SIZE // 32768)
        # Across the border of two pieces, and what was written meanwhile.
        new = pattern('new', 65536)
        self.assertEqual(disk.write(1, (PIECE - 32768) // 512, new), OK)
        before = self.mapped()
        self.assertEqual(disk.read(0, (PIECE - 32768) // 512, 65536), new)
        self.assertEqual(self.mapped() - before, 1)

    def test_holes_stay(self):
        """A piece with a hole is not read through the mapping, until it has been filled."""
        disk = self.start(ranges=((0, PIECE), (2 * PIECE, PIECE - 4096)))
        expected = bytearray(self.data)
        expected[PIECE:2 * PIECE] = bytes(PIECE)
        expected[3 * PIECE - 4096:] = bytes(PIECE + 4096)
        before = os.stat(self.path).st_blocks
        self.sweep(disk, expected, rounds=8)
        self.assertGreater(self.mapped(), 0)
        self.assertEqual(os.stat(self.path).st_blocks, before)
        for at in range(PIECE, 2 * PIECE, 131072):
            self.assertEqual(disk.write(0, at // 512, self.data[at:at + 131072]), OK)
            expected[at:at + 131072] = self.data[at:at + 131072]
        self.sweep(disk, expected, PIECE, PIECE, rounds=4)
        before = self.mapped()
        self.sweep(disk, expected, PIECE, PIECE)
        self.assertEqual(self.mapped() - before, PIECE // 32768)

    def test_discarded(self):
        """What the guest discards or zeroes is a hole from then on, and stays one."""
        disk = self.start()
        self.sweep(disk, self.data, rounds=4)
        expected = bytearray(self.data)
        full = os.stat(self.path).st_blocks
        self.assertEqual(disk.discard(0, PIECE // 512, MIB // 512), OK)
        self.assertEqual(disk.write_zeroes(1, 2 * PIECE // 512, MIB // 512, flags=1), OK)
        expected[PIECE:PIECE + MIB] = bytes(MIB)
        expected[2 * PIECE:2 * PIECE + MIB] = bytes(MIB)
        self.assertEqual(os.stat(self.path).st_blocks, full - 2 * MIB // 512)
        self.sweep(disk, expected, rounds=4)
        self.assertEqual(os.stat(self.path).st_blocks, full - 2 * MIB // 512)

    def test_cut_short(self):
        """Another program takes the end of the file away: it reads as zeroes, and nobody dies."""
        disk = self.start()
        self.sweep(disk, self.data, rounds=4)
        self.assertGreater(self.mapped(), 0)
        os.truncate(self.path, PIECE + 8192)
        expected = self.data[:PIECE + 8192] + bytes(SIZE)
        self.sweep(disk, expected)
        os.truncate(self.path, SIZE)
        with open(self.path, 'r+b') as f:
            f.write(self.data)
        self.sweep(disk, self.data)

    def test_resized(self):
        disk = self.start()
        self.sweep(disk, self.data, rounds=4)
        self.vm_now.qmp('block_resize', **{'node-name': 'd0', 'size': SIZE + PIECE})
        more = pattern('more', PIECE)
        for at in range(0, PIECE, 131072):
            self.assertEqual(disk.write(0, (SIZE + at) // 512, more[at:at + 131072]), OK)
        self.sweep(disk, self.data + more, size=SIZE + PIECE, rounds=4)
        before = self.mapped()
        self.sweep(disk, self.data + more, SIZE, PIECE)
        self.assertEqual(self.mapped() - before, PIECE // 32768)
        self.vm_now.qmp('block_resize', **{'node-name': 'd0', 'size': PIECE})
        self.sweep(disk, self.data, size=PIECE, rounds=4)

    def test_not_locked(self):
        """Locking guest memory does not read the disk into memory."""
        disk = self.start('-overcommit', 'mem-lock=on', ranges=((0, PIECE),))
        before = os.stat(self.path).st_blocks
        self.sweep(disk, self.data, size=PIECE, rounds=16)
        self.assertGreater(self.mapped(), 0)
        self.assertEqual(os.stat(self.path).st_blocks, before)
        with open('/proc/%d/smaps' % self.vm_now.pid) as f:
            parts = f.read().split(self.path)[1:]
        self.assertEqual(len(parts), 1)
        locked = next(line for line in parts[0].split('\n') if line.startswith('Locked:'))
        self.assertEqual(locked.split(), ['Locked:', '0', 'kB'])


if __name__ == '__main__':
    main()
