#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be started on KVM is refused: status 1, and a message that names the option and the
value. What can be is started."""
import ctypes
import os
import stat
import subprocess

from lib import QtestCase, main, needs_root, run_binary
from lib.kernels import (DEBUG_EXIT, EM_ARM64, bzimage, elf, exit_code, read_guest_memory,
                         require_kvm)
from lib.process import BINARY

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18


class KvmStartErrors(QtestCase):
    def setUp(self):
        require_kvm()

    def file(self, name, data=b''):
        path = os.path.join(self.tmp, name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def start(self, *args, machine='q35', accel=('-accel', 'kvm'), **kwargs):
        return run_binary(['-machine', machine, *accel, '-display', 'none', '-nodefaults', '-cpu',
                           'kvm64,check=off', '-device', DEBUG_EXIT, *args], **kwargs)

    def refused(self, texts, *args, **kwargs):
        """All of the texts are in the message."""
        done = self.start(*args, **kwargs)
        for text in texts:
            self.assertIn(text, done.stderr, args)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, '')

    def runs(self, *args, status=1, **kwargs):
        done = self.start(*args, **kwargs)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    # ---- files ----

    def test_kernels_that_are_none(self):
        image = bzimage()
        for name, data, text in (
                ('empty', b'', 'is empty'),
                ('short', b'x' * 100, 'neither a Linux bzImage nor an ELF file'),
                ('long', b'x' * 70000, 'neither a Linux bzImage nor an ELF file'),
                ('magic', b'\x7fELF', 'damaged ELF'),
                ('header', elf()[:40], 'damaged ELF'),
                ('cut', elf()[:0x1002], 'damaged ELF'),
                ('size', elf(filesz=100000, memsz=200000), 'damaged ELF'),
                ('memsz', elf(memsz=1), 'damaged ELF'),
                ('headers', elf(phnum=65000), 'damaged ELF'),
                ('nothing', elf(phnum=0), 'without a PVH entry point'),
                ('note', elf(note=False), 'without a PVH entry point'),
                ('note32', elf(bits=32, note=False), 'without a PVH entry point'),
                ('arm', elf(machine=EM_ARM64), 'another kind of processor'),
                ('big-endian', elf(data=2), 'another kind of processor'),
                ('class', elf()[:4] + b'\3' + elf()[5:], 'another kind of processor'),
                ('device', elf(paddr=0xf0000000), 'at 0xf0000000, which -m does not give it'),
                ('low', elf(paddr=0xffff0), 'at 0xffff0, which -m does not give it'),
                ('large', elf(memsz=1 << 40), '1099511627776 bytes of memory'),
                ('wraps', elf(paddr=(1 << 64) - 4096, memsz=8192), 'which -m does not give it'),
                ('bz-cut', image[:0x1100], 'truncated'),
                ('bz-header', image[:0x300], 'neither a Linux bzImage nor an ELF file'),
                ('bz-magic', bzimage(magic=b'Hdrs'), 'neither a Linux bzImage'),
                ('bz-old', bzimage(version=0x20b), 'no 64-bit entry point (boot protocol 2.11)'),
                ('bz-32', bzimage(xloadflags=0), 'no 64-bit entry point (boot protocol 2.15)'),
                ('bz-large', bzimage(init_size=1 << 28), '268435456 bytes of memory')):
            with self.subTest(name):
                path = self.file(name, data)
                self.refused(['-kernel: ', "'%s'" % path, text], '-kernel', path)

    def test_kernels_that_run(self):
        code = exit_code(5)
        for name, data in (('elf64', elf(code)), ('elf32', elf(code, bits=32)),
                           ('bzimage', bzimage(code))):
            for machine in 'q35', 'pc':
                with self.subTest(name + ' on ' + machine):
                    self.runs('-kernel', self.file(name, data), machine=machine, status=11)

    def test_files_that_are_missing(self):
        good, gone = self.file('good', elf()), os.path.join(self.tmp, 'gone')
        fifo = os.path.join(self.tmp, 'fifo')
        os.mkfifo(fifo)
        for option, args in (('-kernel', ()), ('-initrd', ('-kernel', good)), ('-bios', ())):
            with self.subTest(option):
                self.refused([option, "'%s'" % gone, 'o such file'], *args, option, gone)
                self.refused([option, "'%s'" % self.tmp], *args, option, self.tmp)
                self.refused([option, "''"], *args, option, '')
                self.refused([option, "'%s'" % fifo, 'Not a regular file'], *args, option, fifo)
        self.refused(['romfile "%s": Not a regular file' % fifo], '-blockdev', 'null-co,node-name=d',
                     '-device', 'virtio-blk-pci,drive=d,romfile=' + fifo)
        for machine, name in (('q35,kernel=' + gone, '-kernel'), ('q35,firmware=' + gone, '-bios')):
            self.refused([name, gone], machine=machine)

    @needs_root
    def test_files_that_may_not_be_read(self):
        good, secret = self.file('good', elf()), self.file('secret', elf())
        os.chmod(self.tmp, 0o755)
        os.chmod(secret, 0)
        os.chmod(good, 0o644)
        binary = self.readable_binary()
        for option, args in (('-kernel', ()), ('-initrd', ('-kernel', good))):
            done = subprocess.run([binary, '-machine', 'q35', '-accel', 'qtest', '-display', 'none',
                                   *args, option, secret], preexec_fn=self.become_nobody,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertIn('%s: could not open' % option, done.stderr)
            self.assertIn("'%s': Permission denied" % secret, done.stderr)
            self.assertEqual(done.returncode, 1)

    @staticmethod
    def become_nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    def readable_binary(self):
        """A copy of the binary where everybody may execute it."""
        path = os.path.join(self.tmp, 'emulator')
        if not os.path.exists(path):
            with open(BINARY, 'rb') as f:
                self.file('emulator', f.read())
        os.chmod(self.tmp, 0o755)
        os.chmod(path, 0o755)
        return path

    def test_initrd(self):
        kernel, initrd = self.file('k', elf()), self.file('initrd')
        self.refused(['-initrd: ', initrd, 'is empty'], '-kernel', kernel, '-initrd', initrd)
        with open(initrd, 'r+b') as f:
            f.truncate(128 << 20)
        self.refused(['-initrd %s' % initrd, '134217728 bytes do not fit into guest memory'],
                     '-kernel', kernel, '-initrd', initrd)
        self.runs('-kernel', self.file('k2', elf(exit_code(0))), '-initrd', initrd, '-m', '300')

    def test_firmware_of_a_wrong_size(self):
        for size in (0, 100, 65537, (8 << 20) + 65536):
            path = self.file('bios')
            os.truncate(path, size)
            self.refused(['-bios: ', "'%s'" % path, '%d bytes' % size], '-bios', path)

    def test_options_that_need_a_kernel(self):
        initrd = self.file('initrd', b'x')
        self.refused(['-append only allowed with -kernel'], '-append', 'x')
        self.refused(['-initrd only allowed with -kernel'], '-initrd', initrd)
        self.refused(['-dtb ' + initrd], '-kernel', self.file('k', elf()), '-dtb', initrd)
        self.refused(['-append: 70000 bytes'], '-kernel', self.file('k', elf()), '-append',
                     'x' * 70000)

    # ---- memory, processors ----

    def test_memory_sizes(self):
        for text in '0', 'size=0', '0G':
            self.refused(['-m 0'], '-m', text)
        for text, message in (('-1', 'out of range'), ('16E', 'out of range'),
                              ('x', 'expects a non-negative number'),
                              ('1Z', 'expects a non-negative number'),
                              ('0.5', 'expects a non-negative number'),
                              ('512,slots=2', 'slots specified but no max-size'),
                              ('512,maxmem=256M', 'invalid value of maxmem'),
                              ('512,maxmem=1G', 'memory hotplug'), ('64,x=1', "parameter 'x'")):
            with self.subTest(text):
                self.refused([message], '-m', text)
        self.refused(['-m', 'Cannot allocate memory'], '-m', '8E')
        self.refused(['-kernel: ', 'which -m does not give it'], '-m', '1', '-kernel',
                     self.file('k', elf()))

    def test_memory_options(self):
        self.refused(["-m size=: Parameter 'size' expects a non-negative number"], '-m', 'size=')
        self.runs('-kernel', self.file('k', elf(exit_code(0))), '-m', '')
        self.refused(["'max-ram-below-4g=5368709120' expects size less than or equal to 4G"],
                     machine='q35,max-ram-below-4g=5G')
        path = self.file('ram', bytes(100000))
        self.refused(["m backing store size 0x186a0 is too small for 'size' option 0x8000000 plus "
                      "'offset' option 0x1000"], '-m', '128', '-object',
                     'memory-backend-file,id=m,size=128M,offset=4096,mem-path=' + path,
                     machine='q35,memory-backend=m')

    def test_a_machine_without_processors(self):
        done = run_binary(['-machine', 'none', '-accel', 'kvm', '-display', 'none', '-kernel',
                           self.file('k', elf())])
        self.assertIn('The -kernel parameter is not supported', done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_more_processors_than_there_can_be(self):
        self.refused(['SMP CPUs 5000', '4096'], '-smp', '5000')
        self.refused(['SMP CPUs 256', "'pc-i440fx-10.0' is 255"], '-smp', '256', machine='pc')
        self.refused(['must be greater than zero'], '-smp', '0')
        self.refused(['SMP CPUs -1'], '-smp', '-1')
        self.refused(["'smp.cpus' expects integer"], '-smp', 'x')
        self.refused(['maxcpus must be equal to or greater than smp'], '-smp', '2,maxcpus=1')
        self.refused(['SMP cpus requested (4096) exceeds the maximum cpus supported by KVM',
                      '-smp'], '-smp', '4096')
        self.refused(['hotpluggable cpus requested (4096) exceeds the maximum', '-smp'],
                     '-smp', '1,maxcpus=4096')

    # ---- the accelerator ----

    def test_accelerators(self):
        kernel = self.file('k', elf(exit_code(0)))
        self.refused(['-accel tcg: invalid accelerator tcg'], accel=('-accel', 'tcg'))
        self.refused(['invalid accelerator tcg', 'invalid accelerator xen'],
                     machine='q35,accel=tcg:xen', accel=())
        self.refused(['no accelerator found'], machine='q35,accel=', accel=())
        self.refused(['-accel and "-machine accel=" options are incompatible'],
                     machine='q35,accel=kvm')
        self.refused(["-accel kvm,x=1: Property 'kvm-accel.x' not found"],
                     accel=('-accel', 'kvm,x=1'))
        self.refused(['KVM does not support userspace APIC'],
                     accel=('-accel', 'kvm,kernel-irqchip=off'))
        self.refused(["Parameter 'kernel-irqchip' does not accept value 'x'"],
                     accel=('-accel', 'kvm,kernel-irqchip=x'))
        for accel in (('-accel', 'kvm', '-accel', 'tcg'), ('-enable-kvm',),
                      ('-accel', 'kvm,device=/dev/kvm')):
            self.assertEqual(self.runs('-kernel', kernel, accel=accel).stderr, '')
        self.assertIn('falling back to KVM',
                      self.runs('-kernel', kernel, accel=('-accel', 'tcg', '-accel', 'kvm')).stderr)
        self.runs('-kernel', kernel, machine='q35,accel=kvm:tcg', accel=())

    def test_options_of_the_accelerator(self):
        kernel = self.file('k', elf(exit_code(0)))
        for option in ('kvm-shadow-mem=16777216', 'kvm-shadow-mem=-1', 'kvm-shadow-mem=262144',
                       'dirty-ring-size=0', 'dirty-ring-size=1024', 'notify-vmexit=run',
                       'notify-vmexit=internal-error', 'notify-vmexit=disable,notify-window=9'):
            with self.subTest(option):
                self.runs('-kernel', kernel, accel=('-accel', 'kvm,' + option))
        for option, message in (('dirty-ring-size=1000', 'must be a power of two'),
                                ('dirty-ring-size=x', "'dirty-ring-size' expects"),
                                ('notify-vmexit=x', "'notify-vmexit' does not accept value 'x'"),
                                ('kvm-shadow-mem=0', 'kvm-shadow-mem=0: Invalid argument'),
                                ('kvm-shadow-mem=16M', "'kvm-shadow-mem' expects"),
                                ('kvm-shadow-mem=x', "'kvm-shadow-mem' expects")):
            with self.subTest(option):
                self.refused(['-accel kvm,' + option, message], accel=('-accel', 'kvm,' + option))
        for value in '16777216', '-1', '0x400000':
            self.runs('-kernel', kernel, machine='q35,kvm-shadow-mem=' + value)
        for value, message in (('16M', 'expects int64'), ('', 'expects int64'),
                               ('0', 'Invalid argument'), ('4096', 'Invalid argument')):
            self.refused(['kvm-shadow-mem=%s: ' % value, message],
                         machine='q35,kvm-shadow-mem=' + value)

    def test_a_device_that_is_not_kvm(self):
        self.refused(['Could not access KVM kernel module: No such file', 'failed to initialize',
                      '/dev/nosuchkvm'], accel=('-accel', 'kvm,device=/dev/nosuchkvm'))
        self.refused(["'/dev/null' is not the device of KVM"],
                     accel=('-accel', 'kvm,device=/dev/null'))

    @needs_root
    def test_no_right_to_use_kvm(self):
        mode = os.stat('/dev/kvm')
        if mode.st_mode & stat.S_IWOTH:
            self.skipTest('everybody may use /dev/kvm here')
        binary = self.readable_binary()
        for accel in (('-accel', 'kvm'), ('-machine', 'accel=kvm'), ('-enable-kvm',)):
            self.refused(['Could not access KVM kernel module: Permission denied', '/dev/kvm'],
                         accel=accel, preexec_fn=self.become_nobody, binary=binary)

    @needs_root
    def test_no_device_of_kvm(self):
        libc = ctypes.CDLL(None, use_errno=True)
        empty = os.path.join(self.tmp, 'dev')
        os.mkdir(empty)

        def hide():
            if libc.unshare(CLONE_NEWNS) or \
                    libc.mount(None, b'/', None, MS_REC | MS_PRIVATE, None) or \
                    libc.mount(empty.encode(), b'/dev', None, MS_BIND, None):
                os._exit(77)
        for accel in (('-accel', 'kvm'), ('-accel', 'kvm', '-accel', 'tcg'), ('-enable-kvm',)):
            done = self.start(accel=accel, preexec_fn=hide)
            if done.returncode == 77:
                self.skipTest('no mount namespace can be made here')
            self.assertIn('Could not access KVM kernel module: No such file or directory',
                          done.stderr)
            self.assertIn('/dev/kvm', done.stderr)
            self.assertEqual(done.returncode, 1)

    def test_memory_of_a_guest_can_be_read(self):
        text = b'a word of its own'
        data = read_guest_memory(self.tmp, [(0x20000, len(text))], '-append', text.decode())
        self.assertEqual(data, [text])


if __name__ == '__main__':
    main()
