#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The 8254 timer is there unless -machine pit=off, whoever emulates it, and after a reset, too."""
import struct

from lib import QtestCase, main
from lib.kernels import exit_code, require_kvm, run_and_read

COM1, SPEAKER, COUNTER_2, CONTROL = 0x3f8, 0x61, 0x42, 0x43
LOW_HIGH_MODE_0, READ_STATUS_2 = 0xb0, 0xe8


def port(number):
    return b'\xba' + struct.pack('<I', number)      # mov $number, %edx


def out(number, value):
    return port(number) + bytes([0xb0, value, 0xee])


def show(number):
    return port(number) + b'\xec' + port(COM1) + b'\xee'


# Counter 2 is told to count down once from 0x1234, while its gate is shut; then its status is read.
PROBE = (out(SPEAKER, 0) + out(CONTROL, LOW_HIGH_MODE_0) + out(COUNTER_2, 0x34) +
         out(COUNTER_2, 0x12) + out(CONTROL, READ_STATUS_2) + show(COUNTER_2))


class KvmPit(QtestCase):
    def setUp(self):
        require_kvm()

    def status(self, machine):
        return run_and_read(self.tmp, PROBE + exit_code(0), machine=machine)[0]

    def test_by_default(self):
        for machine in 'q35', 'pc', 'q35,pit=on', 'pc,pit=auto':
            for chip in 'on', 'split':
                with self.subTest('%s, irqchip %s' % (machine, chip)):
                    status = self.status('%s,kernel-irqchip=%s' % (machine, chip))
                    self.assertEqual(status & 0x3f, LOW_HIGH_MODE_0 & 0x3f)

    def test_switched_off(self):
        for machine in 'q35', 'pc':
            for chip in 'on', 'split':
                with self.subTest('%s, irqchip %s' % (machine, chip)):
                    self.assertEqual(
                        self.status('%s,pit=off,kernel-irqchip=%s' % (machine, chip)), 0xff)

    def test_switched_off_and_reset(self):
        # In memory that a reset keeps: how often it has come here. The second time it ends.
        count = 0x300000
        code = (b'\xff\x05' + struct.pack('<I', count) +        # incl count
                b'\x83\x3d' + struct.pack('<I', count) + b'\x02' +  # cmpl $2, count
                b'\x74\x0c' +                                   # je +12
                out(0x64, 0xfe) + b'\xfa\xf4\xeb\xfd')          # reset by the 8042; cli; hlt; jmp
        for off in '', ',pit=off':
            for chip in 'on', 'split':
                data = run_and_read(self.tmp, code + PROBE + exit_code(0),
                                    machine='q35,kernel-irqchip=%s%s' % (chip, off))
                self.assertEqual(len(data), 1)
                self.assertEqual(data[0] == 0xff, bool(off))


if __name__ == '__main__':
    main()
