#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits that are refused, by every way they can be given, and what is said of those in force."""
import json

from lib import QtestCase, main

TOGETHER = 'bps/iops/max total values and read/write values cannot be used at the same time'
RANGE = 'bps/iops/max values must be within [0, 1000000000000000]'
NEEDS_AVG = 'bps_max/iops_max require corresponding bps/iops values'
LOWER = 'bps_max/iops_max cannot be lower than bps/iops'
NO_LENGTH = 'the burst length cannot be 0'
NO_BURST = 'burst length set without burst rate'
TOO_LONG = 'burst length too high for this burst rate'
NEEDS_IOPS = 'iops size requires an iops value to be set'
LENGTH = 'iops-total-max-length value must be in the range [0, 4294967295]'
X_LENGTH = 'x-iops-total-max-length value must be in therange [0, 4294967295]'
NUMBER = "Invalid parameter type for 'limits.iops-total', expected: integer"
KINDS = ['%s-%s' % (what, which) for what in ('bps', 'iops')
         for which in ('total', 'read', 'write')]

LIMITS = [
    ({'iops-total': 10 ** 15}, None),
    ({'iops-total': 10 ** 15 + 1}, RANGE),
    ({'iops-total': -1}, RANGE),
    ({'iops-total': 2 ** 63 - 1}, RANGE),
    ({'iops-total': 2 ** 63}, NUMBER),
    ({'iops-total': 2 ** 64}, NUMBER),
    ({'iops-total': 1.5}, NUMBER),
    ({'iops-total': '5'}, NUMBER),
    ({'iops-total': None}, NUMBER),
    ({'iops-total': 0, 'bps-read': 5, 'bps-total': 5}, TOGETHER),
    ({'bps-total': 5, 'bps-read-max': 7}, NEEDS_AVG),
    ({'bps-total-max': 5}, NEEDS_AVG),
    ({'iops-total': 10, 'iops-total-max': 9}, LOWER),
    ({'iops-size': 4096}, NEEDS_IOPS),
    ({'iops-size': 2 ** 63 - 1, 'iops-total': 5}, None),
    ({'iops-total': 9, 'iops-total-max': 20, 'iops-total-max-length': 0}, NO_LENGTH),
    ({'iops-total': 9, 'iops-total-max': 20, 'iops-total-max-length': -1}, TOO_LONG),
    ({'iops-total': 9, 'iops-total-max': 20, 'iops-total-max-length': 2 ** 32}, LENGTH),
    ({'iops-total': 9, 'iops-total-max': 20, 'iops-total-max-length': 2 ** 63 - 1}, LENGTH),
    ({'iops-total': 9, 'iops-total-max': 20, 'iops-total-max-length': 2 ** 32 - 1}, None),
    ({'iops-total': 9, 'iops-total-max': 10 ** 15, 'iops-total-max-length': 1}, None),
    ({'iops-total': 9, 'iops-total-max': 10 ** 15, 'iops-total-max-length': 2}, TOO_LONG),
    ({'iops-total': 9, 'iops-total-max-length': 2}, NO_BURST),
    ({'foo': 5}, "Parameter 'limits.foo' is unexpected"),
    (5, "Invalid parameter type for 'limits', expected: object"),
    ([], "Invalid parameter type for 'limits', expected: object"),
    ({}, None),
]

PROPERTIES = [
    ({'x-iops-total': 5}, None),
    ({'x-iops-total': -5}, 'Property values cannot be negative'),
    ({'x-iops-total': '5'}, "Invalid parameter type for 'x-iops-total', expected: integer"),
    ({'x-iops-total': 10 ** 16}, RANGE),
    ({'x-iops-total-max-length': 0}, NO_LENGTH),
    ({'x-iops-total-max-length': 2 ** 32}, X_LENGTH),
    ({'x-iops-total-max-length': 2 ** 32 - 1}, NO_BURST),
    ({'x-iops-size': -1}, 'Property values cannot be negative'),
    ({'x-iops-size': 5}, NEEDS_IOPS),
    ({'x-bps-read-max': 5}, NEEDS_AVG),
    ({'x-iops-read': 1, 'x-iops-total': 1}, TOGETHER),
    ({'foo': 1}, "Parameter 'foo' is unexpected"),
]

COMMAND = [
    ({'iops': -1}, RANGE),
    ({'iops': 2 ** 63 - 1}, RANGE),
    ({'iops': 100, 'iops_rd': 1}, TOGETHER),
    ({'iops_max': 5}, NEEDS_AVG),
    ({'iops': 5, 'iops_max': 3}, LOWER),
    ({'iops': 5, 'iops_max_length': 3}, NO_BURST),
    ({'iops': 5, 'iops_max': 10, 'iops_max_length': 0}, NO_LENGTH),
    ({'iops': 5, 'iops_max': 10, 'iops_max_length': -1}, TOO_LONG),
    ({'iops': 5, 'iops_max': 10, 'iops_max_length': 2 ** 40}, None),
    ({'iops_size': 5}, NEEDS_IOPS),
    ({'iops': '1'}, "Invalid parameter type for 'iops', expected: integer"),
    ({'iops': 1.5}, "Invalid parameter type for 'iops', expected: integer"),
]

NONE = {k: 0 for k in ('bps', 'bps_rd', 'bps_wr', 'iops', 'iops_rd', 'iops_wr')}
PATH = '/machine/peripheral/%s/virtio-backend'


class ThrottleErrors(QtestCase):
    def start(self):
        return self.vm('-object', 'throttle-group,id=tg0,x-iops-total=100', '-blockdev',
                       'null-co,node-name=n0,size=1048576,read-zeroes=on', '-blockdev',
                       'throttle,node-name=th,throttle-group=tg0,file=n0',
                       '-drive', 'if=none,id=x0,file=null-co://,format=raw',
                       '-drive', 'if=none,id=x1,file=null-co://,format=raw',
                       '-drive', 'if=none,id=empty',
                       '-device', 'virtio-blk-pci,id=v0,drive=th',
                       '-device', 'virtio-blk-pci,id=v1,drive=x0')

    def check(self, reply, error):
        if error:
            self.assertEqual(reply.get('error', {}).get('desc'), error)
        else:
            self.assertEqual(reply, {'return': {}})

    def limits(self, vm, name='tg0'):
        return vm.qmp('qom-get', path='/objects/' + name, property='limits')

    def test_qom_set(self):
        vm = self.start()
        reset = {k: 0 for k in KINDS}
        reset.update({k + '-max': 0 for k in KINDS})
        reset.update({k + '-max-length': 1 for k in KINDS})
        reset['iops-size'] = 0
        for value, error in LIMITS:
            with self.subTest(value=value):
                vm.qmp('qom-set', path='tg0', property='limits', value=reset)
                self.check(vm.execute('qom-set', {'path': 'tg0', 'property': 'limits',
                                                  'value': value}), error)
                # What is refused changes nothing; the rest stays as it was.
                self.assertEqual(self.limits(vm), reset if error else {**reset, **value})

    def test_object_add(self):
        vm = self.start()
        cases = [({'limits': value}, error) for value, error in LIMITS] + PROPERTIES
        for value, error in cases:
            with self.subTest(value=value):
                self.check(vm.execute('object-add', {'qom-type': 'throttle-group', 'id': 'new',
                                                     **value}), error)
                if not error:
                    vm.qmp('object-del', id='new')
        self.qmp_fails(vm, 'object-del', "object 'new' not found", id='new')

    def test_both_forms_of_limits(self):
        vm = self.start()
        vm.qmp('object-add', **{'qom-type': 'throttle-group', 'id': 'a', 'x-iops-total': 5,
                                'x-bps-read': 7, 'limits': {'iops-total': 6}})
        limits = self.limits(vm, 'a')
        self.assertEqual((limits['iops-total'], limits['bps-read']), (6, 7))
        self.assertEqual(len(limits), 19)
        self.assertEqual(vm.qmp('qom-get', path='a', property='x-iops-total'), 6)
        vm.qmp('qom-set', path='a', property='limits', value={'iops-total': 9})
        self.assertEqual(vm.qmp('qom-get', path='a', property='x-iops-total'), 9)
        self.qmp_fails(vm, 'qom-set', 'Property cannot be set after initialization', path='a',
                       property='x-iops-total', value=1)

    def test_properties(self):
        vm = self.start()
        names = {'type': 'string', 'limits': 'ThrottleLimits', 'x-iops-size': 'int'}
        for kind in KINDS:
            for suffix in ('', '-max', '-max-length'):
                names['x-' + kind + suffix] = 'int'
        for found in (vm.qmp('qom-list', path='/objects/tg0'),
                      vm.qmp('qom-list-properties', typename='throttle-group')):
            self.assertEqual({p['name']: p['type'] for p in found}, names)

    def test_block_set_io_throttle(self):
        vm = self.start()
        for value, error in COMMAND:
            with self.subTest(value=value):
                self.check(vm.execute('block_set_io_throttle',
                                      {'device': 'x0', **NONE, **value}), error)
        for who, error, error_class in (
                ({'device': 'zz'}, "Device 'zz' not found", 'DeviceNotFound'),
                ({'device': 'n0'}, "Device 'n0' not found", 'DeviceNotFound'),
                ({'id': 'zz'}, "Device 'zz' not found", 'DeviceNotFound'),
                ({'id': 'v0'}, 'Device does not have a block device backend', 'GenericError'),
                ({'device': 'x0', 'id': PATH % 'v0'}, "Need exactly one of 'device' and 'id'",
                 'GenericError'),
                ({}, "Need exactly one of 'device' and 'id'", 'GenericError'),
                ({'device': 'empty'}, "Device has no medium", 'GenericError')):
            reply = vm.execute('block_set_io_throttle', {**who, **NONE, 'iops': 5})
            self.assertEqual(reply.get('error'), {'class': error_class, 'desc': error})
        self.qmp_fails(vm, 'block_set_io_throttle', "Parameter 'bps' is missing", device='x0')

    def test_groups(self):
        vm = self.start()
        self.qmp_fails(vm, 'object-del', "object 'tg0' is in use, can not be deleted", id='tg0')
        self.qmp_fails(vm, 'blockdev-add', "Throttle group 'nosuch' does not exist",
                       **{'driver': 'throttle', 'node-name': 't', 'throttle-group': 'nosuch',
                          'file': 'n0'})
        self.check(vm.execute('block_set_io_throttle',
                              {'device': 'x1', 'group': 'own', **NONE, 'iops': 5}), None)
        # A group that no object stands for is not for filters, and its name is taken.
        self.qmp_fails(vm, 'blockdev-add', "Throttle group 'own' does not exist",
                       **{'driver': 'throttle', 'node-name': 't', 'throttle-group': 'own',
                          'file': 'n0'})
        self.qmp_fails(vm, 'object-add', 'A group with this name already exists',
                       **{'qom-type': 'throttle-group', 'id': 'own'})
        self.check(vm.execute('block_set_io_throttle', {'device': 'x1', **NONE}), None)
        vm.qmp('object-add', **{'qom-type': 'throttle-group', 'id': 'own'})
        vm.qmp('blockdev-add', **{'driver': 'throttle', 'node-name': 't',
                                  'throttle-group': 'own', 'file': 'n0'})
        vm.qmp('blockdev-del', **{'node-name': 't'})
        vm.qmp('object-del', id='own')

    def test_human_monitor(self):
        vm = self.start()
        help_text = '\r\nTry "help block_set_io_throttle" for more information\r\n'
        for args, text in (('x0 1 0 0 2 0 0', ''), ('zz 1 0 0 2 0 0',
                                                     "Error: Device 'zz' not found\r\n"),
                           ('x0 1 1 0 2 0 0', 'Error: %s\r\n' % TOGETHER),
                           ('x0 -1 0 0 2 0 0', 'Error: %s\r\n' % RANGE),
                           ('x0 1 1 0 2 0', 'unexpected end of expression' + help_text),
                           ('x0 1M 0 0 2k 0 0', "invalid char 'M' in expression" + help_text),
                           ('v0 1 0 0 2 0 0',
                            'Error: Device does not have a block device backend\r\n'),
                           (PATH % 'v0' + ' 0 0 0 12 0 0', '')):
            self.assertEqual(vm.hmp('block_set_io_throttle ' + args), text)
        text = vm.hmp('info block')
        line = ('    I/O throttling:   bps=%d bps_rd=0 bps_wr=0 bps_max=0 bps_rd_max=0 '
                'bps_wr_max=0 iops=%d iops_rd=0 iops_wr=0 iops_max=0 iops_rd_max=0 iops_wr_max=0 '
                'iops_size=0 group=%s\r\n')
        self.assertIn(line % (1, 2, 'x0'), text)
        self.assertIn(line % (0, 12, PATH % 'v0'), text)

    def test_filter_in_queries(self):
        vm = self.start()
        node = {n['node-name']: n for n in vm.qmp('query-named-block-nodes')}['th']
        below = {'driver': 'null-co', 'size': 1048576, 'read-zeroes': True}
        self.assertEqual((node['drv'], node['backing_file_depth']), ('throttle', 1))
        self.assertEqual(json.loads(node['file'][5:]),
                         {'driver': 'throttle', 'throttle-group': 'tg0', 'file': below})
        self.assertEqual(json.loads(node['image']['backing-image']['filename'][5:]), below)
        flat = {n['node-name']: n for n in vm.qmp('query-named-block-nodes', flat=True)}['th']
        self.assertNotIn('backing-image', flat['image'])


if __name__ == '__main__':
    main()
