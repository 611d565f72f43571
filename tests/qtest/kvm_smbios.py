#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SMBIOS tables as a guest without firmware finds them, and as firmware gets them; -uuid."""
import struct
import uuid

from lib import QtestCase, main, run_binary
from lib.kernels import read_guest_memory, require_kvm
from lib.smbios import find_entries, structures, text

UUID = '12345678-9abc-def0-1122-334455667788'


class KvmSmbios(QtestCase):
    def setUp(self):
        require_kvm()

    def tables(self, *args, **kwargs):
        segment, = read_guest_memory(self.tmp, [(0xf0000, 0x10000)], *args, **kwargs)
        old, new = find_entries(segment)
        self.assertEqual(old[:2], new)
        table = segment[new[0] - 0xf0000:][:new[1]]
        found = structures(table)
        self.assertEqual(old[2], len(found))
        self.assertEqual(len({f[1][2:4] for f in found}), len(found), 'handles are unique')
        return found

    def one(self, found, kind):
        matching = [f for f in found if f[0] == kind]
        self.assertEqual(len(matching), 1, kind)
        return matching[0]

    def test_defaults(self):
        for machine, name in (('q35', 'pc-q35-10.0'), ('pc', 'pc-i440fx-10.0')):
            found = self.tables(machine=machine)
            self.assertEqual([f[0] for f in found], [0, 1, 3, 4, 16, 17, 19, 32, 127])
            system = self.one(found, 1)
            self.assertEqual((text(system, 4), text(system, 6), text(system, 7)),
                             ('QEMU', name, None))
            self.assertIn('Standard PC', text(system, 5))
            self.assertEqual(system[1][8:24], bytes(16))

    def test_fields_of_a_system(self):
        found = self.tables('-smbios', 'type=1,manufacturer=A,,B,product=C D,version=E,serial=F'
                            ',sku=G,family=H', '-smbios', 'type=1,uuid=' + UUID.upper())
        system = self.one(found, 1)
        self.assertEqual([text(system, o) for o in (4, 5, 6, 7, 25, 26)],
                         ['A,B', 'C D', 'E', 'F', 'G', 'H'])
        self.assertEqual(uuid.UUID(bytes_le=bytes(system[1][8:24])), uuid.UUID(UUID))

    def test_uuid(self):
        system = self.one(self.tables('-uuid', UUID), 1)
        self.assertEqual(uuid.UUID(bytes_le=bytes(system[1][8:24])), uuid.UUID(UUID))
        vm = self.vm('-smbios', 'type=1,uuid=' + UUID.upper())
        self.assertEqual(vm.qmp('query-uuid'), {'UUID': UUID})

    def test_other_fields(self):
        found = self.tables(
            '-smbios', 'type=0,vendor=V,version=W,date=02/03/2004,release=5.6,uefi=on',
            '-smbios', 'type=2,manufacturer=M2,product=P2,version=V2,serial=S2,asset=A2,location=L2',
            '-smbios', 'type=3,manufacturer=M3,version=V3,serial=S3,asset=A3,sku=K3',
            '-smbios', 'type=4,sock_pfx=S,manufacturer=M4,version=V4,serial=S4,asset=A4,part=P4,'
            'max-speed=3000,current-speed=2500',
            '-smbios', 'type=11,value=one,value=two', '-smbios', 'type=11,value=three',
            '-smbios', 'type=17,loc_pfx=L,bank=B,manufacturer=M17,serial=S17,asset=A17,part=P17,'
            'speed=3200')
        bios, board, chassis = (self.one(found, k) for k in (0, 2, 3))
        self.assertEqual([text(bios, o) for o in (4, 5, 8)], ['V', 'W', '02/03/2004'])
        self.assertEqual((bios[1][0x14], bios[1][0x15], bios[1][0x13] & 8), (5, 6, 8))
        self.assertEqual([text(board, o) for o in (4, 5, 6, 7, 8, 10)],
                         ['M2', 'P2', 'V2', 'S2', 'A2', 'L2'])
        self.assertEqual(board[1][11:13], chassis[1][2:4])
        self.assertEqual([text(chassis, o) for o in (4, 6, 7, 8, 0x15)],
                         ['M3', 'V3', 'S3', 'A3', 'K3'])
        processor, memory = self.one(found, 4), self.one(found, 17)
        self.assertEqual([text(processor, o) for o in (7, 16, 32, 33, 34)],
                         ['M4', 'V4', 'S4', 'A4', 'P4'])
        self.assertEqual(struct.unpack_from('<HH', processor[1], 20), (3000, 2500))
        self.assertEqual(self.one(found, 11)[2], ['one', 'two', 'three'])
        self.assertEqual([text(memory, o) for o in (16, 17, 23, 24, 25, 26)],
                         ['L 0', 'B', 'M17', 'S17', 'A17', 'P17'])
        self.assertEqual(struct.unpack_from('<H', memory[1], 21)[0], 3200)

    def test_processors_and_memory(self):
        found = self.tables('-smp', '8,sockets=2,cores=2,threads=2', '-m', '5G')
        processors = [f for f in found if f[0] == 4]
        self.assertEqual([(p[1][0x23], p[1][0x25]) for p in processors], [(2, 4), (2, 4)])
        self.assertEqual(struct.unpack_from('<I', self.one(found, 16)[1], 7)[0], 5 << 20)
        self.assertEqual(struct.unpack_from('<H', self.one(found, 17)[1], 12)[0], 5 << 10)
        ranges = [struct.unpack_from('<II', f[1], 4) for f in found if f[0] == 19]
        self.assertEqual(sum(b - a + 1 for a, b in ranges), 5 << 20)
        self.assertEqual(ranges[1][0], 4 << 20)

    def test_many_sockets_still_fit(self):
        found = self.tables('-smp', '255', machine='pc')
        self.assertEqual(len([f for f in found if f[0] == 4]), 1)
        found = self.tables('-smp', '1,maxcpus=200,sockets=200')
        self.assertEqual(len([f for f in found if f[0] == 4]), 200)

    def test_errors(self):
        for value, message in (
                ('type=99', "Don't know how to build fields for SMBIOS type 99"),
                ('type=1,foo=bar', "Invalid parameter 'foo'"), ('foo=bar', 'Must specify type='),
                ('type=x', "Parameter 'type' expects a number"), ('type=1,uuid=x', 'Invalid UUID'),
                ('type=0,release=x', 'Invalid release'), ('type=0,release=1.300', 'Invalid release'),
                ('type=0,uefi=x', "Parameter 'uefi' expects 'on' or 'off'"),
                ('type=4,max-speed=70000', 'SMBIOS CPU speed is too large (> 65535)'),
                ('file=x', 'file= is not supported')):
            done = run_binary(['-smbios', value])
            self.assertEqual(done.returncode, 1)
            self.assertIn('-smbios %s: %s' % (value, message), done.stderr)
        done = run_binary(['-accel', 'kvm', '-machine', 'q35', '-kernel', self.image('k', 100),
                           '-smbios', 'type=1,serial=' + 'x' * 70000])
        self.assertEqual(done.returncode, 1)


if __name__ == '__main__':
    main()
