#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The qtest protocol: memory, ports, formats, splitting of requests, the virtual clock."""
import base64
import os
import socket

from lib import QtestCase, main, reference_fails
from lib.process import StartFailed
from lib.qtest import Qtest

NO_CLOCK = 'without its qtest accelerator it has no clock to step'


class QtestProtocol(QtestCase):
    def test_memory_widths(self):
        qt = self.vm().qt
        base = 0x200000
        qt.writeq(base, 0x0123456789abcdef)
        self.assertEqual(qt.read(base, 8), bytes.fromhex('efcdab8967452301'))
        self.assertEqual([qt.readb(base + i) for i in range(8)],
                         [0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 1])
        self.assertEqual(qt.readw(base + 2), 0x89ab)
        self.assertEqual(qt.readl(base + 4), 0x01234567)
        self.assertEqual(qt.readq(base), 0x0123456789abcdef)
        qt.writeb(base, 0x11)
        qt.writew(base + 2, 0x3322)
        qt.writel(base + 4, 0x77665544)
        self.assertEqual(qt.read(base, 8).hex(), '11cd223344556677')
        # Across a page, unaligned.
        qt.writeq(base + 4093, 0xa1a2a3a4a5a6a7a8)
        self.assertEqual(qt.readq(base + 4093), 0xa1a2a3a4a5a6a7a8)

    def test_reply_formats(self):
        qt = self.vm().qt
        for line, reply in (
                ('endianness', 'OK little'),
                ('writel 0x200000 0xa1b2c3d4', 'OK'),
                ('readb 0x200000', 'OK 0x00000000000000d4'),
                ('readw 0x200000', 'OK 0x000000000000c3d4'),
                ('readl 0x200000', 'OK 0x00000000a1b2c3d4'),
                ('readq 0x200000', 'OK 0x00000000a1b2c3d4'),
                ('read 0x200000 0x4', 'OK 0xd4c3b2a1'),
                ('readl 2097152', 'OK 0x00000000a1b2c3d4'),
                ('readl 010000000', 'OK 0x00000000a1b2c3d4'),
                ('write 0x200000 0x2 0xAbCd', 'OK'),
                ('read 0x200000 4', 'OK 0xabcdb2a1'),
                ('write 0x200000 0x4 0x12', 'OK'),
                ('read 0x200000 4', 'OK 0x12000000'),
                ('memset 0x200000 0x3 0xfe', 'OK'),
                ('read 0x200000 4', 'OK 0xfefefe00'),
                ('outb 0x80 0x12', 'OK'),
                ('outl 0xcf8 0x80000000', 'OK'),
                ('inl 0xcf8', 'OK 0x80000000'),
                ('inw 0xcfc', 'OK 0x8086'),
                ('inb 0xcfd', 'OK 0x0080')):
            self.assertEqual(qt.raw_line(line), reply, line)
        self.assertEqual(qt.raw_line('nosuch'), "FAIL Unknown command 'nosuch'")
        self.assertEqual(qt.raw_line('READL 0x200000'), "FAIL Unknown command 'READL'")

    def test_base64(self):
        qt = self.vm().qt
        for size in (1, 2, 3, 100, 4096):
            data = os.urandom(size)
            text = base64.b64encode(data).decode()
            self.assertEqual(qt.raw_line('b64write 0x200000 0x%x %s' % (size, text)), 'OK')
            self.assertEqual(qt.read(0x200000, size), data)
            self.assertEqual(qt.raw_line('b64read 0x200000 0x%x' % size), 'OK ' + text)

    def test_large_transfers(self):
        qt = self.vm().qt
        data = os.urandom(4 << 20)
        qt.write(0x200000, data)
        self.assertEqual(qt.read(0x200000, len(data)), data)
        qt.memset(0x200000, len(data), 0xa5)
        self.assertEqual(qt.read(0x200000, len(data)), b'\xa5' * len(data))

    def test_split_and_joined_requests(self):
        vm = self.vm()
        text = b'writel 0x200000 0x1234\nreadl 0x200000\n'
        for i in range(len(text)):
            vm.qt.sock.sendall(text[i:i + 1])
        self.assertEqual(self.lines(vm.qt, 2), ['OK', 'OK 0x0000000000001234'])
        many = b''.join(b'writel 0x%x 0x%x\nreadl 0x%x\n' % (0x200000 + 4 * i, i, 0x200000 + 4 * i)
                        for i in range(200))
        vm.qt.sock.sendall(many[:777])
        vm.qt.sock.sendall(many[777:])
        expected = []
        for i in range(200):
            expected += ['OK', 'OK 0x%016x' % i]
        self.assertEqual(self.lines(vm.qt, 400), expected)

    def lines(self, qt, count):
        found = []
        while len(found) < count:
            while b'\n' not in qt.buffer:
                qt.buffer += qt.sock.recv(65536)
            line, qt.buffer = qt.buffer.split(b'\n', 1)
            found.append(line.decode())
        return found

    def test_device_memory_in_natural_pieces(self):
        vm = self.vm('-blockdev', 'null-co,node-name=d0,size=1048576',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0')
        from lib import VirtioBlk
        drv = VirtioBlk.find(vm, 'v0')
        self.assertEqual(vm.qt.read(drv.config_addr, 8), (2048).to_bytes(8, 'little'))
        self.assertEqual(vm.qt.readq(drv.config_addr), 2048)

    def test_unassigned(self):
        qt = self.vm().qt
        self.assertEqual(qt.inb(0x6666), 0xff)
        self.assertEqual(qt.inl(0x6664), 0xffffffff)
        qt.outl(0x6664, 1)
        self.assertEqual(qt.readl(0x1000000000), 0)
        qt.writel(0x1000000000, 5)
        self.assertEqual(qt.read(0x1000000000, 4), bytes(4))

    @reference_fails(NO_CLOCK)
    def test_clock(self):
        qt = self.vm().qt
        self.assertEqual(qt.raw_line('clock_step 1000'), 'OK 1000')
        self.assertEqual(qt.raw_line('clock_step 0x10'), 'OK 1016')
        self.assertEqual(qt.raw_line('clock_set 5000000'), 'OK 5000000')
        self.assertTrue(qt.raw_line('clock_set 10').startswith('FAIL'))

    @reference_fails(NO_CLOCK)
    def test_unknown_module(self):
        self.assertTrue(self.vm().qt.raw_line('module_load nosuch x').startswith('FAIL'))

    @reference_fails('it crashes: it takes a first CPU for granted')
    def test_machine_none(self):
        vm = self.vm(machine='none')
        self.assertEqual(vm.qt.raw_line('endianness'), 'OK little')
        self.assertEqual(vm.qt.raw_line('readl 0x1000'), 'OK 0x0000000000000000')

    @reference_fails('its -qtest takes no chardev without the qtest accelerator')
    def test_over_a_chardev(self):
        """The way Python test suites start it: descriptors that are inherited."""
        ours, theirs = socket.socketpair()
        import subprocess
        from lib.process import BINARY, popen
        p = popen([BINARY, '-display', 'none', '-nodefaults', '-machine', 'pc', '-accel', 'qtest',
                   '-chardev', 'socket,id=qtest,fd=%d' % theirs.fileno(), '-qtest',
                   'chardev:qtest'], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()
        qt = Qtest(ours)
        self.assertEqual(qt.raw_line('endianness'), 'OK little')
        qt.writel(0x200000, 7)
        self.assertEqual(qt.readl(0x200000), 7)
        p.terminate()
        self.assertEqual(p.wait(60), 0)
        ours.close()

    @reference_fails('its -qtest takes no tcp: address without the qtest accelerator')
    def test_over_tcp(self):
        import subprocess
        from lib.process import BINARY, popen
        listener = socket.create_server(('127.0.0.1', 0))
        p = popen([BINARY, '-display', 'none', '-nodefaults', '-machine', 'pc', '-accel', 'qtest',
                   '-qtest', 'tcp:127.0.0.1:%d' % listener.getsockname()[1]],
                  stdin=subprocess.DEVNULL)
        listener.settimeout(60)
        s, _ = listener.accept()
        qt = Qtest(s)
        self.assertEqual(qt.raw_line('endianness'), 'OK little')
        p.terminate()
        self.assertEqual(p.wait(60), 0)
        s.close()
        listener.close()

    def test_log(self):
        log = os.path.join(self.tmp, 'qtest.log')
        vm = self.vm('-qtest-log', log)
        vm.qt.writel(0x200000, 0x1234)
        vm.qt.readl(0x200000)
        vm.close()
        with open(log, encoding='ascii') as f:
            text = f.read()
        self.assertIn('writel 0x200000 0x1234', text)
        self.assertIn('OK 0x0000000000001234', text)

    def test_exit_with_parent(self):
        """The option that newer test suites add."""
        try:
            vm = self.vm('-run-with', 'exit-with-parent=on')
        except StartFailed as e:
            if 'exit-with-parent' in e.stderr:
                from lib import is_spindle
                self.assertFalse(is_spindle(), e.stderr)
                self.skipTest('this reference is older than the option')
            raise
        self.assertEqual(vm.qt.raw_line('endianness'), 'OK little')


if __name__ == '__main__':
    main()
