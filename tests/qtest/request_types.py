#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every request type, its limits, its status and how much of the buffers it writes."""
import struct

from lib import (DISCARD, GET_ID, IN, IOERR, OK, OUT, SCSI_CMD, UNSUPP, WRITE_ZEROES, FLUSH, Disk,
                 QtestCase, main)

SERIAL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
CAPACITY = 2048
MAX = 4194303


def range_(sector, count, flags=0):
    return struct.pack('<QII', sector, count, flags)


class RequestTypes(QtestCase):
    def start(self, extra='', block='', **kwargs):
        self.path = self.image('disk%d.raw' % len(extra + block), size=CAPACITY * 512)
        vm = self.vm('-object', 'iothread,id=t0',
                     '-blockdev', 'raw,node-name=d0,file.driver=file,file.filename=%s%s'
                     % (self.path, block), '-device',
                     'virtio-blk-pci,id=v0,drive=d0,iothread=t0' + extra)
        return Disk.start(vm, **kwargs)

    def one(self, disk, kind, sector=0, out=b'', into=0, prefill=b'\xa5'):
        """(status, used length, data written into the buffer) of a request of any shape."""
        request = disk.new_request(max(len(out), into, 16))
        request.size = into
        disk.qt.write(request.header, struct.pack('<IIQ', kind, 0, sector))
        chain = [(request.header, 16, False)]
        if out:
            disk.qt.write(request.data, out)
            chain.append((request.data, len(out), False))
        if into:
            disk.qt.write(request.data, prefill * into)
            chain.append((request.data, into, True))
        disk.qt.writeb(request.status_addr, 0xee)
        chain.append((request.status_addr, 1, True))
        ring = disk.queue(0)
        ring.add(chain, request)
        ring.kick()
        (done, length), = ring.wait(1)
        self.assertIs(done, request)
        result = request.status(), length, request.read_data()
        disk.release(request)
        return result

    def table(self, disk, rows):
        for what, args, status, used, data in rows:
            with self.subTest(what):
                got = self.one(disk, *args)
                self.assertEqual(got[:2], (status, used))
                if data is not None:
                    self.assertEqual(got[2], data)

    def rows(self):
        a5 = b'\xa5'
        ident = SERIAL[:20].encode()
        return [
            ('read', (IN, 0, b'', 512), OK, 513, bytes(512)),
            ('write', (OUT, 1, b'\x11' * 512), OK, 1, b''),
            ('read back', (IN, 1, b'', 512), OK, 513, b'\x11' * 512),
            ('flush', (FLUSH, 0), OK, 1, b''),
            ('flush with a sector', (FLUSH, 7), OK, 1, b''),
            ('serial', (GET_ID, 0, b'', 20), OK, 21, ident),
            ('serial, 19 bytes', (GET_ID, 0, b'', 19), OK, 20, ident[:19]),
            ('serial, 21 bytes', (GET_ID, 0, b'', 21), OK, 22, ident + a5),
            ('serial, 32 bytes', (GET_ID, 0, b'', 32), OK, 33, ident + a5 * 12),
            ('serial, 1 byte', (GET_ID, 0, b'', 1), OK, 2, ident[:1]),
            ('serial, 512 bytes', (GET_ID, 0, b'', 512), OK, 513, ident + a5 * 492),
            ('serial, no data', (GET_ID, 0), OK, 1, b''),
            ('SCSI command', (SCSI_CMD, 0, b'', 96), IOERR, 97, a5 * 96),
            ('SCSI command, no data', (SCSI_CMD, 0), IOERR, 1, b''),
            ('type 3', (3, 0), IOERR, 1, b''),
            ('type 99', (99, 0), UNSUPP, 1, b''),
            ('type 99 in', (99, 0, b'', 512), UNSUPP, 513, a5 * 512),
            ('type 99 out', (99, 0, bytes(512)), UNSUPP, 1, b''),
            ('get lifetime', (10, 0, b'', 6), UNSUPP, 7, a5 * 6),
            ('secure erase', (14, 0, range_(0, 8)), UNSUPP, 1, b''),
            ('zone append', (15, 0, bytes(512)), UNSUPP, 1, b''),
            ('zone report', (16, 0, b'', 512), UNSUPP, 513, a5 * 512),
            ('zone open', (18, 0), UNSUPP, 1, b''),
            ('read with the barrier bit', (0x80000000, 0, b'', 512), OK, 513, bytes(512)),
            ('type 5 is a flush', (5, 0), OK, 1, b''),
            ('type 9 is the serial', (9, 0, b'', 20), OK, 21, ident),
            ('last sector', (IN, CAPACITY - 1, b'', 512), OK, 513, bytes(512)),
            ('at the end', (IN, CAPACITY, b'', 512), IOERR, 513, a5 * 512),
            ('across the end', (IN, CAPACITY - 1, b'', 1024), IOERR, 1025, a5 * 1024),
            ('sector 2^63', (IN, 1 << 63, b'', 512), IOERR, 513, a5 * 512),
            ('sector 2^55', (IN, 1 << 55, b'', 512), IOERR, 513, a5 * 512),
            ('sector 2^64-1', (IN, (1 << 64) - 1, b'', 512), IOERR, 513, a5 * 512),
            ('length 100', (IN, 0, b'', 100), IOERR, 101, a5 * 100),
            ('length 513', (IN, 0, b'', 513), IOERR, 514, a5 * 513),
            ('length 0', (IN, 0), OK, 1, b''),
            ('write length 100', (OUT, 0, bytes(100)), IOERR, 1, b''),
            ('write length 0', (OUT, 0), OK, 1, b''),
            ('write at the end', (OUT, CAPACITY, bytes(512)), IOERR, 1, b''),
            ('write sector 2^63', (OUT, 1 << 63, bytes(512)), IOERR, 1, b''),
            ('read with data out only', (IN, 0, bytes(512)), OK, 1, b''),
            ('write with data in only', (OUT, 0, b'', 512), OK, 513, a5 * 512),
            ('discard', (DISCARD, 0, range_(0, 8)), OK, 1, b''),
            ('discard with unmap', (DISCARD, 0, range_(0, 8, 1)), UNSUPP, 1, b''),
            ('discard, flag 2', (DISCARD, 0, range_(0, 8, 2)), UNSUPP, 1, b''),
            ('discard, 2 ranges', (DISCARD, 0, range_(0, 8) + range_(8, 8)), UNSUPP, 1, b''),
            ('discard of nothing', (DISCARD, 0, range_(0, 0)), OK, 1, b''),
            ('discard across the end', (DISCARD, 0, range_(CAPACITY - 1, 2)), IOERR, 1, b''),
            ('discard of all ones', (DISCARD, 0, range_(0, 0xffffffff)), IOERR, 1, b''),
            ('discard above the limit', (DISCARD, 0, range_(0, MAX + 1)), IOERR, 1, b''),
            ('discard, 17 bytes', (DISCARD, 0, range_(0, 8) + b'\0'), UNSUPP, 1, b''),
            ('discard wraps', (DISCARD, 0, range_((1 << 64) - 8, 16)), IOERR, 1, b''),
            ('write zeroes', (WRITE_ZEROES, 0, range_(0, 8)), OK, 1, b''),
            ('read after write zeroes', (IN, 1, b'', 512), OK, 513, bytes(512)),
            ('write zeroes with unmap', (WRITE_ZEROES, 0, range_(0, 8, 1)), OK, 1, b''),
            ('write zeroes, flag 2', (WRITE_ZEROES, 0, range_(0, 8, 2)), UNSUPP, 1, b''),
            ('write zeroes, flag 3', (WRITE_ZEROES, 0, range_(0, 8, 3)), UNSUPP, 1, b''),
            ('write zeroes, 2 ranges', (WRITE_ZEROES, 0, range_(0, 8) * 2), UNSUPP, 1, b''),
            ('write zeroes of nothing', (WRITE_ZEROES, 0, range_(0, 0)), OK, 1, b''),
            ('write zeroes across the end', (WRITE_ZEROES, 0, range_(CAPACITY, 1)), IOERR, 1, b''),
            ('write zeroes above the limit', (WRITE_ZEROES, 0, range_(0, MAX + 1)), IOERR, 1, b''),
        ]

    def test_modern(self):
        disk = self.start(',serial=' + SERIAL)
        self.table(disk, self.rows())
        stats = [b for b in disk.vm.qmp('query-blockstats') if b.get('qdev')][0]['stats']
        self.assertGreater(stats['invalid_rd_operations'], 0)
        self.assertGreater(stats['invalid_wr_operations'], 0)
        self.assertEqual(stats['failed_rd_operations'], 0)

    def test_legacy(self):
        self.table(self.start(',serial=' + SERIAL, legacy=True), self.rows())

    def test_status_goes_into_the_last_byte(self):
        disk = self.start()
        request = disk.new_request(512)
        disk.qt.write(request.header, struct.pack('<IIQ', IN, 0, 0))
        status = disk.vm.alloc(4)
        disk.qt.write(status, b'\xee' * 4)
        ring = disk.queue(0)
        ring.add([(request.header, 16, False), (request.data, 512, True), (status, 4, True)], request)
        ring.kick()
        self.assertEqual(ring.wait(1), [(request, 516)])
        # Three bytes of data that make the length odd, then the status.
        self.assertEqual(disk.qt.read(status, 4), b'\xee\xee\xee\x01')

    def test_header_and_data_in_shared_descriptors(self):
        disk = self.start()
        ring, qt = disk.queue(0), disk.qt
        page = disk.vm.alloc(8192)
        # Header in two pieces; data and status together.
        qt.write(page, struct.pack('<IIQ', OUT, 0, 5) + b'\x77' * 512)
        ring.add([(page, 8, False), (page + 8, 8, False), (page + 16, 512, False),
                  (page + 4096, 1, True)], 'split')
        ring.kick()
        self.assertEqual(ring.wait(1), [('split', 1)])
        # Header and data in one descriptor.
        qt.write(page, struct.pack('<IIQ', OUT, 0, 6) + b'\x78' * 512)
        qt.writeb(page + 4096, 0xee)
        ring.add([(page, 528, False), (page + 4096, 1, True)], 'joined')
        ring.kick()
        self.assertEqual(ring.wait(1), [('joined', 1)])
        self.assertEqual(qt.readb(page + 4096), OK)
        qt.write(page, struct.pack('<IIQ', IN, 0, 5))
        ring.add([(page, 16, False), (page + 4096, 1025, True)], 'read')
        ring.kick()
        self.assertEqual(ring.wait(1), [('read', 1025)])
        self.assertEqual(qt.read(page + 4096, 1025), b'\x77' * 512 + b'\x78' * 512 + b'\0')

    def test_serial(self):
        for serial, answer in (('', b'\0'), ('abc', b'abc\0'), ('x' * 19, b'x' * 19 + b'\0'),
                               ('x' * 20, b'x' * 20), ('x' * 21, b'x' * 20)):
            with self.subTest(serial):
                disk = self.start(',serial=' + serial)
                for size in (20, 32):
                    self.assertEqual(self.one(disk, GET_ID, 0, b'', size),
                                     (OK, size + 1, answer.ljust(size, b'\xa5')[:size]))
        disk = self.start(',write-cache=on')
        self.assertEqual(self.one(disk, GET_ID, 0, b'', 20)[2], b'\0' + b'\xa5' * 19)

    def test_limits_given(self):
        disk = self.start(',max-discard-sectors=4,max-write-zeroes-sectors=4')
        self.table(disk, [
            ('discard 4', (DISCARD, 0, range_(0, 4)), OK, 1, None),
            ('discard 5', (DISCARD, 0, range_(0, 5)), IOERR, 1, None),
            ('write zeroes 4', (WRITE_ZEROES, 0, range_(0, 4)), OK, 1, None),
            ('write zeroes 5', (WRITE_ZEROES, 0, range_(0, 5)), IOERR, 1, None)])

    def test_features_off(self):
        disk = self.start(',discard=off,write-zeroes=off')
        self.table(disk, [
            ('discard', (DISCARD, 0, range_(0, 8)), OK, 1, None),
            ('write zeroes', (WRITE_ZEROES, 0, range_(0, 8)), OK, 1, None)])

    def test_logical_blocks_of_4k(self):
        disk = self.start(',logical_block_size=4096,physical_block_size=4096')
        self.table(disk, [
            ('sector 1', (IN, 1, b'', 512), IOERR, 513, b'\xa5' * 512),
            ('half a block', (IN, 0, b'', 512), IOERR, 513, b'\xa5' * 512),
            ('block 1', (IN, 8, b'', 4096), OK, 4097, bytes(4096)),
            ('between blocks', (IN, 4, b'', 4096), IOERR, 4097, b'\xa5' * 4096),
            ('write half a block', (OUT, 0, bytes(512)), IOERR, 1, None),
            ('discard half a block', (DISCARD, 0, range_(0, 1)), IOERR, 1, None),
            ('discard a block', (DISCARD, 0, range_(0, 8)), OK, 1, None),
            ('zero half a block', (WRITE_ZEROES, 0, range_(1, 1)), IOERR, 1, None)])

    def test_read_only(self):
        disk = self.start(block=',read-only=on')
        self.assertTrue(disk.driver.offered() & 1 << 5)
        self.table(disk, [
            ('read', (IN, 0, b'', 512), OK, 513, bytes(512)),
            ('write', (OUT, 0, b'\1' * 512), IOERR, 1, None),
            ('flush', (FLUSH, 0), OK, 1, None),
            ('discard', (DISCARD, 0, range_(0, 8)), OK, 1, None),
            ('write zeroes', (WRITE_ZEROES, 0, range_(0, 8)), IOERR, 1, None)])
        self.assertEqual(self.file_bytes(self.path, 0, 512), bytes(512))


if __name__ == '__main__':
    main()
