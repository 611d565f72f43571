#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines of Proxmox VE (data/pve/*.cmd), and what its front end says afterwards.

A file has one option per line; "!" marks those that are not supported. As it is, a line ends with one
message that names all of these; without them it starts.
"""
import glob
import json
import os
import re
import socket
import subprocess
import time

from lib import QtestCase, main
from lib.process import BINARY, popen, run_binary
from lib.qmp import Qmp
from lib.qtest import Qtest

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, 'data', 'pve')
CONFIG = 'pve-q35-4.0.cfg'
NOT_BUILT = ('ich9-usb-ehci1', 'ich9-usb-ehci2', 'ich9-usb-uhci1', 'ich9-intel-hda')


class PveCommandLines(QtestCase):
    def load(self, name):
        """[(option, value or None, whether it is supported)]"""
        with open(os.path.join(DATA, name + '.cmd')) as f:
            lines = f.read().replace('@DIR@', self.tmp).splitlines()
        out = []
        for line in lines:
            supported = not line.startswith('! ')
            option, _, value = line[0 if supported else 2:].partition(' ')
            out.append((option, value or None, supported))
        return out

    def files(self, with_usb):
        for name in ('a.raw', 'b.raw'):
            self.image(name)
        with open(os.path.join(DATA, CONFIG)) as f:
            text = f.read()
        if not with_usb:
            groups = re.split(r'(?m)^(?=\[)', text)
            text = ''.join(g for g in groups if not any('"%s"' % d in g for d in NOT_BUILT))
        with open(os.path.join(self.tmp, CONFIG), 'w') as f:
            f.write(text)

    def argv(self, options):
        return [a for option, value, _ in options for a in (option, value) if a is not None]

    def begin(self, name):
        """Starts it without what is refused; returns a QMP client."""
        self.files(with_usb=False)
        # Where the stack's own daemon waits for events.
        events = socket.socket(socket.AF_UNIX)
        self.addCleanup(events.close)
        events.bind(self.tmp + '/qmeventd.sock')
        events.listen(5)
        options = [o for o in self.load(name) if o[2]]
        self.qtest_path = self.tmp + '/qtest'
        process = popen([BINARY, *self.argv(options), '-accel', 'qtest', '-display', 'none',
                         '-qtest', 'unix:%s,server=on,wait=off' % self.qtest_path,
                         '-qtest-log', '/dev/null'], stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        path = [v for o, v, _ in options if o == '-chardev'][0].split('path=')[1].split(',')[0]
        return self.connect(process, path)

    def end(self, process):
        if process.poll() is None:
            process.terminate()
        self.assertEqual(process.wait(60), 0)

    def connect(self, process, path):
        end = time.monotonic() + 60
        while True:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(path)
                break
            except OSError:
                s.close()
                self.assertIsNone(process.poll(), 'it ended')
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
        q = Qmp(s)
        self.addCleanup(q.close)
        return q

    def names(self):
        return sorted(os.path.basename(p)[:-4] for p in glob.glob(DATA + '/*.cmd'))

    def test_all_refusals_in_one_message(self):
        self.assertGreaterEqual(len(self.names()), 5)
        for name in self.names():
            with self.subTest(name=name):
                self.files(with_usb=True)
                options = self.load(name)
                p = run_binary([*self.argv(options), '-accel', 'qtest'])
                self.assertEqual(p.returncode, 1)
                lines = p.stderr.splitlines()
                refused = ['%s %s: ' % (o, v) for o, v, supported in options if not supported]
                if any(o == '-readconfig' for o, _, _ in options):
                    refused += ['%s/%s:' % (self.tmp, CONFIG)] * len(NOT_BUILT)
                if len(refused) > 1:
                    self.assertIn('%d parts of the command line are not supported:' % len(refused),
                                  lines.pop(0))
                self.assertEqual(len(lines), len(refused), p.stderr)
                for part in refused:
                    self.assertIn(part, p.stderr)
                for device in NOT_BUILT if CONFIG in p.stderr else ():
                    self.assertIn("'%s' is not a valid device model name" % device, p.stderr)
                self.assertFalse(os.path.exists(self.tmp + '/8006.pid'))

    def test_start(self):
        for name in self.names():
            with self.subTest(name=name):
                q = self.begin(name)
                options = self.load(name)
                self.check_machine(q, options)
                self.check_disks(q, options)
                q.command('quit')
                self.doCleanups()
                del self._tmp  # the next line has a folder of its own

    def check_machine(self, q, options):
        self.assertEqual(q.command('query-status')['status'], 'running')
        args = dict((o, v) for o, v, _ in options)
        self.assertEqual(q.command('query-name')['name'], args['-name'].split(',')[0])
        self.assertEqual(len(q.command('query-cpus-fast')),
                         int(args['-smp'].split(',')[0]))
        if '-smbios' in args:
            self.assertEqual(q.command('query-uuid')['UUID'], args['-smbios'].split('uuid=')[1])
        with open(args['-pidfile']) as f:
            self.assertTrue(os.path.isdir('/proc/%d' % int(f.read())))
        for command in ('query-version', 'query-pci', 'query-mice', 'query-machines',
                        'query-block-jobs', 'query-migrate', 'query-migrate-capabilities',
                        'query-memory-devices', 'query-proxmox-support'):
            q.command(command)
        reply = q.execute('query-balloon')
        self.assertEqual(reply['error']['class'], 'DeviceNotActive')

    def check_disks(self, q, options):
        devices, mappings = [], {}
        for option, value, supported in options:
            if option == '-device' and supported and 'virtio-blk' in value:
                if value.startswith('{'):
                    d = json.loads(value)
                    mappings[d['id']] = d['iothread-vq-mapping']
                else:
                    d = dict(x.split('=') for x in value.split(',')[1:])
                devices.append(d)
        blocks = q.command('query-block')
        self.assertEqual(sorted(b['qdev'] for b in blocks),
                         sorted('/machine/peripheral/%s/virtio-backend' % d['id']
                                for d in devices))
        for b in blocks:
            d = [x for x in devices if '/%s/' % x['id'] in b['qdev']][0]
            old = any(o == '-drive' for o, _, _ in options)
            self.assertEqual(b['device'], d['drive'] if old else '')
            if not old:
                self.assertEqual(b['inserted']['node-name'], d['drive'])
                self.assertEqual(b['inserted']['drv'], 'throttle')
            self.assertEqual(b['inserted']['image']['virtual-size'], 64 << 20)
            self.assertEqual(b['inserted']['cache']['writeback'], True)
        for name, mapping in mappings.items():
            self.assertEqual(q.command('qom-get', path='/machine/peripheral/' + name,
                                       property='iothread-vq-mapping'), mapping)
        # Behind bridges that no firmware has numbered, query-pci cannot see.
        present = self.pci_ids(q.command('query-pci'))
        self.assertTrue({d['id'] for d in devices if d['bus'] == 'pci.0'} <= present
                        or 'pcidmi' in present, present)
        plugged = {c['name'] for c in q.command('qom-list', path='/machine/peripheral')}
        self.assertTrue({d['id'] for d in devices} <= plugged)
        for o, v, _ in options:
            if o == '-object' and 'throttle-group' in v:
                group = json.loads(v)
                limits = q.command('qom-get', path=group['id'], property='limits')
                for key, value in group['limits'].items():
                    self.assertEqual(limits[key], value)

    def pci_ids(self, buses):
        out = set()
        for bus in buses:
            for d in bus['devices']:
                out.add(d['qdev_id'])
                out |= self.pci_ids([d['pci_bridge']]) if 'devices' in d.get('pci_bridge', {}) \
                    else set()
        return out

    # ---- plug, use, unplug ----

    def tree(self, name, path):
        common = {'cache': {'direct': True, 'no-flush': False}, 'read-only': False,
                  'detect-zeroes': 'unmap', 'discard': 'unmap'}
        return {'driver': 'throttle', 'node-name': 'drive-' + name, 'read-only': False,
                'throttle-group': 'throttle-drive-' + name, 'discard': 'unmap',
                'detect-zeroes': 'unmap',
                'file': {'driver': 'raw', 'node-name': 'f' + 30 * '0', **common,
                         'file': {'driver': 'file', 'node-name': 'e' + 30 * '0', 'aio': 'io_uring',
                                  'filename': path, **common}}}

    def eject(self, slot):
        """The guest's part on pc: the down bitmap tells the slot, a write ejects it."""
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.qtest_path)
        self.addCleanup(s.close)
        qt = Qtest(s)
        self.assertEqual(qt.inl(0xae04), 1 << slot)
        qt.outl(0xae08, 1 << slot)
        qt.flush()

    def check_plug(self, plug, iothreads):
        q = self.begin('virtio-disk')
        name = 'virtio1'
        path = self.tmp + '/b.raw'
        have = {t['id'] for t in q.command('query-iothreads')}
        for t in iothreads:
            self.assertNotIn(t, have)
            q.command('object-add', id=t, qom_type='iothread')
        reply = q.execute('object-del', {'id': 'throttle-drive-' + name})
        self.assertIn('error', reply)
        q.command('object-add', id='throttle-drive-' + name, qom_type='throttle-group', limits={})
        self.assertEqual(q.execute('blockdev-add', self.tree(name, path)), {'return': {}})
        plug(q)
        self.assertIn(name, self.pci_ids(q.command('query-pci')))
        block = [b for b in q.command('query-block') if '/%s/' % name in b['qdev']][0]
        self.assertEqual(block['qdev'], '/machine/peripheral/virtio1/virtio-backend')
        self.assertEqual([(c['child'], c['node-name']) for c in block['inserted'].get(
            'children', [{'child': 'file', 'node-name': 'f' + 30 * '0'}])],
            [('file', 'f' + 30 * '0')])
        # Live changes: limits, size.
        q.command('qom-set', path='throttle-drive-' + name, property='limits',
                  value={'iops-total': 100, 'bps-write': 1 << 20})
        os.truncate(path, 128 << 20)
        q.command('block_resize', node_name='drive-' + name, size=128 << 20)
        block = [b for b in q.command('query-block') if '/%s/' % name in b['qdev']][0]
        self.assertEqual(block['inserted']['image']['virtual-size'], 128 << 20)
        # Unplug.
        self.assertEqual(q.hmp('device_del ' + name), '')
        self.assertIn(name, self.pci_ids(q.command('query-pci')))
        self.eject(11)
        q.wait_event('DEVICE_DELETED')
        self.assertNotIn(name, self.pci_ids(q.command('query-pci')))
        q.command('blockdev-del', node_name='drive-' + name)
        for node in ('f' + 30 * '0', 'e' + 30 * '0'):
            reply = q.execute('blockdev-del', {'node-name': node})
            self.assertIn('Failed to find node with node-name', reply['error']['desc'])
        q.command('object-del', id='throttle-drive-' + name)
        for t in iothreads:
            q.command('object-del', id=t)
        self.assertEqual({t['id'] for t in q.command('query-iothreads')}, have)

    def test_plug_by_hmp(self):
        def plug(q):
            self.assertEqual(q.hmp('device_add driver=virtio-blk-pci,drive=drive-virtio1,'
                                   'id=virtio1,bus=pci.0,addr=0xb,iothread=iothread-virtio1,'
                                   'write-cache=on'), '')
        self.check_plug(plug, ['iothread-virtio1'])

    def test_plug_with_mapping(self):
        threads = ['iothread-virtio1-%d' % n for n in range(4)]

        def plug(q):
            q.command('device_add', driver='virtio-blk-pci', drive='drive-virtio1', id='virtio1',
                      bus='pci.0', addr='0xb', write_cache='on', num_queues=8,
                      iothread_vq_mapping=[{'iothread': t} for t in threads])
        self.check_plug(plug, threads)

    def test_old_drive_by_hmp(self):
        """Machines before 10.0: drive_add, device_add, device_del, drive_del."""
        q = self.begin('drive-of-an-old-machine')
        path = self.image('c.raw')
        answer = q.hmp('drive_add auto "file=%s,if=none,id=drive-virtio2,format=raw,cache=none,'
                       'aio=io_uring,detect-zeroes=on"' % path)
        self.assertEqual(answer.strip(), 'OK')
        self.assertEqual(q.hmp('device_add driver=virtio-blk-pci,drive=drive-virtio2,id=virtio2,'
                               'bus=pci.0,addr=0xc'), '')
        self.assertIn('virtio2', self.pci_ids(q.command('query-pci')))
        self.assertEqual([b['qdev'] for b in q.command('query-block')
                          if b['device'] == 'drive-virtio2'],
                         ['/machine/peripheral/virtio2/virtio-backend'])
        self.assertEqual(q.hmp('device_del virtio2'), '')
        self.eject(12)
        q.wait_event('DEVICE_DELETED')
        self.assertIn("not found", q.hmp('drive_del drive-virtio2'))


if __name__ == '__main__':
    main()
