#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stop and cont under load: stopped means that nothing is done, and nothing is lost."""
from bare import KvmCase, main

CYCLES = 15


class StopCont(KvmCase):
    def cycle(self, case, path):
        guest = self.guest(case + ':rw=50,v=2,irq=1,ctl=1,ios=20', path=path)
        guest.wait_for('START')
        for n in range(CYCLES):
            before = guest.operations()
            self.settles(lambda: guest.operations() > before, True, 'the load goes on, cycle %d' % n)
            guest.qmp.command('stop')
            self.assertFalse(guest.qmp.command('query-status')['running'])
            stopped = guest.operations()
            guest.qmp.command('query-block')
            self.assertEqual(guest.operations(), stopped, 'requests were served while stopped')
            guest.qmp.command('cont')
        guest.end_load()
        out = guest.result()
        for q in out.queues:
            self.assertGreater(q['ios'], 0)
        guest.close()

    def test_threads(self):
        self.cycle('buf:threads:2:4:8', self.file(pattern=True))

    def test_io_uring_two_processors(self):
        self.cycle('buf:io_uring:4:4:8:cpus=2', self.file(pattern=True))

    def test_legacy(self):
        self.cycle('buf:threads:2:4:8:legacy=1', self.file(pattern=True))


if __name__ == '__main__':
    main()
