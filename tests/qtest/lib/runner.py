# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the test cases of a file and reports them as TAP (Test Anything Protocol)."""
import functools
import os
import shutil
import sys
import tempfile
import time
import traceback
import unittest

from .process import BINARY, VM, is_spindle

FAST_TMP = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None


def reference_fails(reason):
    """For a test that the reference does not pass: `reason` says what it does and why ours is
    right. The test is skipped there."""
    def decorate(test):
        @functools.wraps(test)
        def wrapper(self, *args):
            if not is_spindle():
                self.skipTest('the reference differs: ' + reason)
            return test(self, *args)
        return wrapper
    return decorate


def needs_root(test):
    @functools.wraps(test)
    def wrapper(self, *args):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        return test(self, *args)
    return wrapper


class QtestCase(unittest.TestCase):
    """A test case with a directory of its own and machines that end with it."""
    maxDiff = 4000

    def run(self, result=None):
        self._vms = []
        return super().run(result)

    @property
    def tmp(self):
        if not hasattr(self, '_tmp'):
            self._tmp = tempfile.mkdtemp(prefix='spindle-qtest.')
            self.addCleanup(shutil.rmtree, self._tmp, ignore_errors=True)
        return self._tmp

    def vm(self, *args, **kwargs):
        """Starts a machine; it is ended, and its end checked, after the test."""
        vm = VM(*args, **kwargs)
        self._vms.append(vm)
        self.addCleanup(vm.close)
        return vm

    def image(self, name='disk.raw', size=64 << 20, fill=None):
        """A sparse file in the test's directory."""
        path = os.path.join(self.tmp, name)
        with open(path, 'wb') as f:
            if fill:
                f.write(fill)
            f.truncate(max(size, len(fill or b'')))
        return path

    def file_bytes(self, path, offset, size):
        with open(path, 'rb') as f:
            f.seek(offset)
            return f.read(size)

    def qmp_fails(self, vm, command, desc, error_class='GenericError', **arguments):
        """The command must fail with exactly that text."""
        from .qmp import QmpError
        with self.assertRaises(QmpError) as caught:
            vm.qmp(command, **arguments)
        self.assertEqual((caught.exception.error_class, caught.exception.desc), (error_class, desc))

    def leaves_nothing(self, vm, before):
        """The process has become what footprint() said before, or has fewer threads."""
        def same():
            threads, fds, nodes = vm.footprint()
            return 'same' if threads <= before[0] and (fds, nodes) == before[1:] else \
                (threads, fds, nodes)
        self.settles(same, 'same', 'threads, descriptors and nodes were %s' % (before,))

    def settles(self, function, expected, what, timeout=60):
        """Waits until function() returns `expected`; the last value goes into the message."""
        end = time.monotonic() + timeout
        while True:
            value = function()
            if value == expected:
                return
            if time.monotonic() > end:
                self.assertEqual(value, expected, what)
            time.sleep(0.01)


class _TapResult(unittest.TestResult):
    def __init__(self, out, total):
        super().__init__()
        self.out, self.number = out, 0
        self.out.write('TAP version 13\n1..%d\n' % total)
        self.out.flush()
        self._subtest_failed = False

    def startTest(self, test):
        super().startTest(test)
        self._subtest_failed = False
        self._started = time.monotonic()

    def _line(self, good, test, note=''):
        self.number += 1
        self.out.write('%sok %d - %s%s\n' % ('' if good else 'not ', self.number,
                                             test.id().split('.', 1)[-1], note))
        self.out.flush()

    def _explain(self, test, err):
        text = ''.join(traceback.format_exception(*err))
        for vm in getattr(test, '_vms', ()):
            try:
                text += 'argv: %s\nstderr: %s\n' % (' '.join(vm.argv), vm.stderr()[-4000:])
            except (OSError, ValueError):
                pass
        for line in text.rstrip().split('\n'):
            self.out.write('# %s\n' % line)
        self.out.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line(True, test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.out.write('# in %s\n' % subtest)
            self._explain(test, err)
            if not self._subtest_failed:
                self._subtest_failed = True
                self._line(False, test)

    def addError(self, test, err):
        super().addError(test, err)
        if not hasattr(self, '_started'):
            self._started = time.monotonic()
        if not self._subtest_failed:
            self._subtest_failed = True
            self._line(False, test)
        self._explain(test, err)

    def addFailure(self, test, err):
        self.addError(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(True, test, ' # SKIP ' + reason)

    def stopTest(self, test):
        super().stopTest(test)
        if os.environ.get('QTEST_TIMES'):
            self.out.write('# %.2f s %s\n' % (time.monotonic() - self._started, test.id()))


def _flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _flatten(item)
        else:
            yield item


def main(names=None):
    """Runs the tests of the main module (or those named on the command line)."""
    module = sys.modules['__main__']
    loader = unittest.TestLoader()
    tests = list(_flatten(loader.loadTestsFromModule(module)))
    wanted = sys.argv[1:] if names is None else names
    if wanted:
        tests = [t for t in tests if any(w in t.id() for w in wanted)]
    if not tests:
        print('1..0 # SKIP no test of that name' if wanted else 'Bail out! no tests')
        sys.exit(0 if wanted else 1)
    if not os.access(BINARY, os.X_OK):
        print('Bail out! no binary at %s (SPINDLE_TEST_BINARY selects another)' % BINARY)
        sys.exit(1)
    result = _TapResult(sys.stdout, len(tests))
    for test in tests:
        test(result)
    sys.exit(0 if result.wasSuccessful() else 1)
