#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""system_reset while all queues are busy: the guest starts again, with all its processors, and finds
a working disk."""
from bare import KvmCase, main


class ResetUnderLoad(KvmCase):
    def resets(self, case, path=None):
        guest = self.guest(case, path=path)
        guest.wait_for('START')
        for n in range(4):
            before = guest.operations()
            self.settles(lambda: guest.operations() > before + 100, True, 'the load runs')
            guest.qmp.command('system_reset')
            guest.wait_for('START')
        guest.end_load()
        out = guest.result()
        for q in out.queues:
            self.assertGreater(q['ios'], 0)
        guest.close()

    def test_file(self):
        self.resets('buf:threads:2:4:16:rw=50,v=1,irq=1,ctl=1,ios=20', self.file())

    def test_two_processors(self):
        self.resets('buf:io_uring:4:4:16:cpus=2,rw=50,v=1,irq=1,ctl=1,ios=20', self.file())

    def test_legacy(self):
        self.resets('null:-:2:4:16:legacy=1,ctl=1,ios=20')


if __name__ == '__main__':
    main()
