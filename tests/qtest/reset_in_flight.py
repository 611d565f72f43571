#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A reset with requests in flight: once it has returned, guest memory is left alone.

All memory that the driver had given to the device is filled with a pattern right after the reset
and must still hold it when the requests would long have completed.
"""
import json
import time

from lib import IN, OK, OUT, Disk, QtestCase, main, pattern, reference_fails

POISON = 0xdb
LATENCY_NS = 60_000_000


class ResetInFlight(QtestCase):
    def start(self, queues, latency=LATENCY_NS, threads=2, machine='q35', plug='', **kwargs):
        node = 'null-co,node-name=d0,read-zeroes=on,size=1073741824'
        if latency:
            node += ',latency-ns=%d' % latency
        else:
            node = 'raw,node-name=d0,file.driver=file,file.filename=' + self.image(size=64 << 20)
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': queues,
                  'queue-size': 1024}
        if threads:
            device['iothread-vq-mapping'] = [{'iothread': 't%d' % t} for t in range(threads)]
        if plug:
            device['bus'] = plug
        args = []
        for t in range(2):
            args += ['-object', 'iothread,id=t%d' % t]
        if plug:
            args += ['-device', 'pcie-root-port,id=rp0,chassis=1,slot=1']
        vm = self.vm('-blockdev', node, *args, '-device', json.dumps(device), machine=machine,
                     ram=192)
        return Disk.start(vm, size=1024, **kwargs)

    def fill(self, disk, total, size=4096):
        """`total` requests in flight, spread over the queues; returns what must stay untouched."""
        per_queue = total // len(disk.queues)
        start = disk.vm.alloc(16)
        for q in disk.queues:
            for i in range(per_queue):
                sector = 8 * (per_queue * q + i)
                if i % 2:
                    disk.add(q, OUT, sector, data=pattern((q, i), size))
                else:
                    disk.add(q, IN, sector, size=size)
        for q in disk.queues:
            disk.kick(q)
        end = disk.vm.alloc(16)
        return [(start, end - start)] + [(r.base, r.bytes) for r in disk.queues.values()]

    def poison(self, disk, areas):
        for start, size in areas:
            disk.qt.memset(start, size, POISON)
        disk.qt.flush()

    def check_poison(self, disk, areas, what):
        for start, size in areas:
            data = disk.qt.read(start, size)
            if data.strip(bytes([POISON])):
                at = next(i for i, b in enumerate(data) if b != POISON)
                self.fail('%s: memory at 0x%x was written' % (what, start + at))

    def use_again(self, disk, **kwargs):
        disk.spare.clear()
        disk.driver.start(size=256, **kwargs)
        for q in disk.queues:
            self.assertEqual(disk.write(q, 8 * q, pattern(q, 4096)), OK)

    def check(self, disk, reset, total=256):
        areas = self.fill(disk, total)
        reset()
        self.poison(disk, areas)
        # Longer than the requests take: what comes after the reset would come now.
        time.sleep(2.5 * LATENCY_NS / 1e9)
        disk.vm.qmp('query-status')
        self.check_poison(disk, areas, 'after the reset')

    def test_one_queue(self):
        disk = self.start(1)
        self.check(disk, disk.driver.reset)
        self.use_again(disk)

    def test_four_queues_two_threads(self):
        disk = self.start(4, msix=True, event_idx=True)
        for _ in range(3):
            self.check(disk, disk.driver.reset)
            disk.driver.start(size=1024, event_idx=True)
        self.use_again(disk)

    def test_indirect(self):
        disk = self.start(4, indirect=True)
        self.check(disk, disk.driver.reset)
        self.use_again(disk)

    def test_without_iothread(self):
        disk = self.start(2, threads=0)
        self.check(disk, disk.driver.reset)
        self.use_again(disk)

    def test_legacy_driver(self):
        disk = self.start(2, legacy=True, machine='pc')
        self.check(disk, disk.driver.reset)
        disk.driver.start()
        self.assertEqual(disk.write(1, 0, bytes(512)), OK)

    def test_system_reset(self):
        disk = self.start(4)

        def reset():
            disk.vm.qmp('system_reset')
            disk.vm.wait_event('RESET')
        self.check(disk, reset)
        disk.driver.pci.map()
        driver = type(disk.driver)(disk.driver.pci)
        again = Disk(driver.start(size=64))
        for q in again.queues:
            self.assertEqual(again.write(q, 0, bytes(512)), OK)

    def test_bus_master_off(self):
        disk = self.start(4)

        def off():
            disk.driver.pci.enable(3)
            # The driver reads the register back, as any write to the device would be posted.
            self.assertEqual(disk.driver.pci.read(4, 2), 3)
        self.check(disk, off)
        disk.driver.pci.enable(7)
        self.use_again(disk)

    @reference_fails('its queue reset returns while requests of the queue are in flight, which later '
                     'write to memory that the driver has back by then (VIRTIO 1.2, 2.6.1)')
    def test_queue_reset(self):
        disk = self.start(2)
        areas = self.fill(disk, 256)
        for q in disk.queues:
            self.assertEqual(disk.driver.reset_queue(q), (0, 0))
        self.poison(disk, areas)
        time.sleep(2.5 * LATENCY_NS / 1e9)
        self.check_poison(disk, areas, 'after the reset of both queues')
        self.use_again(disk)

    def test_unplug(self):
        disk = self.start(4, plug='rp0')
        areas = self.fill(disk, 256)
        vm = disk.vm
        vm.qmp('device_del', id='v0')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == 'v0')
        self.poison(disk, areas)
        time.sleep(2.5 * LATENCY_NS / 1e9)
        self.check_poison(disk, areas, 'after the unplug')
        vm.qmp('blockdev-del', node_name='d0')
        vm.qmp('object-del', id='t0')
        vm.qmp('object-del', id='t1')

    def test_real_file(self):
        """Requests that already reached the kernel."""
        disk = self.start(4, latency=0)
        for turn in range(8):
            areas = self.fill(disk, 256)
            disk.driver.reset()
            self.poison(disk, areas)
            time.sleep(0.02)
            self.check_poison(disk, areas, 'turn %d' % turn)
            disk.spare.clear()
            if turn < 7:
                disk.vm._alloc = areas[0][0]
                disk.driver.start(size=1024)
        self.use_again(disk)

    def test_reset_again_and_again(self):
        disk = self.start(4, latency=0)
        base = disk.vm.alloc(16)
        for turn in range(100):
            disk.vm._alloc = base
            disk.spare.clear()
            disk.driver.start(size=64)
            for q in disk.queues:
                for i in range(1 + turn % 5):
                    disk.add(q, OUT, 8 * (8 * q + i), data=pattern((turn, q), 4096))
                disk.kick(q)
            disk.driver.reset()
        disk.vm._alloc = base
        self.use_again(disk)


if __name__ == '__main__':
    main()
