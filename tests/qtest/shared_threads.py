#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Several disks on the same IOThreads."""
import json

from lib import OK, OUT, Disk, QtestCase, main, pattern, switches


class SharedThreads(QtestCase):
    def machine(self, mappings, poll=0, machine='q35'):
        args = []
        for t in ('t0', 't1'):
            args += ['-object', 'iothread,id=%s,poll-max-ns=%d' % (t, poll)]
        self.paths = []
        for i, properties in enumerate(mappings):
            self.paths.append(self.image('disk%d.raw' % i, size=4 << 20))
            args += ['-blockdev', 'raw,node-name=d%d,file.driver=file,file.filename=%s'
                     % (i, self.paths[i]), '-device',
                     json.dumps({'driver': 'virtio-blk-pci', 'id': 'v%d' % i, 'drive': 'd%d' % i,
                                 **properties})]
        return self.vm(*args, machine=machine)

    MAPPINGS = [
        {'num-queues': 4, 'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]},
        {'num-queues': 4, 'iothread-vq-mapping': [{'iothread': 't1'}, {'iothread': 't0'}]},
    ]

    def test_each_queue_in_its_thread(self):
        vm = self.machine(self.MAPPINGS)
        ids = vm.iothreads()
        disks = [Disk.start(vm, 'v%d' % i) for i in range(2)]
        for i, disk in enumerate(disks):
            for q in range(4):
                mine, other = ('t0', 't1') if (q + i) % 2 == 0 else ('t1', 't0')
                self.assertEqual(disk.write(q, 0, bytes(512)), OK)
                before = {t: switches(vm.pid, ids[t]) for t in ids}
                for _ in range(20):
                    self.assertEqual(disk.flush(q), OK)
                self.assertGreaterEqual(switches(vm.pid, ids[mine]) - before[mine], 10)
                self.assertLessEqual(switches(vm.pid, ids[other]) - before[other], 2)

    def load(self, vm, disks, rounds=10):
        for turn in range(rounds):
            for i, disk in enumerate(disks):
                for q in disk.queues:
                    for k in range(4):
                        disk.add(q, OUT, 8 * (4 * q + k), data=pattern((turn, i, q, k), 4096))
                    disk.kick(q)
            for disk in disks:
                for q in disk.queues:
                    for r in disk.reap(q, 4):
                        self.assertEqual(r.status(), OK)
                        disk.release(r)
        for i, disk in enumerate(disks):
            self.assertEqual(disk.flush(0), OK)
            for q in disk.queues:
                for k in range(4):
                    sector = 8 * (4 * q + k)
                    data = pattern((rounds - 1, i, q, k), 4096)
                    self.assertEqual(disk.read(q, sector, 4096), data)
                    self.assertEqual(self.file_bytes(self.paths[i], sector * 512, 4096), data)

    def test_load_on_both(self):
        vm = self.machine(self.MAPPINGS, poll=32768)
        self.load(vm, [Disk.start(vm, 'v%d' % i, msix=True) for i in range(2)])

    def test_mapping_and_single_iothread(self):
        vm = self.machine([self.MAPPINGS[0], {'num-queues': 2, 'iothread': 't0'},
                           {'num-queues': 2}], poll=32768, machine='pc')
        self.load(vm, [Disk.start(vm, 'v%d' % i) for i in range(3)])

    def test_one_stops_the_other_goes_on(self):
        """A reset of one disk, or a broken ring, does not touch its neighbour."""
        vm = self.machine(self.MAPPINGS)
        disks = [Disk.start(vm, 'v%d' % i) for i in range(2)]
        for turn in range(10):
            for q in range(4):
                disks[0].add(q, OUT, 8 * q, data=bytes(4096))
                disks[0].kick(q)
            disks[0].driver.reset()
            for q in range(4):
                self.assertEqual(disks[1].write(q, 8 * q, pattern((turn, q), 4096)), OK)
                self.assertEqual(disks[1].read(q, 8 * q, 4096), pattern((turn, q), 4096))
            disks[0].driver.start()
        ring = disks[0].queue(1)
        ring.make_available(ring.size + 5)
        ring.kick(force=True)
        self.settles(lambda: bool(disks[0].driver.status() & 0x40), True, 'NEEDS_RESET')
        for q in range(4):
            self.assertEqual(disks[1].write(q, 8 * q, pattern(q, 4096)), OK)
        self.assertEqual(disks[1].driver.status(), 15)
        disks[0].driver.start()
        self.load(vm, disks, 2)


if __name__ == '__main__':
    main()
