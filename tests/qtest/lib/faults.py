# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that fail, made with what the host offers: no help from the process under test."""
import ctypes
import os
import resource
import shutil
import signal
import subprocess

CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 0x40000

_libc = ctypes.CDLL(None, use_errno=True)
_private = False


def ignore_file_size_signal():
    """preexec_fn: a write beyond RLIMIT_FSIZE shall fail with EFBIG, not kill."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def limit_file_size(pid, size):
    """From now on writes beyond `size` fail with EFBIG; None lifts the limit. The limit goes for
    every file of the process."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def _private_mounts():
    """Mounts of this process and its children are seen by nobody else, and go with them."""
    global _private
    if _private:
        return
    if _libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), 'unshare')
    if _libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE, None):
        raise OSError(ctypes.get_errno(), 'mount --make-rprivate')
    _private = True


class SmallFilesystem:
    """A tmpfs with a size limit that can be changed. Needs root."""

    def __init__(self, case, size):
        if os.geteuid() != 0:
            case.skipTest('needs root, to mount a small file system')
        try:
            _private_mounts()
            self.path = os.path.join(case.tmp, 'small')
            os.mkdir(self.path)
            subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%d' % size, 'none', self.path],
                           check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as e:
            case.skipTest('cannot mount a small file system: %s' % e)
        case.addCleanup(self.close)

    def resize(self, size):
        subprocess.run(['mount', '-o', 'remount,size=%d' % size, self.path], check=True,
                       capture_output=True)

    def image(self, name, size):
        path = os.path.join(self.path, name)
        with open(path, 'wb') as f:
            f.truncate(size)
        return path

    def close(self):
        subprocess.run(['umount', '-l', self.path], capture_output=True)


class LoopDevice:
    """A block device over a file. Cutting the file makes the lost part unreadable (EIO)."""

    def __init__(self, case, path, sector_size=512, read_only=False):
        if os.geteuid() != 0:
            case.skipTest('needs root, to set up a loop device')
        if not shutil.which('losetup'):
            case.skipTest('needs losetup')
        self.backing = path
        command = ['losetup', '--find', '--show', '--sector-size', str(sector_size)]
        if read_only:
            command.append('--read-only')
        result = subprocess.run(command + [path], capture_output=True, text=True)
        if result.returncode:
            case.skipTest('cannot set up a loop device: ' + result.stderr.strip())
        self.path = result.stdout.strip()
        case.addCleanup(self.close)

    def cut(self, size):
        os.truncate(self.backing, size)

    def close(self):
        subprocess.run(['losetup', '--detach', self.path], capture_output=True)
