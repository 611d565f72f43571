#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A driver that enables only some of the queues, or some late."""
from lib import OK, Disk, QtestCase, main, pattern
from lib.virtio import NO_VECTOR


class PartialQueues(QtestCase):
    def machine(self):
        args = []
        for t in range(3):
            args += ['-object', 'iothread,id=t%d' % t]
        return self.vm('-drive', 'if=none,id=d0,format=raw,file=' + self.image(size=1 << 20), *args,
                       '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0",'
                       '"num-queues":8,"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"},'
                       '{"iothread":"t2"}]}')

    def exercise(self, disk):
        for q in disk.queues:
            self.assertEqual(disk.write(q, 8 * q, pattern(q, 4096)), OK)
        for q in disk.queues:
            self.assertEqual(disk.read(q, 8 * q, 4096), pattern(q, 4096))

    def test_one_of_eight(self):
        """Each one alone, on the same machine."""
        vm = self.machine()
        disk = Disk.start(vm, queues=[0])
        self.exercise(disk)
        for q in (7, 3, 0, 5):
            disk.driver.start(queues=[q])
            self.exercise(disk)
            # Kicks of queues that are not enabled do nothing.
            for other in range(8):
                if other != q:
                    disk.qt.writew(disk.driver.region[2] +
                                   other * disk.driver.notify_multiplier, other)
            self.exercise(disk)

    def test_one_of_eight_legacy(self):
        self.exercise(Disk.start(self.machine(), queues=[0], legacy=True))

    def test_some(self):
        self.exercise(Disk.start(self.machine(), queues=[1, 4, 6], msix=True, event_idx=True))

    def test_stop_and_cont(self):
        vm = self.machine()
        disk = Disk.start(vm, queues=[2])
        for _ in range(5):
            vm.qmp('stop')
            vm.qmp('cont')
            self.exercise(disk)

    def test_reset_one_queue_while_others_run(self):
        """VIRTIO_F_RING_RESET: the queue is empty and disabled, its neighbours go on."""
        vm = self.machine()
        disk = Disk.start(vm, features=None)
        drv = disk.driver
        self.exercise(disk)
        for q in (1, 0, 7):
            self.assertEqual(drv.reset_queue(q), (0, 0))
            self.assertEqual(drv.queue_size(q), 256, 'back to the maximum')
            for other in range(8):
                if other != q:
                    self.assertEqual(disk.write(other, 0, bytes(512)), OK)
            ring = disk.queue(q)
            # Nothing is taken from a disabled queue.
            request = disk.add(q, 0, 0, size=512)
            disk.kick(q, force=True)
            vm.qmp('query-status')
            self.assertEqual(disk.poll(q), [])
            ring.zero()
            disk.release(request)
            drv.program_queue(ring, NO_VECTOR)
            self.exercise(disk)


if __name__ == '__main__':
    main()
