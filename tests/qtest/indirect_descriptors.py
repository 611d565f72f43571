#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""VIRTIO_F_INDIRECT_DESC: tables of descriptors in guest memory."""
import struct

from lib import F, IN, OK, OUT, Disk, QtestCase, main, pattern
from lib.ring import INDIRECT, NEXT, WRITE


class IndirectDescriptors(QtestCase):
    def start(self, extra='', **kwargs):
        self.path = self.image('disk%d.raw' % len(extra), size=16 << 20)
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + self.path,
                     '-object', 'iothread,id=t0',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,iothread=t0' + extra)
        return Disk.start(vm, indirect=True, **kwargs)

    def test_offered_and_refusable(self):
        self.assertTrue(self.start().driver.features & F.INDIRECT)
        disk = self.start(',indirect_desc=off')
        self.assertFalse(disk.driver.features & F.INDIRECT)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)

    def test_one_descriptor_per_request(self):
        """As many requests as the ring has entries."""
        disk = self.start(size=16)
        for i in range(16):
            disk.add(0, OUT, 8 * i, data=pattern(i, 4096), segments=8)
        disk.kick(0)
        for r in disk.reap(0, 16):
            self.assertEqual((r.status(), r.used_len), (OK, 1))
        for i in range(16):
            self.assertEqual(disk.read(0, 8 * i, 4096, segments=5), pattern(i, 4096))

    def test_segments_of_every_count(self):
        disk = self.start(size=256)
        most = disk.driver.config()['seg_max']
        self.assertEqual(most, 254)
        for segments in (1, 2, 3, 64, 127, most):
            size = 512 * segments
            data = pattern(segments, size)
            self.assertEqual(disk.write(0, 0, data, segments=segments), OK)
            self.assertEqual(disk.read(0, 0, size, segments=segments), data)
            self.assertEqual(self.file_bytes(self.path, 0, size), data)

    def test_table_in_any_order(self):
        """The chain inside a table follows `next`, not the order of the entries."""
        disk = self.start()
        ring, qt = disk.queue(0), disk.qt
        data = pattern('scattered', 1024)
        request = disk.new_request(1024)
        qt.write(request.header, struct.pack('<IIQ', OUT, 0, 24))
        qt.write(request.data, data)
        qt.writeb(request.status_addr, 0xee)
        table = disk.vm.alloc(16 * 6)
        # Entry 0 is the start; 1 and 4 are not used.
        for i, (addr, size, flags, following) in {
                0: (request.header, 16, NEXT, 5),
                5: (request.data, 512, NEXT, 2),
                2: (request.data + 512, 512, NEXT, 3),
                3: (request.status_addr, 1, WRITE, 0)}.items():
            ring.write_desc(i, addr, size, flags, following, table)
        head = ring.free.pop()
        ring.write_desc(head, table, 16 * 6, INDIRECT)
        ring.chains[head] = [head]
        ring.make_available(head, request)
        ring.kick()
        self.assertEqual(ring.wait(1), [(request, 1)])
        self.assertEqual(request.status(), OK)
        self.assertEqual(disk.read(0, 24, 1024), data)

    def test_mixed_with_direct(self):
        disk = self.start(size=32)
        for i in range(6):
            disk.add(0, OUT, 8 * i, data=pattern(i, 4096), segments=2, indirect=bool(i % 2))
        disk.kick(0)
        for r in disk.reap(0, 6):
            self.assertEqual(r.status(), OK)
        for i in range(6):
            self.assertEqual(disk.read(0, 8 * i, 4096, indirect=not i % 2), pattern(i, 4096))

    def test_table_across_pages(self):
        disk = self.start()
        ring = disk.queue(0)
        request = disk.add(0, IN, 0, size=4096, segments=8)
        # Moves the table so that an entry lies across two pages.
        old = ring.indirect_tables[request.head, 10]
        table = disk.vm.alloc(8192) + 4096 - 88
        disk.qt.write(table, disk.qt.read(old, 160))
        ring.write_desc(request.head, table, 160, INDIRECT)
        disk.kick(0)
        self.assertEqual(disk.reap(0, 1), [request])
        self.assertEqual((request.status(), request.used_len), (OK, 4097))


if __name__ == '__main__':
    main()
