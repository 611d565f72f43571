#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""query-virtqueue-stats counts what each queue and each event loop has done."""
import json

from lib import IN, OK, OUT, Disk, QtestCase, is_spindle, main, pattern


class QueueCounters(QtestCase):
    def setUp(self):
        if not is_spindle():
            self.skipTest('the reference has no such command')

    def start(self, poll=0, mapped=True, msix=True):
        args = []
        for t in ('t0', 't1'):
            args += ['-object', 'iothread,id=%s,poll-max-ns=%d' % (t, poll)]
        properties = {'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]}
        vm = self.vm(*args, '-blockdev', 'raw,node-name=d0,file.driver=file,file.filename='
                     + self.image(size=4 << 20), '-device',
                     json.dumps({'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0',
                                 'num-queues': 3, **(properties if mapped else {})}))
        return vm, Disk.start(vm, 'v0', msix=msix)

    def queues(self, vm, **args):
        device, = vm.qmp('query-virtqueue-stats', **args)['devices']
        self.assertEqual(device['name'], 'virtio-blk')
        self.assertEqual([q['index'] for q in device['queues']], [0, 1, 2])
        return device['queues']

    def burst(self, disk, q, kind, sectors, size=4096):
        for sector in sectors:
            disk.add(q, kind, sector, data=pattern(sector, size) if kind == OUT else None,
                     size=size)
        disk.kick(q)
        for r in disk.reap(q, len(sectors)):
            self.assertEqual(r.status(), OK)
            disk.release(r)

    def test_each_queue_counts_its_own(self):
        vm, disk = self.start()
        before = self.queues(vm)
        self.assertEqual([q.get('iothread') for q in before], ['t0', 't1', 't0'])
        self.burst(disk, 0, OUT, [0, 8, 16, 100])
        self.burst(disk, 0, IN, [200])
        self.burst(disk, 2, OUT, [400], size=1024)
        self.assertEqual(disk.flush(2), OK)
        got = [{k: now[k] - then[k] for k in now if k not in ('index', 'iothread')}
               for now, then in zip(self.queues(vm), before)]
        # Without polling, each burst comes with one kick. How many interrupts answer it depends on
        # which requests end together.
        notifications = [queue.pop('notifications') for queue in got]
        self.assertEqual(got[0], {'requests': 5, 'bytes': 5 * 4096, 'merged': 2, 'batches': 2,
                                  'polled': 0, 'kicks': 2})
        self.assertEqual(set(got[1].values()), {0})
        self.assertEqual(got[2], {'requests': 2, 'bytes': 1024, 'merged': 0, 'batches': 2,
                                  'polled': 0, 'kicks': 2})
        self.assertTrue(2 <= notifications[0] <= 3, notifications)
        self.assertEqual(notifications[1:], [0, 2])

    def test_failed_requests_move_no_bytes(self):
        vm, disk = self.start()
        before = self.queues(vm)
        disk.add(1, IN, (4 << 20) // 512, size=4096)
        disk.kick(1)
        r, = disk.reap(1, 1)
        self.assertNotEqual(r.status(), OK)
        now = self.queues(vm)
        self.assertEqual(now[1]['requests'] - before[1]['requests'], 1)
        self.assertEqual(now[1]['bytes'], before[1]['bytes'])

    def test_counters_survive_a_reset(self):
        vm, disk = self.start()
        self.burst(disk, 0, OUT, [0, 64])
        before = self.queues(vm)
        disk.driver.reset()
        self.assertEqual([q['requests'] for q in self.queues(vm)],
                         [q['requests'] for q in before])
        self.assertEqual([q.get('iothread') for q in self.queues(vm)], [None] * 3)

    def test_main_loop_serves_unmapped_queues(self):
        vm, disk = self.start(mapped=False)
        self.burst(disk, 1, OUT, [0, 64])
        queue = self.queues(vm)[1]
        self.assertNotIn('iothread', queue)
        self.assertEqual(queue['requests'], 2)

    def test_event_loops(self):
        vm, disk = self.start()

        def loops():
            return vm.qmp('query-virtqueue-stats')['event-loops']

        before = loops()
        self.assertEqual([l.get('iothread') for l in before], [None, 't0', 't1'])
        for _ in range(20):
            self.burst(disk, 1, IN, [0])
        now = loops()
        self.assertGreaterEqual(now[2]['slept'] - before[2]['slept'], 10)
        self.assertGreaterEqual(now[2]['turns'] - before[2]['turns'], 20)
        self.assertEqual(now[2]['polled'], before[2]['polled'])
        self.assertLessEqual(now[1]['turns'] - before[1]['turns'], 2)

    def test_polling_is_told_apart(self):
        vm, disk = self.start(poll=1000000000)
        for i in range(200):
            self.burst(disk, 0, OUT, [8 * (i % 64)])
        queue = self.queues(vm)[0]
        self.assertGreater(queue['polled'], 0)
        self.assertLess(queue['kicks'], queue['batches'])
        self.assertLessEqual(queue['polled'], queue['batches'])

    def test_chosen_device(self):
        vm, disk = self.start()
        path = vm.qmp('query-block')[0]['qdev']
        for name in ('v0', path, '/machine/peripheral/v0'):
            info = vm.qmp('query-virtqueue-stats', device=name)
            self.assertEqual([d['path'] for d in info['devices']], [path])
        self.qmp_fails(vm, 'query-virtqueue-stats', "Device 'nosuch' not found", 'DeviceNotFound',
                       device='nosuch')


if __name__ == '__main__':
    main()
