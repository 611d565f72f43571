#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""object-add and object-del, above all of IOThreads that a device uses."""
import json

from lib import OK, Disk, QtestCase, main, reference_fails, switches, thread_names, threads

IN_USE = "object '%s' is in use, can not be deleted"


class ObjectDel(QtestCase):
    def start(self, *args):
        return self.vm('-blockdev', 'null-co,node-name=d0,size=1048576', *args,
                       '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1')

    def add_disk(self, vm, **properties):
        reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0',
                                          'bus': 'rp0', **properties})
        self.assertEqual(reply, {'return': {}})

    def remove_disk(self, vm):
        vm.qmp('device_del', id='v0')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: e['data'].get('device') == 'v0')

    @reference_fails('object-del of an IOThread that serves queues succeeds: it disappears from '
                     'query-iothreads, its thread stays for ever, and re-adding the id can abort')
    def test_mapped_thread_is_refused(self):
        vm = self.start('-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                        '-object', 'iothread,id=t2')
        self.add_disk(vm, **{'num-queues': 2, 'iothread-vq-mapping':
                             [{'iothread': 't0'}, {'iothread': 't1'}, {'iothread': 't2'}]})
        disk = Disk.start(vm)
        # Even the one that has no queue.
        for t in ('t0', 't1', 't2'):
            self.qmp_fails(vm, 'object-del', IN_USE % t, id=t)
        self.assertEqual(sorted(vm.iothreads()), ['t0', 't1', 't2'])
        for q in (0, 1):
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
        tids = set(vm.iothreads().values())
        self.remove_disk(vm)
        for t in ('t0', 't1', 't2'):
            vm.qmp('object-del', id=t)
        self.settles(lambda: tids & set(threads(vm.pid)), set(), 'threads')

    @reference_fails('object-del of an IOThread that serves a device succeeds')
    def test_thread_of_iothread_property_is_refused(self):
        vm = self.start('-object', 'iothread,id=t0')
        self.add_disk(vm, iothread='t0')
        self.qmp_fails(vm, 'object-del', IN_USE % 't0', id='t0')
        self.remove_disk(vm)
        vm.qmp('object-del', id='t0')
        self.assertEqual(vm.iothreads(), {})

    @reference_fails('object-del of an IOThread that serves a device succeeds')
    def test_two_users(self):
        vm = self.start('-object', 'iothread,id=t0', '-blockdev', 'null-co,node-name=d1',
                        '-device', 'virtio-blk-pci,id=v1,drive=d1,iothread=t0')
        self.add_disk(vm, **{'iothread-vq-mapping': [{'iothread': 't0'}]})
        self.remove_disk(vm)
        self.qmp_fails(vm, 'object-del', IN_USE % 't0', id='t0')

    def test_free_again_after_the_device(self):
        """A thread comes, serves, goes, and comes again under the same name."""
        vm = self.start()
        for turn in range(20):
            vm.qmp('object-add', qom_type='iothread', id='t0')
            vm.qmp('object-add', qom_type='iothread', id='t1')
            self.add_disk(vm, **{'num-queues': 2,
                                 'iothread-vq-mapping': [{'iothread': 't0'}, {'iothread': 't1'}]})
            vm.pci = None
            if turn % 4 == 0:
                disk = Disk.start(vm)
                for q in (0, 1):
                    self.assertEqual(disk.write(q, 0, bytes(512)), OK)
            tids = set(vm.iothreads().values())
            self.remove_disk(vm)
            vm.qmp('object-del', id='t0')
            vm.qmp('object-del', id='t1')
            self.settles(lambda: tids & set(threads(vm.pid)), set(), 'threads')

    def test_errors(self):
        vm = self.start('-object', 'iothread,id=t0')
        fails = self.qmp_fails
        fails(vm, 'object-del', "object 'nosuch' not found", id='nosuch')
        fails(vm, 'object-del', "object 'd0' not found", id='d0')
        fails(vm, 'object-del', "Parameter 'id' is missing")
        fails(vm, 'object-add', "attempt to add duplicate property 't0' to object (type "
              "'container')", qom_type='iothread', id='t0')
        fails(vm, 'object-add', 'poll-max-ns value must be in range [0, 9223372036854775807]',
              qom_type='iothread', id='n1', poll_max_ns=-1)
        fails(vm, 'object-add', "Parameter 'foo' is unexpected", qom_type='iothread', id='n1', foo=1)
        fails(vm, 'object-add', "Parameter 'id' is missing", qom_type='iothread')
        fails(vm, 'object-add', "Parameter 'qom-type' does not accept value 'nosuch'",
              qom_type='nosuch', id='x')
        fails(vm, 'object-add', "Parameter 'qom-type' is missing", id='x')
        fails(vm, 'object-add', "Parameter 'id' expects an identifier", qom_type='iothread', id='0x')
        fails(vm, 'object-add', 'bad thread-pool-min/thread-pool-max values', qom_type='iothread',
              id='n2', thread_pool_max=0)
        fails(vm, 'object-add', "Parameter 'props' is unexpected", qom_type='iothread', id='n4',
              props={'poll-max-ns': 1})
        self.assertEqual(sorted(vm.iothreads()), ['t0'])

    def test_properties(self):
        vm = self.start()
        vm.qmp('object-add', qom_type='iothread', id='t0', poll_max_ns=0, aio_max_batch=4,
               thread_pool_min=1, thread_pool_max=4)

        def get(name):
            return vm.qmp('qom-get', path='/objects/t0', property=name)
        self.assertEqual([get(n) for n in ('poll-max-ns', 'poll-grow', 'poll-shrink',
                                           'aio-max-batch', 'thread-pool-min', 'thread-pool-max')],
                         [0, 0, 0, 4, 1, 4])
        for name, value in (('poll-max-ns', 100), ('poll-grow', 2), ('poll-shrink', 2),
                            ('aio-max-batch', 3), ('thread-pool-min', 3), ('thread-pool-max', 8)):
            vm.qmp('qom-set', path='/objects/t0', property=name, value=value)
            self.assertEqual(get(name), value)
        for name, value, text in (
                ('poll-max-ns', -1, 'poll-max-ns value must be in range [0, 9223372036854775807]'),
                ('poll-grow', -5, 'poll-grow value must be in range [0, 9223372036854775807]'),
                ('thread-pool-max', 2, 'bad thread-pool-min/thread-pool-max values'),
                ('thread-pool-max', 0, 'bad thread-pool-min/thread-pool-max values'),
                ('thread-pool-min', 65, 'bad thread-pool-min/thread-pool-max values'),
                ('poll-max-ns', 'x', "Invalid parameter type for 'poll-max-ns', expected: integer"),
                ('nosuch', 1, "Property 'iothread.nosuch' not found")):
            self.qmp_fails(vm, 'qom-set', text, path='/objects/t0', property=name, value=value)

    def test_thread_names(self):
        vm = self.vm('-name', 'x,debug-threads=on', '-object', 'iothread,id=t0', '-object',
                     'iothread,id=a-rather-long-name')
        names = thread_names(vm.pid)
        ids = vm.iothreads()
        self.assertEqual(names[ids['t0']], 'IO t0')
        if vm.spindle:
            # As much as the kernel keeps; the reference gives up on long names.
            self.assertEqual(names[ids['a-rather-long-name']], 'IO a-rather-long-name'[:15])

    @reference_fails('it names threads only when asked for, with -name debug-threads=on')
    def test_thread_names_without_asking(self):
        vm = self.vm('-object', 'iothread,id=t0')
        self.assertEqual(thread_names(vm.pid)[vm.iothreads()['t0']], 'IO t0')

    @reference_fails('it has no such property of an IOThread; it needs a thread-context object')
    def test_cpu_affinity(self):
        vm = self.vm('-object', '{"qom-type":"iothread","id":"t0","cpu-affinity":[0]}',
                     '-object', 'iothread,id=t1,cpu-affinity=0')
        import os
        for t, tid in vm.iothreads().items():
            self.assertEqual(os.sched_getaffinity(tid), {0}, t)
        self.assertEqual(vm.qmp('qom-get', path='/objects/t0', property='cpu-affinity'), [0])

    def test_polling_can_be_switched(self):
        """poll-max-ns changed while requests run."""
        vm = self.start('-object', 'iothread,id=t0')
        self.add_disk(vm, iothread='t0')
        disk = Disk.start(vm)
        tid = vm.iothreads()['t0']
        for value in (0, 1_000_000, 0, 32768, 0):
            vm.qmp('qom-set', path='/objects/t0', property='poll-max-ns', value=value)
            before = switches(vm.pid, tid)
            for _ in range(30):
                self.assertEqual(disk.write(0, 0, bytes(512)), OK)
            if value == 0:
                self.assertGreaterEqual(switches(vm.pid, tid) - before, 15)
        self.assertEqual(json.dumps(vm.qmp('query-iothreads')[0]['poll-max-ns']), '0')


if __name__ == '__main__':
    main()
