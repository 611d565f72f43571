#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""block-latency-histogram-set: boundaries, what is counted where, per queue and per thread too."""
import json

from lib import OK, Disk, QtestCase, main, pattern, reference_fails

PATH = '/machine/peripheral/v0/virtio-backend'
KINDS = ('rd', 'wr', 'zone_append', 'flush')
WIDE = [1, 2 ** 62]


class LatencyHistograms(QtestCase):
    def start(self, threads=0, queues=1):
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': queues,
                  'request-merging': False}
        args = []
        for t in range(threads):
            args += ['-object', 'iothread,id=t%d' % t]
        if threads:
            device['iothread-vq-mapping'] = [{'iothread': 't%d' % t} for t in range(threads)]
        return self.vm(*args, '-blockdev', 'null-co,node-name=d0,size=1048576', '-device',
                       json.dumps(device))

    def set(self, vm, **arguments):
        vm.qmp('block-latency-histogram-set', id=PATH, **arguments)

    def shown(self, vm):
        stats = vm.qmp('query-blockstats')[0]['stats']
        return {k: stats[k + '_latency_histogram'] for k in KINDS
                if k + '_latency_histogram' in stats}

    def bounds(self, vm):
        return {k: h['boundaries'] for k, h in self.shown(vm).items()}

    def test_absent_at_first(self):
        self.assertEqual(self.shown(self.start()), {})

    def test_boundaries(self):
        vm = self.start()
        self.set(vm, boundaries=[10, 50, 100])
        empty = {'boundaries': [10, 50, 100], 'bins': [0, 0, 0, 0]}
        self.assertEqual(self.shown(vm), dict.fromkeys(KINDS, empty))
        self.set(vm, boundaries_read=[])
        self.assertEqual(self.shown(vm)['rd'], {'boundaries': [], 'bins': [0]})
        self.assertEqual(self.bounds(vm)['wr'], [10, 50, 100])
        self.set(vm)
        self.assertEqual(self.shown(vm), {})
        self.set(vm, boundaries_zap=[5], boundaries_flush=[7, 9])
        self.assertEqual(self.bounds(vm), {'zone_append': [5], 'flush': [7, 9]})
        # One of its own counts, and the common one need not even be good.
        self.set(vm, boundaries=[3, 2], boundaries_read=[5], boundaries_write=[6],
                 boundaries_zap=[1], boundaries_flush=[2])
        self.assertEqual(self.bounds(vm), {'rd': [5], 'wr': [6], 'zone_append': [1], 'flush': [2]})
        self.set(vm, boundaries=[])
        self.assertEqual(self.bounds(vm), dict.fromkeys(KINDS, []))

    def test_refused(self):
        vm = self.start()
        fails = self.qmp_fails
        command = 'block-latency-histogram-set'
        for bad in ([100, 50], [10, 10], [0, 10], [0]):
            for member, what in (('boundaries', 'read'), ('boundaries-read', 'read'),
                                 ('boundaries-write', 'write'), ('boundaries-flush', 'flush')):
                fails(vm, command, "Device '%s' set %s boundaries fail" % (PATH, what), id=PATH,
                      **{member: bad})
        self.assertEqual(self.shown(vm), {})
        fails(vm, command, "Device '%s' set append write boundaries fail" % PATH, id=PATH,
              boundaries=[1, 2], **{'boundaries-zap': [2, 1]})
        # What came before it stays.
        self.assertEqual(self.bounds(vm), {'rd': [1, 2], 'wr': [1, 2]})
        fails(vm, command, 'Device does not have a block device backend', id='v0')
        fails(vm, command, "Device 'd0' not found", 'DeviceNotFound', id='d0')
        fails(vm, command, "Device 'zz' not found", 'DeviceNotFound', id='zz', boundaries=[1])
        fails(vm, command, "Parameter 'id' is missing", boundaries=[1])
        fails(vm, command, "Invalid parameter type for 'boundaries', expected: array", id=PATH,
              boundaries='x')

    def test_counts(self):
        vm = self.start()
        disk = Disk.start(vm)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        self.set(vm, boundaries=WIDE)
        for i in range(5):
            self.assertEqual(disk.write(0, i, pattern(i, 512)), OK)
        for i in range(3):
            disk.read(0, i, 512)
        self.assertEqual(disk.flush(0), OK)
        self.assertEqual({k: sum(h['bins']) for k, h in self.shown(vm).items()},
                         {'rd': 3, 'wr': 5, 'zone_append': 0, 'flush': 1})
        self.assertEqual(self.shown(vm)['wr']['bins'][2], 0)
        # Setting one kind forgets its counts and no others.
        self.set(vm, boundaries_write=[5, 6, 7])
        self.assertEqual({k: sum(h['bins']) for k, h in self.shown(vm).items()},
                         {'rd': 3, 'wr': 0, 'zone_append': 0, 'flush': 1})
        self.assertEqual(disk.write_zeroes(0, 0, 8), OK)
        self.assertEqual(sum(self.shown(vm)['wr']['bins']), 1)

    @reference_fails('it has no statistics of queues and threads')
    def test_per_queue_and_thread(self):
        vm = self.start(threads=2, queues=4)
        disk = Disk.start(vm)
        self.set(vm, boundaries=WIDE)
        for q in range(4):
            for _ in range(q + 1):
                self.assertEqual(disk.write(q, q, bytes(512)), OK)
            disk.read(q, q, 512)

        def count(entry, kind):
            return sum(entry[kind + '_latency_histogram']['bins'])
        stats = vm.qmp('query-virtqueue-stats')
        queues = stats['devices'][0]['queues']
        self.assertEqual([count(q, 'wr') for q in queues], [1, 2, 3, 4])
        self.assertEqual([count(q, 'rd') for q in queues], [1, 1, 1, 1])
        self.assertEqual([count(q, 'flush') for q in queues], [0, 0, 0, 0])
        self.assertEqual(queues[0]['wr_latency_histogram']['boundaries'], WIDE)
        loops = {e.get('iothread'): e['disks'] for e in stats['event-loops']}
        self.assertEqual({t: (d[0]['path'], count(d[0], 'wr')) for t, d in loops.items()},
                         {None: (PATH, 0), 't0': (PATH, 1 + 3), 't1': (PATH, 2 + 4)})
        self.assertEqual(sum(self.shown(vm)['wr']['bins']), 10)
        self.set(vm)
        stats = vm.qmp('query-virtqueue-stats')
        self.assertEqual([e['disks'] for e in stats['event-loops']], [[], [], []])
        self.assertNotIn('wr_latency_histogram', stats['devices'][0]['queues'][0])

    def test_changed_under_load(self):
        """Boundaries come and go while requests are counted."""
        vm = self.start(threads=2, queues=4)
        disk = Disk.start(vm)
        for turn in range(60):
            for q in range(4):
                for i in range(8):
                    disk.add(q, 1, i, data=bytes(512))
                disk.kick(q)
            if turn % 3:
                self.set(vm, boundaries=[10 ** k for k in range(1 + turn % 9)])
            else:
                self.set(vm)
            for q in range(4):
                for r in disk.reap(q):
                    self.assertEqual(r.status(), OK)
                    disk.release(r)


if __name__ == '__main__':
    main()
