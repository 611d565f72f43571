#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks without MSI-X: the guest looks at its rings only when INTx has told it to, so an interrupt
that is lost is a stall. The main thread has no part in an interrupt, unless the line is of a kind
that no eventfd can raise."""
import random

from bare import KvmCase, is_spindle, main
from lib.proc import voluntary_switches

PATH = '/machine/peripheral/vd0'
M = 'iothread-vq-mapping'
IOS = 1500


class Intx(KvmCase):
    def drive(self, words, *args, disk='buf', machine='q35', iothreads=2, ios=IOS, aside=True):
        """Runs a load to its end; `aside`: whether the main thread has to stand aside."""
        guest = self.guest('%s:threads:%d:4:8:irq=2,rw=50,v=2,ios=%d,%s' % (disk, iothreads, ios, words), *args,
                           path=self.file(pattern=True), machine=machine)
        guest.wait_for('START')
        before = voluntary_switches(guest.pid, guest.pid)
        guest.wait_for('END')
        after = voluntary_switches(guest.pid, guest.pid)
        out = guest.result()
        for q in out.queues:
            self.assertGreaterEqual(q['ios'], ios)
        irqs = sum(d['irqs'] for d in out.disks)
        self.assertGreater(irqs, 50)
        if is_spindle() and aside:
            self.assertLess(after - before, irqs / 10 + 40)
        guest.close()
        return out

    def test_q35(self):
        out = self.drive('')
        self.assertIn(' line 21', out.lines[0])

    def test_pc(self):
        for words in ('', 'legacy=1', 'ev=0', 'cpus=2'):
            with self.subTest(words):
                out = self.drive(words, machine='pc')
                self.assertIn(' line 11', out.lines[0])

    def test_no_msix(self):
        """As with pci=nomsi, but for good."""
        self.drive('dev.vectors=0')

    def test_shared_line(self):
        """Three disks, two of which share a line with each other."""
        case = 'dev.addr=0x4+null:-:2:16:irq=2,dev.addr=0x8+null:-:2:16:irq=2,dev.addr=0x5'
        out = self.drive(case, '-global', 'virtio-blk-pci.vectors=0')
        self.assertEqual([l.split(' line ')[1] for l in out.lines[:3]], ['20', '21', '20'])

    def test_split_irqchip(self):
        """The lines are not the kernel's."""
        self.drive('', '-machine', 'kernel-irqchip=split', aside=False)

    def test_main_loop(self):
        """Without IOThreads the main thread serves the disk, and interrupts as well."""
        self.drive('', iothreads=0, aside=False)

    def test_routes_change(self):
        """On pc lines 10 and 11 take turns; on q35 one of the two ways has a part in the 8259s, too, and
        is not for an eventfd."""
        for machine in ('pc', 'q35'):
            with self.subTest(machine):
                out = self.drive('toggle=1', machine=machine, ios=4 * IOS, aside=False)
                self.assertGreater(out.disks[0]['toggles'], 5)

    def test_command_register(self):
        """A driver that forbids and allows INTx all the time loses none."""
        out = self.drive('toggle=2', ios=4 * IOS, aside=False)
        self.assertGreater(out.disks[0]['toggles'], 5)
        self.drive('toggle=3', machine='pc', ios=4 * IOS, aside=False)

    def under_load(self, machine='q35', words='v=2'):
        guest = self.guest('buf:io_uring:4:8:8:irq=2,rw=50,ctl=1,ios=20,' + words, path=self.file(pattern=True),
                           machine=machine)
        guest.wait_for('START')
        return guest

    def goes_on(self, guest):
        before = guest.operations()
        self.settles(lambda: guest.operations() > before + 20, True, 'the load goes on')

    def end(self, guest):
        guest.end_load()
        out = guest.result()
        self.assertTrue(all(q['ios'] for q in out.queues))
        guest.close()

    def test_stop_cont(self):
        guest = self.under_load()
        for _ in range(30):
            self.goes_on(guest)
            guest.qmp.command('stop')
            guest.qmp.command('cont')
        self.end(guest)

    def test_reset(self):
        for machine in ('q35', 'pc'):
            guest = self.under_load(machine, 'v=1')
            for _ in range(4):
                self.goes_on(guest)
                guest.qmp.command('system_reset')
                guest.wait_for('START')
            self.end(guest)

    def test_remap(self):
        if not is_spindle():
            self.skipTest('the reference does not change the mapping of a running disk')
        seed = random.randrange(1 << 32)
        print('# seed %d' % seed)
        rng = random.Random(seed)
        for machine, words in (('q35', 'v=2,cpus=2'), ('pc', 'v=2,toggle=1')):
            guest = self.under_load(machine, words)
            for n in range(200):
                if n % 10 == 0:
                    self.goes_on(guest)
                names = rng.sample(['t%d' % t for t in range(4)], rng.randint(0, 4))
                guest.qmp.command('qom-set', path=PATH, property=M, value=[{'iothread': i} for i in names])
            self.end(guest)

    def test_quit_under_load(self):
        guest = self.under_load()
        self.goes_on(guest)
        guest.close()


if __name__ == '__main__':
    main()
