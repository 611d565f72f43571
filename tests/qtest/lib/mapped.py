# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk on tmpfs whose file is used through a mapping."""
import os
import shutil
import tempfile

from lib import IN, OK, Disk, QtestCase, pattern, reference_fails
from lib.runner import FAST_TMP

MIB = 1 << 20
PIECE = 2 * MIB
SIZE = 4 * PIECE


class MappedCase(QtestCase):
    @reference_fails('it has no query-file-io-stats')
    def setUp(self):
        super().setUp()
        if not FAST_TMP:
            self.skipTest('/dev/shm is no tmpfs')
        self.dir = tempfile.mkdtemp(prefix='spindle-qtest.', dir=FAST_TMP)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.path = os.path.join(self.dir, 'disk.raw')
        self.data = pattern('mapped', SIZE)

    def start(self, *args, ranges=((0, SIZE),)):
        with open(self.path, 'wb') as f:
            f.truncate(SIZE)
            for at, n in ranges:
                f.seek(at)
                f.write(self.data[at:at + n])
        self.vm_now = self.vm(
            '-blockdev', 'driver=file,node-name=f0,filename=%s,aio=threads,discard=unmap' % self.path,
            '-blockdev', 'raw,node-name=d0,file=f0,discard=unmap',
            '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
            '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":2,'
            '"werror":"report","rerror":"report",'
            '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}', *args)
        return Disk.start(self.vm_now)

    def mapped(self):
        return next(s['in-place-mapped'] for s in self.vm_now.qmp('query-file-io-stats')
                    if s['node-name'] == 'f0')

    def sweep(self, disk, expected, first=0, size=SIZE, rounds=1):
        """Reads 4 KiB of each 32, on both queues in turn, and compares."""
        places = list(range(first, first + size, 32768)) * rounds
        for i in range(0, len(places), 16):
            q = i // 16 % 2
            requests = [(at, disk.add(q, IN, at // 512, size=4096)) for at in places[i:i + 16]]
            disk.kick(q)
            disk.reap(q, len(requests))
            for at, r in requests:
                self.assertEqual(r.status(), OK)
                self.assertEqual(r.read_data(), expected[at:at + 4096], 'at %d' % at)
                disk.release(r)
