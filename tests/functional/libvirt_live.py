#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What libvirt does to a running domain: threads, disks, sizes, limits, statistics, life.

The guest is the bare one, which reads and writes the first disk on all of its queues and verifies
what it reads. It knows nothing of hotplug: a disk that libvirt detaches goes when the machine is
reset, which is when hotplug controllers carry out what no guest has answered.
"""
import os
import re
import subprocess

import conversation
from libvirtd import (SPARE_PORT, LibvirtCase, bare_guest, can_run_guests, disk_xml, domain_xml,
                      eventually, main)

CPU = ('<cpu mode="host-passthrough"><feature policy="disable" name="arch-capabilities"/></cpu>')
MIB = 1 << 20
# Two root ports of q35, for disks that come later. The guest looks for its own on the first bus.
PORTS = SPARE_PORT + '<controller type="pci" model="pcie-root-port"/>'
ON_FIRST_BUS = '<address type="pci" domain="0" bus="0" slot="0x10" function="0"/>'
GUEST = 'q=4 d=8 rw=70 v=1 t=0 n=1 mem=256'


def fields(text):
    """{name: value} of lines that end in two words, or hold "name : value"."""
    out = {}
    for line in text.split('\n'):
        if ':' in line:
            key, value = line.split(':', 1)
        elif line.strip():
            key, value = line.split()[-2:]
        else:
            continue
        out[key.strip()] = value.strip()
    return out


class Live(LibvirtCase):
    kernel = None

    def setUp(self):
        super().setUp()
        reason = can_run_guests()
        if reason:
            self.skipTest(reason)
        if Live.kernel is None:
            Live.kernel = os.path.join(self.libvirt.work, 'guest.elf')
            bare_guest(Live.kernel)

    def start(self, machine='q35', disks=None, paused=False):
        """A domain whose guest has begun to use its disk (or will, when it is resumed)."""
        if disks is None:
            disks = [disk_xml(self.image('a.raw'), 'vda', 4, [(1, [0, 2]), (2, [1, 3])],
                              extra=ON_FIRST_BUS)]
        name = 'live-' + machine
        self.console = os.path.join(self.libvirt.work, name + '.console')
        serial = '<serial type="file"><source path="%s"/><target port="0"/></serial>' % self.console
        self.addCleanup(lambda: os.path.exists(self.console) and os.unlink(self.console))
        self.define(domain_xml(name, self.libvirt.emulator, disks, machine=machine, cpu=CPU,
                               kernel=self.kernel, cmdline=GUEST, serial=serial,
                               extra=PORTS if machine == 'q35' else ''))
        self.virsh('start', name, *(['--paused'] if paused else []))
        if not paused:
            self.wait_for_starts(1)
        return name

    # ---- what libvirt shows, and what is so ----

    def starts(self):
        """How many times the guest has begun, by its console."""
        with open(self.console) as f:
            text = f.read()
        self.assertNotIn('FAIL', text)
        return text.count('START')

    def wait_for_starts(self, n):
        eventually(lambda: os.path.exists(self.console) and self.starts() >= n,
                   'the guest begins, %d times' % n)

    def state(self, name):
        return self.virsh('domstate', name, '--reason').strip()

    def status(self, name):
        return self.qmp(name, 'query-status')['status']

    def iothreads(self, name):
        """Numbers, which must be those of the live object tree and threads of the process."""
        lines = self.virsh('iothreadinfo', name).split('\n')
        shown = sorted(x.split()[0] for x in lines if x.strip())
        live = self.qmp(name, 'query-iothreads')
        self.assertEqual(sorted(t['id'] for t in live), ['iothread' + n for n in shown])
        tasks = os.listdir('/proc/%d/task' % self.pid(name))
        for t in live:
            self.assertIn(str(t['thread-id']), tasks)
        return shown

    def targets(self, name):
        return [x.split()[0] for x in self.virsh('domblklist', name).split('\n') if x.strip()]

    def devices(self, name):
        """Paths of the disks that the machine has."""
        return sorted(b['qdev'] for b in self.qmp(name, 'query-block'))

    def nodes(self, name):
        return sorted(n['node-name'] for n in self.qmp(name, 'query-named-block-nodes'))

    def block(self, name, number=0):
        path = '/machine/peripheral/virtio-disk%d/virtio-backend' % number
        return [b for b in self.qmp(name, 'query-block') if b['qdev'] == path][0]

    def stats(self, name, target='vda'):
        return {k: int(v) for k, v in fields(self.virsh('domblkstat', name, target)).items()}

    def used(self, name, count=100):
        """Waits until the guest has had so many more requests."""
        now = self.stats(name)['rd_req']
        eventually(lambda: self.stats(name)['rd_req'] >= now + count, 'the guest reads')

    # ---- test cases ----

    def test_iothreads_come_and_go(self):
        name = self.start()
        self.assertEqual(self.iothreads(name), ['1', '2'])
        self.virsh('iothreadadd', name, '3', '--live')
        self.assertEqual(self.iothreads(name), ['1', '2', '3'])
        self.virsh('iothreadset', name, '3', '--poll-max-ns', '54321', '--poll-grow', '3',
                   '--poll-shrink', '5', '--live')
        live = {t['id']: t for t in self.qmp(name, 'query-iothreads')}['iothread3']
        self.assertEqual((live['poll-max-ns'], live['poll-grow'], live['poll-shrink']),
                         (54321, 3, 5))
        self.assertEqual(fields(self.virsh('domstats', name, '--iothread').replace('=', ':'))
                         ['iothread.3.poll-max-ns'], '54321')
        tid = str(live['thread-id'])
        self.virsh('iothreaddel', name, '3', '--live')
        self.assertEqual(self.iothreads(name), ['1', '2'])
        eventually(lambda: tid not in os.listdir('/proc/%d/task' % self.pid(name)),
                   'the thread ends')
        self.used(name)

    def test_iothread_in_use_stays(self):
        """libvirt refuses it, and so does the machine if it is asked directly."""
        name = self.start()
        self.assertIn('being used', self.virsh_fails('iothreaddel', name, '1', '--live'))
        reply = self.virsh('qemu-monitor-command', name,
                           '{"execute":"object-del","arguments":{"id":"iothread1"}}')
        self.assertIn("object 'iothread1' is in use, can not be deleted", reply)
        self.assertEqual(self.iothreads(name), ['1', '2'])
        self.used(name)

    def check_attach(self, machine):
        name = self.start(machine)
        devices, nodes = self.devices(name), self.nodes(name)
        self.virsh('iothreadadd', name, '3', '--live')
        self.attach(name, disk_xml(self.image('c.raw', 32 * MIB), 'vdc', 4,
                                   [(2, None), (3, None)], extra='<serial>hot</serial>'))
        self.assertEqual(self.targets(name), ['vda', 'vdc'])
        added = [a for c, a in self.libvirt.qmp_commands() if c == 'device_add'][-1]
        self.assertEqual(added['iothread-vq-mapping'],
                         [{'iothread': 'iothread2'}, {'iothread': 'iothread3'}])
        path = '/machine/peripheral/' + added['id']
        self.assertEqual(self.qmp(name, 'qom-get', path=path, property='iothread-vq-mapping'),
                         added['iothread-vq-mapping'])
        self.assertEqual(self.qmp(name, 'qom-get', path=path, property='serial'), 'hot')
        self.assertEqual(self.devices(name), sorted(devices + [path + '/virtio-backend']))
        info = fields(self.virsh('domblkinfo', name, 'vdc'))
        self.assertEqual(int(info['Capacity']), 32 * MIB)
        self.assertIn('being used', self.virsh_fails('iothreaddel', name, '3', '--live'))
        # Nobody answers the request to let go.
        self.virsh('detach-disk', name, 'vdc', '--live')
        self.assertEqual(self.targets(name), ['vda', 'vdc'])
        self.assertEqual(self.devices(name), sorted(devices + [path + '/virtio-backend']))
        self.used(name)
        self.virsh('reset', name)
        eventually(lambda: self.targets(name) == ['vda'], 'the disk is gone')
        self.wait_for_starts(2)
        self.assertEqual(self.devices(name), devices)
        eventually(lambda: self.nodes(name) == nodes, 'its nodes are gone')
        self.virsh('iothreaddel', name, '3', '--live')
        self.assertEqual(self.iothreads(name), ['1', '2'])
        self.used(name)

    def test_attach_with_mapping_q35(self):
        self.check_attach('q35')

    def test_attach_with_mapping_pc(self):
        self.check_attach('pc')

    def test_attach_by_words(self):
        """attach-disk makes the XML itself."""
        name = self.start()
        self.virsh('attach-disk', name, self.image('e.raw', 16 * MIB), 'vdb', '--live',
                   '--iothread', '2', '--cache', 'none', '--io', 'io_uring', '--serial', 'words')
        added = [a for c, a in self.libvirt.qmp_commands() if c == 'device_add'][-1]
        path = '/machine/peripheral/' + added['id']
        self.assertEqual(self.qmp(name, 'qom-get', path=path, property='serial'), 'words')
        self.assertEqual(self.qmp(name, 'qom-get', path=path, property='iothread'),
                         '/objects/iothread2')
        self.assertEqual(self.targets(name), ['vda', 'vdb'])

    def test_failed_attach_leaves_nothing(self):
        name = self.start()
        nodes, devices = self.nodes(name), self.devices(name)
        path = os.path.join(self.libvirt.work, 'bad.xml')
        with open(path, 'w') as f:
            f.write(disk_xml(self.image('d.raw'), 'vdd', 2, driver='queue_size="3"'))
        self.assertIn('invalid queue-size property (3)',
                      self.virsh_fails('attach-device', name, path, '--live'))
        self.assertEqual(self.targets(name), ['vda'])
        self.assertEqual((self.nodes(name), self.devices(name)), (nodes, devices))
        self.used(name)

    def test_resize(self):
        name = self.start()
        self.virsh('blockresize', name, 'vda', '128MiB')
        self.assertEqual(os.path.getsize(os.path.join(self.libvirt.work, 'a.raw')), 128 * MIB)
        self.assertEqual(int(fields(self.virsh('domblkinfo', name, 'vda'))['Capacity']), 128 * MIB)
        self.assertEqual(self.block(name)['inserted']['image']['virtual-size'], 128 * MIB)
        self.used(name)

    def test_statistics(self):
        name = self.start()
        self.used(name)
        self.virsh('suspend', name)
        stat = self.stats(name)
        live = [b for b in self.qmp(name, 'query-blockstats')
                if b['qdev'].endswith('virtio-disk0/virtio-backend')][0]['stats']
        self.assertEqual(stat, {
            'rd_req': live['rd_operations'], 'rd_bytes': live['rd_bytes'],
            'wr_req': live['wr_operations'], 'wr_bytes': live['wr_bytes'],
            'flush_operations': live['flush_operations'],
            'rd_total_times': live['rd_total_time_ns'],
            'wr_total_times': live['wr_total_time_ns'],
            'flush_total_times': live['flush_total_time_ns']})
        self.assertGreater(stat['rd_total_times'], 0)
        self.assertGreater(stat['wr_bytes'], 0)
        all_stats = fields(self.virsh('domstats', name).replace('=', ':'))
        self.assertEqual(all_stats['block.0.name'], 'vda')
        self.assertEqual(int(all_stats['block.0.rd.reqs']), stat['rd_req'])
        self.assertEqual(int(all_stats['block.0.capacity']), 64 * MIB)
        self.assertEqual((all_stats['iothread.count'], all_stats['vcpu.current']), ('2', '2'))
        self.assertEqual(self.virsh('domblkerror', name).strip(), 'No errors found')

    def test_throttling(self):
        name = self.start()
        self.virsh('blkdeviotune', name, 'vda', '--total-iops-sec', '500', '--total-iops-sec-max',
                   '600', '--total-iops-sec-max-length', '2', '--size-iops-sec', '8192',
                   '--read-bytes-sec', '1000000', '--group-name', 'limits', '--live')
        tune = fields(self.virsh('blkdeviotune', name, 'vda'))
        expected = {'total_iops_sec': '500', 'total_iops_sec_max': '600',
                    'total_iops_sec_max_length': '2', 'size_iops_sec': '8192',
                    'read_bytes_sec': '1000000', 'total_bytes_sec': '0', 'write_iops_sec': '0',
                    'group_name': 'limits'}
        self.assertEqual({k: tune[k] for k in expected}, expected)
        live = self.block(name)['inserted']
        self.assertEqual((live['iops'], live['iops_max'], live['iops_max_length'],
                          live['iops_size'], live['bps_rd'], live['group']),
                         (500, 600, 2, 8192, 1000000, 'limits'))
        self.used(name, 20)
        self.virsh('blkdeviotune', name, 'vda', '--total-iops-sec', '0', '--total-iops-sec-max',
                   '0', '--total-iops-sec-max-length', '0', '--size-iops-sec', '0',
                   '--read-bytes-sec', '0', '--live')
        tune = fields(self.virsh('blkdeviotune', name, 'vda'))
        self.assertEqual((tune['total_iops_sec'], tune['read_bytes_sec']), ('0', '0'))
        self.assertEqual(self.block(name)['inserted']['iops'], 0)
        self.used(name)

    def test_limits_of_the_definition(self):
        """<iotune> in the XML is in force before the guest runs."""
        disk = disk_xml(self.image('a.raw'), 'vda', 4, [(1, None), (2, None)],
                        extra='<iotune><total_iops_sec>777</total_iops_sec></iotune>' +
                        ON_FIRST_BUS)
        name = self.start(disks=[disk], paused=True)
        self.assertEqual(self.block(name)['inserted']['iops'], 777)
        self.virsh('resume', name)
        self.wait_for_starts(1)

    def test_life(self):
        name = self.start()
        self.assertEqual(self.state(name), 'running (booted)')
        self.virsh('suspend', name)
        self.assertEqual((self.state(name), self.status(name)), ('paused (user)', 'paused'))
        before = self.stats(name)
        self.assertEqual(self.stats(name), before)
        self.virsh('resume', name)
        self.assertEqual((self.state(name), self.status(name)), ('running (unpaused)', 'running'))
        self.used(name)
        pid = self.pid(name)
        self.virsh('reset', name)
        self.wait_for_starts(2)
        self.used(name)
        self.assertEqual((self.pid(name), self.status(name)), (pid, 'running'))
        info = fields(self.virsh('dominfo', name))
        self.assertEqual((info['State'], info['CPU(s)'], info['Used memory']),
                         ('running', '2', '%d KiB' % (256 * 1024)))
        self.assertIn('virtio-disk0', self.virsh('qemu-monitor-command', name, '--hmp',
                                                 'info block'))
        self.virsh('destroy', name)
        self.assertEqual(self.state(name), 'shut off (destroyed)')
        self.assertFalse(os.path.exists('/proc/%d' % pid))
        self.virsh('undefine', name)
        self.assertIn('failed to get domain', self.virsh_fails('domstate', name))

    def say(self, name, words, since):
        """One step of the conversation; returns what was said during it."""
        def said():
            with open(self.libvirt.log, errors='replace') as f:
                f.seek(since)
                talk = conversation.parse_log(f.read())
            # The log may get its last lines after virsh has ended.
            return talk if all('event' in m or 'return' in m for m in talk) else None
        before = len(eventually(said, 'all replies'))
        self.virsh(words[0], name, *words[1:])
        if words[0] == 'reset':
            eventually(lambda: self.targets(name) == ['vda'], 'the disk is gone')
        return eventually(said, 'all replies')[before:]

    def check_conversation(self, machine):
        """What libvirt says and hears is what data/libvirt-live.json holds."""
        version = subprocess.run(['libvirtd', '--version'], capture_output=True,
                                 text=True).stdout.split()[-1]
        record = bool(os.environ.get('SPINDLE_RECORD'))
        data = conversation.load() if os.path.exists(conversation.PATH) else {}
        if not record and data['libvirt'] != version:
            self.skipTest('the conversation is one with libvirt ' + data['libvirt'])
        base = disk_xml(self.image('base.raw', conversation.SIZES['base']), 'vda', 4,
                        [(1, [0, 2]), (2, [1, 3])], extra='<serial>base</serial>' + ON_FIRST_BUS)
        since = os.path.getsize(self.libvirt.log)
        name = self.start(machine, disks=[base], paused=True)
        xml = os.path.join(self.libvirt.work, 'hot.xml')
        with open(xml, 'w') as f:
            f.write(disk_xml(self.image('hot.raw', conversation.SIZES['hot']), 'vdc', 4,
                             [(2, None), (3, None)], extra='<serial>hot</serial>'))
        names = {os.path.join(self.libvirt.work, n + '.raw'): '@%s@' % n
                 for n in conversation.SIZES}
        with open('/proc/%d/cmdline' % self.pid(name)) as f:
            argv = f.read().split('\0')
        parts = [w for o, v in zip(argv, argv[1:]) for w in (o, v)
                 if o in ('-device', '-blockdev') and 'isa-serial' not in v
                 or o == '-object' and '"iothread"' in v]
        now = {'argv': conversation.renamed(parts, names), 'steps': {}}
        for step, words in conversation.STEPS:
            talk = self.say(name, [xml if w == '@hot.xml@' else w for w in words], since)
            now['steps'][step] = conversation.renamed(talk, names)
            if step == 'resume':
                self.wait_for_starts(1)
        if record:
            conversation.store({**data, 'libvirt': version, machine: now})
            return
        self.assertEqual(now['argv'], data[machine]['argv'])
        for step, talk in data[machine]['steps'].items():
            with self.subTest(step=step):
                talk = conversation.sorted_talk(step, talk)
                new = conversation.sorted_talk(step, now['steps'][step])
                self.assertEqual([{k: m[k] for k in m if k != 'return'} for m in new],
                                 [{k: m[k] for k in m if k != 'return'} for m in talk])
                for old, said in zip(talk, new):
                    self.assertEqual(conversation.differences(
                        old.get('return'), said.get('return'), old.get('execute', '')), [])

    def test_conversation_q35(self):
        self.check_conversation('q35')

    def test_conversation_pc(self):
        self.check_conversation('pc')

    def test_power_button_is_nothing_to_this_guest(self):
        """A guest without ACPI goes on; both requests are accepted."""
        name = self.start()
        self.virsh('shutdown', name, '--mode', 'acpi')
        self.virsh('reboot', name, '--mode', 'acpi')
        self.used(name)
        self.assertEqual(self.state(name), 'running (booted)')

    def test_end_without_a_word(self):
        """A process that is killed is a domain that crashed, and can be started again."""
        name = self.start()
        pid = self.pid(name)
        os.kill(pid, 9)
        eventually(lambda: self.state(name).startswith('shut off'), 'libvirt sees the end')
        self.virsh('start', name)
        self.wait_for_starts(1)
        self.assertNotEqual(self.pid(name), pid)
        self.used(name)

    def test_monitor_of_the_user(self):
        name = self.start(paused=True)
        self.assertEqual(self.qmp(name, 'query-status')['status'], 'prelaunch')
        reply = self.virsh('qemu-monitor-command', name, '{"execute":"no-such"}')
        self.assertIn('CommandNotFound', reply)
        self.virsh('resume', name)
        self.wait_for_starts(1)


if __name__ == '__main__':
    main()
