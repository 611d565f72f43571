# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the tests run: on this host's KVM if it runs guest kernels, otherwise in the rig."""
import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
import time

from lib.process import BINARY, REFERENCE, popen, _running

from . import FUNCTIONAL, Unavailable, lean
from .cpio import Archive
from .kernel import CACHE, guest_kernel

# In this order; those that a kernel has built in are passed over.
GUEST_MODULES = ['virtio_ring', 'virtio', 'virtio_pci_legacy_dev', 'virtio_pci_modern_dev',
                 'virtio_pci', 'virtio_blk', 'button', 'pvpanic', 'pvpanic-mmio', 'pvpanic-pci']
PROBE_LIMIT = 20      # seconds; a host that runs guest kernels boots this one in two
PROBE_VALID = 3600    # seconds for which a negative answer, which load can cause, is believed


def tool(name, package):
    path = shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')
    if not path:
        raise Unavailable('needs %s (package %s)' % (name, package))
    return path


def static_busybox():
    path = tool('busybox', 'busybox-static')
    # The dynamic one would do with its libraries, but lacks applets.
    for applet in ('mke2fs', 'blkdiscard'):
        if subprocess.run([path, '--list'], capture_output=True, text=True,
                          timeout=60).stdout.split().count(applet) == 0:
            raise Unavailable('busybox has no %s (package busybox-static)' % applet)
    return path


def guest_initramfs(path, kernel):
    """The guest's root file system."""
    fio = tool('fio', 'fio')
    with Archive(path) as a, tempfile.TemporaryDirectory(prefix='spindle-lean.') as directory:
        a.base(static_busybox())
        lean.add_program(a, fio, 'bin/fio', directory)
        a.program(tool('fallocate', 'util-linux'), 'bin/fallocate')
        kernel.add_modules(a, GUEST_MODULES)
        a.text('init', open(os.path.join(FUNCTIONAL, 'guest-init.sh')).read(), 0o755)


@functools.lru_cache(maxsize=None)
def guest_files():
    """(kernel, initramfs) of guests. In the rig they are there already."""
    if os.environ.get('SPINDLE_GUEST_KERNEL'):
        return os.environ['SPINDLE_GUEST_KERNEL'], os.environ['SPINDLE_GUEST_INITRAMFS']
    kernel = guest_kernel()
    directory = tempfile.mkdtemp(prefix='spindle-guest.')
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    guest_initramfs(directory + '/initramfs', kernel)
    return kernel.image, directory + '/initramfs'


def _boots(binary, limit):
    """Boots a Linux kernel on KVM whose first process says so, and waits for that."""
    with tempfile.TemporaryDirectory(prefix='spindle-probe.') as directory:
        with Archive(directory + '/initramfs') as a:
            a.base(static_busybox())
            a.text('init', '#!/bin/sh\necho GUEST-KERNEL-RUNS\npoweroff -f\n', 0o755)
        p = popen([binary, '-machine', 'q35', '-accel', 'kvm', '-m', '256', '-display', 'none',
                   '-nodefaults', '-no-user-config', '-no-reboot',
                   '-serial', 'file:%s/console' % directory, '-kernel', guest_kernel().image,
                   '-initrd', directory + '/initramfs', '-append', 'console=ttyS0 quiet panic=-1'],
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + limit
        runs = False
        while not runs and time.monotonic() < end:
            ended = p.poll() is not None
            if os.path.exists(directory + '/console'):
                with open(directory + '/console', 'rb') as f:
                    runs = b'GUEST-KERNEL-RUNS' in f.read()
            if ended:
                break
            time.sleep(0.05)
        p.kill()
        p.wait()
        _running.discard(p)
        return runs


def host_runs_guest_kernels():
    """Whether this host's KVM runs guest kernels at a useful speed. Found out by booting one: nested
    KVM may emulate the kernel mode of its guests, and then nothing but the speed shows it. The
    answer is kept until the host boots again."""
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return False
    with open('/proc/sys/kernel/random/boot_id') as f:
        boot = f.read().strip()
    path = os.path.join(CACHE, 'kvm-probe.json')
    try:
        with open(path) as f:
            known = json.load(f)
        if known['boot'] == boot and (known['runs'] or time.time() - known['time'] < PROBE_VALID):
            return known['runs']
    except (OSError, ValueError, KeyError):
        pass
    # The reference, where it is, so that a bug of ours does not look like a host without KVM.
    runs = _boots(REFERENCE if os.access(REFERENCE, os.X_OK) else BINARY, PROBE_LIMIT)
    os.makedirs(CACHE, exist_ok=True)
    with open(path + '.%d' % os.getpid(), 'w') as f:
        json.dump({'boot': boot, 'runs': runs, 'time': time.time()}, f)
    os.rename(f.name, path)
    return runs


def choose():
    """'here' or 'rig'; Unavailable if neither is possible."""
    if os.environ.get('SPINDLE_GUEST_KERNEL') or os.environ.get('SPINDLE_TEST_ACCEL'):
        return 'here'
    if os.environ.get('SPINDLE_RIG') != '1':
        if host_runs_guest_kernels():
            return 'here'
    if not os.access(REFERENCE, os.X_OK):
        raise Unavailable("this host's KVM does not run guest kernels, and the emulator that would "
                          'stand in for it is not installed (scripts/install-reference)')
    return 'rig'
