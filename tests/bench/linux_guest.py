# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux guest of `make run`: a distribution's kernel and an initramfs whose first process puts
load on the disk. The parts come from tests/functional."""
import os
import subprocess
import sys

import vqload

TOP = os.path.dirname(os.path.dirname(vqload.HERE))
sys.path.insert(1, os.path.join(TOP, 'tests', 'functional'))

MODULES = ['virtio_ring', 'virtio', 'virtio_pci_legacy_dev', 'virtio_pci_modern_dev', 'virtio_pci',
           'virtio_blk']

# Says START and END as the bare guest does. DONE comes when the console has said everything.
INIT = '''#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
while read -r module; do insmod /mod/$module.ko; done </mod/order
exec >/dev/console 2>&1
n=0
while [ ! -b /dev/vda ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
echo START
fio --name=load --filename=/dev/vda --direct=1 --rw=randrw --rwmixread=70 --bs=4k --size=%(size)dm \\
    --offset_increment=%(size)dm --numjobs=%(jobs)d --iodepth=%(depth)d --ioengine=libaio \\
    --cpus_allowed_policy=split --cpus_allowed=0-%(last)d --verify=crc32c --verify_backlog=64 \\
    --verify_fatal=1 --time_based --runtime=%(seconds)d >/tmp/fio 2>&1
status=$?
echo END
[ $status = 0 ] || { cat /tmp/fio; echo "FAIL fio in the guest ended with status $status"; }
echo DONE
while :; do sleep 1000; done
'''


def problem():
    """None, or why there is no Linux guest to boot. Installs what is missing, if it may."""
    missing = _missing()
    if missing:
        subprocess.run([os.path.join(TOP, 'scripts', 'install-deps'), '--optional', 'rig'],
                       stdin=subprocess.DEVNULL, check=False)
        missing = _missing()
    return missing


def _missing():
    from rig import Unavailable
    from rig.kernel import guest_kernel
    from rig.place import static_busybox, tool
    try:
        static_busybox()
        tool('fio', 'fio')
        guest_kernel()
    except Unavailable as e:
        return str(e)
    return None


def files(directory, seconds, jobs, depth, image_mib=64):
    """(kernel, initramfs)"""
    from rig.cpio import Archive
    from rig.kernel import guest_kernel
    from rig.place import static_busybox, tool
    kernel, initramfs = guest_kernel(), os.path.join(directory, 'initramfs')
    with Archive(initramfs) as a:
        a.base(static_busybox())
        a.program(tool('fio', 'fio'), 'bin/fio')
        kernel.add_modules(a, MODULES)
        a.text('init', INIT % {'size': image_mib // jobs, 'jobs': jobs, 'depth': depth,
                               'last': jobs - 1, 'seconds': seconds}, 0o755)
    return kernel.image, initramfs


def complaint(output):
    """None, or what went wrong in the guest."""
    return output.failure
