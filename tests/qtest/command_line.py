#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Options in any order and form, configuration files, character devices, daemons."""
import json
import os
import socket
import subprocess
import time

from lib import OK, Disk, QtestCase, is_spindle, main, run_binary, wait_for
from lib.process import BINARY, accel_args, popen
from lib.qmp import Qmp

NODE = ['-blockdev', 'null-co,node-name=d0,read-zeroes=on,size=1048576']


class CommandLine(QtestCase):
    def base(self, machine='q35'):
        return [BINARY, '-machine', machine, '-display', 'none', '-nodefaults',
                *accel_args(self.tmp)]

    def stored(self, *args):
        vm = self.vm(*args)
        return lambda name, path='v0': vm.qmp('qom-get', path=path, property=name)

    def test_device_before_everything_it_uses(self):
        get = self.stored('-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0",'
                          '"iothread-vq-mapping":[{"iothread":"late"}]}', *NODE,
                          '-object', 'iothread,id=late')
        self.assertEqual(get('iothread-vq-mapping'), [{'iothread': 'late'}])

    def test_values_as_stored(self):
        for text, name, value in (
                ('num-queues=0x10', 'num-queues', 16), ('num-queues=010', 'num-queues', 8),
                ('num-queues= 4', 'num-queues', 4), ('num-queues=65535', 'num-queues', 1),
                ('vectors=4294967295,num-queues=3', 'vectors', 4), ('vectors=2049', 'vectors', 0),
                ('logical_block_size=0', 'logical_block_size', 512),
                ('logical_block_size=4.0k,physical_block_size=4k', 'logical_block_size', 4096),
                ('serial=a,,b', 'serial', 'a,b'), ('addr=5.1', 'addr', 41),
                ('bootindex=-2', 'bootindex', -2)):
            with self.subTest(text):
                get = self.stored(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0,' + text)
                self.assertEqual(get(name), value)

    def test_json_ids(self):
        for ident, path in (('0bad', '/machine/peripheral/0bad'),
                            ('a b', '/machine/peripheral/a b'),
                            (5, '/machine/peripheral-anon/device[0]')):
            get = self.stored(*NODE, '-device', json.dumps({'driver': 'virtio-blk-pci', 'id': ident,
                                                            'drive': 'd0'}))
            self.assertEqual(get('drive', path), 'd0')

    def test_alias(self):
        get = self.stored(*NODE, '-device', 'virtio-blk,id=v0,drive=d0')
        self.assertEqual(get('type'), 'virtio-blk-pci')

    def test_globals(self):
        for text in ('virtio-blk-pci.num-queues=4', 'virtio-blk-device.num-queues=4',
                     'driver=virtio-blk-device,property=num-queues,value=4'):
            get = self.stored('-global', text, *NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0')
            self.assertEqual(get('num-queues'), 4)

    def test_set(self):
        get = self.stored(*NODE, '-object', 'iothread,id=t0', '-device',
                          'virtio-blk-pci,id=v0,drive=d0', '-set', 'device.v0.iothread=t0',
                          '-set', 'device.v0.serial=xyz')
        self.assertEqual((get('iothread'), get('serial')), ('/objects/t0', 'xyz'))

    def test_readconfig(self):
        path = os.path.join(self.tmp, 'a.cfg')
        with open(path, 'w', encoding='ascii') as f:
            f.write('# a comment\n[object "t9"]\n  qom-type = "iothread"\n\n'
                    '[device "v0"]\n  driver = "virtio-blk-pci"\n  drive = "d0"\n'
                    '  iothread = "t9"\n')
        get = self.stored(*NODE, '-readconfig', path)
        self.assertEqual(get('iothread'), '/objects/t9')
        with open(path, 'w', encoding='ascii') as f:
            f.write('[device "v0"]\n  driver = "virtio-blk-pci"\n'
                    '  iothread-vq-mapping.0.iothread = "t0"\n')
        result = run_binary(['-display', 'none', '-nodefaults', '-S',
                             *accel_args(self.tmp, None, True), '-readconfig', path])
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.endswith(
            "%s:3: Property 'virtio-blk-pci.iothread-vq-mapping.0.iothread' not found\n" % path),
            result.stderr)
        result = run_binary(['-readconfig', path + '.nosuch'])
        self.assertEqual(result.returncode, 1)
        self.assertIn('No such file or directory', result.stderr)

    def test_name_uuid_smp_memory(self):
        vm = self.vm('-name', 'guest=fred', '-uuid', '12345678-1234-1234-1234-123456789abc',
                     '-smp', '2,maxcpus=4', '-m', '256M')
        self.assertEqual(vm.qmp('query-name'), {'name': 'fred'})
        self.assertEqual(vm.qmp('query-uuid'), {'UUID': '12345678-1234-1234-1234-123456789abc'})
        self.assertEqual(len(vm.qmp('query-cpus-fast')), 2)
        vm.qt.writel((256 << 20) - 4, 0x12345678)
        self.assertEqual(vm.qt.readl((256 << 20) - 4), 0x12345678)

    def test_preconfig_free_start(self):
        vm = self.vm(paused=True)
        self.assertEqual(vm.qmp('query-status'), {'status': 'prelaunch', 'running': False})
        vm.qmp('cont')
        vm.wait_event('RESUME')
        self.assertEqual(vm.status(), 'running')

    def test_machine_kinds(self):
        for machine, name in (('pc', 'pc-i440fx-10.0'), ('q35', 'pc-q35-10.0'),
                              ('pc-q35-10.0', 'pc-q35-10.0'), ('none', 'none')):
            vm = self.vm(machine=machine)
            self.assertEqual(vm.qmp('qom-get', path='/machine', property='type'), name + '-machine')
            vm.close()
        result = run_binary(['-machine', 'nosuch'])
        self.assertEqual(result.returncode, 1)
        self.assertIn('unsupported machine type', result.stderr)

    def test_query_machines(self):
        vm = self.vm(machine='none')
        machines = vm.qmp('query-machines')
        known = {'name', 'alias', 'is-default', 'cpu-max', 'hotpluggable-cpus', 'numa-mem-supported',
                 'deprecated', 'default-cpu-type', 'default-ram-id', 'acpi', 'compat-props'}
        for m in machines:
            self.assertLessEqual(set(m), known)
            self.assertLessEqual({'name', 'cpu-max', 'hotpluggable-cpus', 'numa-mem-supported',
                                  'deprecated', 'acpi'}, set(m))
        pc, = [m for m in machines if m.get('alias') == 'pc']
        self.assertEqual(pc, {
            'name': 'pc-i440fx-10.0', 'alias': 'pc', 'is-default': True, 'cpu-max': 255,
            'hotpluggable-cpus': pc['hotpluggable-cpus'],
            'numa-mem-supported': pc['numa-mem-supported'],
            'deprecated': False, 'acpi': True, 'default-cpu-type': 'qemu64-x86_64-cpu',
            'default-ram-id': 'pc.ram'})

    # ---- character devices ----

    def talk(self, sock):
        sock.settimeout(60)
        qmp = Qmp(sock)
        self.assertEqual(qmp.command('query-name'), {})
        qmp.send_raw(b'{"execute":"quit"}\n')
        return qmp

    def ends(self, p):
        self.assertEqual(p.wait(60), 0)

    def test_unix_server(self):
        path = os.path.join(self.tmp, 'q.sock')
        for option in (['-qmp', 'unix:%s,server=on,wait=off' % path],
                       ['-qmp', 'unix:%s,server,nowait' % path],
                       ['-chardev', 'socket,id=c,path=%s,server=on,wait=off' % path,
                        '-mon', 'chardev=c,mode=control']):
            with self.subTest(option):
                p = popen(self.base('none') + option, stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
                s = socket.socket(socket.AF_UNIX)

                def connect(s=s):
                    try:
                        s.connect(path)
                        return True
                    except OSError:
                        return False
                wait_for(connect, 'the socket')
                self.talk(s)
                self.ends(p)
                self.assertFalse(os.path.exists(path), 'the socket is removed at the end')

    def test_unix_server_waits(self):
        path = os.path.join(self.tmp, 'q.sock')
        p = popen(self.base('none') + ['-qmp', 'unix:%s,server=on' % path],
                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(path), 'the socket')
        s = socket.socket(socket.AF_UNIX)
        wait_for(lambda: s.connect_ex(path) == 0, 'a connection')
        self.talk(s)
        self.ends(p)

    def test_tcp(self):
        listener = socket.create_server(('127.0.0.1', 0))
        listener.settimeout(60)
        p = popen(self.base('none') + ['-qmp', 'tcp:127.0.0.1:%d' % listener.getsockname()[1]],
                  stdin=subprocess.DEVNULL)
        s, _ = listener.accept()
        self.talk(s)
        self.ends(p)
        listener.close()

    def test_inherited_descriptor(self):
        ours, theirs = socket.socketpair()
        p = popen(self.base('none') + ['-chardev', 'socket,id=m,fd=%d' % theirs.fileno(),
                                       '-mon', 'chardev=m,mode=control'],
                  stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()
        self.talk(ours)
        self.ends(p)

    def test_null_file_pty(self):
        out = os.path.join(self.tmp, 'out')
        vm = self.vm('-chardev', 'null,id=n', '-chardev', 'file,id=f,path=' + out,
                     '-chardev', 'pty,id=p', machine='none')
        devices = {c['label']: c for c in vm.qmp('query-chardev')}
        self.assertLessEqual({'n', 'f', 'p', 'qmp0'}, set(devices))
        self.assertEqual(devices['n']['filename'], 'null')
        self.assertTrue(devices['p']['filename'].startswith('pty:/dev/pts/'))
        self.assertTrue(os.path.exists(out))

    def test_chardev_errors(self):
        for option, text in (
                ('nosuch,id=c', "'nosuch' is not a valid char driver"),
                ('null', "id"),
                ('socket,id=c', 'socket'),
                ('file,id=c', 'chardev: file: no filename given'),
                ('socket,id=c,path=/nosuch/dir/s,server=on,wait=off', 'Failed to bind socket')):
            with self.subTest(option):
                result = run_binary(['-machine', 'none', *accel_args(self.tmp), '-display', 'none',
                                     '-chardev', option])
                self.assertEqual(result.returncode, 1)
                self.assertIn(text, result.stderr)

    def test_daemonize(self):
        """The parent comes back when everything is ready, with the child's verdict."""
        pidfile = os.path.join(self.tmp, 'pid')
        path = os.path.join(self.tmp, 'd.sock')
        argv = self.base('none') + ['-daemonize', '-pidfile', pidfile,
                                    '-qmp', 'unix:%s,server=on,wait=off' % path]
        result = run_binary(argv[1:])
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        with open(pidfile, encoding='ascii') as f:
            pid = int(f.read())
        try:
            s = socket.socket(socket.AF_UNIX)
            s.connect(path)
            self.talk(s)

            def gone():
                # It is no child of ours: it may stay as a zombie of whoever adopted it.
                try:
                    with open('/proc/%d/stat' % pid, encoding='ascii') as f:
                        return f.read().rsplit(')', 1)[1].split()[0] == 'Z'
                except OSError:
                    return True
            wait_for(gone, 'the daemon to end')
            self.assertFalse(os.path.exists(pidfile))
        finally:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        result = run_binary(argv[1:] + ['-device', 'nosuch'])
        self.assertEqual(result.returncode, 1)
        self.assertIn("'nosuch' is not a valid device model name", result.stderr)

    def test_pidfile_of_another(self):
        pidfile = os.path.join(self.tmp, 'pid')
        vm = self.vm('-pidfile', pidfile, machine='none')
        with open(pidfile, encoding='ascii') as f:
            self.assertEqual(int(f.read()), vm.pid)
        result = run_binary(['-machine', 'none', *accel_args(self.tmp), '-display', 'none',
                             '-pidfile', pidfile])
        self.assertEqual(result.returncode, 1)
        self.assertIn('PID file', result.stderr)

    def test_ends_with_its_parent(self):
        if not is_spindle():
            self.skipTest('this reference is older than -run-with exit-with-parent')
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            # Between this test and the emulator.
            child = subprocess.Popen(self.base('none') + ['-run-with', 'exit-with-parent=on'],
                                     stdin=subprocess.DEVNULL)
            os.write(write, b'%d' % child.pid)
            time.sleep(1)
            os._exit(0)
        grandchild = int(os.read(read, 16))
        os.close(read)
        os.close(write)
        os.waitpid(pid, 0)

        def ended():
            try:
                with open('/proc/%d/stat' % grandchild, encoding='ascii') as f:
                    return f.read().rsplit(')', 1)[1].split()[0] in 'ZX'
            except OSError:
                return True
        wait_for(ended, 'the grandchild to end')

    def test_disk_works_with_default_devices(self):
        """Without -nodefaults, as some suites start it."""
        vm = self.vm(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0', nodefaults=False,
                     machine='pc')
        disk = Disk.start(vm)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)


if __name__ == '__main__':
    main()
