#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The properties of the virtio-blk types: names, types, defaults, in all places that list them."""
import json
import os

from lib import QtestCase, main, run_binary
from lib.cli import DATA



class PropertyTables(QtestCase):
    def tables(self):
        with open(os.path.join(DATA, 'properties.json'), encoding='utf-8') as f:
            return json.load(f)

    def test_device_list_properties(self):
        vm = self.vm(machine='none')
        for kind, table in self.tables().items():
            with self.subTest(kind):
                got = {p['name']: p for p in vm.qmp('device-list-properties', typename=kind)}
                self.assertEqual(sorted(got), sorted(row['name'] for row in table))
                for row in table:
                    entry = got[row['name']]
                    self.assertEqual(entry['type'], row['type'], row['name'])
                    self.assertEqual(entry.get('default-value'), row.get('default'), row['name'])

    def test_help(self):
        for kind, table in self.tables().items():
            with self.subTest(kind):
                lines = run_binary(['-device', kind + ',help']).stdout.splitlines()[1:]
                got = {}
                for line in lines:
                    name, rest = line.strip().split('=<', 1)
                    # A type may hold brackets of its own: link<iothread>.
                    end = rest.index('> ') if '> ' in rest else len(rest) - 1
                    default = None
                    if '(default: ' in rest:
                        default = rest.rsplit('(default: ', 1)[1][:-1]
                    got[name] = (rest[:end], default)
                self.assertEqual(got, {row['name']: (row['type'], row.get('help'))
                                       for row in table})

    def test_qom_list_of_a_device(self):
        vm = self.vm('-blockdev', 'null-co,node-name=d0', '-device', 'virtio-blk-pci,id=v0,drive=d0')
        got = {p['name']: p['type'] for p in vm.qmp('qom-list', path='/machine/peripheral/v0')}
        for row in self.tables()['virtio-blk-pci']:
            self.assertEqual(got.get(row['name']), row['type'], row['name'])
        for name, kind in (('hotpluggable', 'bool'), ('hotplugged', 'bool'),
                           ('legacy-addr', 'str'), ('legacy-iothread', 'str'),
                           ('parent_bus', 'link<bus>'), ('realized', 'bool'), ('type', 'string'),
                           ('virtio-bus', 'child<virtio-pci-bus>')):
            self.assertEqual(got.get(name), kind, name)

    def test_defaults_of_a_device(self):
        """What qom-get says of a device that was given nothing but a drive."""
        vm = self.vm('-blockdev', 'null-co,node-name=d0,size=1048576',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0')
        resolved = {'num-queues': 1, 'vectors': 2, 'cyls': 2, 'heads': 16, 'secs': 63, 'logical_block_size': 512,
                    'physical_block_size': 512, 'disable-legacy': 'off', 'addr': 8, 'drive': 'd0',
                    'bootindex': -1, 'busnr': 0, 'serial': '', 'iothread': '', 'romfile': '',
                    'failover_pair_id': '', 'iothread-vq-mapping': [],
                    'virtio-backend': '/machine/peripheral/v0/virtio-backend'}
        for row in self.tables()['virtio-blk-pci']:
            with self.subTest(row['name']):
                value = vm.qmp('qom-get', path='/machine/peripheral/v0', property=row['name'])
                self.assertEqual(value, resolved.get(row['name'], row.get('default')))
        for name, value in (('legacy-addr', '01.0'), ('type', 'virtio-blk-pci'),
                            ('parent_bus', '/machine/q35/pcie.0'), ('realized', True),
                            ('hotpluggable', True), ('hotplugged', False)):
            with self.subTest(name):
                got = vm.qmp('qom-get', path='/machine/peripheral/v0', property=name)
                if name != 'hotpluggable':
                    self.assertEqual(got, value)

    def test_types(self):
        vm = self.vm(machine='none')
        for abstract in (True, False):
            for base in ('device', 'object', 'sys-bus-device'):
                types = vm.qmp('qom-list-types', implements=base, abstract=abstract)
                known = {t['name']: t for t in types}
                for t in types:
                    self.assertLessEqual(set(t), {'name', 'abstract', 'parent'})
                    if abstract:
                        # Every type leads to the base through parents that are listed as well.
                        steps, name = 0, t['name']
                        while name != base:
                            name = known[name].get('parent')
                            self.assertIsNotNone(name, t)
                            steps += 1
                            self.assertLess(steps, 20)
                    else:
                        self.assertFalse(t.get('abstract', False))
        devices = {t['name'] for t in vm.qmp('qom-list-types', implements='device', abstract=False)}
        self.assertLessEqual(set(self.tables()), devices)
        self.assertEqual([t['parent'] for t in vm.qmp('qom-list-types', implements='iothread')],
                         ['event-loop-base'])

    def test_introspection_leaves_nothing(self):
        """Asking about every type changes nothing in the machine."""
        vm = self.vm()
        before = vm.hmp('info qtree'), vm.hmp('info qom-tree')
        for t in vm.qmp('qom-list-types', implements='device', abstract=False):
            self.assertIn('return', vm.execute('device-list-properties', {'typename': t['name']}),
                          t['name'])
            vm.hmp('device_add "%s,help"' % t['name'])
        self.assertEqual((vm.hmp('info qtree'), vm.hmp('info qom-tree')), before)
        self.qmp_fails(vm, 'device-list-properties', "Device 'nosuch' not found", 'DeviceNotFound',
                       typename='nosuch')
        self.assertIn('error', vm.execute('device-list-properties', {'typename': 'iothread'}))


if __name__ == '__main__':
    main()
