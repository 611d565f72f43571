#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stop and cont under load: no request is lost or done twice, whatever the moment."""
import json

from lib import IN, OK, OUT, Disk, QtestCase, main, pattern

QUEUES, DEPTH = 4, 8


class StopContLoad(QtestCase):
    def start(self, node=None, poll=32768, mapping=True, **kwargs):
        self.path = self.image(size=8 << 20)
        node = node or 'raw,node-name=d0,file.driver=file,file.filename=' + self.path
        args = []
        for t in range(2):
            args += ['-object', 'iothread,id=t%d,poll-max-ns=%d' % (t, poll)]
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': QUEUES}
        if mapping:
            device['iothread-vq-mapping'] = [{'iothread': 't0'}, {'iothread': 't1'}]
        vm = self.vm('-blockdev', node, *args, '-device', json.dumps(device))
        return Disk.start(vm, **kwargs)

    def load(self, disk, turns, kick=True, stop_first=False):
        """Every turn new requests meet a stop at another moment."""
        vm = disk.vm
        kinds = {}
        generation = 0
        for turn in range(turns):
            for q in range(QUEUES):
                ring = disk.queue(q)
                while len(ring.in_flight) < DEPTH and ring.room():
                    generation += 1
                    slot = next(s for s in range(DEPTH)
                                if (q, s) not in {(r.queue, r.slot) for r in ring.in_flight.values()})
                    sector = 8 * (DEPTH * q + slot)
                    if generation % 3 == 0:
                        request = disk.add(q, IN, sector, size=4096)
                        kinds[request] = self.contents.get(sector, bytes(4096))
                    else:
                        data = pattern(generation, 4096)
                        request = disk.add(q, OUT, sector, data=data)
                        kinds[request] = None
                        self.contents[sector] = data
                    request.slot = slot
                if kick:
                    disk.kick(q, force=turn % 2 == 0)
                else:
                    ring.publish()
            vm.qmp('stop')
            if turn % 5 == 0:
                self.assertEqual(vm.status(), 'paused')
            vm.qmp('cont')
            for q in range(QUEUES):
                # Some stay in flight across the next stop.
                left = len(disk.queue(q).in_flight)
                for request in disk.reap(q, left if turn % 4 == 3 else left // 2):
                    self.finish(disk, request, kinds.pop(request))
        for q in range(QUEUES):
            disk.queue(q).notify()
            for request in disk.reap(q):
                self.finish(disk, request, kinds.pop(request))
        self.assertEqual(kinds, {})

    def finish(self, disk, request, expected):
        self.assertEqual(request.status(), OK)
        if expected is not None:
            self.assertEqual(request.read_data(), expected)
        disk.release(request)

    def check_contents(self, disk):
        self.assertEqual(disk.flush(0), OK)
        for sector, data in self.contents.items():
            self.assertEqual(self.file_bytes(self.path, sector * 512, 4096), data)

    def setUp(self):
        self.contents = {}

    def test_500_times(self):
        disk = self.start()
        self.load(disk, 500)
        self.check_contents(disk)
        stops = disk.vm.take_events('STOP')
        resumes = disk.vm.take_events('RESUME')
        self.assertEqual((len(stops), len(resumes)), (500, 500))

    def test_event_index_and_msix(self):
        disk = self.start(event_idx=True, msix=True, indirect=True)
        self.load(disk, 100)
        self.check_contents(disk)

    def test_without_polling(self):
        disk = self.start(poll=0)
        self.load(disk, 100)
        self.check_contents(disk)

    def test_without_iothread(self):
        disk = self.start(mapping=False)
        self.load(disk, 100)
        self.check_contents(disk)

    def test_never_kicked(self):
        """Every start looks at the rings."""
        disk = self.start()
        self.load(disk, 60, kick=False)
        self.check_contents(disk)

    def test_stop_waits_for_requests(self):
        """After stop the used ring stands still."""
        disk = self.start('null-co,node-name=d0,read-zeroes=on,latency-ns=20000000,size=1073741824')
        for _ in range(10):
            for q in range(QUEUES):
                for i in range(4):
                    disk.add(q, OUT, i, data=bytes(512))
                disk.kick(q)
            disk.vm.qmp('stop')
            used = [disk.queue(q).used_idx() for q in range(QUEUES)]
            disk.vm.qmp('query-status')
            for _ in range(20):
                self.assertEqual([disk.queue(q).used_idx() for q in range(QUEUES)], used)
            disk.vm.qmp('cont')
            for q in range(QUEUES):
                for r in disk.reap(q):
                    disk.release(r)

    def test_idempotent(self):
        disk = self.start()
        vm = disk.vm
        for _ in range(2):
            vm.qmp('stop')
        vm.qmp('query-status')
        self.assertEqual(len(vm.take_events('STOP')), 1)
        for _ in range(2):
            vm.qmp('cont')
        vm.qmp('query-status')
        self.assertEqual(len(vm.take_events('RESUME')), 1)
        self.assertEqual(vm.qmp('query-status'), {'status': 'running', 'running': True})


if __name__ == '__main__':
    main()
