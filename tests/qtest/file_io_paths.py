#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which way requests to a file go: in place where that is no more than a copy, else by the engine
that the user named; and that each way gives the same data and the same errors."""
import os
import shutil
import tempfile

from lib import IN, IOERR, OK, OUT, Disk, QtestCase, main, pattern, reference_fails
from lib.faults import SmallFilesystem, ignore_file_size_signal, limit_file_size
from lib.runner import FAST_TMP

MIB = 1 << 20
ENGINES = [('threads', False), ('threads', True), ('native', True), ('io_uring', False),
           ('io_uring', True)]


def file_system(path):
    """Type of the file system that holds path."""
    best = ('', '')
    with open('/proc/self/mountinfo') as f:
        for line in f:
            fields, _, rest = line.partition(' - ')
            mount = fields.split()[4]
            if os.path.commonpath([path, mount]) == mount and len(mount) >= len(best[0]):
                best = (mount, rest.split()[0])
    return best[1]


class PageDisk(Disk):
    """Data in whole pages: what cache.direct takes as it is."""

    def new_request(self, room):
        request = super().new_request(room)
        if request.data % 4096:
            request.data = self.vm.alloc(request.room, 4096)
        return request


class FileIoPaths(QtestCase):
    @reference_fails('it has no query-file-io-stats')
    def setUp(self):
        super().setUp()

    def start(self, path, aio, direct, disk=Disk, **kwargs):
        self.vm_now = self.vm(
            '-blockdev', 'driver=file,node-name=f0,filename=%s,aio=%s,cache.direct=%s'
            % (path, aio, 'on' if direct else 'off'),
            '-blockdev', 'raw,node-name=d0,file=f0,cache.direct=%s' % ('on' if direct else 'off'),
            '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
            '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":2,'
            '"werror":"report","rerror":"report",'
            '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}', **kwargs)
        return disk.start(self.vm_now)

    def stats(self):
        found = [s for s in self.vm_now.qmp('query-file-io-stats') if s['node-name'] == 'f0']
        self.assertEqual(len(found), 1)
        return found[0]

    def delta(self, before):
        after = self.stats()
        return {k: after[k] - before[k] for k in ('in-place', 'in-place-missed', 'io-uring', 'native',
                                                  'workers')}

    def memory_dir(self):
        if not FAST_TMP or file_system(FAST_TMP) != 'tmpfs':
            self.skipTest('/dev/shm is no tmpfs')
        path = tempfile.mkdtemp(prefix='spindle-qtest.', dir=FAST_TMP)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def disk_file(self, name='disk.raw', size=8 * MIB):
        """A file with blocks, on a file system with a page cache."""
        if file_system(os.path.realpath(self.tmp)) in ('tmpfs', 'ramfs', 'overlay'):
            self.skipTest('no file system with a page cache at hand')
        path = os.path.join(self.tmp, name)
        with open(path, 'wb') as f:
            f.write(pattern('disk', size))
            f.flush()
            os.fsync(f.fileno())
        return path

    def test_memory_file(self):
        """On tmpfs, every engine's requests are done on the spot, flushes included."""
        directory = self.memory_dir()
        for aio, direct in ENGINES:
            with self.subTest((aio, direct)):
                path = os.path.join(directory, '%s-%d.raw' % (aio, direct))
                with open(path, 'wb') as f:
                    f.truncate(8 * MIB)
                disk = self.start(path, aio, direct)
                before = self.stats()
                self.assertEqual(before['storage'], 'memory')
                self.assertEqual(before['aio'], aio)
                for q in range(2):
                    for i in range(8):
                        disk.add(q, OUT, 32 * (8 * q + i), data=pattern((q, i), 8192), segments=2)
                    disk.kick(q)
                    self.assertEqual([r.status() for r in disk.reap(q, 8)], [OK] * 8)
                self.assertEqual(disk.flush(0), OK)
                for q in range(2):
                    for i in range(8):
                        self.assertEqual(disk.read(q, 32 * (8 * q + i), 8192),
                                         pattern((q, i), 8192))
                self.assertEqual(self.delta(before), {'in-place': 32, 'in-place-missed': 0,
                                                      'io-uring': 0, 'native': 0, 'workers': 0})
                self.vm_now.close()

    def test_large_requests_leave_the_thread(self):
        """A request whose copy takes long is not done on the spot."""
        path = os.path.join(self.memory_dir(), 'disk.raw')
        with open(path, 'wb') as f:
            f.truncate(8 * MIB)
        disk = self.start(path, 'native', True)
        before = self.stats()
        self.assertEqual(disk.write(0, 0, pattern('large', MIB)), OK)
        self.assertEqual(disk.read(1, 0, MIB), pattern('large', MIB))
        self.assertEqual(self.delta(before)['workers'], 2)

    def test_page_cache(self):
        """What is cached is copied on the spot; the rest goes to the engine that was asked for."""
        for aio in ('threads', 'io_uring'):
            with self.subTest(aio):
                path = self.disk_file('%s.raw' % aio)
                data = pattern('disk', 8 * MIB)
                disk = self.start(path, aio, False)
                if self.stats()['storage'] != 'page-cache':
                    self.skipTest('storage is %s' % self.stats()['storage'])
                self.file_bytes(path, 0, 8 * MIB)
                before = self.stats()
                for i in range(16):
                    self.assertEqual(disk.read(i % 2, 64 * i, 4096), data[32768 * i:32768 * i + 4096])
                hot = self.delta(before)
                if hot['in-place'] == 0:
                    self.skipTest('this file system knows no RWF_NOWAIT')
                self.assertEqual(hot, {'in-place': 16, 'in-place-missed': 0, 'io-uring': 0,
                                       'native': 0, 'workers': 0})
                way = 'workers' if aio == 'threads' else 'io-uring'
                fd = os.open(path, os.O_RDONLY)
                self.addCleanup(os.close, fd)
                # An attempt in place starts the reading, and may even find it done at once.
                for _ in range(50):
                    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    before = self.stats()
                    for i in range(16):
                        # Far apart, out of reach of read-ahead.
                        self.assertEqual(disk.read(i % 2, 1024 * i, 4096),
                                         data[524288 * i:524288 * i + 4096])
                    cold = self.delta(before)
                    self.assertEqual(cold['in-place'] + cold[way], 16)
                    if cold[way]:
                        break
                self.assertGreater(cold[way], 0)
                self.assertGreaterEqual(cold[way], cold['in-place-missed'])
                self.vm_now.close()

    def test_cold_reads_beside_hot_ones(self):
        """Reads of what is not cached go elsewhere; reads of what is cached stay on the thread."""
        path = self.disk_file('mixed.raw', 32 * MIB)
        data = pattern('disk', 32 * MIB)
        disk = self.start(path, 'threads', False)
        fd = os.open(path, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(fd, MIB, 0)
        before = self.stats()
        for i in range(1, 9):
            disk.add(0, IN, 2048 * i, size=4096)
            disk.add(0, IN, 8 * (2 * i), size=4096)
        disk.kick(0)
        for r in disk.reap(0, 16):
            self.assertEqual(r.status(), OK)
        for i in range(1, 32):
            self.assertEqual(disk.read(1, 2048 * i, 4096), data[MIB * i:MIB * i + 4096])
        counts = self.delta(before)
        self.assertEqual(counts['in-place'] + counts['workers'], 16 + 31)
        self.assertGreaterEqual(counts['in-place'], 8)

    def test_direct_disk(self):
        """With cache.direct on a disk nothing is tried on the spot: it would wait."""
        for aio, way in (('threads', 'workers'), ('native', 'native'), ('io_uring', 'io-uring')):
            with self.subTest(aio):
                path = self.disk_file('direct-%s.raw' % aio)
                disk = self.start(path, aio, True, PageDisk)
                before = self.stats()
                self.assertEqual(before['storage'], 'device')
                self.assertEqual(disk.write(0, 8, pattern('w', 4096)), OK)
                self.assertEqual(disk.read(1, 8, 4096), pattern('w', 4096))
                counts = self.delta(before)
                self.assertEqual(counts.pop(way), 2)
                self.assertEqual(set(counts.values()), {0})
                self.vm_now.close()

    def test_no_space(self):
        """A write that finds no room fails, whoever tries it, and does so again and again."""
        fs = SmallFilesystem(self, MIB)
        path = fs.image('disk.raw', 8 * MIB)
        for aio, direct in ENGINES:
            with self.subTest((aio, direct)):
                disk = self.start(path, aio, direct)
                results = [disk.write(i % 2, 128 * i, pattern(i, 65536)) for i in range(32)]
                self.assertEqual(results, [OK] * 16 + [IOERR] * 16)
                self.assertEqual(disk.read(0, 0, 65536), pattern(0, 65536))
                self.assertEqual(disk.read(0, 128 * 20, 65536), bytes(65536))
                self.vm_now.close()

    def test_file_size_limit(self):
        """RLIMIT_FSIZE ends a write in the middle; the part before it is written."""
        path = os.path.join(self.memory_dir(), 'disk.raw')
        with open(path, 'wb') as f:
            f.truncate(MIB)
        disk = self.start(path, 'io_uring', True, preexec_fn=ignore_file_size_signal)
        limit_file_size(self.vm_now.pid, 65536 + 4096)
        self.assertEqual(disk.write(0, 128, pattern('beyond', 8192)), IOERR)
        limit_file_size(self.vm_now.pid, None)
        self.assertEqual(disk.read(1, 128, 4096), pattern('beyond', 8192)[:4096])
        self.assertEqual(disk.read(1, 136, 4096), bytes(4096))
        self.assertEqual(disk.write(0, 128, pattern('again', 8192)), OK)
        self.assertEqual(disk.read(0, 128, 8192), pattern('again', 8192))

    def test_file_cut_short(self):
        """What a file has lost at its end reads as zeroes, as it does with every engine."""
        directory = self.memory_dir()
        for aio, direct in ENGINES:
            with self.subTest((aio, direct)):
                path = os.path.join(directory, 'cut.raw')
                with open(path, 'wb') as f:
                    f.write(pattern('cut', MIB))
                disk = self.start(path, aio, direct)
                self.assertEqual(disk.read(0, 1024, 16384), pattern('cut', MIB)[524288:540672])
                os.truncate(path, 524288 + 4096)
                self.assertEqual(disk.read(0, 1024, 16384),
                                 pattern('cut', MIB)[524288:528384] + bytes(12288))
                self.assertEqual(disk.read(1, 1536, 4096), bytes(4096))
                self.assertEqual(disk.read(1, 0, 4096), pattern('cut', MIB)[:4096])
                self.vm_now.close()


if __name__ == '__main__':
    main()
