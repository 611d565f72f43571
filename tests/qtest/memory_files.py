#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guest memory in a file: shared, a copy of one's own of a file that is only read, read-only; where it
lies in the emulator."""
import os
import re

from lib import QtestCase, main, run_binary
from lib.process import accel_args

MIB = 1 << 20


class MemoryFiles(QtestCase):
    def file(self):
        path = os.path.join(self.tmp, 'ram')
        with open(path, 'wb') as f:
            f.truncate(32 * MIB)
            f.seek(20 * MIB)
            f.write(b'from the file')
        return path

    def machine(self, path, more):
        return self.vm('-m', '32', '-object', 'memory-backend-file,id=m,size=32M,mem-path=%s%s'
                       % (path, more), machine='q35,memory-backend=m')

    def refused(self, more, text):
        done = run_binary(['-machine', 'q35', *accel_args(self.tmp, paused=True), '-display', 'none',
                           '-nodefaults', '-S', '-object', 'memory-backend-file,id=m,size=32M,mem-path=%s,%s'
                           % (self.file(), more)])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_writes_reach_the_file_or_not(self):
        for more, reach in ((',share=on', True), (',share=off', False), (',readonly=on,rom=off', False),
                            (',share=on,rom=auto', True)):
            with self.subTest(more):
                path = self.file()
                if 'readonly' in more:
                    os.chmod(path, 0o444)
                vm = self.machine(path, more)
                self.assertEqual(vm.qt.read(20 * MIB, 13), b'from the file')
                vm.qt.write(20 * MIB, b'from a guest')
                self.assertEqual(vm.qt.read(20 * MIB, 12), b'from a guest')
                vm.close()
                with open(path, 'rb') as f:
                    f.seek(20 * MIB)
                    self.assertEqual(f.read(12), b'from a guest' if reach else b'from the fil')
                os.unlink(path)

    def test_alignment(self):
        for align in 4096, 2 * MIB, 64 * MIB, 1 << 30:
            vm = self.machine(self.file(), ',share=on,align=%d' % align)
            with open('/proc/%d/maps' % vm.process.pid, encoding='ascii') as f:
                places = re.findall(r'^([0-9a-f]+)-([0-9a-f]+) rw.*/ram$', f.read(), re.M)
            self.assertEqual(len(places), 1)
            start, end = [int(x, 16) for x in places[0]]
            self.assertEqual(end - start, 32 * MIB)
            self.assertEqual(start % align, 0)
            self.assertEqual(vm.qmp('qom-get', path='/objects/m', property='align'), align)
            vm.close()

    def test_refused(self):
        for more, text in (('align=1', 'alignment 0x1 must be multiples of page size 0x1000'),
                           ('align=12k', 'alignment 0x3000 must be a power of two'),
                           ('align=1E', 'Cannot allocate memory'),
                           ('align=x', "Parameter 'align' expects a size value"),
                           ('rom=on', "property 'rom' = 'on' is not supported with 'readonly' = 'off'"),
                           ('rom=off,readonly=on,share=on', "property 'rom' = 'off' is incompatible with "
                            "'readonly' = 'on' and 'share' = 'on'"),
                           ('rom=x', "Parameter 'rom' does not accept value 'x'")):
            with self.subTest(more):
                self.refused(more, text)

    def test_names_for_migration(self):
        for value in 'on', 'off':
            vm = self.machine(self.file(), ',x-use-canonical-path-for-ramblock-id=' + value)
            self.assertEqual(vm.qmp('qom-get', path='/objects/m',
                                    property='x-use-canonical-path-for-ramblock-id'), value == 'on')
            vm.close()


if __name__ == '__main__':
    main()
