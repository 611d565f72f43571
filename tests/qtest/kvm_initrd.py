#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where an initrd lies in guest memory: below 4 GiB if it fits there, above if the kernel says that
it can; that the guest finds all of it there, again after a reset; and what is refused."""
import os
import random
import struct

from lib import QtestCase, main, run_binary
from lib.kernels import bzimage, elf, exit_code, require_kvm, run_and_read

MIB, GIB = 1 << 20, 1 << 30
KERNEL_64, ABOVE_4G = 1, 2
LOW = 64 * MIB      # RAM below 4 GiB, where -machine says so
BOOT_PARAMS = 0x00007000

# 64-bit code of a Linux kernel. Maps the GiB at 4 GiB by a page directory at 3 MiB, and writes the
# size of the initrd (two halves), its address, and then all of it to COM1.
SHOW_INITRD = (
    b'\xfc\x49\x89\xf0' +                                   # cld; mov %rsi, %r8 (boot parameters)
    b'\x48\xb9' + struct.pack('<Q', 4 * GIB + 0x83) +       # mov $4 GiB | present ..., %rcx
    b'\xbf' + struct.pack('<I', 3 * MIB) +                  # mov $3 MiB, %edi
    b'\xba' + struct.pack('<I', 512) +                      # mov $512, %edx
    b'\x48\x89\x0f\x48\x81\xc1\x00\x00\x20\x00'             # 1: mov %rcx, (%rdi); add $2 MiB, %rcx
    b'\x48\x83\xc7\x08\xff\xca\x75\xee'                     # add $8, %rdi; dec %edx; jnz 1b
    b'\x0f\x20\xd8\x48\x8b\x18' +                           # mov %cr3, %rax; mov (%rax), %rbx
    b'\x48\x81\xe3\x00\xf0\xff\xff' +                       # and $-4096, %rbx
    b'\xb9' + struct.pack('<I', 3 * MIB | 3) +              # mov $3 MiB | present ..., %ecx
    b'\x48\x89\x4b\x20\x0f\x22\xd8' +                       # mov %rcx, 32(%rbx); mov %rax, %cr3
    b'\xba' + struct.pack('<I', 0x3f8) +                    # mov $0x3f8, %edx
    b''.join(b'\x49\x8d\xb0' + struct.pack('<I', at) +      # lea at(%r8), %rsi
             b'\xb9\x04\x00\x00\x00\xf3\x6e'                # mov $4, %ecx; rep outsb
             for at in (0x21c, 0xc4, 0x218, 0xc0)) +
    b'\x41\x8b\xb0\x18\x02\x00\x00' +                       # mov 0x218(%r8), %esi
    b'\x41\x8b\x88\xc0\x00\x00\x00\x48\xc1\xe1\x20' +       # mov 0xc0(%r8), %ecx; shl $32, %rcx
    b'\x48\x09\xce\x41\x8b\x88\x1c\x02\x00\x00\xf3\x6e' +   # or %rcx, %rsi; mov 0x21c(%r8), %ecx
    exit_code(0))                                           # rep outsb


class KvmInitrd(QtestCase):
    def setUp(self):
        require_kvm()

    def file(self, name, data):
        path = os.path.join(self.tmp, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def initrd(self, size, name='initrd'):
        return self.file(name, random.Random(size).randbytes(size))

    def linux(self, code=None, flags=KERNEL_64, **kwargs):
        # The 64-bit entry point is 0x200 bytes into the payload.
        return self.file('bz', bzimage(*([code] if code else []), xloadflags=flags, **kwargs))

    def machine(self, kernel, initrd, mib=512, low=None, machine='q35'):
        """A machine that stands, with its memory in a file. For tests that look from outside."""
        ram = os.path.join(self.tmp, 'ram')
        if os.path.exists(ram):
            os.unlink(ram)
        machine += ',memory-backend=m' + (',max-ram-below-4g=%d' % low if low else '')
        return self.vm('-object', 'memory-backend-file,id=m,share=on,mem-path=%s,size=%dM' % (ram, mib),
                       '-m', str(mib), '-kernel', kernel, '-initrd', initrd, machine=machine), ram

    def memory(self, ram, addr, size, low):
        with open(ram, 'rb') as f:
            f.seek(addr if addr < 4 * GIB else addr - 4 * GIB + low)
            return f.read(size)

    def place(self, ram):
        """(address, size) that the boot parameters of a bzImage say."""
        with open(ram, 'rb') as f:
            f.seek(BOOT_PARAMS)
            params = f.read(4096)
        word = [struct.unpack_from('<I', params, at)[0] for at in (0x218, 0xc0, 0x21c, 0xc4)]
        return word[0] | word[1] << 32, word[2] | word[3] << 32

    def test_the_guest_reads_it_above_4g(self):
        size = 3 * 4096 + 77
        initrd = self.initrd(size)
        for machine, args, above in (('q35', (), False), ('q35,max-ram-below-4g=64M', (), True),
                                     ('pc,max-ram-below-4g=64M', (), True)):
            # Too large for what is below, by what follows it: the kernel asks for most of that.
            kernel = self.linux(SHOW_INITRD, KERNEL_64 | ABOVE_4G,
                                init_size=47 * MIB if above else MIB)
            with self.subTest(machine):
                data = run_and_read(self.tmp, b'', '-m', '600', '-initrd', initrd, '-kernel', kernel,
                                    *args, machine=machine)
                told_size, addr = struct.unpack_from('<QQ', data)
                self.assertEqual(told_size, size)
                self.assertEqual(addr % 4096, 0)
                self.assertEqual(addr >= 4 * GIB, above)
                with open(initrd, 'rb') as f:
                    self.assertEqual(data[16:], f.read())

    def test_large_and_again_after_reset(self):
        size = 100 * MIB + 1
        initrd = self.initrd(size)
        vm, ram = self.machine(self.linux(flags=KERNEL_64 | ABOVE_4G), initrd, low=LOW)
        addr, told = self.place(ram)
        self.assertEqual(told, size)
        self.assertGreaterEqual(addr, 4 * GIB)
        self.assertLessEqual(addr + size, 4 * GIB + 512 * MIB - LOW)
        with open(initrd, 'rb') as f:
            expected = f.read()
        self.assertTrue(self.memory(ram, addr, size, LOW) == expected)
        with open(ram, 'r+b') as f:
            f.seek(addr - 4 * GIB + LOW)
            f.write(bytes(size))
            f.seek(BOOT_PARAMS)
            f.write(bytes(4096))
        vm.qmp('system_reset')
        vm.wait_event('RESET')
        self.assertEqual(self.place(ram), (addr, size))
        self.assertTrue(self.memory(ram, addr, size, LOW) == expected)

    def test_below_where_the_kernel_allows(self):
        size = 20 * MIB
        initrd = self.initrd(size)
        for top in 0x0fffffff, 0x37ffffff, 0x03ffffff:
            with self.subTest(hex(top)):
                vm, ram = self.machine(self.linux(initrd_addr_max=top), initrd, mib=1024)
                addr, _ = self.place(ram)
                self.assertEqual(addr, (min(top + 1, 1024 * MIB) - size) & ~0xfff)
                vm.close()

    def test_pvh_is_told_where(self):
        size = 20 * MIB + 5
        initrd = self.initrd(size)
        vm, ram = self.machine(self.file('elf', elf()), initrd, low=LOW)
        with open(ram, 'rb') as f:
            low = f.read(MIB)
        info = low.find(struct.pack('<IIII', 0x336ec578, 1, 0, 1))
        self.assertGreater(info, 0)
        modules, = struct.unpack_from('<Q', low, info + 16)
        addr, told = struct.unpack_from('<QQ', low, modules)
        self.assertEqual(told, size)
        # A kernel that is entered in 32-bit mode looks no further.
        self.assertLessEqual(addr + size, LOW)
        with open(initrd, 'rb') as f:
            self.assertTrue(self.memory(ram, addr, size, LOW) == f.read())
        vm.close()

    def test_too_large(self):
        initrd = self.initrd(100 * MIB)
        for kernel, words in ((self.linux(), 'below 0x80000000'),
                              (self.file('elf', elf()), 'below 0x100000000')):
            for mib in 512, 2048:
                done = run_binary(['-machine', 'q35,max-ram-below-4g=64M', '-accel', 'kvm', '-cpu',
                                   'kvm64,check=off', '-nodefaults', '-display', 'none', '-m', str(mib),
                                   '-kernel', kernel, '-initrd', initrd])
                self.assertEqual(done.returncode, 1)
                self.assertIn('-initrd %s: %d bytes do not fit into guest memory %s'
                              % (initrd, 100 * MIB, words), done.stderr)
        done = run_binary(['-machine', 'q35', '-accel', 'kvm', '-cpu', 'kvm64,check=off',
                           '-nodefaults', '-display', 'none', '-m', '90', '-kernel',
                           self.linux(flags=KERNEL_64 | ABOVE_4G), '-initrd', initrd])
        self.assertEqual(done.returncode, 1)
        self.assertIn('-initrd %s: %d bytes do not fit into guest memory\n' % (initrd, 100 * MIB),
                      done.stderr)


if __name__ == '__main__':
    main()
