#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest notices what the other tests rely on: wrong data, failed requests, lost requests."""
from bare import KvmCase, main, vqload


class GuestVerification(KvmCase):
    IMAGE = 1 << 20

    def complaint(self, guest):
        guest.wait_for('DONE')
        guest.close()
        return guest.output.complaint or ''

    def test_right_data(self):
        guest = self.guest('buf:threads:1:2:8:v=2,ios=1000', path=self.file(pattern=True))
        self.assertGreaterEqual(guest.result().disks[0]['checked'], 2000)
        guest.close()

    def test_one_wrong_byte(self):
        path = self.file(pattern=True)
        with open(path, 'r+b') as f:
            f.seek(300 * 512 + 77)
            byte = f.read(1)[0]
            f.seek(300 * 512 + 77)
            f.write(bytes([byte ^ 1]))
        self.assertEqual(vqload.wrong_sectors(path), [300])
        guest = self.guest('buf:threads:1:2:8:v=2,ios=3000', path=path)
        self.assertIn('wrong data', self.complaint(guest))

    def test_write_elsewhere(self):
        """Right contents in the wrong place."""
        path = self.file(pattern=True)
        with open(path, 'r+b') as f:
            f.write(vqload.pattern_sector(8) + vqload.pattern_sector(1))
        self.assertEqual(vqload.wrong_sectors(path), [0])
        guest = self.guest('buf:threads:1:1:8:v=2,ios=3000', path=path)
        self.assertIn('wrong data', self.complaint(guest))

    def test_failed_requests(self):
        guest = self.guest('null:-:1:2:8:rw=0,ios=100,dev.drive=ro', '-blockdev',
                           'driver=null-co,node-name=ro,size=1048576,read-only=on')
        self.assertIn('requests failed', self.complaint(guest))


if __name__ == '__main__':
    main()
