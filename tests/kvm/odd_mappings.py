#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers that do not go into each other: queues and IOThreads, interrupts fewer than queues, the
smallest and the largest disks, several disks on the same threads. Every queue gets on, and reads give
back what was written."""
from bare import KvmCase, is_spindle, main, vqload

ENOUGH = 48     # requests of each queue


class OddMappings(KvmCase):
    def drive(self, case, queues, disks=1, **kwargs):
        guest = self.guest(case, path=self.file(pattern=True), **kwargs)
        out = guest.result()
        self.assertEqual(len(out.queues), queues)
        for q in out.queues:
            self.assertGreaterEqual(q['ios'], ENOUGH, q)
            self.assertEqual((q['errs'], q['left']), (0, 0), q)
        if is_spindle() and disks == 1:
            stats, _ = guest.queue_stats()
            threads = guest.case.iothreads
            for n in range(queues):
                self.assertEqual(stats[n]['iothread'], 't%d' % (n % threads))
            self.assertEqual(sum(s['requests'] for s in stats.values()), out.disks[0]['completed'])
        guest.close()
        return out

    def case(self, threads, queues, depth=8, more='irq=1', aio='io_uring', cpus=1):
        return 'buf:%s:%d:%d:%d:rw=60,v=2,ios=%d,cpus=%d,%s' % (aio, threads, queues, depth, ENOUGH,
                                                                cpus, more)

    def test_three_threads_for_five_queues(self):
        for aio in 'io_uring', 'threads':
            for machine in 'q35', 'pc', 'q35,kernel-irqchip=split':
                with self.subTest('%s on %s' % (aio, machine)):
                    self.drive(self.case(3, 5, aio=aio, cpus=2), machine=machine, queues=5)

    def test_more_threads_than_queues(self):
        for queues in 1, 2, 3:
            with self.subTest(queues=queues):
                self.drive(self.case(7, queues), queues=queues)

    def test_many_queues(self):
        for threads in 1, 5, 16:
            with self.subTest(threads=threads):
                self.drive(self.case(threads, 32, depth=2), queues=32)

    def test_fewer_vectors_than_queues(self):
        for vectors in 2, 3, 4:
            for machine in 'q35', 'q35,kernel-irqchip=split':
                with self.subTest('%d vectors on %s' % (vectors, machine)):
                    self.drive(self.case(3, 5, more='irq=1,dev.vectors=%d' % vectors), machine=machine,
                               queues=5)

    def test_transports(self):
        for words in ('dev.page-per-vq=true,irq=1', 'legacy=1', 'legacy=1,irq=1',
                      'dev.modern-pio-notify=true,pio=1', 'irq=2', 'ev=0,irq=1'):
            for machine in 'q35', 'pc,kernel-irqchip=split':
                with self.subTest('%s on %s' % (words, machine)):
                    self.drive(self.case(3, 5, more=words, cpus=2), machine=machine, queues=5)

    def test_sizes_of_queues(self):
        for size, depth in ((4, 1), (8, 2), (1024, 128)):
            with self.subTest(size=size):
                self.drive(self.case(2, 3, depth=depth, more='irq=1,dev.queue-size=%d' % size), queues=3)

    def test_disks_of_several_kinds(self):
        paths = [self.file(pattern=True) for _ in range(3)]
        words = 'rw=60,v=2,irq=1'
        self.drive('%s:io_uring:3:5:8:%s,ios=%d,cpus=2+%s:threads:1:4:%s+%s:io_uring:4:2:%s' %
                   (paths[0], words, ENOUGH, paths[1], words, paths[2], words), queues=10, disks=3)
        for path in paths:
            self.assertEqual(vqload.wrong_sectors(path), [])


if __name__ == '__main__':
    main()
