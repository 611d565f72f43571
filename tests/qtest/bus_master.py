#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The command register: bus mastering and decoding switched off while the device works."""
import json

from lib import IN, NEEDS_RESET, OK, OUT, Disk, QtestCase, main, pattern


class BusMaster(QtestCase):
    def start(self, poll=32768, latency=0, machine='q35', mapping=True, **kwargs):
        node = 'null-co,node-name=d0,read-zeroes=on,size=1073741824'
        if latency:
            node += ',latency-ns=%d' % latency
        args = []
        for t in range(2):
            args += ['-object', 'iothread,id=t%d,poll-max-ns=%d' % (t, poll)]
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': 4}
        if mapping:
            device['iothread-vq-mapping'] = [{'iothread': 't0'}, {'iothread': 't1'}]
        vm = self.vm('-blockdev', node, *args, '-device', json.dumps(device), machine=machine)
        return Disk.start(vm, **kwargs)

    def toggle(self, disk, turns):
        """Bus mastering off while every queue is busy; then the driver starts over."""
        drv, vm = disk.driver, disk.vm
        base = vm.alloc(16)
        for turn in range(turns):
            for q in disk.queues:
                for i in range(12):
                    disk.add(q, OUT if i % 3 else IN, 8 * i, **({'data': pattern(i, 4096)} if i % 3
                                                                else {'size': 4096}))
                disk.kick(q, force=True)
            drv.pci.enable(3)
            self.assertEqual(drv.status() & 4, 0, 'DRIVER_OK goes with bus mastering')
            used = {q: r.used_idx() for q, r in disk.queues.items()}
            # Nothing more is taken, kicked or not.
            for q, r in disk.queues.items():
                r.notify()
            vm.qmp('query-status')
            self.assertEqual({q: r.used_idx() for q, r in disk.queues.items()}, used)
            drv.pci.enable(7)
            vm._alloc = base
            disk.spare.clear()
            drv.start(msix=bool(drv.msix))
            for q in disk.queues:
                self.assertEqual(disk.write(q, 0, bytes(512)), OK)
        self.assertEqual(drv.status() & NEEDS_RESET, 0)

    def test_off_while_busy_and_polled(self):
        # Polling never sleeps here: the queue is looked at all the time.
        self.toggle(self.start(poll=2_000_000_000), 15)

    def test_off_while_busy(self):
        self.toggle(self.start(poll=0, latency=2_000_000), 15)

    def test_off_with_msix(self):
        self.toggle(self.start(msix=True), 15)

    def test_off_without_iothread(self):
        self.toggle(self.start(mapping=False, latency=1_000_000), 10)

    def test_off_on_pc(self):
        self.toggle(self.start(machine='pc'), 10)

    def test_memory_decoding_off_and_on(self):
        """Doorbells that are not decoded do nothing; the queues are still there afterwards."""
        disk = self.start()
        for turn in range(20):
            request = disk.add(turn % 4, OUT, 0, data=bytes(512))
            disk.queue(turn % 4).publish()
            disk.driver.pci.enable(4)
            disk.queue(turn % 4).notify()
            disk.vm.qmp('query-status')
            disk.driver.pci.enable(7)
            disk.queue(turn % 4).notify()
            self.assertEqual(disk.reap(turn % 4, 1), [request])
            self.assertEqual(request.status(), OK)
        self.assertEqual(disk.driver.status(), 15)

    def test_bars_moved_while_busy(self):
        disk = self.start()
        pci = disk.driver.pci
        old = pci.bars[4].addr
        for turn in range(20):
            for q in disk.queues:
                for i in range(4):
                    disk.add(q, OUT, 8 * i, data=bytes(4096))
                disk.kick(q, force=True)
            new = old + 0x2000000 + 0x4000 * turn
            pci.move_bar(4, new)
            delta = new - old
            old = new
            drv = disk.driver
            for kind in drv.region:
                drv.region[kind] += delta
            drv.common, drv.isr_addr = drv.region[1], drv.region[3]
            drv.config_addr = drv.region[4]
            for ring in disk.queues.values():
                ring.notify_addr += delta
                ring.notify = (lambda r=ring: disk.qt.writew(r.notify_addr, r.index))
            self.assertEqual(drv.status(), 15)
            for q in disk.queues:
                for r in disk.reap(q):
                    self.assertEqual(r.status(), OK)
                    disk.release(r)
            for q in disk.queues:
                self.assertEqual(disk.write(q, 0, bytes(512)), OK)


if __name__ == '__main__':
    main()
