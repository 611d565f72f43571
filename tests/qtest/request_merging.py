#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Neighbouring requests of one queue become one; each still completes by itself."""
import random

from lib import FLUSH, IN, OK, OUT, Disk, QtestCase, main, pattern


class RequestMerging(QtestCase):
    def start(self, extra=''):
        self.path = self.image(size=8 << 20)
        vm = self.vm('-drive', 'if=none,id=d0,format=raw,file=' + self.path, '-object',
                     'iothread,id=t0,poll-max-ns=0', '-device',
                     'virtio-blk-pci,id=v0,drive=d0,iothread=t0,num-queues=2' + extra)
        return Disk.start(vm)

    def stats(self, disk):
        entry, = [b for b in disk.vm.qmp('query-blockstats') if b['device'] == 'd0']
        return entry['stats']

    def burst(self, disk, kinds, sectors, size=4096, queue=0):
        """All visible at once, so that one pass of the device takes them all."""
        requests = []
        for kind, sector in zip(kinds, sectors):
            if kind == OUT:
                requests.append(disk.add(queue, OUT, sector, data=pattern(sector, size)))
            elif kind == IN:
                requests.append(disk.add(queue, IN, sector, size=size))
            else:
                requests.append(disk.add(queue, FLUSH))
        disk.kick(queue)
        done = disk.reap(queue, len(requests))
        self.assertEqual(set(done), set(requests))
        for r in requests:
            self.assertEqual(r.status(), OK)
            self.assertEqual(r.used_len, 1 if r.kind != IN else size + 1)
        return requests

    def test_neighbours_are_merged(self):
        disk = self.start()
        self.burst(disk, [OUT] * 8, range(0, 64, 8))
        stats = self.stats(disk)
        self.assertEqual((stats['wr_operations'], stats['wr_merged'], stats['wr_bytes']),
                         (8, 7, 32768))
        reads = self.burst(disk, [IN] * 8, range(0, 64, 8))
        self.assertEqual(self.stats(disk)['rd_merged'], 7)
        for r in reads:
            self.assertEqual(r.read_data(), pattern(r.sector, 4096))

    def test_order_does_not_matter(self):
        disk = self.start()
        sectors = list(range(0, 16 * 8, 8))
        random.Random(4).shuffle(sectors)
        self.burst(disk, [OUT] * 16, sectors)
        self.assertEqual(self.stats(disk)['wr_merged'], 15)
        for sector in sectors:
            self.assertEqual(self.file_bytes(self.path, sector * 512, 4096), pattern(sector, 4096))

    def test_gaps_and_directions_separate(self):
        disk = self.start()
        self.burst(disk, [OUT] * 6, [0, 8, 100, 108, 300, 500])
        self.assertEqual(self.stats(disk)['wr_merged'], 2)
        self.burst(disk, [OUT, IN, OUT, IN], [1000, 2000, 1008, 2008])
        stats = self.stats(disk)
        self.assertEqual((stats['wr_merged'], stats['rd_merged']), (2, 0))

    def test_flush_separates(self):
        disk = self.start()
        self.burst(disk, [OUT, OUT, FLUSH, OUT, OUT], [0, 8, None, 16, 24])
        self.assertEqual(self.stats(disk)['wr_merged'], 2)

    def test_switched_off(self):
        disk = self.start(',request-merging=off')
        self.burst(disk, [OUT] * 8, range(0, 64, 8))
        stats = self.stats(disk)
        self.assertEqual((stats['wr_operations'], stats['wr_merged']), (8, 0))

    def test_random_bursts(self):
        disk = self.start()
        rng = random.Random(9)
        contents = {}
        for _ in range(30):
            slots = rng.sample(range(64), 14)
            kinds = [rng.choice((OUT, OUT, IN)) for _ in slots]
            for q in (0, 1):
                part = [(k, 8 * s) for i, (k, s) in enumerate(zip(kinds, slots)) if i % 2 == q]
                requests = self.burst(disk, [k for k, _ in part], [s for _, s in part], queue=q)
                for r in requests:
                    if r.kind == OUT:
                        contents[r.sector] = pattern(r.sector, 4096)
                    else:
                        self.assertEqual(r.read_data(), contents.get(r.sector, bytes(4096)))
                    disk.release(r)

    def test_part_beyond_the_end(self):
        """A request that is wrong fails alone."""
        disk = self.start()
        last = (8 << 20) // 512
        good = [disk.add(0, OUT, last - 16 + 8 * i, data=pattern(i, 4096)) for i in range(2)]
        bad = disk.add(0, OUT, last, data=pattern('bad', 4096))
        disk.kick(0)
        disk.reap(0, 3)
        self.assertEqual([r.status() for r in good + [bad]], [OK, OK, 1])


if __name__ == '__main__':
    main()
