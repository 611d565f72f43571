#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kicks and requests around DRIVER_OK: none is lost, whatever the order."""
from lib import (ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK, IN, OK, OUT, Disk, QtestCase, main,
                 pattern, switches)

ROUNDS = 30


class EarlyKick(QtestCase):
    def start(self, mapping=True, **kwargs):
        args = []
        for t in ('t0', 't1'):
            args += ['-object', 'iothread,id=%s,poll-max-ns=0' % t]
        vm = self.vm('-drive', 'if=none,id=d0,format=raw,file=' + self.image(size=1 << 20), *args,
                     '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0","num-queues":4%s}'
                     % (',"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]'
                        if mapping else ''))
        return Disk.start(vm, driver_ok=False, **kwargs)

    def check_kick_before_driver_ok(self, disk):
        """A kick before DRIVER_OK is served; the status stays the driver's business."""
        for q in range(4):
            request = disk.add(q, OUT, 8 * q, data=pattern(q, 4096))
            disk.kick(q, force=True)
            self.assertEqual(disk.reap(q, 1), [request])
            self.assertEqual(request.status(), OK)
        self.assertFalse(disk.driver.status() & DRIVER_OK)
        disk.driver.driver_ok()
        self.assertTrue(disk.driver.status() & DRIVER_OK)
        for q in range(4):
            self.assertEqual(disk.read(3 - q, 8 * q, 4096), pattern(q, 4096))

    def test_kick_before_driver_ok(self):
        disk = self.start()
        self.check_kick_before_driver_ok(disk)
        self.assertEqual(disk.driver.status(), ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)

    def test_kick_before_driver_ok_without_mapping(self):
        self.check_kick_before_driver_ok(self.start(mapping=False))

    def test_kick_before_driver_ok_legacy(self):
        self.check_kick_before_driver_ok(self.start(legacy=True))

    def test_early_kick_is_served_where_the_queue_lives(self):
        disk = self.start()
        vm = disk.vm
        ids = vm.iothreads()
        request = disk.add(1, OUT, 0, data=bytes(512))
        disk.kick(1, force=True)
        self.assertEqual(disk.reap(1), [request])
        before = {t: switches(vm.pid, ids[t]) for t in ids}
        for _ in range(ROUNDS):
            self.assertEqual(disk.write(1, 0, bytes(512)), OK)
        self.assertGreaterEqual(switches(vm.pid, ids['t1']) - before['t1'], ROUNDS // 2)
        self.assertLessEqual(switches(vm.pid, ids['t0']) - before['t0'], ROUNDS // 10)

    def present_at_driver_ok(self, disk):
        requests = {}
        for q in range(4):
            for i in range(5):
                requests[disk.add(q, OUT, 8 * (5 * q + i), data=pattern((q, i), 4096))] = q
            disk.queue(q).publish()
        self.assertEqual([disk.poll(q) for q in range(4)], [[], [], [], []])
        disk.driver.driver_ok()
        for q in range(4):
            for r in disk.reap(q, 5):
                self.assertEqual(requests.pop(r), q)
                self.assertEqual(r.status(), OK)
        self.assertEqual(requests, {})
        self.assertEqual(disk.read(0, 8 * 7, 4096), pattern((1, 2), 4096))

    def test_requests_present_at_driver_ok_without_a_kick(self):
        self.present_at_driver_ok(self.start())

    def test_requests_present_at_driver_ok_event_index(self):
        self.present_at_driver_ok(self.start(event_idx=True, indirect=True, msix=True))

    def test_requests_present_at_driver_ok_without_mapping(self):
        self.present_at_driver_ok(self.start(mapping=False))

    def test_request_published_while_stopped_without_a_kick(self):
        disk = self.start()
        disk.driver.driver_ok()
        vm = disk.vm
        self.assertEqual(disk.write(0, 0, pattern(0, 512)), OK)
        vm.qmp('stop')
        requests = [disk.add(q, IN, 0, size=512) for q in range(4)]
        for q in range(4):
            disk.queue(q).publish()
        vm.qt.flush()
        self.assertEqual([disk.poll(q) for q in range(4)], [[], [], [], []])
        vm.qmp('cont')
        for q in range(4):
            self.assertEqual(disk.reap(q, 1), [requests[q]])
            self.assertEqual(requests[q].read_data(), pattern(0, 512))

    def test_kick_of_an_empty_or_absent_queue(self):
        disk = self.start()
        disk.driver.driver_ok()
        qt, drv = disk.qt, disk.driver
        notify = drv.region[2]
        for q in (0, 1, 2, 3, 4, 5, 100, 1000):
            qt.writew(notify + q * drv.notify_multiplier, q)
        qt.flush()
        self.assertEqual(disk.write(2, 0, bytes(512)), OK)
        # The address selects the queue, whatever is written, in whatever width.
        ring = disk.queue(1)
        for width, value in (('w', 77), ('l', 0xffffffff), ('b', 9)):
            request = disk.add(1, IN, 0, size=512)
            ring.publish()
            qt.later('write%s 0x%x 0x%x' % (width, ring.notify_addr, value))
            self.assertEqual(disk.reap(1), [request])
        self.assertEqual(drv.status() & 0x40, 0)


if __name__ == '__main__':
    main()
