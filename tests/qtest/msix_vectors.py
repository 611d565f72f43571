#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""MSI-X: a vector per queue, shared vectors, masking, pending bits."""
from lib import OK, Disk, QtestCase, main, wait_for
from lib.virtio import NO_VECTOR


class MsixVectors(QtestCase):
    def start(self, extra='', machine='q35', **kwargs):
        path = self.image(size=1 << 20)
        vm = self.vm('-drive', 'if=none,id=d0,format=raw,file=' + path,
                     '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                     '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4,'
                     '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]%s}' % extra,
                     machine=machine)
        disk = Disk.start(vm, msix=True, **kwargs)
        return disk, disk.driver.msix

    def one(self, disk, q):
        """A request whose interrupt may be expected once it has completed."""
        self.assertEqual(disk.write(q, 0, bytes(512)), OK)

    def settle(self, disk):
        """Whatever interrupt the main loop was about to deliver has been delivered."""
        disk.vm.qmp('query-status')
        disk.vm.qmp('query-status')

    def fires(self, msix, vectors, what):
        wait_for(lambda: vectors <= msix.fired(), what)
        self.assertEqual(msix.fired(), vectors, what)

    def check_per_queue(self, disk, msix):
        for q in (0, 3, 1, 2):
            msix.clear()
            self.one(disk, q)
            self.fires(msix, {1 + q}, 'vector of queue %d' % q)
        msix.clear()
        disk.vm.qmp('block_resize', device='d0', size=2 << 20)
        self.fires(msix, {0}, 'config vector')

    def test_vector_per_queue(self):
        disk, msix = self.start()
        self.assertEqual(msix.count, 5)
        self.check_per_queue(disk, msix)

    def test_vector_per_queue_on_pc(self):
        self.check_per_queue(*self.start(machine='pc'))

    def test_vector_per_queue_event_index(self):
        disk, msix = self.start(event_idx=True)
        for q in range(4):
            disk.queue(q).ask_for_interrupt()
            msix.clear()
            self.one(disk, q)
            self.fires(msix, {1 + q}, 'vector of queue %d' % q)

    def test_all_queues_at_once(self):
        disk, msix = self.start()
        msix.clear()
        for q in range(4):
            disk.add(q, 1, 8 * q, data=bytes(512))
        for q in range(4):
            disk.kick(q)
        for q in range(4):
            disk.reap(q, 1)
        self.fires(msix, {1, 2, 3, 4}, 'vectors of all queues')

    def test_shared_queue_vector(self):
        disk, msix = self.start(',"vectors":2')
        self.assertEqual(msix.count, 2)
        for q in range(4):
            msix.clear()
            self.one(disk, q)
            self.fires(msix, {1}, 'shared vector')
        msix.clear()
        disk.vm.qmp('block_resize', device='d0', size=2 << 20)
        self.fires(msix, {0}, 'config vector')

    def test_one_vector_for_everything(self):
        disk, msix = self.start(',"vectors":1')
        self.assertEqual(msix.count, 1)
        for q in range(4):
            msix.clear()
            self.one(disk, q)
            self.fires(msix, {0}, 'the only vector')
        msix.clear()
        disk.vm.qmp('block_resize', device='d0', size=2 << 20)
        self.fires(msix, {0}, 'the only vector')

    def test_queue_without_vector(self):
        disk, msix = self.start()
        drv, qt = disk.driver, disk.qt
        drv.select(2)
        qt.writew(drv.common + 0x1a, NO_VECTOR)
        self.assertEqual(qt.readw(drv.common + 0x1a), NO_VECTOR)
        msix.clear()
        self.one(disk, 2)
        self.settle(disk)
        self.assertEqual(msix.fired(), set())
        self.one(disk, 1)
        self.fires(msix, {2}, 'another queue')

    def test_vector_out_of_range_is_not_taken(self):
        disk, msix = self.start()
        drv, qt = disk.driver, disk.qt
        for vector in (5, 6, 0x7ff, 0xfffe):
            drv.select(1)
            qt.writew(drv.common + 0x1a, vector)
            self.assertEqual(qt.readw(drv.common + 0x1a), NO_VECTOR)
            qt.writew(drv.common + 0x10, vector)
            self.assertEqual(qt.readw(drv.common + 0x10), NO_VECTOR)

    def test_vector_changed_while_running(self):
        disk, msix = self.start()
        drv, qt = disk.driver, disk.qt
        drv.select(1)
        qt.writew(drv.common + 0x1a, 4)
        self.assertEqual(qt.readw(drv.common + 0x1a), 4)
        msix.clear()
        self.one(disk, 1)
        self.fires(msix, {4}, 'new vector of queue 1')

    def test_masked_vector_is_kept_pending(self):
        disk, msix = self.start()
        msix.mask(2)
        msix.clear()
        self.one(disk, 1)
        wait_for(lambda: msix.pending(2), 'pending bit')
        self.assertEqual(msix.fired(), set())
        self.one(disk, 0)
        self.fires(msix, {1}, 'vector that is not masked')
        msix.clear()
        msix.mask(2, False)
        self.fires(msix, {2}, 'unmasked vector')
        self.assertFalse(msix.pending(2))

    def test_address_changed_while_masked(self):
        """What counts is the entry as it is when the mask goes."""
        disk, msix = self.start()
        word = disk.vm.alloc(4)
        msix.mask(1)
        self.one(disk, 0)
        wait_for(lambda: msix.pending(1), 'pending bit')
        msix.set_entry(1, word, 0x12345678, masked=True)
        msix.clear()
        disk.qt.writel(word, 0)
        msix.mask(1, False)
        wait_for(lambda: disk.qt.readl(word) == 0x12345678, 'message at the new address')
        self.assertEqual(msix.fired(), set())

    def test_function_mask(self):
        disk, msix = self.start()
        msix.control(enable=True, function_mask=True)
        msix.clear()
        for q in (0, 2):
            self.one(disk, q)
        wait_for(lambda: msix.pending(1) and msix.pending(3), 'pending bits')
        self.assertEqual(msix.fired(), set())
        msix.control(enable=True, function_mask=False)
        self.fires(msix, {1, 3}, 'vectors after the function mask')
        self.assertFalse(msix.pending(1) or msix.pending(3))

    def test_entries_are_masked_at_reset_and_pba_is_read_only(self):
        disk, msix = self.start(driver_ok=False)
        disk.vm.qmp('system_reset')
        disk.vm.wait_event('RESET')
        disk.driver.pci.map()
        qt = disk.qt
        for v in range(msix.count):
            # BARs were programmed again: find the table where it is now.
            table = disk.driver.pci.bars[1].addr
            self.assertEqual(qt.read(table + 16 * v, 16), bytes(12) + b'\1\0\0\0')
        qt.writel(disk.driver.pci.bars[1].addr + 0x800, 0xffffffff)
        self.assertEqual(qt.readl(disk.driver.pci.bars[1].addr + 0x800), 0)

    def test_no_interrupt_when_the_driver_wants_none(self):
        disk, msix = self.start()
        for q in range(4):
            disk.queue(q).ask_for_interrupt(on=False)
        msix.clear()
        for q in range(4):
            self.one(disk, q)
        self.settle(disk)
        self.assertEqual(msix.fired(), set())

    def test_bus_master_off_delivers_nothing(self):
        disk, msix = self.start()
        disk.driver.pci.enable(3)
        msix.clear()
        disk.vm.qmp('block_resize', device='d0', size=2 << 20)
        self.settle(disk)
        self.assertEqual(msix.fired(), set())


if __name__ == '__main__':
    main()
