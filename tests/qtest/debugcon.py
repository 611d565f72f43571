#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-debugcon: what the guest writes to its port goes to a character device."""
import os

from lib import QtestCase, is_spindle, main, run_binary
from lib.process import accel_args

PORT = 0xe9


class Debugcon(QtestCase):
    def say(self, *args, port=PORT, **kwargs):
        """Writes to the port; returns what it reads as."""
        with self.vm(*args, **kwargs) as vm:
            shown = vm.qt.inb(port)
            for byte in b'hello\n':
                vm.qt.outb(port, byte)
        return shown

    def test_to_a_file(self):
        for machine in 'q35', 'pc':
            path = os.path.join(self.tmp, machine)
            self.assertEqual(self.say('-debugcon', 'file:' + path, machine=machine), PORT)
            with open(path, 'rb') as f:
                self.assertEqual(f.read(), b'hello\n')

    def test_beside_a_device(self):
        path = os.path.join(self.tmp, 'out')
        for option, port in (('-debugcon', PORT), ('device', 0x402)):
            self.say('-debugcon', 'file:%s-%s' % (path, PORT), '-chardev',
                     'file,id=c,path=%s-%s' % (path, 0x402), '-device',
                     'isa-debugcon,iobase=0x402,chardev=c', port=port)
            with open('%s-%s' % (path, port), 'rb') as f:
                self.assertEqual(f.read(), b'hello\n', option)

    def test_properties_by_global(self):
        path = os.path.join(self.tmp, 'out')
        shown = self.say('-debugcon', 'file:' + path, '-global', 'isa-debugcon.iobase=0x500',
                         '-global', 'isa-debugcon.readback=0x17', port=0x500)
        self.assertEqual(shown, 0x17)
        with open(path, 'rb') as f:
            self.assertEqual(f.read(), b'hello\n')

    def test_the_device_has_an_id(self):
        with self.vm('-debugcon', 'null') as vm:
            self.assertIn('debugcon', [c['name'] for c in vm.qmp('qom-list', path='/machine/peripheral')])
            self.assertIn('debugcon', [c['label'] for c in vm.qmp('query-chardev')])

    def test_refused(self):
        for text, message in (('foo', "'foo' is not a valid char driver"),
                              ('foo', "invalid character backend 'foo'"),
                              ('', "invalid character backend ''"),
                              ('none', "invalid character backend 'none'"),
                              ('file:/nonexistent/x', "Could not open '/nonexistent/x'")):
            with self.subTest(text):
                done = run_binary(['-machine', 'q35', *accel_args(self.tmp, paused=True), '-display',
                                   'none', '-nodefaults', '-S', '-debugcon', text])
                self.assertEqual(done.returncode, 1)
                self.assertIn('-debugcon %s: ' % text, done.stderr)
                self.assertIn(message, done.stderr)
        done = run_binary(['-machine', 'q35', *accel_args(self.tmp, paused=True), '-display', 'none',
                           '-nodefaults', '-S', '-debugcon', 'null', '-debugcon', 'null'])
        self.assertEqual(done.returncode, 1)
        self.assertIn('-debugcon null: ', done.stderr)

    def test_on_a_device_of_the_user(self):
        if not is_spindle():
            self.skipTest('the reference does not find the device')
        path = os.path.join(self.tmp, 'out')
        self.say('-chardev', 'file,id=mine,path=' + path, '-debugcon', 'chardev:mine')
        with open(path, 'rb') as f:
            self.assertEqual(f.read(), b'hello\n')


if __name__ == '__main__':
    main()
