#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The PCI side of the machines: built-in functions, configuration mechanisms, bridges, BARs."""
from lib import OK, Disk, PciDevice, PciTopology, QtestCase, VirtioBlk, main
from lib.pci import CAP_PCIE

NODE = ['-blockdev', 'null-co,node-name=d0,size=1048576']


class PciMachine(QtestCase):
    def topology(self, vm):
        vm.pci = PciTopology(vm)
        return vm.pci

    def ids(self, topology):
        return {bdf: '%04x:%04x' % (topology.read(bdf, 0, 2), topology.read(bdf, 2, 2))
                for bdf in topology.functions(0)}

    def test_built_in_functions(self):
        self.assertEqual(self.ids(self.topology(self.vm(machine='q35'))), {
            (0, 0, 0): '8086:29c0', (0, 31, 0): '8086:2918', (0, 31, 2): '8086:2922',
            (0, 31, 3): '8086:2930'})
        self.assertEqual(self.ids(self.topology(self.vm(machine='pc'))), {
            (0, 0, 0): '8086:1237', (0, 1, 0): '8086:7000', (0, 1, 1): '8086:7010',
            (0, 1, 3): '8086:7113'})

    def test_automatic_slots(self):
        """Key=value devices come first, then -drive if=virtio, then JSON devices."""
        for machine, first in (('q35', 1), ('pc', 2)):
            path = self.image(size=1 << 20)
            args = []
            for i in range(4):
                args += ['-blockdev', 'null-co,node-name=d%d' % i]
            vm = self.vm('-device', '{"driver":"virtio-blk-pci","id":"j1","drive":"d0"}',
                         '-device', 'virtio-blk-pci,id=l1,drive=d1',
                         '-drive', 'if=virtio,format=raw,file=' + path,
                         '-device', '{"driver":"virtio-blk-pci","id":"j2","drive":"d2"}',
                         '-device', 'virtio-blk-pci,id=l2,drive=d3', *args, machine=machine)
            topology = self.topology(vm)
            slots = [topology.address_of(i)[1] for i in ('l1', 'l2', 'j1', 'j2')]
            self.assertEqual(slots, [first, first + 1, first + 3, first + 4])
            self.assertEqual(topology.read((0, first + 2, 0), 0), 0x10011af4)
            vm.close()

    def test_configuration_mechanism(self):
        """The address register keeps exact byte offsets; every width works; absent is all ones."""
        vm = self.vm(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0,addr=4', machine='pc')
        qt = vm.qt

        def at(offset, enable=0x80000000, slot=4):
            qt.outl(0xcf8, enable | slot << 11 | offset)
        at(0)
        self.assertEqual(qt.inl(0xcfc), 0x10011af4)
        self.assertEqual(qt.inw(0xcfe), 0x1001)
        self.assertEqual(qt.inb(0xcfd), 0x1a)
        at(2)
        self.assertEqual(qt.inw(0xcfc), 0x1001, 'byte offset in the address')
        at(1)
        self.assertEqual(qt.inb(0xcfc), 0x1a)
        self.assertEqual(qt.inl(0xcf8), 0x80002001)
        at(0x98 + 2)
        self.assertEqual(qt.inw(0xcfc) & 0x7ff, 1)
        at(0, enable=0)
        self.assertEqual(qt.inl(0xcfc), 0xffffffff)
        at(0, slot=9)
        self.assertEqual(qt.inl(0xcfc), 0xffffffff)
        self.assertEqual(qt.inw(0xcfc), 0xffff)
        self.assertEqual(qt.inb(0xcfc), 0xff)
        at(4)
        qt.outw(0xcfc, 7)
        self.assertEqual(qt.inw(0xcfc), 7)

    def test_ecam(self):
        vm = self.vm(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0,addr=4',
                     '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1,addr=5')
        topology = self.topology(vm)
        base = 0xb0000000
        # Off at first.
        self.assertNotEqual(vm.qt.readl(base), 0x29c08086)
        topology.write((0, 0, 0), 0x60, base | 1)
        topology.write((0, 0, 0), 0x64, 0)
        for slot in (0, 4, 31):
            for offset in (0, 8, 0x2c):
                self.assertEqual(vm.qt.readl(base + (slot << 15) + offset),
                                 topology.read((0, slot, 0), offset))
        self.assertEqual(vm.qt.readw(base + (4 << 15) + 2), 0x1001)
        self.assertEqual(vm.qt.readb(base + (4 << 15) + 0x3d), 1)
        vm.qt.writew(base + (4 << 15) + 4, 6)
        self.assertEqual(topology.read((0, 4, 0), 4, 2), 6)
        self.assertEqual(vm.qt.readl(base + (9 << 15)), 0xffffffff)
        self.assertEqual(vm.qt.readl(base + (7 << 20)), 0xffffffff)
        # And moved.
        topology.write((0, 0, 0), 0x60, 0xc0000000 | 1)
        self.assertEqual(vm.qt.readl(0xc0000000), 0x29c08086)
        self.assertNotEqual(vm.qt.readl(base), 0x29c08086)

    def use(self, vm, device='v0'):
        disk = Disk.start(vm, device, msix=True)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        return disk

    def test_behind_a_root_port(self):
        vm = self.vm(*NODE, '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,bus=rp0')
        disk = self.use(vm)
        self.assertEqual(disk.driver.pci.bdf[0], 1)
        self.assertIsNotNone(disk.driver.pci.capability(CAP_PCIE))
        port = PciDevice(vm.pci, vm.pci.address_of('rp0'))
        self.assertEqual(port.read(0), 0x000c1b36)

    def test_behind_a_bridge(self):
        for machine, bus in (('pc', 'pci.0'), ('q35', 'pcie.0')):
            vm = self.vm(*NODE, '-device', 'pci-bridge,id=br0,chassis_nr=1,bus=' + bus,
                         '-device', 'virtio-blk-pci,id=v0,drive=d0,bus=br0,addr=3',
                         machine=machine)
            disk = self.use(vm)
            self.assertEqual(disk.driver.pci.bdf, (1, 3, 0))
            bridge = PciDevice(vm.pci, vm.pci.address_of('br0'))
            self.assertEqual(bridge.read(0), 0x00011b36)

    def test_behind_two_bridges(self):
        vm = self.vm(*NODE, '-device', 'pci-bridge,id=br0,chassis_nr=1',
                     '-device', 'pci-bridge,id=br1,chassis_nr=2,bus=br0,addr=1',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,bus=br1,addr=2', machine='pc')
        disk = self.use(vm)
        self.assertEqual(disk.driver.pci.bdf, (2, 2, 0))

    def test_intx_through_bridges(self):
        for args, machine in ((['-device', 'pci-bridge,id=b,chassis_nr=1'], 'pc'),
                              (['-device', 'pcie-root-port,id=b,chassis=1,slot=1'], 'q35')):
            vm = self.vm(*NODE, *args, '-device', 'virtio-blk-pci,id=v0,drive=d0,bus=b,addr=%d'
                         % (1 if machine == 'pc' else 0), machine=machine)
            disk = Disk.start(vm)
            self.assertEqual(disk.write(0, 0, bytes(512)), OK)
            self.settles(lambda disk=disk: disk.driver.pci.read(6, 2) & 8, 8, 'interrupt')
            self.assertEqual(disk.driver.isr(), 1)

    def test_window_closed(self):
        """A BAR outside the bridge's window, or behind a bridge that is off, is not reached."""
        vm = self.vm(*NODE, '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,bus=rp0')
        disk = self.use(vm)
        port = vm.pci.address_of('rp0')
        common = disk.driver.common
        self.assertEqual(vm.qt.readw(common + 0x12), 1)
        vm.pci.write(port, 4, 0, 2)
        self.assertNotEqual(vm.qt.readw(common + 0x12), 1)
        vm.pci.write(port, 4, 7, 2)
        self.assertEqual(vm.qt.readw(common + 0x12), 1)

    def test_bars_anywhere(self):
        vm = self.vm(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0')
        disk = self.use(vm)
        pci = disk.driver.pci
        for addr in (0xe8000000, 0xc1234000 & ~0x3fff, 0xfd000000, 0x1000000000):
            pci.move_bar(4, addr)
            self.assertEqual(vm.qt.readw(addr + 0x12), 1)
            self.assertEqual(vm.qt.readb(addr + 0x14), 15)
        # Sizing it while it is decoded must not upset anything.
        pci.move_bar(4, 0xe8000000)
        for _ in range(3):
            pci.write(0x20, 0xffffffff)
            self.assertEqual(pci.read(0x20), 0xffffc00c)
            pci.move_bar(4, 0xe8000000)
        self.assertEqual(vm.qt.readw(0xe8000012), 1)

    def test_bar_over_memory(self):
        """A BAR laid over RAM must not make RAM lose what it holds."""
        vm = self.vm(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0')
        disk = self.use(vm)
        addr = vm.alloc(0x8000, 0x4000)
        vm.qt.write(addr, b'\x5a' * 0x4000)
        old = disk.driver.pci.bars[4].addr
        disk.driver.pci.move_bar(4, addr)
        vm.qt.read(addr, 64)
        disk.driver.pci.move_bar(4, old)
        self.assertEqual(vm.qt.read(addr, 0x4000), b'\x5a' * 0x4000)
        self.assertEqual(disk.driver.status(), 15)

    def test_io_bar(self):
        vm = self.vm(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0')
        topology = self.topology(vm)
        pci = PciDevice(topology, topology.address_of('v0'))
        pci.size_bars()
        for addr in (0xc000, 0xd080, 0x1000):
            pci.move_bar(0, addr)
            pci.enable(1)
            self.assertEqual(vm.qt.inl(addr), 0x79006e54)
            pci.enable(0)
            self.assertEqual(vm.qt.inl(addr), 0xffffffff)

    def test_multifunction(self):
        vm = self.vm(*NODE, '-blockdev', 'null-co,node-name=d1,size=1048576',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,addr=5.0,multifunction=on',
                     '-device', 'virtio-blk-pci,id=v1,drive=d1,addr=5.3', machine='pc')
        self.use(vm, 'v0')
        disk = self.use(vm, 'v1')
        self.assertEqual(disk.driver.pci.bdf, (0, 5, 3))
        self.assertEqual(vm.pci.read((0, 5, 0), 0xe, 1), 0x80)

    def test_query_pci(self):
        vm = self.vm(*NODE, '-device', 'pcie-root-port,id=rp0,chassis=1,slot=1',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0')
        bus, = vm.qmp('query-pci')
        self.assertEqual(bus['bus'], 0)
        entry = next(d for d in bus['devices'] if d['qdev_id'] == 'v0')
        self.assertEqual(entry['class_info'], {'class': 256, 'desc': 'SCSI controller'})
        self.assertEqual(entry['id'], {'device': 4097, 'vendor': 6900, 'subsystem': 2,
                                       'subsystem-vendor': 6900})
        self.assertEqual(entry['irq_pin'], 1)
        self.assertEqual(entry['regions'], [
            {'bar': 0, 'size': 128, 'address': -1, 'type': 'io'},
            {'bar': 1, 'size': 4096, 'address': -1, 'type': 'memory', 'prefetch': False,
             'mem_type_64': False},
            {'bar': 4, 'size': 16384, 'address': -1, 'type': 'memory', 'prefetch': True,
             'mem_type_64': True}])
        disk = self.use(vm)
        entry = next(d for d in vm.qmp('query-pci')[0]['devices'] if d['qdev_id'] == 'v0')
        self.assertEqual({r['bar']: r['address'] for r in entry['regions']},
                         {i: b.addr for i, b in disk.driver.pci.bars.items()})
        port = next(d for d in vm.qmp('query-pci')[0]['devices'] if d['qdev_id'] == 'rp0')
        self.assertEqual(port['pci_bridge']['bus']['secondary'], 1)
        self.assertEqual(port['pci_bridge']['devices'], [])
        text = vm.hmp('info pci')
        self.assertIn('SCSI controller: PCI device 1af4:1001', text)
        self.assertIn('id "v0"', text)
        self.assertIn('secondary bus 1.', text)

    def test_reset_clears_command_and_bars(self):
        vm = self.vm(*NODE, '-device', 'virtio-blk-pci,id=v0,drive=d0')
        disk = self.use(vm)
        vm.qmp('system_reset')
        vm.wait_event('RESET')
        pci = disk.driver.pci
        self.assertEqual(pci.read(4, 2), 0)
        self.assertEqual([pci.read(o) for o in (0x10, 0x14, 0x20, 0x24)], [1, 0, 0xc, 0])
        pci.map()
        self.assertEqual(VirtioBlk(pci).status(), 0)


if __name__ == '__main__':
    main()
