#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""x-query-virtio and its family."""
import json

from lib import IN, OK, OUT, Disk, QtestCase, main

ALL = [
    'VHOST_USER_F_PROTOCOL_FEATURES: Vhost-user protocol features negotiation supported',
    'VIRTIO_BLK_F_CONFIG_WCE: Cache writeback and writethrough modes supported',
    'VIRTIO_BLK_F_FLUSH: Flush command supported',
    'VIRTIO_BLK_F_WRITE_ZEROES: Write zeroes command supported',
    'VIRTIO_BLK_F_DISCARD: Discard command supported',
    'VIRTIO_BLK_F_MQ: Multiqueue supported',
    'VIRTIO_BLK_F_TOPOLOGY: Topology information available',
    'VIRTIO_BLK_F_BLK_SIZE: Block size of disk available',
    'VIRTIO_BLK_F_GEOMETRY: Legacy geometry available',
    'VIRTIO_BLK_F_SEG_MAX: Max segments in a request is seg_max',
]
EVENT = 'VIRTIO_RING_F_EVENT_IDX: Used & avail. event fields enabled'
INDIRECT = 'VIRTIO_RING_F_INDIRECT_DESC: Indirect descriptors supported'
RESET = 'VIRTIO_F_RING_RESET: Driver can reset a queue individually'
VERSION = 'VIRTIO_F_VERSION_1: Device compliant for v1 spec (legacy)'
LAYOUT = 'VIRTIO_F_ANY_LAYOUT: Device accepts arbitrary desc. layouts'
EMPTY = 'VIRTIO_F_NOTIFY_ON_EMPTY: Notify when device runs out of avail. descs. on VQ'
UP = ['VIRTIO_CONFIG_S_ACKNOWLEDGE: Valid virtio device found',
      'VIRTIO_CONFIG_S_DRIVER: Guest OS compatible with device',
      'VIRTIO_CONFIG_S_FEATURES_OK: Feature negotiation complete',
      'VIRTIO_CONFIG_S_DRIVER_OK: Driver setup and ready']


def path(dev):
    return '/machine/peripheral/%s/virtio-backend' % dev


class QueryVirtio(QtestCase):
    def start(self, threads=True):
        device = {'driver': 'virtio-blk-pci', 'id': 'v0', 'drive': 'd0', 'num-queues': 2}
        if threads:
            device['iothread-vq-mapping'] = [{'iothread': 't0'}, {'iothread': 't1'}]
        return self.vm('-object', 'iothread,id=t0', '-object', 'iothread,id=t1',
                       '-blockdev', 'null-co,node-name=d0,size=1048576', '-device',
                       json.dumps(device), '-blockdev',
                       'null-co,node-name=d1,size=1048576,read-only=on', '-device',
                       'virtio-blk-pci,id=v1,drive=d1')

    def test_list(self):
        vm = self.start()
        self.assertEqual(sorted((d['path'], d['name']) for d in vm.qmp('x-query-virtio')),
                         [(path('v0'), 'virtio-blk'), (path('v1'), 'virtio-blk')])

    def test_status(self):
        vm = self.start()
        none = {'transports': [], 'dev-features': []}
        offered = {'transports': [EVENT, INDIRECT, RESET, VERSION, LAYOUT, EMPTY],
                   'dev-features': ALL}
        wanted = {
            'name': 'virtio-blk', 'device-id': 2, 'vhost-started': False,
            'device-endian': 'little', 'bus-name': '', 'disable-legacy-check': False,
            'started': False, 'start-on-kick': False, 'backend-features': none,
            'guest-features': none, 'host-features': offered, 'isr': 0, 'broken': False,
            'status': {'statuses': []}, 'num-vqs': 2, 'use-guest-notifier-mask': True,
            'vm-running': True, 'queue-sel': 0, 'disabled': False, 'use-started': True}
        self.assertEqual(vm.qmp('x-query-virtio-status', path=path('v0')), wanted)
        disk = Disk.start(vm, 'v0', event_idx=True, indirect=True)
        self.assertEqual(disk.write(0, 0, bytes(512)), OK)
        vm.qmp('stop')
        status = vm.qmp('x-query-virtio-status', path=path('v0'))
        self.assertEqual(status['guest-features'], {'transports': [EVENT, INDIRECT, VERSION],
                                                    'dev-features': ALL[1:]})
        self.assertEqual(status['status'], {'statuses': UP})
        self.assertEqual((status['started'], status['vm-running'], status['isr'],
                          status['queue-sel']), (True, False, 1, 1))
        self.assertIn('VIRTIO_BLK_F_RO: Device is read-only',
                      vm.qmp('x-query-virtio-status', path=path('v1'))['host-features'][
                          'dev-features'])

    def test_queue_status(self):
        vm = self.start()
        disk = Disk.start(vm, 'v0')
        for i in range(3):
            self.assertEqual(disk.write(1, i, bytes(512)), OK)
        ring = disk.queue(1)
        status = vm.qmp('x-query-virtio-queue-status', path=path('v0'), queue=1)
        for key in ('signalled-used', 'signalled-used-valid'):
            status.pop(key)
        self.assertEqual(status, {
            'name': 'virtio-blk', 'queue-index': 1, 'inuse': 0, 'vring-num': ring.size,
            'vring-num-default': 256, 'vring-align': 4096, 'vring-desc': ring.desc,
            'vring-avail': ring.avail, 'vring-used': ring.used, 'last-avail-idx': 3,
            'shadow-avail-idx': 3, 'used-idx': 3})

    def test_requests_in_use(self):
        vm = self.vm('-object', 'iothread,id=t0', '-blockdev',
                     'null-co,node-name=d0,size=1048576,latency-ns=700000000', '-device',
                     'virtio-blk-pci,id=v0,drive=d0,iothread=t0,request-merging=off')
        disk = Disk.start(vm, 'v0')
        for i in range(3):
            disk.add(0, OUT, 2 * i, data=bytes(512))
        disk.kick(0)
        self.settles(lambda: vm.qmp('x-query-virtio-queue-status', path=path('v0'),
                                    queue=0)['last-avail-idx'], 3, 'chains taken')
        disk.reap(0)
        self.settles(lambda: vm.qmp('x-query-virtio-queue-status', path=path('v0'),
                                    queue=0)['inuse'], 0, 'chains given back')

    def test_queue_element(self):
        vm = self.start(threads=False)
        disk = Disk.start(vm, 'v0')
        write = disk.add(0, OUT, 0, data=bytes(512))
        read = disk.add(0, IN, 8, size=1024)
        disk.kick(0)
        disk.reap(0, 2)
        element = vm.qmp('x-query-virtio-queue-element', path=path('v0'), queue=0, index=0)
        self.assertEqual(element, {
            'name': 'virtio-blk', 'index': write.head,
            'descs': [{'addr': write.status_addr, 'len': 1, 'flags': ['write']},
                      {'addr': write.data, 'len': 512, 'flags': ['next']},
                      {'addr': write.header, 'len': 16, 'flags': ['next']}],
            'avail': {'flags': 0, 'idx': 2, 'ring': write.head},
            'used': {'flags': 0, 'idx': 2}})
        element = vm.qmp('x-query-virtio-queue-element', path=path('v0'), queue=0, index=1)
        self.assertEqual(element['index'], read.head)
        self.assertEqual(sorted(element['descs'][1].pop('flags')), ['next', 'write'])
        self.assertEqual(element['descs'][1], {'addr': read.data, 'len': 1024})

    def test_errors(self):
        vm = self.start()
        fails = self.qmp_fails
        fails(vm, 'x-query-virtio-status', 'Path /nope is not a realized VirtIODevice',
              path='/nope')
        fails(vm, 'x-query-virtio-status', 'Path /machine/peripheral/v0 is not a realized '
              'VirtIODevice', path='/machine/peripheral/v0')
        fails(vm, 'x-query-virtio-queue-status', 'Path /x is not a VirtIODevice', path='/x',
              queue=0)
        fails(vm, 'x-query-virtio-queue-status', 'Invalid virtqueue number 2', path=path('v0'),
              queue=2)
        fails(vm, 'x-query-virtio-queue-element', 'Path /x is not a VirtIO device', path='/x',
              queue=0)
        fails(vm, 'x-query-virtio-queue-element', 'Invalid virtqueue number 1024',
              path=path('v0'), queue=1024)
        fails(vm, 'x-query-virtio-queue-element', 'Region caches not initialized',
              path=path('v0'), queue=0)


if __name__ == '__main__':
    main()
