#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a broken or hostile driver may put on a ring.

A bad ring breaks the device until its reset, says so on stderr, in the status and by a
configuration interrupt; a bad buffer address does not even that. The process, the other disk on the
same thread and the device after its reset work on.
"""
import os
import struct

from lib import NEEDS_RESET, OK, Disk, QtestCase, main, wait_for
from lib.ring import INDIRECT, NEXT, WRITE

SIZE = 64
UNMAPPED = 0x8000000000
MMIO = 0xfee00000
NO_HEADERS = 'virtio-blk missing headers'
SHORT_HEADER = 'virtio-blk request outhdr too short'
ZERO_SIZED = 'virtio: zero sized buffers are not allowed'
ORDER = 'Incorrect order for descriptors'
LOOP = 'Looped descriptor'
TABLE = 'Invalid size for indirect buffer table'
SHORT_RANGE = 'virtio-blk discard/write_zeroes header too short'


class MalformedRings(QtestCase):
    def start(self):
        path = self.image(size=1 << 20)
        self.machine = self.vm(
            '-object', 'iothread,id=t0',
            '-drive', 'if=none,id=d0,format=raw,file=' + path,
            '-blockdev', 'null-co,node-name=n1,read-zeroes=on,size=1048576',
            '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":2,'
            '"iothread-vq-mapping":[{"iothread":"t0"}]}',
            '-device', 'virtio-blk-pci,id=v1,drive=n1,iothread=t0')
        self.other = Disk.start(self.machine, 'v1')
        self.disk = Disk.start(self.machine, size=SIZE)
        self.page = self.machine.alloc(4 * 4096)
        self.header, self.data, self.status = self.page, self.page + 4096, self.page + 0x3000
        self.name = os.path.basename(self.machine.binary)

    def prepare(self, kind=0, sector=0):
        qt = self.machine.qt
        qt.write(self.header, struct.pack('<IIQ', kind, 0, sector))
        qt.writeb(self.status, 0xee)

    def put(self, *descs, heads=(0,), idx=None):
        """Writes descriptors (addr, len, flags, next) as they are and makes heads available."""
        ring, qt = self.disk.queue(0), self.machine.qt
        for i, desc in enumerate(descs):
            ring.write_desc(i, *desc)
        for head in heads:
            ring.make_available(head)
        if idx is not None:
            ring.avail_idx = idx & 0xffff
        ring.publish()
        ring.notify()
        qt.flush()

    def good(self, q=0):
        self.assertEqual(self.disk.write(q, 0, bytes(512)), OK)

    def bad(self, what, message, action, kind=0):
        """The action must break the device, and only the device."""
        with self.subTest(what):
            drv = self.disk.driver
            drv.start(size=SIZE)
            before = len(self.machine.stderr())
            self.prepare(kind)
            action()
            wait_for(lambda: drv.status() & NEEDS_RESET, 'NEEDS_RESET after ' + what)
            wait_for(lambda: drv.pci.read(6, 2) & 8, 'an interrupt after ' + what)
            self.assertTrue(drv.isr() & 2)
            self.assertEqual(drv.status(), 0x4f)
            lines = self.machine.stderr()[before:].splitlines()
            self.assertEqual(len(lines), 1, lines)
            if message is not None:
                self.assertEqual(lines[0], '%s: %s' % (self.name, message))
            # All its queues are ignored now. (Requests it had taken before may still write to their
            # buffers: not to those of this one.)
            self.disk.spare.clear()
            request = self.disk.add(1, 0, 0, size=512)
            self.disk.kick(1, force=True)
            self.assertEqual(self.other.write(0, 0, bytes(512)), OK)
            self.assertEqual(self.disk.poll(1), [])
            self.assertEqual(request.status(), 0xee)
            # A reset mends it.
            drv.start(size=SIZE)
            self.assertEqual(drv.status(), 15)
            self.good(0)
            self.good(1)

    def fine(self, what, action, kind=0, status=None):
        """The action must complete and leave the device working."""
        with self.subTest(what):
            drv = self.disk.driver
            drv.start(size=SIZE)
            self.prepare(kind)
            action()
            ring = self.disk.queue(0)
            wait_for(lambda: ring.used_idx() == 1, 'completion of ' + what)
            self.assertEqual(drv.status(), 15)
            if status is not None:
                self.assertEqual(self.machine.qt.readb(self.status), status)
            drv.start(size=SIZE)
            self.good()

    def chain(self, *parts):
        """Descriptors that follow each other."""
        return [(addr, size, flags | (NEXT if i + 1 < len(parts) else 0),
                 i + 1 if i + 1 < len(parts) else 0)
                for i, (addr, size, flags) in enumerate(parts)]

    def indirect(self, *entries, length=None, table=None):
        table = self.page + 0x2000 if table is None else table
        for i, entry in enumerate(entries):
            self.disk.queue(0).write_desc(i, *entry, table=table)
        self.put((table, 16 * len(entries) if length is None else length, INDIRECT, 0))

    def test_chains(self):
        self.start()
        h, d, s = (self.header, 16, 0), (self.data, 512, WRITE), (self.status, 1, WRITE)
        bad, put, chain = self.bad, self.put, self.chain
        bad('no writable part', NO_HEADERS, lambda: put(*chain(h)))
        bad('no readable part', NO_HEADERS, lambda: put(*chain(s)))
        bad('header of 8 bytes', SHORT_HEADER, lambda: put(*chain((self.header, 8, 0), d, s)))
        bad('header of 15 bytes', SHORT_HEADER, lambda: put(*chain((self.header, 15, 0), s)))
        bad('empty descriptor', ZERO_SIZED,
            lambda: put(*chain(h, (self.data, 0, WRITE), s)))
        bad('empty status', ZERO_SIZED, lambda: put(*chain(h, (self.status, 0, WRITE))))
        bad('writable before readable', ORDER, lambda: put(*chain(d, h, s)))
        bad('readable after writable', ORDER,
            lambda: put(*chain(h, d, (self.data, 512, 0), s)))
        bad('loop of two', LOOP, lambda: put((*h, 1)[:2] + (NEXT, 1), d[:2] + (WRITE | NEXT, 1)))
        bad('loop back to the head', LOOP,
            lambda: put((self.header, 16, NEXT, 1), (self.data, 512, NEXT, 0)))
        bad('loop to itself', LOOP, lambda: put((self.header, 16, NEXT, 0)))
        bad('next outside the ring', 'Desc next is 200', lambda: put((self.header, 16, NEXT, 200)))
        bad('next just outside the ring', 'Desc next is 64',
            lambda: put((self.header, 16, NEXT, SIZE)))
        bad('discard of 8 bytes', SHORT_RANGE, lambda: put(*chain(h, (self.data, 8, 0), s)), 11)
        bad('discard of nothing', SHORT_RANGE, lambda: put(*chain(h, s)), 11)
        bad('write zeroes of 15 bytes', SHORT_RANGE,
            lambda: put(*chain(h, (self.data, 15, 0), s)), 13)

    def test_indices(self):
        self.start()
        h, d, s = (self.header, 16, 0), (self.data, 512, WRITE), (self.status, 1, WRITE)
        self.bad('head outside the ring', 'Guest says index 64 is available',
                 lambda: self.put(*self.chain(h, d, s), heads=(SIZE,)))
        self.bad('head far outside', 'Guest says index 65535 is available',
                 lambda: self.put(*self.chain(h, d, s), heads=(0xffff,)))
        # More available than fits: all further entries of the empty ring name descriptor 0.
        self.bad('available index beyond the ring', None,
                 lambda: self.put(*self.chain(h, d, s), idx=SIZE + 1))
        self.bad('available index far beyond the ring', None,
                 lambda: self.put(*self.chain(h, d, s), idx=0x8000))
        self.bad('available index goes back', None, lambda: (self.good(), self.put(idx=0)))

    def test_indirect(self):
        self.start()
        h, d, s = (self.header, 16, 0), (self.data, 512, WRITE), (self.status, 1, WRITE)
        bad, indirect = self.bad, self.indirect
        good = self.chain(h, d, s)
        bad('table of 40 bytes', TABLE, lambda: indirect(*good, length=40))
        bad('table of no bytes', TABLE, lambda: indirect(*good, length=0))
        bad('table of 15 bytes', TABLE, lambda: indirect(*good, length=15))
        bad('next outside the table', 'Desc next is 3', lambda: indirect(
            (self.header, 16, NEXT, 3), (self.status, 1, WRITE, 0), (self.status, 1, WRITE, 0)))
        bad('loop in the table', LOOP, lambda: indirect(
            (self.header, 16, NEXT, 1), (self.data, 512, WRITE | NEXT, 1)))
        bad('empty entry', ZERO_SIZED,
            lambda: indirect(*self.chain(h, (self.data, 0, WRITE), s)))
        bad('no status', NO_HEADERS, lambda: indirect(*self.chain(h)))
        bad('table in a table', None, lambda: indirect(
            (self.header, 16, NEXT, 1), (self.page + 0x2800, 32, INDIRECT, 0)))
        bad('table outside memory', None,
            lambda: indirect(*good[:0], length=48, table=UNMAPPED))
        # Half the table lies behind the end of memory.
        bad('table across the end of memory', None, lambda: self.put(
            (self.machine.ram_end - 16, 4096, INDIRECT, 0)))
        self.fine('indirect although not negotiated', lambda: indirect(*good), status=OK)

    def test_addresses(self):
        """An address without memory behind it is the request's problem, not the ring's."""
        self.start()
        h, s = (self.header, 16, 0), (self.status, 1, WRITE)
        for name, addr in (('unmapped', UNMAPPED), ('device', MMIO),
                           ('behind memory', self.machine.ram_end)):
            self.fine('%s data, read' % name,
                      lambda addr=addr: self.put(*self.chain(h, (addr, 512, WRITE), s)))
            self.fine('%s data, write' % name,
                      lambda addr=addr: self.put(*self.chain(h, (addr, 512, 0), s)), kind=1)
            self.fine('%s header' % name,
                      lambda addr=addr: self.put(*self.chain((addr, 16, 0),
                                                             (self.data, 512, WRITE), s)))
            self.fine('%s status' % name,
                      lambda addr=addr: self.put(*self.chain(h, (self.data, 512, WRITE),
                                                             (addr, 1, WRITE))))

    def test_huge_lengths(self):
        """Lengths that overflow when added up must not be taken for small ones."""
        self.start()
        h, s = (self.header, 16, 0), (self.status, 1, WRITE)
        for flags, kind in ((WRITE, 0), (0, 1)):
            for count in (1, 2, 16):
                with self.subTest((kind, count)):
                    self.disk.driver.start(size=SIZE)
                    self.prepare(kind)
                    # 2^32 - 512 bytes each: two of them wrap around 32 bits.
                    parts = [(self.data, 0xfffffe00, flags)] * count
                    self.put(*self.chain(h, *parts, s))
                    ring = self.disk.queue(0)
                    # Broken or failed: either is an answer; a hang or a crash is not.
                    wait_for(lambda: ring.used_idx() == 1 or
                             self.disk.driver.status() & NEEDS_RESET, 'an answer')
                    self.assertNotEqual(self.machine.qt.readb(self.status), OK)
                    self.disk.driver.start(size=SIZE)
                    self.good()

    def test_random_rings(self):
        """Noise on the ring: whatever comes of it, a reset mends it."""
        import random
        rng = random.Random(7)
        self.start()
        qt = self.machine.qt
        for turn in range(60):
            self.disk.driver.start(size=SIZE, event_idx=turn % 2, indirect=turn % 3 == 0)
            ring = self.disk.queue(0)
            self.prepare(rng.choice((0, 1, 4, 8, 11, 13, 99)), rng.choice((0, 7, 2047, 1 << 60)))
            for i in range(SIZE):
                ring.write_desc(i, rng.choice((self.header, self.data, self.status, self.page + 17,
                                               ring.used, ring.desc, UNMAPPED, MMIO, 0)),
                                rng.choice((0, 1, 8, 16, 16, 16, 512, 512, 4096, 0xffffffff)),
                                rng.choice((0, 0, NEXT, NEXT, NEXT | WRITE, WRITE, INDIRECT, 0xffff)),
                                rng.choice((i + 1, i + 1, rng.randrange(SIZE), 0xffff)))
            for _ in range(8):
                ring.make_available(rng.randrange(SIZE + 1))
            ring.publish()
            ring.notify()
            qt.flush()
            self.assertEqual(self.other.write(0, 0, bytes(512)), OK)
            self.assertTrue(self.machine.alive())
        self.disk.driver.start(size=SIZE)
        self.good(0)
        self.good(1)

    def ring_outside_memory(self, part):
        self.start()
        drv, qt = self.disk.driver, self.machine.qt
        for addr in (UNMAPPED, MMIO, self.machine.ram_end, 0xffffffffffff0000):
            with self.subTest('%s at 0x%x' % (part, addr)):
                drv.start(size=SIZE, driver_ok=False)
                drv.select(0)
                offset = {'descriptors': 0x20, 'available': 0x28, 'used': 0x30}[part]
                qt.writel(drv.common + offset, addr & 0xffffffff)
                qt.writel(drv.common + offset + 4, addr >> 32)
                qt.writew(drv.common + 0x1c, 1)
                drv.driver_ok()
                self.prepare()
                ring = self.disk.queue(0)
                self.disk.add(0, 0, 0, size=512)
                ring.publish()
                ring.notify()
                qt.flush()
                self.assertEqual(self.other.write(0, 0, bytes(512)), OK)
                drv.start(size=SIZE)
                self.good(0)
                self.good(1)

    def test_descriptors_outside_memory(self):
        self.ring_outside_memory('descriptors')

    def test_available_ring_outside_memory(self):
        self.ring_outside_memory('available')

    def test_used_ring_outside_memory(self):
        self.ring_outside_memory('used')


if __name__ == '__main__':
    main()
