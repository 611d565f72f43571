#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A full file system: the default policy stops the machine; with more space, cont goes on."""
import json

from lib import OK, OUT, IOERR, Disk, QtestCase, main, pattern
from lib.faults import SmallFilesystem

MIB = 1 << 20


class NoSpace(QtestCase):
    def start(self, drive_args='', **device):
        self.fs = SmallFilesystem(self, MIB)
        self.path = self.fs.image('disk.raw', 16 * MIB)
        properties = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': 4,
                      'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}], **device}
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=%s%s'
                     % (self.path, drive_args), '-object', 'iothread,id=t0',
                     '-object', 'iothread,id=t1', '-device', json.dumps(properties), ram=192)
        return Disk.start(vm)

    def fill(self, disk):
        """More than fits, on all queues; returns the contents by sector."""
        contents = {}
        for q in range(4):
            for i in range(8):
                sector = 128 * (8 * q + i)
                contents[sector] = pattern((q, i), 65536)
                disk.add(q, OUT, sector, data=contents[sector])
            disk.kick(q)
        return contents

    def test_stop_and_cont(self):
        disk = self.start()
        vm = disk.vm
        contents = self.fill(disk)
        vm.wait_event('STOP')
        event = vm.wait_event('BLOCK_IO_ERROR')
        self.assertEqual(event['data'], {
            'device': '', 'nospace': True, 'node-name': 'd0', 'operation': 'write',
            'action': 'stop', 'reason': 'No space left on device',
            'qom-path': '/machine/peripheral/v0/virtio-backend'})
        self.assertEqual(vm.status(), 'io-error')
        info = [b for b in vm.qmp('query-block') if b.get('qdev')][0]
        self.assertEqual(info['io-status'], 'nospace')
        # Still full: it stops again, and loses nothing.
        vm.take_events()
        vm.qmp('cont')
        vm.wait_event('STOP')
        self.fs.resize(16 * MIB)
        vm.qmp('cont')
        for q in range(4):
            for r in disk.reap(q):
                self.assertEqual(r.status(), OK)
        self.assertEqual(vm.status(), 'running')
        self.assertEqual(disk.flush(0), OK)
        for sector, data in contents.items():
            self.assertEqual(self.file_bytes(self.path, sector * 512, 65536), data)

    def test_report(self):
        disk = self.start(werror='report')
        self.fill(disk)
        states = []
        for q in range(4):
            states += [r.status() for r in disk.reap(q)]
        self.assertEqual(set(states), {OK, IOERR})
        self.assertEqual(disk.vm.status(), 'running')
        event = disk.vm.wait_event('BLOCK_IO_ERROR')
        self.assertEqual(event['data']['action'], 'report')
        self.assertEqual(event['data']['reason'], 'No space left on device')

    def test_ignore(self):
        disk = self.start(werror='ignore')
        self.fill(disk)
        for q in range(4):
            for r in disk.reap(q):
                self.assertEqual(r.status(), OK)
        self.assertEqual(disk.vm.status(), 'running')

    def test_write_zeroes_and_discard_give_space_back(self):
        disk = self.start(drive_args=',discard=unmap,file.discard=unmap')
        self.assertEqual(disk.write(0, 0, pattern(0, MIB // 2)), OK)
        disk.add(0, OUT, 8192, data=pattern(1, MIB))
        disk.kick(0)
        disk.vm.wait_event('STOP')
        # The host makes room behind the machine's back.
        self.fs.resize(4 * MIB)
        disk.vm.qmp('cont')
        request, = disk.reap(0, 1)
        self.assertEqual(request.status(), OK)
        self.assertEqual(disk.discard(1, 0, 1024), OK)
        self.assertEqual(disk.read(2, 8192, MIB), pattern(1, MIB))


if __name__ == '__main__':
    main()
