# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs without the libraries that nobody calls. A distribution's fio is linked to clients of every
storage cluster there is, 80 MB that each guest would carry in RAM, and relocate each time fio starts.
They are replaced by libraries of the same names and symbols, without code."""
import os
import re
import shutil
import subprocess

from .cpio import libraries

KEPT = re.compile(r'(libc|libm|libdl|librt|libpthread|libaio|libnuma|libz|ld-linux.*)\.so\.')
SYMBOL = re.compile(r'^(\w+)(?:@@?(\S+))?$')


def _said(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
                          timeout=600, env=dict(os.environ, LC_ALL='C')).stdout


def _versions(program):
    """{library: versions of its symbols that the program asks for}"""
    found, library = {}, None
    for line in _said('readelf', '-VW', program).split('\n'):
        m = re.search(r'Version: 1 +File: (\S+)', line)
        library = m.group(1) if m else library
        m = re.search(r'Name: (\S+) +Flags', line)
        if m and library:
            found.setdefault(library, []).append(m.group(1))
    return found


def _symbols(program, which):
    """{version or None: dynamic symbols of the program, but weak ones}"""
    found = {}
    for line in _said('nm', '-D', which, program).split('\n'):
        words = line.split()
        m = words and words[-2] not in 'wv' and SYMBOL.match(words[-1])
        if m:
            found.setdefault(m.group(2), []).append(m.group(1))
    return found


def _stand_in(path, name, versions, symbols, unversioned):
    """Builds a library that has the symbols, all at one instruction that ends the program."""
    names = [s for v in versions for s in symbols.get(v, [])] + unversioned
    with open(path + '.S', 'w') as f:
        f.write('.text\n' + ''.join('.globl %s\n.type %s, @function\n%s:\n' % (s, s, s) for s in names) +
                'ud2\n.section .note.GNU-stack,"",@progbits\n')
    with open(path + '.map', 'w') as f:
        for v in versions:
            f.write('%s { global: %s };\n' % (v, ' '.join(s + ';' for s in symbols.get(v, []))))
    subprocess.run(['cc', '-shared', '-nostdlib', '-o', path, path + '.S', '-Wl,-soname,' + name] +
                   (['-Wl,--version-script,' + path + '.map'] if versions else []),
                   stdin=subprocess.DEVNULL, check=True, timeout=600)


def add_program(archive, source, name, directory):
    """Puts a program into an archive, with stand-ins, made in a directory, for the libraries that it can
    do without; with all its libraries where there is no compiler."""
    if not all(map(shutil.which, ('cc', 'nm', 'readelf'))):
        archive.program(source, name)
        return
    needed = re.findall(r'NEEDED.*\[(\S+)\]', _said('readelf', '-dW', source))
    versions, symbols = _versions(source), _symbols(source, '--undefined-only')
    places = {os.path.basename(path): path for path in libraries(source)}
    kept = [path for name, path in places.items() if KEPT.match(name)]
    # Who has those that come without a version is not known: the first stand-in.
    unversioned = set(symbols.get(None, []))
    for path in kept:
        for names in _symbols(path, '--defined-only').values():
            unversioned -= set(names)
    for n in needed:
        if not KEPT.match(n):
            path = os.path.join(directory, n)
            _stand_in(path, n, versions.get(n, []), symbols, sorted(unversioned))
            archive.file(places[n], path)
            unversioned = set()
    archive.file(name, os.path.realpath(source))
    for path in kept:
        archive.file(path, path)
