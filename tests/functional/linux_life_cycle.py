#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How a Linux guest ends and starts again: reboot, reset and power button with disks in use, panic,
SIGTERM under load after which the image holds what the guest had flushed, and as a daemon."""
import json
import os
import signal

from rig.case import GuestCase, main
from rig.load import Load

BLOCK = 4096
MAPPING = [{'iothread': 't0'}, {'iothread': 't1'}]

# Writes numbered blocks, one after the other, and says each number after it has been flushed.
FLUSHER = ('i=%d; while :; do printf %%4096d $i | dd of=/dev/%s bs=4096 seek=$i conv=fsync,notrunc'
           ' iflag=fullblock 2>/dev/null && echo F $i >/dev/ttyS1; i=$((i + 1)); done')


class LinuxLifeCycle(GuestCase):
    def start(self, machine, *args, mode='io_uring', **kwargs):
        self.paths = [self.image('d0.raw', 64 << 20), self.direct_image('d1.raw', 64 << 20)]
        disks = []
        for number, aio in ((0, mode), (1, 'native')):
            disks += ['-blockdev', json.dumps({
                'driver': 'raw', 'node-name': 'd%d' % number,
                'file': {'driver': 'file', 'filename': self.paths[number], 'aio': aio,
                         'cache': {'direct': aio == 'native'}}}),
                '-device', json.dumps({'driver': 'virtio-blk-pci', 'drive': 'd%d' % number,
                                       'serial': 'd%d' % number, 'num-queues': 4,
                                       'iothread-vq-mapping': MAPPING})]
        return self.guest('-object', 'iothread,id=t0', '-object', 'iothread,id=t1', *disks, *args,
                          machine=machine, smp=2, **kwargs)

    def leave_mark(self, guest, text):
        guest.run('printf %%4096s %s | dd of=/dev/vda bs=4096 count=1 conv=fsync iflag=fullblock' % text)

    def read_mark(self, guest):
        return guest.run('dd if=/dev/vda bs=4096 count=1 iflag=direct 2>/dev/null | tr -d " "')

    def test_reboot_reset_and_power_button(self):
        """Three reboots by the guest, one reset by the client, and the power button at the end, all
        while fio runs on both disks."""
        guest = self.start('q35', reboots=True)
        for number in range(4):
            Load(guest, ['d0', 'd1'])
            self.leave_mark(guest, 'mark%d' % number)
            if number < 3:
                guest.agent.send('reboot -f')
                event = guest.wait_event('RESET')
                self.assertEqual(event['data'], {'guest': True, 'reason': 'guest-reset'})
            else:
                # A guest may reset the machine more than once in a row.
                guest.qmp_client.take_events('RESET')
                guest.qmp('system_reset')
                event = guest.wait_event('RESET')
                self.assertEqual(event['data'], {'guest': False, 'reason': 'host-qmp-system-reset'})
            self.assertEqual(guest.wait_ready(), 2)
            self.assertEqual(self.read_mark(guest), 'mark%d' % number)
        load = Load(guest, ['d0', 'd1'])
        presses = "awk '{exit !($1 > 0)}' /sys/firmware/acpi/interrupts/ff_pwr_btn"
        guest.run('! ' + presses)
        guest.qmp('system_powerdown')
        guest.wait_event('POWERDOWN')
        guest.wait_until(presses)
        load.end()
        guest.poweroff()

    def flush_until_told(self, guest, count):
        """Writers of numbered blocks on both disks; returns the numbers that were flushed when the
        process has ended. Blocks of the writers: from 1000 on, from 2000 on, ... (disk 0, 1, 0, 1)."""
        names = guest.disks()
        for number in range(4):
            guest.start('flusher%d' % number, FLUSHER % (1000 * (number + 1),
                                                         names['d%d' % (number % 2)]))
        flushed = set()

        def take():
            line = guest.agent.line()
            if line.startswith('F '):
                flushed.add(int(line.split()[1]))
        while len(flushed) < count:
            take()
        os.kill(guest.pid, signal.SIGTERM)
        try:
            while True:
                take()
        except (EOFError, ConnectionError):
            return flushed

    def check_flushed(self, flushed):
        for number in sorted(flushed):
            disk = (number // 1000 - 1) % 2
            self.assertEqual(self.file_bytes(self.paths[disk], number * BLOCK, BLOCK),
                             b'%4096d' % number, 'block %d of disk %d' % (number, disk))

    def terminate(self, machine, mode):
        guest = self.start(machine, mode=mode)
        load = Load(guest, ['d0', 'd1'], offset=40 << 20)
        self.assertTrue(load.running())
        flushed = self.flush_until_told(guest, 60)
        event = guest.wait_event('SHUTDOWN')
        self.assertEqual(event['data'], {'guest': False, 'reason': 'host-signal'})
        self.assertEqual(guest.wait_exit(), 0)
        guest.close()
        self.assertGreaterEqual(len(flushed), 60)
        self.check_flushed(flushed)

    def test_sigterm_under_load(self):
        self.terminate('pc', 'io_uring')

    def test_sigterm_under_load_of_workers(self):
        self.terminate('q35', 'threads')

    def test_daemon_and_panic(self):
        """As a daemon, with the machine paused at first; the guest's kernel panics under load."""
        guest = self.start('q35', '-S', '-device', 'pvpanic', mode='threads', append='panic=0',
                           daemonize=True, wait=False)
        self.assertEqual(guest.qmp('query-status')['status'], 'prelaunch')
        guest.qmp('cont')
        guest.cpus = guest.wait_ready()
        Load(guest, ['d0', 'd1'])
        self.leave_mark(guest, 'daemon')
        guest.agent.send('echo c >/proc/sysrq-trigger')
        event = guest.wait_event('GUEST_PANICKED')
        self.assertEqual(event['data']['action'], 'poweroff')
        event = guest.wait_event('SHUTDOWN')
        self.assertEqual(event['data'], {'guest': True, 'reason': 'guest-panic'})
        guest.wait_exit()
        self.assertEqual(self.file_bytes(self.paths[0], 0, BLOCK), b'daemon'.rjust(BLOCK))


if __name__ == '__main__':
    main()
