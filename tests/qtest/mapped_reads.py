#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files on a memory file system are read through a mapping, where that fills no hole; and what others
do to the file meanwhile is noticed."""
import os
import shutil
import tempfile

from lib import IN, OK, Disk, QtestCase, main, pattern, reference_fails
from lib.runner import FAST_TMP

MIB = 1 << 20
PIECE = 2 * MIB
SIZE = 4 * PIECE


class MappedReads(QtestCase):
    @reference_fails('it has no query-file-io-stats')
    def setUp(self):
        super().setUp()
        if not FAST_TMP:
            self.skipTest('/dev/shm is no tmpfs')
        self.dir = tempfile.mkdtemp(prefix='spindle-qtest.', dir=FAST_TMP)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.path = os.path.join(self.dir, 'disk.raw')
        self.data = pattern('mapped', SIZE)

    def start(self, *args, ranges=((0, SIZE),)):
        with open(self.path, 'wb') as f:
            f.truncate(SIZE)
            for at, n in ranges:
                f.seek(at)
                f.write(self.data[at:at + n])
        self.vm_now = self.vm(
            '-blockdev', 'driver=file,node-name=f0,filename=%s,aio=threads,discard=unmap' % self.path,
            '-blockdev', 'raw,node-name=d0,file=f0,discard=unmap',
            '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
            '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":2,'
            '"werror":"report","rerror":"report",'
            '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}', *args)
        return Disk.start(self.vm_now)

    def mapped(self):
        return next(s['in-place-mapped'] for s in self.vm_now.qmp('query-file-io-stats')
                    if s['node-name'] == 'f0')

    def sweep(self, disk, expected, first=0, size=SIZE, rounds=1):
        """Reads 4 KiB of each 32, on both queues in turn, and compares."""
        places = list(range(first, first + size, 32768)) * rounds
        for i in range(0, len(places), 16):
            q = i // 16 % 2
            requests = [(at, disk.add(q, IN, at // 512, size=4096)) for at in places[i:i + 16]]
            disk.kick(q)
            disk.reap(q, len(requests))
            for at, r in requests:
                self.assertEqual(r.status(), OK)
                self.assertEqual(r.read_data(), expected[at:at + 4096], 'at %d' % at)
                disk.release(r)

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
