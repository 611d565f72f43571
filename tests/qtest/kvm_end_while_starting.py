#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGTERM ends a process that is still making its processors or touching its memory, and leaves
nothing behind; many processors are no reason for a long start."""
import os
import signal
import subprocess
import time

from lib import QtestCase, main
from lib.kernels import require_kvm
from lib.process import BINARY, check_reports, popen

MANY = 1000
LIMIT = 120


class KvmEndWhileStarting(QtestCase):
    def start(self, *args):
        self.pidfile = os.path.join(self.tmp, 'pid')
        return popen([BINARY, '-machine', 'q35', '-display', 'none', '-nodefaults', '-pidfile',
                      self.pidfile, '-S', *args], stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def threads(self, process):
        try:
            return len(os.listdir('/proc/%d/task' % process.pid))
        except FileNotFoundError:
            return 0

    def test_processors(self):
        require_kvm()
        process = self.start('-accel', 'kvm', '-cpu', 'kvm64,check=off', '-smp', str(MANY))
        end = time.monotonic() + LIMIT
        while self.threads(process) < 20:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        most = 0
        while process.poll() is None:
            self.assertLess(time.monotonic(), end)
            most = max(most, self.threads(process))
            time.sleep(0.001)
        _, err = process.communicate()
        check_reports(err)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn('terminating on signal 15', err)
        self.assertNotIn('nterrupted', err)
        self.assertLess(most, MANY)
        self.assertFalse(os.path.exists(self.pidfile))

    def test_names_of_many_siblings(self):
        with self.vm('-smp', str(MANY)) as vm:
            names = [c['name'] for c in vm.qmp('qom-list', path='/machine/unattached')
                     if c['type'] == 'child<qemu64-x86_64-cpu>']
            self.assertEqual(len(names), MANY)
            self.assertEqual(len(set(names)), MANY)
            numbers = sorted(int(n[len('device['):-1]) for n in names)
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + MANY)))


if __name__ == '__main__':
    main()
