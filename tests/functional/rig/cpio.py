# SPDX-License-Identifier: GPL-2.0-or-later
"""Root file systems as cpio archives of the "newc" form, which Linux takes as its initramfs."""
import os
import re
import shutil
import stat
import subprocess

APPLETS = '''[ awk blkdiscard blockdev cat chmod cmp cp cut date dd dmesg echo env false find free grep
    head hexdump insmod kill killall ln ls md5sum mkdir mke2fs mknod mount mv nproc od poweroff printf
    ps readlink reboot rm rmdir sed seq setsid sh sleep sort stat stty sync tail taskset
    test time timeout top touch tr true truncate umount uname uniq uptime usleep wc'''.split()


def libraries(program):
    """Absolute paths of the shared libraries that a program is linked to."""
    ldd = subprocess.run(['ldd', program], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=60)
    return sorted(set(re.findall(r'(/\S+) \(0x', ldd.stdout)))


class Archive:
    """Writes an archive. Parent directories come by themselves; the first entry of a name wins."""

    def __init__(self, path):
        self.out = open(path, 'wb')
        self.names = set()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self._entry('TRAILER!!!', 0)
        self.out.close()

    def _entry(self, name, mode, size=0, mtime=0):
        fields = (len(self.names) + 1, mode, 0, 0, 1, mtime, size, 0, 0, 0, 0,
                  len(name.encode()) + 1, 0)
        self.out.write(b'070701' + b''.join(b'%08X' % f for f in fields) + name.encode() + b'\0')
        self._pad()

    def _pad(self):
        self.out.write(b'\0' * (-self.out.tell() % 4))

    def _new(self, name):
        """Makes the directories above; False if the name is taken."""
        if name in self.names:
            return False
        if '/' in name:
            self.directory(name.rsplit('/', 1)[0])
        self.names.add(name)
        return True

    def directory(self, name):
        name = name.strip('/')
        if name and self._new(name):
            self._entry(name, stat.S_IFDIR | 0o755)

    def text(self, name, text, mode=0o644):
        name, data = name.strip('/'), text.encode()
        if self._new(name):
            self._entry(name, stat.S_IFREG | mode, len(data))
            self.out.write(data)
            self._pad()

    def link(self, name, target):
        name = name.strip('/')
        if self._new(name):
            self._entry(name, stat.S_IFLNK | 0o777, len(target.encode()))
            self.out.write(target.encode())
            self._pad()

    def file(self, name, source):
        """A copy of a file, with its modification time: Python's caches depend on it."""
        name = name.strip('/')
        if not self._new(name):
            return
        with open(source, 'rb') as f:
            s = os.fstat(f.fileno())
            self._entry(name, stat.S_IFREG | (s.st_mode & 0o777), s.st_size, int(s.st_mtime))
            start = self.out.tell()
            shutil.copyfileobj(f, self.out, 1 << 20)
            if self.out.tell() - start != s.st_size:
                raise OSError('%s changed while it was read' % source)
        self._pad()

    def tree(self, name, source, leave_out=()):
        """A directory with everything below it, except directories of those names."""
        for root, dirs, files in os.walk(source):
            dirs[:] = sorted(d for d in dirs if d not in leave_out)
            below = os.path.join(name, os.path.relpath(root, source))
            for f in sorted(files):
                path = os.path.join(root, f)
                if os.path.isfile(path):
                    self.file(os.path.normpath(os.path.join(below, f)), path)

    def program(self, source, name=None):
        """A program with the libraries it is linked to."""
        self.file(name or 'bin/' + os.path.basename(source), os.path.realpath(source))
        for library in libraries(source):
            self.file(library, library)

    def base(self, busybox):
        """What each of our root file systems begins with."""
        for d in ('dev', 'proc', 'sys', 'tmp', 'root', 'etc'):
            self.directory(d)
        self.file('bin/busybox', busybox)
        for applet in APPLETS:
            self.link('bin/' + applet, 'busybox')
