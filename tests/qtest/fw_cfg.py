#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fw_cfg: the ports, the DMA interface, RAM size, the file directory."""
import struct

from lib import QtestCase, main

SELECT, DATA, DMA = 0x510, 0x511, 0x514
SIGNATURE, ID, RAM_SIZE, CPUS, MAX_CPUS, FILE_DIR = 0, 1, 3, 5, 0xf, 0x19
DMA_ERROR, DMA_READ, DMA_SKIP, DMA_SELECT, DMA_WRITE = 1, 2, 4, 8, 16


class FwCfg(QtestCase):
    def item(self, vm, key, size):
        vm.qt.outw(SELECT, key)
        return bytes(int(r, 16) for r in vm.qt.ask_all(['inb 0x%x' % DATA] * size))

    def dma(self, vm, control, size=0, buffer=0):
        """Runs a DMA operation; returns the control word it left."""
        at = vm.alloc(16, 16)
        vm.qt.write(at, struct.pack('>IIQ', control, size, buffer))
        vm.qt.outl(DMA, struct.unpack('<I', struct.pack('>I', at >> 32))[0])
        vm.qt.outl(DMA + 4, struct.unpack('<I', struct.pack('>I', at & 0xffffffff))[0])
        return struct.unpack('>I', vm.qt.read(at, 4))[0]

    def directory(self, vm):
        count, = struct.unpack('>I', self.item(vm, FILE_DIR, 4))
        data = self.item(vm, FILE_DIR, 4 + 64 * count)[4:]
        files = {}
        for i in range(count):
            size, key, _, name = struct.unpack('>IHH56s', data[64 * i:64 * i + 64])
            files[name.rstrip(b'\0').decode()] = (key, size)
        return files

    def test_ports(self):
        for machine in ('pc', 'q35'):
            for ram in (128, 256, 1024):
                with self.subTest((machine, ram)):
                    vm = self.vm('-smp', '3,maxcpus=4', machine=machine, ram=ram)
                    self.assertEqual(self.item(vm, SIGNATURE, 4), b'QEMU')
                    self.assertEqual(struct.unpack('<I', self.item(vm, ID, 4))[0] & 3, 3)
                    self.assertEqual(struct.unpack('<Q', self.item(vm, RAM_SIZE, 8))[0], ram << 20)
                    self.assertEqual(struct.unpack('<H', self.item(vm, CPUS, 2))[0], 3)
                    self.assertEqual(struct.unpack('<H', self.item(vm, MAX_CPUS, 2))[0], 4)
                    vm.close()

    def test_reading_behind_the_end(self):
        vm = self.vm()
        self.assertEqual(self.item(vm, SIGNATURE, 8), b'QEMU' + bytes(4))
        self.assertEqual(self.item(vm, 0x3333, 4), bytes(4))

    def test_selecting_starts_over(self):
        vm = self.vm()
        self.assertEqual(self.item(vm, SIGNATURE, 2), b'QE')
        self.assertEqual(self.item(vm, SIGNATURE, 4), b'QEMU')

    def test_directory(self):
        vm = self.vm('-blockdev', 'null-co,node-name=d0', '-device',
                     'virtio-blk-pci,id=v0,drive=d0,bootindex=1')
        files = self.directory(vm)
        self.assertEqual(list(files), sorted(files))
        self.assertIn('etc/e820', files)
        key, size = files['bootorder']
        order = self.item(vm, key, size)
        self.assertEqual(order, b'/pci@i0cf8/scsi@1/disk@0,0\0')
        key, size = files['etc/e820']
        entries = [struct.unpack('<QQI', self.item(vm, key, size)[i:i + 20])
                   for i in range(0, size, 20)]
        self.assertEqual(sum(length for _, length, kind in entries if kind == 1), 128 << 20)

    def test_dma(self):
        vm = self.vm()
        self.assertEqual(struct.unpack('>Q', struct.pack(
            '<II', vm.qt.inl(DMA), vm.qt.inl(DMA + 4)))[0], 0x51454d5520434647)
        buffer = vm.alloc(4096)
        vm.qt.memset(buffer, 4096, 0x5a)
        self.assertEqual(self.dma(vm, DMA_SELECT | DMA_READ | SIGNATURE << 16, 4, buffer), 0)
        self.assertEqual(vm.qt.read(buffer, 5), b'QEMU\x5a')
        # Skip, then read on.
        self.assertEqual(self.dma(vm, DMA_SELECT | DMA_SKIP | SIGNATURE << 16, 2), 0)
        self.assertEqual(self.dma(vm, DMA_READ, 2, buffer), 0)
        self.assertEqual(vm.qt.read(buffer, 2), b'MU')
        self.assertEqual(self.dma(vm, DMA_SELECT | DMA_READ | RAM_SIZE << 16, 8, buffer), 0)
        self.assertEqual(struct.unpack('<Q', vm.qt.read(buffer, 8))[0], 128 << 20)

    def test_bad_dma(self):
        """Bad addresses are an error in the control word at most."""
        vm = self.vm()
        self.assertEqual(self.dma(vm, DMA_SELECT | DMA_READ | SIGNATURE << 16, 4, 1 << 50), DMA_ERROR)
        # A control word that is not in memory.
        vm.qt.outl(DMA, 0xffffffff)
        vm.qt.outl(DMA + 4, 0xf0ffffff)
        self.assertEqual(self.item(vm, SIGNATURE, 4), b'QEMU')

    def test_machine_none(self):
        vm = self.vm(machine='none')
        self.assertEqual(vm.qt.inb(DATA), 0xff)


if __name__ == '__main__':
    main()
