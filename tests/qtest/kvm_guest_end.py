#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How a guest's run ends or starts anew: what -action, -no-reboot and -no-shutdown make of poweroff,
reset and panic, which events are sent with which reason, and the exit status."""
import json
import os
import select
import signal
import struct
import subprocess
import time

from lib import QtestCase, main
from lib.kernels import elf
from lib.process import BINARY, check_reports, popen

LIMIT = 60
COUNT = struct.pack('<I', 0x300000)     # a word that a reset leaves alone
HALT = b'\xfa\xf4\xeb\xfd'              # cli; 1: hlt; jmp 1b
SPIN = b'\xf3\x90\xeb\xfc'              # 1: pause; jmp 1b


def out(port, value, wide=False):
    # mov $port, %edx; mov $value, %eax; out %al or %ax, (%dx)
    return b'\xba' + struct.pack('<I', port) + b'\xb8' + struct.pack('<I', value) + \
        (b'\x66\xef' if wide else b'\xee')


def times(n, first, then):
    """The first n runs do one thing, the next another. (incl COUNT; cmpl $n, COUNT; ja; ...)"""
    first += HALT
    return b'\xff\x05' + COUNT + b'\x83\x3d' + COUNT + bytes([n]) + b'\x77' + bytes([len(first)]) + \
        first + then + HALT


POWEROFF = out(0x604, 0x2000, wide=True)
RESETS = {'keyboard controller': out(0x64, 0xfe), 'port 92': out(0x92, 1), 'cf9': out(0xcf9, 6),
          # movl $0, 0x310000; lidt 0x310000; ud2: no handler, not even for the failure of that
          'triple fault': b'\xc7\x05\x00\x00\x31\x00\x00\x00\x00\x00\x0f\x01\x1d\x00\x00\x31\x00'
                          b'\x0f\x0b'}
RESET = RESETS['keyboard controller']
PANIC, CRASH_LOADED, PVSHUTDOWN = out(0x505, 1), out(0x505, 2), out(0x505, 4)
# Waits for the power button (PM1_STS bit 8) and then powers off.
WHEN_ASKED = b'\xba\x00\x06\x00\x00\x66\xed\xf6\xc4\x01\x74\xf9' + POWEROFF + HALT


class Machine:
    def __init__(self, directory, code, args, machine='q35'):
        kernel = os.path.join(directory, 'kernel')
        with open(kernel, 'wb') as f:
            f.write(elf(code))
        self.process = popen([BINARY, '-machine', machine, '-accel', 'kvm', '-cpu', 'kvm64,check=off',
                              '-nodefaults', '-display', 'none', '-kernel', kernel, '-qmp', 'stdio',
                              '-S', *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.buffer = b''
        self.events = []
        self.replies = []
        self.command('qmp_capabilities')
        self.events = []
        self.command('cont')

    def message(self):
        end = time.monotonic() + LIMIT
        while b'\n' not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], end - time.monotonic())
            if not ready:
                raise AssertionError('nothing for %d s; events: %r' % (LIMIT, self.events))
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b'\n', 1)
        m = json.loads(line)
        if 'event' in m:
            self.events.append((m['event'], *(m.get('data') or {}).values()))
        return m

    def send(self, name, **arguments):
        text = json.dumps({'execute': name, 'arguments': arguments}).encode() + b'\n'
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def command(self, name, **arguments):
        self.send(name, **arguments)
        while True:
            m = self.message()
            if m is None or 'return' in m or 'error' in m:
                return m

    def until(self, event, count=1):
        while [e[0] for e in self.events].count(event) < count:
            if self.message() is None:
                raise AssertionError('ended; events: %r' % self.events)

    def end(self):
        while self.message() is not None:
            pass
        self.process.stdin.close()
        status = self.process.wait(LIMIT)
        err = self.process.stderr.read().decode()
        check_reports(err)
        self.process.stderr.close()
        self.process.stdout.close()
        return status


class KvmGuestEnd(QtestCase):
    STOP, RESUME = ('STOP',), ('RESUME',)

    def setUp(self):
        if not os.access('/dev/kvm', os.R_OK | os.W_OK):
            self.skipTest('there is no /dev/kvm that may be used')

    def start(self, code, *args, machine='q35'):
        m = Machine(self.tmp, code, args, machine)
        self.addCleanup(self.kill, m.process)
        return m

    def kill(self, process):
        process.kill()
        process.wait()

    def ends(self, code, *args, events, status=0, machine='q35'):
        """It runs to its end by itself."""
        m = self.start(code, *args, machine=machine)
        got = m.end()
        self.assertEqual((m.events, got), ([self.RESUME, *events], status), args)

    def stands(self, code, *args, events, run_state, machine='q35'):
        """It comes to stand, and is told to quit."""
        m = self.start(code, *args, machine=machine)
        m.until(events[-1][0])
        self.assertEqual(m.events, [self.RESUME, *events], args)
        self.assertEqual(m.command('query-status')['return'], {'running': False, 'status': run_state})
        m.command('quit')
        self.assertEqual(m.end(), 0)
        self.assertEqual(m.events, [self.RESUME, *events, ('SHUTDOWN', False, 'host-qmp-quit')])

    def test_poweroff(self):
        off = ('SHUTDOWN', True, 'guest-shutdown')
        for machine in 'q35', 'pc':
            self.ends(POWEROFF + HALT, events=[off], machine=machine)
        self.ends(POWEROFF + HALT, '-action', 'shutdown=poweroff', events=[off])
        for args in (('-no-shutdown',), ('-action', 'shutdown=pause')):
            self.stands(POWEROFF + HALT, *args, events=[off, self.STOP], run_state='shutdown')

    def test_reset(self):
        reset, off = ('RESET', True, 'guest-reset'), ('SHUTDOWN', True, 'guest-shutdown')
        for name, code in RESETS.items():
            for machine in ('q35', 'pc'):
                with self.subTest(name + ' on ' + machine):
                    self.ends(times(2, code, POWEROFF), events=[reset, reset, off], machine=machine)
        self.ends(times(1, RESET, POWEROFF), '-action', 'reboot=reset', events=[reset, off])

    def test_reset_that_is_an_end(self):
        end = ('SHUTDOWN', True, 'guest-reset')
        for name, code in RESETS.items():
            with self.subTest(name):
                self.ends(code + HALT, '-no-reboot', events=[end])
        self.ends(RESET + HALT, '-action', 'reboot=shutdown', events=[end])
        self.stands(RESET + HALT, '-no-reboot', '-no-shutdown', events=[end, self.STOP],
                    run_state='shutdown')
        self.stands(RESET + HALT, '-action', 'reboot=shutdown,shutdown=pause', events=[end, self.STOP],
                    run_state='shutdown')

    def test_panic(self):
        pvpanic = ('-device', 'pvpanic')
        pause, off = ('GUEST_PANICKED', 'pause'), ('GUEST_PANICKED', 'poweroff')
        down = ('SHUTDOWN', True, 'guest-panic')
        self.ends(PANIC + HALT, *pvpanic, events=[off, down])
        self.ends(PANIC + HALT, *pvpanic, '-action', 'panic=shutdown', events=[off, down])
        self.ends(PANIC + HALT, *pvpanic, '-action', 'panic=exit-failure', events=[off, down], status=1)
        self.stands(PANIC + HALT, *pvpanic, '-action', 'panic=pause', events=[pause, self.STOP],
                    run_state='guest-panicked')
        self.stands(PANIC + HALT, *pvpanic, '-no-shutdown', events=[pause, self.STOP],
                    run_state='guest-panicked')
        self.stands(PANIC + HALT, *pvpanic, '-action', 'panic=exit-failure', '-no-shutdown',
                    events=[off, down, self.STOP], run_state='shutdown')
        self.ends(PANIC + POWEROFF + HALT, *pvpanic, '-action', 'panic=none',
                  events=[('GUEST_PANICKED', 'run'), ('SHUTDOWN', True, 'guest-shutdown')])

    def test_other_words_of_pvpanic(self):
        off = ('SHUTDOWN', True, 'guest-shutdown')
        pvpanic = ('-device', 'pvpanic')
        self.ends(CRASH_LOADED + POWEROFF + HALT, *pvpanic, events=[('GUEST_CRASHLOADED', 'run'), off])
        self.ends(PVSHUTDOWN + HALT, *pvpanic, events=[('GUEST_PVSHUTDOWN',), off])
        self.stands(PVSHUTDOWN + HALT, *pvpanic, '-no-shutdown',
                    events=[('GUEST_PVSHUTDOWN',), off, self.STOP], run_state='shutdown')
        # Without the device nobody hears it.
        self.ends(PANIC + POWEROFF + HALT, events=[off])

    def test_signals(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            for code in HALT, SPIN:
                for args in ((), ('-no-reboot',), ('-no-shutdown',)):
                    m = self.start(code, *args)
                    m.process.send_signal(number)
                    self.assertEqual(m.end(), 0)
                    self.assertEqual(m.events, [self.RESUME, ('SHUTDOWN', False, 'host-signal')])

    def test_commands(self):
        for code in HALT, SPIN:
            m = self.start(code)
            m.command('system_reset')
            m.until('RESET')
            m.command('stop')
            self.assertEqual(m.command('query-status')['return'],
                             {'running': False, 'status': 'paused'})
            m.command('cont')
            m.command('system_reset')
            m.until('RESET', 2)
            m.command('system_powerdown')
            m.until('POWERDOWN')
            m.command('quit')
            self.assertEqual(m.end(), 0)
            reset = ('RESET', False, 'host-qmp-system-reset')
            self.assertEqual(m.events, [self.RESUME, reset, self.STOP, self.RESUME, reset,
                                        ('POWERDOWN',), ('SHUTDOWN', False, 'host-qmp-quit')])

    def test_system_reset_that_is_an_end(self):
        end = ('SHUTDOWN', False, 'host-qmp-system-reset')
        m = self.start(SPIN, '-no-reboot')
        m.command('system_reset')
        self.assertEqual(m.end(), 0)
        self.assertEqual(m.events, [self.RESUME, end])

    def test_power_button(self):
        for machine in 'q35', 'pc':
            m = self.start(WHEN_ASKED, machine=machine)
            m.command('system_powerdown')
            self.assertEqual(m.end(), 0)
            self.assertEqual(m.events, [self.RESUME, ('POWERDOWN',),
                                        ('SHUTDOWN', True, 'guest-shutdown')])

    def test_actions_are_changed(self):
        off = ('SHUTDOWN', True, 'guest-shutdown')
        m = self.start(WHEN_ASKED)
        m.command('set-action', shutdown='pause')
        m.command('system_powerdown')
        m.until('STOP')
        self.assertEqual(m.events, [self.RESUME, ('POWERDOWN',), off, self.STOP])
        self.assertEqual(m.command('query-status')['return']['status'], 'shutdown')
        m.command('set-action', shutdown='poweroff')
        m.command('system_reset')
        m.until('RESET')
        m.command('cont')
        m.command('system_powerdown')
        self.assertEqual(m.end(), 0)
        self.assertEqual(m.events[-2:], [('POWERDOWN',), off])

    def test_set_action_of_reboot(self):
        m = self.start(times(2, WHEN_ASKED.replace(POWEROFF, RESET), POWEROFF))
        m.command('system_powerdown')
        m.until('RESET')
        m.command('set-action', reboot='shutdown')
        m.command('system_powerdown')
        self.assertEqual(m.end(), 0)
        self.assertEqual(m.events[-1], ('SHUTDOWN', True, 'guest-reset'))

    def test_actions_of_a_watchdog(self):
        m = self.start(HALT)
        for value in 'reset', 'shutdown', 'poweroff', 'pause', 'debug', 'none', 'inject-nmi':
            for args in (('-action', 'watchdog=' + value), ('-watchdog-action', value)):
                self.ends(POWEROFF + HALT, *args, events=[('SHUTDOWN', True, 'guest-shutdown')])
            self.assertEqual(m.command('set-action', watchdog=value), {'return': {}})
            self.assertEqual(m.command('watchdog-set-action', action=value), {'return': {}})
        self.assertIn('error', m.command('set-action', watchdog='x'))
        m.command('quit')
        self.assertEqual(m.end(), 0)


if __name__ == '__main__':
    main()
