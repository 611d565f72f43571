#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""VIRTIO_F_EVENT_IDX: who is told when, including when the 16-bit indices wrap."""
import struct

from lib import F, OK, OUT, Disk, QtestCase, main, wait_for
from lib.ring import WRITE, NEXT

ARGS = ['-blockdev', 'null-co,node-name=d0,read-zeroes=on,size=1073741824',
        '-object', 'iothread,id=t0,poll-max-ns=0', '-object', 'iothread,id=t1,poll-max-ns=32768']
DEVICE = '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":2,"queue-size":512,' \
    '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}'


class EventIndex(QtestCase):
    def start(self, **kwargs):
        vm = self.vm(*ARGS, '-device', DEVICE)
        return Disk.start(vm, event_idx=True, msix=True, **kwargs)

    def test_offered_and_refusable(self):
        disk = self.start()
        self.assertTrue(disk.driver.features & F.EVENT_IDX)
        vm = self.vm(*ARGS, '-device', 'virtio-blk-pci,id=v0,drive=d0,event_idx=off')
        disk = Disk.start(vm, event_idx=True)
        self.assertFalse(disk.driver.features & F.EVENT_IDX)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)

    def test_device_asks_for_the_next_kick(self):
        """Once idle, the device wants to hear about the next request, and only about that."""
        disk = self.start()
        for q in (0, 1):
            ring = disk.queue(q)
            for _ in range(5):
                self.assertEqual(disk.write(q, 0, bytes(512)), OK)
                wait_for(lambda ring=ring: disk.qt.readw(ring.used + 4 + 8 * ring.size) ==
                         ring.avail_idx, 'avail_event to catch up')

    def test_interrupt_only_past_used_event(self):
        disk = self.start()
        msix = disk.driver.msix
        for q in (0, 1):
            ring = disk.queue(q)
            # The first completion after a reset interrupts whatever used_event says.
            ring.ask_for_interrupt()
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
            wait_for(lambda q=q: 1 + q in msix.fired(), 'first interrupt')
            for gap in (1, 4):
                msix.clear()
                ring.ask_for_interrupt(after=gap)
                for _ in range(gap):
                    self.assertEqual(disk.write(q, 0, bytes(512)), OK)
                    disk.vm.qmp('query-status')
                    self.assertEqual(msix.fired(), set())
                self.assertEqual(disk.write(q, 0, bytes(512)), OK)
                wait_for(lambda q=q: 1 + q in msix.fired(), 'interrupt past used_event')

    def test_no_interrupt_when_not_wanted(self):
        disk = self.start()
        msix = disk.driver.msix
        for q in (0, 1):
            ring = disk.queue(q)
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
            ring.ask_for_interrupt(on=False)
            disk.vm.qmp('query-status')
            msix.clear()
            for _ in range(8):
                self.assertEqual(disk.write(q, 0, bytes(512)), OK)
            disk.vm.qmp('query-status')
            self.assertEqual(msix.fired(), set())

    def test_batch_crossing_used_event(self):
        """used_event in the middle of a batch that completes together still interrupts."""
        disk = self.start()
        ring, msix = disk.queue(0), disk.driver.msix
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        for n in range(1, 9):
            msix.clear()
            ring.ask_for_interrupt(after=n // 2)
            for i in range(n):
                disk.add(0, OUT, i * 8, data=bytes(512))
            disk.kick(0)
            for r in disk.reap(0, n):
                disk.release(r)
            wait_for(lambda: 1 in msix.fired(), 'interrupt of a batch of %d' % n)

    def test_indices_wrap(self):
        """More than 65536 requests per queue, kicking only as the device asks."""
        disk = self.start(size=512)
        vm, qt = disk.vm, disk.qt
        for q in (0, 1):
            ring = disk.queue(q)
            header, status = vm.alloc(16), vm.alloc(256)
            qt.write(header, struct.pack('<IIQ', 4, 0, 0))
            # 256 flush requests that stay where they are: a round is a new avail index.
            descs = b''.join(struct.pack('<QIHH', header, 16, NEXT, 2 * i + 1) +
                             struct.pack('<QIHH', status + i, 1, WRITE, 0) for i in range(256))
            qt.write(ring.desc, descs)
            qt.write(ring.avail + 4, struct.pack('<512H', *[2 * (i % 256) for i in range(512)]))
            sent, kicks = 0, 0
            sizes = (256, 255, 1, 37)
            while sent < 0x10000 + 3000:
                qt.memset(status, 256, 0xee)
                ring.ask_for_interrupt(after=0)
                count = sizes[sent % 4]
                # Heads are given in the order of the ring, so a round may wrap around it.
                old, sent = sent, sent + count
                qt.writew(ring.avail + 2, sent & 0xffff)
                event = qt.readw(ring.used + 4 + 8 * ring.size)
                if (sent - event - 1 & 0xffff) < (sent - old & 0xffff):
                    kicks += 1
                    ring.notify()
                    qt.flush()
                wait_for(lambda: ring.used_idx() == sent & 0xffff, 'used index %d' % sent)
                ring.last_used = sent & 0xffff
                done = {(old + i) % 256 for i in range(count)}
                states = qt.read(status, 256)
                self.assertEqual({i for i in range(256) if states[i] == 0}, done)
            self.assertGreater(kicks, 0)


if __name__ == '__main__':
    main()
