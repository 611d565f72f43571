#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-daemonize: the parent returns once the guest is there; the guest runs in the child, which the file
of -pidfile names and QMP reaches."""
import os
import signal
import socket
import subprocess
import tempfile

from bare import BINARY, LIMIT, KvmCase, guest_elf, main, vqload
from lib import thread_names
from lib.qmp import Qmp


class Daemonize(KvmCase):
    def start(self, *args):
        """The parent's end, and the child's number."""
        directory = tempfile.mkdtemp(dir=self.tmp)
        pidfile = directory + '/pid'
        case = vqload.Case('null:-:2:2:8:irq=1,ctl=1,cpus=2')
        argv = vqload.machine_args(case, guest_elf(), {}, 0, end=[])
        argv[argv.index('-serial') + 1] = 'file:%s/serial' % directory
        done = subprocess.run([BINARY, *argv, '-daemonize', '-pidfile', pidfile, '-qmp',
                               'unix:%s/qmp,server=on,wait=off' % directory, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                              check=False)
        pid = None
        if os.path.exists(pidfile):
            with open(pidfile, encoding='ascii') as f:
                pid = int(f.read())
            self.addCleanup(self.kill, pid)
        return done, pid, directory

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    @staticmethod
    def alive(pid):
        """A child of nobody's may stay a zombie."""
        try:
            with open('/proc/%d/stat' % pid, encoding='utf-8') as f:
                return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
        except OSError:
            return False

    def test_guest_runs_in_the_child(self):
        done, pid, directory = self.start()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(LIMIT)
        s.connect(directory + '/qmp')
        s.settimeout(None)
        qmp = Qmp(s, timeout=LIMIT)
        self.assertTrue(qmp.command('query-status')['running'])
        names = thread_names(pid).values()
        self.assertEqual(sorted(n for n in names if n.startswith('CPU ')), ['CPU 0/KVM', 'CPU 1/KVM'])
        self.assertEqual({c['thread-id'] for c in qmp.command('query-cpus-fast')} - set(thread_names(pid)),
                         set())

        def operations():
            return sum(b['stats']['rd_operations'] for b in qmp.command('query-blockstats'))
        self.settles(lambda: operations() > 1000, True, 'the guest reads', LIMIT)
        self.assertNotEqual(os.getsid(pid), os.getsid(0))
        self.assertEqual(os.readlink('/proc/%d/fd/2' % pid), '/dev/null')
        qmp.command('quit')
        qmp.close()
        self.settles(lambda: self.alive(pid), False, 'the child ends', LIMIT)

    def test_what_goes_wrong_is_told_by_the_parent(self):
        done, pid, _ = self.start('-device', 'virtio-blk-pci,drive=nosuchdrive')
        self.assertEqual(done.returncode, 1)
        self.assertIn("nosuchdrive", done.stderr)
        if pid:
            self.settles(lambda: self.alive(pid), False, 'the child ends', LIMIT)


if __name__ == '__main__':
    main()
