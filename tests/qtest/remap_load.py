#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""qom-set iothread-vq-mapping moves the queues of a running disk to other threads, under load:
nothing is lost, done twice or out of order.

The reference refuses this after realize, so these tests are about ours alone.
"""
from lib import is_spindle, main
from lib.remap import RemapCase


class RemapLoad(RemapCase):
    def loaded(self, disk, turns, meanwhile=None):
        load = self.load(disk)
        for turn in range(turns):
            load.send(force=turn % 3 == 0)
            if meanwhile:
                meanwhile(turn)
            self.remap(disk, self.some_mapping())
            load.reap()
        load.finish()
        self.assertGreater(load.done, 4 * turns)

    def test_1000_times(self):
        self.loaded(self.start(msix=True), 1000)

    def test_event_index_indirect(self):
        self.loaded(self.start(event_idx=True, indirect=True), 150)

    def test_without_polling(self):
        self.loaded(self.start(poll=0, msix=True), 150)

    def test_long_polling(self):
        self.loaded(self.start(poll=1000000, event_idx=True), 150)

    def test_io_uring(self):
        self.loaded(self.start(',file.aio=io_uring', msix=True), 150)

    def test_native(self):
        self.loaded(self.start(',file.aio=native,file.cache.direct=on,cache.direct=on'), 150)

    def test_threads_direct(self):
        self.loaded(self.start(',file.cache.direct=on,cache.direct=on'), 150)

    def test_epoll(self):
        self.loaded(self.start(env={'SPINDLE_AIO_ENGINE': 'epoll'}, msix=True), 150)

    def test_slow_disk(self):
        """Most requests are with the disk when their queue moves."""
        disk = self.start(node='null-co,node-name=d0,latency-ns=2000000,read-zeroes=on,'
                          'size=8388608', node_path=False)
        disk_load = self.load(disk)
        for turn in range(150):
            disk_load.send()
            for request in disk_load.busy.values():
                request.expected = None
            self.remap(disk, self.some_mapping())
            disk_load.reap()
        disk_load.finish()

    def test_legacy_driver(self):
        self.loaded(self.start(legacy=True), 100)

    def test_with_stop_and_cont(self):
        disk = self.start(msix=True)

        def meanwhile(turn):
            if turn % 4 == 0:
                disk.vm.qmp('stop')
            elif turn % 4 == 2:
                disk.vm.qmp('cont')
        self.loaded(disk, 120, meanwhile)

    def test_with_resize(self):
        disk = self.start()

        def meanwhile(turn):
            disk.vm.qmp('block_resize', node_name='d0', size=(8 << 20) + 512 * turn)
        self.loaded(disk, 120, meanwhile)


if __name__ == '__main__':
    if is_spindle():
        main()
    else:
        print('1..0 # SKIP the reference does not change the mapping of a running disk')
