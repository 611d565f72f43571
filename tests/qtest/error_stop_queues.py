#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""werror=stop on four queues: every failed request is done again exactly once, where it belongs.

Writes fail because the process may not make files as long as the test wants them
(RLIMIT_FSIZE); lifting the limit mends the disk.
"""
import json

from lib import OK, OUT, Disk, QtestCase, cpu_ns, main, pattern, wait_for
from lib.faults import ignore_file_size_signal, limit_file_size

QUEUES = 4
LIMIT = 1 << 20
BASE = LIMIT // 512


class ErrorStopQueues(QtestCase):
    def start(self, threads=4, werror='stop', file_args='', poll=0, **device_args):
        self.path = self.image(size=64 << 20)
        args = []
        for t in range(threads):
            args += ['-object', 'iothread,id=t%d,poll-max-ns=%d' % (t, poll)]
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': QUEUES,
                  'werror': werror, 'queue-size': 1024, **device_args}
        if threads:
            device['iothread-vq-mapping'] = [{'iothread': 't%d' % t} for t in range(threads)]
        vm = self.vm('-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=%s%s'
                     % (self.path, file_args), *args, '-device', json.dumps(device),
                     preexec_fn=ignore_file_size_signal, ram=256)
        self.contents = {}
        return Disk.start(vm, size=1024)

    def fail_writes(self, disk, queues, count, size=4096):
        """Puts `count` writes on each queue that cannot succeed; the machine stops."""
        vm = disk.vm
        limit_file_size(vm.pid, LIMIT)
        for q in queues:
            for i in range(count):
                # Far from each other: each is a request of its own.
                sector = BASE + (count * q + i) * 2 * size // 512
                data = pattern((q, i, len(self.contents)), size)
                self.contents[sector] = data
                disk.add(q, OUT, sector, data=data)
        for q in queues:
            disk.kick(q)
        vm.wait_event('STOP')
        self.assertEqual(vm.status(), 'io-error')

    def finish(self, disk, queues, count):
        limit_file_size(disk.vm.pid, None)
        disk.vm.qmp('cont')
        for q in queues:
            done = disk.reap(q, count)
            self.assertEqual(len(done), count)
            for r in done:
                self.assertEqual((r.status(), r.used_len), (OK, 1))
                disk.release(r)
        self.assertEqual(disk.vm.status(), 'running')

    def check_contents(self, disk):
        self.assertEqual(disk.flush(0), OK)
        for sector, data in self.contents.items():
            self.assertEqual(self.file_bytes(self.path, sector * 512, len(data)), data)

    def writes(self, disk):
        stats = [b for b in disk.vm.qmp('query-blockstats') if b.get('qdev')][0]['stats']
        return stats['wr_operations'], stats['wr_bytes']

    def check_once(self, disk, rounds=4, count=16):
        for _ in range(rounds):
            before = self.writes(disk)
            self.fail_writes(disk, range(QUEUES), count)
            # Nothing completes while stopped.
            self.assertEqual([disk.poll(q) for q in range(QUEUES)], [[]] * QUEUES)
            self.finish(disk, range(QUEUES), count)
            after = self.writes(disk)
            self.assertEqual((after[0] - before[0], after[1] - before[1]),
                             (QUEUES * count, QUEUES * count * 4096))
        # Nothing comes twice: the queues are empty and work.
        for q in range(QUEUES):
            self.assertEqual(disk.poll(q), [])
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)
        self.check_contents(disk)

    def test_once_each(self):
        self.check_once(self.start(**{'request-merging': False}))

    def test_once_each_two_threads(self):
        self.check_once(self.start(threads=2, poll=32768))

    def test_once_each_without_iothread(self):
        self.check_once(self.start(threads=0))

    def test_once_each_io_uring(self):
        self.check_once(self.start(file_args=',file.aio=io_uring'))

    def test_once_each_native(self):
        self.check_once(self.start(
            file_args=',file.aio=native,file.cache.direct=on,cache.direct=on'))

    def test_in_the_thread_of_its_queue(self):
        """Only the thread whose queue had failures has work to do after cont."""
        disk = self.start(**{'request-merging': False})
        vm = disk.vm
        ids = [vm.iothreads()['t%d' % q] for q in range(QUEUES)]
        for q in range(QUEUES):
            spent = [0] * QUEUES
            for _ in range(4):
                self.fail_writes(disk, [q], 100, size=512)
                before = [cpu_ns(vm.pid, t) for t in ids]
                self.finish(disk, [q], 100)
                for i, t in enumerate(ids):
                    spent[i] += cpu_ns(vm.pid, t) - before[i]
            others = max(s for i, s in enumerate(spent) if i != q)
            self.assertGreater(spent[q], 2 * others, 'queue %d: %s' % (q, spent))
        self.check_contents(disk)

    def test_merged_requests(self):
        """A merged write that fails is each of its parts again."""
        disk = self.start()
        vm = disk.vm
        for turn in range(3):
            limit_file_size(vm.pid, LIMIT)
            for q in range(QUEUES):
                for i in range(24):
                    sector = BASE + 8 * (24 * q + i)
                    self.contents[sector] = pattern((turn, q, i), 4096)
                    disk.add(q, OUT, sector, data=self.contents[sector])
                disk.kick(q)
            vm.wait_event('STOP')
            self.finish(disk, range(QUEUES), 24)
        self.check_contents(disk)

    def test_stops_again_while_the_error_lasts(self):
        disk = self.start()
        vm = disk.vm
        self.fail_writes(disk, range(QUEUES), 4)
        for _ in range(5):
            vm.take_events()
            vm.qmp('cont')
            vm.wait_event('STOP')
            self.assertEqual(vm.status(), 'io-error')
            self.assertEqual([disk.poll(q) for q in range(QUEUES)], [[]] * QUEUES)
        self.finish(disk, range(QUEUES), 4)
        self.check_contents(disk)

    def test_good_requests_of_other_queues_complete(self):
        disk = self.start()
        limit_file_size(disk.vm.pid, LIMIT)
        good = {q: disk.add(q, OUT, 8 * q, data=pattern(q, 4096)) for q in (1, 2, 3)}
        bad = disk.add(0, OUT, BASE, data=pattern('bad', 4096))
        for q in range(QUEUES):
            disk.kick(q)
        disk.vm.wait_event('STOP')
        limit_file_size(disk.vm.pid, None)
        disk.vm.qmp('cont')
        for q, request in good.items():
            self.assertEqual(disk.reap(q, 1), [request])
            self.assertEqual(request.status(), OK)
        self.assertEqual(disk.reap(0, 1), [bad])
        self.assertEqual(bad.status(), OK)

    def test_reset_forgets_failed_requests(self):
        disk = self.start()
        vm = disk.vm
        self.fail_writes(disk, range(QUEUES), 8)
        rings = [(r.base, r.bytes) for r in disk.queues.values()]
        disk.driver.reset()
        for start, size in rings:
            vm.qt.memset(start, size, 0xdb)
        limit_file_size(vm.pid, None)
        vm.qmp('cont')
        wait_for(lambda: vm.status() == 'running', 'running')
        vm.qmp('query-status')
        for start, size in rings:
            self.assertEqual(vm.qt.read(start, size), b'\xdb' * size)
        for sector in self.contents:
            self.assertEqual(self.file_bytes(self.path, sector * 512, 512), bytes(512))
        disk.spare.clear()
        disk.driver.start(size=256)
        for q in range(QUEUES):
            self.assertEqual(disk.write(q, BASE + q, bytes(512)), OK)

    def test_quit_with_failed_requests(self):
        """Ending the process with requests on the retry list is no error."""
        disk = self.start()
        self.fail_writes(disk, range(QUEUES), 8)
        disk.vm.close()


if __name__ == '__main__':
    main()
