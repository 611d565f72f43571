#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of whole disks: -drive, block_set_io_throttle, and what query-block tells of them."""
from lib import QtestCase, main

NONE = {k: 0 for k in ('bps', 'bps_rd', 'bps_wr', 'iops', 'iops_rd', 'iops_wr')}
PATH = '/machine/peripheral/%s/virtio-backend'


class ThrottleDrive(QtestCase):
    def shown(self, vm, name):
        for disk in vm.qmp('query-block'):
            if name in (disk['device'], disk.get('qdev')):
                return {k: v for k, v in disk['inserted'].items()
                        if k.startswith(('bps', 'iops', 'group'))}
        raise AssertionError(name)

    def set(self, vm, device=None, id=None, group=None, **limits):
        args = {**NONE, **limits}
        args.update({k: v for k, v in (('device', device), ('id', id), ('group', group))
                     if v is not None})
        self.assertEqual(vm.execute('block_set_io_throttle', args), {'return': {}})

    def drive(self, options):
        vm = self.vm('-drive', 'if=none,id=x0,file=null-co://,format=raw' + options)
        return self.shown(vm, 'x0')

    def test_options(self):
        for options, expected in (
                (',iops=100', {'iops': 100, 'group': 'x0'}),
                (',throttling.iops-total=0x10,throttling.group=g', {'iops': 16, 'group': 'g'}),
                (',bps_rd=5,bps_rd_max=7,iops_wr=8', {'bps_rd': 5, 'bps_rd_max': 7,
                                                      'bps_rd_max_length': 1, 'iops_wr': 8,
                                                      'group': 'x0'}),
                (',iops=10,throttling.iops-total-max=20,throttling.iops-total-max-length=3,'
                 'iops_size=4096', {'iops': 10, 'iops_max': 20, 'iops_max_length': 3,
                                    'iops_size': 4096, 'group': 'x0'}),
                (',group=g', {}), (',iops=0,group=g', {}),
                (',throttling.bps-total-max-length=1', {})):
            with self.subTest(options=options):
                self.assertEqual(self.drive(options), {**NONE, **expected})

    def test_the_last_of_a_group_decides(self):
        drive = 'if=none,id=%s,file=null-co://,format=raw,group=%s,%s'
        vm = self.vm('-object', 'throttle-group,id=tg0,x-bps-total=7',
                     '-drive', drive % ('a', 'g', 'iops=5'), '-drive', drive % ('b', 'g', 'bps=7'),
                     '-drive', drive % ('c', 'tg0', 'iops=6'))
        for name in 'ab':
            self.assertEqual(self.shown(vm, name), {**NONE, 'bps': 7, 'group': 'g'})
        self.assertEqual(self.shown(vm, 'c'), {**NONE, 'iops': 6, 'group': 'tg0'})
        limits = vm.qmp('qom-get', path='tg0', property='limits')
        self.assertEqual((limits['iops-total'], limits['bps-total']), (6, 0))
        self.qmp_fails(vm, 'object-del', "object 'tg0' is in use, can not be deleted", id='tg0')
        vm.qmp('qom-set', path='tg0', property='limits', value={'iops-total': 8})
        self.assertEqual(self.shown(vm, 'c')['iops'], 8)

    def test_set(self):
        vm = self.vm('-drive', 'if=none,id=x0,file=null-co://,format=raw',
                     '-drive', 'if=none,id=x1,file=null-co://,format=raw',
                     '-blockdev', 'null-co,node-name=n0,size=1048576',
                     '-device', 'virtio-blk-pci,id=v0,drive=n0')
        self.set(vm, 'x0', iops=100)
        self.assertEqual(self.shown(vm, 'x0'), {**NONE, 'iops': 100, 'group': 'x0'})
        self.set(vm, 'x0', iops=100, group='gg')
        self.set(vm, 'x1', iops=50, group='gg')
        for name in ('x0', 'x1'):
            self.assertEqual(self.shown(vm, name), {**NONE, 'iops': 50, 'group': 'gg'})
        # Without a group it stays where it is.
        self.set(vm, 'x0', bps=10 ** 6, bps_max=2 * 10 ** 6, bps_max_length=3, iops=5,
                 iops_size=4096)
        expected = {**NONE, 'bps': 10 ** 6, 'bps_max': 2 * 10 ** 6, 'bps_max_length': 3,
                    'iops': 5, 'iops_size': 4096, 'group': 'gg'}
        for name in ('x0', 'x1'):
            self.assertEqual(self.shown(vm, name), expected)
        self.set(vm, 'x0')
        self.assertEqual(self.shown(vm, 'x0'), NONE)
        self.assertEqual(self.shown(vm, 'x1'), expected)
        self.set(vm, id=PATH % 'v0', iops_rd=11)
        self.assertEqual(self.shown(vm, PATH % 'v0'),
                         {**NONE, 'iops_rd': 11, 'group': PATH % 'v0'})


if __name__ == '__main__':
    main()
