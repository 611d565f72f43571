# SPDX-License-Identifier: GPL-2.0-or-later
"""Test cases that run the bare guest (tests/bench/guest) on KVM."""
import atexit
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(os.path.dirname(HERE), d) for d in ('qtest', 'bench')]

import vqload                                              # noqa: E402
from lib import BINARY, QtestCase, is_spindle, main        # noqa: E402,F401
from lib.process import _running, check_reports, popen     # noqa: E402
from lib.qmp import Qmp                                    # noqa: E402

LIMIT = 120     # seconds: only ends a hang
STALL = 100     # seconds after which the guest says that nothing comes back
_scratch = None


def guest_elf():
    global _scratch
    if os.environ.get('SPINDLE_VQLOAD'):
        return os.environ['SPINDLE_VQLOAD']
    if not _scratch:
        _scratch = tempfile.mkdtemp(prefix='spindle-kvm.')
        atexit.register(shutil.rmtree, _scratch, True)
        vqload.build(_scratch)
    return os.path.join(_scratch, 'vqload.elf')


class Guest:
    """A running machine with the bare guest in it; its words are those of a benchmark's case."""

    def __init__(self, case, files, *args, words='', wrapper=(), machine='q35'):
        text = case + ':stall=%d' % STALL + (':' + words if words else '')
        self.case = vqload.Case(text)
        self.dir = tempfile.mkdtemp(prefix='spindle-kvm.')
        self.output = vqload.Output()
        self.argv = [*wrapper, BINARY, *vqload.machine_args(self.case, guest_elf(), files, 0, end=[],
                                                           machine=machine),
                     '-qmp', 'unix:%s/qmp,server=on,wait=off' % self.dir, *args]
        self.log = open(self.dir + '/stderr', 'w+b')
        self.process = popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.pid = self.process.pid
        self.closed = False
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self._qmp = None

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.decode('utf-8', 'replace'))
        self.lines.put(None)

    def stderr(self):
        with open(self.dir + '/stderr', 'rb') as f:
            return f.read().decode('utf-8', 'replace')

    def wait_for(self, *prefixes):
        """Reads what the guest says up to a line that begins so."""
        while True:
            try:
                line = self.lines.get(timeout=LIMIT)
            except queue.Empty:
                raise AssertionError('the guest said nothing more; last: %r' % self.output.lines[-3:]) \
                    from None
            if line is None:
                raise AssertionError('the emulator ended (%s) before the guest said %s: %r; stderr: %s'
                                     % (self.process.wait(LIMIT), ' or '.join(prefixes),
                                        self.output.lines[-3:], self.stderr()))
            self.output.take(line)
            if line.startswith(prefixes):
                return line
            if line.startswith('FAIL'):
                raise AssertionError('the guest: ' + line)

    @property
    def qmp(self):
        if self._qmp is None:
            import socket
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(LIMIT)
            s.connect(self.dir + '/qmp')
            s.settimeout(None)
            self._qmp = Qmp(s, timeout=LIMIT)
        return self._qmp

    def operations(self, disk=0):
        """Requests of a disk that are done, as the emulator counts them."""
        for b in self.qmp.command('query-blockstats'):
            if ('/vd%d/' % disk) in (b.get('qdev') or ''):
                return b['stats']['rd_operations'] + b['stats']['wr_operations']
        raise AssertionError('no statistics of disk %d' % disk)

    def queue_stats(self, disk=0):
        """{queue: its counters}, and those of the event loops."""
        info = self.qmp.command('query-virtqueue-stats', device='vd%d' % disk)
        return {q['index']: q for q in info['devices'][0]['queues']}, info['event-loops']

    def end_load(self):
        """For a guest with ctl=1."""
        self.process.stdin.write(b'e')
        self.process.stdin.flush()

    def result(self):
        """Waits for the guest's end; what it counted, without a complaint."""
        self.wait_for('DONE')
        if self.output.complaint:
            raise AssertionError('%s: %s' % (self.output.complaint, '\n'.join(self.output.lines)))
        return self.output

    def close(self, how='quit', expected=0):
        """Ends the process by a QMP command or a signal, and checks how it ended."""
        if self.closed:
            return
        self.closed = True
        try:
            if self.process.poll() is None:
                if how == 'quit':
                    self.qmp.command('quit')
                else:
                    self.process.send_signal(how)
            status = self.process.wait(LIMIT)
        except (subprocess.TimeoutExpired, OSError, EOFError) as e:
            self.process.kill()
            status = 'none: %r' % e
        finally:
            self._gone()
        text = self.stderr()
        shutil.rmtree(self.dir, True)
        check_reports(text)
        if status != expected:
            raise AssertionError('exit status %s; stderr: %s\nargv: %s' % (status, text, ' '.join(self.argv)))

    def kill(self):
        """After a failure."""
        if not self.closed:
            self.closed = True
            self.process.kill()
            self._gone()
            shutil.rmtree(self.dir, True)

    def _gone(self):
        self.process.wait()
        _running.discard(self.process)
        if self._qmp:
            self._qmp.close()
        self.process.stdin.close()
        self.reader.join(LIMIT)
        self.process.stdout.close()
        self.log.close()


class KvmCase(QtestCase):
    IMAGE = 16 << 20

    def setUp(self):
        problem = vqload.kvm_problem()
        if problem:
            self.skipTest(problem)

    def file(self, pattern=False):
        """An image on tmpfs where there is one: generation 0 of the pattern, or zeros."""
        shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        fd, path = tempfile.mkstemp(prefix='spindle-kvm.', suffix='.raw', dir=shm)
        os.close(fd)
        self.addCleanup(os.unlink, path)
        if pattern:
            vqload.write_pattern(path, self.IMAGE)
        else:
            os.truncate(path, self.IMAGE)
        return path

    def guest(self, case, *args, path=None, **kwargs):
        """`file` as the disk of a case stands for `path`, through the page cache."""
        guest = Guest(case, {'buf': path, 'shm': path}, *args, **kwargs)
        self._vms.append(guest)
        self.addCleanup(guest.kill)
        return guest


END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
