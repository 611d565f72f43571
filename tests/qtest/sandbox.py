#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-sandbox: each of its parts really stops the system calls that it is about, in every thread, and
what disks need goes on working."""
import errno
import json
import os
import signal

from lib import OK, Disk, QtestCase, main, needs_root, pattern
from lib.inject import system_call
from lib.proc import thread_names

CLONE = 56
SETUID, SETGROUPS, EXECVE, VFORK, MOUNT, SETNS, PTRACE = 105, 116, 59, 58, 165, 308, 101
USTAT, SYSFS, SETPRIORITY, SCHED_SETSCHEDULER, KEYCTL = 136, 139, 141, 144, 250
KILLED = 'signal %d' % signal.SIGSYS


def fields(pid, tid):
    with open('/proc/%d/task/%d/status' % (pid, tid)) as f:
        return dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)


class Sandbox(QtestCase):
    def start(self, sandbox):
        args = ['-object', 'iothread,id=t0', '-blockdev', 'null-co,node-name=d0,size=1048576',
                '-device', 'virtio-blk-pci,id=v0,drive=d0,iothread=t0,addr=5']
        return self.vm(*args, *(['-sandbox', sandbox] if sandbox else []),
                       machine='pc')

    def result(self, sandbox, number, *args, thread=None):
        """What a call returns under these rules; KILLED if it is not survived."""
        vm = self.start(sandbox)
        got = system_call(vm.iothreads()[thread] if thread else vm.pid, number, *args)
        if got == KILLED:
            self.assertEqual(vm.wait_exit(), -signal.SIGSYS)
            vm.expect_status = -signal.SIGSYS
        else:
            self.assertEqual(vm.status(), 'running')
        vm.close()
        return got

    @needs_root
    def test_nothing_is_forbidden_without_it(self):
        for sandbox in (None, 'off'):
            vm = self.start(sandbox)
            self.assertEqual(fields(vm.pid, vm.pid)['Seccomp'], '0')
            self.assertEqual(system_call(vm.pid, SETUID, 0), 0)
            self.assertEqual(system_call(vm.pid, USTAT, 0, 0), -errno.EINVAL)
            vm.close()

    @needs_root
    def test_administration(self):
        for call in ((MOUNT, 0, 0, 0, 0, 0), (SETNS, -1, 0), (PTRACE, 99, 0, 0, 0), (KEYCTL, 999)):
            self.assertEqual(self.result('on', *call), KILLED, call)
        self.assertLess(self.result(None, MOUNT, 0, 0, 0, 0, 0), 0)

    @needs_root
    def test_obsolete(self):
        for call in ((USTAT, 0, 0), (SYSFS, 99, 0, 0)):
            self.assertEqual(self.result('on', *call), KILLED, call)
            self.assertEqual(self.result('on,obsolete=deny', *call), KILLED, call)
            self.assertEqual(self.result('on,obsolete=allow', *call), -errno.EINVAL, call)

    @needs_root
    def test_elevation(self):
        for call in ((SETUID, 0), (SETGROUPS, 0, 0)):
            self.assertEqual(self.result('on', *call), 0, call)
            self.assertEqual(self.result('on,elevateprivileges=allow', *call), 0, call)
            self.assertEqual(self.result('on,elevateprivileges=deny', *call), KILLED, call)

    def test_children_get_no_privileges(self):
        vm = self.start('on,elevateprivileges=children')
        self.assertEqual(fields(vm.pid, vm.pid)['NoNewPrivs'], '1')

    @needs_root
    def test_spawning(self):
        call = (EXECVE, 0, 0, 0)
        for sandbox in ('on', 'on,spawn=allow'):
            self.assertEqual(self.result(sandbox, *call), -errno.EFAULT)
        # With nothing in common but memory, and with no more than what fork() shares.
        for call in (call, (VFORK,), (CLONE, 0x100, 0, 0, 0, 0), (CLONE, signal.SIGCHLD, 0, 0, 0, 0)):
            self.assertEqual(self.result('on,spawn=deny', *call), KILLED, call)
        vm = self.start('on,spawn=deny')
        vm.qmp('object-add', qom_type='iothread', id='t1')
        self.assertIn('IO t1', thread_names(vm.pid).values())
        vm.close()

    @needs_root
    def test_resources(self):
        call = (SETPRIORITY, 0, 0, 0)
        for sandbox in ('on', 'on,resourcecontrol=allow'):
            self.assertEqual(self.result(sandbox, *call), 0)
        self.assertEqual(self.result('on,resourcecontrol=deny', *call), -errno.EPERM)
        self.assertEqual(self.result('on,resourcecontrol=deny', SCHED_SETSCHEDULER, 0, 0, 0),
                         -errno.EPERM)
        cpu = min(os.sched_getaffinity(0))
        vm = self.start('on,resourcecontrol=deny')
        vm.execute('object-add', {'qom-type': 'iothread', 'id': 't1', 'cpu-affinity': [cpu]})
        self.assertEqual(os.sched_getaffinity(vm.iothreads()['t1']), {cpu})
        vm.close()

    @needs_root
    def test_every_thread(self):
        vm = self.start('on,spawn=deny,elevateprivileges=deny')
        vm.qmp('object-add', qom_type='iothread', id='t1')
        for tid in os.listdir('/proc/%d/task' % vm.pid):
            self.assertEqual(fields(vm.pid, int(tid))['Seccomp'], '2', tid)
        vm.close()
        self.assertEqual(self.result('on,spawn=deny', EXECVE, 0, 0, 0, thread='t0'), KILLED)

    def test_disks_work(self):
        """With all that libvirt forbids, whatever the engine, also for what is plugged later."""
        vm = self.start('on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny')
        for number, aio in enumerate(('threads', 'io_uring', 'native'), 6):
            with self.subTest(aio=aio):
                name = 'f%d' % number
                path = os.path.join(self.tmp, name)
                with open(path, 'wb') as f:
                    f.truncate(1 << 20)
                added = vm.execute('blockdev-add', {
                    'driver': 'file', 'node-name': name, 'filename': path, 'aio': aio,
                    'cache': {'direct': aio == 'native'}})
                if 'O_DIRECT' in json.dumps(added):
                    self.skipTest('no O_DIRECT here')
                vm.qmp('object-add', qom_type='iothread', id='io' + name)
                vm.qmp_client.execute('device_add', {
                    'driver': 'virtio-blk-pci', 'id': name, 'drive': name, 'addr': str(number),
                    'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 'io' + name}]})
                disk = Disk.start(vm, name)
                self.assertEqual(disk.write(0, 8, pattern(name, 4096)), OK)
                self.assertEqual(disk.read(0, 8, 4096), pattern(name, 4096))


if __name__ == '__main__':
    main()
