#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Management is told when a guest's writes have come behind an offset of a node."""
from lib import OK, Disk, QtestCase, main
from lib.blk import OUT

MIB = 1 << 20


class WriteThreshold(QtestCase):
    def start(self, **raw):
        vm = self.vm('-object', 'iothread,id=t0', '-object', 'iothread,id=t1', '-blockdev',
                     'file,node-name=f0,filename=' + self.image(size=16 * MIB),
                     '-blockdev', ','.join(['raw,node-name=r0,file=f0'] +
                                           ['%s=%s' % x for x in raw.items()]),
                     '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"r0","addr":"5",'
                     '"num-queues":4,"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}')
        return vm, Disk.start(vm, 'v0')

    def set(self, vm, node, offset):
        vm.qmp('block-set-write-threshold', **{'node-name': node, 'write-threshold': offset})

    def thresholds(self, vm):
        return {n['node-name']: n['write_threshold'] for n in vm.qmp('query-named-block-nodes')}

    def test_once(self):
        vm, disk = self.start()
        self.set(vm, 'r0', MIB)
        self.assertEqual(self.thresholds(vm), {'r0': MIB, 'f0': 0})
        self.assertEqual(vm.qmp('query-block')[0]['inserted']['write_threshold'], MIB)
        # Up to it is not behind it; neither are reads.
        self.assertEqual(disk.write(0, MIB // 512 - 8, b'a' * 4096), OK)
        self.assertEqual(disk.read(0, MIB // 512, 4096), bytes(4096))
        vm.qmp('query-status')
        self.assertEqual(vm.take_events('BLOCK_WRITE_THRESHOLD'), [])
        self.assertEqual(disk.write(0, MIB // 512 - 4, b'b' * 4096), OK)
        event = vm.wait_event('BLOCK_WRITE_THRESHOLD')
        self.assertEqual(event['data'], {'node-name': 'r0', 'amount-exceeded': 2048,
                                         'write-threshold': MIB})
        self.assertEqual(self.thresholds(vm), {'r0': 0, 'f0': 0})
        self.assertEqual(disk.write(0, MIB // 512, b'c' * 4096), OK)
        vm.qmp('query-status')
        self.assertEqual(vm.take_events('BLOCK_WRITE_THRESHOLD'), [])

    def test_offsets_are_those_of_the_node(self):
        vm, disk = self.start(offset=MIB)
        self.set(vm, 'f0', 2 * MIB)
        self.assertEqual(disk.write(0, MIB // 512 - 8, b'a' * 4096), OK)
        vm.qmp('query-status')
        self.assertEqual(vm.take_events('BLOCK_WRITE_THRESHOLD'), [])
        self.assertEqual(disk.write(0, MIB // 512, b'a' * 512), OK)
        event = vm.wait_event('BLOCK_WRITE_THRESHOLD')
        self.assertEqual(event['data'], {'node-name': 'f0', 'amount-exceeded': 512,
                                         'write-threshold': 2 * MIB})

    def test_taken_back(self):
        vm, disk = self.start()
        self.set(vm, 'r0', 4096)
        self.set(vm, 'r0', 0)
        self.assertEqual(disk.write(0, 64, b'a' * 4096), OK)
        vm.qmp('query-status')
        self.assertEqual(vm.take_events('BLOCK_WRITE_THRESHOLD'), [])

    def test_several_threads_one_event(self):
        vm, disk = self.start()
        self.set(vm, 'r0', 4096)
        for queue in range(4):
            for i in range(8):
                disk.add(queue, OUT, 4096 + 64 * queue + 8 * i, data=b'x' * 4096)
        for queue in range(4):
            disk.kick(queue)
        for queue in range(4):
            self.assertEqual(len(disk.reap(queue, 8)), 8)
        vm.wait_event('BLOCK_WRITE_THRESHOLD')
        vm.qmp('query-status')
        self.assertEqual(vm.take_events('BLOCK_WRITE_THRESHOLD'), [])

    def test_errors(self):
        vm, _ = self.start()
        self.qmp_fails(vm, 'block-set-write-threshold', "Device 'no' not found",
                       **{'node-name': 'no', 'write-threshold': 1})


if __name__ == '__main__':
    main()
