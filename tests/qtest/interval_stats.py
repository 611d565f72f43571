#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Latencies and queue depths over the last seconds (-drive stats-intervals.N)."""
from lib import OK, Disk, QtestCase, main, reference_fails
from lib.process import run_binary

KINDS = ('rd', 'wr', 'flush')
MEMBERS = ['%s_%s_latency_ns' % (what, kind) for what in ('min', 'max', 'avg')
           for kind in KINDS + ('zone_append',)] + \
    ['avg_%s_queue_depth' % kind for kind in ('rd', 'wr', 'zone_append')] + ['interval_length']


class IntervalStats(QtestCase):
    def start(self, *intervals, more=''):
        vm = self.vm('-object', 'iothread,id=t0', '-object', 'iothread,id=t1', '-drive',
                     'if=none,id=d0,format=raw,file=' + self.image() + more + ''.join(
                         ',stats-intervals.%d=%d' % x for x in enumerate(intervals)),
                     '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","addr":"5",'
                     '"num-queues":2,"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}')
        return vm, Disk.start(vm, 'v0')

    def stats(self, vm):
        return vm.qmp('query-blockstats')[0]['stats']

    def test_none(self):
        vm, _ = self.start()
        self.assertEqual(self.stats(vm)['timed_stats'], [])

    def test_members(self):
        vm, _ = self.start(10, 60, 10)
        stats = self.stats(vm)['timed_stats']
        self.assertEqual([s['interval_length'] for s in stats], [10, 60, 10])
        for s in stats:
            self.assertEqual(sorted(s), sorted(MEMBERS))
            self.assertEqual({s[k] for k in MEMBERS if k != 'interval_length'}, {0})

    @reference_fails('under qtest it says that each request takes 1 ms')
    def test_numbers_fit_the_sums(self):
        vm, disk = self.start(1000, 2000)
        for i in range(20):
            self.assertEqual(disk.write(i % 2, 8 * i, b'w' * 4096), OK)
        disk.read(0, 0, 4096)
        all_ = self.stats(vm)
        for s in all_['timed_stats']:
            self.assertEqual(s['avg_wr_latency_ns'], all_['wr_total_time_ns'] // 20)
            self.assertLessEqual(s['min_wr_latency_ns'], s['avg_wr_latency_ns'])
            self.assertLessEqual(s['avg_wr_latency_ns'], s['max_wr_latency_ns'])
            self.assertEqual({s[w + '_rd_latency_ns'] for w in ('min', 'max', 'avg')},
                             {all_['rd_total_time_ns']})
            self.assertGreater(s['avg_wr_queue_depth'], 0)
            self.assertEqual(s['max_flush_latency_ns'], 0)
        disk.flush(0)
        self.assertGreater(self.stats(vm)['timed_stats'][0]['max_flush_latency_ns'], 0)

    def test_what_is_long_ago_is_forgotten(self):
        import time
        vm, disk = self.start(1, 1000)
        self.assertEqual(disk.write(0, 0, b'w' * 4096), OK)
        end = time.monotonic() + 60
        while self.stats(vm)['timed_stats'][0]['max_wr_latency_ns']:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertGreater(self.stats(vm)['timed_stats'][1]['max_wr_latency_ns'], 0)

    def test_errors(self):
        for text, error in (
                ('stats-intervals.0=0', 'Invalid interval length: 0'),
                ('stats-intervals.0=-1', 'Invalid interval length: -1'),
                ('stats-intervals.0=5k', 'Invalid interval length: 5k'),
                ('stats-intervals.0=4294967296', 'Invalid interval length: 4294967296'),
                ('stats-intervals.1=5', 'Invalid option stats-intervals.1')):
            p = run_binary(['-display', 'none', '-drive', 'if=none,format=raw,id=d0,file=%s,%s'
                            % (self.image(), text)])
            self.assertEqual(p.returncode, 1)
            self.assertIn(error, p.stderr)


if __name__ == '__main__':
    main()
