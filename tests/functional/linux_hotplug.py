#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Under Linux with fio on its disks: further disks come and go twenty times, a disk grows, and the
machine is stopped and continued fifty times; nothing that the guest wrote is lost."""
import json
import time

from rig.case import GuestCase, main
from rig.load import Load

CYCLES = 20
MAPPING = [{'iothread': 't0'}, {'iothread': 't1'}]
THREADS = ['-object', 'iothread,id=t0', '-object', 'iothread,id=t1']


def marker(text):
    """A block that says what was written."""
    return text.rjust(4096, '.').encode()


class LinuxHotplug(GuestCase):
    def plug(self, guest, name, bus):
        """Plugs a disk with a mapping and waits until the guest sees it and has written a marker; returns
        its image."""
        path = self.image('%s.raw' % name, 8 << 20)
        guest.qmp('blockdev-add', driver='raw', node_name='node-' + name,
                  file={'driver': 'file', 'filename': path, 'aio': 'io_uring'})
        guest.qmp('device_add', driver='virtio-blk-pci', id=name, drive='node-' + name,
                  serial=name, num_queues=2, iothread_vq_mapping=MAPPING, **bus)
        # Few processes: each is dear on an emulated processor.
        guest.run('disk=; until [ $disk ]; do sleep 0.1; for d in /sys/block/vd*; do'
                  ' s=; read s <$d/serial; [ "$s" = %s ] && disk=${d##*/}; done; done 2>/dev/null;'
                  ' printf %%4096s %s | tr " " . | dd of=/dev/$disk bs=4096 seek=3 conv=fsync'
                  ' iflag=fullblock' % (name, name))
        return path

    def unplug(self, guest, names):
        for name in names:
            guest.qmp('device_del', id=name)
        for name in names:
            guest.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == name)
            guest.qmp('blockdev-del', node_name='node-' + name)
        guest.wait_until('! grep -qsE "^(%s)$" /sys/block/vd*/serial' % '|'.join(names))

    def cycles(self, guest, slots):
        """All slots are filled and emptied at once, again and again."""
        for first in range(0, CYCLES, len(slots)):
            plugged = {}
            for number, bus in enumerate(slots, first):
                name = 'hot%d' % number
                plugged[name] = self.plug(guest, name, bus)
            self.unplug(guest, list(plugged))
            for name, path in plugged.items():
                self.assertEqual(self.file_bytes(path, 3 * 4096, 4096), marker(name))

    def grow(self, guest):
        path = self.paths[0]
        disk = guest.disks()['base0']
        guest.qmp('block_resize', node_name='base0', size=48 << 20)
        guest.wait_until('[ $(cat /sys/block/%s/size) = %d ]' % (disk, (48 << 20) // 512))
        guest.run('printf %%4096s grown | tr " " . | dd of=/dev/%s bs=4096 seek=%d conv=fsync'
                  ' iflag=fullblock' % (disk, (48 << 20) // 4096 - 1))
        self.assertEqual(self.file_bytes(path, (48 << 20) - 4096, 4096), marker('grown'))

    def stop_and_cont(self, guest):
        for _ in range(50):
            guest.qmp('stop')
            self.assertEqual(guest.qmp('query-status')['status'], 'paused')
            guest.qmp('cont')
            # The guest's turn: a little more than it needs to send and get a few requests.
            time.sleep(0.02)
        self.assertEqual(guest.qmp('query-status')['status'], 'running')

    def start(self, machine, *args):
        self.paths = []
        disks = []
        for number in (0, 1):
            path = self.image('base%d.raw' % number, 32 << 20)
            self.paths.append(path)
            disks += ['-blockdev', 'raw,node-name=base%d,file.driver=file,file.aio=%s,file.filename=%s'
                      % (number, ('io_uring', 'threads')[number], path),
                      '-device', json.dumps({'driver': 'virtio-blk-pci', 'drive': 'base%d' % number,
                                             'serial': 'base%d' % number, 'num-queues': 2,
                                             'iothread-vq-mapping': MAPPING})]
        return self.guest(*THREADS, *args, *disks, machine=machine, smp=2)

    def test_pc_acpi(self):
        guest = self.start('pc')
        load = Load(guest, ['base0', 'base1'])
        self.cycles(guest, [{'bus': 'pci.0', 'addr': '0x10'}])
        self.grow(guest)
        self.stop_and_cont(guest)
        load.end()
        guest.poweroff()

    def test_q35_native(self):
        ports = sum((['-device', 'pcie-root-port,id=port%d,chassis=%d,slot=%d' % (n, n + 1, n + 1)]
                     for n in range(5)), [])
        guest = self.start('q35', *ports)
        load = Load(guest, ['base0', 'base1'])
        self.cycles(guest, [{'bus': 'port%d' % n} for n in range(5)])
        self.grow(guest)
        self.stop_and_cont(guest)
        load.end()
        guest.poweroff()


if __name__ == '__main__':
    main()
