# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system with one file, whose server can be stopped: storage that does not answer.

It speaks the kernel's FUSE protocol itself (linux/fuse.h). Run as a program it is the server:
fuse.py MOUNTPOINT BACKING_FILE.
"""
import ctypes
import errno
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS = 1, 2, 3, 4, 14, 15, 16, 17
RELEASE, FSYNC, FLUSH, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 18, 20, 25, 26, 36, 38, 42
ROOT, FILE = 1, 2
SETATTR_SIZE = 8
DIRECT_IO = 1
NAME = b'disk'


class StallableFile:
    """`path` is a file of a file system of its own; nothing of it is answered between stall() and
    go_on()."""

    def __init__(self, case, size=1 << 20):
        from .faults import _private_mounts
        _private_mounts()
        self.mountpoint = tempfile.mkdtemp(prefix='fuse.', dir=case.tmp)
        self.path = os.path.join(self.mountpoint, NAME.decode())
        backing = self.mountpoint + '.backing'
        with open(backing, 'wb') as f:
            f.truncate(size)
        self.server = subprocess.Popen([sys.executable, __file__, self.mountpoint, backing],
                                       stdout=subprocess.PIPE)
        case.addCleanup(self.close)
        if self.server.stdout.readline() != b'ready\n':
            raise AssertionError('the FUSE server did not start')

    def stall(self):
        os.kill(self.server.pid, signal.SIGSTOP)
        while True:
            with open('/proc/%d/stat' % self.server.pid, encoding='ascii') as f:
                if f.read().rsplit(')', 1)[1].split()[0] == 'T':
                    return
            time.sleep(0.01)

    def go_on(self):
        os.kill(self.server.pid, signal.SIGCONT)

    def close(self):
        # Whoever still waits for an answer gets an error.
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
        ctypes.CDLL(None).umount2(self.mountpoint.encode(), 2)


class Server:
    def __init__(self, mountpoint, backing):
        self.back = os.open(backing, os.O_RDWR)
        self.dev = os.open('/dev/fuse', os.O_RDWR)
        libc = ctypes.CDLL(None, use_errno=True)
        options = 'fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other' % self.dev
        if libc.mount(b'stallable', mountpoint.encode(), b'fuse.stallable', 0, options.encode()):
            raise OSError(ctypes.get_errno(), 'mount')

    def attr(self, node):
        st = os.fstat(self.back)
        mode, size, blocks = (stat.S_IFDIR | 0o755, 0, 0) if node == ROOT else \
            (stat.S_IFREG | 0o644, st.st_size, st.st_blocks)
        return struct.pack('<6Q10I', node, size, blocks, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096,
                           0)

    def reply(self, op, node, body):
        """The answer, an error number, or None for no answer."""
        # Nothing may be remembered by the kernel: all times are 0.
        if op == INIT:
            major, minor, readahead = struct.unpack_from('<III', body)
            return struct.pack('<IIIIHHIIHHII24x', 7, min(minor, 31), readahead, 0, 64, 48, 1 << 17,
                               1, 32, 0, 0, 0)
        if op == LOOKUP:
            if body.rstrip(b'\0') != NAME:
                return errno.ENOENT
            return struct.pack('<QQQQII', FILE, 0, 0, 0, 0, 0) + self.attr(FILE)
        if op in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if op == GETATTR:
            return struct.pack('<QII', 0, 0, 0) + self.attr(node)
        if op == SETATTR:
            valid, size = struct.unpack_from('<I12xQ', body)
            if valid & SETATTR_SIZE:
                os.ftruncate(self.back, size)
            return struct.pack('<QII', 0, 0, 0) + self.attr(node)
        if op == OPEN:
            return struct.pack('<QII', 1, DIRECT_IO, 0)
        if op == READ:
            offset, size = struct.unpack_from('<8xQI', body)
            return os.pread(self.back, size, offset)
        if op == WRITE:
            offset, size = struct.unpack_from('<8xQI', body)
            return struct.pack('<II', os.pwrite(self.back, body[40:40 + size], offset), 0)
        if op == STATFS:
            return struct.pack('<5Q4I24x', 1, 1, 1, 1, 1, 4096, 255, 4096, 0)
        if op in (RELEASE, FSYNC, FLUSH, DESTROY):
            return b''
        return errno.ENOSYS

    def run(self):
        while True:
            try:
                message = os.read(self.dev, (1 << 17) + 4096)
            except OSError as err:
                if err.errno == errno.ENODEV:
                    return
                if err.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                raise
            _, op, unique, node = struct.unpack_from('<IIQQ', message)
            answer = self.reply(op, node, message[40:])
            if answer is None:
                continue
            error, data = (-answer, b'') if isinstance(answer, int) else (0, answer)
            try:
                os.write(self.dev, struct.pack('<IiQ', 16 + len(data), error, unique) + data)
            except FileNotFoundError:
                pass  # it was interrupted meanwhile
            if op == INIT:
                sys.stdout.write('ready\n')
                sys.stdout.flush()


if __name__ == '__main__':
    Server(sys.argv[1], sys.argv[2]).run()
