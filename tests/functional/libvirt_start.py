#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt defines and starts a domain whose disks map their queues on IOThreads."""
import json
import os

from libvirtd import (SPARE_PORT, LibvirtCase, can_run_guests, disk_xml, domain_xml, eventually,
                      main)


def status(pid):
    with open('/proc/%d/status' % pid) as f:
        return dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)


class Start(LibvirtCase):
    def setUp(self):
        super().setUp()
        reason = can_run_guests()
        if reason:
            self.skipTest(reason)

    def start_paused(self, machine):
        disks = [disk_xml(self.image('a.raw'), 'vda', 4, [(1, [0, 2]), (2, [1, 3])], boot=1,
                          extra='<serial>serial-a</serial>'),
                 disk_xml(self.image('b.raw'), 'vdb', 4, [(1, None), (2, None)])]
        name = self.define(domain_xml('start-' + machine, self.libvirt.emulator, disks,
                                      machine=machine,
                                      extra=SPARE_PORT if machine == 'q35' else ''))
        self.virsh('start', name, '--paused')
        return name

    def check(self, machine):
        name = self.start_paused(machine)
        self.assertEqual(self.virsh('domstate', name).strip(), 'paused')
        pid = self.pid(name)
        # The mapping reached the device as libvirt said it.
        with open('/proc/%d/cmdline' % pid) as f:
            argv = f.read().split('\0')
        disks = [json.loads(a) for a in argv
                 if a.startswith('{"driver":"virtio-blk-pci"')]
        self.assertEqual([d['iothread-vq-mapping'] for d in disks],
                         [[{'iothread': 'iothread1', 'vqs': [0, 2]},
                           {'iothread': 'iothread2', 'vqs': [1, 3]}],
                          [{'iothread': 'iothread1'}, {'iothread': 'iothread2'}]])
        for disk in disks:
            self.assertEqual(self.qmp(name, 'qom-get', path='/machine/peripheral/' + disk['id'],
                                      property='iothread-vq-mapping'), disk['iothread-vq-mapping'])
        # It runs as a user without rights, under the filter of system calls.
        st = status(pid)
        self.assertNotEqual(st['Uid'].split()[0], '0')
        self.assertEqual(int(st['CapEff'], 16), 0)
        self.assertEqual((st['NoNewPrivs'], st['Seccomp']), ('1', '2'))
        # libvirt's own view: the thread of each vCPU and IOThread is a thread of the process.
        tasks = os.listdir('/proc/%d/task' % pid)
        for t in self.qmp(name, 'query-iothreads') + self.qmp(name, 'query-cpus-fast'):
            self.assertIn(str(t['thread-id']), tasks)
            self.assertNotEqual(t['thread-id'], pid)
        lines = self.virsh('iothreadinfo', name).split('\n')
        self.assertEqual([x.split()[0] for x in lines if x.strip()], ['1', '2'])
        self.assertIn('vda', self.virsh('domblklist', name))
        self.virsh('resume', name)
        self.assertEqual(self.virsh('domstate', name).strip(), 'running')
        self.virsh('suspend', name)
        self.assertEqual(self.virsh('domstate', name).strip(), 'paused')
        self.virsh('destroy', name)
        self.assertEqual(self.virsh('domstate', name).strip(), 'shut off')
        self.assertFalse(os.path.exists('/proc/%d' % pid))

    def test_q35(self):
        self.check('q35')

    def test_pc(self):
        self.check('pc')

    def test_cpu_modes(self):
        """Each way in which a domain describes its processor starts."""
        for cpu in ('', '<cpu mode="host-passthrough"><feature policy="disable" '
                    'name="arch-capabilities"/></cpu>',
                    '<cpu mode="host-passthrough" migratable="off"/>',
                    '<cpu mode="maximum"/>',
                    '<cpu mode="custom" match="exact" check="none"><model>kvm64</model></cpu>',
                    '<cpu mode="host-passthrough"><topology sockets="1" dies="1" cores="1" '
                    'threads="2"/></cpu>'):
            with self.subTest(cpu=cpu):
                name = self.define(domain_xml('cpu', self.libvirt.emulator,
                                              [disk_xml(self.image('c.raw'), 'vda', 2)], cpu=cpu))
                self.virsh('start', name, '--paused')
                self.assertEqual(len(self.qmp(name, 'query-cpus-fast')), 2)
                self.virsh('destroy', name)
                self.doCleanups()

    def test_thread_affinity(self):
        """Threads can be bound to processors from outside, and new ones start bound from inside."""
        name = self.start_paused('q35')
        self.virsh('iothreadpin', name, '1', '0')
        self.virsh('vcpupin', name, '1', '0')
        pinned = [x.split() for x in self.virsh('iothreadinfo', name).split('\n') if x.strip()]
        self.assertEqual(pinned[0], ['1', '0'])
        self.qmp(name, 'object-add', **{'qom-type': 'iothread', 'id': 'bound',
                                        'cpu-affinity': [0]})
        tid = [t['thread-id'] for t in self.qmp(name, 'query-iothreads') if t['id'] == 'bound'][0]
        self.assertEqual(os.sched_getaffinity(tid), {0})
        self.qmp(name, 'object-del', id='bound')

    def test_failure_is_shown(self):
        """What the emulator says against its command line ends up with the user of virsh."""
        name = self.define(domain_xml(
            'wrong', self.libvirt.emulator,
            [disk_xml(self.image('w.raw'), 'vda', 2, driver='queue_size="3"')]))
        self.assertIn('invalid queue-size property (3), must be a power of 2 (max 1024)',
                      self.virsh_fails('start', name))
        self.assertEqual(self.virsh('domstate', name).strip(), 'shut off')

    def test_restart_of_libvirtd(self):
        """A libvirtd that comes back finds the domain as it is."""
        name = self.start_paused('q35')
        pid = self.pid(name)
        self.virsh('resume', name)
        self.libvirt.stop()
        self.libvirt.start()
        eventually(lambda: self.virsh('domstate', name).strip() == 'running', 'domain is running')
        self.assertEqual(self.pid(name), pid)
        self.virsh('suspend', name)
        self.assertEqual(self.virsh('domstate', name).strip(), 'paused')
        self.assertIn('vdb', self.virsh('domblklist', name))


if __name__ == '__main__':
    main()
