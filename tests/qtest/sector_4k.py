#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guest sectors of 512 bytes on a host disk whose sectors are 4096 bytes, without page cache."""
import random

from lib import IN, OK, OUT, Disk, QtestCase, main, pattern
from lib.faults import LoopDevice

MIB = 1 << 20


class Sector4k(QtestCase):
    def start(self, extra='', device=''):
        image = self.image('backing.raw', fill=pattern('fill', 2 * MIB), size=2 * MIB)
        loop = LoopDevice(self, image, 4096)
        vm = self.vm('-blockdev', 'raw,node-name=d0,cache.direct=on,file.driver=host_device,'
                     'file.cache.direct=on,file.filename=%s%s' % (loop.path, extra),
                     '-object', 'iothread,id=t0', '-object', 'iothread,id=t1', '-device',
                     '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4,'
                     '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]%s}' % device)
        self.expected = bytearray(pattern('fill', 2 * MIB))
        return Disk.start(vm)

    def check(self, disk):
        for start in range(0, 2 * MIB, MIB):
            self.assertEqual(disk.read(0, start // 512, MIB), self.expected[start:start + MIB])

    def unaligned(self, disk):
        rng = random.Random(11)
        for _ in range(60):
            sector, count = rng.randrange(4000), rng.randrange(1, 40)
            q = rng.randrange(4)
            if rng.random() < 0.6:
                data = rng.randbytes(512 * count)
                self.assertEqual(disk.write(q, sector, data, segments=rng.choice((1, 3))), OK)
                self.expected[512 * sector:512 * (sector + count)] = data
            else:
                self.assertEqual(disk.read(q, sector, 512 * count),
                                 self.expected[512 * sector:512 * (sector + count)])
        self.check(disk)

    def test_unaligned(self):
        self.unaligned(self.start())

    def test_unaligned_native(self):
        self.unaligned(self.start(',file.aio=native'))

    def test_unaligned_io_uring(self):
        self.unaligned(self.start(',file.aio=io_uring'))

    def test_neighbours_at_once(self):
        """Eight queues' worth of writes into the same host sectors, all in flight together: the
        read-modify-write cycles must not undo each other."""
        disk = self.start(device=',"request-merging":false')
        for turn in range(25):
            for q in range(4):
                for i in range(16):
                    # Sectors q, q + 4, ... so that each host sector gets writes of every queue.
                    sector = 64 + q + 4 * i
                    data = pattern((turn, sector), 512)
                    disk.add(q, OUT, sector, data=data)
                    self.expected[512 * sector:512 * sector + 512] = data
            for q in range(4):
                disk.kick(q)
            for q in range(4):
                for r in disk.reap(q):
                    self.assertEqual(r.status(), OK)
                    disk.release(r)
            self.assertEqual(disk.read(turn % 4, 64, 64 * 512),
                             self.expected[64 * 512:128 * 512])
        self.check(disk)

    def test_reads_beside_writes(self):
        disk = self.start()
        for turn in range(20):
            reads = []
            for i in range(8):
                disk.add(0, OUT, 8 * i, data=pattern((turn, i), 512))
                self.expected[4096 * i:4096 * i + 512] = pattern((turn, i), 512)
                reads.append(disk.add(1, IN, 8 * i + 4, size=2048))
            disk.kick(0)
            disk.kick(1)
            for q in (0, 1):
                for r in disk.reap(q):
                    self.assertEqual(r.status(), OK)
            for i, r in enumerate(reads):
                self.assertEqual(r.read_data(), self.expected[4096 * i + 2048:4096 * i + 4096])
                disk.release(r)
        self.check(disk)

    def test_write_zeroes_unaligned(self):
        disk = self.start(',file.discard=unmap,discard=unmap')
        for sector, count, flags in ((1, 1, 0), (7, 2, 0), (9, 30, 1), (128, 64, 1), (255, 258, 0)):
            self.assertEqual(disk.write_zeroes(sector % 4, sector, count, flags), OK)
            self.expected[512 * sector:512 * (sector + count)] = bytes(512 * count)
        self.check(disk)

    def test_4k_guest_sectors(self):
        disk = self.start(device=',"logical_block_size":4096,"physical_block_size":4096')
        self.assertEqual(disk.driver.config()['blk_size'], 4096)
        self.assertEqual(disk.write(1, 8, pattern(5, 8192)), OK)
        self.expected[4096:4096 + 8192] = pattern(5, 8192)
        self.check(disk)
        self.assertEqual(disk.read_status(0, 1, 512), 1)


if __name__ == '__main__':
    main()
