#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux boots on both machines with one, two and four processors; its queues and their interrupts are
where they belong; what fio wrote and verified is what the images hold after power-off."""
import json
import re
import unittest

from rig.case import GuestCase, main
from rig.guest import ACCEL

SIZE = 8 << 20
ROUND_ROBIN = [{'iothread': 't0'}, {'iothread': 't1'}]
EXPLICIT = [{'iothread': 't0', 'vqs': [0, 3]}, {'iothread': 't1', 'vqs': [1, 2]}]
EXPLICIT_TWO = [{'iothread': 't1', 'vqs': [0]}, {'iothread': 't0', 'vqs': [1]}]
MORE_THREADS = [{'iothread': 't0'}, {'iothread': 't1'}, {'iothread': 't2'}]


def verify(names, cpus, only=False):
    """fio's arguments: on each disk one job on each processor writes its own part in random order and
    checks what it wrote; with `only`, checks what an earlier run wrote."""
    args = ['--direct=%d' % (not only), '--rw=randwrite', '--bs=4k', '--size=256k',
            '--offset_increment=2m', '--numjobs=%d' % cpus, '--iodepth=16',
            '--ioengine=' + ('psync' if only else 'libaio'), '--verify=crc32c', '--verify_fatal=1',
            '--group_reporting', '--allow_file_create=0', '--thread=1',
            '--verify_only=1' if only else '--do_verify=1'] + \
        ([] if only else ['--cpus_allowed=0-%d' % (cpus - 1), '--cpus_allowed_policy=split'])
    for number, name in enumerate(names):
        args += ['--name=verify%d' % number, '--filename=' + name]
    return args


class LinuxBoot(GuestCase):
    def disk(self, number, aio, queues, mapping):
        direct = aio == 'native'
        path = self.direct_image('disk%d' % number, SIZE) if direct else \
            self.image('disk%d' % number, SIZE)
        device = {'driver': 'virtio-blk-pci', 'drive': 'd%d' % number, 'num-queues': queues,
                  'serial': 'disk%d' % number}
        if mapping:
            device['iothread-vq-mapping'] = mapping
        return path, ['-blockdev', json.dumps({
            'driver': 'raw', 'node-name': 'd%d' % number,
            'file': {'driver': 'file', 'filename': path, 'aio': aio,
                     'cache': {'direct': direct}}}), '-device', json.dumps(device)]

    def counts(self, guest, disks):
        """The virtio devices of the disks, and what /proc/interrupts says."""
        said = guest.run('for d in %s; do l=$(readlink /sys/block/$d/device); echo device ${l##*/}; done;'
                         ' cat /proc/interrupts' % ' '.join(disks))
        devices = re.findall('^device (virtio[0-9]+)', said, re.M)
        self.assertEqual(len(devices), len(disks))
        return devices, said

    def interrupts(self, guest, disks):
        """[{queue: [count on each processor]}], of each disk"""
        devices, said = self.counts(guest, disks)
        return [{int(m.group(2)): [int(n) for n in m.group(1).split()]
                 for m in re.finditer(r'^ *\d+:((?: +\d+)+) .*%s-req\.(\d+)$' % device, said, re.M)}
                for device in devices]

    def queue_cpus(self, guest, disk, queues):
        """{queue: its processors}; each processor has one queue."""
        said = guest.run('for q in /sys/block/%s/mq/*; do read -r l <$q/cpu_list; echo ${q##*/}: $l; done'
                         % disk)
        cpus = {int(line.split(':')[0]): [int(c) for c in line.split(':')[1].split(',')]
                for line in said.split('\n')}
        self.assertEqual(sorted(cpus), list(range(min(queues, guest.cpus))))
        self.assertEqual(sorted(sum(cpus.values(), [])), list(range(guest.cpus)))
        return cpus

    def check_queues(self, queue_cpus, before, after):
        """Each queue has its own processors, and only they got its interrupts."""
        for cpus, old, new in zip(queue_cpus, before, after):
            self.assertEqual(sorted(old), sorted(cpus))
            for queue, own in cpus.items():
                risen = [b - a for a, b in zip(old[queue], new[queue])]
                self.assertGreaterEqual(sum(risen), 3 * len(own), 'queue %d: %r' % (queue, risen))
                self.assertTrue(all(n == 0 or cpu in own for cpu, n in enumerate(risen)),
                                'queue %d belongs to %r, interrupts: %r' % (queue, own, risen))

    def lines(self, guest, disks):
        """How often the line of each disk has interrupted."""
        devices, said = self.counts(guest, disks)
        self.assertNotIn('-req.', said)
        counts = []
        for device in devices:
            line = re.search(r'^ *\d+:((?: +\d+)+) +IO-APIC +\d+-fasteoi .*\b%s\b' % device, said, re.M)
            self.assertTrue(line, said)
            counts.append(sum(int(n) for n in line.group(1).split()))
        return counts

    def check_lines(self, queue_cpus, before, after):
        """The queues of a disk share one line, which interrupts for all of them."""
        for cpus, old, new in zip(queue_cpus, before, after):
            self.assertGreaterEqual(new - old, 3 * sum(len(own) for own in cpus.values()))

    def boot(self, machine, cpus, first, second, msi=True, **kwargs):
        paths, args = [], []
        for number, (aio, queues, mapping) in enumerate((first, second)):
            path, more = self.disk(number, aio, queues, mapping)
            paths.append(path)
            args += more
        guest = self.guest('-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                           '-object', 'iothread,id=t2', *args, machine=machine, smp=cpus,
                           append='' if msi else 'pci=nomsi', **kwargs)
        self.assertEqual(guest.cpus, cpus)
        names = guest.disks()
        self.assertEqual(sorted(names), ['disk0', 'disk1'])
        disks = [names['disk0'], names['disk1']]
        queue_cpus = [self.queue_cpus(guest, disk, queues)
                      for disk, (_, queues, _) in zip(disks, (first, second))]
        count, check = (self.interrupts, self.check_queues) if msi else (self.lines, self.check_lines)
        before = count(guest, disks)
        guest.run('fio %s >/tmp/fio 2>&1 || { cat /tmp/fio; false; }'
                  % ' '.join(verify(['/dev/' + disk for disk in disks], cpus)))
        check(queue_cpus, before, count(guest, disks))
        sums = [guest.digest(names['disk%d' % number]) for number in (0, 1)]
        self.assertEqual(guest.run('dmesg | grep -iE "i/o error|blk_update_request|hung task|call trace"'
                                   ' || true'), '')
        guest.poweroff()
        self.host_fio(*verify(paths, cpus, only=True))
        for path, expected in zip(paths, sums):
            self.assertEqual(self.digest(path), expected, path)
            with open(path, 'rb') as f:
                f.seek(256 << 10)
                self.assertEqual(f.read(1792 << 10), bytes(1792 << 10), 'between the jobs')

    def test_q35_one_processor(self):
        self.boot('q35', 1, ('io_uring', 4, ROUND_ROBIN), ('threads', 1, None))

    def test_q35_two_processors(self):
        self.boot('q35', 2, ('native', 4, EXPLICIT), ('threads', 2, MORE_THREADS))

    def test_q35_four_processors(self):
        self.boot('q35', 4, ('io_uring', 4, EXPLICIT), ('native', 4, ROUND_ROBIN))

    def test_pc_one_processor(self):
        self.boot('pc', 1, ('native', 4, None), ('threads', 4, EXPLICIT))

    def test_pc_two_processors(self):
        self.boot('pc', 2, ('io_uring', 2, MORE_THREADS), ('native', 2, MORE_THREADS))

    def test_pc_four_processors(self):
        self.boot('pc', 4, ('threads', 4, ROUND_ROBIN), ('io_uring', 4, None))

    def test_q35_without_msi(self):
        self.boot('q35', 2, ('io_uring', 2, ROUND_ROBIN), ('native', 4, MORE_THREADS), msi=False)

    def test_pc_without_msi(self):
        self.boot('pc', 2, ('threads', 2, EXPLICIT_TWO), ('io_uring', 1, None), msi=False)

    @unittest.skipIf(ACCEL != 'kvm', 'a property of KVM')
    def test_q35_split_irqchip(self):
        """The I/O APIC, the 8259s and the timer are the emulator's."""
        self.boot('q35', 2, ('io_uring', 2, ROUND_ROBIN), ('threads', 1, None),
                  accel='kvm,kernel-irqchip=split')


if __name__ == '__main__':
    main()
