#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A firmware image of -bios runs on KVM, finds the machine's devices and speaks by isa-debugcon."""
import os
import signal
import subprocess

from bare import BINARY, LIMIT, KvmCase, main, vqload
from lib import run_binary
from lib.process import _running, popen

IMAGES = ('/usr/share/seabios/bios-256k.bin', '/usr/share/qemu/bios-256k.bin')


class Firmware(KvmCase):
    def setUp(self):
        super().setUp()
        self.image_path = next((p for p in IMAGES if os.path.exists(p)), None)
        if not self.image_path:
            self.skipTest('needs SeaBIOS (package seabios)')

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        _running.discard(process)
        return process.wait(LIMIT)

    def test_seabios(self):
        for machine, said in (('q35', 'Running on QEMU (q35)'), ('pc', 'Running on QEMU (i440fx)')):
            with self.subTest(machine):
                log = os.path.join(self.tmp, machine)
                process = popen([BINARY, '-M', machine, '-accel', 'kvm', '-cpu', vqload.CPU_MODEL, '-m',
                                 '64', '-nodefaults', '-display', 'none', '-bios', self.image_path,
                                 '-chardev', 'file,id=log,path=' + log, '-device',
                                 'isa-debugcon,iobase=0x402,chardev=log', '-blockdev',
                                 'null-co,node-name=d', '-device', 'virtio-blk-pci,drive=d,addr=0x6'],
                                stdin=subprocess.DEVNULL)
                self.addCleanup(self.end, process)

                def text():
                    if not os.path.exists(log):
                        return ''
                    with open(log, encoding='utf-8', errors='replace') as f:
                        return f.read()
                # Where kernel mode is emulated this takes seconds; what follows, minutes.
                self.settles(lambda: 'init bdf=00:06.0 id=1af4:1001' in text(), True,
                             'the firmware finds the disk', LIMIT)
                self.assertIn('SeaBIOS (version', text())
                self.assertIn(said, text())
                self.assertIn('Running on KVM', text())
                self.assertEqual(self.end(process), 0)

    def test_debugcon_needs_a_chardev(self):
        for option, message in (('isa-debugcon', "Can't create debugcon device, empty char device"),
                                ('isa-debugcon,chardev=x',
                                 "Property 'isa-debugcon.chardev' can't find value 'x'")):
            done = run_binary(['-M', 'pc', '-accel', 'kvm', '-display', 'none', '-device', option])
            self.assertEqual(done.returncode, 1)
            self.assertIn('-device %s: %s' % (option, message), done.stderr)


if __name__ == '__main__':
    main()
