#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The mapping as the management side sees it: qom-get, qom-set, info qtree, query-iothreads."""
import json
import re

from lib import QtestCase, main, reference_fails

M = 'iothread-vq-mapping'
V0 = [{'iothread': 't1'}, {'iothread': 't0'}]
V1 = [{'iothread': 't2', 'vqs': [3, 0]}, {'iothread': 't0', 'vqs': [2, 1]}]


class MappingProperties(QtestCase):
    def start(self):
        args = []
        for t in ('t0', 't1', 't2'):
            args += ['-object', 'iothread,id=' + t]
        for i in range(4):
            args += ['-blockdev', 'null-co,node-name=d%d,size=1048576' % i]
        for properties in ({'id': 'v0', 'drive': 'd0', 'num-queues': 5, M: V0},
                           {'id': 'v1', 'drive': 'd1', 'num-queues': 4, M: V1},
                           {'id': 'v2', 'drive': 'd2', 'iothread': 't0'},
                           {'id': 'v3', 'drive': 'd3'}):
            args += ['-device', json.dumps({'driver': 'virtio-blk-pci', **properties})]
        return self.vm(*args)

    def get(self, vm, device, name):
        return vm.qmp('qom-get', path='/machine/peripheral/' + device, property=name)

    def test_qom_get(self):
        vm = self.start()
        self.assertEqual(self.get(vm, 'v0', M), V0)
        self.assertEqual(self.get(vm, 'v1', M), V1)
        self.assertEqual(self.get(vm, 'v2', M), [])
        self.assertEqual(self.get(vm, 'v3', M), [])
        self.assertEqual(self.get(vm, 'v0/virtio-backend', M), V0)
        self.assertEqual([self.get(vm, v, 'iothread') for v in ('v0', 'v1', 'v2', 'v3')],
                         ['', '', '/objects/t0', ''])
        self.assertEqual([self.get(vm, v, 'num-queues') for v in ('v0', 'v1', 'v2')], [5, 4, 1])
        self.assertEqual([self.get(vm, v, 'vectors') for v in ('v0', 'v1', 'v2')], [6, 5, 2])

    def test_type_in_property_lists(self):
        vm = self.start()
        wanted = {'name': M, 'type': 'IOThreadVirtQueueMappingList'}
        for kind in ('virtio-blk-pci', 'virtio-blk-pci-transitional',
                     'virtio-blk-pci-non-transitional', 'virtio-blk-device'):
            entry = [p for p in vm.qmp('device-list-properties', typename=kind) if p['name'] == M]
            self.assertEqual(len(entry), 1, kind)
            self.assertEqual(entry[0]['type'], wanted['type'])
            self.assertEqual(entry[0]['description'], 'IOThread virtqueue mapping list '
                             '[{"iothread":"<id>", "vqs":[1,2,3,...]},...]')
        names = {p['name']: p['type'] for p in
                 vm.qmp('qom-list', path='/machine/peripheral/v0')}
        self.assertEqual(names[M], wanted['type'])

    @reference_fails('there it is too late to change a mapping once the device is realized')
    def test_qom_set_of_the_mapping(self):
        vm = self.start()
        for value in ([], V0, [{'iothread': 't0', 'vqs': [4, 0, 2]}, {'iothread': 't2',
                                                                      'vqs': [3, 1]}]):
            vm.qmp('qom-set', path='/machine/peripheral/v0', property=M, value=value)
            self.assertEqual(self.get(vm, 'v0', M), value)
            self.assertEqual(self.get(vm, 'v0/virtio-backend', M), value)

    def test_qom_set_of_iothread_is_too_late(self):
        vm = self.start()
        for value in ('t0', ''):
            self.qmp_fails(vm, 'qom-set', "Attempt to set link property 'iothread' on device "
                           "'(null)' (type 'virtio-blk-device') after it was realized",
                           path='/machine/peripheral/v0', property='iothread', value=value)
        self.assertEqual(self.get(vm, 'v0', M), V0)

    @reference_fails("info qtree prints '<omitted>' for each entry there, which helps nobody")
    def test_info_qtree_shows_it_as_json(self):
        vm = self.start()
        text = vm.hmp('info qtree')
        found = [json.loads(v) for v in
                 re.findall(r'^ *iothread-vq-mapping = (.*?)\r?$', text, re.M)]
        self.assertIn(V0, found)
        self.assertIn(V1, found)
        self.assertEqual(found.count([]), 2)

    def test_query_iothreads(self):
        vm = self.start()
        threads = vm.qmp('query-iothreads')
        self.assertEqual(sorted(t['id'] for t in threads), ['t0', 't1', 't2'])
        for t in threads:
            self.assertEqual(sorted(t), ['aio-max-batch', 'id', 'poll-grow', 'poll-max-ns',
                                         'poll-shrink'] + ['serves'] * vm.spindle + ['thread-id'])
            self.assertEqual(t['poll-max-ns'], 32768)
        self.assertEqual(len({t['thread-id'] for t in threads}), 3)

    @reference_fails('it does not tell what its threads serve')
    def test_query_iothreads_tells_what_they_serve(self):
        vm = self.start()

        def serves(t):
            info = [i for i in vm.qmp('query-iothreads') if i['id'] == t]
            return {s['path'][len('/machine/peripheral/'):]: s['queues']
                    for s in info[0]['serves']}
        self.assertEqual(serves('t0'), {'v0/virtio-backend': [1, 3], 'v1/virtio-backend': [1, 2],
                                        'v2/virtio-backend': [0]})
        self.assertEqual(serves('t1'), {'v0/virtio-backend': [0, 2, 4]})
        self.assertEqual(serves('t2'), {'v1/virtio-backend': [0, 3]})
        vm.qmp('qom-set', path='/machine/peripheral/v1', property=M,
               value=[{'iothread': 't1'}])
        self.assertEqual(serves('t2'), {})
        self.assertEqual(serves('t1'), {'v0/virtio-backend': [0, 2, 4],
                                        'v1/virtio-backend': [0, 1, 2, 3]})


if __name__ == '__main__':
    main()
