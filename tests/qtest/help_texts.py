#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What -device help, -object help and their like print."""
import re

from lib import QtestCase, is_spindle, main, run_binary

LINE = re.compile(r'^  (\S+?)=<(\S+)>(?:( +)- (.*))?$')
DEVICES = ('virtio-blk-pci', 'virtio-blk-pci-transitional', 'virtio-blk-pci-non-transitional',
           'virtio-blk-device', 'pcie-root-port', 'pci-bridge')


class HelpTexts(QtestCase):
    def run_help(self, *args):
        result = run_binary([*args])
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        return result.stdout

    def options(self, text, title):
        lines = text.splitlines()
        self.assertEqual(lines[0], title)
        found = []
        for line in lines[1:]:
            match = LINE.match(line)
            self.assertTrue(match, line)
            if match.group(3):
                # The description starts in column 25, or one blank after a longer name.
                start = line.index(match.group(3) + '- ', line.index('>')) + len(match.group(3))
                self.assertTrue(start == 25 or (start > 25 and match.group(3) == ' '), line)
            found.append((match.group(1), match.group(2), match.group(4)))
        self.assertEqual(lines[1:], sorted(lines[1:]))
        return found

    def test_device_options(self):
        for device in DEVICES:
            with self.subTest(device):
                text = self.run_help('-device', device + ',help')
                found = self.options(text, device + ' options:')
                self.assertGreater(len(found), 5)
                self.assertEqual(self.run_help('-device', device + ',?'), text)
                self.assertEqual(self.run_help('-device', device + ',drive=x,help'), text)

    def test_virtio_blk_lines(self):
        lines = self.run_help('-device', 'virtio-blk-pci,help').splitlines()
        self.assertEqual(len(lines), 80)
        for wanted in (
                '  iothread=<link<iothread>>',
                '  num-queues=<uint16>    -  (default: 65535)',
                '  ioeventfd=<bool>       - on/off (default: on)',
                '  drive=<str>            - Node name or ID of a block device to use as a backend',
                '  bootindex=<int32>',
                '  iothread-vq-mapping=<IOThreadVirtQueueMappingList> - IOThread virtqueue mapping '
                'list [{"iothread":"<id>", "vqs":[1,2,3,...]},...]'):
            self.assertIn(wanted, lines)

    def test_unknown_device(self):
        result = run_binary(['-device', 'nosuch,help'])
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stderr.endswith(": -device nosuch,help: Device 'nosuch' not found\n"))

    def test_device_list(self):
        text = self.run_help('-device', 'help')
        self.assertEqual(self.run_help('-device', '?'), text)
        self.assertIn('Storage devices:\n', text)
        storage = text.split('Storage devices:\n')[1].split('\n\n')[0]
        for name in ('virtio-blk-pci', 'virtio-blk-pci-transitional', 'virtio-blk-device',
                     'virtio-blk-pci-non-transitional'):
            self.assertRegex(storage, r'(?m)^name "%s", bus ' % name)
        self.assertRegex(text, r'(?m)^name "virtio-blk-pci", bus PCI, alias "virtio-blk"$')
        self.assertNotIn('name "virtio-blk-pci-base"', text)

    def test_json_device_has_no_help(self):
        result = run_binary(['-device', '{"driver":"virtio-blk-pci","drive":"n0"},help'])
        self.assertEqual(result.returncode, 1)
        self.assertIn('Expecting at most one JSON value', result.stderr)

    def test_object_list(self):
        text = self.run_help('-object', 'help')
        lines = text.splitlines()
        self.assertEqual(lines[0], 'List of user creatable objects:')
        for name in ('iothread', 'main-loop', 'memory-backend-ram'):
            self.assertIn('  ' + name, lines)
        self.assertEqual(self.run_help('-object', '?'), text)

    def test_iothread_options(self):
        lines = self.run_help('-object', 'iothread,help').splitlines()
        self.assertEqual(lines[0], 'iothread options:')
        wanted = ['  %s=<int>' % n for n in ('aio-max-batch', 'poll-grow', 'poll-max-ns',
                                             'poll-shrink', 'thread-pool-max', 'thread-pool-min')]
        for line in wanted:
            self.assertIn(line, lines)
        self.assertEqual(lines[1:], sorted(lines[1:]))
        if not is_spindle():
            self.assertEqual(lines[1:], wanted)

    def test_unknown_object(self):
        result = run_binary(['-object', 'nosuch,help'])
        self.assertEqual(result.returncode, 1)
        self.assertIn("Parameter 'qom-type' does not accept value 'nosuch'", result.stderr)

    def test_machines(self):
        for option in ('-M', '-machine'):
            text = self.run_help(option, 'help')
            self.assertEqual(text.splitlines()[0], 'Supported machines are:')
            self.assertRegex(text, r'(?m)^q35 +.*\(alias of pc-q35-10\.0\)$')
            self.assertRegex(text, r'(?m)^pc +.*\(alias of pc-i440fx-10\.0\)$')
            self.assertRegex(text, r'(?m)^pc-i440fx-10\.0 +.*\(default\)$')
            self.assertRegex(text, r'(?m)^none ')

    def test_accelerators(self):
        text = self.run_help('-accel', 'help')
        self.assertEqual(text.splitlines()[0], 'Accelerators supported in QEMU binary:')
        if is_spindle():
            self.assertIn('qtest', text.splitlines())

    def test_version(self):
        for option in ('-version', '--version'):
            text = self.run_help(option)
            self.assertTrue(text.startswith('QEMU emulator version 10.0.2 ('))
            if is_spindle():
                self.assertTrue(text.startswith('QEMU emulator version 10.0.2 (Spindle 0.1.0)\n'))

    def test_usage(self):
        for option in ('-h', '--help', '-help'):
            text = self.run_help(option)
            for name in ('-device', '-object', '-blockdev', '-drive', '-machine', '-qmp', '-chardev',
                         '-smp', '-m ', '-S', '-qtest'):
                if name == '-qtest' and not is_spindle():
                    continue
                self.assertIn(name, text)

    def test_drive_formats(self):
        text = run_binary(['-drive', 'format=help']).stdout
        for name in ('raw', 'file', 'host_device', 'null-co', 'null-aio'):
            self.assertRegex(text, r'\b%s\b' % name)

    def test_unknown_option(self):
        result = run_binary(['-nosuch'])
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.endswith(': -nosuch: invalid option\n'), result.stderr)
        result = run_binary(['-device'])
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.endswith(': -device: requires an argument\n'), result.stderr)

    def test_monitor_help(self):
        """The same lists in the monitor, without ending the machine."""
        vm = self.vm(machine='none')
        text = vm.hmp('device_add virtio-blk-pci,help')
        self.assertEqual(len(text.splitlines()), 80)
        self.assertEqual(text.splitlines()[0], 'virtio-blk-pci options:')
        self.assertTrue(text.endswith('\r\n'))
        self.assertEqual(vm.status(), 'running')


if __name__ == '__main__':
    main()
