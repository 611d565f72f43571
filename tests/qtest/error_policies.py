#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""rerror and werror: what the guest sees, what management hears, what the machine does."""
import json
import os

from lib import IN, IOERR, OK, OUT, Disk, QtestCase, main, pattern
from lib.faults import LoopDevice, ignore_file_size_signal, limit_file_size

MIB = 1 << 20
EFBIG, EIO = 'File too large', 'Input/output error'


class ErrorPolicies(QtestCase):
    def write_machine(self, properties, drive=None):
        path = self.image('w%d.raw' % len(os.listdir(self.tmp)), size=8 * MIB)
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': 2,
                  'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}], **properties}
        node = ['-drive', 'if=none,id=d0,format=raw,file=%s%s' % (path, drive)] if drive else \
            ['-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + path]
        vm = self.vm(*node, '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                     '-device', json.dumps(device), preexec_fn=ignore_file_size_signal)
        disk = Disk.start(vm)
        limit_file_size(vm.pid, MIB)
        return disk

    def events(self, vm, device='', node='d0'):
        got = vm.wait_event('BLOCK_IO_ERROR')['data']
        self.assertEqual(got['device'], device)
        if node:
            self.assertEqual(got['node-name'], node)
        self.assertEqual(got['qom-path'], '/machine/peripheral/v0/virtio-backend')
        return got

    def io_status(self, vm):
        return [b for b in vm.qmp('query-block') if b.get('qdev')][0].get('io-status')

    def check(self, disk, kind, action, tracked, reason, sector, device='', node='d0'):
        """One request that fails; `tracked`: the device has an io-status."""
        vm = disk.vm
        size = 4096
        operation = 'write' if kind == OUT else 'read'
        request = disk.add(1, kind, sector, data=pattern(1, size)) if kind == OUT else \
            disk.add(1, kind, sector, size=size)
        disk.kick(1)
        data = self.events(vm, device, node)
        self.assertEqual((data['action'], data['operation'], data['reason']),
                         (action, operation, reason))
        self.assertEqual(data.get('nospace'), False if tracked else None)
        if action == 'stop':
            vm.wait_event('STOP')
            self.assertEqual(vm.status(), 'io-error')
            self.assertEqual(self.io_status(vm), 'failed')
            self.assertEqual(disk.poll(1), [])
            return request
        self.assertEqual(disk.reap(1, 1), [request])
        self.assertEqual(request.status(), IOERR if action == 'report' else OK)
        self.assertEqual(request.used_len, 1 if kind == OUT else size + 1)
        self.assertEqual(vm.status(), 'running')
        self.assertEqual(self.io_status(vm), 'ok' if tracked else None)
        return request

    def test_write(self):
        for werror, action, tracked in (('report', 'report', False), ('ignore', 'ignore', False),
                                        ('enospc', 'report', True), ('auto', 'report', True),
                                        ('stop', 'stop', True)):
            with self.subTest(werror):
                disk = self.write_machine({'werror': werror, 'rerror': 'report'})
                request = self.check(disk, OUT, action, tracked, EFBIG, MIB // 512)
                limit_file_size(disk.vm.pid, None)
                if action == 'stop':
                    disk.vm.qmp('cont')
                    disk.vm.wait_event('RESUME')
                    self.assertEqual(disk.reap(1, 1), [request])
                    self.assertEqual(request.status(), OK)
                self.assertEqual(disk.write(0, MIB // 512, bytes(4096)), OK)
                disk.vm.close()

    def test_policy_of_the_drive_and_of_the_device(self):
        disk = self.write_machine({}, ',werror=stop,rerror=report')
        self.check(disk, OUT, 'stop', True, EFBIG, MIB // 512, device='d0', node=None)
        disk.vm.close()
        disk = self.write_machine({'werror': 'report'}, ',werror=stop,rerror=report')
        vm = disk.vm
        request = disk.add(1, OUT, MIB // 512, data=bytes(4096))
        disk.kick(1)
        self.assertEqual(disk.reap(1, 1), [request])
        self.assertEqual(request.status(), IOERR)
        self.assertEqual(vm.status(), 'running')

    def test_read(self):
        for rerror, action, tracked in (('report', 'report', False), ('ignore', 'ignore', False),
                                        ('auto', 'report', True), ('stop', 'stop', True)):
            with self.subTest(rerror):
                path = os.path.join(self.tmp, 'r-%s.raw' % rerror)
                data = pattern('disk', 4 * MIB)
                with open(path, 'wb') as f:
                    f.write(data)
                loop = LoopDevice(self, path)
                werror = 'report' if rerror != 'auto' else 'auto'
                vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=host_device,'
                             'file.cache.direct=on,cache.direct=on,file.filename=' + loop.path,
                             '-object', 'iothread,id=t0', '-device', json.dumps(
                                 {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0',
                                  'num-queues': 2, 'rerror': rerror, 'werror': werror,
                                  'iothread-vq-mapping': [{'iothread': 't0'}]}))
                disk = Disk.start(vm)
                self.assertEqual(disk.read(0, 4096, 4096), data[2 * MIB:2 * MIB + 4096])
                loop.cut(MIB)
                request = self.check(disk, IN, action, tracked, EIO, 4096)
                with open(path, 'r+b') as f:
                    f.write(data)
                if action == 'stop':
                    vm.qmp('cont')
                    self.assertEqual(disk.reap(1, 1), [request])
                    self.assertEqual(request.status(), OK)
                    self.assertEqual(request.read_data(), data[2 * MIB:2 * MIB + 4096])
                self.assertEqual(disk.read(1, 4096, 4096), data[2 * MIB:2 * MIB + 4096])
                vm.close()
                loop.close()

    def test_accounting(self):
        disk = self.write_machine({'werror': 'report'})
        for _ in range(3):
            disk.write(0, MIB // 512, bytes(4096))
        disk.write(0, 1 << 40, bytes(512))
        disk.write(0, 0, bytes(512))
        stats = [b for b in disk.vm.qmp('query-blockstats') if b.get('qdev')][0]['stats']
        self.assertEqual(stats['failed_wr_operations'], 3)
        self.assertEqual(stats['invalid_wr_operations'], 1)
        self.assertEqual(stats['wr_operations'], 1)
        self.assertTrue(stats['account_failed'] and stats['account_invalid'])

    def test_events_are_limited(self):
        """A storm of errors is one event, and the machine does not mind."""
        disk = self.write_machine({'werror': 'report'})
        for _ in range(50):
            self.assertEqual(disk.write(0, MIB // 512, bytes(4096)), IOERR)
        disk.vm.qmp('query-status')
        events = disk.vm.take_events('BLOCK_IO_ERROR')
        self.assertGreaterEqual(len(events), 1)
        self.assertLess(len(events), 10)


if __name__ == '__main__':
    main()
