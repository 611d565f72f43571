# SPDX-License-Identifier: GPL-2.0-or-later
"""The base class of the functional tests, and their main()."""
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from lib import runner
from lib.process import popen, _running

from . import Unavailable, nested, place
from .guest import IN_RIG, START_WITHIN, Guest, GuestReset

START_ATTEMPTS = 3
LAST_START = time.monotonic() + float(os.environ.get(START_WITHIN, 'inf'))


def takes_direct(directory):
    """Whether a directory's file system takes O_DIRECT."""
    if not os.path.isdir(directory):
        return False
    try:
        with tempfile.NamedTemporaryFile(dir=directory) as f:
            os.close(os.open(f.name, os.O_RDWR | os.O_DIRECT))
        return True
    except OSError:
        return False


class GuestCase(runner.QtestCase):
    """A test case with guests that end with it."""

    def run(self, result=None):
        if time.monotonic() > LAST_START:
            result.startTest(self)
            result.addSkip(self, 'the rig is too slow: no time left after %s s' % os.environ[START_WITHIN])
            result.stopTest(self)
            return result
        return super().run(result)

    def guest(self, *args, smp=1, **kwargs):
        """Starts a guest. In the rig, one with several processors that resets itself while it starts is
        started again, and the report says so."""
        attempts = START_ATTEMPTS if IN_RIG and smp > 1 else 1
        while True:
            attempts -= 1
            try:
                guest = Guest(*args, smp=smp, **kwargs)
                break
            except GuestReset as e:
                if not attempts:
                    raise
                print('# the guest reset itself while it started; once more:')
                print('\n'.join('#   ' + line for line in str(e).split('\n')), flush=True)
        self._vms.append(guest)
        self.addCleanup(guest.end)
        return guest

    def direct_image(self, name, size):
        """A sparse file on a file system that takes O_DIRECT."""
        for directory in ('/images', self.tmp, '/var/tmp', os.getcwd()):
            if takes_direct(directory):
                path = os.path.join(tempfile.mkdtemp(prefix='spindle-image.', dir=directory), name)
                self.addCleanup(os.rmdir, os.path.dirname(path))
                self.addCleanup(os.unlink, path)
                with open(path, 'wb') as f:
                    f.truncate(size)
                return path
        self.fail('no file system that takes O_DIRECT')

    def digest(self, path):
        """What Guest.digest() says of a disk, of its image."""
        digest = hashlib.md5()
        with open(path, 'rb') as f:
            for part in iter(lambda: f.read(1 << 20), b''):
                digest.update(part)
        return digest.hexdigest()

    def host_fio(self, *args):
        """Runs fio outside of the guest; it must succeed."""
        p = popen(['fio', *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                  stderr=subprocess.STDOUT, text=True, cwd=self.tmp)
        said, _ = p.communicate(timeout=600)
        _running.discard(p)
        self.assertEqual(p.returncode, 0, said)


def names_of_main():
    """The names of the main module's test cases, or those that the command line asks for."""
    loader = unittest.TestLoader()
    names = [test.id().split('.', 1)[-1]
             for test in runner._flatten(loader.loadTestsFromModule(sys.modules['__main__']))]
    return [name for name in names
            if not sys.argv[1:] or any(wanted in name for wanted in sys.argv[1:])]


def main(limit=1700):
    """Runs the tests of the main module here or in the rig, or skips them, saying why."""
    # Whoever ends the test early wants its directories gone, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        where = place.choose()
        if where == 'rig':
            sys.exit(nested.run_test(sys.argv[0], names_of_main(), limit))
        place.guest_files()
    except Unavailable as e:
        names = names_of_main()
        print('TAP version 13\n1..%d' % len(names))
        for number, name in enumerate(names, 1):
            print('ok %d - %s # SKIP %s' % (number, name, e))
        sys.exit(0)
    runner.main()
