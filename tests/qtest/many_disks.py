#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many queues: 16 disks with 32 queues under a soft limit of 1024 descriptors, 1024 queues."""
import json
import resource

from lib import OK, Disk, QtestCase, main, pattern
from lib.process import StartFailed


class ManyDisks(QtestCase):
    def limit(self, soft, hard=None):
        def apply():
            old_hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard or old_hard))
        return apply

    def args(self, disks, queues, threads=4):
        args = []
        for t in range(threads):
            args += ['-object', 'iothread,id=t%d' % t]
        for i in range(disks):
            args += ['-blockdev', 'null-co,node-name=d%d,read-zeroes=on,size=1048576' % i, '-device',
                     json.dumps({'driver': 'virtio-blk-pci', 'id': 'v%d' % i, 'drive': 'd%d' % i,
                                 'num-queues': queues, 'iothread-vq-mapping':
                                 [{'iothread': 't%d' % t} for t in range(threads)]})]
        return args

    def test_16_disks_of_32_queues(self):
        vm = self.vm(*self.args(16, 32), preexec_fn=self.limit(1024), ram=512)
        disks = [Disk.start(vm, 'v%d' % i, queues=32, size=16) for i in range(16)]
        for disk in disks:
            for q in (0, 1, 17, 31):
                self.assertEqual(disk.write(q, 0, bytes(512)), OK)
        # All 512 queues at once.
        for disk in disks:
            for q in range(32):
                disk.add(q, 1, 0, data=bytes(512))
                disk.queue(q).publish()
                disk.queue(q).notify()
        vm.qt.flush()
        for disk in disks:
            for q in range(32):
                self.assertEqual([r.status() for r in disk.reap(q, 1)], [OK])

    def test_1024_queues(self):
        vm = self.vm(*self.args(1, 1024, 3), preexec_fn=self.limit(1024), ram=512)
        disk = Disk.start(vm, queues=[0, 1, 2, 511, 1022, 1023], msix=True)
        self.assertEqual(disk.driver.queue_count(), 1024)
        self.assertEqual(disk.driver.msix.count, 1025)
        for q in disk.queues:
            self.assertEqual(disk.write(q, 0, pattern(q, 512)), OK)

    def test_hard_limit_too_low(self):
        """With no descriptors to be had it says what is short, or works without."""
        try:
            vm = self.vm(*self.args(16, 32), preexec_fn=self.limit(120, 120), ram=512)
        except StartFailed as e:
            self.assertEqual(e.returncode, 1)
            self.assertIn('Too many open files', e.stderr)
            return
        # Descriptors may run out only when a driver starts a disk: then that disk is served some
        # other way, or is broken, but the process lives.
        for i in range(16):
            Disk.start(vm, 'v%d' % i, queues=32, size=16)
            self.assertEqual(vm.status(), 'running')
        vm.close()

    def test_threads(self):
        """64 threads, a queue each."""
        vm = self.vm(*self.args(1, 64, 64), ram=256)
        self.assertEqual(len(vm.iothreads()), 64)
        disk = Disk.start(vm, size=16)
        for q in range(64):
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)


if __name__ == '__main__':
    main()
