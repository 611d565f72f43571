# SPDX-License-Identifier: GPL-2.0-or-later
"""Command-line cases: what an option does to the start of the process.

A case of data/cli-cases.json: `before`, `option` and `after` are arguments in that order; then the
expected exit status (or the name of a signal) and stderr, in which {P} stands for the program and
the option as given. `ours`, if present, is where we differ: not built, or better.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess

from .process import BINARY, accel_args, check_reports, is_spindle, popen

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'data')


def load_cases(name='cli-cases.json'):
    with open(os.path.join(DATA, name), encoding='utf-8') as f:
        return json.load(f)


def make_files(directory):
    """The files that the cases name."""
    for name, size in (('disk.raw', 64 << 20), ('disk2.raw', 64 << 20), ('odd.raw', 1000),
                       ('empty.raw', 0), ('ro.raw', 65 << 20)):
        with open(os.path.join(directory, name), 'wb') as f:
            f.truncate(size)
    os.chmod(os.path.join(directory, 'ro.raw'), 0o444)
    with open(os.path.join(directory, 'bad.qcow2'), 'w', encoding='ascii') as f:
        f.write('notqcow\n')
    if shutil.which('qemu-img'):
        # Only an emulator that reads this format gets far enough to miss them.
        for args in (['disk.qcow2', '64M'], ['-b', 'disk.raw', '-F', 'raw', 'ov.qcow2']):
            subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', *args], cwd=directory,
                           check=True)
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(directory, 'qt.sock'))
    s.close()


def run_case(case, directory, binary=None):
    """(exit status or signal name, stderr) of a case; a started process is told to quit."""
    binary = binary or BINARY
    argv = [binary, *([] if '-machine' in case['before'] else ['-machine', 'q35']), '-display',
            'none', '-nodefaults', '-S', *accel_args(directory, binary, True), '-qmp', 'stdio',
            *case['before'], *case['option'], *case['after']]
    p = popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
              cwd=directory, preexec_fn=_no_core)
    try:
        _, err = p.communicate(b'{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n', timeout=60)
    except subprocess.TimeoutExpired:
        p.kill()
        _, err = p.communicate()
        return 'hung', err.decode('utf-8', 'replace')
    err = err.decode('utf-8', 'replace')
    check_reports(err)
    status = p.returncode
    return (signal.Signals(-status).name if status < 0 else status), err


def _no_core():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def expand(text, case, binary=None):
    name = os.path.basename(binary or BINARY)
    option = case['option']
    shown = ' '.join(option) if len(option) > 1 else option[0]
    return text.replace('{P}', '%s: %s: ' % (name, shown)).replace('qemu-system-x86_64: ',
                                                                   name + ': ')


def check_case(case, got, binary=None):
    """None, or what is wrong with the outcome of a case."""
    status, err = got
    ours = case.get('ours') if is_spindle(binary or BINARY) else None
    expected = ours or case
    if status != expected['exit']:
        return 'exit %s, expected %s; stderr: %r' % (status, expected['exit'], err)
    if ours and 'match' in ours:
        if not re.search(ours['match'], err):
            return 'stderr %r does not match %r' % (err, ours['match'])
        return None
    wanted = expand(expected['stderr'], case, binary)
    if err != wanted:
        return 'stderr %r,\nexpected %r' % (err, wanted)
    return None
