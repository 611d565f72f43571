#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""query-block, query-blockstats, query-named-block-nodes: members and counting."""
from lib import IN, OK, OUT, Disk, QtestCase, main

MIB = 1 << 20
INSERTED = {'iops_rd', 'detect_zeroes', 'image', 'iops_wr', 'ro', 'node-name', 'backing_file_depth',
            'drv', 'iops', 'bps_wr', 'write_threshold', 'encrypted', 'bps', 'bps_rd', 'cache',
            'file', 'active'}
STATS = {'account_failed', 'account_invalid', 'failed_flush_operations', 'failed_rd_operations',
         'failed_unmap_operations', 'failed_wr_operations', 'flush_operations',
         'flush_total_time_ns', 'invalid_flush_operations', 'invalid_rd_operations',
         'invalid_unmap_operations', 'invalid_wr_operations', 'rd_bytes', 'rd_merged',
         'rd_operations', 'rd_total_time_ns', 'timed_stats', 'unmap_bytes', 'unmap_merged',
         'unmap_operations', 'unmap_total_time_ns', 'wr_bytes', 'wr_highest_offset', 'wr_merged',
         'wr_operations', 'wr_total_time_ns'}


class BlockQueries(QtestCase):
    def start(self):
        self.path = self.image(size=MIB)
        self.drive = self.image('drive.raw', size=MIB)
        return self.vm('-blockdev', 'file,node-name=f0,filename=' + self.path,
                       '-blockdev', 'raw,node-name=d0,file=f0',
                       '-drive', 'if=none,id=x0,format=raw,file=' + self.drive,
                       '-blockdev', 'null-co,node-name=d1,size=1048576',
                       '-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                       '-device', '{"driver":"virtio-blk-pci","id":"v0","drive":"d0",'
                       '"num-queues":4,"request-merging":false,'
                       '"iothread-vq-mapping":[{"iothread":"t0"},{"iothread":"t1"}]}',
                       '-device', 'virtio-blk-pci,id=v1,drive=x0',
                       '-device', 'virtio-blk-pci,id=v2,drive=d1,werror=report,rerror=report')

    def by_qdev(self, entries):
        return {e['qdev'].split('/')[3]: e for e in entries if 'qdev' in e}

    def test_query_block(self):
        vm = self.start()
        entries = self.by_qdev(vm.qmp('query-block'))
        self.assertEqual(sorted(entries), ['v0', 'v1', 'v2'])
        for name, entry in entries.items():
            self.assertEqual(entry['qdev'], '/machine/peripheral/%s/virtio-backend' % name)
            self.assertEqual((entry['locked'], entry['removable'], entry['type']),
                             (False, False, 'unknown'))
            self.assertLessEqual(INSERTED, set(entry['inserted']))
        self.assertEqual([entries[v]['device'] for v in ('v0', 'v1', 'v2')], ['', 'x0', ''])
        self.assertEqual([entries[v].get('io-status') for v in ('v0', 'v1', 'v2')],
                         ['ok', 'ok', None])
        inserted = entries['v0']['inserted']
        self.assertEqual((inserted['node-name'], inserted['drv'], inserted['file'], inserted['ro']),
                         ('d0', 'raw', self.path, False))
        self.assertEqual(inserted['cache'], {'no-flush': False, 'direct': False, 'writeback': True})
        image = inserted['image']
        self.assertEqual((image['virtual-size'], image['filename'], image['format'],
                          image['dirty-flag']), (MIB, self.path, 'raw', False))
        self.assertEqual(entries['v2']['inserted']['image']['filename'],
                         'json:{"driver": "null-co", "size": 1048576}')

    def test_named_nodes(self):
        vm = self.start()
        nodes = {n['node-name']: n for n in vm.qmp('query-named-block-nodes')}
        self.assertLessEqual({'d0', 'f0', 'd1'}, set(nodes))
        automatic = [n for n in nodes if n.startswith('#block')]
        self.assertEqual(len(automatic), 2, 'the two nodes of -drive')
        self.assertEqual((nodes['d0']['drv'], nodes['f0']['drv']), ('raw', 'file'))
        self.assertEqual(nodes['f0']['image']['format-specific'], {'type': 'file', 'data': {}})
        self.assertEqual(nodes['d0']['image']['virtual-size'], MIB)

    def test_counting(self):
        vm = self.start()
        disk = Disk.start(vm)

        def stats():
            return self.by_qdev(vm.qmp('query-blockstats'))['v0']['stats']
        first = stats()
        self.assertLessEqual(STATS, set(first))
        self.assertTrue(all(first[k] == 0 for k in STATS if k.endswith(('operations', 'bytes',
                                                                        'merged', '_ns'))))
        self.assertEqual(first['timed_stats'], [])
        # On all queues, so that what each thread counted is summed up.
        for q in range(4):
            for i in range(8):
                disk.add(q, OUT, 64 * q + 8 * i, data=bytes(4096))
                disk.add(q, IN, 1024 + 64 * q + 8 * i, size=2048)
            disk.kick(q)
        for q in range(4):
            for r in disk.reap(q, 16):
                self.assertEqual(r.status(), OK)
        for _ in range(3):
            disk.flush(1)
        after = stats()
        self.assertEqual((after['wr_operations'], after['wr_bytes'], after['rd_operations'],
                          after['rd_bytes'], after['flush_operations']),
                         (32, 32 * 4096, 32, 32 * 2048, 3))
        self.assertEqual(after['wr_highest_offset'], (64 * 3 + 8 * 8) * 512)
        for name in ('wr_total_time_ns', 'rd_total_time_ns', 'flush_total_time_ns'):
            self.assertGreater(after[name], 0)
        disk.read_status(2, 1 << 40, 512)
        self.assertEqual(stats()['invalid_rd_operations'], 1)

    def test_blockstats_members(self):
        vm = self.start()
        entry = self.by_qdev(vm.qmp('query-blockstats'))['v0']
        self.assertEqual((entry['node-name'], entry['device']), ('d0', ''))
        self.assertEqual(entry['parent']['node-name'], 'f0')
        nodes = vm.qmp('query-blockstats', query_nodes=True)
        self.assertLessEqual({'d0', 'f0', 'd1'}, {n['node-name'] for n in nodes})
        for n in nodes:
            self.assertNotIn('qdev', n)

    def test_after_unplug(self):
        vm = self.vm('-device', 'pcie-root-port,id=rp0,chassis=1,slot=1',
                     '-blockdev', 'null-co,node-name=d0')
        vm.qmp('device_add', driver='virtio-blk-pci', id='v0', drive='d0', bus='rp0')
        self.assertEqual(sorted(self.by_qdev(vm.qmp('query-block'))), ['v0'])
        vm.qmp('device_del', id='v0')
        vm.qmp('system_reset')
        vm.wait_event('DEVICE_DELETED', match=lambda e: 'device' in e['data'])
        self.assertEqual(vm.qmp('query-block'), [])
        self.assertEqual(vm.nodes(), ['d0'])


if __name__ == '__main__':
    main()
