#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""device_add and device_del of a mapped disk: root port with native and with ACPI hotplug, pc."""
import json

from lib import (OK, OUT, Disk, QtestCase, main, pattern, reference_fails, switches, threads,
                 wait_for)
from lib.pci import CAP_PCIE, PciTopology

NATIVE = ['-global', 'ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off']
PORT = ['-device', 'pcie-root-port,id=rp0,chassis=1,slot=1']
MAPPING = [{'iothread': 't0'}, {'iothread': 't1'}]
SLOT_CONTROL, SLOT_STATUS = 0x18, 0x1a
POWER_OFF, POWER_INDICATOR_OFF, POWER_INDICATOR_ON = 0x400, 0x300, 0x100
POWER_INDICATOR_BLINKS = 0x200
ATTENTION_BUTTON = 1


class Hotplug(QtestCase):
    def machine(self, *args, machine='q35', paused=False):
        self.path = self.image(size=4 << 20)
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=' + self.path,
                     '-object', 'iothread,id=t0,poll-max-ns=0',
                     '-object', 'iothread,id=t1,poll-max-ns=0', *args, machine=machine,
                     paused=paused)
        vm.pci = PciTopology(vm)
        vm.pci.setup_bridges()
        return vm

    def plug(self, vm, bus=None, **extra):
        device = {'driver': 'virtio-blk-pci', 'id': 'h0', 'drive': 'd0', 'num-queues': 4,
                  'iothread-vq-mapping': MAPPING, **extra}
        if bus:
            device['bus'] = bus
        reply = vm.execute('device_add', device)
        self.assertEqual(reply, {'return': {}})

    def deleted(self, vm):
        """Both events, in order."""
        first = vm.wait_event('DEVICE_DELETED')
        self.assertEqual(first['data'], {'path': '/machine/peripheral/h0/virtio-backend'})
        second = vm.wait_event('DEVICE_DELETED')
        self.assertEqual(second['data'], {'device': 'h0', 'path': '/machine/peripheral/h0'})

    def use(self, vm, seed=0, placement=False):
        disk = Disk.start(vm, 'h0', msix=True)
        for q in range(4):
            self.assertEqual(disk.write(q, 8 * q, pattern((seed, q), 4096)), OK)
        for q in range(4):
            self.assertEqual(disk.read(3 - q, 8 * q, 4096), pattern((seed, q), 4096))
        if placement:
            ids = vm.iothreads()
            for q in range(4):
                before = {t: switches(vm.pid, ids[t]) for t in ids}
                for _ in range(20):
                    disk.flush(q)
                spent = {t: switches(vm.pid, ids[t]) - before[t] for t in ids}
                mine, other = ('t0', 't1') if q % 2 == 0 else ('t1', 't0')
                self.assertGreaterEqual(spent[mine], 10)
                self.assertLessEqual(spent[other], 2)
        return disk

    def gone(self, vm):
        """The device is not there, and nothing of it holds on to what it used."""
        self.assertEqual([c['name'] for c in vm.qmp('qom-list', path='/machine/peripheral')
                          if c['name'] == 'h0'], [])
        self.qmp_fails(vm, 'device_del', "Device 'h0' not found", 'DeviceNotFound', id='h0')

    def eject_pc(self, vm):
        """What ACPI does on pc: the down bitmap tells the slot, a write ejects it."""
        down = vm.qt.inl(0xae04)
        self.assertEqual(bin(down).count('1'), 1, hex(down))
        vm.qt.outl(0xae08, down)
        vm.qt.flush()

    def selected_q35(self, vm, offset):
        """The slots set in a bitmap, of the first bus that has any, which stays selected."""
        for bus in range(4):
            vm.qt.outl(0xcc0 + 0x10, bus)
            bits = vm.qt.inl(0xcc0 + offset)
            if bits:
                return bits
        return 0

    def eject_q35(self, vm):
        down = self.selected_q35(vm, 4)
        self.assertEqual(down, 1, 'down bitmap')
        vm.qt.outl(0xcc0 + 8, down)
        vm.qt.flush()

    def port(self, vm):
        """Configuration of the root port's slot: (read, write) of 16-bit registers."""
        bdf = vm.pci.address_of('rp0')
        from lib.pci import PciDevice
        port = PciDevice(vm.pci, bdf)
        cap = port.capability(CAP_PCIE)
        return (lambda off: port.read(cap + off, 2)), (lambda off, v: port.write(cap + off, v, 2))

    # ---- pc ----

    def test_pc_acpi(self):
        vm = self.machine(machine='pc')
        self.plug(vm, addr='6.0')
        self.assertEqual(vm.take_events('DEVICE_DELETED'), [])
        self.assertEqual(vm.qt.inl(0xae00), 1 << 6, 'up bitmap')
        self.assertEqual(vm.qt.inl(0xae00), 0, 'reading clears it')
        self.assertTrue(vm.qmp('qom-get', path='h0', property='hotplugged'))
        self.use(vm, placement=True)
        vm.qmp('device_del', id='h0')
        self.assertEqual(vm.take_events('DEVICE_DELETED'), [])
        self.assertEqual(vm.qt.inl(0xae04), 1 << 6, 'down bitmap')
        self.qmp_fails(vm, 'blockdev-del', 'Node d0 is in use', node_name='d0')
        vm.qt.outl(0xae08, 1 << 6)
        vm.qt.flush()
        self.deleted(vm)
        self.gone(vm)
        vm.qmp('blockdev-del', node_name='d0')

    def test_pc_reset_completes_the_unplug(self):
        vm = self.machine(machine='pc', paused=True)
        self.plug(vm)
        vm.qmp('device_del', id='h0')
        self.qmp_fails(vm, 'device_del', 'Device h0 is already in the process of unplug', id='h0')
        self.assertEqual(vm.take_events('DEVICE_DELETED'), [])
        vm.qmp('system_reset')
        reset = vm.wait_event('RESET')
        self.assertEqual(reset['data'], {'guest': False, 'reason': 'host-qmp-system-reset'})
        self.deleted(vm)
        self.gone(vm)

    def test_pc_200_times(self):
        vm = self.machine(machine='pc')
        self.cycle(vm, lambda: self.eject_pc(vm), None)

    # ---- q35 ----

    def test_root_bus_refuses(self):
        vm = self.machine(*PORT)
        for bus in ('pcie.0', None):
            device = {'driver': 'virtio-blk-pci', 'id': 'h0', 'drive': 'd0'}
            if bus:
                device['bus'] = bus
                reply = vm.execute('device_add', device)
                self.assertEqual(reply['error']['desc'],
                                 "Bus 'pcie.0' does not support hotplugging")

    def test_q35_acpi(self):
        vm = self.machine(*PORT)
        self.plug(vm, 'rp0')
        self.assertEqual(self.selected_q35(vm, 0), 1, 'up bitmap')
        self.assertEqual(vm.qt.inl(0xcc0), 0, 'reading clears it')
        self.use(vm, placement=True)
        vm.qmp('device_del', id='h0')
        self.eject_q35(vm)
        self.deleted(vm)
        self.gone(vm)
        # And a second time in the same slot.
        self.plug(vm, 'rp0')
        self.use(vm, 1)
        vm.qmp('device_del', id='h0')
        self.eject_q35(vm)
        self.deleted(vm)

    def test_q35_acpi_200_times(self):
        vm = self.machine(*PORT)
        self.cycle(vm, lambda: self.eject_q35(vm), 'rp0')

    def test_native_slot_off(self):
        """Nobody uses a slot without power: the device may go at once."""
        vm = self.machine(*NATIVE, *PORT)
        read, _ = self.port(vm)
        self.assertTrue(read(SLOT_CONTROL) & POWER_OFF)
        self.plug(vm, 'rp0')
        self.assertEqual(read(SLOT_STATUS) & 0x49, 0x49, 'button, presence changed, present')
        vm.qmp('device_del', id='h0')
        self.deleted(vm)
        self.gone(vm)

    def test_native_slot_on(self):
        vm = self.machine(*NATIVE, *PORT)
        read, write = self.port(vm)
        self.plug(vm, 'rp0')
        self.power_on(read, write)
        self.use(vm, placement=True)
        vm.qmp('device_del', id='h0')
        self.assertTrue(read(SLOT_STATUS) & ATTENTION_BUTTON)
        self.assertEqual(vm.take_events('DEVICE_DELETED'), [])
        self.power_off(read, write)
        self.deleted(vm)
        self.gone(vm)
        vm.qmp('blockdev-del', node_name='d0')

    @reference_fails('it never says that a guest called an unplugging off')
    def test_native_called_off(self):
        """The guest blinks for a while, which can be called off at the machine, and keeps the disk."""
        vm = self.machine(*NATIVE, *PORT)
        read, write = self.port(vm)
        self.plug(vm, 'rp0')
        self.power_on(read, write)
        for _ in range(2):
            vm.qmp('device_del', id='h0')
            write(SLOT_CONTROL, read(SLOT_CONTROL) & ~0x300 | POWER_INDICATOR_BLINKS)
            self.assertEqual(vm.take_events('DEVICE_UNPLUG_GUEST_ERROR'), [])
            write(SLOT_CONTROL, read(SLOT_CONTROL) & ~0x300 | POWER_INDICATOR_ON)
            event = vm.wait_event('DEVICE_UNPLUG_GUEST_ERROR')
            self.assertEqual(event['data'], {'device': 'h0', 'path': '/machine/peripheral/h0'})
        self.use(vm, placement=True)
        # Nothing is told about a disk that nobody wanted to have.
        write(SLOT_CONTROL, read(SLOT_CONTROL) & ~0x300 | POWER_INDICATOR_BLINKS)
        write(SLOT_CONTROL, read(SLOT_CONTROL) & ~0x300 | POWER_INDICATOR_ON)
        vm.qmp('device_del', id='h0')
        self.power_off(read, write)
        self.deleted(vm)
        self.gone(vm)
        self.assertEqual(vm.take_events('DEVICE_UNPLUG_GUEST_ERROR'), [])

    def power_on(self, read, write):
        write(SLOT_STATUS, 0xffff)
        write(SLOT_STATUS, 0xffff)
        write(SLOT_CONTROL, read(SLOT_CONTROL) & ~0x700 | POWER_INDICATOR_ON)

    def power_off(self, read, write):
        write(SLOT_STATUS, 0xffff)
        write(SLOT_CONTROL, read(SLOT_CONTROL) & ~0x300 | POWER_INDICATOR_OFF | POWER_OFF)

    def test_native_200_times(self):
        vm = self.machine(*NATIVE, *PORT)
        read, write = self.port(vm)
        self.cycle(vm, lambda: self.power_off(read, write), 'rp0',
                   after_plug=lambda: self.power_on(read, write))

    # ---- both ----

    def cycle(self, vm, eject, bus, after_plug=None):
        # The reference gets slower with every turn.
        turns = 200 if vm.spindle else 30
        base = vm.alloc(16)
        pools = dict(vm.pci.io), dict(vm.pci.mem)
        footprint = None
        for turn in range(turns):
            vm._alloc = base
            vm.pci.io, vm.pci.mem = dict(pools[0]), dict(pools[1])
            self.plug(vm, bus, **({} if bus else {'addr': '5.0'}))
            if after_plug:
                after_plug()
            disk = self.use(vm, turn)
            if turn % 4 == 0:
                # Taken away with requests in flight.
                for q in range(4):
                    for i in range(8):
                        disk.add(q, OUT, 64 + 8 * i, data=bytes(4096))
                    disk.kick(q)
            vm.qmp('device_del', id='h0')
            eject()
            self.deleted(vm)
            if turn == 20:
                footprint = vm.footprint()
        self.leaves_nothing(vm, footprint)
        tids = set(vm.iothreads().values())
        vm.qmp('object-del', id='t0')
        vm.qmp('object-del', id='t1')
        self.settles(lambda: tids & set(threads(vm.pid)), set(), 'threads after object-del')
        vm.qmp('blockdev-del', node_name='d0')

    def test_errors(self):
        vm = self.machine(*PORT, '-blockdev', 'null-co,node-name=d1,size=1048576',
                          '-device', 'virtio-blk-pci,id=cold,drive=d1')
        fails = self.qmp_fails
        fails(vm, 'device_del', "Bus 'pcie.0' does not support hotplugging", id='cold')
        fails(vm, 'device_del', "Bus 'pcie.0' does not support hotplugging",
              id='/machine/peripheral/cold')
        fails(vm, 'device_del', "Bus 'pcie.0' does not support hotplugging", id='rp0')
        fails(vm, 'device_del', "Bus 'virtio-bus' does not support hotplugging",
              id='/machine/peripheral/cold/virtio-backend')
        fails(vm, 'device_del', "Device 'nosuch' not found", 'DeviceNotFound', id='nosuch')
        fails(vm, 'device_del', ' is not a device', id='')
        fails(vm, 'device_del', "Parameter 'id' is missing")
        fails(vm, 'device_del', "Invalid parameter type for 'id', expected: string", id=5)
        fails(vm, 'device_del', '/objects/t0 is not a device', id='/objects/t0')
        self.plug(vm, 'rp0')
        reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'id': 'h1', 'bus': 'rp0',
                                          'drive': 'nosuch'})
        self.assertEqual(reply['error']['desc'],
                         "Property 'virtio-blk-device.drive' can't find value 'nosuch'")
        vm.qmp('blockdev-add', driver='null-co', node_name='d2', size=1 << 20)
        reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'id': 'h1', 'bus': 'rp0',
                                          'drive': 'd2', 'num-queues': 0})
        self.assertEqual(reply['error']['desc'], 'PCI: slot 0 function 0 already occupied by '
                         'virtio-blk-pci, new func virtio-blk-pci cannot be exposed to guest.')
        reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'id': 'h0', 'bus': 'rp0',
                                          'drive': 'd2'})
        self.assertEqual(reply['error']['desc'], "Duplicate device ID 'h0'")

    def test_anonymous_device(self):
        vm = self.machine(*PORT)
        reply = vm.execute('device_add', {'driver': 'virtio-blk-pci', 'drive': 'd0', 'bus': 'rp0'})
        self.assertEqual(reply, {'return': {}})
        vm.qmp('device_del', id='/machine/peripheral-anon/device[0]')
        vm.qmp('system_reset')
        wait_for(lambda: len([e for e in vm.qmp_client.poll_events()
                              if e['event'] == 'DEVICE_DELETED']) == 2, 'both events')
        self.assertEqual([e['data'] for e in vm.take_events('DEVICE_DELETED')],
                         [{'path': '/machine/peripheral-anon/device[0]/virtio-backend'},
                          {'path': '/machine/peripheral-anon/device[0]'}])


if __name__ == '__main__':
    main()
