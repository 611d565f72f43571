#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk without a given format: the guest must not be able to turn it into another one."""
from lib import IOERR, OK, Disk, QtestCase, main, pattern

WARNING = "WARNING: Image format was not specified for '%s' and probing guessed raw.\n"
QCOW2 = b'QFI\xfb\0\0\0\3'


class FormatProbing(QtestCase):
    def start(self, drive):
        self.path = self.image('disk%d.raw' % len(drive), size=1 << 20)
        vm = self.vm('-drive', 'if=none,id=d0,file=%s%s' % (self.path, drive), '-object',
                     'iothread,id=t0', '-device', 'virtio-blk-pci,id=v0,drive=d0,iothread=t0')
        return Disk.start(vm)

    def foreign(self):
        """First sectors that another format would be recognised by."""
        for magic in (QCOW2, b'QED\0', b'KDMV', b'conectix', b'vhdxfile'):
            yield magic + bytes(512 - len(magic))

    def test_foreign_header_is_refused(self):
        disk = self.start('')
        self.assertIn(WARNING % self.path, disk.vm.stderr())
        for header in self.foreign():
            with self.subTest(header[:8]):
                self.assertEqual(disk.write(0, 0, header), IOERR)
                self.assertEqual(disk.write(0, 0, header + pattern(1, 3584)), IOERR)
                self.assertEqual(disk.write(0, 0, header + pattern(1, 3584), segments=8), IOERR)
        self.assertEqual(self.file_bytes(self.path, 0, 512), bytes(512))

    def test_everything_else_is_written(self):
        disk = self.start('')
        self.assertEqual(disk.write(0, 0, pattern(2, 4096)), OK)
        self.assertEqual(disk.read(0, 0, 4096), pattern(2, 4096))
        self.assertEqual(disk.write(0, 0, b'\xeb\x3c\x90' + pattern(3, 507) + b'\x55\xaa'), OK)
        for header in self.foreign():
            self.assertEqual(disk.write(0, 1, header), OK)
            self.assertEqual(disk.write(0, 64, header), OK)
        self.assertEqual(disk.write_zeroes(0, 0, 8), OK)

    def test_given_format_allows_all(self):
        disk = self.start(',format=raw')
        self.assertEqual(disk.vm.stderr(), '')
        for header in self.foreign():
            self.assertEqual(disk.write(0, 0, header), OK)
            self.assertEqual(self.file_bytes(self.path, 0, 512), header)

    def test_read_only_gets_no_warning_about_writes(self):
        disk = self.start(',readonly=on')
        self.assertEqual(disk.read(0, 0, 512), bytes(512))
        self.assertEqual(disk.write(0, 0, bytes(512)), IOERR)


if __name__ == '__main__':
    main()
