#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Storage that does not answer: clients go on getting answers, and the process can end."""
import json
import os
import signal
import socket
import time

from lib import Disk, OK, QtestCase, main, needs_root, reference_fails
from lib.blk import IN, OUT
from lib.fuse import StallableFile
from lib.qmp import Qmp

HANGS = reference_fails('its monitor waits for the storage')
QUERIES = ('query-status', 'query-block', 'query-blockstats', 'query-named-block-nodes', 'query-jobs',
           'query-block-jobs', 'query-migrate', 'query-proxmox-support', 'query-virtqueue-stats',
           'query-file-io-stats', 'query-qmp-schema', 'query-iothreads', 'query-cpus-fast')
ENGINES = ('threads', 'io_uring')


class StalledStorage(QtestCase):
    def start(self, aio='threads', iothread=True, more=()):
        self.file = StallableFile(self)
        vm = self.vm('-object', 'iothread,id=t0', '-object', 'throttle-group,id=tg0',
                     '-blockdev', 'throttle,node-name=d0,throttle-group=tg0,file.driver=raw,'
                     'file.file.driver=file,file.file.aio=%s,file.file.filename=%s'
                     % (aio, self.file.path),
                     '-blockdev', 'null-co,node-name=d1,size=1048576,read-zeroes=on',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,addr=6.0'
                     + (',iothread=t0' if iothread else ''),
                     '-device', 'virtio-blk-pci,id=v1,drive=d1', *more, machine='pc')
        self.disk = Disk.start(vm, 'v0', size=128)
        self.assertEqual(self.disk.write(0, 8, b'a' * 4096), OK)
        return vm

    def stall(self, vm):
        self.file.stall()
        for i in range(4):
            self.disk.add(0, IN, 8 * i, size=4096)
            self.disk.add(0, OUT, 8 * i, data=b'b' * 512)
        self.disk.kick(0)
        vm.qt.flush()

    def answers(self, vm):
        """Every query, several times: the first one may wait a moment for news. The test's limit
        of waiting is what fails if an answer does not come."""
        for _ in range(3):
            for command in QUERIES:
                vm.qmp(command)
            vm.hmp('info block -v')
            vm.qmp('qom-set', path='tg0', property='limits', value={'iops-total': 100})
        self.assertEqual(len(vm.qmp('query-block')), 2)

    def recovers(self, vm):
        self.file.go_on()
        self.assertEqual(len(self.disk.reap(0, 8)), 8)
        self.assertEqual(self.disk.read(0, 8, 512), b'b' * 512)

    @HANGS
    @needs_root
    def test_queries(self):
        for aio in ENGINES:
            for iothread in (False, True):
                with self.subTest(aio=aio, iothread=iothread):
                    vm = self.start(aio, iothread)
                    self.stall(vm)
                    self.answers(vm)
                    self.recovers(vm)
                    vm.close()

    @HANGS
    @needs_root
    def test_facts_are_from_before(self):
        vm = self.start()
        before = vm.qmp('query-block')[0]['inserted']['image']
        self.assertGreater(before['actual-size'], 0)
        self.stall(vm)
        self.assertEqual(vm.qmp('query-block')[0]['inserted']['image'], before)
        self.recovers(vm)

        def size():
            return vm.qmp('query-block')[0]['inserted']['image']['actual-size'] > \
                before['actual-size']
        self.settles(size, True, 'the size on the host is up to date again')

    @HANGS
    @needs_root
    def test_other_clients_while_one_waits(self):
        """One client waits for a reset of the device, which waits for its requests."""
        vm = self.start()
        self.stall(vm)
        self.disk.driver.set_status(0)
        pending, vm.qt.pending = vm.qt.pending, []
        vm.qt.sock.sendall(('\n'.join(pending) + '\n').encode())
        time.sleep(0.2)
        self.answers(vm)
        self.file.go_on()
        for _ in pending:
            while b'\n' not in vm.qt.buffer:
                vm.qt.buffer += vm.qt.sock.recv(4096)
            line, vm.qt.buffer = vm.qt.buffer.split(b'\n', 1)
            self.assertTrue(line.startswith(b'OK'))

    def ended(self, vm):
        self.assertEqual(vm.wait_exit(), 0)
        self.assertIn('storage does not answer', vm.stderr())

    @HANGS
    @needs_root
    def test_quit(self):
        for aio in ENGINES:
            with self.subTest(aio=aio):
                vm = self.start(aio)
                self.stall(vm)
                vm.qmp('quit')
                vm.wait_event('SHUTDOWN')
                self.ended(vm)
                vm.close()

    @HANGS
    @needs_root
    def test_signal(self):
        vm = self.start()
        self.stall(vm)
        os.kill(vm.pid, signal.SIGTERM)
        self.ended(vm)

    @HANGS
    @needs_root
    def test_quit_while_a_command_waits(self):
        vm = self.start()
        self.stall(vm)
        self.disk.driver.set_status(0)
        pending, vm.qt.pending = vm.qt.pending, []
        vm.qt.sock.sendall(('\n'.join(pending) + '\n').encode())
        time.sleep(0.2)
        vm.qmp('quit')
        self.ended(vm)

    # ---- stopping the machine ----

    @HANGS
    @needs_root
    def test_stop_with_requests_in_flight(self):
        """The answer does not wait for the storage; what was in flight ends when that goes on."""
        for aio in ENGINES:
            for iothread in (False, True):
                with self.subTest(aio=aio, iothread=iothread):
                    vm = self.start(aio, iothread)
                    self.stall(vm)
                    vm.qmp('stop')
                    vm.wait_event('STOP')
                    self.assertEqual(vm.qmp('query-status')['status'], 'paused')
                    self.answers(vm)
                    vm.qmp('cont')
                    vm.wait_event('RESUME')
                    self.recovers(vm)
                    vm.qmp('stop')
                    vm.qmp('cont')
                    self.assertEqual(self.disk.read(0, 8, 512), b'b' * 512)
                    vm.close()

    @HANGS
    @needs_root
    def test_requests_end_while_stopped(self):
        vm = self.start()
        self.stall(vm)
        vm.qmp('stop')
        self.file.go_on()

        def done():
            stats = vm.qmp('query-blockstats')[0]['stats']
            return stats['rd_operations'] + stats['wr_operations']
        self.settles(done, 9, 'all requests end')
        self.assertEqual(vm.qmp('query-status')['status'], 'paused')
        vm.qmp('cont')
        self.assertEqual(len(self.disk.reap(0, 8)), 8)

    @HANGS
    @needs_root
    def test_stop_with_nothing_but_a_flush_to_do(self):
        vm = self.start()
        self.file.stall()
        vm.qmp('stop')
        self.answers(vm)
        vm.qmp('cont')
        self.file.go_on()
        self.assertEqual(self.disk.read(0, 8, 4096), b'a' * 4096)
        # Nothing keeps the nodes when the flush has ended.
        vm.qmp('device_del', id='v0')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == 'v0')
        self.settles(lambda: 'return' in vm.execute('blockdev-del', {'node-name': 'd0'}), True,
                     'the node can be removed')
        self.assertEqual(vm.nodes(), ['d1'])

    @HANGS
    @needs_root
    def test_quit_after_stop(self):
        for aio in ENGINES:
            with self.subTest(aio=aio):
                vm = self.start(aio)
                self.stall(vm)
                vm.qmp('stop')
                vm.qmp('quit')
                self.ended(vm)
                vm.close()

    @HANGS
    @needs_root
    def test_stop_and_cont_by_one_client(self):
        """It has one connection, and each of its commands is answered."""
        for human in (False, True):
            with self.subTest(human=human):
                vm = self.start()
                self.stall(vm)
                for command, state in (('stop', 'paused'), ('stop', 'paused'),
                                       ('cont', 'running'), ('cont', 'running')):
                    if human:
                        self.assertEqual(vm.hmp(command), '')
                    else:
                        vm.qmp(command)
                    self.assertEqual(vm.status(), state)
                    vm.qmp('query-block')
                self.recovers(vm)
                self.assertEqual([e['event'] for e in vm.take_events()
                                  if e['event'] in ('STOP', 'RESUME')], ['STOP', 'RESUME'])
                other = Disk.start(vm, 'v1')
                self.assertEqual(other.write(0, 0, bytes(512)), OK)
                vm.close()

    @HANGS
    @needs_root
    def test_quit_of_the_client_that_waits(self):
        """By the connection whose command is not answered."""
        for human in (False, True):
            with self.subTest(human=human):
                vm, other = self.two_clients()
                self.file.stall()
                self.add(vm)
                self.others_are_served(vm, other)
                if human:
                    self.begin(vm, 'human-monitor-command', **{'command-line': 'quit'})
                else:
                    self.begin(vm, 'quit')
                self.ended(vm)
                vm.close()
                self.file.go_on()

    @HANGS
    @needs_root
    def test_quit_in_a_sandbox(self):
        """The process that keeps the storage's descriptors is none that spawn=deny is about."""
        vm = self.start(more=['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,'
                              'resourcecontrol=deny'])
        self.stall(vm)
        vm.qmp('quit')
        self.ended(vm)

    # ---- commands that open, resize or lock a file whose server does not answer ----

    def two_clients(self):
        """A machine, and a second connection to it; the file is not used yet."""
        self.file = StallableFile(self)
        vm = self.vm('-qmp', 'unix:%s/second,server=on,wait=off' % self.tmp, machine='pc')
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.tmp + '/second')
        other = Qmp(s)
        self.addCleanup(other.close)
        return vm, other

    def begin(self, vm, command, **arguments):
        """Sends a command, which will not be answered for now."""
        vm.qt.flush()
        vm.qmp_client.send_raw(json.dumps({'execute': command, 'arguments': arguments}) + '\n')

    def others_are_served(self, vm, other):
        for command in QUERIES:
            other.command(command)
        other.hmp('info block -v')
        self.assertIsNone(vm.qmp_client.read_line(timeout=0.3), 'it still waits')

    def add(self, vm, aio='threads', **more):
        self.begin(vm, 'blockdev-add', driver='raw', **{'node-name': 'd0'}, **more, file={
            'driver': 'file', 'filename': self.file.path, 'aio': aio})

    @HANGS
    @needs_root
    def test_open(self):
        for aio in ENGINES:
            with self.subTest(aio=aio):
                vm, other = self.two_clients()
                self.file.stall()
                self.add(vm, aio)
                self.others_are_served(vm, other)
                self.assertEqual(other.command('query-named-block-nodes'), [])
                self.file.go_on()
                self.assertEqual(vm.qmp_client.read_reply(), {'return': {}})
                self.assertEqual(vm.nodes(), ['d0'])
                vm.close()

    @HANGS
    @needs_root
    def test_drive_add(self):
        vm, other = self.two_clients()
        self.file.stall()
        self.begin(vm, 'human-monitor-command', **{
            'command-line': 'drive_add 0 if=none,id=late,format=raw,file=' + self.file.path})
        self.others_are_served(vm, other)
        self.file.go_on()
        self.assertEqual(vm.qmp_client.read_reply(), {'return': 'OK\r\n'})
        self.assertEqual([b['device'] for b in vm.qmp('query-block')], ['late'])

    @HANGS
    @needs_root
    def test_resize(self):
        vm, other = self.two_clients()
        self.add(vm)
        self.assertEqual(vm.qmp_client.read_reply(), {'return': {}})
        size = os.path.getsize(self.file.path)
        self.file.stall()
        self.begin(vm, 'block_resize', size=size + (1 << 20), **{'node-name': 'd0'})
        self.others_are_served(vm, other)
        self.file.go_on()
        self.assertEqual(vm.qmp_client.read_reply(), {'return': {}})
        self.assertEqual(os.path.getsize(self.file.path), size + (1 << 20))
        image = vm.qmp('query-named-block-nodes')[0]['image']
        self.assertEqual(image['virtual-size'], size + (1 << 20))

    @HANGS
    @needs_root
    def test_first_writer(self):
        """With auto-read-only the file is opened again when a disk is plugged."""
        vm, other = self.two_clients()
        self.add(vm, **{'auto-read-only': True})
        self.assertEqual(vm.qmp_client.read_reply(), {'return': {}})
        self.file.stall()
        self.begin(vm, 'device_add', driver='virtio-blk-pci', drive='d0', id='v0')
        self.others_are_served(vm, other)
        self.file.go_on()
        self.assertEqual(vm.qmp_client.read_reply(), {'return': {}})
        disk = Disk.start(vm, 'v0')
        self.assertEqual(disk.write(0, 8, b'w' * 4096), OK)

    @HANGS
    @needs_root
    def test_quit_while_a_file_is_opened(self):
        for ender in ('quit', 'signal'):
            with self.subTest(ender=ender):
                vm, other = self.two_clients()
                self.file.stall()
                self.add(vm)
                self.others_are_served(vm, other)
                if ender == 'quit':
                    other.command('quit')
                else:
                    os.kill(vm.pid, signal.SIGTERM)
                self.ended(vm)
                vm.close()
                self.file.go_on()

    @HANGS
    @needs_root
    def test_other_disks_go_on(self):
        vm = self.start()
        self.stall(vm)
        other = Disk.start(vm, 'v1')
        self.assertEqual(other.write(0, 0, bytes(512)), OK)
        vm.qmp('device_del', id='v0')
        self.answers(vm)
        self.recovers(vm)


if __name__ == '__main__':
    main()
