#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupt controllers and timer, the kernel's and ours (kernel-irqchip=split): a guest gets ticks
through the 8259s and the I/O APIC, and level-triggered interrupts as often as it should."""
import os
import shutil
import subprocess

from lib import QtestCase, main, run_binary
from lib.kernels import DEBUG_EXIT, elf, require_kvm

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'irqchip-guest.S')


class KvmIrqchip(QtestCase):
    def setUp(self):
        require_kvm()
        for tool in 'cc', 'ld', 'objcopy':
            if not shutil.which(tool):
                self.skipTest('there is no %s to build the guest with' % tool)

    def guest(self):
        path = os.path.join(self.tmp, 'guest')
        for command in (['cc', '-m32', '-c', SOURCE, '-o', path + '.o'],
                        ['ld', '-m', 'elf_i386', '-Ttext=0x100000', '-e', 'start', path + '.o',
                         '-o', path + '.bin'],
                        ['objcopy', '-O', 'binary', '-j', '.text', path + '.bin', path + '.raw']):
            subprocess.run(command, check=True, timeout=60)
        with open(path + '.raw', 'rb') as f:
            code = f.read()
        with open(path, 'wb') as f:
            f.write(elf(code))
        return path

    def shown(self, machine, accel):
        out = os.path.join(self.tmp, 'serial')
        done = run_binary(['-machine', machine, '-accel', accel, '-display', 'none', '-nodefaults',
                           '-cpu', 'kvm64,check=off', '-kernel', self.guest(), '-device',
                           DEBUG_EXIT, '-chardev', 'file,id=s0,path=' + out,
                           '-device', 'isa-serial,chardev=s0'])
        self.assertEqual((done.returncode, done.stderr), (1, ''))
        with open(out, encoding='ascii') as f:
            return f.read()

    def test_in_the_kernel(self):
        """Ticks only: where a guest's kernel is emulated, KVM itself now and then delivers a level
        once too often, to any emulator."""
        for machine in 'q35', 'pc':
            self.assertEqual(self.shown(machine, 'kvm')[:2], 'PA', machine)

    def test_split(self):
        for machine in 'q35', 'pc':
            self.assertEqual(self.shown(machine, 'kvm,kernel-irqchip=split'), 'PALMT', machine)
        self.assertEqual(self.shown('q35,kernel-irqchip=split', 'kvm'), 'PALMT')


if __name__ == '__main__':
    main()
