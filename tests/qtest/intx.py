#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupts without MSI-X: the ISR register, the interrupt status bit, the pin."""
from lib import OK, Disk, QtestCase, main, wait_for

INTX_PENDING = 0x0008


class Intx(QtestCase):
    def start(self, extra='', machine='q35', **kwargs):
        path = self.image(size=1 << 20)
        vm = self.vm('-drive', 'if=none,id=d0,format=raw,file=' + path,
                     '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                     '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":3,'
                     '"addr":"4.0","iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]%s}'
                     % extra, machine=machine)
        return Disk.start(vm, **kwargs)

    def pending(self, disk):
        return bool(disk.driver.pci.read(6, 2) & INTX_PENDING)

    def check(self, disk):
        drv = disk.driver
        self.assertEqual(drv.isr(), 0)
        for q in sorted(disk.queues):
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
            wait_for(lambda: self.pending(disk), 'interrupt of queue %d' % q)
            self.assertEqual(drv.isr(), 1)
            self.assertFalse(self.pending(disk))
            self.assertEqual(drv.isr(), 0, 'reading must clear')
        disk.vm.qmp('block_resize', device='d0', size=2 << 20)
        wait_for(lambda: self.pending(disk), 'configuration interrupt')
        self.assertEqual(drv.isr(), 3)
        self.assertFalse(self.pending(disk))

    def test_every_queue(self):
        self.check(self.start())

    def test_every_queue_on_pc(self):
        self.check(self.start(machine='pc'))

    def test_without_msix_capability(self):
        self.check(self.start(',"vectors":0'))

    def test_legacy_driver(self):
        self.check(self.start(legacy=True))

    def test_not_wanted(self):
        disk = self.start()
        disk.queue(0).ask_for_interrupt(on=False)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        disk.vm.qmp('query-status')
        self.assertEqual(disk.driver.isr(), 0)
        self.assertFalse(self.pending(disk))

    def test_event_index(self):
        disk = self.start(event_idx=True)
        for q in disk.queues:
            disk.queue(q).ask_for_interrupt()
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
            wait_for(lambda: self.pending(disk), 'interrupt')
            self.assertEqual(disk.driver.isr(), 1)

    def test_pin_reaches_the_interrupt_controller(self):
        """The line goes up with the request and down when the ISR is read."""
        disk = self.start()
        qt = disk.qt
        reply = qt.raw_line('irq_intercept_in ioapic')
        if not reply.startswith('OK'):
            # Not every machine names its interrupt controller at that path.
            paths = [c['name'] for c in disk.vm.qmp('qom-list', path='/machine/unattached')
                     if c['type'] == 'child<ioapic>']
            path = '/machine/unattached/' + paths[0] if paths else '/machine/q35/ioapic'
            reply = qt.raw_line('irq_intercept_in ' + path)
        self.assertTrue(reply.startswith('OK'), reply)
        del qt.irqs[:]
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        wait_for(lambda: (disk.vm.qmp('query-status'), qt.inb(0x80), qt.irqs)[2], 'raised line')
        raised = [int(i.split()[1]) for i in qt.irqs if i.startswith('raise')]
        self.assertEqual(len(raised), 1)
        self.assertGreaterEqual(raised[0], 16)
        self.assertLess(raised[0], 24)
        self.assertEqual(disk.driver.isr(), 1)
        qt.inb(0x80)
        self.assertIn('lower %d' % raised[0], qt.irqs)


if __name__ == '__main__':
    main()
