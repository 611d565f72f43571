#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A queue whose requests keep its thread busy gives up its turn before all of them are done, and
comes back for the rest."""
import os
import shutil
import tempfile

from lib import IN, OK, Disk, QtestCase, main, pattern, reference_fails
from lib.runner import FAST_TMP

KIB = 1024
SIZE = 256 * KIB
REQUESTS = 20


class TimeSlices(QtestCase):
    @reference_fails('it has no query-virtqueue-stats')
    def test_slow_requests(self):
        if not FAST_TMP:
            self.skipTest('/dev/shm is no tmpfs')
        directory = tempfile.mkdtemp(prefix='spindle-qtest.', dir=FAST_TMP)
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        path = os.path.join(directory, 'disk.raw')
        data = pattern('slices', SIZE)
        with open(path, 'wb') as f:
            f.write(data)
        vm = self.vm('-blockdev', 'driver=file,node-name=f0,filename=' + path,
                     '-blockdev', 'raw,node-name=d0,file=f0', '-object', 'iothread,id=t0',
                     '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":1,'
                     '"request-merging":false,"iothread-vq-mapping":[{"iothread":"t0"}]}')
        disk = Disk.start(vm)

        def load():
            requests = [disk.add(0, IN, 0, size=SIZE) for _ in range(REQUESTS)]
            disk.kick(0)
            disk.reap(0, REQUESTS)
            self.assertEqual([r.status() for r in requests], [OK] * REQUESTS)
            self.assertEqual(requests[-1].read_data(), data)
            for r in requests:
                disk.release(r)
            return vm.qmp('query-virtqueue-stats')['devices'][0]['queues'][0]

        # What its requests are like is known after the first ones.
        before = load()
        after = load()
        self.assertEqual(after['requests'] - before['requests'], REQUESTS)
        self.assertGreater(after['batches'] - before['batches'], 1)


if __name__ == '__main__':
    main()
