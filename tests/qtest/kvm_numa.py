#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-numa: what the guest's SRAT and SLIT say, memory that spans nodes, policies of host memory."""
import struct

from lib import QtestCase, main, run_binary
from lib.kernels import read_guest_memory, require_kvm

MIB = 1 << 20
TABLES = 64 << 10


def memory(ident, size, more=''):
    return ['-object', 'memory-backend-ram,id=%s,size=%s%s' % (ident, size, more)]


class KvmNuma(QtestCase):
    def setUp(self):
        require_kvm()

    def acpi(self, *args, ram=128, low=None, **kwargs):
        """{signature: table}, each checked. The tables are at the end of low RAM."""
        base = (low or ram) * MIB - MIB
        rsdp, area = read_guest_memory(self.tmp, [(0xe0000, 36), (base, TABLES)], '-m', str(ram),
                                       *args, **kwargs)
        self.assertEqual(rsdp[:8], b'RSD PTR ')

        def table(addr):
            length, = struct.unpack_from('<I', area, addr - base + 4)
            data = area[addr - base:addr - base + length]
            self.assertEqual(sum(data) & 255, 0)
            return data
        xsdt = table(struct.unpack_from('<Q', rsdp, 24)[0])
        found = {}
        for addr in struct.unpack_from('<%dQ' % ((len(xsdt) - 36) // 8), xsdt, 36):
            data = table(addr)
            found[data[:4].decode()] = data
        return found

    def srat(self, table):
        """(APIC id -> node, [(address, size, node)])"""
        cpus, ranges, at = {}, [], 48
        while at < len(table):
            kind, length = table[at], table[at + 1]
            if kind == 0:
                self.assertTrue(table[at + 4] & 1)
                cpus[table[at + 3]] = table[at + 2]
            elif kind == 1:
                node, = struct.unpack_from('<I', table, at + 2)
                addr, size, _, flags = struct.unpack_from('<QQII', table, at + 8)
                self.assertEqual(flags, 1)
                ranges.append((addr, size, node))
            at += length
        return cpus, ranges

    def test_none(self):
        found = self.acpi()
        self.assertNotIn('SRAT', found)
        self.assertNotIn('SLIT', found)

    def test_two_nodes(self):
        for machine in 'q35', 'pc':
            found = self.acpi('-smp', '4', *memory('m0', '96M'), *memory('m1', '32M'),
                              '-numa', 'node,nodeid=0,cpus=0,cpus=2-3,memdev=m0',
                              '-numa', 'node,nodeid=1,cpus=1,memdev=m1',
                              '-numa', 'dist,src=0,dst=1,val=15', machine=machine)
            cpus, ranges = self.srat(found['SRAT'])
            self.assertEqual(cpus, {0: 0, 1: 1, 2: 0, 3: 0})
            self.assertEqual(ranges, [(0, 96 * MIB, 0), (96 * MIB, 32 * MIB, 1)])
            self.assertEqual(found['SLIT'][36:], struct.pack('<Q', 2) + bytes([10, 15, 15, 10]))

    def test_processors_by_place(self):
        found = self.acpi('-smp', '4,sockets=2,cores=2', *memory('m0', '128M'),
                          '-numa', 'node,memdev=m0', '-numa', 'node',
                          '-numa', 'cpu,node-id=1,socket-id=0', '-numa', 'cpu,node-id=0,socket-id=1')
        self.assertEqual(self.srat(found['SRAT'])[0], {0: 1, 1: 1, 2: 0, 3: 0})
        self.assertNotIn('SLIT', found)
        found = self.acpi('-smp', '4,sockets=2,cores=2', *memory('m0', '128M'),
                          '-numa', 'node,memdev=m0', '-numa', 'node')
        self.assertEqual(self.srat(found['SRAT'])[0], {0: 0, 1: 0, 2: 1, 3: 1})

    def test_a_node_on_both_sides_of_the_gap(self):
        found = self.acpi(*memory('m0', '1G'), *memory('m1', '5G'), '-numa', 'node,memdev=m0',
                          '-numa', 'node,memdev=m1', ram=6144, low=2048)
        self.assertEqual(self.srat(found['SRAT'])[1],
                         [(0, 1 << 30, 0), (1 << 30, 1 << 30, 1), (4 << 30, 4 << 30, 1)])

    def test_memory_of_both_nodes_is_there(self):
        vm = self.vm(*memory('m0', '16M'), *memory('m1', '48M'), '-numa', 'node,memdev=m0',
                     '-numa', 'node,memdev=m1', ram=64)
        for addr in (MIB, 16 * MIB - 8, 16 * MIB, 64 * MIB - 8):
            vm.qt.writeq(addr, addr ^ 0x1234567890)
            self.assertEqual(vm.qt.readq(addr), addr ^ 0x1234567890)
        vm.qt.write(16 * MIB - 4, b'across it')
        self.assertEqual(vm.qt.read(16 * MIB - 4, 9), b'across it')
        self.qmp_fails(vm, 'object-del', "object 'm1' is in use, can not be deleted", id='m1')

    def test_errors(self):
        two = [*memory('a', '64M'), *memory('b', '64M'), '-numa', 'node,memdev=a,cpus=0',
               '-numa', 'node,memdev=b']
        for args, text in (
                (['-numa', 'foo'], "-numa foo: Parameter 'type' does not accept value 'foo'"),
                (['-numa', 'node'], 'total memory for NUMA nodes (0x0) should equal RAM size'),
                (['-numa', 'node,nodeid=0', '-numa', 'node,nodeid=2'], 'Node ID missing: 1'),
                (['-numa', 'node,nodeid=1', '-numa', 'node,nodeid=1'], 'Duplicate NUMA nodeid: 1'),
                (['-numa', 'node,nodeid=200'], 'Max number of NUMA nodes reached: 200'),
                (['-numa', 'node,mem=64M'], 'node,mem is not supported by this machine type'),
                (['-numa', 'node,memdev=x'], 'memdev=x is ambiguous'),
                (['-numa', 'node,cpus=1'], 'CPU index (1) should be smaller than maxcpus (1)'),
                (['-numa', 'node,cpus=1-0'], "'cpus' expects a uint64 value or range"),
                (['-numa', 'node,cpus=0', '-numa', 'node,cpus=0'], 'already assigned to node-id: 0'),
                (['-numa', 'node,foo=1'], "Parameter 'foo' is unexpected"),
                (['-numa', 'hmat-lb,x=1'], 'is not supported'),
                (['-numa', 'cpu,node-id=0,socket-id=0'], 'Invalid node-id=0'),
                ([*two, '-numa', 'cpu,node-id=0,socket-id=7'], 'no match found'),
                ([*two, '-numa', 'dist,src=0,dst=1,val=5'], "it shouldn't be less than 10"),
                ([*two, '-numa', 'dist,src=0,dst=1,val=256'], "it shouldn't be more than 255"),
                ([*two, '-numa', 'dist,src=0,dst=0,val=11'], 'Local distance of node 0'),
                ([*two, '-numa', 'dist,src=0,dst=3,val=20'], 'NUMA node is missing'),
                ([*two, '-numa', 'node', '-numa', 'dist,src=0,dst=1,val=20'],
                 'The distance between node 0 and 2 is missing'),
                ([*two, '-machine', 'memory-backend=a'], 'mutually exclusive'),
                ([*memory('a', '64M'), '-numa', 'node,memdev=a', '-numa', 'node,memdev=a'],
                 'is used by more than one node'),
                ([*memory('a', '128M'), '-numa', 'node,memdev=a', '-m', '64'],
                 'total memory for NUMA nodes (0x8000000) should equal RAM size (0x4000000)')):
            done = run_binary(['-accel', 'qtest', '-machine', 'q35', *args])
            self.assertEqual(done.returncode, 1, args)
            self.assertIn(text, done.stderr)

    def test_policies(self):
        for more, text in (
                (',policy=bind', 'host-nodes must be set for policy bind'),
                (',host-nodes=0', 'host-nodes must be empty for policy default'),
                (',host-nodes=200,policy=bind', 'Invalid host-nodes value: 200'),
                (',policy=x', "Parameter 'policy' does not accept value 'x'")):
            done = run_binary(['-accel', 'qtest', '-machine', 'q35', *memory('a', '8M', more)])
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
        for policy, word in (('bind', 'bind'), ('preferred', 'prefer'),
                             ('interleave', 'interleave')):
            vm = self.vm(*memory('a', '8M', ',host-nodes=0,prealloc=on,policy=' + policy))
            with open('/proc/%d/numa_maps' % vm.pid, encoding='ascii') as f:
                self.assertTrue(any(line.split()[1].startswith(word) for line in f), policy)
            self.assertEqual(vm.qmp('qom-get', path='/objects/a', property='host-nodes'), [0])


if __name__ == '__main__':
    main()
