# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes system calls away from a child, as container runtimes do."""
import ctypes
import struct

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_ERRNO = 0x7fff0000, 0x00050000
LOAD, JEQ, RET = 0x20, 0x15, 0x06
IO_URING_SETUP = 425

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]


def refuse(syscall, errno):
    """A preexec_fn: that system call fails with that error."""
    code = b''.join(struct.pack('<HBBI', *i) for i in (
        (LOAD, 0, 0, 0),
        (JEQ, 0, 1, syscall),
        (RET, 0, 0, RET_ERRNO | errno),
        (RET, 0, 0, RET_ALLOW)))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))

    def apply(_keep=buffer):
        if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
                _libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
            raise OSError(ctypes.get_errno(), 'seccomp')
    return apply
