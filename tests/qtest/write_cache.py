#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The write cache: what is offered, what the driver may change, what survives a reset."""
from lib import F, OK, Disk, QtestCase, main, pattern


class WriteCache(QtestCase):
    def start(self, device='', drive='', **kwargs):
        self.path = self.image('disk%d.raw' % len(device + drive), size=1 << 20)
        vm = self.vm('-drive', 'if=none,id=d0,format=raw,file=%s%s' % (self.path, drive),
                     '-object', 'iothread,id=t0', '-device',
                     'virtio-blk-pci,id=v0,drive=d0,iothread=t0' + device)
        return Disk.start(vm, **kwargs)

    def test_initial_value_and_features(self):
        for device, drive, wce, flush, config_wce in (
                ('', '', 1, True, True),
                (',write-cache=on', '', 1, True, True),
                (',write-cache=off', '', 0, True, True),
                (',config-wce=off', '', 1, True, False),
                (',config-wce=off,write-cache=off', '', 0, False, False),
                (',x-enable-wce-if-config-wce=off,write-cache=off', '', 0, False, True),
                ('', ',cache=writethrough', 0, True, True),
                ('', ',cache=directsync', 0, True, True),
                ('', ',cache=none', 1, True, True),
                ('', ',cache=unsafe', 1, True, True),
                (',write-cache=on', ',cache=writethrough', 1, True, True)):
            with self.subTest((device, drive)):
                disk = self.start(device, drive)
                offered = disk.driver.offered()
                self.assertEqual(disk.driver.config()['wce'], wce)
                self.assertEqual(bool(offered & F.FLUSH), flush)
                self.assertEqual(bool(offered & F.CONFIG_WCE), config_wce)
                self.assertEqual(disk.write(0, 0, pattern(1, 4096)), OK)
                self.assertEqual(disk.flush(0), OK)
                self.assertEqual(self.file_bytes(self.path, 0, 4096), pattern(1, 4096))
                disk.vm.close()

    def wce(self, disk, value):
        disk.qt.writeb(disk.driver.config_addr + 0x20, value)
        return disk.driver.config()['wce']

    def test_driver_changes_it(self):
        disk = self.start()
        generation = disk.driver.generation()
        for value in (0, 1, 0, 77, 0, 255):
            self.assertEqual(self.wce(disk, value), int(value != 0))
            self.assertEqual(disk.write(0, 8, pattern(value, 4096)), OK)
            self.assertEqual(disk.read(0, 8, 4096), pattern(value, 4096))
        self.assertEqual(disk.driver.generation(), generation)

    def test_reset_brings_it_back(self):
        for device, initial in (('', 1), (',write-cache=off', 0)):
            with self.subTest(device):
                disk = self.start(device)
                self.assertEqual(self.wce(disk, 1 - initial), 1 - initial)
                disk.driver.start()
                self.assertEqual(disk.driver.config()['wce'], initial)

    def test_writes_reach_the_disk_without_a_cache(self):
        """With the cache off every write is followed by a flush of its own."""
        disk = self.start()

        def flushes():
            stats = [b for b in disk.vm.qmp('query-blockstats') if b['device'] == 'd0'][0]
            return stats['stats']['flush_operations']
        for _ in range(3):
            self.assertEqual(disk.flush(0), OK)
        self.assertEqual(flushes(), 3)
        cached = [b for b in disk.vm.qmp('query-block') if b['device'] == 'd0'][0]
        self.assertTrue(cached['inserted']['cache']['writeback'])
        self.wce(disk, 0)
        uncached = [b for b in disk.vm.qmp('query-block') if b['device'] == 'd0'][0]
        self.assertFalse(uncached['inserted']['cache']['writeback'])
        self.assertEqual(disk.write(0, 0, pattern(9, 4096)), OK)

    def test_driver_that_takes_no_flush(self):
        """A driver without FLUSH may rely on every write: the device then writes through."""
        disk = self.start(features=F.BLK & ~(F.FLUSH | F.CONFIG_WCE))
        info = [b for b in disk.vm.qmp('query-block') if b['device'] == 'd0'][0]
        self.assertFalse(info['inserted']['cache']['writeback'])
        self.assertEqual(disk.write(0, 0, pattern(4, 4096)), OK)
        self.assertEqual(self.file_bytes(self.path, 0, 4096), pattern(4, 4096))

    def test_other_configuration_is_read_only(self):
        disk = self.start()
        before = disk.driver.config_bytes()
        for offset in list(range(0x20)) + list(range(0x21, 57)):
            disk.qt.writeb(disk.driver.config_addr + offset, before[offset] ^ 0xff)
        self.assertEqual(disk.driver.config_bytes(), before)
        # A wider write at its place sets it alone.
        disk.qt.writel(disk.driver.config_addr + 0x20, 0)
        after = bytearray(before)
        after[0x20] = 0
        self.assertEqual(disk.driver.config_bytes(), bytes(after))


if __name__ == '__main__':
    main()
