#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each virtqueue is served by the IOThread that the mapping names.

The device is not asked: the proof is which threads of the process woke up while one queue was
busy, and, for polling threads, which of them used CPU time.
"""
import json

from lib import (OK, OUT, Disk, QtestCase, cpu_ns, main, pattern, switches)

ROUNDS = 40
MAIN = 'main'


def mapping_args(device, threads, poll=0, size=1 << 30):
    args = ['-blockdev', 'null-co,node-name=d0,read-zeroes=on,size=%d' % size]
    for t in threads:
        args += ['-object', 'iothread,id=%s,poll-max-ns=%d' % (t, poll)]
    base = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0'}
    base.update(device)
    return args + ['-device', json.dumps(base)]


class MappingPlacement(QtestCase):
    def placement(self, disk, threads, measure=switches, share=0.5):
        """Which thread served each queue, by what each thread did meanwhile."""
        vm = disk.vm
        ids = {name: tid for name, tid in vm.iothreads().items() if name in threads}
        self.assertEqual(sorted(ids), sorted(threads))
        placed = []
        for q in sorted(disk.queues):
            # The first request may find work of the start still going on.
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
            before = {n: measure(vm.pid, t) for n, t in ids.items()}
            for i in range(ROUNDS):
                self.assertEqual(disk.write(q, i, bytes(512)), OK)
            spent = {n: measure(vm.pid, t) - before[n] for n, t in ids.items()}
            floor = ROUNDS * share if measure is switches else 0.6 * max(1, sum(spent.values()))
            busy = [n for n, s in spent.items() if s >= floor]
            if measure is switches:
                idle = [n for n, s in spent.items() if s <= ROUNDS * 0.1]
                self.assertEqual(len(busy) + len(idle), len(ids),
                                 'queue %d: neither busy nor idle: %s' % (q, spent))
            self.assertLessEqual(len(busy), 1, 'queue %d: %s' % (q, spent))
            placed.append(busy[0] if busy else MAIN)
        return placed

    def check(self, device, threads, expected, poll=0, machine='q35', **start):
        vm = self.vm(*mapping_args(device, threads, poll), machine=machine)
        disk = Disk.start(vm, **start)
        self.assertEqual(self.placement(disk, threads), expected)
        return disk

    def test_round_robin_fewer_threads_than_queues(self):
        self.check({'num-queues': 5, 'iothread-vq-mapping': [{'iothread': 't1'}, {'iothread': 't0'}]},
                   ['t0', 't1'], ['t1', 't0', 't1', 't0', 't1'])

    def test_round_robin_three_threads(self):
        self.check({'num-queues': 7, 'iothread-vq-mapping':
                    [{'iothread': 't0'}, {'iothread': 't1'}, {'iothread': 't2'}]},
                   ['t0', 't1', 't2'], ['t0', 't1', 't2', 't0', 't1', 't2', 't0'])

    def test_round_robin_more_threads_than_queues(self):
        self.check({'num-queues': 2, 'iothread-vq-mapping':
                    [{'iothread': 't2'}, {'iothread': 't0'}, {'iothread': 't1'}]},
                   ['t0', 't1', 't2'], ['t2', 't0'])

    def test_explicit(self):
        self.check({'num-queues': 4, 'iothread-vq-mapping':
                    [{'iothread': 't2', 'vqs': [3, 0]}, {'iothread': 't0', 'vqs': [2, 1]}]},
                   ['t0', 't1', 't2'], ['t2', 't0', 't0', 't2'])

    def test_explicit_uneven(self):
        self.check({'num-queues': 4, 'iothread-vq-mapping':
                    [{'iothread': 't1', 'vqs': [0]}, {'iothread': 't0', 'vqs': [1, 2, 3]}]},
                   ['t0', 't1'], ['t1', 't0', 't0', 't0'])

    def test_empty_vqs_lists_count_as_absent(self):
        self.check({'num-queues': 3, 'iothread-vq-mapping':
                    [{'iothread': 't0', 'vqs': []}, {'iothread': 't1'}]},
                   ['t0', 't1'], ['t0', 't1', 't0'])

    def test_single_iothread_property(self):
        self.check({'num-queues': 3, 'iothread': 't1'}, ['t0', 't1'], ['t1', 't1', 't1'])

    def test_empty_mapping_with_iothread_property(self):
        self.check({'num-queues': 2, 'iothread': 't1', 'iothread-vq-mapping': []},
                   ['t0', 't1'], ['t1', 't1'])

    def test_no_mapping_is_the_main_loop(self):
        self.check({'num-queues': 3}, ['t0', 't1'], [MAIN, MAIN, MAIN])

    def test_empty_mapping_is_the_main_loop(self):
        self.check({'num-queues': 2, 'iothread-vq-mapping': []}, ['t0'], [MAIN, MAIN])

    def test_thread_named_by_path(self):
        self.check({'num-queues': 2, 'iothread-vq-mapping':
                    [{'iothread': 't0'}, {'iothread': '/objects/t0'}]}, ['t0', 't1'], ['t0', 't0'])

    def test_on_pc(self):
        self.check({'num-queues': 4, 'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]},
                   ['t0', 't1'], ['t0', 't1', 't0', 't1'], machine='pc')

    def test_with_msix_event_index_and_indirect(self):
        self.check({'num-queues': 4, 'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]},
                   ['t0', 't1'], ['t0', 't1', 't0', 't1'], msix=True, event_idx=True, indirect=True)

    def test_legacy_driver(self):
        self.check({'num-queues': 3, 'iothread-vq-mapping': [{'iothread': 't1'}, {'iothread': 't0'}]},
                   ['t0', 't1'], ['t1', 't0', 't1'], legacy=True)

    def test_transport_variants(self):
        for extra in ({'vectors': 0}, {'page-per-vq': True}, {'modern-pio-notify': True},
                      {'queue-size': 4}, {'disable-legacy': 'on'}):
            with self.subTest(extra):
                device = {'num-queues': 3,
                          'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]}
                device.update(extra)
                self.check(device, ['t0', 't1'], ['t0', 't1', 't0'])

    def test_default_number_of_queues_is_the_number_of_cpus(self):
        vm = self.vm('-smp', '3', *mapping_args(
            {'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]}, ['t0', 't1']))
        disk = Disk.start(vm)
        self.assertEqual(len(disk.queues), 3)
        self.assertEqual(self.placement(disk, ['t0', 't1']), ['t0', 't1', 't0'])

    def test_polling_threads_by_cpu_time(self):
        """With polling a thread may serve a request without ever sleeping; its CPU time tells."""
        device = {'num-queues': 4,
                  'iothread-vq-mapping': [{'iothread': 't1'}, {'iothread': 't0'}]}
        vm = self.vm(*mapping_args(device, ['t0', 't1', 't2'], poll=32768))
        disk = Disk.start(vm)
        self.assertEqual(self.placement(disk, ['t0', 't1', 't2'], measure=cpu_ns),
                         ['t1', 't0', 't1', 't0'])

    def test_real_file(self):
        path = self.image(size=8 << 20)
        threads = ['a', 'b', 'c']
        args = ['-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + path]
        for t in threads:
            args += ['-object', 'iothread,id=%s,poll-max-ns=0' % t]
        args += ['-device', json.dumps({
            'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': 4,
            'iothread-vq-mapping': [{'iothread': t} for t in threads]})]
        disk = Disk.start(self.vm(*args))
        self.assertEqual(self.placement(disk, threads), ['a', 'b', 'c', 'a'])
        # Each queue wrote where it was told to.
        for q in range(4):
            data = pattern(q, 4096)
            self.assertEqual(disk.write(q, 64 + 8 * q, data), OK)
            self.assertEqual(self.file_bytes(path, (64 + 8 * q) * 512, 4096), data)

    def test_placement_survives_reset_and_stop(self):
        threads = ['t0', 't1']
        vm = self.vm(*mapping_args({'num-queues': 4, 'iothread-vq-mapping':
                                    [{'iothread': 't1', 'vqs': [0, 1]},
                                     {'iothread': 't0', 'vqs': [2, 3]}]}, threads))
        disk = Disk.start(vm)
        expected = ['t1', 't1', 't0', 't0']
        self.assertEqual(self.placement(disk, threads), expected)
        vm.qmp('stop')
        vm.qmp('cont')
        self.assertEqual(self.placement(disk, threads), expected)
        disk.driver.start()
        self.assertEqual(self.placement(disk, threads), expected)

    def test_requests_of_all_queues_in_flight_at_once(self):
        """Every thread works while all queues have requests, and each completes all of its own."""
        threads = ['t0', 't1', 't2']
        vm = self.vm(*mapping_args({'num-queues': 6, 'iothread-vq-mapping':
                                    [{'iothread': t} for t in threads]}, threads))
        disk = Disk.start(vm)
        ids = vm.iothreads()
        before = {t: switches(vm.pid, ids[t]) for t in threads}
        for _ in range(10):
            for q in disk.queues:
                for i in range(16):
                    disk.add(q, OUT, 8 * i, data=bytes(4096))
            for q in disk.queues:
                disk.kick(q)
            for q in disk.queues:
                for r in disk.reap(q, 16):
                    self.assertEqual(r.status(), OK)
                    disk.release(r)
        for t in threads:
            self.assertGreater(switches(vm.pid, ids[t]), before[t])


if __name__ == '__main__':
    main()
