#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How each configuration of the device looks to the guest: ids, BARs, capabilities, features, the
device configuration. The table was measured on the reference."""
import json
import os

from lib import F, PciDevice, PciTopology, QtestCase, VirtioBlk, main, run_binary
from lib.cli import DATA
from lib.pci import CAP_MSIX, CAP_PCIE, CAP_PM, CAP_VENDOR
from lib.process import accel_args, is_spindle
from lib.virtio import LegacyVirtioBlk

NAMES = {1: 'common', 2: 'notify', 3: 'isr', 4: 'device', 5: 'pcicfg'}
BASE = {'capacity': 2097152, 'size_max': 0, 'seg_max': 254, 'cylinders': 2080, 'heads': 16,
        'sectors': 63, 'blk_size': 512, 'physical_block_exp': 0, 'alignment_offset': 0,
        'min_io_size': 0, 'opt_io_size': 0, 'wce': 1, 'unused0': 0, 'num_queues': 1,
        'max_discard_sectors': 4194303, 'max_discard_seg': 1, 'discard_sector_alignment': 1,
        'max_write_zeroes_sectors': 4194303, 'max_write_zeroes_seg': 1, 'write_zeroes_may_unmap': 1}


class PciConfigurations(QtestCase):
    def rows(self, where):
        with open(os.path.join(DATA, 'pci-configurations.json'), encoding='utf-8') as f:
            rows = [r for r in json.load(f) if r['where'] == where]
        return rows if is_spindle() else rows[::6]

    def args(self, row):
        args = ['-blockdev', 'null-co,node-name=d0,read-zeroes=on,size=1073741824']
        bus = ''
        if row['where'] == 'root-port':
            args += ['-device', 'pcie-root-port,id=rp0,chassis=1,slot=1']
            bus = ',bus=rp0'
        return args + ['-device', ','.join([row['driver'] + ',id=v0,drive=d0' + bus] + row['props'])]

    def ids(self, dev):
        ids, rev, sub = dev.read(0), dev.read(8), dev.read(0x2c)
        return '%04x:%04x r%02x c%06x s%04x:%04x h%02x' % (
            ids & 0xffff, ids >> 16, rev & 0xff, rev >> 8, sub & 0xffff, sub >> 16,
            dev.read(0xe, 1))

    def caps(self, dev):
        parts = []
        for cap, at in dev.capabilities():
            if cap == CAP_MSIX:
                control, table, pba = dev.read(at + 2, 2), dev.read(at + 4), dev.read(at + 8)
                parts.append('%02x MSI-X n=%d T b%d+%x P b%d+%x' % (
                    at, (control & 0x7ff) + 1, table & 7, table & ~7, pba & 7, pba & ~7))
            elif cap == CAP_VENDOR:
                kind, bar = dev.read(at + 3, 1), dev.read(at + 4, 1)
                text = '%02x %s' % (at, NAMES[kind])
                if kind != 5:
                    text += ' b%d+%x/%x' % (bar, dev.read(at + 8), dev.read(at + 12))
                if kind == 2:
                    text += ' ×%d' % dev.read(at + 16)
                parts.append(text)
            else:
                parts.append('%02x %s' % (at, {CAP_PM: 'PM', CAP_PCIE: 'PCIe'}[cap]))
        return ' → '.join(parts)

    def config(self, row):
        """Expected configuration and its length."""
        expected, length = dict(BASE), 57
        for part in row['config'].split(', '):
            if part.startswith('= (config length '):
                length = int(part.split()[-1][:-1])
            elif '=' in part.strip('= '):
                name, value = part.split('=')
                expected[name] = int(value)
        return expected, length

    def check(self, row):
        vm = self.vm(*self.args(row), machine='pc' if row['where'] == 'pc' else 'q35')
        topology = PciTopology(vm)
        topology.setup_bridges()
        dev = PciDevice(topology, topology.address_of('v0'))
        self.assertEqual(self.ids(dev), row['ids'])
        self.assertEqual(dev.read(6, 2), 0x10)
        self.assertEqual(dev.read(0x3d, 1), 1)
        dev.map()
        self.assertEqual(' '.join(map(repr, dev.bars.values())), row['bars'])
        self.assertEqual(self.caps(dev), row['caps'])
        if row['features'] == '–':
            with self.assertRaises(AssertionError):
                VirtioBlk(dev)
        else:
            drv = VirtioBlk(dev)
            offered = drv.offered()
            self.assertEqual('%08x %08x' % (offered >> 32, offered & 0xffffffff), row['features'])
            expected, length = self.config(row)
            if offered & (F.DISCARD | F.WRITE_ZEROES) == 0:
                length = 36
            data = drv.config_bytes(64)
            self.assertEqual(data[length:], b'\xff' * (64 - length))
            got = drv.config()
            for name in expected:
                offset = {'max_discard_sectors': 36, 'max_discard_seg': 40,
                          'discard_sector_alignment': 44, 'max_write_zeroes_sectors': 48,
                          'max_write_zeroes_seg': 52, 'write_zeroes_may_unmap': 56}.get(name, 0)
                if offset < length:
                    self.assertEqual(got[name], expected[name], name)
            self.assertEqual(drv.queue_count(), expected['num_queues'])
            self.assertEqual(drv.queue_size(0), expected['seg_max'] + 2 if expected['seg_max'] not in
                             (126,) else drv.queue_size(0))
        if row['legacy'] == '–':
            self.assertNotIn(0, dev.bars)
        else:
            self.assertEqual('%08x' % LegacyVirtioBlk(dev).offered(), row['legacy'])
        vm.close()

    def run_rows(self, where):
        for row in self.rows(where):
            with self.subTest(row['name']):
                if 'refused' in row and is_spindle():
                    result = run_binary(['-machine', 'q35', '-display', 'none', '-nodefaults', '-S',
                                         *accel_args(self.tmp, None, True), *self.args(row)])
                    self.assertEqual(result.returncode, 1)
                    self.assertRegex(result.stderr, '%s.*not supported' % row['refused'])
                    continue
                self.check(row)

    def test_root_bus(self):
        self.run_rows('q35')

    def test_pc(self):
        self.run_rows('pc')

    def test_behind_a_root_port(self):
        self.run_rows('root-port')


if __name__ == '__main__':
    main()
