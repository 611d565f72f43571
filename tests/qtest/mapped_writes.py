#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files on a memory file system are written through a mapping as well: others see the data at once,
and the time of change at the latest when the guest flushes."""
import os

from lib import OK, main, pattern
from lib.mapped import MIB, PIECE, SIZE, MappedCase

LONG_AGO = 1000000000


class MappedWrites(MappedCase):
    def warm(self, ranges=((0, SIZE),)):
        disk = self.start(ranges=ranges)
        self.sweep(disk, self.data, size=PIECE, rounds=16)
        self.assertGreater(self.mapped(), 0)
        return disk

    def on_disk(self, at, n):
        with open(self.path, 'rb') as f:
            f.seek(at)
            return f.read(n)

    def test_seen_by_others(self):
        disk = self.warm()
        expected = bytearray(self.data)
        for i, (at, n) in enumerate(((0, 512), (4096 - 512, 1024), (PIECE - 4096, 8192),
                                     (SIZE - 65536, 65536), (PIECE, 131072))):
            new = pattern('new %d' % i, n)
            before = self.mapped()
            self.assertEqual(disk.write(i % 2, at // 512, new), OK)
            self.assertEqual(self.mapped() - before, 1)
            expected[at:at + n] = new
            self.assertEqual(self.on_disk(at, n), new)
        self.assertEqual(self.on_disk(0, SIZE), bytes(expected))
        self.sweep(disk, bytes(expected))

    def test_time_of_change(self):
        disk = self.warm()
        os.utime(self.path, (LONG_AGO, LONG_AGO))
        before = self.mapped()
        self.assertEqual(disk.write(0, 8, bytes(4096)), OK)
        self.assertEqual(self.mapped() - before, 1)
        self.assertEqual(disk.flush(0), OK)
        self.assertGreater(os.stat(self.path).st_mtime, LONG_AGO)
        self.assertEqual(os.stat(self.path).st_atime, LONG_AGO)
        # Nothing has been written since.
        os.utime(self.path, (LONG_AGO, LONG_AGO))
        self.assertEqual(disk.flush(0), OK)
        self.assertEqual(os.stat(self.path).st_mtime, LONG_AGO)
        # And without a flush, at the end.
        self.assertEqual(disk.write(1, 8, bytes(4096)), OK)
        self.vm_now.close()
        self.assertGreater(os.stat(self.path).st_mtime, LONG_AGO)

    def test_holes(self):
        """What is a hole is not written through the mapping, until its piece has been filled."""
        disk = self.warm(ranges=((0, PIECE),))
        before = self.mapped()
        self.assertEqual(disk.write(0, PIECE // 512, self.data[PIECE:PIECE + 4096]), OK)
        self.assertEqual(self.mapped(), before)
        self.assertEqual(self.on_disk(PIECE, 8192), self.data[PIECE:PIECE + 4096] + bytes(4096))
        self.assertEqual(disk.discard(0, 0, MIB // 512), OK)
        self.assertEqual(disk.write(1, 0, self.data[:4096]), OK)
        self.assertEqual(self.mapped(), before)
        self.assertEqual(self.on_disk(0, 8192), self.data[:4096] + bytes(4096))

    def test_cut_short(self):
        """Another program takes the end of the file away: what is written there is there again."""
        disk = self.warm()
        os.truncate(self.path, PIECE)
        new = pattern('new', 65536)
        self.assertEqual(disk.write(0, (2 * PIECE - 32768) // 512, new), OK)
        self.assertEqual(os.stat(self.path).st_size, 2 * PIECE + 32768)
        self.assertEqual(self.on_disk(2 * PIECE - 65536, 131072), bytes(32768) + new)
        self.assertEqual(disk.write(1, 0, new), OK)
        self.assertEqual(self.on_disk(0, 65536), new)


if __name__ == '__main__':
    main()
