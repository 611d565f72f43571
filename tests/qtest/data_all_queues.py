#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Data through every queue at once: what was written is read back, and is in the file."""
import json
import random

from lib import IN, OK, OUT, Disk, QtestCase, main, pattern

QUEUES, DEPTH, SIZE = 6, 8, 4096
SECTORS = SIZE // 512


class DataAllQueues(QtestCase):
    def run_load(self, block_args='', machine='q35', threads=3, disk_args=None, rounds=6, **start):
        path = self.image(size=32 << 20)
        args = ['-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=%s%s'
                % (path, block_args)]
        for t in range(threads):
            args += ['-object', 'iothread,id=t%d' % t]
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': QUEUES,
                  'iothread-vq-mapping': [{'iothread': 't%d' % t} for t in range(threads)]}
        device.update(disk_args or {})
        vm = self.vm(*args, '-device', json.dumps(device), machine=machine, ram=192)
        disk = Disk.start(vm, **start)
        contents = {}
        rng = random.Random(1)
        for round_number in range(rounds):
            # Each queue has a part of the disk; within a round no two requests overlap.
            plan = {}
            for q in range(QUEUES):
                slots = rng.sample(range(64), DEPTH)
                for i, slot in enumerate(slots):
                    sector = (q * 64 + slot) * SECTORS
                    kind = OUT if round_number == 0 or rng.random() < 0.6 else IN
                    if kind == OUT:
                        data = pattern((round_number, sector), SIZE)
                        request = disk.add(q, OUT, sector, data=data, segments=rng.choice((1, 1, 3)))
                        contents[sector] = data
                    else:
                        request = disk.add(q, IN, sector, size=SIZE, segments=rng.choice((1, 2)))
                    plan[request] = (kind, sector)
            for q in range(QUEUES):
                disk.kick(q)
            for q in range(QUEUES):
                for request in disk.reap(q, DEPTH):
                    kind, sector = plan.pop(request)
                    self.assertEqual(request.status(), OK)
                    self.assertEqual(request.used_len, 1 if kind == OUT else SIZE + 1)
                    if kind == IN:
                        self.assertEqual(request.read_data(), contents.get(sector, bytes(SIZE)))
                    disk.release(request)
            self.assertEqual(plan, {})
        # Another queue sees what each wrote, and so does the host after a flush.
        self.assertEqual(disk.flush(0), OK)
        for sector, data in contents.items():
            self.assertEqual(self.file_bytes(path, sector * 512, SIZE), data)
        for sector in rng.sample(sorted(contents), 20):
            q = rng.randrange(QUEUES)
            self.assertEqual(disk.read(q, sector, SIZE), contents[sector])
        return vm, disk

    def test_default(self):
        self.run_load()

    def test_event_index_and_indirect(self):
        self.run_load(event_idx=True, indirect=True, msix=True)

    def test_indirect(self):
        self.run_load(indirect=True)

    def test_aio_native(self):
        self.run_load(',file.aio=native,file.cache.direct=on,cache.direct=on', msix=True)

    def test_aio_io_uring(self):
        self.run_load(',file.aio=io_uring', event_idx=True)

    def test_aio_io_uring_direct(self):
        self.run_load(',file.aio=io_uring,file.cache.direct=on,cache.direct=on')

    def test_aio_threads_direct(self):
        self.run_load(',file.aio=threads,file.cache.direct=on,cache.direct=on')

    def test_no_mapping(self):
        self.run_load(disk_args={'iothread-vq-mapping': []})

    def test_without_merging_and_polling(self):
        self.run_load(disk_args={'request-merging': False})

    def test_ioeventfd_off(self):
        self.run_load(disk_args={'iothread-vq-mapping': [], 'ioeventfd': False})

    def test_pc_legacy_driver(self):
        self.run_load(machine='pc', legacy=True, rounds=3)

    def test_small_rings_and_many_segments(self):
        self.run_load(size=32, indirect=True)


if __name__ == '__main__':
    main()
