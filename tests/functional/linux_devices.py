#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What Linux makes of the disk's properties: transports, ring features, block sizes, serial numbers,
read-only disks, the write cache, discard and zeroing; and guest RAM around the hole below 4 GiB."""
import json
import os
import re

from rig.case import GuestCase, main
from rig.load import Load

SIZE = 8 << 20
THREADS = ['-object', 'iothread,id=t0', '-object', 'iothread,id=t1', '-object', 'iothread,id=t2']
MAPPING = [{'iothread': 't0'}, {'iothread': 't1'}, {'iothread': 't2'}]

# Feature bits as /sys/bus/virtio/devices/*/features has them.
RO, CONFIG_WCE, DISCARD, WRITE_ZEROES = 5, 11, 13, 14
INDIRECT, EVENT_IDX, VERSION_1 = 28, 29, 32

TRANSPORTS = {
    'legacy': {'disable-modern': True, 'disable-legacy': 'off'},
    'modern': {'disable-legacy': 'on', 'num-queues': 8},
    'plain': {'indirect_desc': False, 'event_idx': False, 'packed': False},
    'pages': {'page-per-vq': True},
    'portio': {'modern-pio-notify': True, 'disable-legacy': 'on'},
    'short': {'queue-size': 8, 'seg-max-adjust': True},
    'fewirqs': {'vectors': 2},
    'noirq': {'vectors': 0},
    'nofast': {'ioeventfd': False, 'iothread-vq-mapping': None},
}


class LinuxDevices(GuestCase):
    def disk(self, name, properties, node=(), **more):
        path = self.image(name + '.raw', SIZE)
        self.paths[name] = path
        device = {'driver': 'virtio-blk-pci', 'drive': name, 'serial': name, 'num-queues': 4,
                  'iothread-vq-mapping': MAPPING, **properties}
        return ['-blockdev', json.dumps({
            'driver': 'raw', 'node-name': name, **dict(node),
            'file': {'driver': 'file', 'filename': path, 'aio': 'io_uring', **more}}),
            '-device', json.dumps({k: v for k, v in device.items() if v is not None})]

    def setUp(self):
        self.paths = {}

    def features(self, guest, disk):
        """Set of feature bits that the guest's driver took."""
        said = guest.run('cat /sys/block/%s/device/features' % disk).strip()
        return {n for n, bit in enumerate(said) if bit == '1'}

    def same_content(self, guest, names):
        """What the guest reads is what the images hold; ends the guest."""
        sums = {name: guest.digest(disk) for name, disk in names.items()}
        guest.poweroff()
        for name, expected in sums.items():
            self.assertEqual(self.digest(self.paths[name]), expected, name)

    def test_transports(self):
        args = sum((self.disk(name, p) for name, p in TRANSPORTS.items()), [])
        guest = self.guest(*THREADS, *args, machine='pc', smp=2)
        names = guest.disks()
        self.assertEqual(sorted(names), sorted(TRANSPORTS))
        features = {name: self.features(guest, disk) for name, disk in names.items()}
        for name, bits in features.items():
            self.assertEqual(VERSION_1 in bits, name != 'legacy', name)
            self.assertEqual(INDIRECT in bits, name != 'plain', name)
            self.assertEqual(EVENT_IDX in bits, name != 'plain', name)
        said = guest.run('for d in /sys/block/vd*; do echo $(cat $d/serial) $(ls $d/mq | wc -l); done')
        queues = dict(line.split() for line in said.split('\n'))
        self.assertEqual(queues, {name: '2' for name in queues})
        load = Load(guest, list(TRANSPORTS), size='64k')
        self.assertGreaterEqual(load.end(), 1)
        self.same_content(guest, names)

    def attribute(self, guest, disk, path):
        return guest.run('cat /sys/block/%s/%s' % (disk, path)).strip()

    def test_properties(self):
        node = {'discard': 'unmap'}
        args = self.disk('sectors', {'logical_block_size': 4096, 'physical_block_size': 4096,
                                     'min_io_size': 8192, 'opt_io_size': 65536}) + \
            self.disk('readonly', {}, node={'read-only': True}) + \
            self.disk('a-serial-of-20-chars', {}) + \
            self.disk('through', {'write-cache': 'off'}) + \
            self.disk('fixed', {'config-wce': False}) + \
            self.disk('holes', {}, node=node, **{'discard': 'unmap'}) + \
            self.disk('kept', {'discard': False, 'write-zeroes': False})
        with open(self.paths['readonly'], 'r+b') as f:
            f.write(b'read only'.ljust(4096, b'.'))
        guest = self.guest(*THREADS, *args, machine='q35', smp=1)
        names = guest.disks()
        self.assertEqual(sorted(names), sorted(self.paths))

        with self.subTest('block sizes'):
            for path, expected in (('logical_block_size', '4096'), ('physical_block_size', '4096'),
                                   ('minimum_io_size', '8192'), ('optimal_io_size', '65536')):
                self.assertEqual(self.attribute(guest, names['sectors'], 'queue/' + path), expected)
            self.assertEqual(self.attribute(guest, names['through'], 'queue/logical_block_size'), '512')
            self.assertEqual(self.attribute(guest, names['sectors'], 'size'), str(SIZE // 512))

        with self.subTest('read-only'):
            disk = names['readonly']
            self.assertIn(RO, self.features(guest, disk))
            self.assertEqual(self.attribute(guest, disk, 'ro'), '1')
            self.assertEqual(guest.run('dd if=/dev/%s bs=9 count=1 2>/dev/null' % disk), 'read only')
            guest.run('! dd if=/dev/zero of=/dev/%s bs=4k count=1 conv=fsync 2>/dev/null' % disk)

        with self.subTest('write cache'):
            self.assertEqual(self.attribute(guest, names['through'], 'cache_type'), 'write through')
            self.assertEqual(self.attribute(guest, names['fixed'], 'cache_type'), 'write back')
            self.assertNotIn(CONFIG_WCE, self.features(guest, names['fixed']))
            guest.run('! echo "write through" >/sys/block/%s/cache_type' % names['fixed'])
            disk = names['holes']
            for kind in ('write through', 'write back', 'write through', 'write back'):
                guest.run('echo "%s" >/sys/block/%s/cache_type' % (kind, disk))
                self.assertEqual(self.attribute(guest, disk, 'cache_type'), kind)
                self.assertEqual(self.attribute(guest, disk, 'queue/write_cache'), kind)
                guest.run('printf "%%4096s" "%s" | dd of=/dev/%s bs=4096 seek=9 conv=fsync'
                          ' iflag=fullblock' % (kind, disk))
                self.assertEqual(self.file_bytes(self.paths['holes'], 9 * 4096, 4096),
                                 kind.encode().rjust(4096))

        with self.subTest('discard and zeroing'):
            self.discard(guest, names['holes'])
            self.assertEqual(self.attribute(guest, names['kept'], 'queue/discard_max_bytes'), '0')
            self.assertEqual(self.attribute(guest, names['kept'], 'queue/write_zeroes_max_bytes'), '0')
            self.assertFalse({DISCARD, WRITE_ZEROES} & self.features(guest, names['kept']))

        del names['readonly']
        load = Load(guest, [n for n in names if n not in ('sectors', 'holes')])
        load.end()
        self.same_content(guest, names)

    def discard(self, guest, disk):
        """blkdiscard gives blocks of the image back; zeroing and fio's trims do what they say."""
        path = self.paths['holes']
        self.assertGreater(int(self.attribute(guest, disk, 'queue/discard_max_bytes')), 0)
        guest.run('dd if=/dev/zero bs=1M count=6 2>/dev/null | tr "\\0" x |'
                  ' dd of=/dev/%s bs=1M iflag=fullblock conv=fsync 2>/dev/null' % disk)
        full = os.stat(path).st_blocks * 512
        self.assertGreaterEqual(full, 6 << 20)
        guest.run('blkdiscard -o 4194304 -l 1048576 /dev/%s' % disk)
        self.assertLessEqual(os.stat(path).st_blocks * 512, full - (1 << 20))
        self.assertEqual(self.file_bytes(path, 4 << 20, 1 << 20), bytes(1 << 20))
        for offset in ((4 << 20) - 512, 5 << 20):
            self.assertEqual(self.file_bytes(path, offset, 512), b'x' * 512)
        guest.run('fio --name=trim --filename=/dev/%s --direct=1 --rw=trimwrite --bs=4k --size=512k'
                  ' --offset=7m --ioengine=libaio --iodepth=8 --thread=1 --verify=crc32c'
                  ' --verify_fatal=1 --do_verify=1 >/tmp/trim 2>&1 || { cat /tmp/trim; false; }' % disk)
        # Both are requests to write zeros: the first one gives blocks back, the second keeps them.
        self.assertGreater(int(self.attribute(guest, disk, 'queue/write_zeroes_max_bytes')), 0)
        full = os.stat(path).st_blocks * 512
        guest.run('/bin/fallocate -p -o 1048576 -l 1048576 /dev/%s' % disk)
        self.assertLessEqual(os.stat(path).st_blocks * 512, full - (1 << 20))
        guest.run('/bin/fallocate -z -o 2097152 -l 1048576 /dev/%s' % disk)
        self.assertEqual(self.file_bytes(path, 0, 4 << 20),
                         b'x' * (1 << 20) + bytes(2 << 20) + b'x' * (1 << 20))

    def test_memory_around_the_hole(self):
        """A shared memfd, split around the window of PCI: the guest uses both parts, and its disks
        reach them."""
        args = sum((self.disk(name, {}) for name in ('low', 'high')), [])
        guest = self.guest('-object', 'memory-backend-memfd,id=ram,size=3072M,share=on', *THREADS, *args,
                           machine='q35,memory-backend=ram', memory='3072M', smp=1)
        iomem = guest.run('grep "System RAM" /proc/iomem')
        above = [int(m.group(2), 16) - int(m.group(1), 16) + 1
                 for m in re.finditer(r'^([0-9a-f]+)-([0-9a-f]+) : System RAM', iomem, re.M)
                 if int(m.group(1), 16) >= 1 << 32]
        self.assertEqual(above, [1 << 30], iomem)
        total = int(guest.run("awk '/^MemTotal/ {print $2}' /proc/meminfo"))
        self.assertGreater(total, 2800 << 10)
        names = guest.disks()
        load = Load(guest, ['low', 'high'])
        # Pages from both parts: the page cache takes what is free.
        for name in names.values():
            guest.run('dd if=/dev/%s of=/dev/null bs=1M 2>/dev/null' % name)
        load.end()
        self.same_content(guest, names)


if __name__ == '__main__':
    main()
