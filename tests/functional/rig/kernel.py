# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux kernel that guests run: the distribution's package, unpacked below the cache directory."""
import fcntl
import glob
import lzma
import os
import re
import shutil
import subprocess
import tempfile

from . import Unavailable

PACKAGE = 'linux-image-cloud-amd64'
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'spindle')

# What a kernel on an emulated processor can do without: defences, checks of clocks that an emulator
# fails under load, a look for buses that no table names (16000 exits), tracing.
QUICK = ('nokaslr mitigations=off tsc=reliable no_timer_check nowatchdog audit=0 apparmor=0 '
         'cryptomgr.notests rcupdate.rcu_expedited=1 8250.nr_uarts=2 random.trust_cpu=on pci=lastbus=0 '
         'initcall_blacklist=' + ','.join((
             'init_kprobe_trace', 'load_system_certificate_list', 'crypto_kdf108_init')))


def _run(argv, **kwargs):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600, **kwargs)


def _real_package():
    """The package that the name for "the newest" depends on."""
    found = re.search(r'^\s*Depends: (linux-image-\S+)', _run(['apt-cache', 'depends', PACKAGE]).stdout,
                      re.M)
    return found and found.group(1)


def _download(directory):
    """Fetches the package into a directory and unpacks it there."""
    if not shutil.which('apt-get') or not shutil.which('dpkg-deb'):
        raise Unavailable('no guest kernel: needs apt-get and dpkg-deb to fetch ' + PACKAGE)
    said = ''
    for refresh in (False, True):
        if refresh:
            if os.geteuid() != 0:
                break
            said = _run(['apt-get', 'update']).stdout
        package = _real_package()
        if not package:
            continue
        # A user of its own fetches for root, unless the directory is closed to it.
        got = _run(['apt-get', '-o', 'APT::Sandbox::User=root', 'download', package], cwd=directory)
        said = got.stdout
        files = glob.glob(os.path.join(directory, package + '_*.deb'))
        if got.returncode == 0 and files:
            unpacked = _run(['dpkg-deb', '-x', files[0], os.path.join(directory, 'tree')])
            os.unlink(files[0])
            if unpacked.returncode == 0:
                return
            said = unpacked.stdout
    last = said.strip().split('\n')[-1]
    raise Unavailable('no guest kernel: apt-get cannot fetch %s%s' % (PACKAGE, last and ': ' + last))


class GuestKernel:
    """A kernel image and its modules."""

    def __init__(self, tree):
        self.image = sorted(glob.glob(tree + '/boot/vmlinuz-*'))[0]
        self.release = os.path.basename(self.image)[len('vmlinuz-'):]
        below = [d for d in (tree + '/lib/modules/', tree + '/usr/lib/modules/')
                 if os.path.isdir(d + self.release)][0]
        self.modules = {}
        for path in glob.glob(below + self.release + '/kernel/**/*.ko*', recursive=True):
            self.modules[os.path.basename(path).split('.ko')[0].replace('-', '_')] = path

    def add_modules(self, archive, names):
        """Puts modules into /mod, uncompressed, and their order into /mod/order; a name that is no
        module is built in."""
        order = []
        for name in names:
            path = self.modules.get(name.replace('-', '_'))
            if not path:
                continue
            order.append(name)
            if path.endswith('.xz'):
                with tempfile.NamedTemporaryFile() as plain, lzma.open(path) as packed:
                    shutil.copyfileobj(packed, plain)
                    plain.flush()
                    archive.file('mod/%s.ko' % name, plain.name)
            else:
                archive.file('mod/%s.ko' % name, path)
        archive.text('mod/order', ''.join(name + '\n' for name in order))


def guest_kernel():
    """The kernel, fetched at first use."""
    os.makedirs(CACHE, exist_ok=True)
    tree = os.path.join(CACHE, 'kernel')
    with open(os.path.join(CACHE, 'kernel.lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not glob.glob(tree + '/boot/vmlinuz-*'):
            shutil.rmtree(tree, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix='fetch.', dir=CACHE) as directory:
                _download(directory)
                os.rename(os.path.join(directory, 'tree'), tree)
    return GuestKernel(tree)
