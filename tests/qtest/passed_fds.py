#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Descriptors that a client hands over: with QMP commands (SCM_RIGHTS), or by inheritance."""
import json
import os
import socket

from lib import OK, Disk, QtestCase, main, pattern
from lib.proc import fd_count
from lib.qmp import QmpError

PLAIN = {'driver': 'file', 'node-name': 'f'}
NONE = 'No file descriptor supplied via SCM_RIGHTS'


class PassedFds(QtestCase):
    def send(self, vm, command, *fds, **arguments):
        vm.qt.flush()
        arguments = {k.replace('_', '-'): v for k, v in arguments.items()}
        text = json.dumps({'execute': command, 'arguments': arguments}).encode()
        socket.send_fds(vm.qmp_client.sock, [text], list(fds))
        for fd in fds:
            os.close(fd)
        reply = vm.qmp_client.read_reply()
        if 'error' in reply:
            raise QmpError(reply, command)
        return reply['return']

    def fails(self, vm, command, desc, *fds, **arguments):
        with self.assertRaises(QmpError) as caught:
            self.send(vm, command, *fds, **arguments)
        self.assertEqual(caught.exception.desc, desc)

    def open(self, flags=os.O_RDWR):
        return os.open(self.image(size=1 << 20), flags)

    def sets(self, vm):
        """{set: what its members were added with}"""
        return {s['fdset-id']: [f.get('opaque') for f in s['fds']]
                for s in vm.qmp('query-fdsets')}

    def test_sets(self):
        vm = self.vm()
        before = fd_count(vm.pid)
        self.assertEqual(vm.qmp('query-fdsets'), [])
        self.fails(vm, 'add-fd', NONE)
        a = self.send(vm, 'add-fd', self.open(), opaque='a')
        self.assertEqual(a['fdset-id'], 0)
        self.assertEqual(self.send(vm, 'add-fd', self.open(), fdset_id=7)['fdset-id'], 7)
        self.assertEqual(self.send(vm, 'add-fd', self.open())['fdset-id'], 1)
        self.assertEqual(self.send(vm, 'add-fd', self.open(), fdset_id=0,
                                   opaque='b')['fdset-id'], 0)
        self.assertEqual(self.sets(vm), {0: ['a', 'b'], 1: [None], 7: [None]})
        self.assertIn(str(a['fd']), os.listdir('/proc/%d/fd' % vm.pid))
        self.fails(vm, 'add-fd', "Parameter 'fdset-id' expects a non-negative value",
                   self.open(), fdset_id=-1)
        self.fails(vm, 'remove-fd', "File descriptor named 'fdset-id:2' not found", fdset_id=2)
        self.fails(vm, 'remove-fd', "File descriptor named 'fdset-id:2, fd:3' not found",
                   fdset_id=2, fd=3)
        self.fails(vm, 'remove-fd', "File descriptor named 'fdset-id:7, fd:%d' not found" % a['fd'],
                   fdset_id=7, fd=a['fd'])
        vm.qmp('remove-fd', **{'fdset-id': 0, 'fd': a['fd']})
        self.assertEqual(self.sets(vm), {0: ['b'], 1: [None], 7: [None]})
        for n in (0, 1, 7):
            vm.qmp('remove-fd', **{'fdset-id': n})
        self.assertEqual(vm.qmp('query-fdsets'), [])
        self.assertEqual(fd_count(vm.pid), before)

    def test_disk_from_a_set(self):
        """The file is used by its descriptor; its name may be gone."""
        path = self.image('gone.raw', 1 << 20)
        fd = os.open(path, os.O_RDWR)
        keep = os.open(path, os.O_RDONLY)
        self.addCleanup(os.close, keep)
        os.unlink(path)
        vm = self.vm('-object', 'iothread,id=t0', machine='pc')
        self.send(vm, 'add-fd', fd, fdset_id=3)
        vm.qmp('blockdev-add', **PLAIN, filename='/dev/fdset/3')
        vm.qmp('remove-fd', **{'fdset-id': 3})
        self.assertEqual(self.sets(vm), {3: []}, 'it lives as long as what was opened by it')
        vm.qmp('device_add', driver='virtio-blk-pci', id='v0', drive='f', iothread='t0',
               addr='5')
        disk = Disk.start(vm, 'v0')
        data = pattern('fds', 4096)
        self.assertEqual(disk.write(0, 8, data), OK)
        self.assertEqual(os.pread(keep, 4096, 8 * 512), data)

    def test_set_ends_with_its_last_user(self):
        vm = self.vm()
        self.send(vm, 'add-fd', self.open())
        vm.qmp('blockdev-add', **PLAIN, filename='/dev/fdset/0')
        vm.qmp('remove-fd', **{'fdset-id': 0})
        self.assertEqual(self.sets(vm), {0: []})
        vm.qmp('blockdev-del', **{'node-name': 'f'})
        self.assertEqual(self.sets(vm), {})

    def test_access_mode_chooses(self):
        vm = self.vm()
        self.send(vm, 'add-fd', self.open(os.O_RDONLY), fdset_id=5, opaque='ro')
        self.qmp_fails(vm, 'blockdev-add',
                       'Failed to find file descriptor with matching flags=0x2',
                       **PLAIN, filename='/dev/fdset/5')
        vm.qmp('blockdev-add', **PLAIN, filename='/dev/fdset/5', **{'read-only': True})
        vm.qmp('blockdev-del', **{'node-name': 'f'})
        self.send(vm, 'add-fd', self.open(), fdset_id=5, opaque='rw')
        vm.qmp('blockdev-add', **PLAIN, filename='/dev/fdset/5')
        # Whether the page cache is bypassed is part of it.
        self.qmp_fails(vm, 'blockdev-add',
                       'Failed to find file descriptor with matching flags=0x4002',
                       driver='file', filename='/dev/fdset/5', cache={'direct': True},
                       **{'node-name': 'g'})
        self.qmp_fails(vm, 'blockdev-add', 'Failed to find fdset /dev/fdset/6',
                       driver='file', filename='/dev/fdset/6', **{'node-name': 'g'})
        self.qmp_fails(vm, 'blockdev-add', 'Could not parse fdset /dev/fdset/x',
                       driver='file', filename='/dev/fdset/x', **{'node-name': 'g'})

    def test_sets_are_everybodys_and_stay(self):
        """They do not end with the connection that made them."""
        vm = self.vm('-qmp', 'unix:%s/second,server=on,wait=off' % self.tmp)
        from lib.qmp import Qmp
        for n in range(2):
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.tmp + '/second')
            q = Qmp(s)
            fd = self.open()
            socket.send_fds(s, [b'{"execute":"add-fd"}'], [fd])
            os.close(fd)
            self.assertEqual(q.read_reply()['return']['fdset-id'], n)
            q.close()
            self.assertEqual(self.sets(vm), {i: [None] for i in range(n + 1)})

    def test_log_and_console_in_a_set(self):
        path = self.image('log', 0)
        vm = self.vm()
        self.send(vm, 'add-fd', os.open(path, os.O_WRONLY | os.O_APPEND), fdset_id=1)
        vm.qmp('chardev-add', id='c0', backend={'type': 'file', 'data': {
            'out': '/dev/fdset/1', 'append': True}})
        vm.qmp('chardev-add', id='c1', backend={'type': 'null', 'data': {
            'logfile': '/dev/fdset/1', 'logappend': True}})
        self.qmp_fails(vm, 'chardev-add', "Failed to add chardev 'c2': Could not open "
                       "'/dev/fdset/9': No such file or directory", id='c2',
                       backend={'type': 'file', 'data': {'out': '/dev/fdset/9'}})
        vm.qmp('remove-fd', **{'fdset-id': 1})
        self.assertEqual(self.sets(vm), {1: []})

    def test_names(self):
        vm = self.vm()
        before = fd_count(vm.pid)
        self.fails(vm, 'getfd', NONE, fdname='x')
        self.fails(vm, 'getfd', "Parameter 'fdname' expects a name not starting with a digit",
                   self.open(), fdname='1x')
        self.fails(vm, 'closefd', "File descriptor named 'x' not found", fdname='x')
        self.send(vm, 'getfd', self.open(), fdname='x')
        self.send(vm, 'getfd', self.open(), fdname='x')
        self.assertEqual(fd_count(vm.pid), before + 1, 'the second replaces the first')
        vm.qmp('closefd', fdname='x')
        self.fails(vm, 'closefd', "File descriptor named 'x' not found", fdname='x')
        self.assertEqual(fd_count(vm.pid), before)

    def socket_backend(self, name):
        return {'type': 'socket', 'data': {'addr': {'type': 'fd', 'data': {'str': name}},
                                           'server': False}}

    def test_socket_by_name(self):
        vm = self.vm()
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.send(vm, 'getfd', theirs.detach(), fdname='line')
        vm.qmp('chardev-add', id='c0', backend=self.socket_backend('line'))
        self.fails(vm, 'closefd', "File descriptor named 'line' not found", fdname='line')
        # Numbers are names, too, when a client says them: it cannot know ours.
        for name in ('line', '4'):
            self.qmp_fails(vm, 'chardev-add', "Failed to add chardev 'c1': File descriptor named "
                           "'%s' has not been found" % name, id='c1',
                           backend=self.socket_backend(name))
        before = fd_count(vm.pid)
        self.send(vm, 'getfd', self.open(), fdname='file')
        self.qmp_fails(vm, 'chardev-add', "Failed to add chardev 'c1': File descriptor 'file' is "
                       "not a socket", id='c1', backend=self.socket_backend('file'))
        self.assertEqual(fd_count(vm.pid), before)

    def test_fd_of_an_earlier_command(self):
        """The one that came last is the one that is taken, once; of several, the first."""
        vm = self.vm()
        self.send(vm, 'query-name', self.open())
        self.send(vm, 'add-fd', opaque='late')
        self.fails(vm, 'add-fd', NONE)
        before = fd_count(vm.pid)
        self.send(vm, 'add-fd', self.open(os.O_RDONLY), self.open(), fdset_id=4)
        self.assertEqual(fd_count(vm.pid), before + 1)
        vm.qmp('blockdev-add', **PLAIN, filename='/dev/fdset/4', **{'read-only': True})

    def test_inherited(self):
        path = self.image(size=1 << 20)
        vm = self.vm('-add-fd', 'fd=8,set=2,opaque=rw', '-add-fd', 'fd=9,set=2',
                     '-blockdev', 'file,node-name=a,filename=/dev/fdset/2',
                     '-blockdev', 'file,node-name=b,filename=/dev/fdset/2,read-only=on',
                     wrapper=('sh', '-c', 'exec 8<>%s 9<%s; exec "$0" "$@"' % (path, path)))
        self.assertEqual(self.sets(vm), {2: ['rw', None]})
        self.assertEqual(vm.nodes(), ['a', 'b'])


if __name__ == '__main__':
    main()
