#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""DISCARD and WRITE_ZEROES on real files, aligned and not: contents and allocation."""
import os
import random

from lib import DISCARD, OK, OUT, WRITE_ZEROES, Disk, QtestCase, main, pattern
from lib.faults import LoopDevice

MIB = 1 << 20
UNMAP = 1


class DiscardWriteZeroes(QtestCase):
    def start(self, node_args='', driver='file', path=None, device='', size=4 * MIB):
        if path is None:
            path = self.image('disk%d.raw' % len(os.listdir(self.tmp)), size=size,
                              fill=pattern('fill', size))
        self.path = path
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=%s,file.filename=%s%s'
                     % (driver, path, node_args), '-object', 'iothread,id=t0',
                     '-object', 'iothread,id=t1', '-device',
                     '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":2,'
                     '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]%s}' % device)
        return Disk.start(vm)

    def blocks(self):
        return os.stat(self.path).st_blocks

    def sync(self, disk):
        self.assertEqual(disk.flush(0), OK)
        os.sync()

    def check(self, disk, expected):
        for start in range(0, len(expected), MIB):
            self.assertEqual(disk.read(start // MIB % 2, start // 512, MIB),
                             expected[start:start + MIB])

    RANGES = [(0, 8), (8, 8), (2048, 2048), (1, 1), (7, 2), (4093, 11), (5000, 131), (8191, 1)]

    def test_write_zeroes(self):
        """Exactly the range reads as zeroes, whatever its alignment."""
        for flags in (0, UNMAP):
            for node_args in ('', ',discard=unmap,file.discard=unmap'):
                with self.subTest((flags, node_args)):
                    disk = self.start(node_args)
                    expected = bytearray(pattern('fill', 4 * MIB))
                    for i, (sector, count) in enumerate(self.RANGES):
                        self.assertEqual(disk.write_zeroes(i % 2, sector, count, flags), OK)
                        expected[512 * sector:512 * (sector + count)] = bytes(512 * count)
                    self.check(disk, expected)
                    self.sync(disk)
                    self.assertEqual(self.file_bytes(self.path, 0, 4 * MIB), bytes(expected))

    def test_write_zeroes_unmap_frees_space(self):
        disk = self.start(',discard=unmap,file.discard=unmap')
        self.sync(disk)
        before = self.blocks()
        self.assertEqual(disk.write_zeroes(0, 2048, 4096, UNMAP), OK)
        self.sync(disk)
        self.assertLessEqual(self.blocks(), before - 4000)
        self.assertEqual(disk.read(1, 2048, MIB), bytes(MIB))

    def test_write_zeroes_keeps_space(self):
        disk = self.start(',discard=unmap,file.discard=unmap')
        self.sync(disk)
        before = self.blocks()
        self.assertEqual(disk.write_zeroes(0, 2048, 4096), OK)
        self.sync(disk)
        self.assertGreaterEqual(self.blocks(), before - 64)

    def test_discard_frees_space(self):
        disk = self.start(',discard=unmap,file.discard=unmap')
        self.sync(disk)
        before = self.blocks()
        self.assertEqual(disk.discard(0, 0, 2048), OK)
        self.assertEqual(disk.discard(1, 4096, 2048), OK)
        self.sync(disk)
        self.assertLessEqual(self.blocks(), before - 4000)
        data = pattern('fill', 4 * MIB)
        self.assertEqual(disk.read(0, 2048, MIB), data[MIB:2 * MIB])
        self.assertEqual(disk.read(0, 6144, MIB), data[3 * MIB:])

    def test_discard_unaligned_leaves_neighbours(self):
        disk = self.start(',discard=unmap,file.discard=unmap')
        data = pattern('fill', 4 * MIB)
        for i, (sector, count) in enumerate(self.RANGES):
            self.assertEqual(disk.discard(i % 2, sector, count), OK)
        touched = set()
        for sector, count in self.RANGES:
            touched.update(range(sector, sector + count))
        self.sync(disk)
        content = self.file_bytes(self.path, 0, 4 * MIB)
        self.assertEqual(len(content), 4 * MIB)
        for sector in range(8192):
            part = content[512 * sector:512 * sector + 512]
            if sector not in touched:
                self.assertEqual(part, data[512 * sector:512 * sector + 512])
            elif part != bytes(512):
                # A discard may keep the data, but never show something else.
                self.assertEqual(part, data[512 * sector:512 * sector + 512])

    def test_discard_is_ignored_by_default(self):
        disk = self.start()
        self.sync(disk)
        before = self.blocks()
        self.assertEqual(disk.discard(0, 0, 8192), OK)
        self.check(disk, pattern('fill', 4 * MIB))
        self.assertEqual(self.blocks(), before)

    def test_mixed_with_writes(self):
        """Requests that do not overlap, all in flight together."""
        disk = self.start(',discard=unmap,file.discard=unmap')
        expected = bytearray(pattern('fill', 4 * MIB))
        rng = random.Random(3)
        for turn in range(20):
            slots = rng.sample(range(128), 12)
            for q in (0, 1):
                for slot in slots[6 * q:6 * q + 6]:
                    sector, kind = 64 * slot, rng.choice((OUT, WRITE_ZEROES, DISCARD))
                    if kind == OUT:
                        data = pattern((turn, slot), 32768)
                        disk.add(q, OUT, sector, data=data)
                    else:
                        data = bytes(32768)
                        disk.add(q, kind, data=(sector).to_bytes(8, 'little') +
                                 (64).to_bytes(4, 'little') + bytes(4))
                    expected[512 * sector:512 * sector + 32768] = data
                disk.kick(q)
            for q in (0, 1):
                for r in disk.reap(q):
                    self.assertEqual(r.status(), OK)
                    disk.release(r)
        self.check(disk, expected)

    def test_detect_zeroes(self):
        for mode, frees in (('on', False), ('unmap', True)):
            with self.subTest(mode):
                disk = self.start(',discard=unmap,file.discard=unmap,detect-zeroes=' + mode)
                self.sync(disk)
                before = self.blocks()
                for start in range(0, 2 * MIB, 256 * 1024):
                    self.assertEqual(disk.write(0, start // 512, bytes(256 * 1024)), OK)
                self.sync(disk)
                expected = bytes(2 * MIB) + pattern('fill', 4 * MIB)[2 * MIB:]
                self.check(disk, expected)
                if frees:
                    self.assertLessEqual(self.blocks(), before - 4000)
                else:
                    self.assertGreaterEqual(self.blocks(), before - 64)

    def test_block_device(self):
        image = self.image('backing.raw', fill=pattern('fill', 4 * MIB), size=4 * MIB)
        loop = LoopDevice(self, image)
        disk = self.start(',discard=unmap,file.discard=unmap', 'host_device', loop.path)
        expected = bytearray(pattern('fill', 4 * MIB))
        for i, (sector, count) in enumerate(self.RANGES):
            self.assertEqual(disk.write_zeroes(i % 2, sector, count, i % 2), OK)
            expected[512 * sector:512 * (sector + count)] = bytes(512 * count)
        self.check(disk, expected)
        self.assertEqual(disk.discard(0, 0, 2048), OK)
        self.assertEqual(disk.read(1, 4096, MIB), bytes(expected[2 * MIB:3 * MIB]))

    def test_features_in_the_configuration(self):
        config = self.start().driver.config()
        self.assertEqual((config['max_discard_sectors'], config['max_discard_seg'],
                          config['discard_sector_alignment']), (4194303, 1, 1))
        self.assertEqual((config['max_write_zeroes_sectors'], config['max_write_zeroes_seg'],
                          config['write_zeroes_may_unmap']), (4194303, 1, 1))


if __name__ == '__main__':
    main()
