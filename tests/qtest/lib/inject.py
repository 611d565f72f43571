# SPDX-License-Identifier: GPL-2.0-or-later
"""Has a thread of another process make a system call, as whoever broke into it would.

Run as a program: inject.py TID NUMBER [ARGUMENT...] prints what the call returned, or "signal N" if
it ended the process. It is a program of its own, since the tracer hears of the end of its tracee
before the parent does.
"""
import ctypes
import os
import signal
import subprocess
import sys

ATTACH, SINGLESTEP, GETREGS, SETREGS, DETACH = 16, 9, 12, 13, 17
WAIT_ALL = 0x40000000
NAMES = ('r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss '
         'fs_base gs_base ds es fs gs').split()
ARGUMENTS = ('rdi', 'rsi', 'rdx', 'r10', 'r8', 'r9')


class Registers(ctypes.Structure):
    _fields_ = [(n, ctypes.c_ulonglong) for n in NAMES]


class Ended(Exception):
    pass


def system_call(tid, number, *args):
    """What the call returns; a text if it ends the process."""
    p = subprocess.run([sys.executable, os.path.abspath(__file__), str(tid), str(number),
                        *map(str, args)], capture_output=True, text=True, timeout=60)
    if p.returncode:
        raise RuntimeError(p.stderr)
    return int(p.stdout) if not p.stdout.startswith('signal') else p.stdout.strip()


class Tracer:
    def __init__(self, tid):
        self.tid = tid
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.call(ATTACH)
        self.wait()

    def call(self, request, data=None):
        if self.libc.ptrace(request, self.tid, None, data) < 0:
            error = ctypes.get_errno()
            raise OSError(error, 'ptrace: ' + os.strerror(error))

    def wait(self):
        _, status = os.waitpid(self.tid, WAIT_ALL)
        if os.WIFSIGNALED(status):
            raise Ended('signal %d' % os.WTERMSIG(status))
        if not os.WIFSTOPPED(status):
            raise Ended('exit %d' % os.WEXITSTATUS(status))
        return os.WSTOPSIG(status)

    def registers(self):
        r = Registers()
        self.call(GETREGS, ctypes.addressof(r))
        return r

    def inject(self, number, args):
        """The thread sleeps in a system call; its instruction is used for this one, and again."""
        before = self.registers()
        r = self.registers()
        r.rip -= 2
        r.rax = number
        r.orig_rax = 2 ** 64 - 1
        for name, value in zip(ARGUMENTS, args):
            setattr(r, name, value % 2 ** 64)
        self.call(SETREGS, ctypes.addressof(r))
        self.call(SINGLESTEP)
        stopped = self.wait()
        if stopped != signal.SIGTRAP:
            raise Ended('signal %d' % stopped)
        result = ctypes.c_longlong(self.registers().rax).value
        before.rip -= 2
        before.rax = before.orig_rax
        before.orig_rax = 2 ** 64 - 1
        self.call(SETREGS, ctypes.addressof(before))
        self.call(DETACH)
        return result


if __name__ == '__main__':
    try:
        print(Tracer(int(sys.argv[1])).inject(int(sys.argv[2]), [int(a) for a in sys.argv[3:]]))
    except Ended as end:
        print(end)
