#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What libvirt says to a running domain, said to one whose guest is Linux: each reply is the one that
libvirt got, and the guest sees what was asked for."""
import conversation
from rig.case import START_ATTEMPTS, GuestCase, main
from rig.guest import IN_RIG
from rig.load import Load

SECTOR = 512


class LinuxLibvirt(GuestCase):
    def compare(self, step, message, got):
        self.assertEqual(conversation.differences(message['return'], got, message['execute']), [],
                         'step ' + step)

    def say(self, step, left_out=()):
        """What libvirt said in a step, and what it heard."""
        for message in conversation.renamed(self.talk[step], self.files):
            if 'event' in message:
                if message['event'] in left_out:
                    continue
                event = self.guest_.wait_event(
                    message['event'], match=lambda e: e['data'] == message['data']
                    if message['data'] else True)
                self.assertEqual(event.get('data', {}), message['data'])
            elif message['execute'] not in left_out:
                reply = self.guest_.qmp_client.execute(message['execute'], message['arguments'])
                self.assertIn('return', reply, message)
                self.compare(step, message, reply['return'])

    def marker(self, disk, text, block):
        self.guest_.run('printf %%4096s %s | tr " " . | dd of=/dev/%s bs=4096 seek=%d conv=fsync'
                        ' iflag=fullblock' % (text, disk, block))
        self.assertEqual(self.file_bytes(self.files['@hot@'], block * 4096, 4096),
                         text.rjust(4096, '.').encode())

    def has_size(self, disk, size):
        self.guest_.wait_until('[ "$(cat /sys/block/%s/size)" = %d ]' % (disk, size // SECTOR))

    def attach(self):
        """Returns the name that the guest gives the disk."""
        guest = self.guest_
        self.say('attach')
        guest.wait_until('grep -qsx hot /sys/block/vd*/serial')
        disk = guest.disks()['hot']
        self.has_size(disk, conversation.SIZES['hot'])
        self.assertEqual(guest.run('ls /sys/block/%s/mq | wc -l' % disk), '2')
        self.marker(disk, 'attached', 5)
        return disk

    def start(self, machine, args):
        """Is resumed by what libvirt says, and in the rig given another chance if it resets itself."""
        for left in reversed(range(START_ATTEMPTS if IN_RIG else 1)):
            self.guest_ = self.guest(*args, '-S', machine=machine, smp=2, wait=False)
            self.say('resume')
            try:
                self.guest_.cpus = self.guest_.wait_ready()
                return self.guest_
            except EOFError:
                if not left:
                    raise
                print('# the guest ended while it started; once more', flush=True)

    def check(self, machine):
        data = conversation.load()[machine]
        self.talk = data['steps']
        self.files = {'@%s@' % n: self.direct_image(n + '.raw', size)
                      for n, size in conversation.SIZES.items()}
        guest = self.start(machine, conversation.renamed(data['argv'], self.files))
        load = Load(guest, ['base'])
        for step in ('iothreadadd', 'iothreadset', 'iothreadinfo'):
            self.say(step)
        disk = self.attach()
        for step in ('blkdeviotune', 'blkdeviotune-get', 'domblkstat', 'domblkinfo'):
            self.say(step)
        self.marker(disk, 'limited', 6)
        self.say('blockresize')
        self.has_size(disk, conversation.GROWN)
        self.marker(disk, 'grown', conversation.GROWN // 4096 - 1)
        self.say('suspend')
        self.assertEqual(guest.qmp('query-status')['status'], 'paused')
        self.say('resume-again')
        self.marker(disk, 'resumed', 7)
        self.say('blkdeviotune-off')
        self.say('domstats')
        # This guest lets go of the disk by itself. What libvirt does about its end is the same.
        self.say('detach', left_out=['qom-list'])
        self.say('reset', left_out=['system_reset', 'RESET'])
        guest.wait_until('[ ! -e /sys/block/%s ]' % disk)
        self.say('iothreaddel')
        load.end()
        guest.poweroff()

    def test_q35(self):
        self.check('q35')

    def test_pc(self):
        self.check('pc')


if __name__ == '__main__':
    main()
