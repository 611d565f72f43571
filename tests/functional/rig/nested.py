# SPDX-License-Identifier: GPL-2.0-or-later
"""The rig: real KVM inside an emulated processor, for hosts whose own KVM runs no guest kernels.

    this host   the reference emulator under TCG, which emulates a processor with SVM
    level 1     Linux with kvm-amd, in RAM; runs the test, and the emulator under test. One processor:
                with two, it now and then hangs in a spin lock or dies of a corrupted stack
    level 2     Linux with its own virtio-blk driver and fio, started by that emulator

Level 1 has two serial ports: the first is its console, which is kept for the report of a failure, the
second is what the test prints.
"""
import glob
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

from lib.process import BINARY, REFERENCE, _running, popen

from . import FUNCTIONAL, TOP, lean
from .cpio import Archive
from .kernel import QUICK, guest_kernel
from .guest import START_WITHIN
from .place import guest_initramfs, static_busybox, tool

MODULES = ['irqbypass', 'kvm', 'kvm-amd', 'brd']
END = 'RIG-STATUS'
KERNEL_DIED = 'the kernel of level 1 died or hung'
# Level 1 sends an empty line each BEAT seconds; one that has sent nothing for SILENT does nothing.
BEAT, SILENT = 10, 180
# The last test case is started so many seconds before the limit; the rest is skipped.
LONGEST_CASE = 300
PASSED_ON = ('QTEST_TIMES', 'QTEST_VERBOSE', 'ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'LSAN_OPTIONS',
             'SPINDLE_AIO_ENGINE')
RESULT = re.compile(r'(ok|not ok) \d+ - (\S+)(.*)')
PLAN = re.compile(r'1\.\.\d+')
NOT_NEEDED = {'test', 'tests', 'idlelib', 'lib2to3', 'tkinter', 'turtledemo', 'ensurepip', 'distutils',
              'pydoc_data', 'site-packages', 'dist-packages', 'lib-dynload'}

INIT = '''#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs -o size=90% tmp /tmp
mount -t tmpfs shm /dev/shm
while read -r m; do
    case $m in
    kvm-amd) insmod /mod/$m.ko nested=0 ;;
    brd) insmod /mod/$m.ko rd_nr=1 rd_size=1048576 ;;
    *) insmod /mod/$m.ko ;;
    esac
done </mod/order
mkdir -p /images
mke2fs -F -b 4096 /dev/ram0 >/dev/null && mount -t ext4 /dev/ram0 /images
port=/dev/ttyS1
stty -F $port raw -echo
export PATH=/bin HOME=/root
while sleep BEAT; do echo; done >$port 2>/dev/null &
'''.replace('BEAT', str(BEAT))


def add_python(archive):
    """The interpreter at the path it has here, and its library."""
    executable = os.path.realpath(sys.executable)
    archive.program(executable, executable)
    library = sysconfig.get_paths()['stdlib']
    archive.tree(library, library, leave_out=NOT_NEEDED | {
        os.path.basename(d) for d in glob.glob(library + '/config-*')})
    for path in glob.glob(library + '/lib-dynload/*.so'):
        if '_tkinter' not in path:
            archive.program(path, path)
    archive.link('bin/python3', executable)


def quote(word):
    return "'" + word.replace("'", "'\\''") + "'"


def level_one(path, directory, binary, command, files=()):
    """Writes the root file system of level 1. `command` is shell text; what it prints goes out by
    the second serial port."""
    kernel = guest_kernel()
    guest_initramfs(directory + '/guest', kernel)
    environment = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
    environment.update(SPINDLE_TEST_BINARY='/bin/' + os.path.basename(binary),
                       SPINDLE_GUEST_KERNEL='/spindle/kernel', SPINDLE_GUEST_INITRAMFS='/spindle/guest')
    with Archive(path) as a:
        a.base(static_busybox())
        a.program(binary)
        lean.add_program(a, tool('fio', 'fio'), 'bin/fio', directory)
        add_python(a)
        kernel.add_modules(a, MODULES)
        a.file('spindle/kernel', kernel.image)
        a.file('spindle/guest', directory + '/guest')
        for part in ('tests/functional', 'tests/qtest/lib'):
            a.tree('spindle/' + part, os.path.join(TOP, part))
        for source, name in files:
            (a.tree if os.path.isdir(source) else a.file)(name, source)
        a.text('init', INIT + ''.join('export %s=%s\n' % (k, quote(v)) for k, v in environment.items()) +
               '{\n%s\n} </dev/null >$port 2>&1\nprintf "\\n%s %%d\\n" $? >$port\n' % (command, END) +
               'sync\npoweroff -f\n', 0o755)


def tail(path, lines=40):
    """The last lines of a file, or all."""
    try:
        with open(path, 'rb') as f:
            return f.read().decode(errors='replace').replace('\r', '').split('\n')[-(lines or 0):]
    except OSError:
        return []


def end_if_silent(p, heard, hung):
    """Ends a rig that hangs. `heard` holds when it was last heard of, `hung` is set."""
    while p.poll() is None:
        time.sleep(1)
        if time.monotonic() - heard[0] > SILENT:
            hung.set()
            p.kill()


def run(binary, command, files=(), limit=900, out=None):
    """Runs a shell command in level 1; passes on what it prints line by line to `out`, a function;
    returns its status. If it did not end: None, with a report passed on, or KERNEL_DIED if the kernel
    of level 1 died."""
    out = out or (lambda line: print(line, flush=True))
    kernel = guest_kernel()
    with tempfile.TemporaryDirectory(prefix='spindle-rig.') as directory:
        level_one(directory + '/initramfs', directory, binary, command, files)
        argv = [REFERENCE, '-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', 'max',
                '-smp', '1', '-m', '4096', '-nodefaults', '-no-user-config', '-display', 'none',
                '-no-reboot', '-serial', 'file:%s/console' % directory,
                '-chardev', 'stdio,id=out,signal=off', '-serial', 'chardev:out',
                '-kernel', kernel.image, '-initrd', directory + '/initramfs',
                '-append', 'console=ttyS0 quiet panic=-1 oops=panic ' + QUICK]
        p = popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                  stderr=open(directory + '/stderr', 'wb'))
        timer = threading.Timer(limit, p.kill)
        timer.daemon = True
        timer.start()
        status = None
        heard, hung = [time.monotonic()], threading.Event()
        threading.Thread(target=end_if_silent, args=(p, heard, hung), daemon=True).start()
        try:
            for raw in p.stdout:
                heard[0] = time.monotonic()
                line = raw.decode(errors='replace').rstrip('\r\n')
                if line.startswith(END):
                    status = int(line.split()[1])
                elif line:
                    out(line)
        finally:
            timer.cancel()
            if status is None:
                p.kill()
            p.wait()
            _running.discard(p)
        if status is None:
            console = tail(directory + '/console', None)
            out('# the rig ended too early (limit: %d s)' % limit)
            for line in console[-40:] + tail(directory + '/stderr'):
                out('# ' + line)
            if hung.is_set() or any('Kernel panic' in line for line in console):
                status = KERNEL_DIED
        return status


class Report:
    """Puts the reports of several runs together into one: a test case counts once, by its first result."""

    def __init__(self, names):
        self.names, self.results = names, {}
        print('TAP version 13\n1..%d' % len(names), flush=True)

    def missing(self):
        return [name for name in self.names if name not in self.results]

    def line(self, line):
        result = RESULT.match(line)
        if result:
            good, name, note = result.groups()
            self.result(good, name, note)
        elif line != 'TAP version 13' and not PLAN.match(line):
            print(line, flush=True)

    def result(self, good, name, note=''):
        if name in self.missing():
            self.results[name] = good
            print('%s %d - %s%s' % (good, len(self.results), name, note), flush=True)

    def status(self):
        return 1 if self.missing() or 'not ok' in self.results.values() else 0


def run_test(script, names, limit):
    """Runs test cases of a file of this folder, by their names ("Class.test_name"), in level 1; returns
    an exit status. If the kernel of level 1 dies, the cases without a result go on in a fresh rig, the
    one that ran at the time as well, once."""
    path = os.path.relpath(os.path.abspath(script), FUNCTIONAL)
    report = Report(names)
    end = time.monotonic() + limit
    status, interrupted = KERNEL_DIED, set()
    while report.missing() and status == KERNEL_DIED:
        left = max(1, end - time.monotonic())
        command = 'cd /spindle && %s=%d python3 -B tests/functional/%s %s' % (
            START_WITHIN, left - LONGEST_CASE, quote(path), ' '.join(map(quote, report.missing())))
        status = run(os.path.abspath(BINARY), command, limit=left, out=report.line)
        if status == KERNEL_DIED and report.missing():
            name = report.missing()[0]
            print('# %s during %s' % (KERNEL_DIED, name), flush=True)
            if name in interrupted:
                report.result('not ok', name)
            interrupted.add(name)
            print('# in a fresh rig: ' + (' '.join(report.missing()) or 'nothing'), flush=True)
    if report.missing():
        print('Bail out! the rig did not finish', flush=True)
        return 1
    return report.status()
