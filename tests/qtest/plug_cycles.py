#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""200 disks with mappings come and go, in random order, together with their threads and nodes:
afterwards the process is what it was. PLUG_SEED repeats a run."""
import os
import random

from lib import OK, OUT, Disk, QtestCase, is_spindle, main, pattern, threads
from lib.proc import memory_kib
from lib.process import is_instrumented
from lib.qmp import QmpError

CYCLES, SLOTS = 200, 6
M = 'iothread-vq-mapping'


class Slot:
    """A place for a disk behind a root port, with a node and threads of its own."""

    def __init__(self, test, vm, number, rng):
        self.test, self.vm, self.rng = test, vm, rng
        self.number = number
        self.id, self.node = 'v%d' % number, 'n%d' % number
        self.path = test.image('disk%d.raw' % number, size=1 << 20)
        self.turn = 0
        self.threads = []
        self.present = False

    def mapping(self):
        queues = self.rng.randint(len(self.threads), 6)
        if self.rng.random() < 0.5:
            return queues, [{'iothread': t} for t in self.threads]
        order = list(range(queues))
        self.rng.shuffle(order)
        return queues, [{'iothread': t, 'vqs': order[i::len(self.threads)]}
                        for i, t in enumerate(self.threads)]

    def plug(self):
        self.turn += 1
        steps = ['node'] + ['thread'] * self.rng.randint(1, 3)
        self.rng.shuffle(steps)
        self.threads = []
        for step in steps:
            if step == 'node':
                self.vm.qmp('blockdev-add', driver='raw', node_name=self.node,
                            file={'driver': 'file', 'filename': self.path})
            else:
                name = 't%d_%d' % (self.number, len(self.threads))
                self.vm.qmp('object-add', qom_type='iothread', id=name,
                            poll_max_ns=self.rng.choice((0, 32768)))
                self.threads.append(name)
        self.queues, mapping = self.mapping()
        self.vm.qmp('device_add', **{'driver': 'virtio-blk-pci', 'id': self.id, 'drive': self.node,
                                     'bus': 'rp%d' % self.number, 'num-queues': self.queues,
                                     M: mapping})
        self.present = True

    def use(self):
        """Some do I/O, some are moved, some are asked for what they refuse."""
        vm = self.vm
        for t in self.threads:
            self.test.qmp_fails(vm, 'object-del', "object '%s' is in use, can not be deleted" % t,
                                id=t)
        if self.rng.random() < 0.3:
            with self.test.assertRaises(QmpError):
                vm.qmp('device_add', driver='virtio-blk-pci', id=self.id + 'x', drive=self.node,
                       **{M: [{'iothread': 'nosuch'}]})
        if vm.spindle and self.rng.random() < 0.5:
            _, mapping = self.mapping()
            try:
                vm.qmp('qom-set', path='/machine/peripheral/' + self.id, property=M, value=mapping)
            except QmpError as e:
                self.test.assertRegex(e.desc, 'must be less than num_queues|missing vq')

    def drive(self):
        disk = Disk.start(self.vm, self.id, msix=self.rng.random() < 0.5)
        self.test.assertEqual(len(disk.queues), self.queues)
        for q in disk.queues:
            data = pattern((self.number, self.turn, q), 4096)
            self.test.assertEqual(disk.write(q, 8 * q, data), OK)
            self.test.assertEqual(disk.read(q, 8 * q, 4096), data)
        # It may go while requests are with it.
        for q in disk.queues:
            for i in range(4):
                disk.add(q, OUT, 8 * (q + i), data=bytes(4096))
            disk.kick(q)

    def unplug(self):
        vm = self.vm
        vm.qmp('device_del', id=self.id)
        # The guest's answer to the attention button would take 5 seconds; a reset does it at once.
        vm.qmp('system_reset')
        vm.pci = None
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == self.id)
        steps = [('blockdev-del', {'node-name': self.node})] + \
            [('object-del', {'id': t}) for t in self.threads]
        self.rng.shuffle(steps)
        for command, arguments in steps:
            reply = vm.execute(command, arguments)
            self.test.assertEqual(reply, {'return': {}}, (command, arguments))
        self.present = False


class PlugCycles(QtestCase):
    def start(self):
        seed = int(os.environ.get('PLUG_SEED') or random.randrange(1 << 32))
        print('# PLUG_SEED=%d' % seed)
        rng = random.Random(seed)
        args = []
        for i in range(SLOTS):
            args += ['-device', 'pcie-root-port,id=rp%d,slot=%d,chassis=%d' % (i, i, i)]
        vm = self.vm(*args)
        return vm, rng, [Slot(self, vm, i, rng) for i in range(SLOTS)]

    def cycle(self, slots, rng, count):
        plugged = 0
        while plugged < count:
            slot = rng.choice(slots)
            if slot.present:
                slot.unplug()
                continue
            slot.plug()
            plugged += 1
            slot.use()
            if rng.random() < 0.25:
                slot.drive()
        for slot in slots:
            if slot.present:
                slot.unplug()

    def test_200_cycles(self):
        vm, rng, slots = self.start()
        # The first ones make what is made once: worker threads, caches of the allocator.
        self.cycle(slots, rng, 20)
        before = vm.footprint()
        tids = set(threads(vm.pid))
        memory = memory_kib(vm.pid)
        self.cycle(slots, rng, CYCLES)
        self.leaves_nothing(vm, before)
        self.assertEqual(vm.qmp('query-iothreads'), [])
        self.assertEqual(vm.qmp('query-block'), [])
        self.assertEqual(vm.qmp('query-named-block-nodes'), [])
        self.assertLessEqual(len(set(threads(vm.pid))), len(tids) + 1)
        # A sanitizer keeps freed memory for a while, and finds leaks by itself.
        if not is_instrumented(vm.binary):
            self.assertLess(memory_kib(vm.pid) - memory, 8192)


if __name__ == '__main__':
    if is_spindle():
        main()
    else:
        print('1..0 # SKIP written for an accelerator without guest code')
