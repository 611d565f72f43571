#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Eight queues on 1 to 8 IOThreads: every queue gets on, on its thread, and reads give back what was
written."""
from bare import KvmCase, is_spindle, main

QUEUES = 8
ENOUGH = 64     # requests of each queue


class QueueProgress(KvmCase):
    def drive(self, case, path=None):
        guest = self.guest(case, path=path)
        out = guest.result()
        self.assertEqual(len(out.queues), QUEUES)
        for q in out.queues:
            self.assertGreaterEqual(q['ios'], ENOUGH, q)
            self.assertEqual((q['errs'], q['left']), (0, 0), q)
        if is_spindle():
            stats, _ = guest.queue_stats()
            for n in range(QUEUES):
                self.assertEqual(stats[n]['iothread'], 't%d' % (n % guest.case.iothreads))
            self.assertEqual(sum(s['requests'] for s in stats.values()), out.disks[0]['completed'])
        guest.close()
        return out.disks[0]

    def mixed(self, aio, cpus, threads=(1, 2, 4, 8)):
        for n in threads:
            with self.subTest(iothreads=n):
                disk = self.drive('buf:%s:%d:%d:8:rw=60,v=2,irq=1,cpus=%d,ios=%d'
                                  % (aio, n, QUEUES, cpus, ENOUGH), self.file(pattern=True))
                self.assertGreater(disk['writes'], 0)
                self.assertGreater(disk['checked'], disk['reads'])

    def test_null(self):
        for n in (1, 2, 4, 8):
            for cpus in (1, 2):
                with self.subTest(iothreads=n, cpus=cpus):
                    self.drive('null:-:%d:%d:8:cpus=%d,ios=%d' % (n, QUEUES, cpus, ENOUGH))

    def test_threads(self):
        self.mixed('threads', 1)

    def test_threads_two_processors(self):
        self.mixed('threads', 2, (1, 4))

    def test_io_uring(self):
        self.mixed('io_uring', 1)

    def test_io_uring_two_processors(self):
        self.mixed('io_uring', 2, (2, 8))

    def native(self, cpus, threads):
        path = self.file(pattern=True)
        try:
            import os
            os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        except OSError:
            self.skipTest('no O_DIRECT on the file system of ' + path)
        for n in threads:
            with self.subTest(iothreads=n):
                self.drive('shm:native:%d:%d:8:rw=60,v=1,irq=1,cpus=%d,ios=%d'
                           % (n, QUEUES, cpus, ENOUGH), path)

    def test_native(self):
        self.native(1, (1, 2, 4, 8))

    def test_native_two_processors(self):
        self.native(2, (2, 8))

    def test_no_mapping(self):
        """Without IOThreads the main loop serves the queues."""
        guest = self.guest('buf:threads:0:%d:8:rw=60,v=2,irq=1,cpus=2,ios=%d' % (QUEUES, ENOUGH),
                           path=self.file(pattern=True))
        out = guest.result()
        self.assertTrue(all(q['ios'] >= ENOUGH for q in out.queues), out.queues)
        guest.close()


if __name__ == '__main__':
    main()
