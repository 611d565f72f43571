#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-rtc and -boot as a running guest sees them: date and boot order in CMOS, the same after a reset."""
import struct
import time

from lib import QtestCase, main
from lib.kernels import exit_code, require_kvm, run_and_read

SECONDS, MINUTES, HOURS, DAY, MONTH, YEAR, CENTURY = 0, 2, 4, 7, 8, 9, 0x32
BOOT_3, BOOT_1_2 = 0x38, 0x3d
COUNT = struct.pack('<I', 0x300000)


def port(number):
    return b'\xba' + struct.pack('<I', number)      # mov $number, %edx


def show(index):
    return port(0x70) + bytes([0xb0, index, 0xee]) + port(0x71) + b'\xec' + port(0x3f8) + b'\xee'


# incl COUNT; cmpl $2, COUNT; je +12; mov $0x64, %edx; mov $0xfe, %al; out; cli; hlt; jmp
RESET_ONCE = (b'\xff\x05' + COUNT + b'\x83\x3d' + COUNT + b'\x02\x74\x0c' + port(0x64) +
              b'\xb0\xfe\xee\xfa\xf4\xeb\xfd')


class KvmGuestClock(QtestCase):
    def setUp(self):
        require_kvm()

    def cmos(self, indexes, *args, before=b'', **kwargs):
        code = before + b''.join(show(i) for i in indexes) + exit_code(0)
        return list(run_and_read(self.tmp, code, *args, **kwargs))

    def date(self, *args, **kwargs):
        """(year, month, day, hour, minute)"""
        values = self.cmos((CENTURY, YEAR, MONTH, DAY, HOURS, MINUTES), *args, **kwargs)
        century, *rest = [(v >> 4) * 10 + (v & 15) for v in values]
        return (century * 100 + rest[0], *rest[1:])

    def test_date(self):
        for base, expected in (('2031-05-06T07:08:00', (2031, 5, 6, 7, 8)),
                               ('1999-12-31', (1999, 12, 31, 0, 0)),
                               ('2000-02-29T23:58:00', (2000, 2, 29, 23, 58))):
            for more in '', ',clock=vm', ',clock=rt', ',driftfix=slew':
                for machine in ('q35', 'pc') if not more else ('q35,kernel-irqchip=split',):
                    with self.subTest(base + more):
                        self.assertEqual(self.date('-rtc', 'base=' + base + more, machine=machine),
                                         expected)

    def test_now(self):
        for base in 'utc', 'utc,clock=vm':
            before = int(time.time())
            shown = self.date('-rtc', 'base=' + base)
            allowed = [time.gmtime(t)[:5] for t in range(before - 60, int(time.time()) + 60, 30)]
            self.assertIn(shown, allowed)

    def test_date_after_a_reset(self):
        self.assertEqual(self.date('-rtc', 'base=2031-05-06T07:08:00', before=RESET_ONCE),
                         (2031, 5, 6, 7, 8))

    def test_boot_order(self):
        # One digit per drive: 1 floppy, 2 disk, 3 CD-ROM, 4 network; the low bit of BOOT_3 is for
        # firmware that checks the signature of floppies.
        for words, expected in (('order=c', (0, 0x02)), ('c', (0, 0x02)), ('order=dc', (0, 0x23)),
                                ('order=cdn', (0x40, 0x32)), ('order=n,menu=on', (0, 0x04))):
            with self.subTest(words):
                third, first = self.cmos((BOOT_3, BOOT_1_2), '-boot', words)
                self.assertEqual((third & 0xf0, first), expected)

    def test_boot_once(self):
        order = ('-boot', 'order=c,once=d')
        self.assertEqual(self.cmos((BOOT_1_2,), *order), [0x03])
        self.assertEqual(self.cmos((BOOT_1_2,), *order, before=RESET_ONCE), [0x02])


if __name__ == '__main__':
    main()
