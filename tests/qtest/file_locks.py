#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Image locks: two writers are refused, across processes and across programs."""
import os

from lib import BINARY, OK, REFERENCE, Disk, QtestCase, is_spindle, main, run_binary
from lib.process import VM, StartFailed, accel_args

HINT = 'Is another process using the image [%s]?'


class FileLocks(QtestCase):
    def blockdev(self, path, extra=''):
        return ['-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=%s%s' % (path, extra)]

    DEVICE = ['-device', 'virtio-blk-pci,id=v0,drive=d0']
    SHARED = ['-device', 'virtio-blk-pci,id=v0,drive=d0,share-rw=on']
    READ_ONLY = ',read-only=on'

    def refused(self, lock, path, *args, binary=None):
        result = run_binary(['-machine', 'q35', '-display', 'none', '-nodefaults', '-S',
                             *accel_args(self.tmp, binary, True), *args], binary=binary)
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = result.stderr.splitlines()
        self.assertTrue(lines[0].endswith(': Failed to get %s lock' % lock), lines)
        self.assertEqual(lines[1], HINT % path)

    def starts(self, *args, binary=None):
        vm = VM(*args, binary=binary, paused=True)
        self.addCleanup(vm.close)
        return vm

    def pairs(self):
        """(first, second) binaries: ours with itself, and with the reference both ways."""
        pairs = [(BINARY, BINARY)]
        if is_spindle() and os.access(REFERENCE, os.X_OK):
            pairs += [(BINARY, REFERENCE), (REFERENCE, BINARY)]
        return pairs

    def each_pair(self):
        for first, second in self.pairs():
            with self.subTest((first, second)):
                path = self.image('disk%d.raw' % len(os.listdir(self.tmp)), size=1 << 20)
                yield first, second, path

    def test_second_writer(self):
        for first, second, path in self.each_pair():
            vm = self.starts(*self.blockdev(path), *self.DEVICE, binary=first)
            self.refused('"write"', path, *self.blockdev(path), *self.DEVICE, binary=second)
            vm.close()
            self.starts(*self.blockdev(path), *self.DEVICE, binary=second).close()

    def test_reader_of_a_writers_disk(self):
        for first, second, path in self.each_pair():
            self.starts(*self.blockdev(path), *self.DEVICE, binary=first)
            self.refused('shared "write"', path, *self.blockdev(path, self.READ_ONLY), *self.DEVICE,
                         binary=second)

    def test_two_readers(self):
        for first, second, path in self.each_pair():
            args = self.blockdev(path, self.READ_ONLY) + self.DEVICE
            self.starts(*args, binary=first)
            self.starts(*args, binary=second)

    def test_writer_beside_readers(self):
        for first, second, path in self.each_pair():
            self.starts(*self.blockdev(path, self.READ_ONLY), *self.DEVICE, binary=first)
            self.refused('"write"', path, *self.blockdev(path), *self.DEVICE, binary=second)

    def test_share_rw(self):
        for first, second, path in self.each_pair():
            self.starts(*self.blockdev(path), *self.SHARED, binary=first)
            self.starts(*self.blockdev(path), *self.SHARED, binary=second)

    def test_share_rw_on_one_side(self):
        for first, second, path in self.each_pair():
            self.starts(*self.blockdev(path), *self.SHARED, binary=first)
            self.refused('shared "write"', path, *self.blockdev(path), *self.DEVICE, binary=second)

    def test_locking_off(self):
        for first, second, path in self.each_pair():
            self.starts(*self.blockdev(path, ',file.locking=off'), *self.DEVICE, binary=first)
            self.starts(*self.blockdev(path, ',file.locking=off'), *self.DEVICE, binary=second)

    def test_unused_node_takes_no_lock(self):
        """Only a user that writes needs the lock."""
        for first, second, path in self.each_pair():
            self.starts(*self.blockdev(path), binary=first)
            self.starts(*self.blockdev(path), *self.DEVICE, binary=second)

    def test_twice_in_one_process(self):
        path = self.image(size=1 << 20)
        args = ['-blockdev', 'raw,node-name=a,file.driver=file,file.filename=' + path,
                '-blockdev', 'raw,node-name=b,file.driver=file,file.filename=' + path,
                '-device', 'virtio-blk-pci,drive=a']
        with self.assertRaises(StartFailed) as caught:
            self.starts(*args, '-device', 'virtio-blk-pci,drive=b')
        self.assertIn('Failed to get "write" lock\n' + HINT % path, caught.exception.stderr)
        self.starts(*args)

    def test_hotplug(self):
        """A device_add that loses the race for the lock leaves nothing; it works once it is free."""
        path = self.image(size=1 << 20)
        owner = self.starts(*self.blockdev(path), *self.DEVICE)
        vm = self.vm(*self.blockdev(path), '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1')
        before = vm.footprint()
        for _ in range(3):
            reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0',
                                              'bus': 'rp0'})
            self.assertEqual(reply['error']['desc'], 'Failed to get "write" lock')
        self.leaves_nothing(vm, before)
        owner.close()
        vm.qmp('device_add', driver='virtio-blk-pci', id='v0', drive='d0', bus='rp0')
        disk = Disk.start(vm)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        # And it is locked now.
        self.refused('"write"', path, *self.blockdev(path), *self.DEVICE)


if __name__ == '__main__':
    main()
