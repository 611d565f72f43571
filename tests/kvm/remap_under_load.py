#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The queues of a running disk move between threads 1000 times while a guest reads, writes and
verifies: every request completes once, and each read gives what the last write wrote.
REMAP_SEED repeats a run."""
import os
import random
import time

from bare import LIMIT, KvmCase, is_spindle, main, vqload
from lib.qmp import QmpError

QUEUES, THREADS, MOVES = 8, 4, 1000
PATH = '/machine/peripheral/vd0'
M = 'iothread-vq-mapping'


class RemapKvm(KvmCase):
    def setUp(self):
        super().setUp()
        if not is_spindle():
            self.skipTest('the reference does not change the mapping of a running disk')

    def mapping(self, rng):
        names = rng.sample(['t%d' % t for t in range(THREADS)], rng.randint(0, THREADS))
        if not names or rng.random() < 0.5:
            return [{'iothread': n} for n in names]
        queues = list(range(QUEUES))
        rng.shuffle(queues)
        return [{'iothread': n, 'vqs': queues[i::len(names)]} for i, n in enumerate(names)]

    def change(self, guest, mapping):
        """Queues may be on their way for long where threads get no CPU: then it is refused."""
        end = time.monotonic() + LIMIT
        while True:
            try:
                guest.qmp.command('qom-set', path=PATH, property=M, value=mapping)
                return
            except QmpError as e:
                if 'still on its way' not in e.desc or time.monotonic() > end:
                    raise

    def move(self, case, moves=MOVES):
        seed = int(os.environ.get('REMAP_SEED') or random.randrange(1 << 32))
        print('# REMAP_SEED=%d' % seed)
        rng = random.Random(seed)
        path = self.file(pattern=True)
        guest = self.guest('%s:rw=50,v=2,irq=1,ctl=1,ios=20' % case, path=path)
        guest.wait_for('START')
        for n in range(moves):
            if n % 50 == 0:
                before = guest.operations()
                self.settles(lambda: guest.operations() > before, True, 'the load goes on')
            mapping = self.mapping(rng)
            self.change(guest, mapping)
            if n % 50 == 0:
                self.assertEqual(guest.qmp.command('qom-get', path=PATH, property=M), mapping)
        guest.end_load()
        out = guest.result()
        self.assertEqual(len(out.queues), QUEUES)
        for q in out.queues:
            self.assertGreater(q['ios'], 0)
        guest.close()
        self.assertEqual(vqload.wrong_sectors(path), [])

    def test_threads(self):
        self.move('buf:threads:%d:%d:16' % (THREADS, QUEUES))

    def test_io_uring_two_processors(self):
        self.move('buf:io_uring:%d:%d:16:cpus=2' % (THREADS, QUEUES))

    def test_without_event_index(self):
        self.move('buf:io_uring:%d:%d:8:ev=0' % (THREADS, QUEUES), 300)


if __name__ == '__main__':
    main()
