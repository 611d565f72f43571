# SPDX-License-Identifier: GPL-2.0-or-later
"""A libvirtd of the test's own: in a mount namespace, with empty folders over those it would use.

A test program calls `main()` of this module; it starts itself again inside such a namespace. Without
root, or without libvirt, every test case is skipped and says why.
"""
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ET

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, 'tests', 'qtest'))

from lib.process import BINARY  # noqa: E402
from lib.runner import main as run_cases  # noqa: E402

URI = 'qemu:///system'
WAIT = 60  # seconds; ends a hang, no measure of anything
INSIDE = 'SPINDLE_TEST_LIBVIRT_NAMESPACE'
FOLDERS = ['/run/libvirt', '/var/lib/libvirt', '/var/cache/libvirt', '/var/log/libvirt']
PROGRAMS = ['libvirtd', 'virtlogd', 'virsh', 'unshare', 'mount']


def missing():
    """Why libvirt cannot be started here; None if it can."""
    if os.geteuid() != 0:
        return 'libvirtd needs root'
    lost = [p for p in PROGRAMS if not shutil.which(p)]
    if lost:
        return 'not installed: %s (scripts/install-deps libvirt)' % ', '.join(lost)
    version = subprocess.run(['libvirtd', '--version'], capture_output=True, text=True).stdout
    found = re.search(r'(\d+)\.\d+\.\d+', version)
    if not found or int(found.group(1)) < 10:
        return 'libvirt is too old to know iothread mappings'
    return None


def can_run_guests():
    """Why a domain of type kvm cannot be started here; None if it can."""
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return 'no access to /dev/kvm'
    return None


class VirshError(Exception):
    pass


class Libvirt:
    """The daemons, and virsh."""

    def __init__(self):
        self.log = tempfile.mktemp(prefix='spindle-libvirt-qmp.', suffix='.log')
        self._procs = []
        self._isolate()
        # The emulator has to be where the user that libvirt runs it as can reach it.
        self.work = '/run/libvirt/spindle'
        os.makedirs(self.work, mode=0o755)
        self.emulator = os.path.join(self.work, 'qemu-system-x86_64')
        shutil.copy2(BINARY, self.emulator)
        self._start('virtlogd', {})
        self.start()

    @staticmethod
    def _isolate():
        etc = tempfile.mkdtemp()
        shutil.copytree('/etc/libvirt', etc, dirs_exist_ok=True)
        for folder in FOLDERS + ['/etc/libvirt']:
            os.makedirs(folder, exist_ok=True)
            subprocess.run(['mount', '-t', 'tmpfs', 'none', folder], check=True)
        for folder in ('/var/lib/libvirt/qemu', '/var/log/libvirt/qemu'):
            os.makedirs(folder)
        shutil.copytree(etc, '/etc/libvirt', dirs_exist_ok=True)
        shutil.rmtree(etc)
        # Where only root may use KVM, the user that libvirt runs emulators as may, in here.
        if os.path.exists('/dev/kvm'):
            device = os.stat('/dev/kvm').st_rdev
            os.mknod('/run/libvirt/kvm', 0o666 | stat.S_IFCHR, device)
            os.chmod('/run/libvirt/kvm', 0o666)
            subprocess.run(['mount', '--bind', '/run/libvirt/kvm', '/dev/kvm'], check=True)

    def _start(self, program, env):
        err = open(os.path.join('/run/libvirt', program + '.stderr'), 'ab')
        self._procs.append(subprocess.Popen([shutil.which(program)], stdin=subprocess.DEVNULL,
                                            stdout=err, stderr=err, env={**os.environ, **env}))
        err.close()

    def start(self):
        self._start('libvirtd', {'LIBVIRT_LOG_FILTERS': '1:qemu.qemu_monitor',
                                 'LIBVIRT_LOG_OUTPUTS': '1:file:' + self.log})
        end = time.monotonic() + WAIT
        while subprocess.run(['virsh', '-c', URI, 'uri'], capture_output=True).returncode:
            if self._procs[-1].poll() is not None or time.monotonic() > end:
                raise RuntimeError('libvirtd does not start: ' +
                                   open('/run/libvirt/libvirtd.stderr').read()[-2000:])
            time.sleep(0.05)

    def stop(self):
        """Ends libvirtd; domains go on."""
        daemon = self._procs.pop()
        daemon.terminate()
        daemon.wait(WAIT)

    def close(self):
        for p in reversed(self._procs):
            p.terminate()
            try:
                p.wait(WAIT)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        if os.path.exists(self.log):
            os.unlink(self.log)

    def virsh(self, *args, check=True):
        p = subprocess.run(['virsh', '-q', '-c', URI, *args], capture_output=True, text=True,
                           timeout=10 * WAIT)
        if check and p.returncode:
            raise VirshError('virsh %s: %s' % (' '.join(args), p.stderr.strip()))
        return p.stdout if check else p

    def qmp_commands(self):
        """All that was sent so far, as (command, arguments)."""
        out = []
        with open(self.log, errors='replace') as f:
            for line in f:
                found = re.search(r'QEMU_MONITOR_SEND_MSG: mon=\S+ msg=(\{.*\})', line)
                if found:
                    m = json.loads(found.group(1))
                    out.append((m['execute'], m.get('arguments', {})))
        return out

    def capability_flags(self, emulator=None):
        emulator = emulator or self.emulator
        self.virsh('domcapabilities', '--emulatorbin', emulator)
        folder = '/var/cache/libvirt/qemu/capabilities'
        for name in os.listdir(folder):
            root = ET.parse(os.path.join(folder, name)).getroot()
            if root.findtext('emulator') == emulator:
                return {f.get('name') for f in root.iter('flag')}
        raise RuntimeError('libvirt kept no capabilities of %s' % emulator)


def eventually(condition, what):
    end = time.monotonic() + WAIT
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError('in vain: ' + what)
        time.sleep(0.05)


def bare_guest(path):
    """Builds the guest that needs no operating system."""
    subprocess.run([os.path.join(TOP, 'tests', 'bench', 'build.sh'), path], check=True,
                   capture_output=True)


class LibvirtCase(unittest.TestCase):
    """Test cases share the daemons; each has a folder for images, and domains that end with it."""
    maxDiff = 4000
    libvirt = None

    def setUp(self):
        reason = missing()
        if reason:
            self.skipTest(reason)
        if LibvirtCase.libvirt is None:
            LibvirtCase.libvirt = Libvirt()

    def virsh(self, *args):
        return self.libvirt.virsh(*args)

    def virsh_fails(self, *args):
        """Its stderr."""
        p = self.libvirt.virsh(*args, check=False)
        self.assertNotEqual(p.returncode, 0, p.stdout)
        return p.stderr

    def image(self, name, size=64 << 20):
        path = os.path.join(self.libvirt.work, name)
        with open(path, 'wb') as f:
            f.truncate(size)
        self.addCleanup(os.unlink, path)
        return path

    def define(self, xml):
        name = re.search('<name>(.*?)</name>', xml).group(1)
        path = os.path.join(self.libvirt.work, name + '.xml')
        with open(path, 'w') as f:
            f.write(xml)
        self.virsh('define', path)
        self.addCleanup(self.libvirt.virsh, 'undefine', name, check=False)
        self.addCleanup(self.libvirt.virsh, 'destroy', name, check=False)
        return name

    def attach(self, domain, xml):
        path = os.path.join(self.libvirt.work, 'device.xml')
        with open(path, 'w') as f:
            f.write(xml)
        self.virsh('attach-device', domain, path, '--live')

    def qmp(self, domain, execute, **arguments):
        text = json.dumps({'execute': execute, 'arguments': arguments})
        return json.loads(self.virsh('qemu-monitor-command', domain, text))['return']

    def pid(self, domain):
        with open('/run/libvirt/qemu/%s.pid' % domain) as f:
            return int(f.read())


def disk_xml(path, target, queues, mapping=None, extra='', driver='', boot=None):
    """A raw virtio disk; `mapping` is a list of (iothread number, queues or None)."""
    threads = ''.join(
        '<iothread id="%d">%s</iothread>' % (
            n, ''.join('<queue id="%d"/>' % q for q in vqs or []))
        for n, vqs in mapping or [])
    return '''<disk type="file" device="disk">
      <driver name="qemu" type="raw" cache="none" io="io_uring" queues="%d" %s>%s</driver>
      <source file="%s"/><target dev="%s" bus="virtio"/>%s%s</disk>''' % (
          queues, driver, '<iothreads>%s</iothreads>' % threads if mapping else '', path, target,
          '<boot order="%d"/>' % boot if boot else '', extra)


def domain_xml(name, emulator, disks, *, machine='q35', iothreads=2, vcpus=2, kernel=None,
               cmdline='', cpu='', extra='', serial=None, memory=256):
    boot = '<kernel>%s</kernel><cmdline>%s</cmdline>' % (kernel, cmdline) if kernel else ''
    serial = serial or '<serial type="null"><target port="0"/></serial>'
    return '''<domain type="kvm">
  <name>%s</name><memory unit="MiB">%d</memory><vcpu>%d</vcpu><iothreads>%d</iothreads>
  <os><type arch="x86_64" machine="%s">hvm</type>%s</os>
  <features><acpi/></features>%s
  <devices><emulator>%s</emulator>
    %s
    %s
    <controller type="usb" model="none"/><memballoon model="none"/>%s
  </devices></domain>''' % (name, memory, vcpus, iothreads, machine, boot, cpu, emulator,
                            '\n'.join(disks), serial, extra)


# Of a q35 machine: libvirt adds as many root ports as there are disks, and this one.
SPARE_PORT = ('<controller type="pci" index="0" model="pcie-root"/>'
              '<controller type="pci" model="pcie-root-port"/>')


def main():
    if not os.environ.get(INSIDE) and missing() is None:
        env = {**os.environ, INSIDE: '1'}
        os.execvpe('unshare', ['unshare', '--mount', '--propagation', 'private', sys.executable,
                               os.path.abspath(sys.argv[0]), *sys.argv[1:]], env)
    try:
        run_cases()
    finally:
        if LibvirtCase.libvirt:
            LibvirtCase.libvirt.close()
