# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts the binary under test with a QMP and a qtest connection.

SPINDLE_TEST_BINARY names the binary; without it, the one in build/ is taken. The same tests drive
the reference: its distribution package has no qtest accelerator, so it gets TCG and a firmware that
only halts, and serves the qtest protocol beside it.
"""
import atexit
import ctypes
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from .proc import fd_count, thread_names
from .qmp import Qmp
from .qtest import Qtest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BINARY = os.environ.get('SPINDLE_TEST_BINARY') or os.path.join(TOP, 'build', 'qemu-system-x86_64')
REFERENCE = os.environ.get('SPINDLE_REFERENCE_BINARY') or '/usr/bin/qemu-system-x86_64'
SANITIZER_REPORTS = ('ERROR: AddressSanitizer', 'ERROR: LeakSanitizer', 'runtime error:',
                     'WARNING: ThreadSanitizer', 'MemorySanitizer')
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)
_running = set()


@atexit.register
def _kill_all():
    for p in list(_running):
        if p.poll() is None:
            p.kill()
            p.wait()


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@functools.lru_cache(maxsize=None)
def version_text(binary=None):
    return subprocess.run([binary or BINARY, '--version'], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=True).stdout


def is_spindle(binary=None):
    return 'Spindle' in version_text(binary or BINARY)


def is_instrumented(binary=None):
    """Whether a sanitizer is built into it: then it is slow and makes system calls of its own."""
    with open(binary or BINARY, 'rb') as f:
        data = f.read()
    return b'__asan_init' in data or b'__tsan_init' in data


def halting_firmware(directory):
    """64 KiB of code that disables interrupts and halts, for an emulator that must run some."""
    path = os.path.join(directory, 'halt.bin')
    if not os.path.exists(path):
        with open(path, 'wb') as f:
            f.write(b'\xf4' * 0xfff0 + b'\xfa\xf4\xeb\xfd' + b'\xf4' * 12)
    return path


def accel_args(directory, binary=None, paused=False):
    if is_spindle(binary):
        return ['-accel', 'qtest']
    return ['-accel', 'tcg'] + ([] if paused else ['-bios', halting_firmware(directory)])


def popen(argv, **kwargs):
    """A child that does not outlive the test."""
    preexec = kwargs.pop('preexec_fn', None)

    def before_exec():
        _die_with_parent()
        if preexec:
            preexec()
    p = subprocess.Popen(argv, preexec_fn=before_exec, **kwargs)
    _running.add(p)
    return p


def run_binary(args, binary=None, timeout=60, **kwargs):
    """Runs the binary to its end; returns a CompletedProcess with text output."""
    p = popen([binary or BINARY, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE, text=True, **kwargs)
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        raise AssertionError('%r did not end; stderr: %s' % (args, err)) from None
    finally:
        _running.discard(p)
    check_reports(err)
    return subprocess.CompletedProcess(args, p.returncode, out, err)


def check_reports(text):
    for report in SANITIZER_REPORTS:
        if report in text:
            raise AssertionError('sanitizer report:\n' + text[-20000:])


class StartFailed(Exception):
    def __init__(self, returncode, stderr, argv):
        self.returncode = returncode
        self.stderr = stderr
        super().__init__('exit %s, stderr: %s\nargv: %s' % (returncode, stderr, ' '.join(argv)))


class VM:
    """A running machine. Guest memory, ports and PCI configuration are reached through methods."""

    RAM_START = 0x100000

    def __init__(self, *args, machine='q35', paused=False, binary=None, nodefaults=True, env=None,
                 preexec_fn=None, cwd=None, oob=False, wrapper=(), ram=128):
        self.binary = binary or BINARY
        self.spindle = is_spindle(self.binary)
        self.machine = machine.split(',')[0]
        self.dir = tempfile.mkdtemp(prefix='qtest.')
        self.qmp_client = self.qt = None
        self.expect_status = 0
        self.checked = False
        self._alloc = self.RAM_START
        self.ram_end = ram << 20
        qmp_listener = self._listen('qmp.sock')
        qtest_listener = self._listen('qtest.sock')
        self.argv = [*wrapper, self.binary, '-machine', machine, '-display', 'none',
                     *accel_args(self.dir, self.binary, paused),
                     '-qtest', 'unix:%s/qtest.sock' % self.dir, '-qtest-log', '/dev/null',
                     '-chardev', 'socket,path=%s/qmp.sock,id=qmp0' % self.dir,
                     '-mon', 'chardev=qmp0,mode=control']
        if nodefaults:
            self.argv.append('-nodefaults')
        if ram != 128:
            self.argv += ['-m', str(ram)]
        if paused:
            self.argv.append('-S')
        self.argv += [str(a) for a in args]
        self.log = open(self.dir + '/stderr', 'w+b')
        environment = dict(os.environ)
        environment.update(env or {})
        self.process = popen(self.argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                             env=environment, preexec_fn=preexec_fn, cwd=cwd)
        self.pid = self.process.pid
        try:
            self.qt = Qtest(self._accept(qtest_listener))
            self.qmp_client = Qmp(self._accept(qmp_listener), oob=oob)
        except (EOFError, OSError, StartFailed) as e:
            self.process.kill() if self.process.poll() is None and \
                not isinstance(e, (EOFError, ConnectionError)) else None
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            text = self.stderr()
            self._cleanup()
            check_reports(text)
            raise StartFailed(self.process.returncode, text, self.argv) from None
        finally:
            qmp_listener.close()
            qtest_listener.close()

    def _listen(self, name):
        s = socket.socket(socket.AF_UNIX)
        s.bind(os.path.join(self.dir, name))
        s.listen(1)
        s.settimeout(0.05)
        return s

    def _accept(self, listener):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                s, _ = listener.accept()
                s.setblocking(True)
                return s
            except socket.timeout:
                if self.process.poll() is not None:
                    raise StartFailed(self.process.returncode, '', self.argv) from None
        raise StartFailed(None, 'did not connect', self.argv)

    # ---- life ----

    def stderr(self):
        with open(self.dir + '/stderr', 'rb') as f:
            return f.read().decode('utf-8', 'replace')

    def alive(self):
        return self.process.poll() is None

    def wait_exit(self, timeout=60):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError('the process did not end') from None

    def terminate(self):
        """SIGTERM and the exit status."""
        if self.alive():
            if self.qt:
                try:
                    self.qt.flush()
                except (EOFError, OSError):
                    pass
            self.process.send_signal(signal.SIGTERM)
        return self.wait_exit()

    def close(self):
        """Ends the process and checks that it ended well and reported nothing wrong."""
        if self.checked:
            return
        self.checked = True
        try:
            status = self.terminate()
        except AssertionError:
            self.process.kill()
            self.process.wait()
            status = 'hung at SIGTERM'
        text = self.stderr()
        self._cleanup()
        check_reports(text)
        if self.expect_status is not None and status != self.expect_status:
            raise AssertionError('exit status %s, expected %s; stderr: %s\nargv: %s'
                                 % (status, self.expect_status, text[-8000:], ' '.join(self.argv)))

    def kill(self):
        self.checked = True
        if self.alive():
            self.process.kill()
        self.process.wait()
        self._cleanup()

    def _cleanup(self):
        for c in (self.qmp_client, self.qt):
            if c:
                c.close()
        self.log.close()
        _running.discard(self.process)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
        else:
            self.kill()

    # ---- QMP ----

    def qmp(self, command, **arguments):
        self.qt.flush()
        return self.qmp_client.command(command, **arguments)

    def execute(self, command, arguments=None, **fields):
        self.qt.flush()
        return self.qmp_client.execute(command, arguments, **fields)

    def hmp(self, line):
        self.qt.flush()
        return self.qmp_client.hmp(line)

    def wait_event(self, name, **kwargs):
        self.qt.flush()
        return self.qmp_client.wait_event(name, **kwargs)

    def take_events(self, name=None):
        return self.qmp_client.take_events(name)

    def iothreads(self):
        """{id: thread id}"""
        return {t['id']: t['thread-id'] for t in self.qmp('query-iothreads')}

    def status(self):
        return self.qmp('query-status')['status']

    def nodes(self):
        return sorted(n['node-name'] for n in self.qmp('query-named-block-nodes')
                      if not n['node-name'].startswith('#'))

    def footprint(self):
        """(threads, descriptors, named nodes): what a failed command must leave as it was. Worker
        threads, which come and go by themselves, do not count."""
        names = thread_names(self.pid).values()
        return len([n for n in names if n != 'worker']), fd_count(self.pid), self.nodes()

    # ---- guest memory ----

    def alloc(self, size, align=4096):
        """Guest memory that nothing else uses; never freed."""
        start = -(-self._alloc // align) * align
        if start + size > self.ram_end:
            raise AssertionError('guest memory used up')
        self._alloc = start + size
        return start
