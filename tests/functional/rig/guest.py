# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest: the emulator's process, its QMP connection, and a shell in the guest."""
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from lib.process import BINARY, _running, check_reports, is_spindle, popen
from lib.qmp import Qmp

from .kernel import QUICK
from .place import guest_files

ACCEL = os.environ.get('SPINDLE_TEST_ACCEL') or 'kvm'
IN_RIG = bool(os.environ.get('SPINDLE_GUEST_KERNEL'))
LIMIT = 300       # seconds; only ends a hang
START_WITHIN = 'SPINDLE_START_WITHIN' # seconds, in which test cases may begin


class GuestError(AssertionError):
    pass


class GuestReset(GuestError):
    """The guest reset the machine by itself while it started."""


class Agent:
    """The shell behind the guest's second serial port."""

    def __init__(self, sock, guest):
        self.sock, self.guest = sock, guest
        self.buffer, self.number = b'', 0
        self.transcript = []

    def note(self, line):
        self.transcript.append(line)
        if os.environ.get('QTEST_VERBOSE'):
            print('# %s %s' % (time.strftime('%H:%M:%S'), line), flush=True)

    def line(self, timeout=LIMIT):
        """The next line that the guest prints."""
        end = time.monotonic() + timeout
        while b'\n' not in self.buffer:
            ready, _, _ = select.select([self.sock], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise GuestError('the guest said nothing for %d s' % timeout)
            try:
                data = self.sock.recv(1 << 16)
            except ConnectionResetError:
                data = b''
            if not data:
                raise EOFError('the emulator closed the serial port')
            self.buffer += data
        line, self.buffer = self.buffer.split(b'\n', 1)
        text = line.decode(errors='replace')
        self.note(text)
        return text

    def wait_ready(self, timeout=LIMIT):
        """Waits until a guest has started; returns its number of processors."""
        while True:
            line = self.line(timeout)
            if line.startswith('GUEST-READY'):
                return int(line.split()[1])

    def send(self, command):
        self.number += 1
        text = '%d %s' % (self.number, ' '.join(command.split('\n')))
        self.note('> ' + text)
        self.sock.sendall(text.encode() + b'\n')

    def reply(self, timeout=LIMIT):
        """(status, output) of the command sent last."""
        said = []
        while True:
            line = self.line(timeout)
            if line.startswith('END '):
                _, number, status = line.split()
                if int(number) != self.number:
                    raise GuestError('answer %s to command %d' % (number, self.number))
                if said and said[-1] == '':
                    said.pop()
                return int(status), '\n'.join(said)
            if line.startswith('GUEST-READY'):
                raise GuestError('the guest started again by itself')
            said.append(line)


class Guest:
    """Starts the emulator with a Linux guest and waits until the guest takes commands.

    `args` are further arguments. `append` goes to the kernel's command line. With `daemonize` the
    process started ends at once and the emulator goes on by itself. With `reboots` a reset by the
    guest does not end it.
    """

    def __init__(self, *args, machine='q35', smp=1, memory=512, append='', daemonize=False, wait=True,
                 reboots=False, accel=ACCEL):
        self.reboots = reboots
        self.dir = tempfile.mkdtemp(prefix='guest.')
        self.checked = False
        self.expect_status = 0
        self.qmp_client = self.agent = None
        kernel, initrd = guest_files()
        qmp, serial = self._listen('qmp'), self._listen('agent')
        self.argv = [BINARY, '-machine', machine, '-accel', accel, '-smp', str(smp),
                     '-m', str(memory), '-display', 'none', '-nodefaults', '-no-user-config',
                     '-name', 'guest,debug-threads=on', '-pidfile', self.dir + '/pid',
                     '-chardev', 'file,id=console,path=%s/console' % self.dir,
                     '-serial', 'chardev:console',
                     '-chardev', 'socket,id=agent,path=%s/agent' % self.dir,
                     '-serial', 'chardev:agent',
                     '-chardev', 'socket,id=qmp,path=%s/qmp' % self.dir,
                     '-mon', 'chardev=qmp,mode=control',
                     '-kernel', kernel, '-initrd', initrd,
                     '-append', ' '.join(('earlyprintk=ttyS0 console=ttyS0 quiet panic=-1',
                                       QUICK if IN_RIG else '', append)),
                     *([] if reboots else ['-no-reboot']),
                     *(['-daemonize'] if daemonize else []), *map(str, args)]
        self.daemonize = daemonize
        self.log = open(self.dir + '/stderr', 'w+b')
        self.process = popen(self.argv, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.pid = self.process.pid
        try:
            if daemonize:
                status = self.process.wait(LIMIT)
                if status:
                    raise GuestError('-daemonize: exit status %d' % status)
            self.agent = Agent(self._accept(serial), self)
            self.qmp_client = Qmp(self._accept(qmp), timeout=LIMIT)
            if daemonize:
                with open(self.dir + '/pid') as f:
                    self.pid = int(f.read())
            if wait:
                self.cpus = self.agent.wait_ready()
        except BaseException as e:
            reset = isinstance(e, EOFError) and self._was_reset()
            self.kill()
            kind = GuestReset if reset else GuestError
            raise kind('%s\nargv: %s\n%s' % (e, ' '.join(self.argv), self.last_words)) from e
        finally:
            qmp.close()
            serial.close()

    def _was_reset(self):
        """Whether the emulator has ended, well, because the guest reset the machine, and not because
        the guest's kernel panicked."""
        if self.reboots:
            return False
        try:
            with open(self.dir + '/console', 'rb') as f:
                if b'Kernel panic' in f.read():
                    return False
            event = self.qmp_client.wait_event('SHUTDOWN', timeout=10)
            return event['data']['reason'] == 'guest-reset' and self.wait_exit() == 0
        except (AttributeError, EOFError, OSError, TimeoutError, GuestError):
            return False

    def _listen(self, name):
        s = socket.socket(socket.AF_UNIX)
        s.bind(os.path.join(self.dir, name))
        s.listen(1)
        s.settimeout(0.1)
        return s

    def _accept(self, listener):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                s, _ = listener.accept()
                s.setblocking(True)
                return s
            except socket.timeout:
                if not self.alive():
                    raise GuestError('the emulator ended') from None
        raise GuestError('the emulator did not connect')

    # ---- the guest ----

    def run(self, command, check=True, timeout=LIMIT):
        """Runs a shell command in the guest and returns what it printed."""
        self.agent.send(command)
        try:
            status, said = self.agent.reply(timeout)
        except EOFError as e:
            raise GuestError('the guest reset itself' if self._was_reset() else str(e)) from e
        if check and status:
            raise GuestError('in the guest, status %d: %s\n%s' % (status, command, said))
        return said

    def start(self, name, command):
        """Runs a command in the guest beside the others; finish() waits for it."""
        self.run('rm -f /tmp/%s.*; ((%s) >/tmp/%s.out 2>&1; echo $? >/tmp/%s.new;'
                 ' mv /tmp/%s.new /tmp/%s.status) </dev/null >/dev/null 2>&1 &'
                 % (name, command, name, name, name, name))

    def running(self, name):
        return self.run('test -e /tmp/%s.status && echo no || echo yes' % name) == 'yes'

    def finish(self, name, timeout=LIMIT):
        return self.run('while [ ! -e /tmp/%s.status ]; do sleep 0.1; done; cat /tmp/%s.out;'
                        ' exit $(cat /tmp/%s.status)' % (name, name, name), timeout=timeout)

    def wait_until(self, condition, timeout=LIMIT):
        """Waits, in the guest, until a shell command succeeds."""
        self.agent.send('while ! { %s; }; do sleep 0.1; done >/dev/null' % condition)
        try:
            self.agent.reply(timeout)
        except GuestError as e:
            raise GuestError('waited for "%s" in the guest: %s' % (condition, e)) from None

    def disks(self):
        """{serial: name} of the virtio disks."""
        said = self.run('for d in /sys/block/vd*; do read s <$d/serial; echo $s ${d##*/}; done')
        return dict(line.split() for line in said.split('\n') if ' ' in line)

    def digest(self, disk):
        """The MD5 of what the guest reads, past its cache."""
        return self.run('dd if=/dev/%s bs=1M iflag=direct 2>/dev/null | md5sum' % disk).split()[0]

    def wait_ready(self):
        return self.agent.wait_ready()

    # ---- the emulator ----

    def qmp(self, command, **arguments):
        return self.qmp_client.command(command, **arguments)

    def wait_event(self, name, **kwargs):
        return self.qmp_client.wait_event(name, **kwargs)

    def alive(self):
        if self.process.poll() is None:
            return True
        if not self.daemonize:
            return False
        try:
            with open('/proc/%d/stat' % self.pid) as f:
                return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
        except OSError:
            return False

    def wait_exit(self, timeout=LIMIT):
        """Waits for the end of the process; returns its exit status (None for a daemon)."""
        end = time.monotonic() + timeout
        while self.alive():
            if time.monotonic() > end:
                raise GuestError('the emulator did not end within %d s' % timeout)
            time.sleep(0.01)
        return None if self.daemonize else self.process.returncode

    def stderr(self):
        """For the report of a failure: what the emulator and the guest said last."""
        if self.checked:
            return self.last_words

        def tail(path, lines):
            try:
                with open(path, 'rb') as f:
                    return f.read().decode(errors='replace').replace('\r', '').split('\n')[-lines:]
            except OSError:
                return []
        said = self.agent.transcript[-40:] if self.agent else []
        return '\n'.join(tail(self.dir + '/stderr', 40) + ['--- guest console:'] +
                         tail(self.dir + '/console', 60) + ['--- guest shell:'] + said)

    def poweroff(self):
        """Ends the guest from within; the process must end well, for that reason."""
        self.agent.send('sync; poweroff -f')
        event = self.wait_event('SHUTDOWN')
        if (event['data']['guest'], event['data']['reason']) != (True, 'guest-shutdown'):
            raise GuestError('SHUTDOWN said %r' % event['data'])
        self.close(self.wait_exit())

    def close(self, status=None):
        """Ends the process, if it runs, and checks its exit status and what it reported."""
        if self.checked:
            return
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
            status = self.wait_exit()
        else:
            status = self.wait_exit()
        with open(self.dir + '/stderr', 'rb') as f:
            text = f.read().decode(errors='replace')
        self._cleanup()
        check_reports(text)
        if not self.daemonize and status != self.expect_status:
            raise GuestError('exit status %s, expected %s; stderr: %s'
                             % (status, self.expect_status, text[-8000:]))

    def end(self):
        """After a test: whatever still runs."""
        if not self.checked:
            self.kill()

    def kill(self):
        try:
            if self.alive():
                os.kill(self.pid, signal.SIGKILL)
                self.wait_exit()
        finally:
            self._cleanup()

    def _cleanup(self):
        self.last_words = self.stderr()
        self.checked = True
        if self.agent:
            self.agent.sock.close()
        if self.qmp_client:
            self.qmp_client.close()
        self.log.close()
        _running.discard(self.process)
        shutil.rmtree(self.dir, ignore_errors=True)
