#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest on KVM sees of its processor: models by name, features on and off, what the host
cannot give."""
import os
import re

from lib import REFERENCE, QtestCase, main, run_binary
from lib.kernels import DEBUG_EXIT, elf, exit_code, read_cpuid, require_kvm

LEAVES = [(0, 0), (1, 0), (6, 0), (7, 0), (7, 1), (7, 2), (0xd, 0), (0xd, 1), (0xd, 2), (0xd, 5),
          (0x40000000, 0), (0x40000001, 0), (0x80000000, 0), (0x80000001, 0), (0x80000002, 0),
          (0x80000003, 0), (0x80000004, 0), (0x80000007, 0), (0x80000008, 0), (0x80000021, 0)]


def model_id(regs):
    data = b''.join(r.to_bytes(4, 'little') for leaf in range(0x80000002, 0x80000005)
                    for r in regs[(leaf, 0)])
    return data.rstrip(b'\0').decode()


class KvmCpuModels(QtestCase):
    def setUp(self):
        require_kvm()

    def cpuid(self, cpu, **kwargs):
        return read_cpuid(self.tmp, LEAVES, cpu, **kwargs)

    def start(self, cpu, *args):
        kernel = os.path.join(self.tmp, 'exit.elf')
        with open(kernel, 'wb') as f:
            f.write(elf(exit_code(0)))
        return run_binary(['-machine', 'q35', '-accel', 'kvm', '-display', 'none', '-nodefaults',
                           '-cpu', cpu, '-kernel', kernel, '-device', DEBUG_EXIT, *args])

    def refused(self, cpu, text):
        done = self.start(cpu)
        self.assertEqual(done.returncode, 1)
        self.assertIn(text, done.stderr)

    def names(self):
        done = run_binary(['-cpu', 'help'])
        return re.findall(r'^  (\S+)$', done.stdout.split('\n\n')[0], re.M)

    def test_every_model_starts(self):
        names = self.names()
        for name in ('EPYC', 'EPYC-Rome-v4', 'Skylake-Server-IBRS', 'Cascadelake-Server-noTSX',
                     'Icelake-Server-v7', 'Haswell-noTSX', 'Opteron_G5', 'core2duo', 'Penryn',
                     'x86-64-v2-AES', 'x86-64-v3', 'max', 'host'):
            self.assertIn(name, names)
        for name in names:
            if name in ('host', 'max'):
                continue
            with self.subTest(name):
                done = self.start(name + ',check=off')
                self.assertEqual(done.returncode, 1, done.stderr)
                # Not every host lets its guests have this register.
                for line in done.stderr.splitlines():
                    self.assertIn('refuses to set MSR 0x', line)

    def test_the_same_as_the_reference(self):
        if not os.access(REFERENCE, os.X_OK):
            self.skipTest('the reference is not installed')
        for cpu in ('kvm64', 'qemu64', 'EPYC-v3', 'Haswell-noTSX', 'Nehalem,+aes,-popcnt',
                    'EPYC-Milan,+kvm_pv_unhalt,-x2apic,model-id=A B,kvm=off',
                    'Penryn,family=15,model=33,stepping=7,phys-bits=36',
                    'host,-arch-capabilities,-topoext,host-phys-bits=off,phys-bits=44,-overflow-recov,-succor'):
            with self.subTest(cpu):
                try:
                    expected = self.cpuid(cpu, binary=REFERENCE)
                except AssertionError as e:
                    self.skipTest('the reference does not run this guest: %s' % e)
                ours = self.cpuid(cpu)
                for leaf in LEAVES:
                    self.assertEqual(['%08x' % r for r in ours[leaf]],
                                     ['%08x' % r for r in expected[leaf]], '%x.%d' % leaf)

    def test_identity(self):
        regs = self.cpuid('Haswell,vendor=GenuineIntel,model-id=One of a kind,family=6,model=0x3f,'
                          'stepping=2,check=off')
        self.assertEqual(regs[(0, 0)][1], int.from_bytes(b'Genu', 'little'))
        self.assertEqual(regs[(1, 0)][0], 0x306f2)
        self.assertEqual(model_id(regs), 'One of a kind')

    def test_signs_of_a_virtual_machine(self):
        base = self.cpuid('kvm64,check=off')
        self.assertEqual(base[(0x40000000, 0)][1:3], (0x4b4d564b, 0x564b4d56))
        self.assertTrue(base[(1, 0)][2] & 1 << 31)
        regs = self.cpuid('kvm64,hypervisor=off,kvm=off,check=off')
        self.assertNotEqual(regs[(0x40000000, 0)][1:3], (0x4b4d564b, 0x564b4d56))
        self.assertFalse(regs[(1, 0)][2] & 1 << 31)
        for text, clear, there in (('kvmclock=off', 9, 0), ('+kvm_pv_unhalt', 0, 1 << 7),
                                   ('-kvm-pv-eoi', 1 << 6, 0)):
            word = self.cpuid('kvm64,check=off,' + text)[(0x40000001, 0)][0]
            self.assertEqual((word & clear, word & there), (0, there), text)

    def test_physical_address_bits(self):
        host = self.cpuid('host,-arch-capabilities')[(0x80000008, 0)][0] & 0xff
        for cpu, bits in (('kvm64', min(40, host)), ('kvm64,host-phys-bits=on', host),
                          ('kvm64,phys-bits=36', 36),
                          ('kvm64,host-phys-bits=on,host-phys-bits-limit=39', min(39, host))):
            self.assertEqual(self.cpuid(cpu + ',check=off')[(0x80000008, 0)][0] & 0xff, bits, cpu)

    def test_what_the_host_does_not_have(self):
        words = self.cpuid('host,-arch-capabilities')
        missing = next((n for n, here in (('vmx', words[(1, 0)][2] & 1 << 5),
                                          ('3dnow', words[(0x80000001, 0)][3] & 1 << 31))
                        if not here), None)
        if not missing:
            self.skipTest('the host has everything')
        text = "warning: host doesn't support requested feature: CPUID"
        done = self.start('kvm64,+' + missing)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"%s\.[0-9A-F]+H:E[A-D]X\.%s \[bit \d+\]" % (text, missing))
        self.assertNotIn(missing, self.start('kvm64,check=off,+' + missing).stderr)
        done = self.start('kvm64,check=off,%s=off' % missing)
        self.assertEqual(done.stderr, '')
        self.refused('kvm64,enforce,+' + missing, "Host doesn't support requested features")

    def test_values_that_are_wrong(self):
        for cpu, text in (
                ('nosuch', "unable to find CPU model 'nosuch'"),
                ('kvm64,+nosuch', "Property 'kvm64-x86_64-cpu.nosuch' not found"),
                ('kvm64,nosuch=on', "can't apply global kvm64-x86_64-cpu.nosuch=on: "),
                ('kvm64,avx=maybe', "Parameter 'avx' expects 'on' or 'off'"),
                ('kvm64,phys-bits=99', 'phys-bits should be between 32 and 52  (but is 99)'),
                ('kvm64,family=999', "parameter 'family' can be at most 270"),
                ('kvm64,stepping=16', "parameter 'stepping' can be at most 15"),
                ('kvm64,vendor=x', "must consist of exactly 12 characters"),
                ('kvm64,level=-1', "Parameter 'level' expects uint64"),
                ('kvm64,hv-relaxed', 'hv-relaxed is not supported'),
                ('kvm64,hv_spinlocks=0x1fff', 'hv-spinlocks is not supported'),
                ('kvm64,lmce=on', 'lmce=on is not supported')):
            with self.subTest(cpu):
                self.refused(cpu, text)

    def test_frequency(self):
        done = self.start('kvm64,check=off,tsc-frequency=1234000000')
        self.assertEqual(done.returncode, 1)
        if done.stderr:
            self.assertIn('TSC frequency mismatch between VM (1234000 kHz) and host', done.stderr)


if __name__ == '__main__':
    main()
