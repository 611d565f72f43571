# SPDX-License-Identifier: GPL-2.0-or-later
"""fio in the guest, beside what a test does: writes and verifies, round after round. It leaves some
time to others, or an emulated processor does nothing but that."""

FIO = ('fio --direct=1 --rw=randwrite --bs=4k --size=%s --numjobs=%d --offset_increment=2m --offset=%d'
       ' --iodepth=8 --ioengine=libaio --verify=crc32c --verify_fatal=1 --do_verify=1 --thread=1'
       ' --cpus_allowed=0-%d --cpus_allowed_policy=split --group_reporting --randrepeat=0'
       ' --thinktime=20ms --thinktime_blocks=8')


class Load:
    """Load on the disks with these serials, behind `offset`, until end(). Each processor's job on each
    disk writes `size` in each round. One process for all: processes are slow to start."""

    NAME = 'load'

    def __init__(self, guest, serials, offset=4 << 20, size='256k'):
        self.guest = guest
        names = guest.disks()
        fio = FIO % (size, guest.cpus, offset, guest.cpus - 1) + ''.join(
            ' --name=%s --filename=/dev/%s' % (names[s], names[s]) for s in serials)
        guest.run('rm -f /tmp/enough')
        guest.start(self.NAME, 'n=0; while [ ! -e /tmp/enough ]; do %s >/tmp/load.fio 2>&1 ||'
                    ' { cat /tmp/load.fio; exit 1; }; n=$((n+1)); done; echo rounds $n' % fio)

    def running(self):
        return self.guest.running(self.NAME)

    def end(self):
        """Ends it; a request that failed or data that were wrong fail the test. Returns how many
        rounds were finished."""
        self.guest.run('touch /tmp/enough')
        return int(self.guest.finish(self.NAME).split()[-1])
