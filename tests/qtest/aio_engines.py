#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The event loop's engines, and the engines of the file driver, in every combination that exists."""
import errno
import os

from lib import OK, OUT, Disk, QtestCase, main, pattern, reference_fails, run_binary
from lib.process import accel_args
from lib.proc import fd_targets
from lib.seccomp import IO_URING_SETUP, refuse


class AioEngines(QtestCase):
    def args(self, aio, direct, name='disk.raw'):
        path = self.image(name, size=8 << 20)
        options = 'file.aio=' + aio
        if direct:
            options += ',cache.direct=on,file.cache.direct=on'
        return path, ['-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=%s,%s'
                      % (path, options), '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                      '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4,'
                      '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}']

    def exercise(self, vm, path):
        disk = Disk.start(vm, msix=True)
        for turn in range(3):
            for q in range(4):
                for i in range(16):
                    sector = 32 * (16 * q + i)
                    disk.add(q, OUT, sector, data=pattern((turn, sector), 16384), segments=1 + i % 3)
                disk.kick(q)
            for q in range(4):
                for r in disk.reap(q, 16):
                    self.assertEqual(r.status(), OK)
                    disk.release(r)
        self.assertEqual(disk.flush(1), OK)
        for sector in range(0, 32 * 64, 32):
            self.assertEqual(self.file_bytes(path, sector * 512, 16384), pattern((2, sector), 16384))
            if sector % 256 == 0:
                self.assertEqual(disk.read(sector // 32 % 4, sector, 16384),
                                 pattern((2, sector), 16384))
        vm.qmp('stop')
        vm.qmp('cont')
        disk.driver.start()
        self.assertEqual(disk.read(3, 0, 16384), pattern((2, 0), 16384))
        return disk

    COMBINATIONS = [('threads', False), ('threads', True), ('native', True)]
    WITH_IO_URING = COMBINATIONS + [('io_uring', False), ('io_uring', True)]

    def each(self, combinations, forbidden=False, **kwargs):
        """Starts and exercises a machine with each."""
        for aio, direct in combinations:
            with self.subTest((aio, direct)):
                path, args = self.args(aio, direct, '%s-%d.raw' % (aio, direct))
                vm = self.vm(*args, **kwargs)
                if forbidden:
                    self.assertFalse(self.uses_io_uring(vm))
                self.exercise(vm, path)
                vm.close()

    def test_default_engine(self):
        self.each(self.WITH_IO_URING)

    def uses_io_uring(self, vm):
        return any('io_uring' in t for t in fd_targets(vm.pid))

    @reference_fails('it has no choice of engine')
    def test_epoll_engine(self):
        self.each(self.COMBINATIONS, forbidden=True, env={'SPINDLE_AIO_ENGINE': 'epoll'})

    @reference_fails('it has no choice of engine')
    def test_io_uring_engine(self):
        path, args = self.args('threads', False)
        vm = self.vm(*args, env={'SPINDLE_AIO_ENGINE': 'io_uring'})
        self.assertTrue(self.uses_io_uring(vm))
        self.exercise(vm, path)

    @reference_fails('it has no choice of engine')
    def test_unknown_engine(self):
        result = run_binary(['-machine', 'none', '-accel', 'qtest', '-display', 'none'],
                            env={**os.environ, 'SPINDLE_AIO_ENGINE': 'nosuch'})
        self.assertEqual(result.returncode, 1)
        self.assertIn('SPINDLE_AIO_ENGINE', result.stderr)

    def test_io_uring_forbidden(self):
        """What a container's filter may do; everything but aio=io_uring still works."""
        for number in (errno.EPERM, errno.ENOSYS):
            self.each(self.COMBINATIONS, forbidden=True, preexec_fn=refuse(IO_URING_SETUP, number))

    @reference_fails('it starts, and the disk fails at its first request')
    def test_aio_io_uring_forbidden(self):
        """It is refused when the disk is opened, not when the first request comes."""
        _, args = self.args('io_uring', False)
        result = run_binary(['-machine', 'q35', '-display', 'none', '-nodefaults', '-S',
                             *accel_args(self.tmp, None, True), *args],
                            preexec_fn=refuse(IO_URING_SETUP, errno.EPERM))
        self.assertEqual(result.returncode, 1)
        self.assertIn('io_uring', result.stderr)
        self.assertIn('-blockdev', result.stderr)

    def test_thread_pool_limit(self):
        """thread-pool-max=1 is enough, only slower."""
        path = self.image(size=8 << 20)
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.aio=threads,file.filename='
                     + path, '-object', 'iothread,id=t0,thread-pool-max=1',
                     '-object', 'iothread,id=t1,thread-pool-min=2,thread-pool-max=2',
                     '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4,'
                     '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}')
        self.exercise(vm, path)


if __name__ == '__main__':
    main()
