#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The small part of the human monitor that management still uses."""
import subprocess

from lib import OK, Disk, QtestCase, main
from lib.process import BINARY, accel_args, popen


class HumanMonitor(QtestCase):
    def start(self, *args, machine='pc'):
        return self.vm('-object', 'iothread,id=t0', '-blockdev', 'null-co,node-name=d0,size=1048576',
                       '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0",'
                       '"iothread-vq-mapping":[{"iothread":"t0"}]}', *args, machine=machine)

    def test_info(self):
        vm = self.start('-name', 'fred', '-uuid', '12345678-1234-1234-1234-123456789abc')
        self.assertEqual(vm.hmp('info status'), 'VM status: running\r\n')
        vm.qmp('stop')
        self.assertEqual(vm.hmp('info status'), 'VM status: paused\r\n')
        self.assertEqual(vm.hmp('info name'), 'fred\r\n')
        self.assertEqual(vm.hmp('info uuid'), '12345678-1234-1234-1234-123456789abc\r\n')
        self.assertTrue(vm.hmp('info version').startswith('10.0.2'))
        text = vm.hmp('info iothreads')
        thread, = vm.qmp('query-iothreads')
        self.assertIn('t0:\r\n  thread_id=%d\r\n  poll-max-ns=32768\r\n' % thread['thread-id'], text)
        self.assertIn('d0', vm.hmp('info block'))
        self.assertIn('/machine/peripheral/v0/virtio-backend', vm.hmp('info block'))
        self.assertIn('dev: virtio-blk-pci, id "v0"', vm.hmp('info qtree'))
        self.assertIn('/v0 (virtio-blk-pci)', vm.hmp('info qom-tree'))
        self.assertIn('rd_bytes=0', vm.hmp('info blockstats'))

    def test_unknown(self):
        vm = self.start()
        self.assertEqual(vm.hmp('nosuch'), "unknown command: 'nosuch'\r\n")
        self.assertEqual(vm.hmp(''), '')

    def test_drive_add_and_del(self):
        vm = self.start()
        self.assertEqual(vm.hmp('drive_add 0 if=none,id=drive0,file=null-co://,'
                                'file.read-zeroes=on,format=raw'), 'OK\r\n')
        self.assertIn('drive0', [b['device'] for b in vm.qmp('query-block')])
        self.assertEqual(vm.hmp('drive_del drive0'), '')
        self.assertNotIn('drive0', [b['device'] for b in vm.qmp('query-block')])
        # Without a file: a drive with no medium, which no disk can use.
        self.assertEqual(vm.hmp('drive_add 0 if=none,id=drive0'), 'OK\r\n')
        reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'drive': 'drive0'})
        self.assertEqual(reply['error']['desc'], 'Device needs media, but drive is empty')
        self.assertEqual(vm.hmp('drive_del drive0'), '')
        self.assertIn("Device 'nosuch' not found", vm.hmp('drive_del nosuch'))

    def test_device_and_its_drive(self):
        """The drive of a device that goes, goes with it; a blockdev node stays."""
        vm = self.start()
        self.assertEqual(vm.hmp('drive_add 0 if=none,id=drive1,file=null-co://,format=raw'),
                         'OK\r\n')
        self.assertEqual(vm.hmp('device_add virtio-blk-pci,id=h0,drive=drive1,addr=7'), '')
        disk = Disk.start(vm, 'h0')
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        self.assertEqual(vm.hmp('device_del h0'), '')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == 'h0')
        self.assertNotIn('drive1', [b['device'] for b in vm.qmp('query-block')])
        vm.qmp('blockdev-add', driver='null-co', node_name='n1')
        vm.qmp('device_add', driver='virtio-blk-pci', id='h1', drive='n1')
        vm.hmp('device_del h1')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == 'h1')
        self.assertIn('n1', vm.nodes())

    def test_drive_del_under_a_device(self):
        """The device loses its disk at once, and the guest gets errors."""
        vm = self.start()
        vm.hmp('drive_add 0 if=none,id=drive1,file=null-co://,format=raw')
        vm.hmp('device_add virtio-blk-pci,id=h0,drive=drive1')
        disk = Disk.start(vm, 'h0')
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        self.assertEqual(vm.hmp('drive_del drive1'), '')
        self.assertNotIn('drive1', [b['device'] for b in vm.qmp('query-block')])
        self.assertEqual(disk.write(0, 0, bytes(512)), 1)
        vm.hmp('device_del h0')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == 'h0')

    def test_errors_are_texts(self):
        vm = self.start()
        self.assertEqual(vm.hmp('device_add nosuch'),
                         "Error: 'nosuch' is not a valid device model name\r\n")
        self.assertEqual(vm.hmp('device_del nosuch'), "Error: Device 'nosuch' not found\r\n")

    def test_stop_cont_reset_quit(self):
        vm = self.start()
        self.assertEqual(vm.hmp('stop'), '')
        self.assertEqual(vm.status(), 'paused')
        self.assertEqual(vm.hmp('cont'), '')
        self.assertEqual(vm.status(), 'running')
        self.assertEqual(vm.hmp('system_reset'), '')
        vm.wait_event('RESET')
        self.assertEqual(vm.hmp('quit'), '')
        self.assertEqual(vm.wait_exit(), 0)

    def test_console(self):
        """-monitor stdio: a banner, a prompt, an echo."""
        p = popen([BINARY, '-machine', 'none', '-display', 'none', '-nodefaults',
                   *accel_args(self.tmp), '-monitor', 'stdio'], stdin=subprocess.PIPE,
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = p.communicate(b'info status\nquit\n', timeout=60)
        self.assertEqual(p.returncode, 0, err)
        self.assertIn(b'QEMU 10.0.2 monitor - type \'help\' for more information', out)
        self.assertIn(b'(qemu) ', out)
        self.assertIn(b'VM status: running', out)


if __name__ == '__main__':
    main()
