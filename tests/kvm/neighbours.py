#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Several disks on the same IOThreads: each gets its turn, and its own data."""
from bare import KvmCase, main, vqload


class Neighbours(KvmCase):
    def test_busy_disk_beside_a_quiet_one(self):
        """The quiet one gets on while the other's queues are always full."""
        guest = self.guest('null:-:1:8:64:ctl=1+null:-:1:1')
        guest.wait_for('START')
        for _ in range(5):
            before = guest.operations(0), guest.operations(1)
            self.settles(lambda: guest.operations(1) > before[1] + 10, True, 'the quiet disk gets on')
            self.settles(lambda: guest.operations(0) > before[0] + 1000, True, 'the busy disk gets on')
        guest.end_load()
        guest.result()
        guest.close()

    def test_own_data(self):
        paths = [self.file(pattern=True), self.file()]
        case = '%s:threads:2:4:16:rw=50,v=2,ios=200,cpus=2+%s:threads:2:8:rw=40,v=1,bs=64k' % tuple(paths)
        guest = self.guest(case)
        out = guest.result()
        self.assertEqual([d['disk'] for d in out.disks], [0, 1])
        self.assertTrue(all(d['writes'] and d['checked'] for d in out.disks), out.disks)
        guest.close()
        for path in paths:
            self.assertEqual(vqload.wrong_sectors(path), [])


if __name__ == '__main__':
    main()
