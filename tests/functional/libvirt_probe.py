#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt finds out what the binary can do, and believes what is true."""
import os
import re
import xml.etree.ElementTree as ET

from libvirtd import LibvirtCase, can_run_guests, main
from lib.process import REFERENCE

# What libvirt needs to be able to use what is built here.
NEEDED = {'aio.io_uring', 'device.json+hotplug', 'virtio-blk.iothread-mapping',
          'virtio-blk.queue-size', 'acpi-index', 'pcie-root-port', 'pcie-root-port.hotplug',
          'virtio-pci-non-transitional', 'isa-serial', 'iothread.thread-pool-max', 'cpu-max',
          'query-cpu-definitions', 'query-cpu-model-expansion', 'x86-max-cpu',
          'memory-backend-memfd', 'memory-backend-memfd.hugetlb', 'seccomp-sandbox',
          'machine-hpet', 'machine-i8042-opt', 'smp-dies', 'smp-clusters', 'chardev-reconnect',
          'chardev-reconnect-miliseconds', 'run-with.async-teardown', 'set-action',
          'kvm-pit-lost-tick-policy', 'cpu.migratable', 'cpu-unavailable-features',
          'canonical-cpu-features'}
# Things that are not built; libvirt must not be led to ask for them.
ABSENT = {'tcg', 'vnc', 'VGA', 'virtio-net', 'usb-hub', 'qemu-xhci', 'virtio-scsi-pci', 'vfio-pci',
          'query-dirty-rate', 'calc-dirty-rate', 'blockdev-set-active', 'qcow2-discard-no-unref',
          'sev-guest-kernel-hashes', 'tpm-emulator', 'vmgenid', 'nvdimm'}


class Probe(LibvirtCase):
    def test_domcapabilities(self):
        root = ET.fromstring(self.virsh('domcapabilities', '--emulatorbin', self.libvirt.emulator,
                                        '--machine', 'q35'))
        self.assertEqual(root.findtext('path'), self.libvirt.emulator)
        self.assertEqual(root.findtext('machine'), 'pc-q35-10.0')
        self.assertEqual(root.find('iothreads').get('supported'), 'yes')
        self.assertIn('virtio', [v.text for v in
                                 root.findall("devices/disk/enum[@name='bus']/value")])
        modes = {m.get('name'): m.get('supported') for m in root.findall('cpu/mode')}
        if can_run_guests() is None:
            self.assertEqual(root.findtext('domain'), 'kvm')
            self.assertEqual((modes['host-passthrough'], modes['maximum'], modes['custom']),
                             ('yes', 'yes', 'yes'))

    def test_flags(self):
        flags = self.libvirt.capability_flags()
        self.assertEqual(NEEDED - flags, set())
        self.assertEqual(ABSENT & flags, set())
        if can_run_guests() is None:
            self.assertIn('kvm', flags)

    def test_flags_are_the_references(self):
        """Nothing is claimed that the reference does not claim, and what is missing is not built."""
        if not os.access(REFERENCE, os.X_OK):
            self.skipTest('the reference is not installed (scripts/install-reference)')
        ours, theirs = self.libvirt.capability_flags(), self.libvirt.capability_flags(REFERENCE)
        self.assertEqual(ours - theirs, set())
        self.assertEqual((theirs - ours) & NEEDED, set())

    def test_replaced_binary_is_probed_again(self):
        self.libvirt.capability_flags()
        before = len(self.libvirt.qmp_commands())
        os.utime(self.libvirt.emulator, (1, 1))
        self.libvirt.capability_flags()
        self.assertIn('query-qmp-schema',
                      [c for c, _ in self.libvirt.qmp_commands()[before:]])

    def test_no_command_fails(self):
        """What libvirt asks for is there, but for devices that are not built."""
        self.libvirt.capability_flags()
        start = os.path.getsize(self.libvirt.log)
        os.utime(self.libvirt.emulator, (2, 2))
        self.libvirt.capability_flags()
        with open(self.libvirt.log, errors='replace') as f:
            f.seek(start)
            errors = re.findall(r'RECV_REPLY: .* reply=(\{"id": "[^"]*", "error": .*)', f.read())
        self.assertEqual([e for e in errors
                          if '"DeviceNotFound"' not in e and 'hv-passthrough' not in e], [])


if __name__ == '__main__':
    main()
