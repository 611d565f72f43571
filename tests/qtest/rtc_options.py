#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-rtc: what the guest's clock shows at start, and what it goes by."""
import time

from lib import QtestCase, main, reference_fails, run_binary

SECONDS, MINUTES, HOURS, DAY, MONTH, YEAR, A, B, C, CENTURY = 0, 2, 4, 7, 8, 9, 10, 11, 12, 0x32


class RtcOptions(QtestCase):
    def cmos(self, vm, index, value=None):
        vm.qt.outb(0x70, index)
        if value is None:
            return vm.qt.inb(0x71)
        vm.qt.outb(0x71, value)
        return None

    def shown(self, vm):
        def bcd(index):
            v = self.cmos(vm, index)
            return (v >> 4) * 10 + (v & 15)
        return (bcd(CENTURY) * 100 + bcd(YEAR), bcd(MONTH), bcd(DAY), bcd(HOURS), bcd(MINUTES))

    def test_base(self):
        for base, expected in (('2031-05-06T07:08:09', (2031, 5, 6, 7, 8)),
                               ('1999-12-31', (1999, 12, 31, 0, 0))):
            with self.subTest(base):
                self.assertEqual(self.shown(self.vm('-rtc', 'base=' + base)), expected)

    def test_utc_and_local_time(self):
        env = {'TZ': 'XST-05:30'}
        for base, shift in (('utc', 0), ('localtime', 19800)):
            for clock in ('host', 'rt', 'vm'):
                vm = self.vm('-rtc', 'base=%s,clock=%s' % (base, clock), env=env)
                before = int(time.time()) + shift
                shown = self.shown(vm)
                times = [time.gmtime(t)[:5] for t in range(before - 120, before + 120, 30)]
                self.assertIn(shown, times, (base, clock))

    @reference_fails('its guest time is not moved by a client')
    def test_clock_of_the_guest(self):
        vm = self.vm('-rtc', 'base=2030-01-01,clock=vm')
        vm.qt.ask('clock_step %d' % (3 * 3600 * 10**9))
        self.assertEqual(self.shown(vm), (2030, 1, 1, 3, 0))

    def ticks_seen_late(self, fix):
        """How many periodic interrupts are there after 10 periods in which nobody looked."""
        vm = self.vm('-rtc', 'base=utc,driftfix=' + fix)
        self.cmos(vm, A, 0x26)
        self.cmos(vm, B, 0x42)
        self.cmos(vm, C)
        for _ in range(10):
            vm.qt.ask('clock_step 976563')
        seen = 0
        while self.cmos(vm, C) & 0x40:
            seen += 1
        return seen

    @reference_fails('its guest time is not moved by a client')
    def test_lost_ticks(self):
        self.assertEqual(self.ticks_seen_late('none'), 1)
        self.assertEqual(self.ticks_seen_late('slew'), 10)

    def test_errors(self):
        for value, message in (('base=x', 'invalid datetime format'),
                               ('base=2020-13-01', 'invalid datetime format'),
                               ('base=2020-01-01T10', 'invalid datetime format'),
                               ('base=2020-01-01x', 'invalid datetime format'),
                               ('clock=x', "invalid option value 'x'"),
                               ('driftfix=x', "invalid option value 'x'"),
                               ('x=y', "Invalid parameter 'x'")):
            done = run_binary(['-rtc', value])
            self.assertEqual(done.returncode, 1)
            self.assertIn('-rtc ' + value, done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == '__main__':
    main()
