#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guest memory on huge pages that the administrator has reserved: memfd and hugetlbfs, preallocated
or not; and the messages where there are too few, or sizes do not fit."""
import ctypes
import os
import re
import subprocess
import unittest

from lib import QtestCase, main, needs_root, run_binary
from lib.kernels import out_memory, require_kvm, run_and_read
from lib.process import BINARY, accel_args

KIB, MIB = 1 << 10, 1 << 20
PAGE = 2 * MIB
PAGES = 24
POOL = '/sys/kernel/mm/hugepages/hugepages-2048kB/'
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 16384, 1 << 18


def pool(name):
    with open(POOL + name, encoding='ascii') as f:
        return int(f.read())


class KvmHugePages(QtestCase):
    @needs_root
    def setUp(self):
        if not os.path.exists(POOL):
            self.skipTest('this host has no huge pages of 2 MiB')
        self.before = pool('nr_hugepages')
        self.addCleanup(self.reserve, self.before)
        try:
            self.reserve(self.before + PAGES)
        except OSError as e:
            self.skipTest('huge pages cannot be reserved: %s' % e)
        if pool('free_hugepages') - pool('resv_hugepages') < PAGES:
            self.skipTest('the kernel has no room for huge pages')

    def reserve(self, count):
        with open(POOL + 'nr_hugepages', 'w', encoding='ascii') as f:
            f.write('%d\n' % count)

    def available(self):
        return pool('free_hugepages') - pool('resv_hugepages')

    def start(self, backend, *args, machine='q35', **kwargs):
        return run_binary(['-machine', machine, *accel_args(self.tmp, paused=True), '-display', 'none',
                           '-nodefaults', '-S', '-object', backend, *args], **kwargs)

    def refused(self, text, backend, *args, **kwargs):
        done = self.start(backend, *args, **kwargs)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(text, done.stderr)

    def test_a_guest_runs_on_them(self):
        require_kvm()
        code = b'\xc7\x05\x00\x00\x40\x00hugo'      # movl $"hugo", 0x400000
        for more in '', ',prealloc=on', ',hugetlbsize=2M', ',share=off', ',hugetlbsize=0x200000,seal=off':
            with self.subTest(more):
                data = run_and_read(self.tmp, code + out_memory([(0x400000, 4)]), '-m', '32', '-object',
                                    'memory-backend-memfd,id=m,size=32M,hugetlb=on' + more,
                                    machine='q35,memory-backend=m')
                self.assertEqual(data, b'hugo')
                self.settles(self.available, PAGES, 'huge pages are given back')

    def test_memory_consists_of_them(self):
        for more, taken in ((',prealloc=on', 16), (',prealloc=on,prealloc-threads=3', 16), ('', 0)):
            with self.subTest(more):
                vm = self.vm('-m', '32', '-object',
                             'memory-backend-memfd,id=m,size=32M,hugetlb=on' + more,
                             machine='q35,memory-backend=m')
                self.assertEqual(self.available(), PAGES - 16)
                self.assertEqual(PAGES - pool('free_hugepages'), taken)
                with open('/proc/%d/smaps' % vm.process.pid, encoding='ascii') as f:
                    sizes = re.findall(r'memfd:memory-backend-memfd.*?KernelPageSize: +(\d+) kB', f.read(),
                                       re.S)
                self.assertEqual(set(sizes), {'2048'})
                vm.qt.write(20 * MIB, b'anywhere')
                self.assertEqual(vm.qt.read(20 * MIB, 8), b'anywhere')
                vm.close()

    def test_objects_come_and_go(self):
        vm = self.vm()
        for i in range(5):
            vm.qmp('object-add', **{'qom-type': 'memory-backend-memfd', 'id': 'm%d' % (i & 1),
                                    'size': 40 * MIB, 'hugetlb': True, 'prealloc': True})
            self.assertEqual(self.available(), PAGES - 20)
            self.qmp_fails(vm, 'object-add',
                           "cannot set up guest memory 'more': Cannot allocate memory",
                           **{'qom-type': 'memory-backend-memfd', 'id': 'more', 'size': 40 * MIB,
                              'hugetlb': True})
            vm.qmp('object-del', id='m%d' % (i & 1))
            self.assertEqual(self.available(), PAGES)
        vm.close()

    def test_too_few(self):
        for more in '', ',prealloc=on', ',share=off', ',hugetlbsize=2M':
            with self.subTest(more):
                self.refused("cannot set up guest memory 'm': Cannot allocate memory\n"
                             '50 huge pages of 2048 kB are needed',
                             'memory-backend-memfd,id=m,size=100M,hugetlb=on' + more)
        self.reserve(self.before)
        self.refused("cannot set up guest memory 'm'", 'memory-backend-memfd,id=m,size=2M,hugetlb=on')

    def test_sizes_that_do_not_fit(self):
        for text, message in (('size=1M', 'failed to resize memfd to 1048576: Invalid argument'),
                              ('size=3M', 'failed to resize memfd to 3145728: Invalid argument'),
                              ('size=2M,hugetlbsize=3M', 'Hugepage size must be a power of 2'),
                              ('size=2M,hugetlbsize=4k', 'No such device'),
                              ('size=2M,hugetlbsize=4k', 'hugetlbsize=4096'),
                              ('size=2M,hugetlbsize=0', "doesn't take value '0'")):
            with self.subTest(text):
                self.refused(message, 'memory-backend-memfd,id=m,hugetlb=on,' + text)

    def test_hugetlbfs(self):
        place = os.path.join(self.tmp, 'huge')
        os.mkdir(place)
        libc = ctypes.CDLL(None, use_errno=True)

        def mounted():
            # A file system in a mount namespace of the emulator's own.
            if libc.unshare(CLONE_NEWNS) or libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE, None) or \
                    libc.mount(b'none', place.encode(), b'hugetlbfs', 0, b'pagesize=2M'):
                os._exit(99)
        probe = subprocess.run(['true'], preexec_fn=mounted, check=False)
        if probe.returncode:
            raise unittest.SkipTest('hugetlbfs cannot be mounted here')
        for path in place, place + '/file':
            for more in '', ',share=on', ',prealloc=on':
                # It stands; then it is told to quit.
                done = subprocess.run(
                    [BINARY, '-machine', 'q35,memory-backend=m', *accel_args(self.tmp, paused=True),
                     '-display', 'none', '-nodefaults', '-S', '-m', '32', '-qmp', 'stdio', '-object',
                     'memory-backend-file,id=m,size=32M,mem-path=' + path + more],
                    input='{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n', capture_output=True,
                    text=True, preexec_fn=mounted, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                self.settles(self.available, PAGES, 'huge pages are given back')
        for size, message in (('1M', 'must be equal to or larger than page size 0x200000'),
                              ('3M', 'memory size must be multiple of 2 MiB'),
                              ('100M', 'Cannot allocate memory')):
            self.refused(message, 'memory-backend-file,id=m,size=%s,mem-path=%s' % (size, place),
                         preexec_fn=mounted)


if __name__ == '__main__':
    main()
