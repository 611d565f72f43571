#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits as a guest meets them, counted on the clock that the test moves: averages, bursts, groups
over several disks and threads, changes and stops while requests wait."""
import json
import struct

from lib import Disk, OK, QtestCase, main, reference_fails
from lib.blk import DISCARD, FLUSH, IN, OUT, WRITE_ZEROES

SECOND = 10 ** 9
NO_CLOCK = reference_fails('its package has no accelerator whose clock a test could move')


class ThrottleGroup(QtestCase):
    def start(self, limits, disks=1, queues=1, threads=0, drive=''):
        args = ['-object', json.dumps({'qom-type': 'throttle-group', 'id': 'tg0',
                                       'limits': limits})]
        for t in range(threads):
            args += ['-object', 'iothread,id=t%d' % t]
        for i in range(disks):
            device = {'driver': 'virtio-blk-pci', 'id': 'v%d' % i, 'num-queues': queues,
                      'drive': 'd%d' % i, 'queue-size': 512, 'request-merging': False}
            if threads:
                device['iothread-vq-mapping'] = [{'iothread': 't%d' % t} for t in range(threads)]
            if drive:
                args += ['-drive', 'if=none,id=d%d,format=raw,discard=unmap,file.driver=null-co,%s'
                         % (i, drive)]
            else:
                args += ['-blockdev', json.dumps(
                    {'driver': 'throttle', 'node-name': 'd%d' % i, 'throttle-group': 'tg0',
                     'discard': 'unmap', 'detect-zeroes': 'unmap', 'cache': {'direct': False},
                     'file': {'driver': 'raw', 'discard': 'unmap', 'detect-zeroes': 'off',
                              'file': {'driver': 'null-co', 'read-zeroes': True,
                                       'discard': 'unmap'}}})]
            args += ['-device', json.dumps(device)]
        vm = self.vm(*args)
        self.disks = [Disk.start(vm, 'v%d' % i, size=512) for i in range(disks)]
        return vm

    def fill(self, disk, count, kinds=(OUT,), size=512, queues=1):
        """Makes `count` requests available per queue, and kicks."""
        for q in range(queues):
            for i in range(count):
                kind = kinds[i % len(kinds)]
                if kind == IN:
                    disk.add(q, kind, 64 * i, size=size)
                elif kind == OUT:
                    disk.add(q, kind, 64 * i, data=b'x' * size)
                elif kind == FLUSH:
                    disk.add(q, kind)
                else:
                    disk.add(q, kind, data=struct.pack('<QII', 8 * i, size // 512, 0))
            disk.kick(q)

    def count(self, vm, expected=None):
        """How many have ended since the last call. What is due at this time has passed when the
        device has taken in what the guest made available, and the answer is stable then."""
        total = 0
        for _ in range(1000):
            vm.qmp('query-status')
            vm.qt.ask('clock_step 0')
            before = total
            for disk in self.disks:
                for q in range(len(disk.queues)):
                    for request in disk.poll(q):
                        self.assertEqual(request.status(), OK)
                        total += 1
            if total == expected or (expected is None and total == before):
                break
        return total

    def step(self, vm, ns):
        vm.qt.ask('clock_step %d' % ns)

    def expect(self, vm, *counts, step=SECOND):
        """First what starts at once, then what each further step lets go."""
        self.assertEqual(self.count(vm, counts[0]), counts[0])
        for n in counts[1:]:
            self.step(vm, step)
            self.assertEqual(self.count(vm, n), n)

    @NO_CLOCK
    def test_average(self):
        vm = self.start({'iops-total': 10})
        self.fill(self.disks[0], 100)
        self.expect(vm, 2, 10, 10, 10)
        self.step(vm, SECOND // 10 - 1)
        self.assertEqual(self.count(vm), 0)
        self.step(vm, 1)
        self.assertEqual(self.count(vm, 1), 1)

    @NO_CLOCK
    def test_burst(self):
        vm = self.start({'iops-total': 5, 'iops-total-max': 20})
        self.fill(self.disks[0], 100)
        self.expect(vm, 21, 5, 5)

    @NO_CLOCK
    def test_long_burst(self):
        vm = self.start({'iops-total': 1, 'iops-total-max': 20, 'iops-total-max-length': 4})
        self.fill(self.disks[0], 160)
        # A tenth of a second at the burst's rate, then that rate until 80 are in the bucket.
        self.expect(vm, 3, 20, 20, 20, 20, 3, 1, 1)

    @NO_CLOCK
    def test_bytes(self):
        vm = self.start({'bps-write': 40960})
        self.fill(self.disks[0], 40, size=4096)
        self.expect(vm, 2, 10, 10)

    @NO_CLOCK
    def test_size_of_requests(self):
        vm = self.start({'iops-total': 10, 'iops-total-max': 50, 'iops-size': 4096})
        self.fill(self.disks[0], 60, size=8192)
        self.expect(vm, 26, 5, 5)

    @NO_CLOCK
    def test_directions(self):
        vm = self.start({'iops-read': 10})
        self.fill(self.disks[0], 100, kinds=(IN, OUT))
        self.expect(vm, 52, 10, 10)

    @NO_CLOCK
    def test_what_counts(self):
        for kind, limited in ((OUT, True), (IN, True), (DISCARD, True), (WRITE_ZEROES, True),
                              (FLUSH, False)):
            with self.subTest(kind=kind):
                vm = self.start({'iops-total': 10})
                self.fill(self.disks[0], 30, kinds=(kind,))
                self.expect(vm, 2 if limited else 30, 10 if limited else 0)
                vm.close()

    @NO_CLOCK
    def test_what_counts_for_a_drive(self):
        for kind, limited in ((OUT, True), (WRITE_ZEROES, True), (DISCARD, False), (FLUSH, False)):
            with self.subTest(kind=kind):
                vm = self.start({}, drive='iops=10')
                self.fill(self.disks[0], 30, kinds=(kind,))
                self.expect(vm, 2 if limited else 30, 10 if limited else 0)
                vm.close()

    @NO_CLOCK
    def test_disks_and_threads_share(self):
        vm = self.start({'iops-total': 100}, disks=2, queues=4, threads=3)
        for disk in self.disks:
            self.fill(disk, 150, kinds=(IN, OUT), queues=4)
        self.expect(vm, 11, 100, 100, 100)
        # No queue of any disk was left behind.
        for disk in self.disks:
            for q in range(4):
                self.assertGreater(disk.queue(q).used_idx(), 311 // 8 - 10)

    @NO_CLOCK
    def test_change_of_limits(self):
        vm = self.start({'iops-total': 1}, queues=2, threads=2)
        self.fill(self.disks[0], 150, queues=2)
        self.expect(vm, 1, 1)
        # New limits begin with empty buckets.
        vm.qmp('qom-set', path='tg0', property='limits', value={'iops-total': 100})
        self.expect(vm, 11, 100)
        vm.qmp('qom-set', path='tg0', property='limits', value={'iops-total': 0,
                                                                'bps-total': 5120})
        self.expect(vm, 2, 10)
        vm.qmp('qom-set', path='tg0', property='limits', value={'bps-total': 0})
        self.expect(vm, 300 - 125)

    @NO_CLOCK
    def test_two_limits_in_a_row(self):
        vm = self.start({'iops-total': 20})
        self.fill(self.disks[0], 100)
        self.expect(vm, 3, 20)
        reply = vm.execute('block_set_io_throttle',
                           {'id': '/machine/peripheral/v0/virtio-backend', 'bps': 0, 'bps_rd': 0,
                            'bps_wr': 0, 'iops': 5, 'iops_rd': 0, 'iops_wr': 0})
        self.assertEqual(reply, {'return': {}})
        # What had passed the disk's own limits before waits for the filter's only.
        done = self.count(vm)
        vm.qmp('qom-set', path='tg0', property='limits', value={'iops-total': 0})
        self.assertEqual(done + self.count(vm, 77 - done), 77)
        self.fill(self.disks[0], 100)
        self.expect(vm, 1, 5, 5)

    def busy(self, **kwargs):
        vm = self.start({'iops-total': 1}, disks=2, queues=2, threads=2, **kwargs)
        for disk in self.disks:
            self.fill(disk, 100, kinds=(IN, OUT), queues=2)
        return vm

    def test_stop_and_cont(self):
        vm = self.busy()
        vm.qmp('stop')
        # Nothing is in flight; what was waiting went on at once.
        done = self.count(vm)
        vm.qmp('cont')
        self.settles(lambda: self.count(vm) >= 0 and vm.status(), 'running', 'after cont')
        vm.qmp('qom-set', path='tg0', property='limits', value={'iops-total': 0})
        total = [done]

        def rest():
            total[0] += self.count(vm)
            return total[0]
        self.settles(rest, 400, 'all requests end')

    def test_reset_while_requests_wait(self):
        vm = self.busy()
        self.disks[0].driver.reset()
        vm.qmp('system_reset')
        vm.qmp('query-status')

    def test_unplug_while_requests_wait(self):
        vm = self.vm('-object', 'throttle-group,id=tg0,x-iops-total=1',
                     '-object', 'iothread,id=t0', machine='pc')
        for _ in range(3):
            vm.qmp('blockdev-add', **{'driver': 'throttle', 'node-name': 'd0',
                                      'throttle-group': 'tg0', 'file': {'driver': 'null-co'}})
            vm.qmp('device_add', driver='virtio-blk-pci', id='v0', drive='d0', addr='6.0',
                   iothread='t0')
            disk = Disk.start(vm, 'v0', size=128)
            self.fill(disk, 30)
            vm.qmp('device_del', id='v0')
            vm.qt.outl(0xae08, vm.qt.inl(0xae04))
            vm.qt.flush()
            vm.wait_event('DEVICE_DELETED')
            vm.wait_event('DEVICE_DELETED')
            vm.qmp('blockdev-del', **{'node-name': 'd0'})
        vm.qmp('object-del', id='tg0')

    def test_quit_while_requests_wait(self):
        vm = self.busy()
        vm.qmp('quit')
        self.assertEqual(vm.wait_exit(), 0)

    def test_signal_while_requests_wait(self):
        vm = self.busy()
        vm.terminate()
        self.assertEqual(vm.wait_exit(), 0)


if __name__ == '__main__':
    main()
