#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How the process ends: SIGTERM and friends give status 0, and no data is lost."""
import json
import os
import signal

from lib import OK, OUT, Disk, QtestCase, main, pattern


class ProcessExit(QtestCase):
    def start(self, paused=False, cache='', **kwargs):
        self.path = self.image(size=16 << 20)
        args = []
        for t in range(2):
            args += ['-object', 'iothread,id=t%d' % t]
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=%s%s'
                     % (self.path, cache), *args, '-device', json.dumps(
                         {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': 4,
                          'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]}),
                     paused=paused)
        return vm

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number.name):
                vm = self.start()
                Disk.start(vm)
                vm.process.send_signal(number)
                self.assertEqual(vm.wait_exit(), 0)

    def test_event(self):
        vm = self.start()
        vm.process.send_signal(signal.SIGTERM)
        event = vm.wait_event('SHUTDOWN')
        self.assertEqual(event['data'], {'guest': False, 'reason': 'host-signal'})
        self.assertEqual(vm.wait_exit(), 0)

    def test_quit(self):
        vm = self.start()
        self.assertEqual(vm.qmp('quit'), {})
        event = vm.wait_event('SHUTDOWN')
        self.assertEqual(event['data'], {'guest': False, 'reason': 'host-qmp-quit'})
        self.assertEqual(vm.wait_exit(), 0)

    def test_paused(self):
        vm = self.start(paused=True)
        self.assertEqual(vm.status(), 'prelaunch')
        self.assertEqual(vm.terminate(), 0)

    def test_with_requests_in_flight(self):
        """What completed is in the file; what was in flight is there whole or not at all."""
        for turn in range(5):
            vm = self.start()
            disk = Disk.start(vm)
            data = {}
            for q in range(4):
                for i in range(8):
                    sector = 8 * (8 * q + i)
                    data[sector] = pattern((turn, sector), 4096)
                    disk.add(q, OUT, sector, data=data[sector])
                disk.kick(q)
            done = [r for q in range(4) for r in disk.reap(q, 4)]
            completed = {r.sector for r in done}
            self.assertEqual(vm.terminate(), 0)
            for sector, expected in data.items():
                got = self.file_bytes(self.path, sector * 512, 4096)
                if sector in completed:
                    self.assertEqual(got, expected)
                else:
                    self.assertIn(got, (expected, bytes(4096)))

    def test_data_is_flushed(self):
        """A write-back cache of ours does not exist, but fsync must have been asked for: the file is
        complete on a second look through another descriptor without cache."""
        vm = self.start(cache=',cache.direct=off')
        disk = Disk.start(vm)
        for q in range(4):
            self.assertEqual(disk.write(q, 64 * q, pattern(q, 32768)), OK)
        self.assertEqual(vm.terminate(), 0)
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECT)
        try:
            import mmap
            buffer = mmap.mmap(-1, 128 * 1024)
            self.assertEqual(os.readv(fd, [buffer]), 128 * 1024)
            for q in range(4):
                self.assertEqual(buffer[32768 * q:32768 * (q + 1)], pattern(q, 32768))
        finally:
            os.close(fd)

    def test_closed_connections_do_not_end_it(self):
        vm = self.start()
        vm.qt.sock.close()
        self.assertEqual(vm.qmp_client.command('query-status')['status'], 'running')
        vm.qmp_client.close()
        self.assertTrue(vm.alive())
        vm.process.send_signal(signal.SIGTERM)
        self.assertEqual(vm.wait_exit(), 0)


if __name__ == '__main__':
    main()
