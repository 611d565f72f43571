#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The registers of the PCI transport: widths, limits, what is stored and what is ignored."""
import struct

from lib import (F, OK, Disk, LegacyVirtioBlk, QtestCase, VirtioBlk, main, pattern, wait_for)
from lib.pci import CAP_MSIX, CAP_VENDOR

ALL_ONES = 0xffffffff


class VirtioRegisters(QtestCase):
    def machine(self, extra='', machine='q35'):
        return self.vm('-drive', 'if=none,id=d0,format=raw,file=' + self.image(size=1 << 20),
                       '-object', 'iothread,id=t0', '-device',
                       '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4,'
                       '"iothread-vq-mapping":[{"iothread":"t0"}]%s}' % extra, machine=machine)

    def driver(self, extra='', **kwargs):
        return VirtioBlk.find(self.machine(extra, **kwargs), 'v0')

    # ---- device configuration ----

    def test_device_configuration_widths(self):
        drv = self.driver()
        qt, base = drv.qt, drv.config_addr
        data = drv.config_bytes(57)
        for offset in range(57):
            self.assertEqual(qt.readb(base + offset), data[offset])
            if offset + 2 <= 57:
                self.assertEqual(qt.readw(base + offset), int.from_bytes(data[offset:offset + 2],
                                                                         'little'))
            if offset + 4 <= 57:
                self.assertEqual(qt.readl(base + offset), int.from_bytes(data[offset:offset + 4],
                                                                         'little'))
        # An access that crosses the end reads as all ones, as does everything behind it.
        self.assertEqual(qt.readl(base + 56), ALL_ONES)
        self.assertEqual(qt.readw(base + 56), 0xffff)
        self.assertEqual(qt.readb(base + 56), 1)
        for offset in (57, 64, 96, 0xffc):
            self.assertEqual(qt.readb(base + offset), 0xff)
        self.assertEqual(qt.read(base, 8), data[:8])

    # ---- common configuration ----

    def test_common_configuration_at_reset(self):
        drv = self.driver()
        qt, c = drv.qt, drv.common
        self.assertEqual(qt.readw(c + 0x10), 0xffff, 'config vector')
        self.assertEqual(qt.readw(c + 0x12), 4, 'queues')
        self.assertEqual(qt.readb(c + 0x14), 0, 'status')
        for q in range(4):
            drv.select(q)
            self.assertEqual(qt.readw(c + 0x18), 256)
            self.assertEqual(qt.readw(c + 0x1a), 0xffff)
            self.assertEqual(qt.readw(c + 0x1c), 0)
            self.assertEqual(qt.readw(c + 0x1e), q)
            self.assertEqual(qt.read(c + 0x20, 24), bytes(24))
        self.assertEqual(qt.readl(c + 0x3c), 0)

    def test_feature_selection(self):
        drv = self.driver()
        qt, c = drv.qt, drv.common
        for select in (2, 3, 77, ALL_ONES):
            qt.writel(c, select)
            self.assertEqual(qt.readl(c), select)
            self.assertEqual(qt.readl(c + 4), 0)
        for select, value, back in ((0, 0x12345678, 0x12345678), (1, 0xf0f0f0f1, 0xf0f0f0f1),
                                    (2, 5, 0)):
            qt.writel(c + 8, select)
            qt.writel(c + 12, value)
            self.assertEqual(qt.readl(c + 12), back)

    def test_status_keeps_what_is_written(self):
        drv = self.driver()
        for value in (1, 3, 0x40, 0x80):
            drv.set_status(value)
            self.assertEqual(drv.status(), value)
        drv.reset()

    def test_features_ok_is_not_refused(self):
        for features in (0, F.VERSION_1, ALL_ONES << 32 | ALL_ONES):
            drv = self.driver()
            drv.reset()
            drv.set_status(3)
            for word in (0, 1):
                drv.qt.writel(drv.common + 8, word)
                drv.qt.writel(drv.common + 12, features >> 32 * word & ALL_ONES)
            drv.set_status(11)
            self.assertEqual(drv.status(), 11)
            drv.vm.close()

    def test_queue_select(self):
        drv = self.driver()
        qt, c = drv.qt, drv.common
        for q in (4, 5, 100, 1023):
            drv.select(q)
            self.assertEqual(qt.readw(c + 0x16), q)
            self.assertEqual(qt.readw(c + 0x18), 0, 'absent queue')
            self.assertEqual(qt.readw(c + 0x1a), 0xffff)
        drv.select(2)
        for q in (1024, 5000, 0xffff):
            drv.select(q)
            self.assertEqual(qt.readw(c + 0x16), 2, 'out of range is ignored')

    def test_queue_size(self):
        drv = self.driver()
        qt, c = drv.qt, drv.common
        drv.select(1)
        for value in (1, 3, 100, 255, 256, 257, 512, 1024):
            qt.writew(c + 0x18, value)
            self.assertEqual(qt.readw(c + 0x18), value)
        for value in (0, 1025, 0xffff):
            qt.writew(c + 0x18, value)
            self.assertEqual(qt.readw(c + 0x18), 1024)
        drv.reset()
        self.assertEqual(drv.queue_size(1), 256, 'a reset brings the default back')

    def test_ring_sizes(self):
        """Any size works, power of two or not, as long as a request fits."""
        vm = self.machine()
        disk = Disk.start(vm, queues=1)
        for size in (3, 4, 7, 16, 100, 255, 256, 257, 512, 1000, 1024):
            with self.subTest(size):
                disk.driver.start(queues=[2], size=size)
                for i in range(min(3 * size, 40)):
                    self.assertEqual(disk.write(2, i, pattern((size, i), 512)), OK)
                for i in range(min(3 * size, 40)):
                    self.assertEqual(disk.read(2, i, 512), pattern((size, i), 512))

    def test_ring_too_small_for_the_chain(self):
        disk = Disk.start(self.machine(), queues=1)
        for size in (1, 2):
            disk.driver.start(queues=[0], size=16)
            ring = disk.queue(0)
            disk.driver.select(0)
            disk.qt.writew(disk.driver.common + 0x18, size)
            disk.add(0, 0, 0, size=512)
            # The chain uses descriptors that the smaller ring does not have.
            ring.publish()
            ring.notify()
            wait_for(lambda: disk.driver.status() & 0x40, 'NEEDS_RESET')

    def test_wrong_queue_enable(self):
        for value in (0, 2, 0xffff):
            disk = Disk.start(self.machine())
            drv = disk.driver
            drv.select(1)
            drv.qt.writew(drv.common + 0x1c, value)
            self.assertEqual(drv.qt.readw(drv.common + 0x1c), 1)
            self.assertEqual(drv.status() & 0x40, 0x40)
            self.assertIn('wrong value for queue_enable %x' % value
                          if value < 10 else 'wrong value for queue_enable', disk.vm.stderr())
            disk.vm.close()

    def test_vectors(self):
        drv = self.driver()
        qt, c = drv.qt, drv.common
        for value in range(5):
            qt.writew(c + 0x10, value)
            self.assertEqual(qt.readw(c + 0x10), value)
        for value in (5, 100, 0xfffe):
            qt.writew(c + 0x10, value)
            self.assertEqual(qt.readw(c + 0x10), 0xffff)

    def test_read_only_registers(self):
        drv = self.driver()
        qt, c = drv.qt, drv.common
        qt.writew(c + 0x12, 99)
        qt.writeb(c + 0x15, 99)
        self.assertEqual(qt.readw(c + 0x12), 4)
        self.assertEqual(qt.readb(c + 0x15), 0)

    # ---- PCI configuration ----

    def test_configuration_access_window(self):
        """The PCI_CFG capability reaches the BARs without mapping them."""
        drv = self.driver()
        pci = drv.pci
        cap = next(at for cap, at in pci.capabilities()
                   if cap == CAP_VENDOR and pci.read(at + 3, 1) == 5)

        def aim(bar, offset, length):
            pci.write(cap + 4, bar, 1)
            pci.write(cap + 8, offset)
            pci.write(cap + 12, length)
        for bar, offset, length, expected in ((4, 0x12, 2, 4), (4, 0x2000, 4, 2048),
                                              (4, 0x2022, 2, 4), (4, 0x2020, 1, 1)):
            aim(bar, offset, length)
            self.assertEqual(pci.read(cap + 16, length), expected)
        aim(4, 0x14, 1)
        pci.write(cap + 16, 3, 1)
        self.assertEqual(drv.status(), 3)
        self.assertEqual(pci.read(cap + 16, 1), 3)
        for bar, offset, length in ((5, 0, 4), (2, 0, 4), (4, 0, 3), (4, 0xfffffff0, 4),
                                    (4, 0x3ffe, 4), (0xff, 0, 1)):
            aim(bar, offset, length)
            pci.read(cap + 16)
            pci.write(cap + 16, 0)
        self.assertTrue(drv.vm.alive())

    def test_writable_configuration_bits(self):
        drv = self.driver()
        pci = drv.pci
        for offset, size, mask in ((4, 2, 0x0507), (0xc, 1, 0xff), (0x10, 4, 0xffffff80),
                                   (0x14, 4, 0xfffff000), (0x20, 4, 0xffffc000),
                                   (0x24, 4, ALL_ONES), (0x3c, 1, 0xff), (0x98 + 2, 2, 0xc000)):
            old = pci.read(offset, size)
            pci.write(offset, (1 << 8 * size) - 1, size)
            ones = pci.read(offset, size)
            pci.write(offset, 0, size)
            zeros = pci.read(offset, size)
            pci.write(offset, old, size)
            self.assertEqual(ones & ~zeros, mask, hex(offset))
        for offset in (0, 8, 0x2c, 0x34, 0x40, 0x50, 0x60, 0x70):
            old = pci.read(offset)
            pci.write(offset, old ^ ALL_ONES)
            self.assertEqual(pci.read(offset), old, hex(offset))
        # Behind the last capability there is storage.
        pci.write(0xa4, 0x12345678)
        self.assertEqual(pci.read(0xa4), 0x12345678)

    def test_dump_at_reset(self):
        drv = self.driver()
        drv.vm.qmp('system_reset')
        drv.vm.wait_event('RESET')
        data = bytearray(drv.pci.dump())
        expected = bytes.fromhex(
            'f41a01100000100000000001000000000100000000000000'
            '00000000000000000c00000000000000000000' '00f41a0200'
            '00000000980000000000000000010000'
            '09001001040000000000000000100000'
            '09401003040000000010000000100000'
            '09501004040000000020000000100000'
            '09601402040000000030000000100000'
            '04000000097014050000000000000000'
            '00000000000000001184040001000000'
            '0108000000000000000000000000' '0000')
        self.assertEqual(bytes(data[:0xb0]).hex(), expected.hex())

    def test_random_configuration_writes(self):
        """Nothing written to config space may hurt the process, and a reset mends all."""
        import random
        rng = random.Random(5)
        disk = Disk.start(self.machine(machine='pc'))
        pci = disk.driver.pci
        for _ in range(600):
            size = rng.choice((1, 2, 4))
            offset = rng.randrange(0, 256, size)
            pci.write(offset, rng.getrandbits(8 * size), size)
        disk.vm.qmp('query-pci')
        disk.vm.qmp('system_reset')
        disk.vm.wait_event('RESET')
        pci.map()
        again = Disk(VirtioBlk(pci).start())
        self.assertEqual(again.write(3, 0, bytes(512)), OK)

    def test_random_register_writes(self):
        import random
        rng = random.Random(6)
        disk = Disk.start(self.machine())
        drv, qt = disk.driver, disk.qt
        bar = drv.pci.bars[4].addr
        table = drv.pci.bars[1].addr
        for _ in range(1500):
            base = rng.choice((bar, bar, bar + 0x1000, bar + 0x2000, bar + 0x3000, table))
            offset, width = rng.randrange(0, 0x40), rng.choice('bwlq')
            op = rng.random()
            if op < 0.7:
                value = rng.choice((0, 1, 2, 0xff, 0x100000, rng.getrandbits(64)))
                qt.later('write%s 0x%x 0x%x' % (width, base + offset, value))
            else:
                qt.ask('read%s 0x%x' % (width, base + offset))
        qt.flush()
        self.assertTrue(disk.vm.alive())
        disk.driver.start()
        for q in range(4):
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)

    # ---- legacy registers ----

    def test_legacy_registers(self):
        drv = LegacyVirtioBlk.find(self.machine(), 'v0')
        qt, base = drv.qt, drv.base
        self.assertEqual(qt.inl(base), 0x79007e54)
        for q in range(4):
            drv.select(q)
            self.assertEqual(qt.inw(base + 0xc), 256)
            self.assertEqual(qt.inl(base + 8), 0)
        drv.select(7)
        self.assertEqual((qt.inw(base + 0xc), qt.inl(base + 8)), (0, 0))
        self.assertEqual(qt.inw(base + 0x10), 0xffff)
        config = drv.config_bytes(57)
        self.assertEqual(struct.unpack_from('<Q', config)[0], 2048)
        self.assertEqual(qt.inl(base + 0x14), 2048)
        self.assertEqual(qt.inw(base + 0x14 + 0x22), 4)
        # With MSI-X on, two vector registers come before the configuration.
        cap = drv.pci.capability(CAP_MSIX)
        drv.pci.write(cap + 2, 0x8000, 2)
        self.assertEqual(qt.inw(base + 0x14), 0xffff)
        self.assertEqual(qt.inw(base + 0x16), 0xffff)
        self.assertEqual(qt.inl(base + 0x18), 2048)
        qt.outw(base + 0x14, 4)
        self.assertEqual(qt.inw(base + 0x14), 4)
        qt.outw(base + 0x14, 5)
        self.assertEqual(qt.inw(base + 0x14), 0xffff)
        drv.pci.write(cap + 2, 0, 2)
        # Page 0 resets the device.
        drv.set_status(3)
        self.assertEqual(drv.status(), 3)
        drv.select(0)
        qt.outl(base + 8, 0)
        self.assertEqual(drv.status(), 0)

    def test_modern_pio_notify(self):
        vm = self.machine(',"modern-pio-notify":true')
        disk = Disk.start(vm)
        port = disk.driver.pci.bars[2].addr
        for q in range(4):
            ring = disk.queue(q)
            ring.notify = lambda q=q: disk.qt.outw(port, q)
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
        self.assertEqual(disk.qt.inw(port), 0)

    def test_page_per_vq(self):
        disk = Disk.start(self.machine(',"page-per-vq":true'))
        self.assertEqual(disk.driver.notify_multiplier, 4096)
        for q in range(4):
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)


if __name__ == '__main__':
    main()
