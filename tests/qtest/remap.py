#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""qom-set iothread-vq-mapping on a running disk: who serves the queues, which threads become free,
all states of the machine, and what is refused.

The reference refuses this after realize, so these tests are about ours alone.
"""
from lib import OK, OUT, is_spindle, main, pattern, switches, threads
from lib.faults import limit_file_size
from lib.remap import M, PATH, QUEUES, RemapCase, deal

DEPTH = 8
LIMIT = 1 << 20


class Remap(RemapCase):
    # ---- who does the work ----

    def workers(self, disk, queue):
        """Which threads were woken for requests of the queue."""
        vm = disk.vm
        tids = vm.iothreads()
        self.assertEqual(disk.flush(queue), OK)
        before = {t: switches(vm.pid, tid) for t, tid in tids.items()}
        for _ in range(20):
            self.assertEqual(disk.flush(queue), OK)
        return [t for t, tid in sorted(tids.items()) if switches(vm.pid, tid) - before[t] >= 10]

    def test_each_queue_in_its_new_thread(self):
        disk = self.start(poll=0)
        for _ in range(12):
            mapping = self.some_mapping()
            self.remap(disk, mapping)
            for q in range(QUEUES):
                expected = [m['iothread'] for i, m in enumerate(mapping)
                            if q in m.get('vqs', range(i, QUEUES, len(mapping)))]
                self.assertEqual(self.workers(disk, q), expected)

    def test_others_are_not_disturbed(self):
        """A thread whose queues stay is not even woken."""
        disk = self.start(poll=0, mapping=deal('t0', 't1'))
        vm = disk.vm
        tids = vm.iothreads()
        even, odd = [0, 2, 4, 6], [1, 3, 5, 7]
        self.assertEqual(disk.flush(0), OK)
        before = switches(vm.pid, tids['t0'])
        for turn in range(50):
            self.remap(disk, [{'iothread': 't0', 'vqs': even},
                              {'iothread': 't2' if turn % 2 else 't3', 'vqs': odd}])
        self.assertLessEqual(switches(vm.pid, tids['t0']) - before, 3)

    # ---- threads come and go ----

    def test_threads_can_be_deleted(self):
        disk = self.start(mapping=deal('t0', 't1'))
        vm = disk.vm
        load = self.load(disk)
        in_use = "object '%s' is in use, can not be deleted"
        for turn in range(30):
            old, new = ('t0', 't1'), ('t2', 't3')
            if turn % 2:
                old, new = new, old
            load.send()
            tids = {vm.iothreads()[t] for t in old}
            for t in old:
                self.qmp_fails(vm, 'object-del', in_use % t, id=t)
            self.remap(disk, deal(*new))
            for t in new:
                self.qmp_fails(vm, 'object-del', in_use % t, id=t)
            load.send()
            for t in old:
                self.settles(lambda: 'return' in vm.execute('object-del', {'id': t}), True, t)
            self.settles(lambda: tids & set(threads(vm.pid)), set(), 'threads')
            load.reap()
            for t in old:
                vm.qmp('object-add', qom_type='iothread', id=t)
        load.finish()

    def test_nothing_is_left(self):
        disk = self.start(mapping=[])
        before = disk.vm.footprint()
        load = self.load(disk)
        for _ in range(50):
            load.send()
            self.remap(disk, self.some_mapping())
            load.reap()
        self.remap(disk, [])
        load.finish()
        self.leaves_nothing(disk.vm, before)

    def test_requests_that_take_long(self):
        """The queue moves although its requests are with the disk; their thread stays until they
        are back, and nobody waits for that."""
        disk = self.start(node='null-co,node-name=d0,latency-ns=2500000000,size=8388608',
                          node_path=False)
        vm = disk.vm
        slow = [disk.add(q, OUT, q, data=bytes(512)) for q in range(QUEUES)]
        for q in range(QUEUES):
            disk.kick(q)
        vm.qmp('query-status')
        self.remap(disk, deal('t1', 't2'))
        self.assertEqual([disk.poll(q) for q in range(QUEUES)], [[]] * QUEUES)
        self.qmp_fails(vm, 'object-del', "object 't0' is in use, can not be deleted", id='t0')
        # Back, and away again.
        self.remap(disk, deal('t0'))
        self.remap(disk, deal('t3'))
        for q in range(QUEUES):
            self.assertEqual(disk.reap(q, 1), [slow[q]])
            self.assertEqual(slow[q].status(), OK)
        for t in ('t0', 't1', 't2'):
            self.settles(lambda: 'return' in vm.execute('object-del', {'id': t}), True, t)

    # ---- states ----

    def test_while_stopped(self):
        disk = self.start(poll=0)
        vm = disk.vm
        for names in (('t1', 't2'), ('t3',), (), ('t0', 't1', 't2', 't3')):
            vm.qmp('stop')
            self.remap(disk, deal(*names))
            vm.qmp('cont')
            for q in (0, 3):
                self.assertEqual(self.workers(disk, q), [names[q % len(names)]] if names else [])

    def test_before_the_driver_starts(self):
        disk = self.start(poll=0, driver_ok=False)
        self.remap(disk, deal('t2'))
        disk.driver.driver_ok()
        self.assertEqual(self.workers(disk, 5), ['t2'])
        disk.driver.reset()
        self.remap(disk, deal('t3'))
        disk.driver.start()
        self.assertEqual(self.workers(disk, 5), ['t3'])

    def test_some_queues_set_up(self):
        disk = self.start(poll=0, queues=[1, 4])
        self.remap(disk, deal('t1', 't2'))
        self.assertEqual(self.workers(disk, 4), ['t1'])
        self.assertEqual(self.workers(disk, 1), ['t2'])

    def test_failed_requests_move_along(self):
        """Requests that wait for the machine to be resumed are done by the new thread."""
        disk = self.start(properties={'werror': 'stop'}, poll=0)
        vm = disk.vm
        for turn in range(6):
            limit_file_size(vm.pid, LIMIT)
            failed = {}
            for q in range(QUEUES):
                failed[q] = [disk.add(q, OUT, 2 * (LIMIT // 512) + 16 * (DEPTH * q + i),
                                      data=pattern((turn, q, i), 4096)) for i in range(DEPTH)]
                disk.kick(q)
            vm.wait_event('STOP')
            self.assertEqual(vm.status(), 'io-error')
            self.remap(disk, self.some_mapping())
            self.assertEqual([disk.poll(q) for q in range(QUEUES)], [[]] * QUEUES)
            self.remap(disk, self.some_mapping())
            limit_file_size(vm.pid, None)
            vm.qmp('cont')
            for q in range(QUEUES):
                done = disk.reap(q, DEPTH)
                self.assertEqual(sorted(map(id, done)), sorted(map(id, failed[q])))
                for r in done:
                    self.assertEqual(r.status(), OK)
                    disk.release(r)
                for i in range(DEPTH):
                    self.assertEqual(disk.read(q, 2 * (LIMIT // 512) + 16 * (DEPTH * q + i), 4096),
                                     pattern((turn, q, i), 4096))

    def test_unplugged_and_quit_at_once(self):
        disk = self.start()
        load = self.load(disk)
        load.send()
        self.remap(disk, deal('t1', 't2'))
        disk.vm.terminate()

    # ---- other devices ----

    def test_with_iothread_property(self):
        """It is a mapping of one thread, in whose place another mapping may come."""
        disk = self.start(mapping=None, properties={'iothread': 't0'}, poll=0)
        vm = disk.vm
        self.remap(disk, [])
        self.qmp_fails(vm, 'qom-set', "Attempt to set link property 'iothread' on device "
                       "'(null)' (type 'virtio-blk-device') after it was realized",
                       path=PATH, property='iothread', value='t1')
        self.qmp_fails(vm, 'qom-set', 'IOThread "t9" object does not exist', path=PATH,
                       property=M, value=deal('t9'))
        self.assertEqual(vm.qmp('qom-get', path=PATH, property='iothread'), '/objects/t0')
        self.assertEqual(self.workers(disk, 3), ['t0'])
        load = self.load(disk)
        load.send()
        self.remap(disk, deal('t1', 't2'))
        load.send()
        load.finish()
        self.assertEqual(vm.qmp('qom-get', path=PATH, property='iothread'), '')
        self.assertEqual(self.workers(disk, 3), ['t2'])
        vm.qmp('object-del', id='t0')
        self.remap(disk, [])
        self.assertEqual(self.workers(disk, 3), [])
        vm.qmp('object-del', id='t1')

    def test_without_ioeventfd(self):
        disk = self.start(mapping=None, properties={'ioeventfd': False})
        self.qmp_fails(disk.vm, 'qom-set', 'ioeventfd is required for iothread',
                       path=PATH, property=M, value=deal('t1'))
        self.remap(disk, [])
        self.assertEqual(disk.flush(3), OK)

    def test_refused_mappings(self):
        """The texts are those of device_add, and the old mapping stays."""
        from mapping_errors import CASES
        disk = self.start(mapping=deal('t0', 't1'), properties={'num-queues': 4}, poll=0)
        vm = disk.vm
        vm.qmp('object-add', qom_type='rng-builtin', id='r0')
        for t in ('t2', 't3'):
            vm.qmp('object-del', id=t)
        tried = 0
        for properties, text in CASES:
            if list(properties) != [M] or not isinstance(text, str):
                continue
            with self.subTest(properties=properties):
                self.qmp_fails(vm, 'qom-set', text, path=PATH, property=M, value=properties[M])
                tried += 1
        self.assertGreater(tried, 20)
        for value in (None, {}, 't0', 5):
            self.qmp_fails(vm, 'qom-set', "Invalid parameter type for 'iothread-vq-mapping', "
                           "expected: array", path=PATH, property=M, value=value)
        self.assertEqual(vm.qmp('qom-get', path=PATH, property=M), deal('t0', 't1'))
        self.assertEqual(self.workers(disk, 2), ['t0'])
        self.assertEqual(self.workers(disk, 3), ['t1'])


if __name__ == '__main__':
    if is_spindle():
        main()
    else:
        print('1..0 # SKIP the reference does not change the mapping of a running disk')
