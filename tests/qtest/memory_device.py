#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests to a block device in memory are carried out many at a time, by the thread that has them."""
import os
import subprocess

from lib import IN, OK, OUT, Disk, QtestCase, main, needs_root, pattern, reference_fails

MIB = 1 << 20
SIZE = 16 * MIB
CONTROL = '/sys/class/zram-control/'


class MemoryDevice(QtestCase):
    @needs_root
    def setUp(self):
        super().setUp()
        if not os.path.exists(CONTROL):
            subprocess.run(['modprobe', 'zram'], capture_output=True, check=False)
        try:
            with open(CONTROL + 'hot_add') as f:
                number = f.read().strip()
        except OSError as e:
            self.skipTest('no zram: %s' % e.strerror)
        self.path, self.vm_now = '/dev/zram' + number, None
        self.addCleanup(self.remove, number)
        with open('/sys/block/zram%s/disksize' % number, 'w') as f:
            f.write(str(SIZE))
        self.data = pattern('memory device', SIZE)
        with open(self.path, 'wb') as f:
            f.write(self.data)
            os.fsync(f.fileno())

    def remove(self, number):
        if self.vm_now:
            self.vm_now.close()
        with open(CONTROL + 'hot_remove', 'w') as f:
            f.write(number)

    def start(self, aio):
        self.vm_now = self.vm(
            '-blockdev', 'driver=host_device,node-name=f0,filename=%s,aio=%s,cache.direct=on' % (
                self.path, aio),
            '-blockdev', 'raw,node-name=d0,file=f0',
            '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
            '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4,'
            '"werror":"report","rerror":"report",'
            '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}')
        return Disk.start(self.vm_now)

    def stats(self):
        return next(s for s in self.vm_now.qmp('query-file-io-stats') if s['node-name'] == 'f0')

    def many(self, disk, queue, places):
        """Requests of several sizes, all at once: (kind, offset, size or data)."""
        requests = []
        for kind, at, what in places:
            if kind == OUT:
                requests.append(disk.add(queue, OUT, at // 512, what))
            else:
                requests.append(disk.add(queue, IN, at // 512, size=what))
        disk.kick(queue)
        disk.reap(queue, len(requests))
        return requests

    def each(self, aio, align=4096):
        disk = self.start(aio)
        disk.align = align
        expected = bytearray(self.data)
        sizes = (4096, 65536, 8192, 131072)
        before = self.stats()
        count = 0
        for r in range(16):
            places, at = [], r * 4096
            for i in range(20):
                n = sizes[(i + r) % 4]
                if (i + r) % 3:
                    places.append((IN, at, n))
                else:
                    places.append((OUT, at, pattern('new %d %d' % (r, i), n)))
                at += n + 4096 * (i % 5)
            for place, request in zip(places, self.many(disk, r % 4, places)):
                kind, at, what = place
                self.assertEqual(request.status(), OK)
                if kind == IN:
                    self.assertEqual(request.read_data(), expected[at:at + what], 'at %d' % at)
                disk.release(request)
            for kind, at, what in places:
                if kind == OUT:
                    expected[at:at + len(what)] = what
            count += len(places)
            self.assertEqual(disk.flush(r % 4), OK)
        after = self.stats()
        self.assertEqual(after['storage'], 'memory')
        in_place, workers = (after[k] - before[k] for k in ('in-place', 'workers'))
        if align == 4096:
            self.assertEqual(workers, 0)
            # Some are merged.
            self.assertGreater(in_place, count // 2)
        else:
            # Such buffers are not for zram, which would write past their ends.
            self.assertGreater(workers, count // 2)
        fd = os.open(self.path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            self.assertEqual(os.pread(fd, SIZE, 0), bytes(expected))
        finally:
            os.close(fd)

    @reference_fails('it has no query-file-io-stats')
    def test_native(self):
        self.each('native')

    @reference_fails('it has no query-file-io-stats')
    def test_io_uring(self):
        self.each('io_uring')

    @reference_fails('it has no query-file-io-stats')
    def test_threads(self):
        self.each('threads')

    @reference_fails('it has no query-file-io-stats')
    def test_odd_addresses(self):
        self.each('native', 512)


if __name__ == '__main__':
    main()
