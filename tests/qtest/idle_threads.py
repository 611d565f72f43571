#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing to do costs nothing: with polling at its default, idle threads sleep."""
import json
import time

from lib import OK, Disk, QtestCase, cpu_ns, main, reference_fails, threads
from lib.proc import switches, thread_state

SECONDS = 2.0


class IdleThreads(QtestCase):
    def start(self, disks=2, **kwargs):
        args = []
        for t in range(4):
            args += ['-object', 'iothread,id=t%d' % t]
        for i in range(disks):
            args += ['-blockdev', 'raw,node-name=d%d,file.driver=file,file.filename=%s'
                     % (i, self.image('disk%d.raw' % i, size=1 << 20)), '-device', json.dumps(
                         {'driver': 'virtio-blk-pci', 'id': 'v%d' % i, 'drive': 'd%d' % i,
                          'num-queues': 8, 'iothread-vq-mapping':
                          [{'iothread': 't%d' % t} for t in range(4)]})]
        return self.vm(*args)

    def check_idle(self, vm, wakeups=20):
        # What was going on before comes to rest first.
        time.sleep(0.3)
        tids = threads(vm.pid)
        before = {t: (cpu_ns(vm.pid, t), switches(vm.pid, t)) for t in tids}
        time.sleep(SECONDS)
        for t in tids:
            try:
                used, woken = cpu_ns(vm.pid, t), switches(vm.pid, t)
            except FileNotFoundError:
                continue
            self.assertLess(used - before[t][0], 0.01 * SECONDS * 1e9,
                            'thread %d of %d' % (t, vm.pid))
            # The reference wakes its main thread for timers of devices that we do not have.
            self.assertLess(woken - before[t][1], (wakeups if vm.spindle else 100) * SECONDS)
        self.assertEqual(thread_state(vm.pid, vm.pid), 'S', 'the main thread')

    def test_after_start(self):
        self.check_idle(self.start())

    def test_after_io(self):
        vm = self.start()
        for i in range(2):
            disk = Disk.start(vm, 'v%d' % i, event_idx=bool(i))
            for q in range(8):
                for n in range(20):
                    self.assertEqual(disk.write(q, n, bytes(512)), OK)
        self.check_idle(vm)
        # And they wake up for the next request.
        disk = Disk.start(vm)
        for q in range(8):
            self.assertEqual(disk.write(q, 0, bytes(512)), OK)

    def test_waits_for_no_disk(self):
        """Waiting for the next event is no I/O wait: it would show as pressure on the disks."""
        def waiting_for_io():
            with open('/proc/stat') as f:
                return next(int(line.split()[1]) for line in f if line.startswith('procs_blocked'))

        self.start()
        # Others may be waiting for disks, but not all the time.
        deadline = time.monotonic() + 60
        while waiting_for_io() > 0:
            self.assertLess(time.monotonic(), deadline, 'somebody waits for I/O all the time')
            time.sleep(0.01)

    def test_stopped(self):
        vm = self.start()
        disk = Disk.start(vm)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        vm.qmp('stop')
        self.check_idle(vm)

    @reference_fails('its engine cannot be chosen')
    def test_epoll_engine(self):
        vm = self.vm('-blockdev', 'null-co,node-name=d0,size=1048576', '-object', 'iothread,id=t0',
                     '-device', 'virtio-blk-pci,id=v0,drive=d0,iothread=t0',
                     env={'SPINDLE_AIO_ENGINE': 'epoll'})
        disk = Disk.start(vm)
        for _ in range(20):
            self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        self.check_idle(vm)

    def test_main_thread_sleeps_while_iothreads_work(self):
        """Completions in an IOThread that nobody wants an interrupt for do not wake it."""
        vm = self.vm('-blockdev', 'null-co,node-name=d0,latency-ns=100000000,size=1048576',
                     '-object', 'iothread,id=t0', '-device',
                     'virtio-blk-pci,id=v0,drive=d0,iothread=t0')
        disk = Disk.start(vm, size=256)
        ring = disk.queue(0)
        ring.ask_for_interrupt(on=False)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        for i in range(64):
            disk.add(0, 1, 8 * i, data=bytes(4096))
        disk.kick(0, force=True)
        vm.qmp('query-status')
        time.sleep(0.02)
        before = switches(vm.pid, vm.pid)
        time.sleep(0.4)
        self.assertLess(switches(vm.pid, vm.pid) - before, 25 if vm.spindle else 60)
        self.assertEqual(len(disk.poll(0)), 64)


if __name__ == '__main__':
    main()
