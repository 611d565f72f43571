#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""qom-list, qom-get, qom-set: paths, what is writable when, the errors."""
from lib import QtestCase, main

BACKEND = "Attempt to set property '%s' on anonymous device (type 'virtio-blk-device') after it was " \
    "realized"
PROXY = "Attempt to set property '%s' on device 'v0' (type 'virtio-blk-pci') after it was realized"


class QomAccess(QtestCase):
    def start(self):
        return self.vm('-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                       '-blockdev', 'null-co,node-name=d0,size=1048576',
                       '-blockdev', 'null-co,node-name=d1,size=1048576',
                       '-blockdev', 'null-co,node-name=d2,size=1048576',
                       '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","serial":"S0",'
                       '"num-queues":2,"iothread-vq-mapping":[{"iothread":"t0"}]}',
                       '-device', 'virtio-blk-pci,id=v1,drive=d1',
                       '-device', 'virtio-blk-pci,drive=d2')

    def set(self, vm, name, value, path='/machine/peripheral/v0'):
        return vm.execute('qom-set', {'path': path, 'property': name, 'value': value})

    def test_too_late(self):
        vm = self.start()
        for name, value in (('num-queues', 2), ('queue-size', 128), ('serial', 'x'),
                            ('packed', True), ('werror', 'stop'), ('logical_block_size', 4096),
                            ('share-rw', True), ('config-wce', False), ('event_idx', False),
                            ('max-discard-sectors', 1), ('write-cache', 'off'),
                            ('num-queues', 'wrong type too')):
            self.assertEqual(self.set(vm, name, value)['error'],
                             {'class': 'GenericError', 'desc': BACKEND % name})
        for name, value in (('vectors', 3), ('addr', '7'), ('ioeventfd', False), ('class', 1),
                            ('acpi-index', 1)):
            self.assertEqual(self.set(vm, name, value)['error']['desc'], PROXY % name)

    def test_not_writable(self):
        vm = self.start()
        for name in ('hotplugged', 'type', 'virtio-backend'):
            self.assertEqual(self.set(vm, name, True)['error']['desc'],
                             "Property 'virtio-blk-pci.%s' is not writable" % name)
        self.assertEqual(self.set(vm, 'nosuch', 1)['error']['desc'],
                         "Property 'virtio-blk-pci.nosuch' not found")
        self.assertEqual(self.set(vm, 'x', 1, '/machine/peripheral/nosuch')['error'],
                         {'class': 'DeviceNotFound',
                          'desc': "Device '/machine/peripheral/nosuch' not found"})

    def test_bootindex(self):
        vm = self.start()
        for value in (3, -1, 7):
            self.assertEqual(self.set(vm, 'bootindex', value), {'return': {}})
            self.assertEqual(vm.qmp('qom-get', path='v0', property='bootindex'), value)
        self.assertEqual(self.set(vm, 'bootindex', 'x')['error']['desc'],
                         "Invalid parameter type for 'bootindex', expected: integer")
        self.assertEqual(self.set(vm, 'bootindex', 7, '/machine/peripheral/v1')['error']['desc'],
                         'The bootindex 7 has already been used')

    def test_paths(self):
        vm = self.start()

        def get(path, name='serial'):
            return vm.qmp('qom-get', path=path, property=name)
        for path in ('/machine/peripheral/v0', 'v0', 'peripheral/v0', 'machine/peripheral/v0',
                     '/machine/peripheral/v0/virtio-backend', 'v0/virtio-backend'):
            self.assertEqual(get(path), 'S0', path)
        self.assertEqual(get('/machine/peripheral-anon/device[0]', 'type'), 'virtio-blk-pci')
        self.assertEqual(get('/objects/t0', 'type'), 'iothread')
        self.qmp_fails(vm, 'qom-get', "Property 'virtio-blk-pci.nosuch' not found",
                       path='v0', property='nosuch')
        self.qmp_fails(vm, 'qom-list', "Device '/nosuch' not found", 'DeviceNotFound',
                       path='/nosuch')

    def test_values(self):
        vm = self.start()
        for name, value in (('drive', 'd0'), ('addr', 24), ('legacy-addr', '03.0'), ('class', 0),
                            ('parent_bus', '/machine/q35/pcie.0'), ('realized', True),
                            ('hotplugged', False), ('disable-legacy', 'off'), ('werror', 'auto'),
                            ('discard_granularity', 4294967295), ('busnr', 0), ('queue-size', 256),
                            ('virtio-backend', '/machine/peripheral/v0/virtio-backend')):
            got = vm.qmp('qom-get', path='v0', property=name)
            self.assertEqual((name, got), (name, value))

    def test_lists(self):
        vm = self.start()
        self.assertEqual({p['name']: p['type'] for p in vm.qmp('qom-list', path='/objects/t0')
                          if p['name'] != 'cpu-affinity'},
                         {'type': 'string', 'thread-pool-min': 'int', 'thread-pool-max': 'int',
                          'aio-max-batch': 'int', 'poll-max-ns': 'int', 'poll-grow': 'int',
                          'poll-shrink': 'int'})
        peripheral = {p['name']: p['type'] for p in vm.qmp('qom-list', path='/machine/peripheral')}
        self.assertEqual(peripheral, {'type': 'string', 'v0': 'child<virtio-blk-pci>',
                                      'v1': 'child<virtio-blk-pci>'})
        objects = {p['name']: p['type'] for p in vm.qmp('qom-list', path='/objects')}
        self.assertLessEqual({'t0': 'child<iothread>', 't1': 'child<iothread>'}.items(),
                             objects.items())
        names = {p['name'] for p in vm.qmp('qom-list-properties', typename='iothread')}
        self.assertLessEqual({'poll-max-ns', 'thread-pool-max', 'type'}, names)
        self.qmp_fails(vm, 'qom-list-properties', "Class 'nosuch' not found", 'DeviceNotFound',
                       typename='nosuch')

    def test_drive_can_be_replaced(self):
        vm = self.start()
        vm.qmp('blockdev-add', driver='null-co', node_name='n1', size=2 << 20)
        self.assertEqual(self.set(vm, 'drive', 'n1', '/machine/peripheral/v1'), {'return': {}})
        self.assertEqual(vm.qmp('qom-get', path='v1', property='drive'), 'n1')
        vm.qmp('blockdev-del', node_name='d1')
        self.assertEqual(self.set(vm, 'drive', 'zz')['error']['desc'],
                         "Cannot find device='' nor node-name='zz'")


if __name__ == '__main__':
    main()
