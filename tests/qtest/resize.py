#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""block_resize: capacity, generation, interrupt; requests against the new size."""
import os

from lib import IOERR, OK, OUT, Disk, QtestCase, VirtioBlk, main, pattern, wait_for

MIB = 1 << 20


class Resize(QtestCase):
    def start(self, extra='', start=True, **kwargs):
        self.path = self.image(size=8 * MIB)
        self.machine = self.vm(
            '-drive', 'if=none,id=d0,format=raw,file=' + self.path,
            '-blockdev', 'raw,node-name=n1,file.driver=file,file.node-name=f1,file.filename=' +
            self.image('second.raw', 4 * MIB),
            '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
            '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4,'
            '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]%s}' % extra,
            '-device', 'virtio-blk-pci,id=v1,drive=n1')
        return Disk.start(self.machine, **kwargs) if start else None

    def resize(self, size, device='d0'):
        self.machine.qmp('block_resize', device=device, size=size)

    def test_interrupt_and_generation(self):
        disk = self.start()
        drv = disk.driver
        generation = drv.generation()
        self.assertEqual(drv.capacity(), 16384)
        for step, size in enumerate((32 * MIB, 4 * MIB, 8 * MIB), 1):
            self.resize(size)
            wait_for(lambda: drv.pci.read(6, 2) & 8, 'configuration interrupt')
            self.assertEqual(drv.isr(), 3)
            self.assertEqual(drv.capacity(), size // 512)
            self.assertEqual(drv.generation(), generation + step & 0xff)
            self.assertEqual(os.path.getsize(self.path), size)

    def test_msix(self):
        disk = self.start(msix=True)
        msix = disk.driver.msix
        msix.clear()
        self.resize(9 * MIB)
        wait_for(lambda: msix.fired() == {0}, 'configuration vector')

    def test_one_shared_vector(self):
        disk = self.start(',"vectors":1', msix=True)
        msix = disk.driver.msix
        for size in (9 * MIB, 10 * MIB):
            msix.clear()
            self.resize(size)
            wait_for(lambda: msix.fired() == {0}, 'the only vector')
            self.assertEqual(disk.driver.capacity(), size // 512)
            msix.clear()
            self.assertEqual(disk.write(3, 0, bytes(512)), OK)
            wait_for(lambda: msix.fired() == {0}, 'the only vector')

    def test_before_driver_ok(self):
        disk = self.start(driver_ok=False)
        drv = disk.driver
        drv.isr()
        self.resize(16 * MIB)
        self.machine.qmp('query-status')
        self.assertEqual(drv.isr(), 0, 'no interrupt before DRIVER_OK')
        self.assertEqual(drv.capacity(), 32768)
        drv.driver_ok()
        self.assertEqual(disk.write(0, 32760, pattern(1, 4096)), OK)
        self.resize(17 * MIB)
        wait_for(lambda: drv.isr() & 2, 'interrupt after DRIVER_OK')

    def test_before_any_driver(self):
        self.start(start=False)
        self.resize(MIB)
        driver = VirtioBlk.find(self.machine, 'v0')
        self.assertEqual(driver.capacity(), 2048)

    def test_requests_follow_the_size(self):
        disk = self.start()
        last = 8 * MIB // 512
        self.assertEqual(disk.write(1, last, pattern(1, 4096)), IOERR)
        self.resize(9 * MIB)
        self.assertEqual(disk.write(1, last, pattern(1, 4096)), OK)
        self.assertEqual(disk.read(2, last, 4096), pattern(1, 4096))
        self.resize(MIB)
        self.assertEqual(disk.read_status(3, 2048, 512), IOERR)
        self.assertEqual(disk.write(0, 2047, bytes(1024)), IOERR)
        self.assertEqual(disk.write(0, 2047, bytes(512)), OK)
        self.resize(9 * MIB)
        self.assertEqual(disk.read(1, last, 4096), bytes(4096), 'grown part reads as zeroes')

    def test_odd_sizes_round_up(self):
        disk = self.start()
        self.resize(8 * MIB + 1)
        self.assertEqual(disk.driver.capacity(), 16385)
        self.assertEqual(disk.read(0, 16384, 512), bytes(512))
        self.assertEqual(disk.write(0, 16384, pattern(2, 512)), OK)
        self.assertEqual(disk.read(0, 16384, 512), pattern(2, 512))

    def test_by_node_name_and_child(self):
        disk = self.start()
        other = Disk.start(self.machine, 'v1')
        self.machine.qmp('block_resize', node_name='n1', size=5 * MIB)
        wait_for(lambda: other.driver.capacity() == 10240, 'capacity')
        generation = other.driver.generation()
        # The file below the format node may grow unseen.
        self.machine.qmp('block_resize', node_name='f1', size=6 * MIB)
        self.assertEqual(other.driver.capacity(), 10240)
        self.assertEqual(other.driver.generation(), generation)
        self.assertEqual(disk.driver.capacity(), 16384)

    def test_errors(self):
        disk = self.start()
        vm = self.machine
        self.qmp_fails(vm, 'block_resize', "Parameter 'size' expects a >0 size", device='d0',
                       size=-1)
        self.qmp_fails(vm, 'block_resize', "Cannot find device='zz' nor node-name=''", device='zz',
                       size=MIB)
        self.qmp_fails(vm, 'block_resize', "Cannot find device='' nor node-name='zz'",
                       node_name='zz', size=MIB)
        self.qmp_fails(vm, 'block_resize', "Cannot find device='' nor node-name=''", size=MIB)
        self.qmp_fails(vm, 'block_resize', "Cannot find device='n1' nor node-name=''", device='n1',
                       size=MIB)
        self.qmp_fails(vm, 'block_resize', 'Could not resize file: File too large', device='d0',
                       size=1 << 62)
        self.qmp_fails(vm, 'block_resize', "Invalid parameter type for 'size', expected: integer",
                       device='d0', size='1')
        self.qmp_fails(vm, 'block_resize', "Invalid parameter type for 'size', expected: integer",
                       device='d0', size=1.5)
        self.assertEqual(disk.driver.capacity(), 16384)

    def test_under_load(self):
        disk = self.start()
        for turn in range(40):
            for q in range(4):
                for i in range(4):
                    disk.add(q, OUT, 8 * (4 * q + i), data=pattern((turn, q, i), 4096))
                disk.kick(q)
            self.resize((8 + turn % 3) * MIB)
            for q in range(4):
                for r in disk.reap(q, 4):
                    self.assertEqual(r.status(), OK)
                    disk.release(r)
        for q in range(4):
            for i in range(4):
                self.assertEqual(disk.read(q, 8 * (4 * q + i), 4096), pattern((39, q, i), 4096))


if __name__ == '__main__':
    main()
