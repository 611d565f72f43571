#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The process ends while all queues are busy: at once, with status 0, and no block half written."""
import signal

from bare import KvmCase, main, vqload


class EndUnderLoad(KvmCase):
    def end(self, how, case):
        path = self.file(pattern=True)
        guest = self.guest(case + ':rw=30,v=2,irq=1', path=path)
        guest.wait_for('START')
        self.settles(lambda: guest.operations() > 500, True, 'the load runs')
        guest.close(how)
        self.assertEqual(vqload.wrong_sectors(path), [])

    def test_quit(self):
        for case in ('buf:threads:2:8:16', 'buf:io_uring:4:8:16:cpus=2'):
            with self.subTest(case):
                self.end('quit', case)

    def test_sigterm(self):
        for case in ('buf:threads:4:8:16:cpus=2', 'buf:io_uring:1:8:16'):
            with self.subTest(case):
                self.end(signal.SIGTERM, case)

    def test_sigint(self):
        self.end(signal.SIGINT, 'buf:threads:2:8:16')

    def test_sighup(self):
        self.end(signal.SIGHUP, 'buf:io_uring:2:8:16')

    def test_quit_while_stopped(self):
        path = self.file(pattern=True)
        guest = self.guest('buf:threads:2:8:16:rw=30,v=2', path=path)
        guest.wait_for('START')
        self.settles(lambda: guest.operations() > 100, True, 'the load runs')
        guest.qmp.command('stop')
        guest.close()
        self.assertEqual(vqload.wrong_sectors(path), [])


if __name__ == '__main__':
    main()
