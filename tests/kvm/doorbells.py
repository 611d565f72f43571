#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of doorbell reaches its queue: modern, one page per queue, an I/O port, the legacy port;
with and without ioeventfd, event index and indirect descriptors."""
from bare import KvmCase, is_spindle, main

QUEUES = 4


class Doorbells(KvmCase):
    def drive(self, words, cpus=1, iothreads=2):
        guest = self.guest('buf:threads:%d:%d:8:rw=50,v=2,ios=100,cpus=%d,%s'
                           % (iothreads, QUEUES, cpus, words), path=self.file(pattern=True))
        out = guest.result()
        self.assertEqual(len(out.queues), QUEUES)
        for q in out.queues:
            self.assertGreaterEqual(q['ios'], 100)
            self.assertGreater(q['kicks'], 0)
        if is_spindle():
            stats, _ = guest.queue_stats()
            for q in out.queues:
                # One kick may stand for several, but none is made up.
                self.assertGreater(stats[q['queue']]['kicks'], 0)
        guest.close()
        return out

    def test_modern(self):
        self.drive('irq=1')

    def test_page_per_queue(self):
        self.drive('dev.page-per-vq=true,irq=1', cpus=2)

    def test_modern_port(self):
        self.drive('dev.modern-pio-notify=true,pio=1')

    def test_legacy(self):
        out = self.drive('legacy=1')
        self.assertIn(' legacy 1 ', out.lines[0])

    def test_legacy_with_msix(self):
        self.drive('legacy=1,irq=1', cpus=2)

    def test_only_legacy(self):
        out = self.drive('dev.disable-modern=true,dev.disable-legacy=off')
        self.assertIn(' legacy 1 ', out.lines[0])

    def test_no_event_index(self):
        out = self.drive('ev=0,irq=1')
        self.assertIn(' ev 0 ', out.lines[0])

    def test_event_index_switched_off(self):
        out = self.drive('dev.event_idx=false')
        self.assertIn(' ev 0 ', out.lines[0])

    def test_indirect(self):
        self.drive('ind=1,irq=1,bs=16k')

    def test_no_ioeventfd(self):
        """The processor's thread comes out and hands the kick on."""
        self.drive('dev.ioeventfd=false,irq=1', iothreads=0)

    def test_legacy_no_ioeventfd(self):
        self.drive('dev.ioeventfd=false,legacy=1', cpus=2, iothreads=0)


if __name__ == '__main__':
    main()
