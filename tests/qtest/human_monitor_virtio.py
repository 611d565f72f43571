#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the human monitor shows of virtio devices and their queues."""
from lib import Disk, QtestCase, main
from lib.blk import IN, OUT

PATH = '/machine/peripheral/v0/virtio-backend'

STATUS = '''%s:
  device_name:             virtio-blk%s
  device_id:               2
  vhost_started:           false
  bus_name:                (null)
  broken:                  false
  disabled:                false
  disable_legacy_check:    false
  started:                 %s
  use_started:             true
  start_on_kick:           false
  use_guest_notifier_mask: true
  vm_running:              true
  num_vqs:                 1
  queue_sel:               0
  isr:                     0
  endianness:              little
  status:
'''
DRIVER_READY = '''\tVIRTIO_CONFIG_S_ACKNOWLEDGE: Valid virtio device found,
\tVIRTIO_CONFIG_S_DRIVER: Guest OS compatible with device,
\tVIRTIO_CONFIG_S_FEATURES_OK: Feature negotiation complete,
\tVIRTIO_CONFIG_S_DRIVER_OK: Driver setup and ready
'''
QUEUE = '''%s:
  device_name:          virtio-blk
  queue_index:          0
  inuse:                0
  used_idx:             %d
  signalled_used:       0
  signalled_used_valid: false
  last_avail_idx:       %d
  shadow_avail_idx:     %d
  VRing:
    num:          %d
    num_default:  256
    align:        4096
    desc:         0x%016x
    avail:        0x%016x
    used:         0x%016x
'''
ELEMENT = '''%s:
  device_name: virtio-blk
  index:   %d
  desc:
    descs:
        addr 0x%x len 1 (write),
        addr 0x%x len 1024 (write, next),
        addr 0x%x len 16 (next)
  avail:
    flags: 0
    idx:   2
    ring:  %d
  used:
    flags: 0
    idx:   2
'''


class HumanMonitorVirtio(QtestCase):
    def start(self):
        return self.vm('-blockdev', 'null-co,node-name=d0,size=1048576,read-zeroes=on',
                       '-device', 'virtio-blk-pci,id=v0,drive=d0,addr=5')

    def show(self, vm, line):
        return vm.hmp(line).replace('\r\n', '\n')

    def test_list(self):
        self.assertEqual(self.show(self.vm(), 'info virtio'), 'Error: No virtio devices found\n')
        self.assertEqual(self.show(self.start(), 'info virtio'), PATH + ' [virtio-blk]\n')

    def test_status(self):
        vm = self.start()
        text = self.show(vm, 'info virtio-status ' + PATH)
        self.assertTrue(text.startswith(STATUS % (PATH, ' ', 'false') + '\n  Guest features:\n\n'), text)
        self.assertTrue(text.endswith(
            '\tVIRTIO_BLK_F_SEG_MAX: Max segments in a request is seg_max\n'
            '  Backend features:\n\n'), text)
        Disk.start(vm, 'v0')
        text = self.show(vm, 'info virtio-status ' + PATH)
        self.assertTrue(text.startswith(
            STATUS % (PATH, ' ', 'true') + DRIVER_READY + '  Guest features:\n'
            '\tVIRTIO_F_VERSION_1: Device compliant for v1 spec (legacy)\n'
            '\tVIRTIO_BLK_F_CONFIG_WCE: Cache writeback and writethrough modes supported,\n'), text)

    def test_queue(self):
        vm = self.start()
        disk = Disk.start(vm, 'v0')
        ring = disk.queue(0)
        for used in (0, 2):
            self.assertEqual(
                self.show(vm, 'info virtio-queue-status %s 0' % PATH),
                QUEUE % (PATH, used, used, used, ring.size, ring.desc, ring.avail, ring.used))
            if not used:
                disk.add(0, OUT, 0, data=bytes(512))
                read = disk.add(0, IN, 8, size=1024)
                disk.kick(0)
                disk.reap(0, 2)
        for number in ('1', '0x1'):
            self.assertEqual(
                self.show(vm, 'info virtio-queue-element %s 0 %s' % (PATH, number)),
                ELEMENT % (PATH, read.head, read.status_addr, read.data, read.header, read.head))

    def test_errors(self):
        vm = self.start()

        def fails(line, text):
            self.assertEqual(self.show(vm, 'info ' + line), text + '\n', line)

        def misused(line, text):
            fails(line, '%s\nTry "help info %s" for more information' % (text, line.split()[0]))
        fails('virtio-status /machine', 'Error: Path /machine is not a realized VirtIODevice')
        misused('virtio-status', 'virtio-status: string expected')
        misused('virtio x', 'virtio: extraneous characters at the end of line')
        for kind in ('status', 'element'):
            name = 'virtio-queue-' + kind
            fails('%s %s 1' % (name, PATH), 'Error: Invalid virtqueue number 1')
            fails('%s /nope 0' % name, 'Error: Path /nope is not a %s' %
                  ('VirtIODevice' if kind == 'status' else 'VirtIO device'))
            misused('%s %s' % (name, PATH), 'unexpected end of expression')
            misused('%s %s x' % (name, PATH), "invalid char 'x' in expression")
            misused('%s %s -1' % (name, PATH),
                    "'%s' has failed: integer is for 32-bit values" % name)
        misused('virtio-queue-status %s 0 0' % PATH,
                'virtio-queue-status: extraneous characters at the end of line')
        fails('virtio-queue-element %s 0' % PATH, 'Error: Region caches not initialized')
        fails('virtio-vhost-queue-status %s 0' % PATH,
              'Error: Error: vhost device has not started yet')
        fails('virtio-vhost-queue-status /nope 0', 'Error: Path /nope is not a VirtIODevice')
        self.qmp_fails(vm, 'x-query-virtio-vhost-queue-status',
                       'Error: vhost device has not started yet', path=PATH, queue=0)


if __name__ == '__main__':
    main()
